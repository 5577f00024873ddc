//! The ground floor: atomics, threads, locks and cells, and what is made of them alone.
//!
//! Everything in this file is either `std`'s or, under `--cfg loom`, loom's model of it. Under
//! `--cfg trefoil_tsan`, which `cargo xtask tsan` sets, locks and threads tell ThreadSanitizer what
//! it cannot see inside of an uninstrumented `std`. No other module names `std::sync::atomic`,
//! `std::thread` or `std::cell::UnsafeCell`, so loom checks the code that runs.

pub(crate) mod abort;
#[cfg(all(test, not(loom)))]
mod fence_tests;
pub(crate) mod parker;
#[cfg(all(trefoil_tsan, not(loom)))]
mod tsan;

#[cfg(not(loom))]
pub(crate) mod atomic {
    pub(crate) use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };

    /// Completes a full fence whose expensive half is the read-modify-write that comes just before
    /// it in program order.
    ///
    /// That RMW must be `AcqRel` or stronger: an RMW that only releases, and whose result nobody
    /// uses, may be compiled to a plain store.
    ///
    /// On all machines except x86-64, and under loom and Miri, this is `fence(SeqCst)`. On x86-64,
    /// it is only the compiler's half of that fence. The argument for the machine's half follows.
    ///
    /// - *The machine.* An atomic RMW is a `lock`ed instruction, or `xchg`,
    ///   which is one by nature. In x86-TSO, the model that Intel's and AMD's
    ///   manuals promise, it starts only when the processor's store buffer is
    ///   empty, and its own store never enters the buffer. The only reordering
    ///   of the model is that of a store with a later load, by way of that
    ///   buffer. So no load that follows the RMW in the code is satisfied before
    ///   all earlier stores are visible, the RMW's among them: what `mfence`
    ///   gives, and compilers use a `lock`ed instruction in its stead.
    /// - *What x86-TSO leaves out.* Non-temporal stores, and accesses to memory
    ///   that is not cached normally, are not in that order. No atomic access is
    ///   compiled to one. A `memcpy` may be, but then it is followed by its own
    ///   `sfence`, and the manuals promise that `lock`ed instructions wait for
    ///   such stores, too.
    /// - *The compiler.* Acquire already forbids it to move a later access above
    ///   the RMW, and Release an earlier one below it. `compiler_fence(SeqCst)`
    ///   forbids it to move any access, atomic or not, across this point, and so
    ///   says what is meant where an RMW is all that stands there. An RMW of
    ///   both orders is neither dropped nor made a store, since another thread
    ///   may synchronise with either half.
    /// - *The language.* It does not say this. An `AcqRel` RMW and a compiler
    ///   fence are no SeqCst fence in it, and in theory all threads together may
    ///   see two of them in no common order. So this rests on what the compiler
    ///   emits: a full fence is what every path through the machine code has,
    ///   which `fence_tests` looks at in the code and in what threads see. A
    ///   proof written for `fence(SeqCst)` then holds for the machine's
    ///   execution, in which both kinds of fences drain the store buffer and
    ///   stand in one order.
    #[inline(always)]
    pub(crate) fn fence_after_rmw() {
        // Miri shows what the language allows and the machine does not.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        std::sync::atomic::compiler_fence(SeqCst);
        #[cfg(any(not(target_arch = "x86_64"), miri))]
        fence(SeqCst);
    }
}

#[cfg(loom)]
pub(crate) mod atomic {
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
    };
    pub(crate) use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

    #[inline(always)]
    pub(crate) fn fence_after_rmw() {
        fence(SeqCst);
    }
}

#[cfg(not(loom))]
pub(crate) mod cell {
    /// `std`'s cell with loom's closures, which mark where an access begins
    /// and ends.
    #[derive(Debug, Default)]
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        #[inline(always)]
        pub(crate) const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(crate) fn into_inner(self) -> T {
            self.0.into_inner()
        }
    }

    impl<T: ?Sized> UnsafeCell<T> {
        /// A read: no `with_mut` may overlap with it.
        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// A write: nothing may overlap with it.
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

#[cfg(loom)]
pub(crate) mod cell {
    pub(crate) use loom::cell::UnsafeCell;
}

pub(crate) use cell::UnsafeCell;

#[cfg(loom)]
pub(crate) use loom::hint::spin_loop as spin_hint;
#[cfg(not(loom))]
pub(crate) use std::hint::spin_loop as spin_hint;

#[cfg(not(any(loom, trefoil_tsan)))]
mod blocking {
    use std::time::Duration;

    /// `std`'s mutex without poisoning: no critical section of this crate runs
    /// foreign code, so none is left half done by a panic. (`io::split` does run it, and
    /// has nothing to leave half done.)
    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

    pub(crate) type MutexGuard<'a, T> = std::sync::MutexGuard<'a, T>;

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(std::sync::Mutex::new(value))
        }

        #[inline]
        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        pub(crate) fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        pub(crate) fn into_inner(self) -> T {
            self.0.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }

    /// `std`'s lock of many readers or one writer, without poisoning. It guards what users see of
    /// it as a lock, and so may run their code; a panic there leaves the value as it is.
    #[derive(Debug, Default)]
    pub(crate) struct RwLock<T>(std::sync::RwLock<T>);

    pub(crate) type RwLockReadGuard<'a, T> = std::sync::RwLockReadGuard<'a, T>;

    impl<T> RwLock<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(std::sync::RwLock::new(value))
        }

        #[inline]
        pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        #[inline]
        pub(crate) fn write(&self) -> std::sync::RwLockWriteGuard<'_, T> {
            self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner)
        }
    }

    /// `std`'s condition variable without poisoning.
    #[derive(Debug, Default)]
    pub(crate) struct Condvar(std::sync::Condvar);

    impl Condvar {
        pub(crate) const fn new() -> Self {
            Self(std::sync::Condvar::new())
        }

        pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
        }

        /// Returns the guard, and whether the wait has timed out.
        pub(crate) fn wait_timeout<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            timeout: Duration,
        ) -> (MutexGuard<'a, T>, bool) {
            let (guard, result) = self
                .0
                .wait_timeout(guard, timeout)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            (guard, result.timed_out())
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    pub(crate) mod thread {
        pub(crate) use crate::primitives::spawn_detached as spawn;
        pub(crate) use std::thread::{Thread, ThreadId, current, panicking, park, yield_now};
        use std::time::Duration;

        pub(crate) fn park_timeout(timeout: Duration) {
            std::thread::park_timeout(timeout);
        }

        pub(crate) fn own_id() -> ThreadId {
            current().id()
        }
    }
}

