//! `select!`, `join!`, `try_join!`, `pin!`, `#[main]` and `#[test]`.

use crate::support::by_hand::turns_of_others;
use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn, ready};
use std::task::Poll;
use trefoil::sync::oneshot;
use trefoil::task::{consume_budget, yield_now};
use trefoil::time::{Duration, Instant, sleep};

#[trefoil::test]
async fn join_runs_at_the_same_time() {
    let (a, b) = oneshot::channel();
    let (c, d) = oneshot::channel();
    let (first, second) = trefoil::join!(
        async {
            a.send(1).unwrap();
            d.await.unwrap()
        },
        async {
            let got: i32 = b.await.unwrap();
            c.send(got + 1).unwrap();
            got
        },
    );
    assert_eq!((first, second), (2, 1));
    let () = trefoil::join!();
    assert_eq!(trefoil::join!(biased; async { 1 }), (1,));
}

/// "Each poll starts with another future", or with the first one if biased.
#[trefoil::test]
async fn join_has_the_futures_take_turns_unless_biased() {
    let polled = RefCell::new(String::new());
    // Ready at its fourth poll.
    let named = |name| {
        let mut polls = 0;
        let polled = &polled;
        poll_fn(move |cx| {
            polled.borrow_mut().push(name);
            polls += 1;
            if polls == 4 {
                return Poll::Ready(Ok::<_, ()>(()));
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
    };
    let _ = trefoil::join!(named('a'), named('b'), named('c'));
    assert_eq!(polled.take(), "abcbcacababc");
    let _ = trefoil::try_join!(named('a'), named('b'), named('c')).unwrap();
    assert_eq!(polled.take(), "abcbcacababc");
    let _ = trefoil::join!(biased; named('a'), named('b'), named('c'));
    assert_eq!(polled.take(), "abc".repeat(4));
    let _ = trefoil::try_join!(biased; named('a'), named('b'), named('c')).unwrap();
    assert_eq!(polled.take(), "abc".repeat(4));
}

#[trefoil::test]
async fn try_join_stops_at_the_first_error() {
    let ok: Result<_, ()> = trefoil::try_join!(async { Ok(1) }, async { Ok("2") });
    assert_eq!(ok, Ok((1, "2")));
    let dropped = Cell::new(false);
    struct OnDrop<'a>(&'a Cell<bool>);
    impl Drop for OnDrop<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let failed: Result<((), ()), i32> = trefoil::try_join!(
        async {
            let _on_drop = OnDrop(&dropped);
            pending::<()>().await;
            Ok(())
        },
        async {
            yield_now().await;
            Err(7)
        },
    );
    assert_eq!(failed, Err(7));
    assert!(dropped.get());
}

#[trefoil::test]
async fn select_takes_the_first_that_matches() {
    let mut order = Vec::new();
    let (mut left, right) = (Some(1), Some(2));
    loop {
        trefoil::select! {
            biased;
            Some(n) = ready(left.take()) => order.push(n),
            Some(mut n) = ready(right), if order.len() == 1 => {
                n *= 10;
                order.push(n);
            }
            else => break,
        }
    }
    assert_eq!(order, [1, 20]);
}

/// A future that has returned what does not match is not polled again.
#[trefoil::test]
async fn select_disables_a_branch_that_does_not_match() {
    let later = async {
        for _ in 0..3 {
            yield_now().await;
        }
        7
    };
    let got = trefoil::select! {
        Some(n) = async { None::<i32> } => n,
        n = later => n,
    };
    assert_eq!(got, 7);
}

/// Where the budget is used up, a branch that cannot tell does not go before the others.
#[test]
fn select_keeps_its_order_when_the_budget_is_used_up() {
    let turns = turns_of_others(async {
        for _ in 0..1000 {
            trefoil::select! {
                biased;
                () = consume_budget() => {}
                () = ready(()) => panic!("not the first"),
            }
        }
    });
    assert_eq!(turns, 7);
}

#[trefoil::test]
async fn select_skips_what_its_condition_forbids() {
    for _ in 0..20 {
        let allowed = false;
        let got = trefoil::select! {
            _ = ready(()), if allowed => 1,
            n = ready(2) => n,
        };
        assert_eq!(got, 2);
    }
}

#[trefoil::test]
async fn select_is_fair_unless_biased() {
    let (mut first, mut second) = (0, 0);
    for _ in 0..1000 {
        trefoil::select! {
            _ = async {} => first += 1,
            _ = async {} => second += 1,
        }
    }
    assert!(first > 300 && second > 300, "{first} {second}");
    for _ in 0..100 {
        trefoil::select! { biased; _ = async {} => {} _ = async {} => panic!("not the first") }
    }
}

#[trefoil::test]
async fn select_borrows_and_returns() {
    async fn inner() -> Result<i32, String> {
        let mut later = Box::pin(async {
            for _ in 0..3 {
                yield_now().await;
            }
            5
        });
        let mut rounds = 0;
        let value = loop {
            trefoil::select! {
                biased;
                value = &mut later => break value,
                _ = yield_now() => rounds += 1,
            }
        };
        assert!(rounds > 0);
        let text = trefoil::select! { text = async { Err::<i32, _>("no".to_string()) } => text? };
        Ok(value + text)
    }
    assert_eq!(inner().await, Err("no".into()));
}

#[trefoil::test]
#[should_panic(expected = "every branch of `select!` is disabled")]
async fn select_without_else_panics_when_all_are_disabled() {
    trefoil::select! {
        Some(()) = ready(None) => {}
    }
}

#[trefoil::test]
async fn pin_pins() {
    let future = async { 3 };
    trefoil::pin!(future);
    assert_eq!((&mut future).await, 3);
    trefoil::pin! { let a = async { 1 }; let b = async { 2 }; }
    assert_eq!(a.await + b.await, 3);
}

#[trefoil::test(flavor = "multi_thread", worker_threads = 2)]
async fn tests_may_have_workers() {
    let handle = trefoil::runtime::Handle::current();
    assert_eq!(handle.metrics().num_workers(), 2);
}

#[trefoil::test(start_paused = true)]
async fn tests_may_start_paused() -> Result<(), std::fmt::Error> {
    let (start, real) = (Instant::now(), std::time::Instant::now());
    sleep(Duration::from_secs(3600)).await;
    assert_eq!(start.elapsed(), Duration::from_secs(3600));
    assert!(real.elapsed() < Duration::from_secs(60));
    Ok(())
}

#[test]
fn main_runs_a_function() {
    #[trefoil::main]
    async fn run(n: u32) -> u32 {
        trefoil::spawn(async move { n + 1 }).await.unwrap()
    }
    assert_eq!(run(1), 2);
}

/// Functions that a `macro_rules` writes: all of it, its body, or what it is made of.
macro_rules! written_by_a_macro {
    ($test:ident, $main:ident, $block:block, $value:expr) => {
        #[trefoil::test]
        async fn $test() {
            let value = $value;
            assert_eq!(yield_to(value).await, value);
        }

        #[trefoil::main(flavor = "current_thread")]
        async fn $main() -> u32 $block
    };
}

async fn yield_to(value: u32) -> u32 {
    yield_now().await;
    value
}

written_by_a_macro!(a_macro_writes_a_test, written_main, { yield_to(4).await }, 5);

#[test]
fn a_macro_writes_main() {
    assert_eq!(written_main(), 4);
}

/// What `select!` makes has names that a program does not use.
#[trefoil::test]
async fn select_hides_no_name_of_the_program() {
    enum Output {
        Line(&'static str),
        End,
    }
    let lines = [Output::Line("a"), Output::End];
    let mut texts = Vec::new();
    for line in lines {
        texts.push(trefoil::select! {
            Output::Line(text) = ready(line) => text,
            else => "",
        });
    }
    assert_eq!(texts, ["a", ""]);
    let end: Output = trefoil::select! {
        end = ready(Output::End) => {
            let end: Output = end;
            end
        }
    };
    assert!(matches!(end, Output::End));
}
