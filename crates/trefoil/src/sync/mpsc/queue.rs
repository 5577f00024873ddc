//! The queue: senders put messages in, with one read-modify-write each, and one consumer takes
//! them out, with none. `README.md` beside this file describes the protocol and proves it.

use super::block::{Block, Header};
use crate::primitives::atomic::{AcqRel, Acquire, AtomicPtr, AtomicU64, Relaxed, Release};
use std::marker::PhantomData;
use std::ptr;

/// No claim that finds this is valid. Set once, by the receiver or by the last sender.
const CLOSED: u64 = 1;
/// The consumer waits: whoever sees this in a claim or clears it sees to a wake-up.
const WAITING: u64 = 1 << 1;
/// The unit of the position, which fills the other bits. At a billion messages a second, it lasts
/// for a hundred years.
const ONE: u64 = 1 << 2;

/// Blocks that are kept for further messages, beside those that the queue has anyway.
const SPARES: usize = 3;

/// The senders' side.
#[repr(C, align(64))]
pub(super) struct Queue<T> {
    /// The position of the next claim, and the bits above. Only changed by RMWs.
    tail: AtomicU64,
    /// A block for senders to begin at when they look for theirs: null, or the block of a claim
    /// that was made not long ago. It only moves forward.
    hint: AtomicPtr<Header<T>>,
    /// The block of position 0, once there is one. Does not change any more, and dangles later.
    first: AtomicPtr<Header<T>>,
    /// A stack of empty blocks, linked by `next`. It is only ever emptied as a whole, so that a
    /// block that comes back does no harm.
    spares: AtomicPtr<Header<T>>,
    _messages: PhantomData<T>,
}

/// What became of a message.
pub(super) enum Pushed<T> {
    /// It was sent.
    Sent,
    /// It was sent, and the consumer waits: its task is to be woken.
    SentToSleeper,
    /// The queue is closed.
    Closed(T),
}

/// The consumer's side. [`Consumer::free`] frees the blocks.
pub(super) struct Consumer<T> {
    /// The position of the next message.
    head: u64,
    /// The position at which the queue was closed, if this is known.
    end: Option<u64>,
    /// The block of `head`, or the one before; none if there was none yet.
    block: Option<Block<T>>,
    /// The first block that was not recycled yet.
    oldest: Option<Block<T>>,
    /// How many blocks were put on the stack of spares since it was last seen empty.
    spares: usize,
}

/// What the consumer has found.
pub(super) enum Popped<T> {
    Message(T),
    /// No message was claimed that has not been taken.
    Empty,
    /// The next message is being sent: its sender is a few instructions from the end.
    InFlight,
    /// There is no message, and there will be none.
    Closed,
}

// SAFETY: the blocks belong to the queue and its consumer together, and messages move from one
// thread to another, for which `T: Send` is enough.
unsafe impl<T: Send> Send for Queue<T> {}
// SAFETY: no message is shared, so that `T: Send` is enough: a slot is its sender's until its flag
// is set, and then the consumer's.
unsafe impl<T: Send> Sync for Queue<T> {}
// SAFETY: the consumer's blocks and messages go with it, for which `T: Send` is enough.
unsafe impl<T: Send> Send for Consumer<T> {}
// SAFETY: a shared reference gives no access to a message.
unsafe impl<T: Send> Sync for Consumer<T> {}

pub(super) fn queue<T>() -> (Queue<T>, Consumer<T>) {
    let queue = Queue {
        tail: AtomicU64::new(0),
        hint: AtomicPtr::new(ptr::null_mut()),
        first: AtomicPtr::new(ptr::null_mut()),
        spares: AtomicPtr::new(ptr::null_mut()),
        _messages: PhantomData,
    };
    let consumer = Consumer { head: 0, end: None, block: None, oldest: None, spares: 0 };
    (queue, consumer)
}

impl<T> Queue<T> {
    /// Sends a message.
    #[inline]
    pub(super) fn push(&self, message: T) -> Pushed<T> {
        // The only RMW, except for once a block. Release: whoever retires a block by an RMW of
        // `tail` after this is told of what this thread has seen. Acquire: pairs with the Release
        // of such an RMW before this one, so that `find` begins beyond a block that was retired.
        let claim = self.tail.fetch_add(ONE, AcqRel);
        if claim & CLOSED != 0 {
            return Pushed::Closed(message);
        }
        // From here to the store of the flag, nothing may panic and no foreign code may run: the
        // consumer waits for this position.
        let (block, offset) = self.find(claim / ONE);
        // SAFETY: the block stays live until this position is consumed.
        let slot = unsafe { block.slot(offset) };
        slot.with_mut(|slot| {
            // SAFETY: the claim makes the slot this thread's until the flag is set.
            unsafe { (*slot).write(message) };
        });
        // SAFETY: as for the slot.
        let flag = unsafe { block.flag(offset) };
        // Release: pairs with the Acquire in `Consumer::pop`, and publishes the message. This is
        // the last access to any block.
        flag.store(true, Release);
        if claim & WAITING != 0 { Pushed::SentToSleeper } else { Pushed::Sent }
    }

