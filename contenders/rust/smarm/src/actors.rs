//! All that is asked of smarm, in its own words; README.md says which of them its document has.

use std::sync::mpsc as std_mpsc;
use std::time::Duration;

use blocking_workloads::Blocking;
use smarm::runtime::Config;
use smarm::{JoinHandle, Receiver, Runtime, Sender};

pub(crate) struct Actors;

impl Blocking for Actors {
    /// Its document's stacks have 64 KiB.
    const DEPTH_MAX: usize = 1000;

    type Handle<T: Send + 'static> = JoinHandle<T>;
    type Sender<T: Send + 'static> = Sender<T>;
    type Receiver<T: Send + 'static> = Receiver<T>;
    type SenderOfOne<T: Send + 'static> = Sender<T>;
    type ReceiverOfOne<T: Send + 'static> = Receiver<T>;

    fn run_cold<T: Send + 'static>(threads: usize, root: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, ended) = std_mpsc::sync_channel(1);
        Runtime::new(Config::exact(threads)).run(move || {
            done.send(root()).expect("the sampling thread waits");
        });
        ended.recv().expect("the root ends")
    }

    fn spawn<T: Send + 'static>(task: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        smarm::spawn(task)
    }

    fn join<T: Send + 'static>(handle: JoinHandle<T>) -> Option<T> {
        handle.join().ok()
    }

    fn yield_now() {
        smarm::yield_now();
    }

    fn sleep(duration: Duration) {
        smarm::sleep(duration);
    }

    fn channel<T: Send + 'static>() -> (Sender<T>, Receiver<T>) {
        smarm::channel()
    }

    fn send<T: Send + 'static>(sender: &Sender<T>, value: T) {
        assert!(sender.send(value).is_ok(), "the receiver is there");
    }

    fn receive<T: Send + 'static>(receiver: &mut Receiver<T>) -> Option<T> {
        receiver.recv().ok()
    }

    fn channel_of_one<T: Send + 'static>() -> (Sender<T>, Receiver<T>) {
        smarm::channel()
    }

    fn send_one<T: Send + 'static>(sender: Sender<T>, value: T) {
        Self::send(&sender, value);
    }

    fn receive_one<T: Send + 'static>(receiver: Receiver<T>) -> T {
        receiver.recv().ok().expect("the sender sends")
    }
}
