//! The salt: a number that is fresh for every process of a contender and enters its work, so that
//! the answer cannot be known beforehand.

use std::sync::atomic::{AtomicU64, Ordering};

static OF_PROCESS: AtomicU64 = AtomicU64::new(0);

/// The salt of this process, which `--salt` gave it; 0 before a conversation begins.
///
/// For tasks that need it: to pass it down to them would make each of them larger, which is a cost
/// that the work does not have.
#[inline]
pub fn of_process() -> u64 {
    // Relaxed: whatever hands the tasks to a worker orders it, too.
    OF_PROCESS.load(Ordering::Relaxed)
}

pub(crate) fn set_of_process(salt: u64) {
    OF_PROCESS.store(salt, Ordering::Relaxed);
}

/// One output of splitmix64 (Steele, Lea and Flood), from the state `salt` + `index`: a number that
/// hangs on both and shows neither.
pub const fn mix(salt: u64, index: u64) -> u64 {
    let x = salt.wrapping_add(index).wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_the_published_one() {
        // The first outputs of splitmix64 seeded with 0.
        assert_eq!(mix(0, 0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mix(0, 0x9E37_79B9_7F4A_7C15), 0x6E78_9E6A_A1B9_65F4);
        assert_eq!(mix(u64::MAX, 1), mix(0, 0), "the sum wraps");
    }
}
