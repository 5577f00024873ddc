//! Children whose [`Child`](super::Child) was dropped before they had ended. See `README.md`.

use super::exit::Exit;
use crate::primitives::Mutex;
use std::mem;
use std::process::Child;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// Children that no runtime listens for.
static LEFT: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Reaps a child when it has ended.
pub(super) fn adopt(exit: Exit) {
    Arc::new(Orphan { state: Mutex::new(State::Polled { again: false }) }).poll(exit);
}

/// Leaves a child to whoever starts the next one.
pub(super) fn leave(child: Child) {
    LEFT.lock().push(child);
}

/// Has the current runtime listen for those that were left.
pub(super) fn take_over() {
    let left = mem::take(&mut *LEFT.lock());
    for mut child in left {
        // An error says that somebody else has reaped it.
        if let Ok(None) = child.try_wait() {
            match Exit::new(child) {
                Ok(exit) => adopt(exit),
                Err((child, _)) => leave(child),
            }
        }
    }
}

/// A child that is reaped when this, a waker, is woken and finds that it has ended.
struct Orphan {
    state: Mutex<State>,
}

enum State {
    /// It is polled, or is no more. `again` says that it was woken meanwhile.
    Polled {
        again: bool,
    },
    Waiting(Exit),
}

impl Orphan {
    /// The caller has found `Waiting`, or has made this.
    fn poll(self: &Arc<Self>, mut exit: Exit) {
        let waker = Waker::from(Arc::clone(self));
        loop {
            match exit.poll(&mut Context::from_waker(&waker)) {
                Poll::Pending => {}
                Poll::Ready(Ok(None)) => return leave(exit.into_child()),
                // It was reaped: by somebody else, if this is an error.
                Poll::Ready(_) => return,
            }
            let mut state = self.state.lock();
            match &mut *state {
                State::Polled { again } if *again => *again = false,
                state => {
                    *state = State::Waiting(exit);
                    return;
                }
            }
        }
    }
}

impl Wake for Orphan {
    fn wake(self: Arc<Self>) {
        let mut state = self.state.lock();
        match mem::replace(&mut *state, State::Polled { again: true }) {
            State::Polled { .. } => {}
            State::Waiting(exit) => {
                *state = State::Polled { again: false };
                drop(state);
                self.poll(exit);
            }
        }
    }
}
