//! The timers of one thread, and how others reach them.

use super::clock::Clock;
use super::entry::{Entry, State};
use super::wheel::{Wheel, with_node};
use crate::runtime::inbox::Inbox;
use crate::runtime::parker::Parker;
use crate::sync::UnsafeCell;
use crate::sync::atomic::{Acquire, AtomicBool, AtomicU64, Relaxed, Release};
use crate::task::{task_of, wake_guarded};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

/// A quarter of a millisecond: divides one, so that whole milliseconds of
/// paused time are whole ticks.
const TICK_NS: u32 = 250_000;

const TICKS_PER_S: u64 = 1_000_000_000 / TICK_NS as u64;

const NEVER: u64 = u64::MAX;

/// How many wakers are collected at a time.
const BATCH: usize = 32;

/// How many entries are kept for the next timers.
const SPARE: usize = 256;

/// A wheel that only its owner touches: the thread that fires its timers. That
/// is whoever has the worker's core, drives the single-threaded scheduler, or
/// is in the `block_on` that the queue was made for; the ownership passes with
/// these. All others send mail. The protocol is in `entry.rs`.
#[derive(Debug)]
pub(crate) struct TimerQueue {
    /// No timer on the wheel is due before this tick. Written by the owner;
    /// others only look.
    next: AtomicU64,
    own: UnsafeCell<Own>,
    /// Timers that others have made or cancelled.
    mail: Inbox,
    /// There is a timer in the mail that was made elsewhere.
    is_asked: AtomicBool,
    clock: Clock,
    parker: Arc<Parker>,
}

#[derive(Debug)]
struct Own {
    wheel: Wheel,
    /// Entries for the next timers, so that the heap is not asked.
    spare: Vec<NonNull<Entry>>,
    /// Who waited for the timer that was dropped last, until the owner's next
    /// turn: a task that uses one timer after the other, as those that serve
    /// requests do, need not be counted up and down for each.
    last: Option<Waker>,
    is_closed: bool,
}

// SAFETY: the wheel and the spare entries are for the owner alone, which is
// what `owner` asks for, and may be used by whichever thread that is: the
// wakers in the entries are `Send`.
unsafe impl Send for TimerQueue {}
// SAFETY: as above; all else is atomic, or `Sync` by itself.
unsafe impl Sync for TimerQueue {}

/// The right to touch what is the owner's; does not leave the owner's thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner<'a> {
    queue: &'a Arc<TimerQueue>,
    _not_send: PhantomData<*const ()>,
}

/// Why a timer was not registered.
#[derive(Debug)]
pub(super) enum Refused {
    /// It is due.
    Due,
    /// The queue's runtime is over.
    Closed,
}

impl TimerQueue {
    pub(crate) fn new(clock: Clock, parker: Arc<Parker>) -> Self {
        let own = Own { wheel: Wheel::new(), spare: Vec::new(), last: None, is_closed: false };
        Self {
            next: AtomicU64::new(NEVER),
            own: UnsafeCell::new(own),
            mail: Inbox::new(),
            is_asked: AtomicBool::new(false),
            clock,
            parker,
        }
    }