    /// The slot of a claimed position whose message was not sent yet.
    #[inline]
    fn find(&self, position: u64) -> (Block<T>, usize) {
        // Acquire: pairs with the Release of `advance`, for what the block was initialised with.
        if let Some(hint) = Block::from_ptr(self.hint.load(Acquire)) {
            // SAFETY: a block that the hint leads to is live until the position of this claim is
            // consumed (README, "Blocks").
            if let Some(offset) = unsafe { hint.header() }.offset(position) {
                return (hint, offset);
            }
            return self.search(hint, position);
        }
        let first = self.first();
        self.advance(ptr::null_mut(), first);
        self.search(first, position)
    }

    /// Looks for the block of a position, from another block on.
    #[cold]
    fn search(&self, hint: Block<T>, position: u64) -> (Block<T>, usize) {
        let mut block = hint;
        loop {
            // SAFETY: every block between the hint and that of the position is live, as in `find`.
            let header = unsafe { block.header() };
            if let Some(offset) = header.offset(position) {
                return (block, offset);
            }
            block = if position < header.start() {
                // Others have moved the hint since the claim.
                Block::from_ptr(header.prev()).expect("a later block has one before it")
            } else {
                // Acquire: pairs with the Release in `append`.
                let next = Block::from_ptr(header.next.load(Acquire));
                let next = next.unwrap_or_else(|| self.append(block));
                // SAFETY: it comes after a live block, and not after that of the position.
                if unsafe { next.header() }.offset(position).is_some() {
                    self.pass(hint, next);
                }
                next
            };
        }
    }

    /// The block of position 0. Only called if there was no hint.
    #[cold]
    fn first(&self) -> Block<T> {
        // Acquire: pairs with the Release below.
        if let Some(first) = Block::from_ptr(self.first.load(Acquire)) {
            return first;
        }
        let new = Block::allocate(None);
        let null = ptr::null_mut();
        match self.first.compare_exchange(null, new.as_ptr(), AcqRel, Acquire) {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: nobody else knows of it, and nothing was written to it.
                unsafe { new.free() };
                Block::from_ptr(first).expect("the exchange has failed")
            }
        }
    }

    /// Moves the hint from one block to a later one, unless another thread has moved it.
    fn advance(&self, from: *mut Header<T>, to: Block<T>) -> bool {
        // Release: publishes the block's fields, which this thread has written or acquired.
        // Acquire: costs nothing more here.
        self.hint.compare_exchange(from, to.as_ptr(), AcqRel, Relaxed).is_ok()
    }

    /// Moves the hint forward, and retires the blocks that it passes.
    fn pass(&self, from: Block<T>, to: Block<T>) {
        if !self.advance(from.as_ptr(), to) {
            return;
        }
        // A claim that is made after this acquires the new hint from here, and so does not lead to
        // the blocks that were passed. Adding nothing is an RMW all the same: either a claim comes
        // before it, and its position is below the one that this returns, or after it.
        let position = self.tail.fetch_add(0, AcqRel) / ONE;
        let mut block = from;
        while block != to {
            // SAFETY: the caller's own claim keeps all blocks live that it has walked over, until
            // it is consumed.
            let header = unsafe { block.header() };
            // Acquire: as in `search`. Read before the block is retired, only for the order's sake.
            let next = Block::from_ptr(header.next.load(Acquire));
            // Release: pairs with the Acquire in `Consumer::recycle`.
            header.retired_at.store(position, Release);
            block = next.expect("there is a way to the later block");
        }
    }

    /// Appends blocks to the last one, and returns the one after it.
    #[cold]
    fn append(&self, last: Block<T>) -> Block<T> {
        // Acquire: pairs with the Release in `Consumer::keep`.
        let spares = Block::from_ptr(self.spares.swap(ptr::null_mut(), Acquire));
        let new = spares.unwrap_or_else(|| Block::allocate(Some(last)));
        let mut next = None;
        let mut last = last;
        // Another thread may append meanwhile. What is left over comes after its blocks.
        for _ in 0..3 {
            place_after(new, last);
            // SAFETY: every block from that of the caller's position on is live.
            let link = &unsafe { last.header() }.next;
            // Release: publishes the new blocks. Acquire: pairs with it in another thread.
            match link.compare_exchange(ptr::null_mut(), new.as_ptr(), AcqRel, Acquire) {
                Ok(_) => return next.unwrap_or(new),
                Err(theirs) => {
                    last = Block::from_ptr(theirs).expect("the exchange has failed");
                    next.get_or_insert(last);
                }
            }
        }
        // SAFETY: nobody else knows of these blocks, and there is no message in them.
        unsafe { free_all(Some(new)) };
        next.expect("somebody else was first")
    }

    /// The position of the next claim, and whether the queue is closed.
    fn tail(&self) -> (u64, bool) {
        // Acquire: pairs with the AcqRel of claims and of `close`.
        let tail = self.tail.load(Acquire);
        (tail / ONE, tail & CLOSED != 0)
    }

    /// Whether the queue is closed: messages are refused.
    pub(super) fn is_closed(&self) -> bool {
        self.tail().1
    }

    /// Makes all later claims invalid. Returns the position of the first of them, if this is the
    /// first call, and whether the consumer waits.
    pub(super) fn close(&self) -> (Option<u64>, bool) {
        // Release: pairs with the Acquire in `tail`. Acquire: pairs with that of claims.
        let before = self.tail.fetch_or(CLOSED, AcqRel);
        let end = (before & CLOSED == 0).then_some(before / ONE);
        (end, before & WAITING != 0)
    }

    /// Says that nobody waits any more. Whoever gets true, of all that call this, sees to the
    /// wake-up.
    pub(super) fn end_wait(&self) -> bool {
        // Acquire: pairs with the Release in `Consumer::begin_wait`.
        self.tail.fetch_and(!WAITING, AcqRel) & WAITING != 0
    }
}

