//! [`JoinSet`], and the builder of its tasks.

mod builder;

pub use builder::Builder;

use super::coop::{self, Budget};
use super::{AbortHandle, Id, JoinError, JoinHandle, LocalSet};
use crate::primitives::Mutex;
use crate::scheduler::Handle;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};

/// A set of tasks that are joined in the order in which they end.
///
/// Dropping the set aborts its tasks.
pub struct JoinSet<T> {
    members: Vec<Option<Member<T>>>,
    free: Vec<usize>,
    board: Arc<Board>,
}

struct Member<T> {
    handle: JoinHandle<T>,
    /// Puts the member's index on the board when the member ends.
    waker: Waker,
}

/// The members that may have ended.
struct Board {
    state: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    ended: VecDeque<usize>,
    /// The waker of the task that joins.
    waker: Option<Waker>,
}

impl Board {
    /// A member that may have ended. If there is none, `waker` is woken for the next one.
    fn next_ended(&self, waker: &Waker) -> Option<usize> {
        let mut state = self.state.lock();
        let index = state.ended.pop_front();
        if index.is_some() || state.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            return index;
        }
        drop(state);
        // Cloning and dropping a waker is foreign code, so it happens outside of the lock.
        let new = waker.clone();
        let mut state = self.state.lock();
        let old = state.waker.replace(new);
        // A member may have been noted in between, which has woken the old waker.
        let index = state.ended.pop_front();
        drop(state);
        drop(old);
        index
    }
}

struct MemberWaker {
    index: usize,
    board: Arc<Board>,
}

impl Wake for MemberWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let waker = {
            let mut state = self.board.state.lock();
            state.ended.push_back(self.index);
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> JoinSet<T> {
    /// An empty set.
    pub fn new() -> Self {
        Self {
            members: Vec::new(),
            free: Vec::new(),
            board: Arc::new(Board { state: Mutex::default() }),
        }
    }

    /// The number of tasks that were not joined yet.
    pub fn len(&self) -> usize {
        self.members.len() - self.free.len()
    }

    /// Whether all tasks were joined.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: 'static> JoinSet<T> {
    /// A builder for a task of the set, which can have a name.
    ///
    /// ```
    /// # #[trefoil::main(flavor = "current_thread")]
    /// # async fn main() -> std::io::Result<()> {
    /// let mut set = trefoil::task::JoinSet::new();
    /// set.build_task().name("baker").spawn(async { 12 + 1 })?;
    /// assert_eq!(set.join_all().await, [13]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn build_task(&mut self) -> Builder<'_, T> {
        Builder::new(self)
    }