    /// # Safety
    /// The calling thread is the owner, and stays it for as long as the result
    /// is in use.
    #[inline(always)]
    pub(crate) unsafe fn owner(self: &Arc<Self>) -> Owner<'_> {
        Owner { queue: self, _not_send: PhantomData }
    }

    #[inline]
    fn set_next(&self, next: u64) {
        // Relaxed: what others conclude from it orders nothing.
        self.next.store(next, Relaxed);
    }

    #[inline]
    fn next(&self) -> u64 {
        // Relaxed: as above; the owner reads what it wrote.
        self.next.load(Relaxed)
    }

    /// How long until a timer may be due, as far as others can tell.
    pub(crate) fn glance(&self) -> Option<Duration> {
        let next = self.next();
        (next != NEVER).then(|| self.until(next))
    }

    /// Whether a timer is due, or one was made elsewhere that may be: for those
    /// who look after an owner that is busy.
    pub(crate) fn needs_owner(&self) -> bool {
        // Relaxed: a hint for somebody who will look again.
        self.is_asked.load(Relaxed) && !self.mail.is_empty()
            || self.glance().is_some_and(|left| left.is_zero())
    }

    /// Makes a timer, on any thread but the owner's. The entry goes to
    /// `cancel`.
    ///
    /// # Errors
    /// [`Refused::Closed`].
    pub(super) fn send(
        self: &Arc<Self>,
        deadline: Instant,
        waker: &Waker,
    ) -> Result<NonNull<Entry>, Refused> {
        let entry = Entry::new(self);
        // SAFETY: live: `new` has just made it.
        let this = unsafe { entry.as_ref() };
        // SAFETY: nobody else knows it yet.
        unsafe { this.put_waker(waker.clone()) };
        // SAFETY: as above.
        unsafe { with_node(entry, |node| node.when = self.tick_after(deadline)) };
        this.set_state(State::Sent);
        // SAFETY: in no mail yet; whoever frees it has received it.
        if self.mail.push(unsafe { Entry::into_item(entry) }).is_err() {
            // SAFETY: the waker that was put there, and nobody else's.
            drop(unsafe { this.copy_waker().assume_init() });
            // SAFETY: the mail has not taken it.
            unsafe { Entry::free(entry) };
            return Err(Refused::Closed);
        }
        // Release: pairs with `read_mail`, which takes what was pushed before.
        self.is_asked.store(true, Release);
        // Cancellations leave the owner asleep, so even mail that is not the
        // first has to wake it.
        self.parker.unpark();
        Ok(entry)
    }

    /// Lets go of a timer in any state, on any thread; returns who waited for
    /// it.
    ///
    /// # Safety
    /// The caller is the entry's holder, and does not use it again.
    pub(super) unsafe fn cancel(entry: NonNull<Entry>) -> Option<Waker> {
        // SAFETY: live, by the caller's promise.
        let this = unsafe { entry.as_ref() };
        // Before the exchange, after which the owner may free the entry.
        let copy = this.copy_waker();
        match this.cancel() {
            State::Waiting => {
                // The owner keeps it until it has got this mail.
                let queue = Arc::clone(this.queue());
                // SAFETY: from `Waiting`, so it is in no mail.
                let item = unsafe { Entry::into_item(entry) };
                if queue.mail.push(item).is_err() {
                    // SAFETY: a queue that is closed has forgotten it.
                    unsafe { Entry::free(entry) };
                }
                // SAFETY: the exchange came before the owner's.
                Some(unsafe { copy.assume_init() })
            }
            // The owner will find it cancelled, in its mail.
            // SAFETY: as above.
            State::Sent => Some(unsafe { copy.assume_init() }),
            _ => {
                // SAFETY: the owner has had its last touch.
                unsafe { Entry::free(entry) };
                None
            }
        }
    }

    fn until(&self, tick: u64) -> Duration {
        let ns = tick % TICKS_PER_S * u64::from(TICK_NS);
        let due = Duration::new(tick / TICKS_PER_S, ns as u32);
        due.saturating_sub(self.clock.since_start(self.clock.now()))
    }

    /// The first tick that is not before this moment.
    #[inline]
    fn tick_after(&self, moment: Instant) -> u64 {
        let since = self.clock.since_start(moment);
        let ticks = u64::from(since.subsec_nanos().div_ceil(TICK_NS));
        since.as_secs().saturating_mul(TICKS_PER_S).saturating_add(ticks).min(NEVER - 1)
    }

    /// The last tick that is not after this moment.
    fn tick_before(&self, moment: Instant) -> u64 {
        let since = self.clock.since_start(moment);
        let ticks = u64::from(since.subsec_nanos() / TICK_NS);
        since.as_secs().saturating_mul(TICKS_PER_S).saturating_add(ticks).min(NEVER - 1)
    }
}

