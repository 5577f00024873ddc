//! The driver: one `mio::Poll` a runtime, and who sleeps in it.

use super::lease::{Lease, sleep_with};
use super::slot::Slot;
use super::slots::{Known, Place, Refused, Slots, split};
use super::wait::wait;
use super::{Interest, Ready, Wakes};
use crate::primitives::Mutex;
use crate::primitives::atomic::{AtomicU64, AtomicUsize, Relaxed, SeqCst};
use crate::primitives::parker::{Interrupt, Parker};
use crate::runtime::shutdown_error;
use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The token of the driver's own waker. No slot has it.
const INTERRUPT: mio::Token = mio::Token(usize::MAX);

/// How many events are taken from the system at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventLimits {
    pub(crate) per_turn: usize,
    /// When the thread has something else to do, if that is to be another number.
    pub(crate) per_busy_turn: Option<usize>,
}

impl Default for EventLimits {
    fn default() -> Self {
        Self { per_turn: 1024, per_busy_turn: None }
    }
}

/// The room for events is allocated at once, and more of them than this bring nothing.
const EVENTS_MAX: usize = 1 << 16;

/// The reactor of one runtime.
#[derive(Clone)]
pub(crate) struct Reactor(Arc<Inner>);

struct Inner {
    /// The system's half, from the first source on: most runtimes that are soon over have none, and
    /// it costs seven calls of the system to make it and to close it.
    system: OnceLock<System>,
    /// Only one thread at a time makes it.
    making: Mutex<()>,
    limits: EventLimits,
    slots: Mutex<Slots>,
    /// How many sources there are.
    sources: AtomicUsize,
    /// How often the system was asked for events. Only whoever has the lease writes it.
    looks: AtomicU64,
    /// How many events the system has had. Only whoever has the lease writes it.
    events: AtomicU64,
    /// How many sources there have been, and how many of them have gone.
    registered: AtomicU64,
    gone: AtomicU64,
    interrupt: Arc<Interrupter>,
    /// The process that has made the reactor. A fork of it shares the system's half, and must not
    /// touch that.
    process: u32,
}

struct System {
    lease: Lease<Core>,
    /// Adds sources and removes them while another thread sleeps in the poll.
    registry: mio::Registry,
}

/// What whoever has the lease uses.
struct Core {
    poll: mio::Poll,
    events: mio::Events,
    /// For looks that do not wait, if they take another number.
    busy_events: Option<mio::Events>,
    known: Known,
}

/// Ends the sleep of whoever is in the poll.
#[derive(Debug, Default)]
struct Interrupter(OnceLock<mio::Waker>);

impl Interrupt for Interrupter {
    fn interrupt(&self) {
        // Whoever polls had seen the system's half, and so this, before it announced its poll.
        let waker = self.0.get().expect("nobody polls what was not made");
        // A wake-up that is lost is a thread that sleeps for ever, so this must not fail quietly.
        waker.wake().expect("the I/O driver's own descriptor was closed");
    }
}

impl System {
    /// # Errors
    /// Those of the system, which may have no descriptor left.
    fn new(limits: EventLimits) -> io::Result<(Self, mio::Waker)> {
        let poll = mio::Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let waker = mio::Waker::new(&registry, INTERRUPT)?;
        let room_for = |n: usize| mio::Events::with_capacity(n.min(EVENTS_MAX));
        let core = Core {
            poll,
            events: room_for(limits.per_turn),
            busy_events: limits.per_busy_turn.map(room_for),
            known: Known::default(),
        };
        Ok((Self { lease: Lease::new(core), registry }, waker))
    }
}

impl Reactor {
    pub(crate) fn new(limits: EventLimits) -> Self {
        Self(Arc::new(Inner {
            system: OnceLock::new(),
            making: Mutex::new(()),
            limits,
            slots: Mutex::new(Slots::default()),
            sources: AtomicUsize::new(0),
            looks: AtomicU64::new(0),
            events: AtomicU64::new(0),
            registered: AtomicU64::new(0),
            gone: AtomicU64::new(0),
            interrupt: Arc::default(),
            process: std::process::id(),
        }))
    }

    /// The system's half, if there was ever a source.
    #[inline]
    fn made(&self) -> Option<&System> {
        self.0.system.get()
    }

    /// The system's half, which is made if it is missing.
    ///
    /// # Errors
    /// Those of [`System::new`]. The next call tries again.
    fn system(&self) -> io::Result<&System> {
        // Always, although a look would do: ThreadSanitizer does not see what a `OnceLock` orders.
        // (All others look at `sources` first.)
        let _making = self.0.making.lock();
        if let Some(system) = self.made() {
            return Ok(system);
        }
        let (system, waker) = System::new(self.0.limits)?;
        // The waker comes first: whoever sees the system's half may poll, and be interrupted.
        self.0.interrupt.0.set(waker).expect("only this thread makes it");
        Ok(self.0.system.get_or_init(|| system))
    }

    /// A parker for a thread that may sleep in the poll.
    pub(crate) fn interrupt(&self) -> Arc<dyn Interrupt> {
        Arc::clone(&self.0.interrupt) as Arc<dyn Interrupt>
    }

