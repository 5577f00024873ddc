//! `ReadBuf`: a buffer that is filled from its front, and of which only a part is initialized.

use bytes::BufMut;
use bytes::buf::UninitSlice;
use std::fmt;
use std::mem::MaybeUninit;

/// A buffer that a reader fills from its front.
///
/// ```text
/// [             capacity              ]
/// [ filled |         unfilled         ]
/// [    initialized    | uninitialized ]
/// ```
///
/// The filled part holds what was read. The initialized part covers it and may be longer, so that
/// a reader which needs a `&mut [u8]` does not clear the same bytes twice.
///
/// ```
/// use trefoil::io::ReadBuf;
///
/// let mut storage = [0; 4];
/// let mut buf = ReadBuf::new(&mut storage);
/// buf.put_slice(b"abc");
/// assert_eq!((buf.filled(), buf.remaining()), (&b"abc"[..], 1));
/// ```
pub struct ReadBuf<'a> {
    buf: &'a mut [MaybeUninit<u8>],
    /// At most `initialized`.
    filled: usize,
    /// At most the length of `buf`. The bytes before this index are initialized.
    initialized: usize,
}

impl<'a> ReadBuf<'a> {
    /// A buffer over initialized memory.
    #[inline]
    pub fn new(buf: &'a mut [u8]) -> Self {
        let initialized = buf.len();
        // A shared `MaybeUninit` slice would be no weaker, but this one is exclusive: it must not
        // let anybody write uninitialized bytes into memory that the caller takes back as `u8`s.
        // SAFETY: both types have one layout. Nothing below `initialized` is ever made
        // uninitialized: the methods that give access to it as `MaybeUninit` are unsafe, and their
        // callers promise that.
        let buf = unsafe { &mut *(std::ptr::from_mut(buf) as *mut [MaybeUninit<u8>]) };
        Self { buf, filled: 0, initialized }
    }

    /// A buffer over memory of which nothing is known to be initialized. Use
    /// [`assume_init`](Self::assume_init) for a part that is.
    #[inline]
    pub fn uninit(buf: &'a mut [MaybeUninit<u8>]) -> Self {
        Self { buf, filled: 0, initialized: 0 }
    }

