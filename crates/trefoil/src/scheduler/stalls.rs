//! Polls that keep their worker for too long: who they are, for those who asked for it.
//!
//! A thread that runs tasks has a [`Watch`], in which it writes whose poll it is in, and that it is
//! in none. The monitor reads all of them at each of its looks. What it finds unchanged for as long
//! as the bound is a stall. So a poll costs four stores, and nobody but the monitor asks for the
//! time.
//!
//! A poll that forks or blocks in place has its worker's state on offer (`multi/handoff.rs`), and
//! keeps nobody waiting. Meanwhile its thread writes that it is in none.
//!
//! # Why no report is of a mixture of two polls
//!
//! A watch is a sequence lock with one writer. The writer makes the number odd, then writes, and
//! then makes it even. The reader discards what it has read unless it has seen the same even number
//! before and after:
//!
//! - The write of the even number releases the fields, and the reader's first look acquires it: so
//!   the reader sees these fields, or later ones.
//! - If it sees a later field, its fence synchronizes with the writer's between that odd number and
//!   the field. So its second look sees that odd number, or a later one.
//!
//! What is written is an id and a place in the source, which is `'static`: nothing is read that may
//! have gone.

use super::Counter;
use crate::primitives::Mutex;
use crate::primitives::atomic::{Acquire, AtomicPtr, AtomicU64, Relaxed, Release, fence};
use crate::task::{Id, discard};
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A poll that has kept its worker for longer than the bound: see
/// [`Builder::stall_bound`](crate::runtime::Builder::stall_bound).
#[derive(Clone, Copy, Debug)]
pub struct Stall {
    task: Subject,
    duration: Duration,
}

impl Stall {
    /// The id of the task, which may be a fiber.
    pub fn id(&self) -> Id {
        self.task.id
    }

    /// Where in the source it was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.task.spawned_at
    }

    /// How long the poll has lasted so far. It may have begun some milliseconds earlier.
    pub fn duration(&self) -> Duration {
        self.duration
    }
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Subject { id, spawned_at } = self.task;
        let millis = self.duration.as_millis();
        write!(f, "task {id}, spawned at {spawned_at}, has kept its worker for {millis} ms")
    }
}

pub(crate) type StallHook = Arc<dyn Fn(&Stall) + Send + Sync>;

/// Whose poll it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) id: Id,
    pub(crate) spawned_at: &'static Location<'static>,
}

/// What a runtime that reports stalls has.
pub(crate) struct Stalls {
    bound: Duration,
    /// `None`: they are printed.
    hook: Option<StallHook>,
    /// How many there were.
    pub(crate) count: Counter,
    threads: Mutex<Vec<Seat>>,
    /// The places that were reported, for the monitor.
    reported: Mutex<HashSet<Location<'static>>>,
}

/// A watch, and what the monitor remembers of it.
#[derive(Debug)]
struct Seat {
    watch: Arc<Watch>,
    number: u64,
    since: Instant,
    is_counted: bool,
}

/// In whose poll a thread is, for another thread to read.
#[derive(Debug, Default)]
struct Watch {
    /// Odd while the fields are written.
    number: AtomicU64,
    /// Null: in none.
    spawned_at: AtomicPtr<Location<'static>>,
    id: AtomicU64,
}

impl Watch {
    /// For its thread alone.
    fn write(&self, subject: Option<Subject>) {
        let (id, spawned_at) = match subject {
            Some(Subject { id, spawned_at }) => (id.as_u64(), ptr::from_ref(spawned_at)),
            None => (0, ptr::null()),
        };
        // Relaxed: this thread is the only writer.
        let number = self.number.load(Relaxed);
        // Relaxed: the fence orders it.
        self.number.store(number.wrapping_add(1), Relaxed);
        // The odd number goes before the fields; pairs with the fence in `read`.
        fence(Release);
        // Relaxed: between the two writes of the number.
        self.id.store(id, Relaxed);
        self.spawned_at.store(spawned_at.cast_mut(), Relaxed);
        // Release: pairs with the first load in `read`.
        self.number.store(number.wrapping_add(2), Release);
    }

