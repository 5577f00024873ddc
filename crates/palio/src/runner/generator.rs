//! The other side of a contender that serves: sends it requests at the moments at which they are
//! due, and takes the time of each answer.
//!
//! It is the same for contenders of every language, and shares nothing with them: it runs on the
//! first thread of Palio, which has nothing else to do while a contender works. (Another one looks
//! at the contender ten times a second.) It waits for the next moment in `ppoll`, which wakes it a
//! few µs late; it does not spin, because on a small machine it would take a processor from whom it
//! measures. How late it was is told with each sample.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags};
use nix::sys::resource::{Resource, getrlimit};
use palio_protocol::distribution::Distribution;

use crate::load::{Head, Latencies, Load, LoadRecord};

/// From the last connection to the first moment, in which the server may accept them.
const LEAD: Duration = Duration::from_millis(10);
/// How long it may wait without a look at whether it shall stop.
const LOOK: Duration = Duration::from_millis(50);
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// What Palio has open besides.
const DESCRIPTORS_BESIDE: u64 = 64;
const READ_BYTES: usize = 64 * 1024;

/// Whom to ask, for what, and until when.
#[derive(Clone, Copy, Debug)]
pub struct Drive<'a> {
    pub load: Load,
    pub port: u16,
    pub salt: u64,
    pub deadline: Instant,
    pub interrupted: &'a AtomicBool,
    /// Whoever looks at the server has seen something that ends it.
    pub stop: &'a AtomicBool,
}

impl Drive<'_> {
    fn head(&self, connection: u64, number: u64) -> Head {
        self.load.head(self.load.value(connection, number, self.salt), self.salt)
    }

    fn check(&self, now: Instant) -> Result<(), Stopped> {
        if self.interrupted.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed) {
            return Err(Stopped::Interrupted);
        }
        if now >= self.deadline { Err(Stopped::TimedOut) } else { Ok(()) }
    }
}

/// Why not every request was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    Interrupted,
    TimedOut,
    /// The server was not there, or went away.
    Gone(String),
    /// It answered something else.
    Wrong(String),
}

/// `Err` says why so many connections cannot be open here, and what would allow it: the end of a
/// sentence about a contender.
///
/// # Errors
/// See above.
pub fn check_descriptors(load: &Load) -> Result<(), String> {
    let needed = load.connections + DESCRIPTORS_BESIDE;
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((allowed, _)) if allowed < needed => Err(format!(
            "cannot be asked by {} connections: Palio may have {allowed} files open and needs \
             {needed}; `ulimit -n {needed}` allows it",
            load.connections
        )),
        _ => Ok(()),
    }
}

struct Connection {
    stream: TcpStream,
    /// Requests that were due, all of which went into `out`.
    queued: u64,
    out: Vec<u8>,
    out_at: usize,
    answered: u64,
    /// The beginning of an answer.
    answer: Vec<u8>,
}

/// Sends all requests and waits for all answers.
///
/// # Errors
/// See [`Stopped`].
pub fn drive(what: Drive<'_>) -> Result<(Distribution, LoadRecord), Stopped> {
    let _precise = PreciseSleeps::begin();
    let cpu_before = own_cpu_us();
    let mut connections = connect(&what)?;
    let start = Instant::now() + LEAD;
    let mut latencies_ns = Vec::with_capacity(usize::try_from(what.load.all()).unwrap_or(0));
    let (mut late_ns, mut held_back) = (latencies_ns.clone(), 0);
    let mut buffer = vec![0; READ_BYTES];
    while (latencies_ns.len() as u64) < what.load.all() {
        let now = Instant::now();
        what.check(now)?;
        let mut next_ns = u64::MAX;
        for (id, connection) in (0..).zip(&mut connections) {
            if now >= start {
                let now_ns = ns(now - start);
                held_back += connection.send_due(&what, id, now_ns, &mut late_ns)?;
            }
            if connection.queued < what.load.requests {
                next_ns = next_ns.min(what.load.due_ns(id, connection.queued));
            }
        }
        let due = start.checked_add(Duration::from_nanos(next_ns));
        let patience = due.map_or(LOOK, |due| due.saturating_duration_since(Instant::now()));
        for index in readable(&connections, patience.min(LOOK)) {
            let connection = &mut connections[index];
            connection.receive(&what, index as u64, start, &mut buffer, &mut latencies_ns)?;
        }
    }
    let took = start.elapsed();
    drop(connections);
    let mut latencies = Latencies::new();
    latencies_ns.iter().for_each(|&ns| latencies.add(ns, 1));
    let gone = || Stopped::Gone("it was asked nothing".to_owned());
    let distribution = Distribution::of(&mut latencies_ns).ok_or_else(gone)?;
    let late = Distribution::of(&mut late_ns).ok_or_else(gone)?;
    let per_s = what.load.all() as f64 / took.as_secs_f64();
    let generator_us = cpu_before.zip(own_cpu_us()).map(|(before, after)| after - before);
    let record = LoadRecord {
        offered_per_s: what.load.offered_per_s(),
        achieved_per_s: per_s.round() as u64,
        late_p50_ns: late.p50_ns,
        late_p99_ns: late.p99_ns,
        late_max_ns: late.max_ns,
        held_back,
        generator_us,
        histogram: latencies.buckets(),
    };
    Ok((distribution, record))
}

