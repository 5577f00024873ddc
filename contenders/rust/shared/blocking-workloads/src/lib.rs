//! The rows of the suite `smarm` in blocking code, once, over the trait [`Blocking`], and the row
//! `spawn_one` over [`Lasting`]: for tasks that have stacks of their own, and leave their thread to
//! others where they wait.
#![forbid(unsafe_code)]

use std::time::Duration;

use palio_protocol::harness::Prepare;

mod rows;
mod spawn_one;

pub use spawn_one::{Lasting, spawn_one};

/// A runtime whose tasks block where others await. Its verbs are those of a task, but for
/// [`run_cold`](Self::run_cold).
pub trait Blocking: 'static {
    /// The deepest recursion for which a task's stack has room, with 64 bytes a call.
    const DEPTH_MAX: usize;

    /// Of a task that returns a `T`.
    type Handle<T: Send + 'static>;
    /// The ends of a channel with room for all.
    type Sender<T: Send + 'static>: Clone + Send + 'static;
    type Receiver<T: Send + 'static>: Send + 'static;
    /// The ends of a channel for one value.
    type SenderOfOne<T: Send + 'static>: Send + 'static;
    type ReceiverOfOne<T: Send + 'static>: Send + 'static;

    /// On the sampling thread: starts a runtime of so many workers, runs `root` as a task of it,
    /// and stops the runtime.
    fn run_cold<T: Send + 'static>(threads: usize, root: impl FnOnce() -> T + Send + 'static) -> T;

    fn spawn<T: Send + 'static>(task: impl FnOnce() -> T + Send + 'static) -> Self::Handle<T>;
    /// What the task returned; `None` if it panicked.
    fn join<T: Send + 'static>(handle: Self::Handle<T>) -> Option<T>;
    fn yield_now();
    fn sleep(duration: Duration);

    fn channel<T: Send + 'static>() -> (Self::Sender<T>, Self::Receiver<T>);
    /// The receiver is there, or the row is broken.
    fn send<T: Send + 'static>(sender: &Self::Sender<T>, value: T);
    /// `None` when all senders are gone and everything is received.
    fn receive<T: Send + 'static>(receiver: &mut Self::Receiver<T>) -> Option<T>;

    fn channel_of_one<T: Send + 'static>() -> (Self::SenderOfOne<T>, Self::ReceiverOfOne<T>);
    /// The receiver waits, or the row is broken.
    fn send_one<T: Send + 'static>(sender: Self::SenderOfOne<T>, value: T);
    /// The sender sends, or the row is broken.
    fn receive_one<T: Send + 'static>(receiver: Self::ReceiverOfOne<T>) -> T;
}

/// The suite `smarm`, all of it of scope `cold`.
#[must_use]
pub fn rows<B: Blocking>() -> [(&'static str, Prepare); 12] {
    [
        ("chained_spawn", rows::chained_spawn::<B>),
        ("yield_many", rows::yield_many::<B>),
        ("fan_out_compute", rows::primes::<B>),
        ("ping_pong_oneshot", rows::ping_pong_oneshot::<B>),
        ("spawn_storm_busy", rows::spawn_storm_busy::<B>),
        ("mpsc_contention", rows::mpsc_contention::<B>),
        ("many_timers", rows::many_timers::<B>),
        ("multi_thread_scaling", rows::primes::<B>),
        ("deep_recursion", rows::deep_recursion::<B>),
        ("yield_in_hot_loop", rows::yield_in_hot_loop::<B>),
        ("uncontended_channel", rows::uncontended_channel::<B>),
        ("catch_unwind_panics", rows::catch_unwind_panics::<B>),
    ]
}
