//! What the two sides of a connection send and count. Each counts where it reads.

use std::iter::Sum;
use std::ops::Add;

use palio_protocol::harness::Iteration;
use palio_protocol::salt;

/// The side that accepted: it begins, and sends on what it has read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accepted {
    last: u8,
    sum: u64,
    read: u64,
}

impl Accepted {
    /// The byte to be written next.
    pub const fn next(&self) -> u8 {
        self.last
    }

    pub fn read(&mut self, byte: u8) {
        self.last = byte;
        self.sum += u64::from(byte);
        self.read += 1;
    }

    /// How many round trips are done.
    pub const fn round_trips(&self) -> u64 {
        self.read
    }
}

/// The side that connected: it answers every byte with that byte plus its key.
#[derive(Clone, Copy, Debug)]
pub struct Connected {
    key: u8,
    sum: u64,
    read: u64,
}

impl Connected {
    /// Of the connecting task number `number`.
    pub const fn new(salt: u64, number: u32) -> Self {
        Self { key: salt::mix(salt, number as u64) as u8 | 1, sum: 0, read: 0 }
    }

    /// The answer to `byte`, which was read.
    pub fn answer(&mut self, byte: u8) -> u8 {
        self.sum += u64::from(byte);
        self.read += 1;
        byte.wrapping_add(self.key)
    }

    /// How many bytes were answered.
    pub const fn answered(&self) -> u64 {
        self.read
    }
}

/// What sides that have ended add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    sum: u64,
    read: u64,
    round_trips: u64,
}

impl From<Accepted> for Totals {
    fn from(side: Accepted) -> Self {
        Self { sum: side.sum, read: side.read, round_trips: side.read }
    }
}

impl From<Connected> for Totals {
    fn from(side: Connected) -> Self {
        Self { sum: side.sum, read: side.read, round_trips: 0 }
    }
}

impl Add for Totals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sum: self.sum.wrapping_add(other.sum),
            read: self.read + other.read,
            round_trips: self.round_trips + other.round_trips,
        }
    }
}

impl Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(totals: I) -> Self {
        totals.fold(Self::default(), Add::add)
    }
}

impl From<Totals> for Iteration {
    fn from(totals: Totals) -> Self {
        Self { answer: totals.sum, ops: totals.round_trips, work: Some(totals.read) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(salt: u64, connections: u32, round_trips: u64) -> Iteration {
        let of_one = |number| {
            let (mut accepted, mut connected) = (Accepted::default(), Connected::new(salt, number));
            while accepted.round_trips() < round_trips {
                let answer = connected.answer(accepted.next());
                accepted.read(answer);
            }
            Totals::from(accepted) + connected.into()
        };
        (0..connections).map(of_one).sum::<Totals>().into()
    }

    #[test]
    fn the_bytes_add_up_to_what_the_catalogue_says() {
        let quick = Iteration { answer: 2_535_808, ops: 10_000, work: Some(20_000) };
        assert_eq!(exchange(0, 50, 200), quick);
        assert_eq!(exchange(0, 1, 1), Iteration { answer: 175, ops: 1, work: Some(2) });
        assert_eq!(exchange(7, 3, 5), Iteration { answer: 3_643, ops: 15, work: Some(30) });
        assert_eq!(exchange(0, 0, 9), Iteration { answer: 0, ops: 0, work: Some(0) });
    }
}