/// While it is there, sleeps of this thread end when they should, and not up to 50 µs later.
///
/// What this thread starts would inherit that: contenders raced after a row that is served would
/// have other timers than those before it.
struct PreciseSleeps(());

impl PreciseSleeps {
    fn begin() -> Self {
        #[cfg(target_os = "linux")]
        let _ = nix::sys::prctl::set_timerslack(1);
        Self(())
    }
}

impl Drop for PreciseSleeps {
    fn drop(&mut self) {
        // 0 stands for what the thread began with.
        #[cfg(target_os = "linux")]
        let _ = nix::sys::prctl::set_timerslack(0);
    }
}

fn connect(what: &Drive<'_>) -> Result<Vec<Connection>, Stopped> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, what.port));
    let one = |id: u64| -> Result<Connection, Stopped> {
        let failed = |error: std::io::Error| {
            Stopped::Gone(format!("connection {id} to its port {} failed: {error}", what.port))
        };
        what.check(Instant::now())?;
        let stream = TcpStream::connect_timeout(&address, CONNECT).map_err(failed)?;
        stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true)).map_err(failed)?;
        Ok(Connection {
            stream,
            queued: 0,
            out: Vec::new(),
            out_at: 0,
            answered: 0,
            answer: Vec::new(),
        })
    };
    (0..what.load.connections).map(one).collect()
}

impl Connection {
    /// Sends what is due, as far as the socket takes it; how many of these requests it did not.
    fn send_due(
        &mut self,
        what: &Drive<'_>,
        id: u64,
        now_ns: u64,
        late_ns: &mut Vec<u64>,
    ) -> Result<u64, Stopped> {
        let bytes = what.load.bytes as usize;
        let before = self.queued;
        while self.queued < what.load.requests {
            let due_ns = what.load.due_ns(id, self.queued);
            if due_ns > now_ns {
                break;
            }
            late_ns.push(now_ns - due_ns);
            let end = self.out.len() + bytes;
            let head = what.head(id, self.queued);
            self.out.extend_from_slice(&head.bytes()[..head.size()]);
            self.out.resize(end, 0);
            self.queued += 1;
        }
        while self.out_at < self.out.len() {
            match self.stream.write(&self.out[self.out_at..]) {
                Ok(0) => return Err(self.gone(what, id, "it takes nothing more")),
                Ok(count) => self.out_at += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.gone(what, id, &error.to_string())),
            }
        }
        if self.out_at == self.out.len() {
            self.out.clear();
            self.out_at = 0;
            return Ok(0);
        }
        Ok(self.queued - before)
    }

    /// Takes the answers that are there.
    fn receive(
        &mut self,
        what: &Drive<'_>,
        id: u64,
        start: Instant,
        buffer: &mut [u8],
        latencies_ns: &mut Vec<u64>,
    ) -> Result<(), Stopped> {
        let mut received = match self.stream.read(buffer) {
            Ok(0) if self.answered == what.load.requests => return Ok(()),
            Ok(0) => return Err(self.gone(what, id, "it closed the connection")),
            Ok(count) => &buffer[..count],
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return Ok(());
            }
            Err(error) => return Err(self.gone(what, id, &error.to_string())),
        };
        let now_ns = ns(start.elapsed());
        let bytes = what.load.bytes as usize;
        while !received.is_empty() {
            let (first, rest) = received.split_at(received.len().min(bytes - self.answer.len()));
            self.answer.extend_from_slice(first);
            received = rest;
            if self.answer.len() < bytes {
                break;
            }
            if self.answered == self.queued {
                return Err(Stopped::Wrong("it answered what it was not asked".to_owned()));
            }
            let right = what.load.answered(what.head(id, self.answered));
            let (head, tail) = self.answer.split_at(right.size());
            if head != &right.bytes()[..right.size()] || tail.iter().any(|&byte| byte != 0) {
                let why = match what.load.steps {
                    None => "is not what it was sent",
                    Some(_) => "is not what was to be computed",
                };
                let number = self.answered;
                return Err(Stopped::Wrong(format!(
                    "its answer {number} on connection {id} {why}"
                )));
            }
            latencies_ns.push(now_ns.saturating_sub(what.load.due_ns(id, self.answered)));
            self.answered += 1;
            self.answer.clear();
        }
        Ok(())
    }

    fn gone(&self, what: &Drive<'_>, id: u64, reason: &str) -> Stopped {
        Stopped::Gone(format!(
            "after {} of {} answers on connection {id}: {reason}",
            self.answered, what.load.requests
        ))
    }
}