    /// The length of the whole buffer.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.buf.len()
    }

    /// What was read.
    #[inline]
    pub fn filled(&self) -> &[u8] {
        // SAFETY: `filled` is at most `initialized`, and so is in bounds and initialized.
        unsafe { init_ref(&self.buf[..self.filled]) }
    }

    /// What was read, mutably.
    #[inline]
    pub fn filled_mut(&mut self) -> &mut [u8] {
        // SAFETY: `filled` is at most `initialized`, and so is in bounds and initialized.
        unsafe { init_mut(&mut self.buf[..self.filled]) }
    }

    /// A new buffer over the first `n` unfilled bytes, or over all of them if there are fewer.
    ///
    /// This buffer does not learn what is done to the new one: call
    /// [`assume_init`](Self::assume_init) and [`advance`](Self::advance) afterwards.
    #[inline]
    pub fn take(&mut self, n: usize) -> ReadBuf<'_> {
        let max = self.remaining().min(n);
        let initialized = (self.initialized - self.filled).min(max);
        let buf = &mut self.buf[self.filled..self.filled + max];
        // The bytes that are initialized here stay so: the new buffer can only have them written.
        ReadBuf { buf, filled: 0, initialized }
    }

    /// The initialized part, of which the filled part is the beginning.
    #[inline]
    pub fn initialized(&self) -> &[u8] {
        // SAFETY: the bytes before `initialized` are initialized.
        unsafe { init_ref(&self.buf[..self.initialized]) }
    }

    /// The initialized part, mutably.
    #[inline]
    pub fn initialized_mut(&mut self) -> &mut [u8] {
        // SAFETY: the bytes before `initialized` are initialized.
        unsafe { init_mut(&mut self.buf[..self.initialized]) }
    }

    /// The whole buffer.
    ///
    /// # Safety
    /// The caller makes no byte of the initialized part uninitialized.
    #[inline]
    pub unsafe fn inner_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        self.buf
    }

    /// The unfilled part.
    ///
    /// # Safety
    /// The caller makes no byte of the initialized part uninitialized.
    #[inline]
    pub unsafe fn unfilled_mut(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.buf[self.filled..]
    }

    /// The unfilled part. What of it is not initialized is filled with zeros first.
    #[inline]
    pub fn initialize_unfilled(&mut self) -> &mut [u8] {
        self.initialize_unfilled_to(self.remaining())
    }

    /// The first `n` unfilled bytes. What of them is not initialized is filled with zeros first.
    ///
    /// # Panics
    /// If fewer than `n` bytes are unfilled.
    #[inline]
    #[track_caller]
    pub fn initialize_unfilled_to(&mut self, n: usize) -> &mut [u8] {
        assert!(self.remaining() >= n, "n overflows remaining");
        let end = self.filled + n;
        if self.initialized < end {
            self.buf[self.initialized..end].fill(MaybeUninit::new(0));
            self.initialized = end;
        }
        // SAFETY: the bytes before `initialized`, which is `end` or more, are initialized.
        unsafe { init_mut(&mut self.buf[self.filled..end]) }
    }

    /// The length of the unfilled part.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.buf.len() - self.filled
    }

    /// Makes the filled part empty. The initialized part stays what it is.
    #[inline]
    pub fn clear(&mut self) {
        self.filled = 0;
    }

    /// Makes the filled part longer by `n` bytes, which are initialized already.
    ///
    /// # Panics
    /// If the filled part would become longer than the initialized one.
    #[inline]
    #[track_caller]
    pub fn advance(&mut self, n: usize) {
        let filled = self.filled.checked_add(n).expect("filled overflow");
        self.set_filled(filled);
    }

    /// Sets the length of the filled part, which may become shorter.
    ///
    /// # Panics
    /// If the filled part would become longer than the initialized one.
    #[inline]
    #[track_caller]
    pub fn set_filled(&mut self, n: usize) {
        assert!(n <= self.initialized, "filled must not become larger than initialized");
        self.filled = n;
    }

    /// Says that the first `n` unfilled bytes are initialized. It never makes the initialized part
    /// shorter.
    ///
    /// # Safety
    /// They are, and there are as many.
    #[inline]
    pub unsafe fn assume_init(&mut self, n: usize) {
        let end = self.filled + n;
        debug_assert!(end <= self.buf.len(), "{n} bytes do not fit behind {}", self.filled);
        self.initialized = self.initialized.max(end);
    }

    /// Appends bytes to the filled part.
    ///
    /// # Panics
    /// If they do not fit into the unfilled part.
    #[inline]
    #[track_caller]
    pub fn put_slice(&mut self, bytes: &[u8]) {
        assert!(
            self.remaining() >= bytes.len(),
            "buf.len() must fit in remaining(); buf.len() = {}, remaining() = {}",
            bytes.len(),
            self.remaining()
        );
        let end = self.filled + bytes.len();
        self.buf[self.filled..end].write_copy_of_slice(bytes);
        self.initialized = self.initialized.max(end);
        self.filled = end;
    }
}

/// # Safety
/// All bytes are initialized.
#[inline]
unsafe fn init_ref(bytes: &[MaybeUninit<u8>]) -> &[u8] {
    // SAFETY: one layout; the caller promises that the bytes are initialized.
    unsafe { &*(std::ptr::from_ref(bytes) as *const [u8]) }
}

/// # Safety
/// All bytes are initialized.
#[inline]
unsafe fn init_mut(bytes: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    // SAFETY: one layout; the caller promises that the bytes are initialized, and a `u8` that is
    // written through the reference is.
    unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [u8]) }
}

// SAFETY: `remaining_mut` and `chunk_mut` speak of the unfilled part alone, and `advance_mut` moves
// its beginning by what its caller promises to have initialized, checked against the capacity.
unsafe impl BufMut for ReadBuf<'_> {
    #[inline]
    fn remaining_mut(&self) -> usize {
        self.remaining()
    }

    // SAFETY: the trait's contract is checked below.
    #[inline]
    unsafe fn advance_mut(&mut self, cnt: usize) {
        assert!(cnt <= self.remaining(), "advance_mut past the end of the buffer");
        // SAFETY: the caller promises that these bytes are initialized, and they fit.
        unsafe { self.assume_init(cnt) };
        self.filled += cnt;
    }

    #[inline]
    fn chunk_mut(&mut self) -> &mut UninitSlice {
        UninitSlice::uninit(&mut self.buf[self.filled..])
    }
}

impl fmt::Debug for ReadBuf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadBuf")
            .field("filled", &self.filled)
            .field("initialized", &self.initialized)
            .field("capacity", &self.capacity())
            .finish()
    }
}
