//! What all listeners for one kind of signal in one runtime share.
//!
//! The handler counts the signal, and then writes a byte to a socket, so that the runtime looks. A
//! listener compares the count with what it has seen. The bytes say no more than that the count has
//! changed.
//!
//! A hub lives from the first listener of its kind on until its runtime shuts down, whether anybody
//! listens or not. Each event of its socket wakes it, on the thread that drives, and the hub then
//! *looks* ([`Hub::look`]): it takes the bytes, so that there is room and later ones are events.
//!
//! **Who reads.** Bytes are read, and the socket's readiness is cleared, only under the lock
//! `looking`, and only by whoever has seen the readiness there. So from the event on until it is
//! cleared, nobody who comes to wait is put to sleep.
//!
//! **No signal is lost to those who wait.** A listener leaves its waker with the socket's slot,
//! finds no readiness, and then looks at the count. A signal that it does not see there is counted
//! later, and so its byte is written later.
//!
//! - There may be no room for the byte. Then the socket is full of bytes that nobody has read. The
//!   readiness is cleared only after a read that has left nothing, so the first of them came later
//!   than that, and its event is still to come, or has come after the listener found no readiness.
//! - Or the byte is in the socket, and its event is to come, unless somebody reads the byte before
//!   the reactor asks for events. Whoever does has seen a readiness that was not cleared between
//!   then and the read. The listener has not found it, so it was set later than that.
//!
//! In each case an event is set in the slot after the listener has left its waker, and takes it.
//!
//! **Where a new listener begins.** At `looked`, which is how many signals are settled: those that
//! were counted before somebody looked, and those that a listener has received. So what comes
//! between the drop of one listener and the next one is the next one's, if the runtime has not
//! looked meanwhile; and nothing is received twice by a task that makes a new listener for each
//! signal.
//!
//! - *What is settled was counted*, and whoever sees it settled sees it counted: see `settle`. So
//!   a listener begins at the count or below.
//! - *No signal is settled too early.* A look reads the count before the bytes. A signal that is
//!   counted later is not settled, although its byte may be read by this look. A signal that is
//!   counted earlier came before the end of a look that an event has caused. What a listener
//!   receives, every other one receives that there is.
//! - *Nor too late*, which would have it received long after it came. A look ends when the count is
//!   the same after a read that has left nothing as it was before. Whatever the handlers have
//!   written by then, or had no room for, was counted before the read, and is settled. What they
//!   write later is an event, and there is another look. If signals come as fast as this can look,
//!   it ends after [`ROUNDS`], and one that came between may be left over for the next listener.
//!   A look takes that many reads at most, beside what is read in full or interrupted.
//! - *Nothing from before the hub.* Its count begins at 0 before its handler is there. Its first
//!   listener begins there as well, whoever has looked meanwhile.

use crate::primitives::Mutex;
use crate::primitives::atomic::{Acquire, AtomicU64, Release};
use crate::reactor::{Interest, Source};
use crate::scheduler::Handle;
use signal_hook_registry::SigId;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

/// How often a look reads again because the count has changed meanwhile.
const ROUNDS: u32 = 8;

/// The hubs of one runtime.
#[derive(Debug, Default)]
pub(crate) struct Hubs(Mutex<Vec<Arc<Hub>>>);

impl Hubs {
    /// The hub for signals of that number, in the runtime whose hubs these are, which is the
    /// current one. It is made if it is missing. And where a new listener begins.
    ///
    /// # Errors
    /// Those of the system; for signals that cannot be handled; and if the runtime has shut down.
    ///
    /// # Panics
    /// If the runtime has no I/O.
    #[track_caller]
    fn get(&self, number: i32) -> io::Result<(Arc<Hub>, u64)> {
        let mut hubs = self.0.lock();
        let known = hubs.iter().position(|hub| hub.number == number);
        if let Some(hub) = known.map(|index| &hubs[index])
            && hub.is_of_use()
        {
            return Ok((Arc::clone(hub), hub.looked()));
        }
        // Under the lock, so that there is one of a kind, and none is added after `clear`.
        let hub = Hub::new(number)?;
        // One that is of no use is only for the listeners that it has.
        let old = known.map(|index| hubs.swap_remove(index));
        hubs.push(Arc::clone(&hub));
        drop(hubs);
        drop(old);
        Ok((hub, 0))
    }

    /// The runtime has shut down, and so refuses new hubs: these are only for the listeners that
    /// they have.
    pub(crate) fn clear(&self) {
        let hubs = std::mem::take(&mut *self.0.lock());
        drop(hubs);
    }
}

/// One kind of signal in one runtime.
#[derive(Debug)]
pub(super) struct Hub {
    number: i32,
    arrived: Source<mio::net::UnixStream>,
    /// How many signals there were. The handler has the other reference, until somebody tells the
    /// registry to forget all handlers.
    count: Arc<AtomicU64>,
    /// How many of them are no new listener's any more.
    looked: AtomicU64,
    /// Held by whoever reads.
    looking: Mutex<()>,
    /// The hub's own place among those who wait at the socket.
    place: Mutex<Option<u64>>,
    handler: SigId,
    process: u32,
}

