//! Random programs of calls, against plain models.

use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, BufRead, Cursor, IoSlice, Read, Seek, SeekFrom, Write};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use trefoil::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncSeekExt, AsyncWrite, AsyncWriteExt,
    BufReader, BufStream, BufWriter, ReadBuf, copy, duplex,
};

/// A generator of pseudo-random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end
    }

    fn bytes(&mut self, max: usize) -> Vec<u8> {
        (0..self.below(max + 1)).map(|_| self.below(256) as u8).collect()
    }

    fn seek(&mut self, len: usize) -> SeekFrom {
        match self.below(3) {
            0 => SeekFrom::Start(self.below(len + 5) as u64),
            1 => SeekFrom::End(-(self.below(len + 1) as i64)),
            _ => SeekFrom::Current(self.below(20) as i64 - 10),
        }
    }
}

/// Polls until it is done: what waits here is ready the next time.
fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    for _ in 0..100_000 {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
    panic!("it is never done");
}

/// A cursor that waits now and then, and moves fewer bytes than it could.
struct Unsteady<T> {
    inner: T,
    random: Random,
}

impl<T> Unsteady<T> {
    fn most(&mut self) -> Poll<usize> {
        if self.random.below(3) == 0 {
            Poll::Pending
        } else {
            Poll::Ready(1 + self.random.below(9))
        }
    }
}

impl<T: Read + Unpin> AsyncRead for Unsteady<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = std::task::ready!(self.most()).min(buf.remaining());
        let read = self.inner.read(buf.initialize_unfilled_to(most))?;
        buf.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl<T: Write + Unpin> AsyncWrite for Unsteady<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let most = std::task::ready!(self.most()).min(buf.len());
        Poll::Ready(self.inner.write(&buf[..most]))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.most().map(|_| Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.most().map(|_| Ok(()))
    }
}

impl<T: Seek + Unpin> AsyncSeek for Unsteady<T> {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        self.inner.seek(position).map(drop)
    }

    fn poll_complete(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u64>> {
        std::task::ready!(self.most());
        Poll::Ready(self.inner.stream_position())
    }
}

const ROUNDS: u64 = if cfg!(miri) { 3 } else { 300 };

#[test]
fn a_read_buf_is_a_vector_with_a_mark() {
    for seed in 1..=ROUNDS {
        let random = &mut Random(seed);
        let mut storage = vec![std::mem::MaybeUninit::uninit(); random.below(20)];
        let capacity = storage.len();
        let mut buf = ReadBuf::uninit(&mut storage);
        let (mut filled, mut initialized) = (Vec::<u8>::new(), 0);
        for _ in 0..20 {
            match random.below(5) {
                0 => {
                    let bytes = random.bytes(capacity - filled.len());
                    buf.put_slice(&bytes);
                    filled.extend(bytes);
                }
                1 => {
                    let n = random.below(capacity - filled.len() + 1);
                    let unfilled = buf.initialize_unfilled_to(n);
                    unfilled.fill(7);
                    initialized = initialized.max(filled.len() + n);
                    let advanced = random.below(n + 1);
                    buf.advance(advanced);
                    filled.extend(vec![7; advanced]);
                }
                2 => {
                    let n = random.below(filled.len() + 1);
                    buf.set_filled(n);
                    filled.truncate(n);
                }
                3 => {
                    let mut part = buf.take(3);
                    part.initialize_unfilled().fill(9);
                    let n = part.capacity();
                    assert_eq!(n, 3.min(capacity - filled.len()));
                    // SAFETY: the part has initialized them.
                    unsafe { buf.assume_init(n) };
                    buf.advance(n);
                    filled.extend(vec![9; n]);
                }
                _ => {
                    buf.clear();
                    filled.clear();
                }
            }
            initialized = initialized.max(filled.len());
            assert_eq!((buf.filled(), buf.filled().len()), (&filled[..], filled.len()));
            assert_eq!(buf.initialized().len(), initialized);
            assert_eq!((buf.capacity(), buf.remaining()), (capacity, capacity - filled.len()));
        }
    }
}

#[test]
fn a_buffered_reader_reads_what_that_of_std_reads() {
    for seed in 1..=ROUNDS {
        let random = &mut Random(seed);
        let data = random.bytes(100);
        let capacity = 1 + random.below(20);
        let inner = Unsteady { inner: Cursor::new(data.clone()), random: Random(seed + 1) };
        let mut reader = BufReader::with_capacity(capacity, inner);
        let mut model = Cursor::new(data.clone());
        for _ in 0..30 {
            match random.below(4) {
                0 => {
                    let mut bytes = vec![0; random.below(30)];
                    let read = run(reader.read(&mut bytes)).unwrap();
                    let mut expected = vec![0; read];
                    Read::read_exact(&mut model, &mut expected).unwrap();
                    assert_eq!(&bytes[..read], expected);
                    let is_over = model.position() >= data.len() as u64;
                    assert!(read > 0 || bytes.is_empty() || is_over, "seed {seed}");
                }
                1 => {
                    let (mut bytes, mut expected) = (Vec::new(), Vec::new());
                    let read = run(reader.read_until(0, &mut bytes)).unwrap();
                    assert_eq!(BufRead::read_until(&mut model, 0, &mut expected).unwrap(), read);
                    assert_eq!(bytes, expected, "seed {seed}");
                }
                2 => {
                    let shown = run(reader.fill_buf()).unwrap();
                    assert!(shown.len() <= capacity);
                    let consumed = random.below(shown.len() + 1);
                    assert_eq!(
                        BufRead::fill_buf(&mut model).unwrap()[..consumed],
                        shown[..consumed]
                    );
                    reader.consume(consumed);
                    BufRead::consume(&mut model, consumed);
                }
                _ => {
                    let position = random.seek(data.len());
                    let moved = run(reader.seek(position));
                    let expected = Seek::seek(&mut model, position);
                    assert_eq!(moved.ok(), expected.ok(), "seed {seed}: {position:?}");
                }
            }
            assert_eq!(run(reader.stream_position()).unwrap(), model.position(), "seed {seed}");
        }
    }
}

