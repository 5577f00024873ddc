//! Ping-pong over TCP, by hand.

use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use mio::net::TcpListener;
use palio_protocol::harness::{Refusal, Request, Work};
use palio_protocol::salt;
use tcp_work::{Connected, Plan, Totals, listen};

use crate::worker::{Desk, Ended, Order, start};

struct Workers {
    desks: Vec<Desk>,
    ended: Receiver<Ended>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    fn start(threads: usize) -> io::Result<Self> {
        let (ends, ended) = channel();
        let (desks, threads) = start(threads, &ends)?;
        Ok(Self { desks, ended, threads })
    }

    fn exchange(&self, Plan { connections, round_trips }: Plan) -> io::Result<Totals> {
        let (listener, address) = listen(connections)?;
        let listener = TcpListener::from_std(listener);
        let threads = self.desks.len();
        for (worker, desk) in self.desks.iter().enumerate() {
            let mine = (0..connections).filter(|number| *number as usize % threads == worker);
            desk.give(mine.map(|number| {
                let side = Connected::new(salt::of_process(), number);
                Order::Connect { address, side, round_trips }
            }))?;
        }
        self.desks[0].give([Order::Accept { listener, connections, round_trips }])?;
        let mut totals = Totals::default();
        for _ in 0..2 * u64::from(connections) {
            let ended =
                self.ended.recv().map_err(|_| io::Error::other("the workers have ended"))?;
            totals = totals + ended?;
        }
        Ok(totals)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for (desk, thread) in self.desks.iter().zip(self.threads.drain(..)) {
            // A worker that has ended after an error takes no order, and has said why.
            desk.give([Order::Stop]).ok();
            thread.join().ok();
        }
    }
}

pub(crate) fn prepare(request: &mut Request) -> Result<Work, Refusal> {
    let plan = Plan::of(request)?;
    let workers = Workers::start(request.threads).expect("threads and their epolls are to be had");
    Ok(Work::new(move || {
        let totals = workers.exchange(plan);
        totals.unwrap_or_else(|error| panic!("tcp_ping_pong: {error}")).into()
    }))
}

#[cfg(test)]
mod tests {
    use palio_protocol::harness::Iteration;

    use super::*;

    #[test]
    fn every_byte_is_read_by_both_sides() {
        for threads in [1, 3] {
            let workers = Workers::start(threads).unwrap();
            for (connections, round_trips, answer) in
                [(50, 200, 2_535_808), (1, 1, 175), (7, 0, 0), (0, 7, 0)]
            {
                let plan = Plan { connections, round_trips };
                let done = u64::from(connections) * round_trips;
                let all = Iteration { answer, ops: done, work: Some(2 * done) };
                assert_eq!(Iteration::from(workers.exchange(plan).unwrap()), all, "{plan:?}");
            }
        }
    }
}
