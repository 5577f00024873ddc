use crate::context;
use crate::primitives::atomic::Relaxed;
use std::fmt;
use std::num::NonZeroU64;

/// The id of a task. It is unique among all tasks of the process, and never reused. Its order means
/// nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(NonZeroU64);

/// How many ids a thread takes at a time, so that spawning touches no shared
/// counter.
const BLOCK: u64 = 1024;

// Loom need not see it, because ids order nothing. A static of loom's would not outlive one
// execution of the model.
static NEXT_BLOCK: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

impl Id {
    pub(crate) fn next() -> Self {
        context::with(|context| {
            let mut id = context.next_id.get();
            if id % BLOCK == 0 {
                // Relaxed: only uniqueness matters.
                id = NEXT_BLOCK.fetch_add(1, Relaxed) * BLOCK;
            }
            context.next_id.set(id + 1);
            Self(NonZeroU64::new(id).expect("2^64 tasks"))
        })
    }
}

impl Id {
    pub(crate) fn as_u64(self) -> u64 {
        self.0.get()
    }

    /// None if it is 0, which no id is.
    pub(crate) fn from_u64(id: u64) -> Option<Self> {
        NonZeroU64::new(id).map(Self)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.0)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of the current task.
///
/// # Panics
/// Outside of a task. The future of a `block_on` is no task.
#[track_caller]
pub fn id() -> Id {
    try_id().expect("not inside of a task: `block_on`'s own future has no id")
}

/// The id of the current task, if there is one.
pub fn try_id() -> Option<Id> {
    context::with(|context| context.task.get()).map(super::id_of)
}
