//! The driver: one `mio::Poll` a runtime, and who sleeps in it.

use super::lease::{Lease, sleep_with};
use super::slot::Slot;
use super::slots::{Known, Place, Refused, Slots, split};
use super::{Interest, Ready, Wakes};
use crate::primitives::Mutex;
use crate::primitives::atomic::{AtomicU64, AtomicUsize, Relaxed, SeqCst};
use crate::primitives::parker::{Interrupt, Parker};
use crate::runtime::shutdown_error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The token of the driver's own waker. No slot has it.
const INTERRUPT: mio::Token = mio::Token(usize::MAX);

/// How many events are taken from the system at a time.
const EVENTS: usize = 1024;

/// The reactor of one runtime.
#[derive(Clone)]
pub(crate) struct Reactor(Arc<Inner>);

struct Inner {
    lease: Lease<Core>,
    /// Adds sources and removes them while another thread sleeps in the poll.
    registry: mio::Registry,
    slots: Mutex<Slots>,
    /// How many sources there are.
    sources: AtomicUsize,
    /// How often the system was asked for events. Only whoever has the lease writes it.
    looks: AtomicU64,
    interrupt: Arc<Interrupter>,
    /// The process that has made the reactor. A fork of it shares the system's half, and must not
    /// touch that.
    process: u32,
}

/// What whoever has the lease uses.
struct Core {
    poll: mio::Poll,
    events: mio::Events,
    known: Known,
}

/// Ends the sleep of whoever is in the poll.
#[derive(Debug)]
struct Interrupter(mio::Waker);

impl Interrupt for Interrupter {
    fn interrupt(&self) {
        // A wake-up that is lost is a thread that sleeps for ever, so this must not fail quietly.
        self.0.wake().expect("the I/O driver's own descriptor was closed");
    }
}

impl Reactor {
    /// # Errors
    /// Those of the system, which may have no descriptor left.
    pub(crate) fn new() -> io::Result<Self> {
        let poll = mio::Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let interrupt = Arc::new(Interrupter(mio::Waker::new(&registry, INTERRUPT)?));
        let core =
            Core { poll, events: mio::Events::with_capacity(EVENTS), known: Known::default() };
        Ok(Self(Arc::new(Inner {
            lease: Lease::new(core),
            registry,
            slots: Mutex::new(Slots::default()),
            sources: AtomicUsize::new(0),
            looks: AtomicU64::new(0),
            interrupt,
            process: std::process::id(),
        })))
    }

    /// A parker for a thread that may sleep in the poll.
    pub(crate) fn interrupt(&self) -> Arc<dyn Interrupt> {
        Arc::clone(&self.0.interrupt) as Arc<dyn Interrupt>
    }

    fn has_sources(&self) -> bool {
        // SeqCst: the sleeper's half of the pattern with `register` (`README.md`).
        self.0.sources.load(SeqCst) > 0
    }

    /// Sleeps until the parker gets a token, an event comes or the time is over: in the poll, if
    /// there are sources and no other thread is there, and in the parker otherwise.
    ///
    /// The wakers of what has become ready are for the caller to wake, when it counts as awake.
    pub(crate) fn park(&self, parker: &Parker, timeout: Option<Duration>) -> Wakes {
        let mut wakes = Wakes::default();
        let poll = |core: &mut Core| self.turn(core, timeout, &mut wakes);
        if !(self.has_sources() && sleep_with(&self.0.lease, parker, poll)) {
            match timeout {
                None => parker.park(),
                Some(timeout) => parker.park_timeout(timeout),
            }
        }
        wakes
    }

    /// Takes what events there are, without waiting, unless another thread is at it.
    pub(crate) fn look(&self) -> Wakes {
        let mut wakes = Wakes::default();
        if self.has_sources()
            && !self.0.lease.seems_taken()
            && let Some(mut leased) = self.0.lease.take()
        {
            leased.with(|core| self.turn(core, Some(Duration::ZERO), &mut wakes));
        }
        wakes
    }

    /// Whether there are sources, nobody has the lease, and nobody has looked since `seen`, which
    /// is brought up to date.
    pub(crate) fn is_unattended(&self, seen: &mut u64) -> bool {
        // Relaxed: the monitor looks again in a period.
        let looks = self.0.looks.load(Relaxed);
        let before = std::mem::replace(seen, looks);
        before == looks && self.lacks_holder()
    }

