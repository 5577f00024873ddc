use std::fmt;
use std::num::NonZeroU64;

/// The id of a runtime or of a [`LocalSet`](crate::task::LocalSet). No two of a process have the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(pub(super) NonZeroU64);

impl Id {
    pub(crate) fn next() -> Self {
        // Not loom's, whose statics end with each execution. Relaxed: the counter orders nothing,
        // and only uniqueness matters.
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let id = NEXT.fetch_add(1, crate::primitives::atomic::Relaxed);
        Self(NonZeroU64::new(id).expect("2^64 runtimes"))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
