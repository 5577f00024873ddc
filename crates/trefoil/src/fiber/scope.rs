//! `scope`: fibers that borrow from outside.
//!
//! # Why the borrows hold
//!
//! A fiber of a scope has borrowed for `'scope`, which ends when `scope` returns or unwinds. So it
//! must have ended by then: its closure, and all that is on its stack, were dropped. `End` says so.
//! It is a part of the future of the fiber's task, behind what has borrowed, and so is dropped
//! after it: when the fiber has returned or panicked, was aborted, or was refused because the
//! runtime has shut down.
//!
//! `scope` leaves its frame in no other way than through `Owner::wait`, which returns when there is
//! no `End` any more:
//!
//! - A panic of the closure is caught before.
//! - In `Owner::wait`, a panic ends the process (`AbortOnUnwind`).
//! - An abort of the fiber that is in the scope would drop its task's future, which would unwind
//!   its stack in the midst. So the task is shielded (`State::shield`): instead of being dropped,
//!   it is polled. It aborts the fibers of the scope, waits for their ends as for any event, and is
//!   unwound afterwards (`Aborted`). Meanwhile the thread runs others, among them fibers of the
//!   scope that it alone can unwind, and those of their scopes. The schedulers drop no task that is
//!   shielded. (If one did, the process would end: `Running::drop`.)
//!
//! What a scope lends may be a local of the thread, in `LocalKey::with` of `std`, which lives for
//! as long as the thread. So a thread must not end while a scope waits on a stack of its own:
//!
//! - A thread outside of fibers blocks in the scope, and so does one where a fiber cannot leave its
//!   stack: `Owner` asks where the scope begins, and what forbids it there lasts for the scope.
//! - A worker's thread, which is the host of the fiber, stays until all its fibers have ended
//!   (`serve_as_host`). No other thread runs fibers (`fiber/README.md`).
//!
//! A fiber's output may have borrowed, too. It is not the output of its task, which anybody may
//! keep, but in a place that only the fiber and its `ScopedJoinHandle` know, which cannot be kept
//! beyond `'scope`. It may be forgotten, and then so is the output.

use super::builder::{Builder, Options, check_hosts};
use super::future::Fiber;
use super::running::{Inside, inside};
use super::taken;
use super::unwinding::unwind_again;
use super::wait::wait;
use crate::context;
use crate::primitives::Mutex;
use crate::primitives::abort::AbortOnUnwind;
use crate::primitives::thread;
use crate::scheduler::{Handle, block_on};
use crate::task::{AbortHandle, Id, JoinError, JoinHandle, Origin, block_in_place, wake_guarded};
use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

/// Spawns fibers that may borrow what outlives the [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    fibers: Arc<Fibers>,
    runtime: Handle,
    /// Makes the type invariant in both, as `std`'s.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

/// The right to wait for the output of a fiber of a scope. As a future, it may be awaited.
///
/// The fiber runs on when the handle is dropped, and [`scope`] waits for it.
pub struct ScopedJoinHandle<'scope, R> {
    task: JoinHandle<()>,
    output: Arc<Mutex<Option<R>>>,
    fibers: Arc<Fibers>,
    _scope: PhantomData<&'scope ()>,
}

/// A closure whose borrows last for `'scope`, although the type says otherwise.
type Job = Box<dyn FnOnce() + Send>;

/// The future of the task of a fiber of a scope.
struct Scoped {
    fiber: Fiber<Job, ()>,
    /// Dropped after the fiber.
    end: End,
}

/// Says on drop that a fiber has ended.
struct End {
    fibers: Arc<Fibers>,
    number: u64,
}

/// The fibers of a scope that have not ended.
#[derive(Default)]
struct Fibers(Mutex<List>);

#[derive(Default)]
struct List {
    /// By their numbers. A handle is there once the fiber was spawned.
    alive: HashMap<u64, Option<AbortHandle>>,
    next: u64,
    /// The scope is aborted, with all fibers that are spawned into it from then on.
    is_aborted: bool,
    /// How many fibers have panicked that nobody has joined.
    panicked: usize,
    /// Of the scope's owner.
    waker: Option<Waker>,
}

/// Who has called `scope`.
struct Owner {
    is_fiber: bool,
}

