//! Readers and writers with a buffer of their own.

mod reader;
mod stream;
mod writer;

pub use reader::BufReader;
pub use stream::BufStream;
pub use writer::BufWriter;

/// The size of a buffer if nothing else is asked for, also for copying.
pub(super) const DEFAULT_BYTES: usize = 8 * 1024;
