//! What all listeners for one kind of signal in one runtime share.
//!
//! The handler counts the signal, and then writes a byte to a socket, so that the runtime looks. A
//! listener compares the count with what it has seen. The bytes say no more than that the count has
//! changed.
//!
//! **No signal is lost.** A listener leaves its waker with the socket's slot, and then looks at the
//! count. A signal that it does not see there is counted later, and so its byte is written later.
//! Then either the socket had no room for the byte. So it was full of bytes that nobody has read,
//! while somebody has cleared the readiness, which is done when nothing is left to read: these
//! bytes came later, and the event of the first of them is still to come. Or the byte is in the
//! socket, and its event is to come, unless somebody reads the byte before the reactor looks for
//! events. Whoever reads bytes wakes all listeners for that reason ([`Hub::take_all`]).

use crate::primitives::Mutex;
use crate::primitives::atomic::{Acquire, AtomicU64, Release};
use crate::reactor::{Event, Interest, Source};
use crate::scheduler::{Handle, Id};
use signal_hook_registry::SigId;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Weak};

/// All hubs that have listeners, and some that have none any more.
static HUBS: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct Entry {
    kind: Kind,
    hub: Weak<Hub>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    runtime: Id,
    number: i32,
}

/// One kind of signal in one runtime.
#[derive(Debug)]
pub(super) struct Hub {
    arrived: Source<mio::net::UnixStream>,
    /// How many signals there were. The handler has the other reference, until somebody tells the
    /// registry to forget all handlers.
    count: Arc<AtomicU64>,
    handler: SigId,
    process: u32,
}

impl Hub {
    /// The hub of the current runtime for signals of that number.
    ///
    /// # Errors
    /// Those of the system; for signals that cannot be handled; and if the runtime has shut down.
    ///
    /// # Panics
    /// If the thread is in no runtime, or the runtime has no I/O.
    #[track_caller]
    pub(super) fn get(number: i32) -> io::Result<Arc<Self>> {
        let handle = Handle::current();
        // For its panic.
        handle.reactor();
        let kind = Kind { runtime: handle.id(), number };
        let known = HUBS.lock().iter().find(|entry| entry.kind == kind).map(|e| e.hub.clone());
        if let Some(hub) = known.and_then(|hub| hub.upgrade())
            && hub.is_of_use()
        {
            return Ok(hub);
        }
        let hub = Arc::new(Self::new(number)?);
        let entry = Entry { kind, hub: Arc::downgrade(&hub) };
        let mut hubs = HUBS.lock();
        // One that is of no use, or was made meanwhile, is only for the listeners that it has.
        hubs.retain(|entry| entry.kind != kind && entry.hub.strong_count() > 0);
        hubs.push(entry);
        Ok(hub)
    }

    #[track_caller]
    fn new(number: i32) -> io::Result<Self> {
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
        Ok(Self { arrived, count, handler, process })
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

    pub(super) fn source(&self) -> &Source<mio::net::UnixStream> {
        &self.arrived
    }

    /// Takes the bytes that are there, so that there is room and later ones are events. Returns
    /// false if no more will come, because the handler is gone: somebody has told the registry to
    /// forget all of them.
    pub(super) fn take_all(&self, event: Event) -> bool {
        let mut buf = [0; 512];
        match (&*self.arrived).read(&mut buf) {
            Ok(0) => return false,
            // Maybe no event will tell the others of these bytes any more. If some are left, this
            // has them taken as well.
            Ok(_) => self.arrived.registration().announce_readable(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.arrived.clear(event),
            // The caller comes back.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
        true
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        signal_hook_registry::unregister(self.handler);
    }
}
