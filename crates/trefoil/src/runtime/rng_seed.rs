use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;

/// The seed of a runtime's random numbers: see [`Builder::rng_seed`](super::Builder::rng_seed).
#[derive(Clone, Debug)]
pub struct RngSeed(u64);

impl RngSeed {
    /// A seed from any bytes. The same bytes are the same seed in one build of a program; another
    /// release may make another one of them.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        Self(hasher.finish())
    }

    pub(crate) fn get(&self) -> u64 {
        self.0
    }
}
