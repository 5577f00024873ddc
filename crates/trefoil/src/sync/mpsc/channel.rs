//! What bounded and unbounded channels have in common: a queue, a waiting receiver, and counts of
//! the senders.

use super::error::TryRecvError;
use super::queue::{Consumer, Popped, Pushed, Queue, queue};
use crate::primitives::atomic::{AcqRel, Acquire, AtomicUsize, Relaxed};
use crate::primitives::{Mutex, spin_hint, thread};
use crate::sync::Notify;
use crate::task::{coop, wake_guarded, wake_in_turn};
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// How often the receiver looks again for a message whose sender is a few instructions from the
/// end. A sender that takes longer was stopped by the system.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 32 };

/// How many messages a channel holds.
pub(super) trait Limit {
    /// Whether everything that is sent after a `close` is refused. If not, the limit says who may
    /// still send.
    const CLOSES_QUEUE: bool;

    /// As many messages were received.
    fn received(&self, messages: usize);

    /// The receiver wants no more messages.
    fn close(&self);

    /// After `close`: whether nobody may send any more, and every message was received.
    fn is_idle(&self) -> bool;
}

pub(super) struct Channel<T, L> {
    queue: Queue<T>,
    pub(super) limit: L,
    /// The receiver's, if it waits.
    waker: Mutex<Option<Waker>>,
    senders: AtomicUsize,
    weak_senders: AtomicUsize,
    /// Tells senders that the receiver wants no more messages.
    closed: Notify,
}

impl<T, L> UnwindSafe for Channel<T, L> {}
impl<T, L> RefUnwindSafe for Channel<T, L> {}

/// One of the senders.
///
/// Together they own one count of the `Arc`, which the last of them gives back: so a clone and a
/// drop change one counter, and not two.
pub(super) struct Tx<T, L> {
    channel: ManuallyDrop<Arc<Channel<T, L>>>,
}

/// What may become a sender, as long as there is one.
pub(super) struct WeakTx<T, L> {
    channel: Arc<Channel<T, L>>,
}

/// The receiver.
pub(super) struct Rx<T, L: Limit> {
    channel: Arc<Channel<T, L>>,
    consumer: Consumer<T>,
    /// Whether `close` was called.
    closed: bool,
}

pub(super) fn channel<T, L: Limit>(limit: L) -> (Tx<T, L>, Rx<T, L>) {
    let (queue, consumer) = queue();
    let channel = Arc::new(Channel {
        queue,
        limit,
        waker: Mutex::new(None),
        senders: AtomicUsize::new(1),
        weak_senders: AtomicUsize::new(0),
        closed: Notify::new(),
    });
    let tx = Tx { channel: ManuallyDrop::new(Arc::clone(&channel)) };
    (tx, Rx { channel, consumer, closed: false })
}

impl<T, L> Channel<T, L> {
    /// Wakes the receiver if a message, or the end of the queue, ends its wait.
    #[cold]
    fn end_wait(&self) -> Option<Waker> {
        if self.queue.end_wait() { self.waker.lock().take() } else { None }
    }

    pub(super) fn strong_count(&self) -> usize {
        // Acquire: whoever reads that there is no sender sees what the senders have done.
        self.senders.load(Acquire)
    }

    pub(super) fn weak_count(&self) -> usize {
        // Relaxed: a snapshot.
        self.weak_senders.load(Relaxed)
    }

    /// Wakes the receiver, whatever it waits for.
    pub(super) fn wake_receiver(&self) {
        let waker = self.waker.lock().take();
        waker.into_iter().for_each(wake_guarded);
    }

    /// Whether the queue was closed: by the receiver, or because there is no sender any more.
    pub(super) fn is_queue_closed(&self) -> bool {
        self.queue.is_closed()
    }
}

/// More senders than this are only possible if they are forgotten. They would make the counter
/// overflow in the end, and the channel would be freed too soon; `Arc` has the same limit.
const SENDERS_MAX: usize = isize::MAX as usize;

/// Called with the number of senders before another one was counted.
fn check_senders(before: usize) {
    if before > SENDERS_MAX {
        std::process::abort();
    }
}

impl<T, L> Tx<T, L> {
    /// Another sender of that channel.
    ///
    /// # Safety
    /// It is counted among the senders already, and was when there was another one.
    unsafe fn counted(channel: &Arc<Channel<T, L>>) -> Self {
        // SAFETY: the copy is not dropped as long as this sender is not the last one. The count of
        // the `Arc` that all senders own keeps the channel until then.
        let channel = unsafe { ptr::read(channel) };
        Self { channel: ManuallyDrop::new(channel) }
    }

    pub(super) fn channel(&self) -> &Channel<T, L> {
        &self.channel
    }