impl Owner<'_> {
    /// Whether these are the timers of that queue.
    #[inline]
    pub(super) fn owns(self, entry: &Entry) -> bool {
        ptr::eq(Arc::as_ptr(self.queue), Arc::as_ptr(entry.queue()))
    }

    pub(super) fn clock(&self) -> &Clock {
        &self.queue.clock
    }

    /// `f` runs no foreign code, which might come here again.
    #[inline]
    fn with<R>(self, f: impl FnOnce(&mut Own) -> R) -> R {
        self.queue.own.with_mut(|own| {
            // SAFETY: this is the owner's thread, and calls are not nested.
            f(unsafe { &mut *own })
        })
    }

    /// Makes a timer. The entry goes to `cancel`, here or in the queue.
    ///
    /// # Errors
    /// [`Refused`].
    #[inline]
    pub(super) fn register(
        self,
        deadline: Instant,
        waker: &Waker,
    ) -> Result<NonNull<Entry>, Refused> {
        let when = self.queue.tick_after(deadline);
        // Foreign code, as is its drop.
        let last = self.with(|own| own.last.take_if(|last| last.will_wake(waker)));
        let waker = last.unwrap_or_else(|| waker.clone());
        self.with(|own| {
            if own.is_closed {
                return Err((Refused::Closed, waker));
            }
            if when <= own.wheel.now() {
                return Err((Refused::Due, waker));
            }
            let entry = own.spare.pop().unwrap_or_else(|| Entry::new(self.queue));
            // SAFETY: live: spare ones are.
            let this = unsafe { entry.as_ref() };
            // SAFETY: nobody else knows it.
            unsafe { this.put_waker(waker) };
            this.set_state(State::Waiting);
            // SAFETY: on no wheel; freed only when it has left this one.
            unsafe { own.wheel.insert(entry, when) };
            if when < self.queue.next() {
                self.queue.set_next(when);
            }
            Ok(entry)
        })
        .map_err(|(refused, _waker)| refused)
    }

    /// Lets go of a timer in any state; returns who waited for it.
    ///
    /// # Safety
    /// The entry is of this queue, and the caller, its holder, does not use it
    /// again.
    #[inline]
    pub(super) unsafe fn cancel(self, entry: NonNull<Entry>) -> Option<Waker> {
        // SAFETY: live, by the caller's promise.
        let this = unsafe { entry.as_ref() };
        let state = this.state();
        if state == State::Sent {
            // It is in our own mail.
            // SAFETY: the caller's promise.
            return unsafe { TimerQueue::cancel(entry) };
        }
        let waiting = state == State::Waiting;
        // SAFETY: only the owner could take it, and that is us.
        let waker = waiting.then(|| unsafe { this.copy_waker().assume_init() });
        self.with(|own| {
            if waiting {
                // SAFETY: waiting, and so on the wheel.
                unsafe { own.wheel.remove(entry) };
                if own.wheel.is_empty() {
                    // Other than for the last one, `next` may stay too early:
                    // then the owner looks once for nothing.
                    self.queue.set_next(NEVER);
                }
            }
            // SAFETY: on no wheel, without a waker, and only ours.
            unsafe { own.recycle(entry) };
        });
        waker
    }

    /// As `cancel`, for a timer that is dropped.
    ///
    /// # Safety
    /// As for `cancel`.
    #[inline]
    pub(super) unsafe fn discard(self, entry: NonNull<Entry>) {
        // SAFETY: the caller's promise.
        let Some(waker) = (unsafe { self.cancel(entry) }) else { return };
        // Others' wakers are not ours to keep.
        if task_of(&waker).is_some() {
            drop(self.with(|own| own.last.replace(waker)));
        }
    }

    /// Makes another task the one that waits.
    ///
    /// # Safety
    /// The entry is of this queue, and waiting; the caller is its holder.
    pub(super) unsafe fn replace_waker(self, entry: NonNull<Entry>, waker: &Waker) {
        // SAFETY: live, by the caller's promise.
        let this = unsafe { entry.as_ref() };
        let waker = waker.clone();
        // SAFETY: only the owner could take it, and that is us.
        let before = unsafe { this.copy_waker().assume_init() };
        // SAFETY: as above.
        unsafe { this.put_waker(waker) };
        drop(before);
    }

    /// Does what others have sent.
    fn read_mail(self) {
        let queue = self.queue;
        // Acquire: pairs with `send`.
        if queue.is_asked.load(Acquire) {
            // Relaxed: a later one is stored after its mail was pushed.
            queue.is_asked.store(false, Relaxed);
        }
        if queue.mail.is_empty() {
            return;
        }
        let mut mail = queue.mail.take();
        while let Some(item) = mail.pop_front() {
            // SAFETY: the mail is entries only.
            let entry = unsafe { Entry::from_item(item) };
            self.with(|own| self.receive(own, entry));
        }
    }

    fn receive(self, own: &mut Own, entry: NonNull<Entry>) {
        // SAFETY: it is freed only by who has received it, which we have.
        let this = unsafe { entry.as_ref() };
        // SAFETY: the node is the owner's.
        let (when, linked) = unsafe { with_node(entry, |node| (node.when, node.is_linked())) };
        if linked {
            // Only cancelled ones come a second time.
            // SAFETY: on this wheel, the only one that it can be on.
            unsafe { own.wheel.remove(entry) };
        } else if this.state() == State::Sent {
            // Linked first: as soon as it waits, it may be cancelled.
            // SAFETY: on no wheel; freed only when it has left this one.
            unsafe { own.wheel.insert(entry, when) };
            if this.exchange(State::Sent, State::Waiting) {
                self.queue.set_next(when.min(self.queue.next()));
                return;
            }
            // SAFETY: just inserted.
            unsafe { own.wheel.remove(entry) };
        }
        // SAFETY: cancelled: its holder has had its last touch and the waker.
        unsafe { own.recycle(entry) };
    }

    /// How long until a timer may be due; `None` if there is none.
    pub(crate) fn until_next(self) -> Option<Duration> {
        self.read_mail();
        let mut next = self.queue.next();
        if next == NEVER {
            return None;
        }
        if self.queue.clock.is_paused() {
            // Paused time jumps to exactly the next timer, not to some slot.
            next = self.with(|own| own.wheel.first_deadline())?;
        }
        Some(self.queue.until(next))
    }

    /// Fires what is due.
    pub(crate) fn fire(self) {
        drop(self.with(|own| own.last.take()));
        self.read_mail();
        let next = self.queue.next();
        if next == NEVER {
            return;
        }
        let now = self.queue.tick_before(self.queue.clock.now());
        if next > now {
            return;
        }
        let mut wakers: [Option<Waker>; BATCH] = [const { None }; BATCH];
        loop {
            let count = self.with(|own| self.take_due(own, now, &mut wakers));
            wakers[..count].iter_mut().filter_map(Option::take).for_each(wake_guarded);
            if count < BATCH {
                return;
            }
        }
    }

    /// Marks timers as fired; returns for how many there is a waker.
    fn take_due(self, own: &mut Own, now: u64, wakers: &mut [Option<Waker>; BATCH]) -> usize {
        let mut count = 0;
        while count < BATCH {
            let Some(entry) = own.wheel.pop(now) else { break };
            // SAFETY: what was on the wheel up to now is live.
            wakers[count] = unsafe { take_waker(entry, State::Waiting, State::Fired) };
            count += usize::from(wakers[count].is_some());
        }
        self.queue.set_next(own.wheel.next_tick().unwrap_or(NEVER));
        count
    }

    /// Takes no more timers, and has the tasks of those that are left polled,
    /// so that they register elsewhere.
    pub(crate) fn close(self) {
        drop(self.with(|own| own.last.take()));
        self.read_mail();
        let mut orphans = Vec::new();
        let spare = self.with(|own| {
            own.is_closed = true;
            while let Some(entry) = own.wheel.pop_any() {
                // SAFETY: what was on the wheel up to now is live.
                orphans.extend(unsafe { take_waker(entry, State::Waiting, State::Orphaned) });
            }
            std::mem::take(&mut own.spare)
        });
        self.queue.set_next(NEVER);
        // From here on, senders are refused, and free what they have.
        let mut mail = self.queue.mail.close();
        while let Some(item) = mail.pop_front() {
            // SAFETY: the mail is entries only.
            let entry = unsafe { Entry::from_item(item) };
            // SAFETY: live: it is freed only by who has received it.
            match unsafe { take_waker(entry, State::Sent, State::Orphaned) } {
                Some(waker) => orphans.push(waker),
                // SAFETY: cancelled, and off the wheel.
                None => unsafe { Entry::free(entry) },
            }
        }
        // They keep the queue alive.
        for entry in spare {
            // SAFETY: spare: nobody knows it.
            unsafe { Entry::free(entry) };
        }
        orphans.into_iter().for_each(wake_guarded);
    }
}

/// The owner's last touch of an entry: afterwards its holder may free it, or,
/// if it has cancelled it and there is no waker, it comes by mail.
///
/// # Safety
/// The entry is live, and the caller its queue's owner.
unsafe fn take_waker(entry: NonNull<Entry>, from: State, to: State) -> Option<Waker> {
    // SAFETY: the caller's promise.
    let entry = unsafe { entry.as_ref() };
    let copy = entry.copy_waker();
    // SAFETY: the exchange says that this copy counts.
    entry.exchange(from, to).then(|| unsafe { copy.assume_init() })
}

impl Own {
    /// # Safety
    /// The entry is on no wheel, has no waker, and is in nobody else's hands.
    #[inline]
    unsafe fn recycle(&mut self, entry: NonNull<Entry>) {
        if self.spare.len() < SPARE && !self.is_closed {
            self.spare.push(entry);
        } else {
            // SAFETY: the caller's promise.
            unsafe { Entry::free(entry) };
        }
    }
}