impl Hub {
    /// The hub of the current runtime for signals of that number, and where a new listener begins.
    ///
    /// # Errors
    /// Those of the system; for signals that cannot be handled; and if the runtime has shut down.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub(super) fn get(number: i32) -> io::Result<(Arc<Self>, u64)> {
        let handle = Handle::current();
        // For its panic.
        handle.reactor();
        handle.common().signals.get(number)
    }

    #[track_caller]
    fn new(number: i32) -> io::Result<Arc<Self>> {
        let (arrived, arrives) = UnixStream::pair()?;
        arrived.set_nonblocking(true)?;
        arrives.set_nonblocking(true)?;
        let arrived = Source::new(mio::net::UnixStream::from_std(arrived), Interest::READABLE)?;
        if number <= 0 || signal_hook_registry::FORBIDDEN.contains(&number) {
            let text = format!("signal {number} cannot be handled");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let process = std::process::id();
        let count = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&count);
        let handle = move || {
            // A fork has the handler as well, and its half of this process's sockets. What it is
            // sent before it executes another program is nothing of ours.
            if std::process::id() != process {
                return;
            }
            // Release: pairs with `count`. What the handler's thread has done before is visible.
            counted.fetch_add(1, Release);
            // It fails if there is no room: then bytes are there that nobody has read yet. There is
            // nothing else to do in a handler.
            let _ = rustix::io::write(&arrives, &[1]);
        };
        // SAFETY: a handler may do only what is safe at any point of the program. This one changes
        // an atomic, and makes system calls that POSIX names as such, on a descriptor that it owns.
        // The registry keeps `errno` as it was.
        let handler = unsafe { signal_hook_registry::register(number, handle) }?;
        let hub = Arc::new(Self {
            number,
            arrived,
            count,
            looked: AtomicU64::new(0),
            looking: Mutex::new(()),
            place: Mutex::new(None),
            handler,
            process,
        });
        hub.attend(&Waker::from(Arc::new(Attendant(Arc::downgrade(&hub)))));
        Ok(hub)
    }

    /// Whether it can serve listeners that are new.
    fn is_of_use(&self) -> bool {
        let has_handler = Arc::strong_count(&self.count) > 1;
        has_handler && self.process == std::process::id() && !self.arrived.registration().is_over()
    }

    /// How many signals there were.
    pub(super) fn count(&self) -> u64 {
        // Acquire: pairs with the handler.
        self.count.load(Acquire)
    }

    /// At which count a new listener begins.
    fn looked(&self) -> u64 {
        // Acquire: pairs with `settle`.
        self.looked.load(Acquire)
    }

    /// So many of the signals that were counted are no new listener's any more.
    pub(super) fn settle(&self, count: u64) {
        // Release: pairs with `looked`. Whoever begins there sees this count, or a higher one, and
        // so does not take an older count for news.
        self.looked.fetch_max(count, Release);
    }

    pub(super) fn source(&self) -> &Source<mio::net::UnixStream> {
        &self.arrived
    }

    /// Takes the bytes that are there, if the reactor has announced any. Returns false if no more
    /// will come: the runtime has shut down, or somebody has told the registry to forget all
    /// handlers.
    pub(super) fn look(&self) -> bool {
        self.look_by(|| self.count())
    }

    fn look_by(&self, mut counted: impl FnMut() -> u64) -> bool {
        let _looking = self.looking.lock();
        let registration = self.arrived.registration();
        let mut rounds = 0;
        loop {
            let event = match registration.announced(Interest::READABLE.mask()) {
                None => return true,
                Some(event) if event.is_over => return false,
                Some(event) => event,
            };
            let count = counted();
            let mut buf = [0; 512];
            let has_all = match (&*self.arrived).read(&mut buf) {
                Ok(0) => return false,
                // Of a stream without descriptors, a short read says that nothing is left.
                Ok(taken) => taken < buf.len(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => false,
                Err(_) => return false,
            };
            self.settle(count);
            rounds += 1;
            if has_all && (rounds >= ROUNDS || counted() == count) {
                // Unless there was a newer event, which is looked at then.
                self.arrived.clear(event);
            }
        }
    }

    /// Looks, and waits for the next event.
    fn attend(&self, waker: &Waker) {
        // Two threads may be here if an event comes meanwhile. There is one place.
        let mut place = self.place.lock();
        let (cx, mask) = (&mut Context::from_waker(waker), Interest::READABLE.mask());
        while let Poll::Ready(Ok(_)) =
            self.arrived.registration().poll_on_list(cx, mask, &mut place)
            && self.look()
        {}
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        signal_hook_registry::unregister(self.handler);
    }
}

/// The waker by which events have the hub look. Its slot keeps it, so it must not keep the hub,
/// which keeps the slot.
struct Attendant(Weak<Hub>);

impl Wake for Attendant {
    fn wake(self: Arc<Self>) {
        if let Some(hub) = self.0.upgrade() {
            hub.attend(&Waker::from(self));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Builder;

    /// As if there were a signal during each read.
    #[test]
    fn a_look_ends_although_the_count_goes_on() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (hub, _) = Hub::get(libc::SIGCONT).unwrap();
            // What an event brings.
            hub.arrived.registration().assume(crate::reactor::Ready::READABLE);
            let mut counted = 0;
            assert!(hub.look_by(|| {
                counted += 1;
                assert!(counted <= 2 * u64::from(ROUNDS));
                counted
            }));
            assert!(counted > u64::from(ROUNDS));
        });
    }
}