    /// Sends a message, or returns it if the queue is closed.
    #[inline]
    pub(super) fn send(&self, message: T) -> Result<(), T> {
        match self.channel.queue.push(message) {
            Pushed::Sent => {}
            Pushed::SentToSleeper => {
                if let Some(waker) = self.channel.end_wait() {
                    waker.wake();
                }
            }
            Pushed::Closed(message) => return Err(message),
        }
        Ok(())
    }

    /// As `send`. Whoever is returned is to be woken.
    pub(super) fn send_quietly(&self, message: T) -> Result<Option<Waker>, T> {
        match self.channel.queue.push(message) {
            Pushed::Sent => Ok(None),
            Pushed::SentToSleeper => Ok(self.channel.end_wait()),
            Pushed::Closed(message) => Err(message),
        }
    }

    /// Waits for the receiver's `close` or its end.
    pub(super) async fn closed(&self, is_closed: impl Fn(&Channel<T, L>) -> bool) {
        // The future sees each `notify_waiters` from its creation on.
        let notified = self.channel.closed.notified();
        if is_closed(&self.channel) {
            return coop::consume_budget().await;
        }
        notified.await;
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.channel, &other.channel)
    }

    pub(super) fn downgrade(&self) -> WeakTx<T, L> {
        WeakTx::new(&self.channel)
    }
}

impl<T, L> Clone for Tx<T, L> {
    fn clone(&self) -> Self {
        // Relaxed: this sender keeps the number above 0, and nothing else is read from it.
        check_senders(self.channel.senders.fetch_add(1, Relaxed));
        // SAFETY: counted just now, beside this one.
        unsafe { Self::counted(&self.channel) }
    }
}

impl<T, L> Drop for Tx<T, L> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire of the last sender's drop, so that all claims come before
        // its `close`, and all accesses before it gives the channel back.
        if self.channel.senders.fetch_sub(1, AcqRel) != 1 {
            return;
        }
        let (_, waits) = self.channel.queue.close();
        if waits {
            self.channel.end_wait().into_iter().for_each(wake_guarded);
        }
        // SAFETY: nobody uses it after this. This was the last sender, and no other one can be made
        // from none; so the count that all of them owned is given back once.
        unsafe { ManuallyDrop::drop(&mut self.channel) };
    }
}

impl<T, L> WeakTx<T, L> {
    fn new(channel: &Arc<Channel<T, L>>) -> Self {
        // Relaxed: a number that orders nothing.
        channel.weak_senders.fetch_add(1, Relaxed);
        Self { channel: Arc::clone(channel) }
    }

    pub(super) fn channel(&self) -> &Channel<T, L> {
        &self.channel
    }

    pub(super) fn upgrade(&self) -> Option<Tx<T, L>> {
        // Relaxed: the exchange checks it.
        let mut seen = self.channel.senders.load(Relaxed);
        while seen != 0 {
            // Relaxed: as in `Tx::clone`. While there is a sender, its drop is still to come, and
            // so orders what this one does.
            match self.channel.senders.compare_exchange(seen, seen + 1, Relaxed, Relaxed) {
                Ok(before) => {
                    check_senders(before);
                    // SAFETY: counted just now, beside another one.
                    return Some(unsafe { Tx::counted(&self.channel) });
                }
                Err(now) => seen = now,
            }
        }
        None
    }
}

impl<T, L> Clone for WeakTx<T, L> {
    fn clone(&self) -> Self {
        Self::new(&self.channel)
    }
}

impl<T, L> Drop for WeakTx<T, L> {
    fn drop(&mut self) {
        // Relaxed: as in `new`.
        self.channel.weak_senders.fetch_sub(1, Relaxed);
    }
}

impl<T, L: Limit> Rx<T, L> {
    pub(super) fn channel(&self) -> &Channel<T, L> {
        &self.channel
    }