#[test]
fn a_buffered_writer_and_a_stream_write_what_was_written() {
    for seed in 1..=ROUNDS {
        let random = &mut Random(seed);
        let capacity = random.below(20);
        let new = || Unsteady { inner: Cursor::new(Vec::new()), random: Random(seed + 1) };
        let mut writer = BufWriter::with_capacity(capacity, new());
        let mut stream = BufStream::with_capacity(capacity + 1, capacity, new());
        let mut model = Cursor::new(Vec::new());
        for _ in 0..30 {
            match random.below(4) {
                0 => {
                    let bytes = random.bytes(40);
                    run(writer.write_all(&bytes)).unwrap();
                    run(stream.write_all(&bytes)).unwrap();
                    Write::write_all(&mut model, &bytes).unwrap();
                }
                1 => {
                    let parts: Vec<_> = (0..random.below(4)).map(|_| random.bytes(9)).collect();
                    let slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
                    let written = run(writer.write_vectored(&slices)).unwrap();
                    let all = parts.concat();
                    assert!(written > 0 || all.is_empty(), "seed {seed}");
                    run(stream.write_all(&all[..written])).unwrap();
                    Write::write_all(&mut model, &all[..written]).unwrap();
                }
                2 => {
                    run(writer.flush()).unwrap();
                    assert_eq!(writer.get_ref().inner.get_ref(), model.get_ref());
                }
                _ => {
                    let position = SeekFrom::Start(random.below(model.get_ref().len() + 1) as u64);
                    let expected = Seek::seek(&mut model, position).unwrap();
                    assert_eq!(run(writer.seek(position)).unwrap(), expected);
                    assert_eq!(run(stream.seek(position)).unwrap(), expected);
                }
            }
        }
        run(writer.shutdown()).unwrap();
        run(stream.flush()).unwrap();
        assert_eq!(writer.get_ref().inner.get_ref(), model.get_ref(), "seed {seed}");
        assert_eq!(stream.get_ref().inner.get_ref(), model.get_ref(), "seed {seed}");
        // And what was written is read again by the same stream.
        run(stream.rewind()).unwrap();
        let mut all = Vec::new();
        run(stream.read_to_end(&mut all)).unwrap();
        assert_eq!(all, *model.get_ref(), "seed {seed}");
    }
}

#[test]
fn copies_chains_and_parts_are_the_bytes_themselves() {
    for seed in 1..=ROUNDS {
        let random = &mut Random(seed);
        let (first, second) = (random.bytes(300), random.bytes(300));
        let limit = random.below(700);
        let new = |bytes: &[u8], seed| Unsteady {
            inner: Cursor::new(bytes.to_vec()),
            random: Random(seed),
        };
        let chain = new(&first, seed + 1).chain(new(&second, seed + 2));
        let mut reader = chain.take(limit as u64);
        let mut writer = new(&[], seed + 3);
        let copied = run(copy(&mut reader, &mut writer)).unwrap();
        let all = [first, second].concat();
        let expected = &all[..limit.min(all.len())];
        assert_eq!(writer.inner.get_ref(), expected, "seed {seed}");
        assert_eq!(copied, expected.len() as u64);
        assert_eq!(reader.limit(), (limit - expected.len()) as u64);

        let mut buf = Vec::with_capacity(random.below(64));
        let before = random.bytes(10);
        buf.extend(&before);
        let mut reader = new(&all, seed + 4);
        assert_eq!(run(reader.read_to_end(&mut buf)).unwrap(), all.len());
        assert_eq!(buf, [before, all].concat(), "seed {seed}");
    }
}

#[test]
fn a_pipe_is_a_queue_of_bytes_with_an_end() {
    for seed in 1..=ROUNDS {
        let random = &mut Random(seed);
        let max = 1 + random.below(20);
        let (near, far) = duplex(max);
        let (mut near, mut far) = (Some(near), far);
        let mut model = VecDeque::new();
        let cx = &mut Context::from_waker(Waker::noop());
        for _ in 0..60 {
            match random.below(12) {
                0..6 => {
                    let parts = [random.bytes(5), random.bytes(5)];
                    let Some(near) = &mut near else { continue };
                    let slices = parts.each_ref().map(|part| IoSlice::new(part));
                    let all = parts.concat();
                    let expected = all.len().min(max - model.len());
                    match Pin::new(near).poll_write_vectored(cx, &slices) {
                        Poll::Ready(written) => assert_eq!(written.unwrap(), expected),
                        Poll::Pending => assert!(expected == 0 && !all.is_empty()),
                    }
                    model.extend(&all[..expected]);
                }
                11 if random.below(5) == 0 => near = None,
                _ => {
                    let mut storage = vec![0; random.below(12)];
                    let mut buf = ReadBuf::new(&mut storage);
                    let polled = Pin::new(&mut far).poll_read(cx, &mut buf);
                    let expected = buf.capacity().min(model.len());
                    let expected: Vec<u8> = model.drain(..expected).collect();
                    assert_eq!(buf.filled(), expected, "seed {seed}");
                    let waits = expected.is_empty() && buf.capacity() > 0 && near.is_some();
                    assert_eq!(polled.is_pending(), waits, "seed {seed}");
                }
            }
        }
    }
}
