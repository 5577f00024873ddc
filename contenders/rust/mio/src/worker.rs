//! A thread with an epoll, and the connections that it watches.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use tcp_work::{Connected, Totals, while_doing};

use crate::connection::Connection;

/// What a worker is told to do.
#[derive(Debug)]
pub(crate) enum Order {
    /// Accept so many connections, and hand them out in turn, to all workers.
    Accept { listener: TcpListener, connections: u32, round_trips: u64 },
    /// Be one connecting side.
    Connect { address: SocketAddr, side: Connected, round_trips: u64 },
    /// Be one accepting side.
    Serve { stream: TcpStream, round_trips: u64 },
    /// End.
    Stop,
}

/// How a side of a connection ended, or what else failed.
pub(crate) type Ended = io::Result<Totals>;

/// Where orders for one worker go.
#[derive(Clone, Debug)]
pub(crate) struct Desk {
    orders: Sender<Order>,
    waker: Arc<Waker>,
}

impl Desk {
    /// Gives several orders, and wakes the worker once.
    pub(crate) fn give(&self, orders: impl IntoIterator<Item = Order>) -> io::Result<()> {
        for order in orders {
            self.orders.send(order).map_err(|_| io::Error::other("a worker has ended"))?;
        }
        self.waker.wake()
    }
}

const WAKER: Token = Token(0);
const LISTENER: Token = Token(1);
/// Of the connection at place 0.
const FIRST_CONNECTION: usize = 2;

/// Most events that one wait returns, as tokio's default.
const EVENTS: usize = 1024;

struct Acceptor {
    listener: TcpListener,
    left: u32,
    round_trips: u64,
}

struct Worker {
    poll: Poll,
    orders: Receiver<Order>,
    ended: Sender<Ended>,
    acceptor: Option<Acceptor>,
    /// By token; places that are free again are used again.
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    /// All workers, and whose turn it is.
    desks: Vec<Desk>,
    turn: usize,
}

/// Starts `threads` workers, which work until they are stopped.
pub(crate) fn start(
    threads: usize,
    ended: &Sender<Ended>,
) -> io::Result<(Vec<Desk>, Vec<JoinHandle<()>>)> {
    let mut desks = Vec::with_capacity(threads);
    let mut polls = Vec::with_capacity(threads);
    for _ in 0..threads {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let (orders, incoming) = channel();
        desks.push(Desk { orders, waker });
        polls.push((poll, incoming));
    }
    let mut workers = Vec::with_capacity(threads);
    for (poll, orders) in polls {
        let mut worker = Worker {
            poll,
            orders,
            ended: ended.clone(),
            acceptor: None,
            connections: Vec::new(),
            free: Vec::new(),
            desks: desks.clone(),
            turn: 0,
        };
        let name = thread::Builder::new().name("mio".into());
        workers.push(name.spawn(move || {
            if let Err(error) = worker.work() {
                // Nobody waits any more if the other end is gone.
                worker.ended.send(Err(error)).ok();
            }
        })?);
    }
    Ok((desks, workers))
}

impl Worker {
    fn work(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        loop {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            for event in &events {
                match event.token() {
                    WAKER => {
                        if !self.obey()? {
                            return Ok(());
                        }
                    }
                    LISTENER => self.accept()?,
                    Token(token) => self.step(token - FIRST_CONNECTION),
                }
            }
        }
    }

    /// Carries out all orders; whether there may be more.
    fn obey(&mut self) -> io::Result<bool> {
        loop {
            match self.orders.try_recv() {
                Ok(Order::Accept { mut listener, connections, round_trips }) => {
                    self.poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
                    self.acceptor = Some(Acceptor { listener, left: connections, round_trips });
                    self.accept()?;
                }
                Ok(Order::Connect { address, side, round_trips }) => {
                    let stream = TcpStream::connect(address)
                        .map_err(|error| while_doing("cannot connect", &error))?;
                    self.watch(Connection::connecting(stream, side, round_trips))?;
                }
                Ok(Order::Serve { stream, round_trips }) => {
                    let place = self.watch(Connection::accepted(stream, round_trips))?;
                    // It begins.
                    self.step(place);
                }
                Err(TryRecvError::Empty) => return Ok(true),
                Ok(Order::Stop) | Err(TryRecvError::Disconnected) => return Ok(false),
            }
        }
    }

    fn watch(&mut self, mut connection: Connection) -> io::Result<usize> {
        let place = self.free.pop().unwrap_or(self.connections.len());
        let token = Token(FIRST_CONNECTION + place);
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut connection.stream, token, interest)?;
        if place == self.connections.len() {
            self.connections.push(Some(connection));
        } else {
            self.connections[place] = Some(connection);
        }
        Ok(place)
    }

    fn accept(&mut self) -> io::Result<()> {
        let Some(acceptor) = &mut self.acceptor else { return Ok(()) };
        while acceptor.left > 0 {
            let stream = match acceptor.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(while_doing("cannot accept", &error)),
            };
            acceptor.left -= 1;
            let round_trips = acceptor.round_trips;
            self.desks[self.turn].give([Order::Serve { stream, round_trips }])?;
            self.turn = (self.turn + 1) % self.desks.len();
        }
        self.acceptor = None;
        Ok(())
    }

    fn step(&mut self, place: usize) {
        // An event of a connection that ended in this round.
        let Some(connection) = &mut self.connections[place] else { return };
        let ended = match connection.step() {
            Ok(false) => return,
            Ok(true) => Ok(connection.totals()),
            Err(error) => Err(error),
        };
        self.connections[place] = None;
        self.free.push(place);
        // Nobody waits any more if the other end is gone.
        self.ended.send(ended).ok();
    }
}