/// Places a chain of blocks, which nobody else knows, after the given block.
fn place_after<T>(first: Block<T>, last: Block<T>) {
    let (mut block, mut prev) = (Some(first), last);
    while let Some(this) = block {
        // SAFETY: `prev` is in the queue, where the caller has walked to it, or new.
        let start = unsafe { prev.header() }.end();
        // SAFETY: nobody else knows of the block.
        unsafe { this.place(start, prev.as_ptr()) };
        prev = this;
        // SAFETY: nobody else knows of the block.
        let header = unsafe { this.header() };
        // Relaxed: nobody else knows of the block.
        block = Block::from_ptr(header.next.load(Relaxed));
    }
}

/// # Safety
/// Nobody else uses the chain's blocks, and there is no message in them.
unsafe fn free_all<T>(mut chain: Option<Block<T>>) {
    while let Some(block) = chain {
        // SAFETY: the caller's promise.
        let header = unsafe { block.header() };
        // Relaxed: nobody else uses the block.
        chain = Block::from_ptr(header.next.load(Relaxed));
        // SAFETY: the caller's promise.
        unsafe { block.free() };
    }
}

impl<T> Consumer<T> {
    /// Takes the next message.
    #[inline]
    pub(super) fn pop(&mut self, queue: &Queue<T>) -> Popped<T> {
        let Some(message) = self.take(queue) else { return self.look(queue) };
        Popped::Message(message)
    }

    #[inline]
    fn take(&mut self, queue: &Queue<T>) -> Option<T> {
        let (block, offset) = self.find(queue)?;
        // SAFETY: only the consumer recycles blocks, and it has not passed this one.
        let flag = unsafe { block.flag(offset) };
        // Acquire: pairs with the Release in `push`.
        if !flag.load(Acquire) {
            return None;
        }
        // SAFETY: as for the flag.
        let slot = unsafe { block.slot(offset) };
        self.head += 1;
        Some(slot.with(|slot| {
            // SAFETY: the flag says that the sender is done with the slot.
            let slot = unsafe { &*slot };
            // SAFETY: the message was written before the flag was set. The slot is not read again,
            // because `head` has passed it.
            unsafe { slot.assume_init_read() }
        }))
    }

    /// The slot of `head`, if there is one.
    #[inline]
    fn find(&mut self, queue: &Queue<T>) -> Option<(Block<T>, usize)> {
        if let Some(block) = self.block {
            // SAFETY: as in `take`.
            if let Some(offset) = unsafe { block.header() }.offset(self.head) {
                return Some((block, offset));
            }
        }
        self.step(queue)
    }

    /// Goes to the next block, if there is one.
    #[cold]
    fn step(&mut self, queue: &Queue<T>) -> Option<(Block<T>, usize)> {
        let next = match self.block {
            // Acquire: pairs with the Release in `first`.
            None => Block::from_ptr(queue.first.load(Acquire))?,
            // SAFETY: as in `take`. Acquire: pairs with the Release in `append`.
            Some(block) => Block::from_ptr(unsafe { block.header() }.next.load(Acquire))?,
        };
        self.block = Some(next);
        let oldest = *self.oldest.get_or_insert(next);
        self.recycle(queue, oldest, next);
        Some((next, 0))
    }

