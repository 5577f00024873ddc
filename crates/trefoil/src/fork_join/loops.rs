//! Loops whose iterations potentially run in parallel.

use super::job::Where;
use super::join::join_where;
use crate::context;
use crate::runtime::global_for_forks;
use crate::scheduler::Handle;
use std::ops::Range;

/// A collection of items for a parallel loop: it can be iterated over, and it can be cut in two.
pub trait Divisible: IntoIterator + Send + Sized {
    /// The number of items.
    fn item_count(&self) -> usize;

    /// Cuts the items in two: the first `count` items, and the others. The loops call this with a
    /// `count` of at most [`item_count`](Self::item_count).
    ///
    /// # Panics
    /// It may panic if `count` is greater than that.
    fn cut(self, count: usize) -> (Self, Self);

    /// The least number of items that are worth a fork: 1 by default.
    fn grain(&self) -> usize {
        1
    }

    /// The same items with another [`grain`](Self::grain): a loop divides them into pieces of at
    /// least `items` items. This is for loops whose iterations are too short to be forked one by
    /// one. 0 counts as 1.
    fn with_grain(self, items: usize) -> Grained<Self> {
        Grained { inner: self, grain: items.max(1) }
    }
}

/// Items with a grain: see [`Divisible::with_grain`].
#[derive(Clone, Debug)]
pub struct Grained<D> {
    inner: D,
    grain: usize,
}

impl<D: Divisible> IntoIterator for Grained<D> {
    type Item = D::Item;
    type IntoIter = D::IntoIter;

    fn into_iter(self) -> D::IntoIter {
        self.inner.into_iter()
    }
}

impl<D: Divisible> Divisible for Grained<D> {
    fn item_count(&self) -> usize {
        self.inner.item_count()
    }

    fn cut(self, count: usize) -> (Self, Self) {
        let (left, right) = self.inner.cut(count);
        (Self { inner: left, grain: self.grain }, Self { inner: right, grain: self.grain })
    }

    fn grain(&self) -> usize {
        self.grain
    }
}

macro_rules! divisible_ranges {
    ($($number:ty)*) => {$(
        impl Divisible for Range<$number> {
            fn item_count(&self) -> usize {
                if self.is_empty() {
                    return 0;
                }
                usize::try_from(self.end.abs_diff(self.start)).unwrap_or(usize::MAX)
            }

            fn cut(self, count: usize) -> (Self, Self) {
                // `count` is at most `item_count`, so the true sum is at most `end`. A signed
                // number may not hold `count`, which wraps then, and the sum wraps back.
                let middle = self.start.wrapping_add(count as $number);
                (self.start..middle, middle..self.end)
            }
        }
    )*};
}

divisible_ranges!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

impl<T: Sync> Divisible for &[T] {
    fn item_count(&self) -> usize {
        self.len()
    }

    fn cut(self, count: usize) -> (Self, Self) {
        self.split_at(count)
    }
}

impl<T: Send> Divisible for &mut [T] {
    fn item_count(&self) -> usize {
        self.len()
    }

    fn cut(self, count: usize) -> (Self, Self) {
        self.split_at_mut(count)
    }
}

/// The chunks of a slice: see [`chunks`].
#[derive(Clone, Debug)]
pub struct Chunks<'a, T> {
    slice: &'a [T],
    chunk_len: usize,
}

/// The chunks of a mutable slice: see [`chunks_mut`].
#[derive(Debug)]
pub struct ChunksMut<'a, T> {
    slice: &'a mut [T],
    chunk_len: usize,
}

/// Divides a slice into chunks of `chunk_len` items. The last chunk may be shorter.
///
/// # Panics
/// If `chunk_len` is 0.
#[track_caller]
pub fn chunks<T: Sync>(slice: &[T], chunk_len: usize) -> Chunks<'_, T> {
    assert!(chunk_len > 0, "chunks must not be empty");
    Chunks { slice, chunk_len }
}

/// Divides a slice into mutable chunks of `chunk_len` items. The last chunk may be shorter.
///
/// # Panics
/// If `chunk_len` is 0.
#[track_caller]
pub fn chunks_mut<T: Send>(slice: &mut [T], chunk_len: usize) -> ChunksMut<'_, T> {
    assert!(chunk_len > 0, "chunks must not be empty");
    ChunksMut { slice, chunk_len }
}

impl<'a, T> IntoIterator for Chunks<'a, T> {
    type Item = &'a [T];
    type IntoIter = std::slice::Chunks<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.chunks(self.chunk_len)
    }
}

impl<'a, T> IntoIterator for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    type IntoIter = std::slice::ChunksMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.slice.chunks_mut(self.chunk_len)
    }
}

impl<T: Sync> Divisible for Chunks<'_, T> {
    fn item_count(&self) -> usize {
        self.slice.len().div_ceil(self.chunk_len)
    }

    fn cut(self, count: usize) -> (Self, Self) {
        let items = count.saturating_mul(self.chunk_len).min(self.slice.len());
        let (left, right) = self.slice.split_at(items);
        (Self { slice: left, ..self }, Self { slice: right, ..self })
    }
}

