//! A parallel merge sort, in two functions, against the standard library's.
//!
//! `cargo run --release -p trefoil --example parallel_sort -- [--items N] [--workers N]`
//!
//! Every answer is compared to that of std's `sort`. Shown is the best time of
//! five, in each of which all sorters get the same items. Without options the
//! sizes are 1,000, 100,000 and 3,000,000, and there is a worker for each core.
//!
//! What to expect, on a machine that does nothing else: for a thousand items nothing, because they
//! are a single leaf, and the way to a worker and back costs more than half the cores save. For
//! many, less time than std on several cores, but not as much less as there are cores: the last
//! merges move all of the memory there is to move.

use std::time::{Duration, Instant};
use trefoil::fork_join::join;
use trefoil::runtime::{Builder, Runtime};

/// Slices as short as this are not divided: sorting or merging them takes some
/// ten thousand times as long as a fork.
const LEAF: usize = 16_384;

/// Sorts `items`.
fn parallel_sort<T: Ord + Copy + Send + Sync>(items: &mut [T]) {
    let mut copy = items.to_vec();
    sort(items, &mut copy);
}

/// Sorts `items`; `copy` holds the same, and has anything in it afterwards.
///
/// The halves are sorted in the copy, each with its half of the items to lean
/// on in the same way, and then merged back into the items. So every level of
/// the recursion moves each item once.
///
/// That the halves can be sorted at the same time is not promised here, but
/// checked: the closures get what `split_at_mut` has divided, and would not
/// compile if they shared anything that one of them writes to.
fn sort<T: Ord + Copy + Send + Sync>(items: &mut [T], copy: &mut [T]) {
    if items.len() <= LEAF {
        return items.sort();
    }
    let middle = items.len() / 2;
    let (left, right) = items.split_at_mut(middle);
    let (left_copy, right_copy) = copy.split_at_mut(middle);
    join(|| sort(left_copy, left), || sort(right_copy, right));
    merge(left_copy, right_copy, items);
}

/// Merges two sorted slices into one that is as long as both. Of equal items,
/// those of `left` go first.
///
/// A merge can be divided as well, and has to be: otherwise the last one alone,
/// over all the items, would keep a single worker busy while all others wait.
/// The middle of the longer slice says where both are cut.
fn merge<T: Ord + Copy + Send + Sync>(left: &[T], right: &[T], merged: &mut [T]) {
    if merged.len() <= LEAF {
        return merge_here(left, right, merged);
    }
    let (left_cut, right_cut) = if left.len() >= right.len() {
        let middle = left.len() / 2;
        (middle, right.partition_point(|item| *item < left[middle]))
    } else {
        let middle = right.len() / 2;
        (left.partition_point(|item| *item <= right[middle]), middle)
    };
    let (left_low, left_high) = left.split_at(left_cut);
    let (right_low, right_high) = right.split_at(right_cut);
    let (low, high) = merged.split_at_mut(left_cut + right_cut);
    join(|| merge(left_low, right_low, low), || merge(left_high, right_high, high));
}

/// Which of two random numbers is less, no processor can foresee: so the choice
/// is a number here, added to the indices, and no branch.
fn merge_here<T: Ord + Copy>(left: &[T], right: &[T], merged: &mut [T]) {
    let (mut from_left, mut from_right) = (0, 0);
    while from_left < left.len() && from_right < right.len() {
        let is_right = right[from_right] < left[from_left];
        let item = if is_right { right[from_right] } else { left[from_left] };
        merged[from_left + from_right] = item;
        from_left += usize::from(!is_right);
        from_right += usize::from(is_right);
    }
    // Nothing is left of one of them.
    let rest = &mut merged[from_left + from_right..];
    let (rest_left, rest_right) = rest.split_at_mut(left.len() - from_left);
    rest_left.copy_from_slice(&left[from_left..]);
    rest_right.copy_from_slice(&right[from_right..]);
}

/// Numbers that look random, and are the same every time (xorshift).
fn numbers(count: usize) -> Vec<u64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// What a sorter makes of the items, and how long it takes.
fn timed(items: &[u64], sort: impl FnOnce(&mut [u64])) -> (Vec<u64>, Duration) {
    let mut items = items.to_vec();
    let started = Instant::now();
    sort(&mut items);
    (items, started.elapsed())
}

fn compare(count: usize, workers: usize, one: &Runtime, many: &Runtime) {
    let items = numbers(count);
    let mut best = [Duration::MAX; 3];
    for _ in 0..5 {
        let (expected, std) = timed(&items, <[u64]>::sort);
        let (by_one, on_one) = timed(&items, |items| one.install(|| parallel_sort(items)));
        let (by_many, on_many) = timed(&items, |items| many.install(|| parallel_sort(items)));
        assert!(by_one == expected, "one worker sorts wrongly");
        assert!(by_many == expected, "{workers} workers sort wrongly");
        for (best, time) in best.iter_mut().zip([std, on_one, on_many]) {
            *best = time.min(*best);
        }
    }
    let [std, on_one, on_many] = best.map(|time| time.as_secs_f64() * 1e3);
    println!(
        "{count:>10}  {std:>10.3} ms  {on_one:>10.3} ms  {on_many:>10.3} ms  {:>12.2}",
        std / on_many
    );
}

fn main() {
    let (mut sizes, mut workers) = (vec![1_000, 100_000, 3_000_000], None);
    let mut args = std::env::args().skip(1);
    while let Some(option) = args.next() {
        let number = args.next().and_then(|number| number.parse().ok());
        match (option.as_str(), number) {
            ("--items", Some(items)) => sizes = vec![items],
            ("--workers", Some(number)) if number > 0 => workers = Some(number),
            _ => {
                eprintln!("usage: parallel_sort [--items N] [--workers N]");
                std::process::exit(2);
            }
        }
    }
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let workers = workers.unwrap_or_else(cores);
    let runtime = |workers| {
        Builder::new_multi_thread().worker_threads(workers).build().expect("the system has threads")
    };
    let (one, many) = (runtime(1), runtime(workers));
    println!("     items       std sort       1 worker  {workers:>4} workers  std ÷ workers");
    for items in sizes {
        compare(items, workers, &one, &many);
    }
}