    /// Recycles blocks from the oldest one on, up to the current one.
    fn recycle(&mut self, queue: &Queue<T>, mut oldest: Block<T>, current: Block<T>) {
        while oldest != current {
            // SAFETY: only the consumer recycles blocks, and it has not recycled this one.
            let header = unsafe { oldest.header() };
            // Acquire: pairs with the Release in `pass`.
            if header.retired_at.load(Acquire) > self.head {
                break;
            }
            // Relaxed: it was acquired when the consumer went to the next block.
            let next = Block::from_ptr(header.next.load(Relaxed));
            // SAFETY: all claims that may lead to the block were consumed, which is later than
            // their last access; so were all messages in it.
            unsafe { self.keep(queue, oldest) };
            oldest = next.expect("the current block comes later");
        }
        self.oldest = Some(oldest);
    }

    /// Puts a block on the stack of spares, or frees it.
    ///
    /// # Safety
    /// Nobody else uses the block, and its messages were taken.
    unsafe fn keep(&mut self, queue: &Queue<T>, block: Block<T>) {
        // SAFETY: the caller's promise.
        let header = unsafe { block.header() };
        let is_small = header.end() - header.start() < Block::<T>::SLOTS_MAX as u64;
        // Relaxed: it is only compared.
        let mut top = queue.spares.load(Relaxed);
        loop {
            if top.is_null() {
                self.spares = 0;
            }
            if is_small || self.spares >= SPARES {
                // SAFETY: the caller's promise.
                unsafe { block.free() };
                return;
            }
            // SAFETY: the caller's promise.
            unsafe { block.clear() };
            // Relaxed: the exchange publishes it.
            header.next.store(top, Relaxed);
            // Release: pairs with the Acquire in `append`, for this block and, since every change
            // of the stack is an RMW, for those below.
            match queue.spares.compare_exchange(top, block.as_ptr(), Release, Relaxed) {
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
        self.spares += 1;
    }

    /// Why there is no message to take.
    #[cold]
    fn look(&mut self, queue: &Queue<T>) -> Popped<T> {
        let end = match self.end {
            Some(end) => end,
            None => {
                let (position, closed) = queue.tail();
                // If this consumer has not closed the queue, the last sender has, and nobody
                // claims any more.
                self.end = closed.then_some(position);
                position
            }
        };
        if self.head < end {
            // The claim may have been published between the two looks.
            return self.take(queue).map_or(Popped::InFlight, Popped::Message);
        }
        if self.end.is_some() { Popped::Closed } else { Popped::Empty }
    }

    /// Says that the consumer waits. False if it need not, because a message was claimed or the
    /// queue was closed. If it waits already, nothing changes.
    pub(super) fn begin_wait(&self, queue: &Queue<T>) -> bool {
        let empty = self.head * ONE;
        // Release: publishes the consumer's waker to whoever sees the bit. Acquire: pairs with the
        // AcqRel of claims and of `close`.
        match queue.tail.compare_exchange(empty, empty | WAITING, AcqRel, Acquire) {
            Ok(_) => true,
            Err(now) => now == empty | WAITING,
        }
    }

    /// The number of messages that were sent or are being sent, and were not taken.
    pub(super) fn len(&self, queue: &Queue<T>) -> usize {
        let end = self.end.unwrap_or_else(|| queue.tail().0);
        usize::try_from(end - self.head).unwrap_or(usize::MAX)
    }

    /// Closes the queue. Messages that were sent before can still be taken.
    pub(super) fn close(&mut self, queue: &Queue<T>) {
        if let (Some(end), _) = queue.close() {
            self.end = Some(end);
        }
    }

    /// Frees all blocks.
    ///
    /// # Safety
    /// The queue was closed, and `pop` has returned [`Popped::Closed`]. It is not called again.
    pub(super) unsafe fn free(&mut self, queue: &Queue<T>) {
        self.block = None;
        // SAFETY: every valid claim is consumed, so nobody uses a block any more. If there was
        // one, the consumer has been at the first block, and every other one comes after it.
        unsafe { free_all(self.oldest.take()) };
        // Acquire: pairs with the Release in `keep`.
        let spares = Block::from_ptr(queue.spares.swap(ptr::null_mut(), Acquire));
        // SAFETY: blocks on the stack are empty, and whoever takes some takes all.
        unsafe { free_all(spares) };
    }
}