    pub(super) fn close(&mut self) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        if L::CLOSES_QUEUE {
            self.consumer.close(&self.channel.queue);
        }
        self.channel.limit.close();
        self.channel.closed.notify_waiters_guarded();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed || self.channel.queue.is_closed()
    }

    pub(super) fn len(&self) -> usize {
        self.consumer.len(&self.channel.queue)
    }

    #[inline]
    pub(super) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let budget = ready!(coop::poll_proceed(cx));
        let message = ready!(self.poll_pop(cx));
        budget.made_progress();
        if message.is_some() {
            self.channel.limit.received(1);
        }
        Poll::Ready(message)
    }

    pub(super) fn poll_recv_many(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        let budget = ready!(coop::poll_proceed(cx));
        if limit == 0 {
            budget.made_progress();
            return Poll::Ready(0);
        }
        let first = ready!(self.poll_pop(cx));
        budget.made_progress();
        let Some(first) = first else { return Poll::Ready(0) };
        // A push may panic for want of memory. The room of what was taken is given back all the
        // same.
        let mut taken = Taken { limit: &self.channel.limit, messages: 1 };
        buffer.push(first);
        while taken.messages < limit {
            let Popped::Message(message) = self.consumer.pop(&self.channel.queue) else { break };
            taken.messages += 1;
            buffer.push(message);
        }
        Poll::Ready(taken.messages)
    }

    pub(super) fn try_recv(&mut self) -> Result<T, TryRecvError> {
        loop {
            match self.pop() {
                Popped::Message(message) => {
                    self.channel.limit.received(1);
                    return Ok(message);
                }
                Popped::Closed => return Err(TryRecvError::Disconnected),
                Popped::Empty if self.is_drained() => return Err(TryRecvError::Disconnected),
                Popped::Empty => return Err(TryRecvError::Empty),
                // A message that was sent may stand behind this one, so "empty" would be wrong.
                Popped::InFlight => thread::yield_now(),
            }
        }
    }

    /// Whether the receiver was closed, and the limit says that there is no message left. The queue
    /// was seen empty: a message in it would keep the limit from being idle.
    fn is_drained(&self) -> bool {
        self.closed && self.channel.limit.is_idle()
    }

    /// Takes a message; waits a little for one that is being sent.
    #[inline]
    fn pop(&mut self) -> Popped<T> {
        match self.consumer.pop(&self.channel.queue) {
            Popped::InFlight => self.pop_again(),
            popped => popped,
        }
    }

    #[cold]
    fn pop_again(&mut self) -> Popped<T> {
        for _ in 0..LOOKS {
            spin_hint();
            match self.consumer.pop(&self.channel.queue) {
                Popped::InFlight => {}
                popped => return popped,
            }
        }
        Popped::InFlight
    }

    #[inline]
    fn poll_pop(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        loop {
            match self.pop() {
                Popped::Message(message) => return Poll::Ready(Some(message)),
                Popped::Closed => return Poll::Ready(None),
                Popped::Empty if self.is_drained() => return Poll::Ready(None),
                Popped::Empty => {
                    if self.begin_wait(cx.waker()) {
                        return Poll::Pending;
                    }
                }
                Popped::InFlight => {
                    // The system has stopped the sender's thread between its claim and its message.
                    // It owes no wake-up, so this task has to look again; other tasks and threads
                    // go first.
                    thread::yield_now();
                    wake_in_turn(cx.waker());
                    return Poll::Pending;
                }
            }
        }
    }

    /// Says that the receiver waits. False if there is something new to see.
    #[cold]
    fn begin_wait(&mut self, waker: &Waker) -> bool {
        // Clone and drop may run any code, so they are outside of the lock.
        let new = waker.clone();
        let old = self.channel.waker.lock().replace(new);
        drop(old);
        // The waker comes first: whoever ends the wait finds it. The limit comes last: whoever
        // gives back the last permit wakes after that, and so either finds the waker, or has
        // locked before it was there and is seen here.
        self.consumer.begin_wait(&self.channel.queue) && !self.is_drained()
    }

    fn drain(&mut self) {
        loop {
            match self.pop() {
                Popped::Message(message) => {
                    // Whoever asks a sender how much room there is finds it, as after a `recv`.
                    let _room = Taken { limit: &self.channel.limit, messages: 1 };
                    drop(message);
                }
                Popped::Closed => return,
                Popped::Empty | Popped::InFlight => thread::yield_now(),
            }
        }
    }
}

/// Messages that were taken, and their room in the channel.
struct Taken<'a, L: Limit> {
    limit: &'a L,
    messages: usize,
}

impl<L: Limit> Drop for Taken<'_, L> {
    fn drop(&mut self) {
        self.limit.received(self.messages);
    }
}

impl<T, L: Limit> Drop for Rx<T, L> {
    fn drop(&mut self) {
        /// Drops all messages, even if the destructor of one panics.
        struct Drain<'a, T, L: Limit>(&'a mut Rx<T, L>);
        impl<T, L: Limit> Drop for Drain<'_, T, L> {
            fn drop(&mut self) {
                self.0.drain();
                // SAFETY: `drain` returns when the queue is closed and has no message left, and
                // there is one drop.
                unsafe { self.0.consumer.free(&self.0.channel.queue) };
            }
        }

        let all = Drain(self);
        // Not even those who have a permit can send any more.
        all.0.consumer.close(&all.0.channel.queue);
        all.0.close();
        let waker = all.0.channel.waker.lock().take();
        drop(waker);
        all.0.drain();
    }
}
