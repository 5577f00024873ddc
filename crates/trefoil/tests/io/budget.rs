//! What is always ready lets other tasks run, and what waits costs nothing.

use crate::support;
use crate::support::by_hand::turns_of_others;
use futures::{FutureExt, poll};
use std::cell::Cell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use trefoil::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeekExt, AsyncWrite,
    AsyncWriteExt, ReadBuf, SimplexStream, copy, copy_bidirectional, copy_buf, duplex, empty, join,
    repeat, sink,
};
use trefoil::runtime::LocalRuntime;
use trefoil::task::coop;

/// Repeats an operation that never waits, until another task has run. Without a budget, none does.
fn lets_others_run<F: Future<Output = ()>>(what: &str, mut operation: impl FnMut() -> F) {
    LocalRuntime::new().unwrap().block_on(async {
        let has_run = Rc::new(Cell::new(false));
        let its = Rc::clone(&has_run);
        trefoil::task::spawn_local(async move { its.set(true) });
        for _ in 0..100_000 {
            operation().await;
            if has_run.get() {
                return;
            }
        }
        panic!("{what} keeps its worker");
    });
}

#[test]
fn single_operations_that_are_always_ready_spend_the_budget() {
    lets_others_run("reading nothing", || async { drop(empty().read(&mut [0]).await) });
    lets_others_run("filling nothing", || async { assert!(empty().fill_buf().await.is_ok()) });
    lets_others_run("seeking nothing", || async { drop(empty().rewind().await) });
    lets_others_run("writing to nothing", || async { drop(empty().write(b"x").await) });
    lets_others_run("repeating", || async { drop(repeat(1).read(&mut [0]).await) });
    lets_others_run("sinking", || async { drop(sink().write(b"x").await) });
    lets_others_run("flushing a sink", || async { drop(sink().flush().await) });
    lets_others_run("a pipe", || async {
        let mut pipe = SimplexStream::new_unsplit(1);
        pipe.write_all(b"x").await.unwrap();
        assert_eq!(pipe.read_u8().await.unwrap(), b'x');
    });
}

/// Most writers have nothing to do for these, and their own polls spend nothing.
#[test]
fn to_flush_and_to_shut_down_spends_the_budget() {
    fn turns(mut writer: impl AsyncWrite + Unpin + Send + 'static) -> usize {
        turns_of_others(async move {
            for _ in 0..500 {
                writer.flush().await.unwrap();
                writer.shutdown().await.unwrap();
            }
        })
    }
    assert_eq!(turns(duplex(8).0), 7);
    assert_eq!(turns(Vec::new()), 7);
    let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(turns(trefoil::fs::File::from_std(file)), 7);
}

/// A flush that waits gives back what it has not spent, and not what its writer has.
#[test]
fn a_flush_that_waits_spends_what_its_writer_does() {
    /// Spends all that there is, and waits.
    struct Spends;

    impl AsyncWrite for Spends {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(buf.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            while let Poll::Ready(unit) = coop::poll_proceed(cx) {
                unit.made_progress();
            }
            Poll::Pending
        }

        fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.poll_flush(cx)
        }
    }

    support::current_thread().block_on(async {
        let (mut one, mut other) = (Spends, Spends);
        let (mut flush, mut shutdown) = (one.flush().boxed(), other.shutdown().boxed());
        for _ in 0..3 {
            assert!(poll!(&mut flush).is_pending());
            assert!(!coop::has_budget_remaining());
            trefoil::task::yield_now().await;
            assert!(coop::has_budget_remaining());
            assert!(poll!(&mut shutdown).is_pending());
            assert!(!coop::has_budget_remaining());
            trefoil::task::yield_now().await;
        }
    });
}

/// Always ready, without end, and without an idea of budgets.
struct Endless;

impl AsyncRead for Endless {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buf.put_slice(b"x");
        Poll::Ready(Ok(()))
    }
}

impl AsyncBufRead for Endless {
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(Ok(b"x"))
    }

    fn consume(self: Pin<&mut Self>, _: usize) {}
}

impl AsyncWrite for Endless {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// An operation without end yields within its polls. Without that, the test would not end.
#[track_caller]
fn yields(operation: impl Future) {
    LocalRuntime::new().unwrap().block_on(async {
        trefoil::select! {
            biased;
            _ = operation => panic!("it has no end"),
            () = trefoil::task::yield_now() => {}
        }
    });
}

#[test]
fn copies_without_end_spend_the_budget_whatever_they_copy() {
    yields(copy(&mut repeat(1), &mut sink()));
    yields(copy(&mut Endless, &mut Endless));
    yields(copy_buf(&mut Endless, &mut Endless));
    yields(copy_bidirectional(&mut Endless, &mut Endless));
    yields(copy_bidirectional(&mut join(Endless, sink()), &mut Endless));
}

#[test]
fn a_direction_that_is_always_ready_starves_not_the_other() {
    LocalRuntime::new().unwrap().block_on(async {
        let (mut a, mut b) = (join(Endless, Vec::new()), join(&b"answer"[..], sink()));
        {
            let mut copying = std::pin::pin!(copy_bidirectional(&mut a, &mut b));
            for _ in 0..2 {
                assert!(
                    std::future::poll_fn(|cx| Poll::Ready(copying.as_mut().poll(cx)))
                        .await
                        .is_pending()
                );
                trefoil::task::yield_now().await;
            }
        }
        assert_eq!(a.writer(), b"answer");
    });
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn copies_that_wait_spend_nothing_however_many_there_are() {
    support::current_thread().block_on(async {
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        let cx = &mut Context::from_waker(&waker);
        // More than a poll has units, of each kind: those that wait for a reader, and those whose
        // buffer is full and that wait for a writer.
        let mut kept = Vec::new();
        for _ in 0..300 {
            let (idle, end) = duplex(1);
            kept.push(end);
            let (full, end) = duplex(1);
            kept.push(end);
            let mut copying: Vec<Pin<Box<dyn Future<Output = io::Result<u64>>>>> = Vec::new();
            copying.push(Box::pin(async move { copy(&mut { idle }, &mut sink()).await }));
            copying.push(Box::pin(async move { copy(&mut &[7; 20_000][..], &mut { full }).await }));
            for mut copy in copying {
                // The first poll makes progress, and the later ones make none.
                trefoil::task::yield_now().await;
                assert!(copy.as_mut().poll(cx).is_pending());
                let before = count.0.load(Ordering::Relaxed);
                for _ in 0..200 {
                    assert!(copy.as_mut().poll(cx).is_pending());
                }
                assert_eq!(count.0.load(Ordering::Relaxed), before, "woken without a reason");
            }
        }
    });
}
