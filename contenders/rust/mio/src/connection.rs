//! One end of a connection, as the state machine that a task would be.

use std::io::{self, ErrorKind, Read, Write};

use mio::net::TcpStream;
use tcp_work::{Accepted, Connected, Totals, while_doing};

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    side: Side,
    round_trips: u64,
    is_connecting: bool,
    /// A byte that the socket has not taken yet.
    to_write: Option<u8>,
}

#[derive(Debug)]
enum Side {
    Accepted(Accepted),
    Connected(Connected),
}

impl Connection {
    pub(crate) fn accepted(stream: TcpStream, round_trips: u64) -> Self {
        let side = Accepted::default();
        let to_write = (round_trips > 0).then_some(side.next());
        let side = Side::Accepted(side);
        Self { stream, side, round_trips, is_connecting: false, to_write }
    }

    pub(crate) fn connecting(stream: TcpStream, side: Connected, round_trips: u64) -> Self {
        let side = Side::Connected(side);
        Self { stream, side, round_trips, is_connecting: true, to_write: None }
    }

    /// Does what an event allows: at most one read, since a peer never has two bytes under way, and
    /// the next byte comes with an event of its own. Whether this side has ended.
    pub(crate) fn step(&mut self) -> io::Result<bool> {
        self.try_step().map_err(|error| {
            let side = match self.side {
                Side::Accepted(_) => "the accepting side of a connection",
                Side::Connected(_) => "the connecting side of a connection",
            };
            while_doing(side, &error)
        })
    }

    fn try_step(&mut self) -> io::Result<bool> {
        if self.is_connecting && !self.has_connected()? {
            return Ok(false);
        }
        if !self.write()? {
            return Ok(false);
        }
        if self.has_ended() {
            return Ok(true);
        }
        let Some(byte) = self.read()? else { return Ok(false) };
        match &mut self.side {
            Side::Accepted(side) => {
                side.read(byte);
                self.to_write = (side.round_trips() < self.round_trips).then_some(side.next());
            }
            Side::Connected(side) => self.to_write = Some(side.answer(byte)),
        }
        Ok(self.write()? && self.has_ended())
    }

    fn has_connected(&mut self) -> io::Result<bool> {
        if let Some(error) = self.stream.take_error()? {
            return Err(while_doing("cannot connect", &error));
        }
        match self.stream.peer_addr() {
            Ok(_) => {
                self.is_connecting = false;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn has_ended(&self) -> bool {
        let done = match &self.side {
            Side::Accepted(side) => side.round_trips(),
            Side::Connected(side) => side.answered(),
        };
        done == self.round_trips
    }

    /// Whether nothing is left to be written.
    fn write(&mut self) -> io::Result<bool> {
        let Some(byte) = self.to_write else { return Ok(true) };
        match self.stream.write(&[byte]) {
            Ok(0) => Err(ErrorKind::WriteZero.into()),
            Ok(_) => {
                self.to_write = None;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// `None` if no byte is there.
    fn read(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        match self.stream.read(&mut byte) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(Some(byte[0])),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        match self.side {
            Side::Accepted(side) => side.into(),
            Side::Connected(side) => side.into(),
        }
    }
}