    /// The number of the entry, and the entry. `None` if it is being written.
    fn read(&self) -> Option<(u64, Option<Subject>)> {
        // Acquire: pairs with the last store in `write`.
        let number = self.number.load(Acquire);
        if !number.is_multiple_of(2) {
            return None;
        }
        // Relaxed: between the two looks at the number.
        let id = self.id.load(Relaxed);
        let spawned_at = self.spawned_at.load(Relaxed);
        // The fields are read before the second look; pairs with the fence in `write`.
        fence(Acquire);
        // Relaxed: the fence orders it.
        if self.number.load(Relaxed) != number {
            return None;
        }
        // SAFETY: null, or from a `&'static Location`.
        let spawned_at = unsafe { spawned_at.as_ref() };
        let subject = Id::from_u64(id).zip(spawned_at);
        Some((number, subject.map(|(id, spawned_at)| Subject { id, spawned_at })))
    }
}

/// A thread's own end of its watch.
#[derive(Debug)]
pub(crate) struct Watched {
    watch: Arc<Watch>,
    subject: Cell<Option<Subject>>,
    /// The thread is in that poll without the worker's state.
    is_paused: Cell<bool>,
}

/// What [`Watched::begin`] leaves to `end`: the poll in which that poll is.
#[derive(Debug)]
#[must_use]
pub(crate) struct Outer {
    subject: Option<Subject>,
    is_paused: bool,
}

impl Watched {
    /// A poll begins, perhaps inside of another.
    pub(crate) fn begin(&self, subject: Subject) -> Outer {
        self.watch.write(Some(subject));
        Outer {
            subject: self.subject.replace(Some(subject)),
            is_paused: self.is_paused.replace(false),
        }
    }

    /// It has ended, and the outer one, if there is one, is measured anew.
    pub(crate) fn end(&self, outer: Outer) {
        let Outer { subject, is_paused } = outer;
        self.subject.set(subject);
        self.is_paused.set(is_paused);
        self.watch.write(subject.filter(|_| !is_paused));
    }

    /// The worker's state is on offer, or gone.
    pub(crate) fn pause(&self) {
        self.is_paused.set(true);
        self.watch.write(None);
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused.get()
    }

    /// The state is back.
    pub(crate) fn resume(&self) {
        self.is_paused.set(false);
        self.watch.write(self.subject.get());
    }
}

impl Stalls {
    pub(crate) fn new(bound: Duration, hook: Option<StallHook>) -> Self {
        Self {
            bound,
            hook,
            count: Counter::default(),
            threads: Mutex::default(),
            reported: Mutex::default(),
        }
    }

    /// A watch for a thread that runs tasks.
    pub(crate) fn watch(&self) -> Watched {
        let watch = Arc::new(Watch::default());
        self.threads.lock().push(Seat {
            watch: Arc::clone(&watch),
            number: 0,
            since: Instant::now(),
            is_counted: false,
        });
        Watched { watch, subject: Cell::new(None), is_paused: Cell::new(false) }
    }

    /// That thread runs tasks no more.
    pub(crate) fn forget(&self, watched: &Watched) {
        self.threads.lock().retain(|seat| !Arc::ptr_eq(&seat.watch, &watched.watch));
    }

    /// Whether some thread is in a poll.
    pub(crate) fn is_any_in_poll(&self) -> bool {
        let is_in_poll = |seat: &Seat| seat.watch.read().is_none_or(|(_, poll)| poll.is_some());
        self.threads.lock().iter().any(is_in_poll)
    }

    /// A look of the monitor: counts and reports what has become a stall.
    pub(crate) fn look(&self, now: Instant) {
        let look = |seat: &mut Seat| seat.look(now, self.bound);
        let found: Vec<_> = self.threads.lock().iter_mut().filter_map(look).collect();
        for stall in found {
            self.count.add_shared(1);
            if self.reported.lock().insert(*stall.task.spawned_at) {
                self.report(&stall);
            }
        }
    }

    fn report(&self, stall: &Stall) {
        let Some(hook) = &self.hook else {
            // It may be closed, and the monitor goes on.
            let _ = writeln!(io::stderr(), "trefoil: {stall}");
            return;
        };
        // Its message was printed.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| hook(stall))) {
            discard(payload);
        }
    }
}

impl Seat {
    fn look(&mut self, now: Instant, bound: Duration) -> Option<Stall> {
        // If it is just being written, the next look sees another number.
        let (number, subject) = self.watch.read()?;
        if number != self.number {
            (self.number, self.since, self.is_counted) = (number, now, false);
        }
        let task = subject?;
        let duration = now.duration_since(self.since);
        if self.is_counted || duration < bound {
            return None;
        }
        self.is_counted = true;
        Some(Stall { task, duration })
    }
}