/// Waits until a connection has something to read (or room for what is to be sent), or for so long;
/// those that have something to read, or have ended.
fn readable(connections: &[Connection], patience: Duration) -> Vec<usize> {
    let interest = |connection: &Connection| {
        let backlog = connection.out_at < connection.out.len();
        if backlog { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN }
    };
    let mut fds: Vec<PollFd<'_>> =
        connections.iter().map(|c| PollFd::new(c.stream.as_fd(), interest(c))).collect();
    if !wait(&mut fds, patience) {
        return Vec::new();
    }
    let not_only_room = |fd: &PollFd<'_>| {
        fd.revents().is_some_and(|events| !(events - PollFlags::POLLOUT).is_empty())
    };
    (0..fds.len()).filter(|&index| not_only_room(&fds[index])).collect()
}

/// Whether any is ready.
#[cfg(target_os = "linux")]
fn wait(fds: &mut [PollFd<'_>], patience: Duration) -> bool {
    nix::poll::ppoll(fds, Some(patience.into()), None).is_ok_and(|ready| ready > 0)
}

/// Whether any is ready; the wait is rounded up to ms, which counts as lateness.
#[cfg(not(target_os = "linux"))]
fn wait(fds: &mut [PollFd<'_>], patience: Duration) -> bool {
    let patience = nix::poll::PollTimeout::try_from(patience.as_millis().min(50) as i32);
    nix::poll::poll(fds, patience.unwrap_or(nix::poll::PollTimeout::ZERO)).is_ok_and(|n| n > 0)
}

#[cfg(target_os = "linux")]
fn own_cpu_us() -> Option<u64> {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
    let us = |time: nix::sys::time::TimeVal| time.tv_sec() * 1_000_000 + time.tv_usec();
    u64::try_from(us(usage.user_time()) + us(usage.system_time())).ok()
}

#[cfg(not(target_os = "linux"))]
fn own_cpu_us() -> Option<u64> {
    None
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    const LOAD: Load = Load { connections: 3, rate: 2_000, requests: 40, bytes: 24, steps: None };

    /// What comes of a server that does `serve` with each of its connections.
    fn against(
        serve: fn(TcpStream) -> std::io::Result<()>,
    ) -> Result<(Distribution, LoadRecord), Stopped> {
        asked(LOAD, serve)
    }

    /// The same under another load, of as many connections.
    fn asked(
        load: Load,
        serve: fn(TcpStream) -> std::io::Result<()>,
    ) -> Result<(Distribution, LoadRecord), Stopped> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let accept = |_| listener.accept().unwrap().0;
            let streams: Vec<TcpStream> = (0..LOAD.connections).map(accept).collect();
            let each: Vec<_> =
                streams.into_iter().map(|stream| thread::spawn(move || serve(stream))).collect();
            // A client that gives up is an error to some of them.
            each.into_iter().for_each(|one| drop(one.join().unwrap()));
        });
        let interrupted = AtomicBool::new(false);
        let deadline = Instant::now() + Duration::from_secs(20);
        let (interrupted, stop) = (&interrupted, &AtomicBool::new(false));
        let driven = drive(Drive { load, port, salt: 9, deadline, interrupted, stop });
        server.join().unwrap();
        driven
    }

    fn echo(mut stream: TcpStream) -> std::io::Result<()> {
        let mut reader = stream.try_clone()?;
        std::io::copy(&mut reader, &mut stream).map(drop)
    }

    #[test]
    fn every_request_is_answered_and_counted_once() {
        let (distribution, record) = against(echo).unwrap();
        assert_eq!(distribution.events, 120);
        assert_eq!(record.wrong(120), None);
        assert_eq!(record.offered_per_s, 6_000);
        assert!(record.achieved_per_s > 0);
    }

    /// Answers each request after so many steps.
    fn compute(mut stream: TcpStream, steps: u64) -> std::io::Result<()> {
        let mut request = [0; 24];
        while stream.read_exact(&mut request).is_ok() {
            palio_protocol::served::answer_in_place(&mut request, steps);
            stream.write_all(&request)?;
        }
        Ok(())
    }

    #[test]
    fn what_was_to_be_computed_must_have_been() {
        let load = Load { steps: Some(1_000), ..LOAD };
        let (distribution, _) = asked(load, |stream| compute(stream, 1_000)).unwrap();
        assert_eq!(distribution.events, 120);
        let lazy: [fn(TcpStream) -> _; 3] =
            [echo, |stream| compute(stream, 999), |stream| compute(stream, 0)];
        for lazy in lazy {
            let stopped = asked(load, lazy).unwrap_err();
            let Stopped::Wrong(reason) = &stopped else { panic!("{stopped:?}") };
            assert!(reason.contains("is not what was to be computed"), "{reason}");
        }
    }

    #[test]
    fn the_time_in_which_a_server_stood_still_is_in_the_latencies_of_all_that_were_due_in_it() {
        // All 40 requests of a connection are due within 20 ms; nothing is answered before all of
        // them have been read, so that the first wait for the last.
        let (distribution, _) = against(|mut stream| {
            let mut all = vec![0; (LOAD.requests * LOAD.bytes) as usize];
            stream.read_exact(&mut all)?;
            stream.write_all(&all)
        })
        .unwrap();
        let span_ns = LOAD.due_ns(0, LOAD.requests - 1);
        assert!(distribution.max_ns >= span_ns, "{distribution:?}");
        // Half of them were due in its first half: a client that waited for each answer would have
        // sent, and counted, one.
        assert!(distribution.p50_ns >= span_ns / 3, "{distribution:?}");
    }

    #[test]
    fn a_server_that_goes_away_is_told_with_how_far_it_came() {
        let stopped = against(|mut stream| {
            let mut some = [0; 48];
            stream.read_exact(&mut some)?;
            stream.write_all(&some)
        })
        .unwrap_err();
        assert!(matches!(&stopped, Stopped::Gone(reason) if reason.contains("of 40 answers")));
    }

    #[test]
    fn what_comes_back_must_be_what_was_sent() {
        let stopped = against(|mut stream| {
            let mut one = [0; 24];
            stream.read_exact(&mut one)?;
            one[0] ^= 1;
            stream.write_all(&one)?;
            // To close now, before all is read, is a reset, which the other side may see first.
            std::io::copy(&mut stream, &mut std::io::sink()).map(drop)
        })
        .unwrap_err();
        assert!(matches!(&stopped, Stopped::Wrong(reason) if reason.contains("answer 0")));
    }

    /// Contenders inherit it.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_timers_of_what_is_started_later_are_as_before() {
        let before = nix::sys::prctl::get_timerslack().unwrap();
        assert!(before > 1, "the thread began with {before} ns");
        against(echo).unwrap();
        assert_eq!(nix::sys::prctl::get_timerslack(), Ok(before));
        against(|_| Ok(())).unwrap_err();
        assert_eq!(nix::sys::prctl::get_timerslack(), Ok(before));
    }

    #[test]
    fn nobody_at_the_port_is_told() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let interrupted = AtomicBool::new(false);
        let deadline = Instant::now() + Duration::from_secs(20);
        let (load, interrupted, stop) = (LOAD, &interrupted, &AtomicBool::new(false));
        let what = Drive { load, port, salt: 9, deadline, interrupted, stop };
        assert!(matches!(drive(what), Err(Stopped::Gone(reason)) if reason.contains("refused")));
    }

    #[test]
    fn who_asks_too_many_connections_is_told_what_would_allow_them() {
        let load = Load { connections: u64::MAX / 2, ..LOAD };
        assert!(check_descriptors(&load).unwrap_err().contains("ulimit -n"));
        assert_eq!(check_descriptors(&LOAD), Ok(()));
    }
}
