//! `fork_all`, `fork_reduce` and the loops: every call once, and results in order.

use crate::support::{everywhere, fib, meet, multi};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use trefoil::fork_join::{
    Divisible, chunks, chunks_mut, for_each, fork_all, fork_reduce, map_reduce,
};

#[test]
fn fork_all_returns_results_in_order() {
    everywhere(|| {
        assert_eq!(fork_all([(); 0].map(|()| || 1)), [0; 0]);
        assert_eq!(fork_all([|| 7]), [7]);
        for _ in 0..50 {
            let legs: [_; 11] = std::array::from_fn(|n| move || (n, fib(n as u64 % 5)));
            let expected = [0, 1, 1, 2, 3, 0, 1, 1, 2, 3, 0];
            assert_eq!(fork_all(legs), std::array::from_fn(|n| (n, expected[n])));
        }
    });
}

/// Concatenates the numbers as text, so that any other order is noticed.
fn written(range: std::ops::Range<usize>) -> Option<String> {
    fork_reduce(range, |n| format!("{n} "), |left, right| left + &right)
}

#[test]
fn fork_reduce_keeps_the_order() {
    let in_order =
        |range: std::ops::Range<usize>| range.map(|n| format!("{n} ")).reduce(|a, b| a + &b);
    for workers in [1, 2, 3] {
        let runtime = multi(workers);
        for count in [0, 1, 2, 10, 15, 16, 17, 100] {
            let range = 3..3 + count;
            assert_eq!(runtime.install(|| written(range.clone())), in_order(range.clone()));
            // On a thread that is no worker, inside and outside of a runtime.
            let _entered = (count % 2 == 0).then(|| runtime.enter());
            assert_eq!(written(range.clone()), in_order(range));
        }
    }
}

#[test]
fn all_calls_of_a_fork_reduce_can_run_at_once() {
    let runtime = multi(4);
    for _ in 0..50 {
        let barrier = Barrier::new(4);
        let threads = runtime.install(|| {
            let meet = |_| vec![meet(&barrier)];
            fork_reduce(0..4, meet, |left, right| [left, right].concat()).unwrap()
        });
        for (i, thread) in threads.iter().enumerate() {
            assert!(!threads[..i].contains(thread));
        }
    }
}

#[test]
fn loops_serve_every_item_once() {
    everywhere(|| {
        for len in [0usize, 1, 2, 3, 7, 64, 1000] {
            let counts: Vec<AtomicUsize> = (0..len).map(|_| AtomicUsize::new(0)).collect();
            let count = |n: usize| {
                counts[n].fetch_add(1, SeqCst);
            };
            for_each(0..len, count);
            for_each((0..len).with_grain(10), count);
            for_each(&counts[..], |one| {
                one.fetch_add(1, SeqCst);
            });
            for chunk_len in [1, 3, 2000] {
                for_each(chunks(&counts, chunk_len), |chunk| {
                    assert!(chunk.len() <= chunk_len);
                    for one in chunk {
                        one.fetch_add(1, SeqCst);
                    }
                });
            }
            assert!(counts.iter().all(|count| count.load(SeqCst) == 6));

            let mut numbers: Vec<usize> = (0..len).collect();
            for_each(&mut numbers[..], |n| *n += 1);
            for_each(chunks_mut(&mut numbers, 3), |chunk| chunk.reverse());
            let mut expected: Vec<usize> = (1..=len).collect();
            expected.chunks_mut(3).for_each(<[_]>::reverse);
            assert_eq!(numbers, expected);

            // The operation is not commutative, so the order matters.
            let text = map_reduce(0..len, |n| n.to_string(), |a, b| a + &b);
            let expected: String = (0..len).map(|n| n.to_string()).collect();
            assert_eq!(text, (len > 0).then_some(expected));
        }
        assert_eq!(Divisible::item_count(&std::ops::Range { start: 5u32, end: 3 }), 0);
        assert_eq!(Divisible::item_count(&(0..u64::MAX)), usize::MAX);
        assert_eq!(map_reduce(250..255u8, u32::from, |a, b| a + b), Some(1260));
        // What no other type is asked for is an `i32`.
        assert_eq!(map_reduce(-2..5, |n| n.to_string(), |a, b| a + &b).unwrap(), "-2-101234");
        assert_eq!(map_reduce(i64::MIN..i64::MIN + 3, |n| n, i64::max), Some(i64::MIN + 2));
        assert_eq!(map_reduce(u128::MAX - 2..u128::MAX, |_| 1, |a, b| a + b), Some(2));
    });
}

/// A signed number may be too small for the number of items.
#[test]
fn a_signed_range_is_cut_where_an_unsigned_one_is() {
    for (start, end) in [(i8::MIN, i8::MAX), (-100, 100), (-3, -1), (0, 127), (5, -5), (7, 7)] {
        let items: Vec<i8> = (start..end).collect();
        let range = start..end;
        assert_eq!(range.item_count(), items.len());
        for count in 0..=items.len() {
            let (left, right) = range.clone().cut(count);
            assert_eq!((left.item_count(), right.item_count()), (count, items.len() - count));
            assert!(left.chain(right).eq(items.iter().copied()));
        }
    }
    assert_eq!(Divisible::item_count(&(i128::MIN..i128::MAX)), usize::MAX);
    assert_eq!(Divisible::item_count(&(-5..isize::MAX)), (isize::MAX as usize) + 5);
}

/// A range that records how it is cut.
struct Watched<'a> {
    range: std::ops::Range<usize>,
    cuts: &'a AtomicUsize,
}

impl IntoIterator for Watched<'_> {
    type Item = usize;
    type IntoIter = std::ops::Range<usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.range
    }
}

impl Divisible for Watched<'_> {
    fn item_count(&self) -> usize {
        self.range.len()
    }

    fn cut(self, count: usize) -> (Self, Self) {
        assert!(count >= 100 && self.range.len() - count >= 100);
        self.cuts.fetch_add(1, SeqCst);
        let (left, right) = self.range.cut(count);
        (Self { range: left, ..self }, Self { range: right, ..self })
    }
}

#[test]
fn a_grain_is_not_divided_and_a_loop_is() {
    for (len, at_least, at_most) in [(199, 0, 0), (200, 1, 1), (1000, 3, 9)] {
        let cuts = AtomicUsize::new(0);
        let runtime = multi(4);
        let watched = Watched { range: 0..len, cuts: &cuts };
        runtime.install(|| for_each(watched.with_grain(100), |_| ()));
        let cuts = cuts.load(SeqCst);
        assert!((at_least..=at_most).contains(&cuts), "{len} items, {cuts} cuts");
    }
}
