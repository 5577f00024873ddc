//! The process's standard input, output and error, by the blocking pool.

use super::blocking::Blocking;
use super::{AsyncRead, AsyncWrite, ReadBuf};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The standard input: see [`stdin`].
#[derive(Debug)]
pub struct Stdin(Blocking<io::Stdin>);

/// The process's standard input.
///
/// A read waits on a thread of the blocking pool, and cannot be cancelled there: **a runtime that
/// ends waits for it**, until somebody types. A program that reads from a user does better with a
/// thread of its own, or ends with
/// [`shutdown_background`](crate::runtime::Runtime::shutdown_background).
///
/// What a dropped read has got is given to the next read of the same value. Another value does not
/// get it.
pub fn stdin() -> Stdin {
    Stdin(Blocking::new(io::stdin()))
}

impl AsyncRead for Stdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

/// An output of the process.
macro_rules! output {
    ($(#[$type_meta:meta])* $type:ident, $(#[$meta:meta])* $name:ident) => {
        $(#[$type_meta])*
        #[derive(Debug)]
        pub struct $type(Blocking<io::$type>);

        $(#[$meta])*
        pub fn $name() -> $type {
            $type(Blocking::new(io::$name()))
        }

        impl AsyncWrite for $type {
            fn poll_write(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut self.0).poll_write(cx, whole_characters(buf))
            }

            fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Pin::new(&mut self.0).poll_flush(cx)
            }

            fn poll_shutdown(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
            ) -> Poll<io::Result<()>> {
                Pin::new(&mut self.0).poll_shutdown(cx)
            }

            fn poll_write_vectored(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                if cfg!(windows) {
                    let first = bufs.iter().find(|buf| !buf.is_empty());
                    return self.poll_write(cx, first.map_or(&[], |buf| &**buf));
                }
                Pin::new(&mut self.0).poll_write_vectored(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                !cfg!(windows)
            }
        }
    };
}

output! {
    /// The standard output: see [`stdout`].
    Stdout,
    /// The process's standard output.
    ///
    /// A write is done when its bytes are copied; a thread of the blocking pool then writes them.
    /// Call [`flush`](crate::io::AsyncWriteExt::flush) to be sure of them, and above all before
    /// the runtime ends.
    ///
    /// ```
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() -> trefoil::io::Result<()> {
    /// use trefoil::io::{self, AsyncWriteExt};
    ///
    /// let mut stdout = io::stdout();
    /// stdout.write_all(b"hello\n").await?;
    /// stdout.flush().await?;
    /// # Ok(())
    /// # }
    /// ```
    stdout
}

output! {
    /// The standard error: see [`stderr`].
    Stderr,
    /// The process's standard error. What is said of [`stdout`] holds here as well.
    stderr
}

/// The descriptors are the process's, and open for as long as it does not close them itself.
#[cfg(unix)]
mod unix {
    use super::{Stderr, Stdin, Stdout};
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

    macro_rules! descriptor {
        ($($type:ident: $number:literal),*) => {$(
            impl AsRawFd for $type {
                fn as_raw_fd(&self) -> RawFd {
                    $number
                }
            }

            impl AsFd for $type {
                fn as_fd(&self) -> BorrowedFd<'_> {
                    // SAFETY: as `std` says of its own type, these are taken to be always open.
                    unsafe { BorrowedFd::borrow_raw($number) }
                }
            }
        )*};
    }

    descriptor!(Stdin: 0, Stdout: 1, Stderr: 2);
}

/// The beginning of `buf` that is written by one call.
///
/// A console of Windows takes text, so there a long text is not cut within a character. What is no
/// text is cut anywhere.
fn whole_characters(buf: &[u8]) -> &[u8] {
    let max = super::blocking::CALL_BYTES_MAX;
    if !cfg!(windows) || buf.len() <= max {
        return buf;
    }
    cut_between_characters(&buf[..max])
}

/// `buf` without the part of a character at its end, if it has one there.
fn cut_between_characters(buf: &[u8]) -> &[u8] {
    // A character has at most four bytes, so it began in the last three if it is not whole.
    let tail = buf.len().saturating_sub(3);
    match buf[tail..].iter().rposition(|&byte| byte >= 0b1100_0000) {
        Some(start) if std::str::from_utf8(&buf[tail + start..]).is_err() => &buf[..tail + start],
        _ => buf,
    }
}

#[cfg(test)]
mod tests {
    use super::cut_between_characters;

    #[test]
    fn a_text_is_cut_between_characters() {
        let text = "aé€𝄞z";
        for end in 0..=text.len() {
            let cut = cut_between_characters(&text.as_bytes()[..end]);
            let floor = (0..=end).rev().find(|&at| text.is_char_boundary(at)).unwrap();
            assert_eq!(cut, &text.as_bytes()[..floor], "of {end} bytes");
        }
    }

    #[test]
    fn what_is_no_text_is_cut_by_at_most_three_bytes() {
        for bytes in [&[0xff; 9][..], &[0x80; 9], &[0xc0; 9], &[0xf0, 0x80, 0x80]] {
            assert!(bytes.len() - cut_between_characters(bytes).len() <= 3, "{bytes:?}");
        }
    }
}