/// Calls a closure that may spawn fibers, and returns when all of them have ended. The fibers may
/// borrow everything that outlives the scope.
///
/// A fiber waits for its scope without its thread. A thread outside of the runtime blocks, and so
/// does code in [`block_in_place`] and
/// [`spawn_blocking`](crate::task::spawn_blocking). Where [`wait`](fn@wait) cannot leave the stack
/// of a fiber, this waits as `wait` does.
///
/// Fibers of a scope are fibers like all others: any worker may begin them, and they stay on the
/// thread on which they began. To compute in parallel,
/// [`fork_join::scope`](crate::fork_join::scope) costs less.
///
/// # Cancellation safety
/// If the fiber that has called this is aborted, then so are the fibers of the scope. When all have
/// ended, it is unwound itself. Until then, its join handle is pending. Where this waits in place,
/// as `wait` does in some places, it sees an abort when the fibers have ended by themselves.
///
/// The fibers go into the runtime that is entered where this is called.
///
/// # Panics
/// In asynchronous code, outside of a runtime, and where [`wait`](fn@wait) panics. In a
/// current-thread runtime or a `LocalRuntime`, which [have no fibers](super#threads).
///
/// All of these are before the closure is called. With the closure's own panic, and if a fiber has
/// panicked that was not joined: when all fibers have ended. If the closure leaves the thread where
/// it cannot wait (it has entered a [`LocalSet`](crate::task::LocalSet), and not left it), the
/// process ends.
///
/// ```
/// # let runtime = trefoil::runtime::Runtime::new().unwrap();
/// # let _guard = runtime.enter();
/// use trefoil::fiber;
///
/// let (words, mut lengths) = (["one", "three"], [0; 2]);
/// fiber::scope(|scope| {
///     for (word, length) in words.iter().zip(&mut lengths) {
///         scope.spawn(move || {
///             fiber::yield_now();
///             *length = word.len();
///         });
///     }
/// });
/// assert_eq!(lengths, [3, 5]);
/// ```
///
/// What the closure owns does not outlive it:
///
/// ```compile_fail,E0373
/// trefoil::fiber::scope(|scope| {
///     let local = 1;
///     scope.spawn(|| local + 1);
/// });
/// ```
#[track_caller]
pub fn scope<'env, F, R>(f: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    // Where this panics, the wait at the end would, which must not.
    wait(async {});
    inside(|inside| inside.into_iter().for_each(Inside::unwind_if_it_goes_on));
    let runtime = Handle::current();
    if let Err(text) = check_hosts(&runtime) {
        panic!("{text}");
    }
    let owner = Owner::enter();
    let scope = Scope { fibers: Arc::default(), runtime, _scope: PhantomData, _env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    owner.wait(&scope.fibers);
    let is_to_unwind = owner.leave();
    let result = result.unwrap_or_else(|payload| resume_unwind(payload));
    if is_to_unwind {
        drop(result);
        unwind_again();
    }
    assert!(scope.fibers.0.lock().panicked == 0, "a fiber of a scope has panicked");
    result
}

impl Owner {
    fn enter() -> Self {
        let is_its_own = |it: &&Inside| it.is_where_it_was_resumed() || it.may_pack();
        let is_fiber = inside(|inside| match inside.filter(is_its_own) {
            Some(inside) => {
                inside.enter_scope();
                true
            }
            None => false,
        });
        Self { is_fiber }
    }

    /// Returns when all fibers have ended. It does not unwind.
    fn wait(&self, fibers: &Fibers) {
        let abort = AbortOnUnwind("at the end of a `fiber::scope`, which must wait for its fibers");
        let ends = |it: Option<&Inside>| thread::panicking() || it.is_some_and(Inside::is_ending);
        inside(|inside| match inside {
            Some(inside) if self.is_fiber && inside.may_wait() => {
                inside.wait_through(poll_fn(|cx| {
                    if inside.is_to_unwind() {
                        fibers.abort();
                    }
                    fibers.poll_ended(cx)
                }));
            }
            Some(inside) if inside.may_pack() => {
                let abort_and_poll = |cx: &mut Context<'_>| {
                    if self.is_fiber && inside.is_to_unwind() {
                        fibers.abort();
                    }
                    fibers.poll_ended(cx)
                };
                inside.wait_through_packed(poll_fn(abort_and_poll));
            }
            // `scope` has unwound such a fiber, unless its closure has left something since in
            // which the fiber had called it. Here, nothing may unwind.
            Some(inside) if inside.goes_on_unwound() => {
                context::taken_closure_waits();
                block_on::wait(poll_fn(|cx| fibers.poll_ended(cx)));
            }
            // As in a fiber that has taken the closure, which `blocking` would unwind.
            inside if !ends(inside) && context::is_taken_closures_own() => {
                block_in_place(|| {
                    taken::wait_through(poll_fn(|cx| {
                        if taken::is_to_unwind() {
                            fibers.abort();
                        }
                        fibers.poll_ended(cx)
                    }));
                });
            }
            _ => block_on::blocking(poll_fn(|cx| fibers.poll_ended(cx))),
        });
        mem::forget(abort);
    }

    /// Returns whether the calling code is to unwind.
    fn leave(self) -> bool {
        if self.is_fiber {
            inside(|inside| inside.is_some_and(Inside::leave_scope))
        } else {
            context::is_taken_closures_own() && taken::is_to_unwind()
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Spawns a fiber into the scope, and into the runtime in which the scope began.
    ///
    /// It begins even if nobody joins it. A panic of the fiber is returned by
    /// [`ScopedJoinHandle::join`]; without that, [`scope`] panics.
    #[track_caller]
    pub fn spawn<F, R>(&'scope self, f: F) -> ScopedJoinHandle<'scope, R>
    where
        F: FnOnce() -> R + Send + 'scope,
        R: Send + 'scope,
    {
        self.spawn_with(f, Options::default(), Origin::here(None))
    }

    fn spawn_with<F, R>(
        &'scope self,
        f: F,
        options: Options,
        origin: Origin<'_>,
    ) -> ScopedJoinHandle<'scope, R>
    where
        F: FnOnce() -> R + Send + 'scope,
        R: Send + 'scope,
    {
        let output = Arc::new(Mutex::new(None));
        let to = Arc::clone(&output);
        let job: Box<dyn FnOnce() + Send + 'scope> = Box::new(move || {
            let output = f();
            *to.lock() = Some(output);
        });
        // SAFETY: the two types differ in lifetimes only. The borrows are valid for as long as the
        // job, and what it leaves on its fiber's stack, exist: see the top of this file.
        let job: Job = unsafe { mem::transmute(job) };
        let end = End::new(&self.fibers);
        let number = end.number;
        let future = Scoped { fiber: Fiber::new(job, options), end };
        let task = self.runtime.spawn_with(future, None, origin);
        self.fibers.was_spawned(number, task.abort_handle());
        ScopedJoinHandle { task, output, fibers: Arc::clone(&self.fibers), _scope: PhantomData }
    }
}

