//! Threads, each with a runtime, that live from the first iteration to the last.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::process::exit;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures_util::stream::StreamExt;
use tcp_work::{Plan, Totals, listen};

use crate::Core;
use crate::ping_pong::exchange;

/// What one thread does in one iteration.
#[derive(Debug)]
pub(crate) struct Share {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
    /// The numbers of its connecting tasks.
    pub(crate) numbers: Vec<u32>,
    pub(crate) round_trips: u64,
}

pub(crate) struct Threads {
    shares: Vec<UnboundedSender<Share>>,
    totals: mpsc::Receiver<Totals>,
    threads: Vec<JoinHandle<()>>,
}

/// Ends the process with the cause: other threads wait for connections and bytes that will never
/// come, and nothing tells their runtimes to stop waiting.
pub(crate) fn fail(error: &io::Error) -> ! {
    eprintln!("tcp_ping_pong: {error}");
    exit(1)
}

async fn work<C: Core>(mut shares: UnboundedReceiver<Share>, totals: mpsc::Sender<Totals>) {
    while let Some(share) = shares.next().await {
        let done = exchange::<C>(share).await;
        // Nobody waits any more if the other end is gone.
        totals.send(done).ok();
    }
}

impl Threads {
    pub(crate) fn start<C: Core>(count: usize) -> io::Result<Self> {
        let (sender, totals) = mpsc::channel();
        let (mut shares, mut threads) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for _ in 0..count {
            let (orders, incoming) = unbounded();
            let sender = sender.clone();
            let thread = thread::Builder::new().name("core".into());
            threads.push(thread.spawn(move || C::run(work::<C>(incoming, sender)))?);
            shares.push(orders);
        }
        Ok(Self { shares, totals, threads })
    }

    pub(crate) fn exchange(&self, Plan { connections, round_trips }: Plan) -> io::Result<Totals> {
        let (listener, address) = listen(connections)?;
        let count = self.shares.len();
        for (first, orders) in (0..connections.max(1)).zip(&self.shares) {
            let numbers = (first..connections).step_by(count).collect();
            let share = Share { listener: listener.try_clone()?, address, numbers, round_trips };
            orders.unbounded_send(share).map_err(|_| io::Error::other("a thread has ended"))?;
        }
        drop(listener);
        let busy = self.shares.len().min(connections.max(1) as usize);
        let ended = |_| self.totals.recv().map_err(|_| io::Error::other("the threads have ended"));
        (0..busy).map(ended).sum()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shares.clear();
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            drop(thread.join());
        }
    }
}