/// Starts a detached thread.
///
/// # Errors
/// The error of the system, if it cannot start a thread.
#[cfg(not(loom))]
pub(crate) fn spawn_detached(
    mut name: String,
    stack_bytes: Option<usize>,
    body: impl FnOnce() + Send + 'static,
) -> std::io::Result<()> {
    // The system's names end with it, and `std` panics.
    if let Some(end) = name.find('\0') {
        name.truncate(end);
    }
    let mut builder = std::thread::Builder::new().name(name);
    if let Some(bytes) = stack_bytes {
        builder = builder.stack_size(bytes);
    }
    builder.spawn(body).map(drop)
}

#[cfg(loom)]
mod blocking {
    use std::time::Duration;

    #[derive(Debug)]
    pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

    pub(crate) type MutexGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap()
        }

        pub(crate) fn get_mut(&mut self) -> &mut T {
            self.0.get_mut().unwrap()
        }

        pub(crate) fn into_inner(self) -> T {
            self.0.into_inner().unwrap()
        }
    }

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }

    #[derive(Debug)]
    pub(crate) struct RwLock<T>(loom::sync::RwLock<T>);

    pub(crate) type RwLockReadGuard<'a, T> = loom::sync::RwLockReadGuard<'a, T>;

    impl<T> RwLock<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(loom::sync::RwLock::new(value))
        }

        pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().unwrap()
        }

        pub(crate) fn write(&self) -> loom::sync::RwLockWriteGuard<'_, T> {
            self.0.write().unwrap()
        }
    }

    /// Loom has no clock. A timed wait does not end by itself; a model says when its time has come.
    #[derive(Debug)]
    pub(crate) struct Condvar(loom::sync::Condvar, std::sync::atomic::AtomicBool);

    impl Condvar {
        pub(crate) fn new() -> Self {
            Self(loom::sync::Condvar::new(), std::sync::atomic::AtomicBool::new(false))
        }

        /// Ends all timed waits, now and later.
        #[cfg(test)]
        pub(crate) fn expire(&self) {
            // Loom need not see it: it is part of the model, and orders nothing.
            self.1.store(true, std::sync::atomic::Ordering::Relaxed);
            self.0.notify_all();
        }

        pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
            self.0.wait(guard).unwrap()
        }

        pub(crate) fn wait_timeout<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            _timeout: Duration,
        ) -> (MutexGuard<'a, T>, bool) {
            let has_expired = || self.1.load(std::sync::atomic::Ordering::Relaxed);
            if has_expired() {
                return (guard, true);
            }
            let guard = self.wait(guard);
            (guard, has_expired())
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    pub(crate) mod thread {
        pub(crate) use loom::thread::{Thread, current, park, yield_now};
        pub(crate) use std::thread::{ThreadId, panicking};
        use std::time::Duration;

        /// All threads of a model are one thread of the system.
        pub(crate) fn own_id() -> ThreadId {
            std::thread::current().id()
        }

        /// Loom has no clock, so a timed wait does not end by itself.
        pub(crate) fn park_timeout(_timeout: Duration) {
            park();
        }

        pub(crate) fn spawn(
            _name: String,
            _stack_bytes: Option<usize>,
            body: impl FnOnce() + Send + 'static,
        ) -> std::io::Result<()> {
            loom::thread::spawn(body);
            Ok(())
        }
    }
}

#[cfg(any(loom, not(trefoil_tsan)))]
pub(crate) use blocking::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, thread};
#[cfg(all(trefoil_tsan, not(loom)))]
pub(crate) use tsan::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, thread};

/// A value on cache lines of its own. It is aligned to 128 bytes, because x86-64 fetches lines in
/// pairs, and some ARM cores have lines of that size.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct CachePadded<T>(pub(crate) T);

impl<T> std::ops::Deref for CachePadded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