impl Builder {
    /// [`spawn`](Self::spawn) into a [`scope`].
    ///
    /// # Errors
    /// Those of `spawn`.
    #[track_caller]
    pub fn spawn_scoped<'scope, F, R>(
        self,
        scope: &'scope Scope<'scope, '_>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, R>>
    where
        F: FnOnce() -> R + Send + 'scope,
        R: Send + 'scope,
    {
        let options = self.options(&scope.runtime)?;
        Ok(scope.spawn_with(f, options, Origin::here(self.origin_name())))
    }
}

impl<R> ScopedJoinHandle<'_, R> {
    /// Waits for the fiber's output: see [`JoinHandle::join`].
    ///
    /// # Errors
    /// The fiber has panicked or was aborted.
    ///
    /// # Panics
    /// In asynchronous code, where the thread must not block.
    pub fn join(self) -> Result<R, JoinError> {
        block_on::blocking(self)
    }

    /// As [`JoinHandle::abort`].
    pub fn abort(&self) {
        self.task.abort();
    }

    /// As [`JoinHandle::is_finished`].
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }

    /// The id of the fiber's task.
    pub fn id(&self) -> Id {
        self.task.id()
    }
}

/// # Cancellation safety
/// As that of a [`JoinHandle`].
impl<R> Future for ScopedJoinHandle<'_, R> {
    type Output = Result<R, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = ready!(Pin::new(&mut self.task).poll(cx));
        Poll::Ready(match ended {
            Ok(()) => Ok(self.output.lock().take().expect("a fiber that returns has an output")),
            Err(error) => {
                if error.is_panic() {
                    self.fibers.0.lock().panicked -= 1;
                }
                Err(error)
            }
        })
    }
}

impl Future for Scoped {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut self.fiber).poll(cx)));
        let polled = polled.unwrap_or_else(|payload| {
            // It could not begin.
            context::with(|context| context.panics(payload));
            Poll::Pending
        });
        if context::with(context::Context::has_panicked) {
            self.end.fibers.0.lock().panicked += 1;
        }
        polled
    }
}

impl Drop for Scoped {
    fn drop(&mut self) {
        let fiber = mem::replace(&mut self.fiber, Fiber::over());
        // A destructor that panics while the fiber is unwound makes it one that has panicked.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(fiber))) {
            self.end.fibers.0.lock().panicked += 1;
            resume_unwind(payload);
        }
    }
}

impl End {
    fn new(fibers: &Arc<Fibers>) -> Self {
        let mut list = fibers.0.lock();
        let number = list.next;
        list.next += 1;
        list.alive.insert(number, None);
        Self { fibers: Arc::clone(fibers), number }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let mut list = self.fibers.0.lock();
        let handle = list.alive.remove(&self.number);
        let waker = if list.alive.is_empty() { list.waker.take() } else { None };
        drop(list);
        drop(handle);
        if let Some(waker) = waker {
            wake_guarded(waker);
        }
    }
}

impl Fibers {
    /// That fiber was spawned. It may have ended already.
    fn was_spawned(&self, number: u64, handle: AbortHandle) {
        let mut list = self.0.lock();
        let is_aborted = list.is_aborted;
        if let Some(place) = list.alive.get_mut(&number) {
            *place = Some(handle.clone());
        }
        drop(list);
        if is_aborted {
            handle.abort();
        }
    }

    fn abort(&self) {
        let mut list = self.0.lock();
        if mem::replace(&mut list.is_aborted, true) {
            return;
        }
        let handles: Vec<_> = list.alive.values().flatten().cloned().collect();
        drop(list);
        handles.iter().for_each(AbortHandle::abort);
    }

    fn poll_ended(&self, cx: &Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut list = self.0.lock();
        if list.alive.is_empty() {
            return Poll::Ready(());
        }
        let before = list.waker.replace(waker);
        drop(list);
        drop(before);
        Poll::Pending
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl<R> fmt::Debug for ScopedJoinHandle<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").field("id", &self.id()).finish_non_exhaustive()
    }
}
