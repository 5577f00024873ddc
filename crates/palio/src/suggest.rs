//! The nearest name to one that does not exist.

/// The most similar of `known`, if any is similar enough to be what was meant.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Below this, a suggestion confuses more than it helps.
    const SIMILARITY_MIN: f64 = 0.6;
    known
        .map(|candidate| {
            // The last part of a path counts as a name of its own: `ping_pong` means
            // `rt_multi_threaded/ping_pong`.
            let tail = candidate.rsplit('/').next().unwrap_or(candidate);
            let similarity =
                strsim::jaro_winkler(name, candidate).max(strsim::jaro_winkler(name, tail));
            (similarity, candidate)
        })
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_name() {
        assert_eq!(nearest("tokio-tm", ["tokio-mt", "smol"].into_iter()), Some("tokio-mt"));
        assert_eq!(nearest("pingpong", ["fib", "rt/ping_pong"].into_iter()), Some("rt/ping_pong"));
        assert_eq!(nearest("zzz", ["fib", "smol"].into_iter()), None);
    }
}
