//! The mix of the catalogue.

/// One output of splitmix64, from the state `i`.
pub const fn splitmix64(i: u64) -> u64 {
    let x = i.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// How long sleeper `i` of many_timers sleeps.
pub const fn sleeper_ms(salt: u64, i: u64) -> u64 {
    1 + splitmix64(salt.wrapping_add(i)) % 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_the_published_one() {
        // The first outputs of splitmix64 seeded with 0.
        assert_eq!(splitmix64(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(splitmix64(0x9E37_79B9_7F4A_7C15), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn the_sleepers_sleep_as_long_as_the_catalogue_says() {
        assert_eq!((0..10_000).map(|i| sleeper_ms(0, i)).sum::<u64>(), 54_705);
    }
}
