//! What of a bundle was read: how much, and its hash.

use std::cell::{Cell, RefCell};
use std::io::{Error, Read, Result};

use sha2::{Digest, Sha256};

use crate::store::bundle::hex;

/// The most bytes of one record, without the records that it holds: what is read of it is in
/// memory, and a list of empty strings takes ten times as much there.
const RECORD_BYTES_MAX: u64 = 16 << 20;

/// How many bytes are hashed at once.
const PIECE_BYTES: usize = 1 << 14;

/// Whether bytes are hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Off,
    /// From the next one on that is no white space.
    Awaits,
    On,
}

/// Counts and hashes what a [`Metered`] reader gives.
#[derive(Debug, Default)]
pub(super) struct Meter {
    most: u64,
    bytes: Cell<u64>,
    /// Where the last record began or ended.
    mark: Cell<u64>,
    stage: Cell<Stage>,
    hash: RefCell<Sha256>,
    piece: RefCell<Vec<u8>>,
    refusal: RefCell<Option<String>>,
}

impl Meter {
    /// One that allows so many bytes.
    pub(super) fn new(most: u64) -> Self {
        Self { most, ..Self::default() }
    }

    pub(super) fn read<R: Read>(&self, text: R) -> Metered<'_, R> {
        Metered { meter: self, text }
    }

    /// Another record begins, or one has ended.
    pub(super) fn mark(&self) {
        self.mark.set(self.bytes.get());
    }

    /// From here on bytes are hashed, white space before the first of them left out.
    pub(super) fn start(&self) {
        self.stage.set(Stage::Awaits);
    }

    pub(super) fn stop(&self) {
        self.stage.set(Stage::Off);
        self.hash.borrow_mut().update(self.piece.take());
    }

    pub(super) fn hash(&self) -> String {
        hex(self.hash.take())
    }

    /// Why no more was read, if it was too much.
    pub(super) fn refusal(&self) -> Option<String> {
        self.refusal.take()
    }

    fn take(&self, byte: u8) -> Result<()> {
        self.bytes.set(self.bytes.get() + 1);
        let refuse = |reason: String| {
            self.refusal.replace(Some(reason));
            Err(Error::other("too much"))
        };
        if self.bytes.get() > self.most {
            return refuse(format!(
                "it has more than {} MiB unpacked, the most that a bundle may have",
                self.most >> 20
            ));
        }
        if self.bytes.get() - self.mark.get() > RECORD_BYTES_MAX {
            return refuse(format!(
                "it has a record of more than {} MiB at byte {}",
                RECORD_BYTES_MAX >> 20,
                self.mark.get()
            ));
        }
        if self.stage.get() == Stage::Awaits && !byte.is_ascii_whitespace() {
            self.stage.set(Stage::On);
        }
        if self.stage.get() == Stage::On {
            let mut piece = self.piece.borrow_mut();
            piece.push(byte);
            if piece.len() >= PIECE_BYTES {
                self.hash.borrow_mut().update(&*piece);
                piece.clear();
            }
        }
        Ok(())
    }
}

/// A reader that a [`Meter`] watches.
pub(super) struct Metered<'m, R> {
    meter: &'m Meter,
    pub(super) text: R,
}

impl<R: Read> Read for Metered<'_, R> {
    /// Byte by byte, as a parser of JSON takes them: it has then read no byte more than it needed.
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        if self.meter.refusal.borrow().is_some() {
            return Err(Error::other("too much"));
        }
        let most = into.len().min(1);
        let count = self.text.read(&mut into[..most])?;
        into[..count].iter().try_for_each(|&byte| self.meter.take(byte))?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_read_than_a_bundle_may_have() {
        const MIB: u64 = 1 << 20;
        let meter = Meter::new(2 * MIB);
        let mut sink = Vec::new();
        let endless = std::io::repeat(b' ').take(1 << 30);
        assert!(meter.read(endless).read_to_end(&mut sink).is_err());
        assert_eq!(sink.len() as u64, 2 * MIB);
        assert!(meter.refusal().unwrap().contains("more than 2 MiB unpacked"));
    }

    #[test]
    fn the_hash_is_that_of_the_value() {
        let text = "  {\"a\": 1}".to_owned() + &"x".repeat(3 * PIECE_BYTES);
        let meter = Meter::new(u64::MAX);
        let mut reader = meter.read(text.as_bytes());
        meter.start();
        std::io::copy(&mut reader.by_ref().take(10 + PIECE_BYTES as u64), &mut std::io::sink())
            .unwrap();
        meter.stop();
        std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
        let mut right = Sha256::new();
        right.update(&text[2..10 + PIECE_BYTES]);
        assert_eq!(meter.hash(), hex(right));
    }
}