    /// Spawns a task into the current runtime and the set.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(super::spawn(task))
    }

    /// Spawns a task into the given runtime and the set. If the runtime has shut down, the task is
    /// cancelled.
    #[track_caller]
    pub fn spawn_on<F>(&mut self, task: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn(task))
    }

    /// Spawns a local task into the current [`LocalSet`] and the set.
    ///
    /// # Panics
    /// Outside of a `LocalSet`.
    #[track_caller]
    pub fn spawn_local<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(super::spawn_local(task))
    }

    /// Spawns a local task into the given [`LocalSet`] and the set.
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, task: F, local_set: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(local_set.spawn_local(task))
    }

    /// Spawns a closure that may block.
    ///
    /// # Panics
    /// Outside of a runtime, or if the system has no thread to give.
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(super::spawn_blocking(f))
    }

    /// Spawns a closure that may block, in the given runtime.
    ///
    /// # Panics
    /// If the system has no thread to give.
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, f: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn_blocking(f))
    }

    fn insert(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        let index = self.free.pop().unwrap_or(self.members.len());
        let waker = Arc::new(MemberWaker { index, board: Arc::clone(&self.board) }).into();
        let has_ended = handle.poll_complete(&waker).is_ready();
        let note = has_ended.then(|| waker.clone());
        let member = Some(Member { handle, waker });
        match self.members.get_mut(index) {
            Some(place) => *place = member,
            None => self.members.push(member),
        }
        // This wakes the task that joins, which may panic: the member has its place by then.
        note.into_iter().for_each(Waker::wake);
        abort
    }

    /// Waits until a task has ended, and returns its output. An empty set gives `None` at once.
    ///
    /// # Errors
    /// The task has panicked or was cancelled. The same holds for all methods that return a task's
    /// output.
    ///
    /// # Cancellation safety
    /// Yes: no output is lost if the future is dropped.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// As [`JoinSet::join_next`], with the task's id.
    ///
    /// # Cancellation safety
    /// Yes: no output is lost if the future is dropped.
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        poll_fn(|cx| self.poll_join_next_with_id(cx)).await
    }

    /// Takes the output of a task that has ended already, if there is one.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.try_join_next_with_id().map(|result| result.map(|(_, output)| output))
    }

    /// As [`JoinSet::try_join_next`], with the task's id.
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        loop {
            let index = self.board.state.lock().ended.pop_front()?;
            if let Some(result) = self.take_if_ended(index) {
                return Some(result);
            }
        }
    }

    /// As [`JoinSet::join_next`], in the form of a poll.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        let result = ready!(self.poll_join_next_with_id(cx));
        Poll::Ready(result.map(|result| result.map(|(_, output)| output)))
    }

    /// As [`JoinSet::poll_join_next`], with the task's id.
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        let budget = ready!(coop::poll_proceed(cx));
        loop {
            let Some(index) = self.board.next_ended(cx.waker()) else { return Poll::Pending };
            if let Some(result) = self.take_if_ended(index) {
                budget.made_progress();
                return Poll::Ready(Some(result));
            }
        }
    }

    /// A note on the board may be about a member that was taken since.
    fn take_if_ended(&mut self, index: usize) -> Option<Result<(Id, T), JoinError>> {
        let place = self.members.get_mut(index)?;
        let member = place.as_mut()?;
        let mut cx = Context::from_waker(&member.waker);
        let handle = Pin::new(&mut member.handle);
        let polled = coop::with_budget(Budget::UNLIMITED, || handle.poll(&mut cx));
        let Poll::Ready(result) = polled else { return None };
        let id = member.handle.id();
        *place = None;
        self.free.push(index);
        Some(result.map(|output| (id, output)))
    }

    /// Waits for all tasks, and returns their outputs in the order in which they ended.
    ///
    /// # Panics
    /// If a task panicked, with its panic, and if a task was cancelled. The other tasks are
    /// aborted.
    ///
    /// # Cancellation safety
    /// No: dropping the future drops the set, which aborts the tasks that are left. Outputs that
    /// were joined already are lost.
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            match result {
                Ok(output) => outputs.push(output),
                Err(error) if error.is_panic() => {
                    std::panic::resume_unwind(error.into_panic());
                }
                Err(error) => panic!("{error}"),
            }
        }
        outputs
    }

    /// Aborts all tasks, and joins them. Outputs of tasks that had ended are dropped.
    ///
    /// # Cancellation safety
    /// The first poll aborts all tasks. Tasks that were not joined stay in the set.
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }
}

impl<T> JoinSet<T> {
    /// Aborts all tasks. They stay in the set until they are joined.
    pub fn abort_all(&mut self) {
        for member in self.members.iter().flatten() {
            member.handle.abort();
        }
    }

    /// Removes all tasks from the set. They run on.
    pub fn detach_all(&mut self) {
        self.members.clear();
        self.free.clear();
        self.board.state.lock().ended.clear();
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish()
    }
}

/// Spawns each future into the current runtime.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let mut set = Self::new();
        set.extend(futures);
        set
    }
}

/// Spawns each future into the current runtime.
impl<T, F> Extend<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        for future in futures {
            self.spawn(future);
        }
    }
}
