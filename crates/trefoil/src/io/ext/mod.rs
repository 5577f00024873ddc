//! The extension traits: what one does with readers and writers, as methods that return futures.

mod buf_read_ext;
mod filling;
mod numbers;
mod read_ext;
mod reading;
mod seek_ext;
mod segments;
mod write_ext;
mod writing;

pub use buf_read_ext::AsyncBufReadExt;
pub use read_ext::AsyncReadExt;
pub use seek_ext::AsyncSeekExt;
pub use segments::{Lines, Split};
pub use write_ext::AsyncWriteExt;