    /// Whether there are sources and nobody has the lease. Whoever asks in order to wake a sleeper
    /// has put a full fence before this.
    pub(crate) fn lacks_holder(&self) -> bool {
        self.has_sources() && !self.0.lease.is_taken()
    }

    /// Adds a source. The caller then has a thread woken if [`lacks_holder`](Self::lacks_holder)
    /// says so.
    ///
    /// # Errors
    /// Those of the system; and if the runtime has shut down, if the process is a fork of the one
    /// that has made it, or if there are too many sources.
    pub(super) fn register(
        &self,
        source: &mut impl mio::event::Source,
        interest: Interest,
    ) -> io::Result<Place> {
        self.check_process()?;
        let place = self.0.slots.lock().occupy().map_err(|refused| match refused {
            Refused::Over => shutdown_error(),
            Refused::Full => io::Error::other("the runtime has too many sources of events"),
        })?;
        // The count comes before the system's half, so that an event finds somebody who looks.
        // SeqCst: the other half of the pattern with `park`.
        self.0.sources.fetch_add(1, SeqCst);
        let token = mio::Token(place.token());
        if let Err(error) = self.0.registry.register(source, token, interest.to_mio()) {
            self.vacate(&place);
            return Err(error);
        }
        Ok(place)
    }

    /// Has the system forget a source. The slot is still the caller's.
    ///
    /// # Errors
    /// Those of the system, if the source's descriptor was closed by somebody else.
    pub(super) fn deregister(&self, source: &mut impl mio::event::Source) -> io::Result<()> {
        // The system's half is also the parent's, which is to keep the source.
        self.check_process()?;
        self.0.registry.deregister(source)
    }

    /// Gives a slot back. No event reaches it from here on.
    pub(super) fn vacate(&self, place: &Place) {
        let mut wakers = Vec::new();
        place.slot().vacate(&mut wakers);
        self.0.slots.lock().free(place);
        // SeqCst: as in `register`. That somebody still sleeps in the poll does no harm.
        self.0.sources.fetch_sub(1, SeqCst);
        drop(wakers);
    }

    /// # Errors
    /// If this process is a fork of the one that has made the reactor.
    pub(crate) fn check_process(&self) -> io::Result<()> {
        if std::process::id() == self.0.process {
            return Ok(());
        }
        Err(io::Error::other(
            "this process is a fork of the one that has made the runtime, whose I/O it cannot use: \
             make a new runtime after the fork",
        ))
    }

    /// Everybody who waits is woken, and all operations fail from here on.
    pub(crate) fn shut_down(&self) {
        let pages = self.0.slots.lock().close();
        let mut wakes = Wakes::default();
        for slot in pages.iter().flat_map(|page| page.iter()) {
            slot.end(&mut wakes);
        }
        wakes.wake();
    }

    fn turn(&self, core: &mut Core, timeout: Option<Duration>, wakes: &mut Wakes) {
        let Core { poll, events, known } = core;
        // Relaxed: a hint for the monitor. The lease is this thread's, so it is no RMW.
        self.0.looks.store(self.0.looks.load(Relaxed).wrapping_add(1), Relaxed);
        match poll.poll(events, timeout) {
            Ok(()) => {}
            // By a signal. The caller looks around and comes back.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => panic!("the I/O driver cannot wait for events any more: {error}"),
        }
        for event in events.iter() {
            if event.token() == INTERRUPT {
                continue;
            }
            let (index, generation) = split(event.token().0);
            let slot = known.slot(index, |known| {
                let slots = self.0.slots.lock();
                known.extend_from_slice(&slots.pages()[known.len()..]);
            });
            if let Some(slot) = slot {
                Slot::announce(slot, generation, Ready::of_event(event), wakes);
            }
        }
    }
}

impl fmt::Debug for Reactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reactor")
            .field("lease", &self.0.lease)
            .field("sources", &self.0.sources.load(Relaxed))
            .field("looks", &self.0.looks.load(Relaxed))
            .finish_non_exhaustive()
    }
}

/// Nothing that a panic could leave half done.
impl std::panic::UnwindSafe for Reactor {}
impl std::panic::RefUnwindSafe for Reactor {}
