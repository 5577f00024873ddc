//! Readers and writers that lie: they are noticed, and cause neither endless loops nor worse.

use parking_lot::Mutex;
use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use trefoil::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
    BufStream, BufWriter, ReadBuf, SimplexStream, copy, copy_bidirectional_with_sizes, copy_buf,
    duplex, join, simplex, split,
};

/// What a reader does with the buffer.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// Puts another one, of its own, into its place.
    Exchange,
    /// Puts an empty one into its place.
    Remove,
    /// Makes the filled part shorter.
    Shrink,
}

struct Liar(Lie);

/// Memory for good, which the sanitizer does not take for lost.
fn leaked() -> &'static mut [u8] {
    static LEAKED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let bytes = Box::leak(vec![7; 64].into_boxed_slice());
    LEAKED.lock().push(bytes.as_ptr().expose_provenance());
    bytes
}

impl AsyncRead for Liar {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.0 {
            Lie::Exchange => {
                let mut other = ReadBuf::new(leaked());
                other.set_filled(64);
                *buf = other;
            }
            Lie::Remove => *buf = ReadBuf::new(&mut []),
            Lie::Shrink => {
                buf.put_slice(b"x");
                buf.clear();
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Polls to the end; what never waits needs no runtime.
fn run<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits, and nobody would wake it"),
    }
}

fn panics<R>(f: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn a_reader_that_exchanges_the_buffer_is_noticed_by_every_caller() {
    for lie in [Lie::Exchange, Lie::Remove] {
        let liar = || Liar(lie);
        assert!(panics(|| run(liar().read(&mut [0; 4]))), "{lie:?}");
        assert!(panics(|| run(liar().read_exact(&mut [0; 4]))), "{lie:?}");
        assert!(panics(|| run(liar().read_u32())), "{lie:?}");
        assert!(panics(|| run(liar().read_buf(&mut Vec::new()))), "{lie:?}");
        assert!(panics(|| run(liar().read_to_end(&mut Vec::new()))), "{lie:?}");
        assert!(panics(|| run(liar().read_to_end(&mut Vec::with_capacity(40)))), "{lie:?}");
        assert!(panics(|| run(liar().read_to_string(&mut String::new()))), "{lie:?}");
        assert!(panics(|| run(liar().take(3).read_buf(&mut Vec::new()))), "{lie:?}");
        assert!(panics(|| run(liar().chain(&b""[..]).read(&mut [0; 4]))), "{lie:?}");
        assert!(panics(|| run(BufReader::new(liar()).fill_buf().map(drop_slice))), "{lie:?}");
        assert!(panics(|| run(copy(&mut liar(), &mut Vec::new()))), "{lie:?}");
        let mut full = Vec::with_capacity(32);
        full.extend([1; 32]);
        assert!(panics(|| run(liar().read_to_end(&mut full))), "{lie:?}");
        assert_eq!(full, [1; 32], "what was there before is untouched");
    }
}

/// So that the future borrows nothing that is dropped.
trait MapOutput: Future + Sized {
    async fn map<R>(self, f: impl FnOnce(Self::Output) -> R) -> R {
        f(self.await)
    }
}

impl<F: Future> MapOutput for F {}

fn drop_slice(slice: io::Result<&[u8]>) -> usize {
    slice.map_or(0, <[u8]>::len)
}

#[test]
fn a_reader_that_makes_the_filled_part_shorter_is_noticed_or_harmless() {
    // At the beginning of a buffer, it is a reader at its end.
    let mut text = String::from("kept");
    assert_eq!(run(Liar(Lie::Shrink).read_to_string(&mut text)).unwrap(), 0);
    assert_eq!(text, "kept");
    // Behind what is there already, it would take that away.
    let mut storage = [0; 4];
    let mut buf = ReadBuf::new(&mut storage);
    buf.put_slice(b"a");
    let mut reader = Liar(Lie::Shrink).chain(&b"rest"[..]);
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(panics(|| Pin::new(&mut reader).poll_read(cx, &mut buf)));
}

/// Says that it has written a number of bytes, whatever it was given.
struct Boaster(usize);

impl AsyncWrite for Boaster {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(self.0))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn a_writer_that_claims_too_much_is_noticed_by_every_caller() {
    for claim in [5, usize::MAX] {
        assert!(panics(|| run(Boaster(claim).write_all(b"four"))));
        assert!(panics(|| run(Boaster(claim).write_u32(4))));
        assert!(panics(|| run(Boaster(claim).write_buf(&mut &b"four"[..]))));
        assert!(panics(|| run(Boaster(claim).write_all_buf(&mut &b"four"[..]))));
        assert!(panics(|| run(copy(&mut &b"four"[..], &mut Boaster(claim)))));
        assert!(panics(|| run(copy_buf(&mut &b"four"[..], &mut Boaster(claim)))));
        let mut writer = BufWriter::new(Boaster(claim));
        run(writer.write_all(b"four")).unwrap();
        assert!(panics(|| run(writer.flush())));
    }
}

#[test]
fn a_writer_that_takes_nothing_is_an_error_and_no_endless_loop() {
    let mut zero = Boaster(0);
    let kinds = [
        run(zero.write_all(b"x")).unwrap_err().kind(),
        run(zero.write_u16(1)).unwrap_err().kind(),
        run(zero.write_all_buf(&mut &b"x"[..])).unwrap_err().kind(),
        run(copy(&mut &b"x"[..], &mut zero)).unwrap_err().kind(),
        run(copy_buf(&mut &b"x"[..], &mut zero)).unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::WriteZero; 5]);
    let mut writer = BufWriter::new(zero);
    run(writer.write_all(b"x")).unwrap();
    assert_eq!(run(writer.flush()).unwrap_err().kind(), ErrorKind::WriteZero);
    assert_eq!(writer.buffer(), b"x", "it is still there");
    // Nothing was asked for, so nothing is no error.
    assert_eq!(run(writer.get_mut().write_all(b"")).ok(), Some(()));
    assert_eq!(run(writer.get_mut().write(b"x")).unwrap(), 0);
}

#[test]
fn a_reader_at_its_end_too_early_is_an_error_and_no_endless_loop() {
    assert_eq!(run((&b"abc"[..]).read_u32()).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    let error = run((&b"abc"[..]).read_exact(&mut [0; 4])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
    assert_eq!(run((&b""[..]).read_exact(&mut [])).unwrap(), 0);
}

#[test]
fn buffers_of_no_bytes_work_or_say_that_they_cannot() {
    // A reader without a buffer would say that it has ended, and a pipe without room never moves.
    assert!(panics(|| drop(BufReader::with_capacity(0, &b"abc"[..]))));
    assert!(panics(|| drop(BufStream::with_capacity(0, 1, io::Cursor::new(Vec::new())))));
    assert!(panics(|| drop(duplex(0))));
    assert!(panics(|| drop(simplex(0))));
    assert!(panics(|| drop(SimplexStream::new_unsplit(0))));
    let mut writer = BufWriter::with_capacity(0, Vec::new());
    run(writer.write_all(b"abc")).unwrap();
    assert_eq!(run(writer.write_vectored(&[IoSlice::new(b""), IoSlice::new(b"de")])).unwrap(), 2);
    assert_eq!(writer.into_inner(), b"abcde");
    let (mut a, mut b) = (join(&b"to b"[..], Vec::new()), join(&b"to a!"[..], Vec::new()));
    assert!(panics(|| run(copy_bidirectional_with_sizes(&mut a, &mut b, 0, 1))));
    assert!(panics(|| run(copy_bidirectional_with_sizes(&mut a, &mut b, 1, 0))));
    assert_eq!(run(copy_bidirectional_with_sizes(&mut a, &mut b, 1, 1)).unwrap(), (4, 5));
    assert_eq!((&a.writer()[..], &b.writer()[..]), (&b"to a!"[..], &b"to b"[..]));
}

#[test]
fn consuming_more_than_there_is_takes_no_more_than_there_is() {
    let mut reader = BufReader::new(&b"abc"[..]);
    assert_eq!(run(reader.fill_buf()).unwrap(), b"abc");
    Pin::new(&mut reader).consume(usize::MAX);
    assert_eq!(reader.buffer(), b"");
    let mut few = BufReader::new(&b"abcdef"[..]).take(2);
    assert_eq!(run(few.fill_buf()).unwrap(), b"ab");
    few.consume(usize::MAX);
    assert_eq!((few.limit(), few.get_ref().buffer()), (0, &b"cdef"[..]));
}

#[test]
fn a_stream_that_panics_leaves_its_halves_usable() {
    struct Once(bool);
    impl AsyncRead for Once {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            assert!(std::mem::replace(&mut self.0, true), "the first time");
            Poll::Ready(Ok(()))
        }
    }
    let (mut reader, mut writer) = split(join(Once(false), Vec::new()));
    assert!(panics(|| run(reader.read(&mut [0]))));
    run(writer.write_all(b"x")).unwrap();
    assert_eq!(run(reader.read(&mut [0])).unwrap(), 0);
    assert_eq!(reader.unsplit(writer).into_inner().1, b"x");
}

#[test]
fn a_waker_that_panics_harms_neither_its_peer_nor_the_bytes() {
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: std::sync::Arc<Self>) {
            panic!("a waker");
        }
    }
    let waker = Waker::from(std::sync::Arc::new(Panics));
    let (mut near, mut far) = duplex(4);
    assert!(pin!(far.read(&mut [0])).poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(run(near.write(b"ab")).unwrap(), 2);
    let mut two = [0; 2];
    run(far.read_exact(&mut two)).unwrap();
    assert_eq!(&two, b"ab");
    assert!(pin!(far.read(&mut [0])).poll(&mut Context::from_waker(&waker)).is_pending());
    drop(near);
    assert_eq!(run(far.read(&mut [0])).unwrap(), 0);
}

/// A signal interrupts every other call, and no call moves more than one byte.
struct Interrupted<T>(T, bool);

impl<T> Interrupted<T> {
    fn call(&mut self) -> io::Result<()> {
        self.1 = !self.1;
        if self.1 { Err(ErrorKind::Interrupted.into()) } else { Ok(()) }
    }
}

impl AsyncRead for Interrupted<&[u8]> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.call()?;
        if let Some((first, rest)) = self.0.split_first() {
            buf.put_slice(&[*first]);
            self.0 = rest;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncBufRead for Interrupted<&[u8]> {
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        this.call()?;
        Poll::Ready(Ok(&this.0[..this.0.len().min(1)]))
    }

    fn consume(mut self: Pin<&mut Self>, amount: usize) {
        self.0 = &self.0[amount..];
    }
}

impl AsyncWrite for Interrupted<Vec<u8>> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.call()?;
        self.0.extend(buf.first());
        Poll::Ready(Ok(buf.len().min(1)))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn what_makes_several_calls_makes_those_again_that_were_interrupted() {
    let reader = || Interrupted(&b"line\nrest"[..], false);
    let writer = || Interrupted(Vec::new(), false);
    let mut four = [0; 4];
    assert_eq!(run(reader().read_exact(&mut four)).unwrap(), 4);
    assert_eq!(run(reader().read_u32()).unwrap(), u32::from_be_bytes(four));
    let mut all = Vec::new();
    assert_eq!(run(reader().read_to_end(&mut all)).unwrap(), 9);
    let mut text = String::new();
    assert_eq!(run(reader().read_to_string(&mut text)).unwrap(), 9);
    let mut line = String::new();
    assert_eq!(run(reader().read_line(&mut line)).unwrap(), 5);
    assert_eq!((&all[..], &text[..], &line[..]), (&b"line\nrest"[..], "line\nrest", "line\n"));

    let mut to = writer();
    run(to.write_all(b"ab")).unwrap();
    run(to.write_u16(0x6364)).unwrap();
    run(to.write_all_buf(&mut &b"ef"[..])).unwrap();
    assert_eq!(to.0, b"abcdef");
    let mut to = writer();
    assert_eq!(run(copy(&mut reader(), &mut to)).unwrap(), 9);
    assert_eq!(run(copy_buf(&mut reader(), &mut to)).unwrap(), 9);
    assert_eq!(to.0, b"line\nrestline\nrest");
    let mut to = BufWriter::new(writer());
    run(to.write_all(b"abc")).unwrap();
    run(to.flush()).unwrap();
    assert_eq!(to.into_inner().0, b"abc");
    let (mut a, mut b) = (join(reader(), writer()), join(reader(), writer()));
    assert_eq!(run(copy_bidirectional_with_sizes(&mut a, &mut b, 2, 1)).unwrap(), (9, 9));

    // What makes one call leaves that to its caller.
    assert_eq!(run(reader().read(&mut four)).unwrap_err().kind(), ErrorKind::Interrupted);
    assert_eq!(run(writer().write(b"x")).unwrap_err().kind(), ErrorKind::Interrupted);
}

#[test]
fn text_that_is_not_utf_8_is_refused_with_what_std_says() {
    let bytes = b"ok\n\xff\xfe\r\nnext\n";
    let mut lines = bytes.as_slice().lines();
    assert_eq!(run(lines.next_line()).unwrap().unwrap(), "ok");
    let error = run(lines.next_line()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let inner = error.into_inner().unwrap().downcast::<std::string::FromUtf8Error>().unwrap();
    assert_eq!(inner.as_bytes(), b"\xff\xfe");
    assert_eq!(run(lines.next_line()).unwrap().unwrap(), "next");
    let mut text = String::from("abc");
    let error = run(bytes.as_slice().read_to_string(&mut text)).unwrap_err();
    assert_eq!(text, "abc");
    let of_std = std::io::Read::read_to_string(&mut bytes.as_slice(), &mut text).unwrap_err();
    assert_eq!((error.kind(), error.to_string()), (of_std.kind(), of_std.to_string()));
    let error = run(bytes[3..].as_ref().read_line(&mut text)).unwrap_err();
    assert_eq!((error.to_string(), text), (of_std.to_string(), "abc".into()));
}
