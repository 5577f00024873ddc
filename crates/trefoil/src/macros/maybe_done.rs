use pin_project_lite::pin_project;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// A future that keeps its output until that is taken.
    #[project = Projected]
    #[project_replace = Replaced]
    #[derive(Debug)]
    pub enum MaybeDone<F: Future> {
        Future { #[pin] future: F },
        Done { output: F::Output },
        Gone,
    }
}

pub fn maybe_done<F: IntoFuture>(future: F) -> MaybeDone<F::IntoFuture> {
    MaybeDone::Future { future: future.into_future() }
}

impl<F: Future> MaybeDone<F> {
    /// Takes the output. Only the macros call this, when the future is ready.
    pub fn take(self: Pin<&mut Self>) -> F::Output {
        match self.project_replace(MaybeDone::Gone) {
            Replaced::Done { output } => output,
            _ => unreachable!("a future's output was taken before it was there, or twice"),
        }
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> MaybeDone<F> {
    pub fn failed(self: Pin<&mut Self>) -> bool {
        matches!(self.project(), Projected::Done { output: Err(_) })
    }

    pub fn take_error(self: Pin<&mut Self>) -> E {
        match self.take() {
            Err(error) => error,
            Ok(_) => unreachable!("it has not failed"),
        }
    }

    pub fn take_ok(self: Pin<&mut Self>) -> T {
        match self.take() {
            Ok(value) => value,
            Err(_) => unreachable!("it has failed"),
        }
    }
}

impl<F: Future> Future for MaybeDone<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let output = match self.as_mut().project() {
            Projected::Future { future } => ready!(future.poll(cx)),
            Projected::Done { .. } => return Poll::Ready(()),
            Projected::Gone => panic!("polled after its output was taken"),
        };
        self.set(MaybeDone::Done { output });
        Poll::Ready(())
    }
}