    #[inline]
    pub(crate) fn has_sources(&self) -> bool {
        // SeqCst: the sleeper's half of the pattern with `register` (`README.md`).
        self.0.sources.load(SeqCst) > 0
    }

    /// Sleeps until the parker gets a token, an event comes or the time is over: in the poll, if
    /// there are sources and no other thread is there, and in the parker otherwise.
    ///
    /// The wakers of what has become ready are added to `wakes`, for the caller to wake when it
    /// counts as awake. There are none if it has slept in its parker. Returns whether the parker
    /// got a token.
    pub(crate) fn park(
        &self,
        parker: &Parker,
        timeout: Option<Duration>,
        wakes: &mut Wakes,
    ) -> bool {
        if self.has_sources()
            && let Some(system) = self.made()
            && let Some(is_told) =
                sleep_with(&system.lease, parker, |core| self.turn(core, timeout, wakes))
        {
            return is_told;
        }
        parker.park_at_most(timeout)
    }

    /// Takes what events there are, without waiting, unless another thread is at it. The wakers are
    /// added to `wakes`, as by [`park`](Self::park).
    #[inline]
    pub(crate) fn look(&self, wakes: &mut Wakes) {
        if self.has_sources() {
            self.look_closely(wakes);
        }
    }

    fn look_closely(&self, wakes: &mut Wakes) {
        if let Some(system) = self.made()
            && !system.lease.seems_taken()
            && let Some(mut leased) = system.lease.take()
        {
            leased.with(|core| self.turn(core, Some(Duration::ZERO), wakes));
        }
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
        self.has_sources() && self.made().is_some_and(|system| !system.lease.is_taken())
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
        let system = match self.system() {
            Ok(system) => system,
            Err(error) => {
                self.0.slots.lock().free(&place);
                return Err(error);
            }
        };
        // The count comes before the system is told, so that an event finds somebody who looks, and
        // after the system's half was made, so that whoever sees the count sees that. SeqCst: the
        // other half of the pattern with `park`.
        self.0.sources.fetch_add(1, SeqCst);
        let token = mio::Token(place.token());
        if let Err(error) = system.registry.register(source, token, interest.to_mio()) {
            self.free(&place);
            return Err(error);
        }
        // Relaxed: statistics, here and below.
        self.0.registered.fetch_add(1, Relaxed);
        Ok(place)
    }

    /// Has the system forget a source. The slot is still the caller's.
    ///
    /// # Errors
    /// Those of the system, if the source's descriptor was closed by somebody else.
    pub(super) fn deregister(&self, source: &mut impl mio::event::Source) -> io::Result<()> {
        // The system's half is also the parent's, which is to keep the source.
        self.check_process()?;
        let system = self.made().expect("it was made for this source, or for another");
        system.registry.deregister(source)
    }

    /// Gives a slot back. No event reaches it from here on.
    pub(super) fn vacate(&self, place: &Place) {
        self.free(place);
        self.0.gone.fetch_add(1, Relaxed);
    }

    fn free(&self, place: &Place) {
        let mut wakers = Vec::new();
        place.slot().vacate(&mut wakers);
        self.0.slots.lock().free(place);
        // SeqCst: as in `register`. That somebody still sleeps in the poll does no harm.
        self.0.sources.fetch_sub(1, SeqCst);
        drop(wakers);
    }

    /// How many sources were registered.
    pub(crate) fn registered(&self) -> u64 {
        self.0.registered.load(Relaxed)
    }

    /// How many of them have gone.
    pub(crate) fn gone(&self) -> u64 {
        self.0.gone.load(Relaxed)
    }

    /// How many events there were.
    pub(crate) fn events(&self) -> u64 {
        self.0.events.load(Relaxed)
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
        let Core { poll, events, busy_events, known } = core;
        let events = match busy_events {
            Some(events) if timeout == Some(Duration::ZERO) => events,
            _ => events,
        };
        // Relaxed: a hint for the monitor. The lease is this thread's, so it is no RMW.
        self.0.looks.store(self.0.looks.load(Relaxed).wrapping_add(1), Relaxed);
        match wait(poll, events, timeout) {
            Ok(()) => {}
            // By a signal. The caller looks around and comes back.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => panic!("the I/O driver cannot wait for events any more: {error}"),
        }
        let mut count = 0;
        for event in events.iter() {
            if event.token() == INTERRUPT {
                continue;
            }
            count += 1;
            let (index, generation) = split(event.token().0);
            let slot = known.slot(index, |known| {
                let slots = self.0.slots.lock();
                known.extend_from_slice(&slots.pages()[known.len()..]);
            });
            if let Some(slot) = slot {
                Slot::announce(slot, generation, Ready::of_event(event), wakes);
            }
        }
        // Relaxed: statistics. As with `looks`, it is no RMW.
        self.0.events.store(self.0.events.load(Relaxed) + count, Relaxed);
    }
}

impl fmt::Debug for Reactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reactor")
            .field("lease", &self.made().map(|system| &system.lease))
            .field("sources", &self.0.sources.load(Relaxed))
            .field("looks", &self.0.looks.load(Relaxed))
            .finish_non_exhaustive()
    }
}

/// Nothing that a panic could leave half done.
impl std::panic::UnwindSafe for Reactor {}
impl std::panic::RefUnwindSafe for Reactor {}