impl fmt::Debug for Stalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stalls").field("bound", &self.bound).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const BOUND: Duration = Duration::from_millis(10);

    /// The stalls that are found at looks that are 4 ms apart, after each of these.
    struct Looks {
        stalls: Stalls,
        now: Instant,
    }

    impl Looks {
        fn new() -> Self {
            Self { stalls: Stalls::new(BOUND, Some(Arc::new(|_| ()))), now: Instant::now() }
        }

        fn count(&mut self, looks: u32) -> u64 {
            for _ in 0..looks {
                self.stalls.look(self.now);
                self.now += Duration::from_millis(4);
            }
            self.stalls.count.get()
        }
    }

    #[track_caller]
    fn subject() -> Subject {
        Subject { id: Id::next(), spawned_at: Location::caller() }
    }

    #[test]
    fn a_poll_is_a_stall_once_when_it_has_lasted_for_the_bound() {
        let mut looks = Looks::new();
        let thread = looks.stalls.watch();
        assert_eq!(looks.count(10), 0, "it is in no poll");
        let outer = thread.begin(subject());
        assert_eq!(looks.count(3), 0, "8 ms");
        assert_eq!(looks.count(1), 1);
        assert_eq!(looks.count(10), 1);
        thread.end(outer);
        assert_eq!(looks.count(10), 1);
        for _ in 0..10 {
            let outer = thread.begin(subject());
            assert_eq!(looks.count(3), 1);
            thread.end(outer);
        }
        let _outer = thread.begin(subject());
        assert_eq!(looks.count(4), 2);
    }

    #[test]
    fn a_poll_without_the_state_is_none() {
        let mut looks = Looks::new();
        let thread = looks.stalls.watch();
        let outer = thread.begin(subject());
        assert_eq!(looks.count(3), 0);
        thread.pause();
        assert_eq!(looks.count(10), 0);
        // One inside of it has an end of its own.
        let inner = thread.begin(subject());
        thread.end(inner);
        assert_eq!(looks.count(10), 0);
        thread.resume();
        assert_eq!(looks.count(3), 0);
        assert_eq!(looks.count(1), 1);
        thread.end(outer);
        assert!(!looks.stalls.is_any_in_poll());
    }

    #[test]
    fn threads_that_have_gone_are_forgotten() {
        let mut looks = Looks::new();
        let (stays, goes) = (looks.stalls.watch(), looks.stalls.watch());
        let _outer = stays.begin(subject());
        let _outer = goes.begin(subject());
        looks.stalls.forget(&goes);
        assert_eq!(looks.count(4), 1);
        assert_eq!(looks.stalls.threads.lock().len(), 1);
        assert!(looks.stalls.is_any_in_poll());
    }

    #[test]
    fn a_place_is_reported_once_and_counted_each_time() {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let its = Arc::clone(&reports);
        let hook: StallHook = Arc::new(move |stall| {
            its.lock().push((stall.id(), stall.spawned_at().line(), stall.duration()));
            // Not the monitor's end.
            std::panic::resume_unwind(Box::new(()));
        });
        let mut looks = Looks { stalls: Stalls::new(BOUND, Some(hook)), now: Instant::now() };
        let thread = looks.stalls.watch();
        let mut ids = Vec::new();
        for place in [subject, || subject()] {
            for _ in 0..3 {
                let subject = place();
                ids.push((subject.id, subject.spawned_at.line(), Duration::from_millis(12)));
                let outer = thread.begin(subject);
                looks.count(10);
                thread.end(outer);
            }
        }
        assert_eq!(looks.stalls.count.get(), 6);
        assert_eq!(*reports.lock(), [ids[0], ids[3]]);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;

    /// A reader sees one of the entries as a whole, or none.
    #[test]
    fn loom_a_watch_is_read_as_a_whole() {
        static PLACES: [&Location<'static>; 2] = [Location::caller(), Location::caller()];
        loom::model(|| {
            let watch = Arc::new(Watch::default());
            let entry = |number: u64| Subject {
                id: Id::from_u64(number).expect("not 0"),
                spawned_at: PLACES[number as usize - 1],
            };
            let writer = {
                let watch = Arc::clone(&watch);
                loom::thread::spawn(move || {
                    watch.write(Some(entry(1)));
                    watch.write(Some(entry(2)));
                })
            };
            if let Some((number, subject)) = watch.read() {
                let expected = (number > 0).then(|| entry(number / 2));
                assert_eq!(subject.map(|subject| subject.id), expected.map(|entry| entry.id));
                let place = |subject: Subject| ptr::from_ref(subject.spawned_at);
                assert_eq!(subject.map(place), expected.map(place));
            }
            writer.join().unwrap();
            assert_eq!(watch.read(), Some((4, Some(entry(2)))));
        });
    }
}
