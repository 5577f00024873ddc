//! One sender, many receivers, and the sender waits for all of them: what broadcast and watch have
//! in common.

use std::fmt::Write;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use fork_join_workloads::Tally;
use palio_protocol::harness::{Refusal, Request};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::Notifies;

/// How many numbers a message has.
const NUMBERS: u64 = 10;

/// What the receivers share with the sender.
pub(crate) struct Receipts<N: Notifies> {
    receivers: u64,
    /// Receives since the start of the iteration.
    received: AtomicU64,
    /// The sum over them of the number received + 1.
    sum: AtomicU64,
    all: N::Notify,
}

impl<N: Notifies> Receipts<N> {
    pub(crate) fn of(receivers: u64) -> Self {
        let (received, sum) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { receivers, received, sum, all: N::Notify::default() }
    }

    /// One receiver has received `number`, and done its work.
    pub(crate) fn sign(&self, number: u64) {
        // Relaxed: published by the addition below.
        self.sum.fetch_add(number.wrapping_add(1), Ordering::Relaxed);
        // AcqRel: pairs with the load in `all_of` directly, or through the additions of those who
        // come later.
        let received = self.received.fetch_add(1, Ordering::AcqRel) + 1;
        if received.is_multiple_of(self.receivers) {
            N::notify_one(&self.all);
        }
    }

    /// Waits until all receivers have signed for the first `sends` numbers.
    pub(crate) async fn all_of(&self, sends: u64) {
        while self.received.load(Ordering::Acquire) < sends * self.receivers {
            N::notified(&self.all).await;
        }
    }

    /// Ends an iteration. Nobody is about to sign: all have.
    pub(crate) fn take(&self) -> Tally {
        let [answer, work] = [&self.sum, &self.received].map(|all| all.swap(0, Ordering::Relaxed));
        Tally { answer, work }
    }
}

/// The work of one receive: a message of ten random numbers, and the sum of its bytes.
pub(crate) fn message(random: &mut StdRng) {
    let mut message = String::new();
    for i in 1..=NUMBERS {
        write!(message, " {i}={}", random.random::<f64>()).expect("a string takes everything");
    }
    black_box(message.bytes().map(u32::from).fold(0, u32::wrapping_add));
}

/// What the receiver with this index draws its numbers from.
pub(crate) fn random_of(receiver: u64) -> StdRng {
    StdRng::seed_from_u64(receiver)
}

#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) receivers: u64,
    pub(crate) sends: u64,
}

impl Size {
    pub(crate) fn of(request: &mut Request) -> Result<Self, Refusal> {
        let size = Self { receivers: request.param("receivers")?, sends: request.param("sends")? };
        if size.receivers == 0 {
            return Err(Refusal::Misuse("--set receivers=0: nobody would wake the sender".into()));
        }
        Ok(size)
    }
}