impl<T: Send> Divisible for ChunksMut<'_, T> {
    fn item_count(&self) -> usize {
        self.slice.len().div_ceil(self.chunk_len)
    }

    fn cut(self, count: usize) -> (Self, Self) {
        let Self { slice, chunk_len } = self;
        let items = count.saturating_mul(chunk_len).min(slice.len());
        let (left, right) = slice.split_at_mut(items);
        (Self { slice: left, chunk_len }, Self { slice: right, chunk_len })
    }
}

/// Calls `f` for every item, potentially in parallel.
///
/// The loop decides on the way how finely the items are divided: into a few pieces per worker at
/// first, and into more pieces after a piece was stolen, because a theft shows that a worker is
/// idle. The rule is that of rayon's iterators. Where the calls run is as with
/// [`join`](fn@super::join).
///
/// # Panics
/// If `f` panics, so does the loop, when all of its forks have ended. `f` may not have been called
/// for some of the other items.
///
/// ```
/// use trefoil::fork_join::{chunks_mut, for_each};
/// let mut numbers: Vec<u32> = (0..1000).collect();
/// for_each(&mut numbers[..], |n| *n += 1);
/// for_each(chunks_mut(&mut numbers, 10), |chunk| chunk.reverse());
/// assert_eq!(numbers[..3], [10, 9, 8]);
/// ```
#[track_caller]
pub fn for_each<D, F>(items: D, f: F)
where
    D: Divisible,
    F: Fn(D::Item) + Sync,
{
    let splitter = Splitter::new(&items);
    each(items, &f, splitter, Where::Here);
}

#[track_caller]
fn each<D, F>(items: D, f: &F, mut splitter: Splitter, place: Where)
where
    D: Divisible,
    F: Fn(D::Item) + Sync,
{
    if !splitter.splits(&items, place) {
        return items.into_iter().for_each(f);
    }
    let middle = items.item_count() / 2;
    let (left, right) = items.cut(middle);
    join_where(|| each(left, f, splitter, Where::Here), |place| each(right, f, splitter, place));
}

/// Maps every item and reduces the results to one, potentially in parallel. The result is `None` if
/// there are no items.
///
/// `reduce` combines neighbouring results, in order: it has to be associative, and need not be
/// commutative. The items are divided as in [`for_each`].
///
/// # Panics
/// If `map` or `reduce` panics, so does the loop, when all of its forks have ended.
///
/// ```
/// use trefoil::fork_join::map_reduce;
/// let squares = map_reduce(0..1000u64, |n| n * n, |a, b| a + b);
/// assert_eq!(squares, Some(332_833_500));
/// ```
#[track_caller]
pub fn map_reduce<D, R, M, C>(items: D, map: M, reduce: C) -> Option<R>
where
    D: Divisible,
    R: Send,
    M: Fn(D::Item) -> R + Sync,
    C: Fn(R, R) -> R + Sync,
{
    let splitter = Splitter::new(&items);
    reduced(items, &map, &reduce, splitter, Where::Here)
}

#[track_caller]
fn reduced<D, R, M, C>(
    items: D,
    map: &M,
    reduce: &C,
    mut splitter: Splitter,
    place: Where,
) -> Option<R>
where
    D: Divisible,
    R: Send,
    M: Fn(D::Item) -> R + Sync,
    C: Fn(R, R) -> R + Sync,
{
    if !splitter.splits(&items, place) {
        return items.into_iter().map(map).reduce(reduce);
    }
    let middle = items.item_count() / 2;
    let (left, right) = items.cut(middle);
    let (left, right) = join_where(
        || reduced(left, map, reduce, splitter, Where::Here),
        |place| reduced(right, map, reduce, splitter, place),
    );
    match (left, right) {
        (Some(left), Some(right)) => Some(reduce(left, right)),
        (some, None) | (None, some) => some,
    }
}

/// Decides whether items are divided again.
#[derive(Clone, Copy, Debug)]
struct Splitter {
    /// Into how many pieces these items may still be divided.
    pieces: usize,
}

impl Splitter {
    /// Items that are too few to be divided do not ask for the number of workers, which may start
    /// the process-wide runtime.
    fn new(items: &impl Divisible) -> Self {
        Self { pieces: if is_little(items) { 0 } else { workers() } }
    }

    fn splits(&mut self, items: &impl Divisible, place: Where) -> bool {
        if is_little(items) {
            return false;
        }
        if place == Where::Stolen {
            self.pieces = workers().max(self.pieces);
        }
        let splits = self.pieces > 0;
        self.pieces /= 2;
        splits
    }
}

fn is_little(items: &impl Divisible) -> bool {
    items.item_count() / 2 < items.grain()
}

/// How many workers there are for a loop on this thread.
fn workers() -> usize {
    context::with(|context| {
        // On a thread that is no worker, the first fork moves to the workers of this runtime.
        match context.handle() {
            Some(handle) => handle.workers(),
            None => global_for_forks().map_or(1, Handle::workers),
        }
    })
}
