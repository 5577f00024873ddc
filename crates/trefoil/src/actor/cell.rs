//! What there is of an actor for others, and the protocol of its end: see `README.md`.

use super::mailbox::{Mailbox, discard_all};
use super::pid;
use super::registry::Registration;
use super::{ExitReason, MonitorRef, Pid};
use crate::primitives::{Mutex, MutexGuard};
use crate::sync::SetOnce;
use crate::task::{AbortHandle, JoinError, JoinHandle, unconstrained, wake_guarded};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

#[cfg(all(test, loom))]
mod loom_tests;

/// An actor, to those who know the type of its messages.
pub(super) struct Cell<M> {
    core: Core,
    pub(super) mailbox: Mailbox<M>,
}

/// An actor, to those who do not: the other side of a link or a monitor.
pub(super) trait Peer: Send + Sync {
    fn core(&self) -> &Core;
    /// Puts a signal into the mailbox. The caller wakes whom this returns, once it has no lock.
    fn deliver(&self, signal: Signal) -> Option<Waker>;
    /// Closes the mailbox, and drops what is in it.
    fn close(&self);
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// What comes to an actor that is no message.
#[derive(Debug)]
pub(super) enum Signal {
    Exit { from: Option<Pid>, reason: ExitReason },
    Down { monitor: MonitorRef, pid: Pid, reason: ExitReason },
}

/// What is the same for all types of messages.
pub(super) struct Core {
    pid: Pid,
    name: Option<Box<str>>,
    state: Mutex<State>,
    /// The actor's task, until it has ended. The task's join waker is the cell.
    task: Mutex<Option<JoinHandle<ExitReason>>>,
    /// Set when everybody was told.
    ended: SetOnce<ExitReason>,
}

/// Guarded by one lock. Whoever needs those of two actors takes them in the order of their pids.
#[derive(Default)]
pub(super) struct State {
    fate: Fate,
    exits: Exits,
    abort: Option<AbortHandle>,
    /// Two actors are linked if each has the other here.
    links: BTreeMap<Pid, Arc<dyn Peer>>,
    /// Whom to tell of the end. Each monitor is here, and in `watching` of its owner.
    watchers: BTreeMap<MonitorRef, Arc<dyn Peer>>,
    watching: BTreeMap<MonitorRef, Arc<dyn Peer>>,
    monitors_made: u64,
    pub(super) names: Vec<Registration>,
}

/// What exit signals do to an actor.
#[derive(Clone, Copy, Default)]
enum Exits {
    #[default]
    End,
    Trapped,
    /// They were trapped until the actor's context was dropped. They end it, unless its function
    /// is about to return: the context may have been one of the last things that it drops.
    EndUnlessItReturns,
}

#[derive(Default)]
enum Fate {
    #[default]
    Lives,
    Doomed(Doom),
    Ended,
}

/// An end that was decided.
struct Doom {
    reason: ExitReason,
    /// The task may still end by itself before it is cancelled, and then this is not the reason.
    /// Otherwise it is, whatever the function does until then.
    is_overtaken: bool,
}

impl State {
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.fate, Fate::Ended)
    }
}

impl Core {
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.lock().has_ended()
    }

    pub(super) fn ended(&self) -> &SetOnce<ExitReason> {
        &self.ended
    }

    pub(super) fn trap_exits(&self, traps: bool) {
        self.lock().exits = if traps { Exits::Trapped } else { Exits::End };
    }

    /// The actor's context is gone: what is trapped would be received by nobody, and the actor
    /// would live on.
    pub(super) fn trap_no_more(&self) {
        let mut state = self.lock();
        if let Exits::Trapped = state.exits {
            state.exits = Exits::EndUnlessItReturns;
        }
    }
}

impl<M: Send + 'static> Cell<M> {
    pub(super) fn new(pid: Pid, name: Option<Box<str>>, capacity: Option<usize>) -> Self {
        let core = Core {
            pid,
            name,
            state: Mutex::default(),
            task: Mutex::new(None),
            ended: SetOnce::new(),
        };
        Self { core, mailbox: Mailbox::new(capacity) }
    }

    /// Has the cell follow the actor's task to its end.
    pub(super) fn follow(self: &Arc<Self>, task: JoinHandle<ExitReason>) {
        let abort = task.abort_handle();
        let is_doomed = {
            let mut state = self.core.lock();
            state.abort = Some(abort.clone());
            matches!(state.fate, Fate::Doomed(_))
        };
        *self.core.task.lock() = Some(task);
        if is_doomed {
            abort.abort();
        }
        self.look_at_task();
    }

    /// Ends the actor if its task has ended. Otherwise, the cell is woken when it has.
    fn look_at_task(self: &Arc<Self>) {
        let ended = {
            let mut task = self.core.task.lock();
            let Some(join) = task.as_mut() else { return };
            // Without a budget, so that a task that has ended says so. No foreign code runs: the
            // waker is ours, and the output is moved.
            let waker = Waker::from(Arc::clone(self));
            let polled = pin!(unconstrained(join)).poll(&mut Context::from_waker(&waker));
            let Poll::Ready(ended) = polled else { return };
            (ended, task.take())
        };
        let peer: Arc<dyn Peer> = Arc::clone(self) as _;
        let is_cancelled = ended.0.as_ref().is_err_and(JoinError::is_cancelled);
        end(&peer, ExitReason::of(ended.0), !is_cancelled);
    }
}

/// The task has ended.
impl<M: Send + 'static> Wake for Cell<M> {
    fn wake(self: Arc<Self>) {
        self.look_at_task();
    }
}

impl<M: Send + 'static> Peer for Cell<M> {
    fn core(&self) -> &Core {
        &self.core
    }

    fn deliver(&self, signal: Signal) -> Option<Waker> {
        // A signal to a mailbox that is closed is for nobody.
        self.mailbox.push(signal.into()).ok().flatten()
    }

    fn close(&self) {
        self.mailbox.close();
    }

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

impl<M> fmt::Debug for Cell<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").field("pid", &self.core.pid).finish_non_exhaustive()
    }
}

/// The states of two different actors.
fn lock_both<'a>(a: &'a Core, b: &'a Core) -> (MutexGuard<'a, State>, MutexGuard<'a, State>) {
    debug_assert_ne!(a.pid, b.pid, "an actor's lock is taken once");
    if a.pid < b.pid {
        let first = a.lock();
        (first, b.lock())
    } else {
        let first = b.lock();
        (a.lock(), first)
    }
}

/// Has the actor end for this reason. False if it has ended; if its end is decided, the reason
/// stays the first one.
pub(super) fn doom(peer: &Arc<dyn Peer>, reason: ExitReason) -> bool {
    let state = peer.core().lock();
    let is_there = !state.has_ended();
    doom_locked(state, Doom { reason, is_overtaken: false });
    is_there
}

fn doom_locked(mut state: MutexGuard<'_, State>, doom: Doom) {
    match &mut state.fate {
        Fate::Lives => state.fate = Fate::Doomed(doom),
        Fate::Doomed(first) => {
            first.is_overtaken &= doom.is_overtaken;
            return;
        }
        Fate::Ended => return,
    }
    let abort = state.abort.clone();
    drop(state);
    // Without the lock: an abort wakes a worker. Without a handle, the actor is being spawned, and
    // `follow` sees its fate.
    if let Some(abort) = abort {
        abort.abort();
    }
}

/// Sends an exit signal. False if the actor has ended.
pub(super) fn send_exit(to: &Arc<dyn Peer>, from: Option<Pid>, reason: ExitReason) -> bool {
    // A reason that nobody takes is dropped under the lock. This keeps it from being the last copy,
    // whose destructor is foreign code.
    let _kept = reason.clone();
    let state = to.core().lock();
    let is_there = !state.has_ended();
    receive_exit(to, state, from, reason);
    is_there
}

/// What an exit signal does to an actor. The caller keeps a copy of the reason.
fn receive_exit(
    to: &Arc<dyn Peer>,
    state: MutexGuard<'_, State>,
    from: Option<Pid>,
    reason: ExitReason,
) {
    let is_overtaken = matches!(state.exits, Exits::EndUnlessItReturns);
    if let Exits::Trapped = state.exits {
        let waker = to.deliver(Signal::Exit { from, reason });
        drop(state);
        waker.into_iter().for_each(wake_guarded);
    } else if reason.is_normal() {
        drop(state);
    } else {
        doom_locked(state, Doom { reason, is_overtaken });
    }
}

/// Links two actors. If the other one has ended, it is as if it ended now.
pub(super) fn link(own: &Arc<dyn Peer>, other: Pid) {
    if own.core().pid == other {
        return;
    }
    let Ok(other) = other.peer() else {
        send_exit(own, Some(other), ExitReason::NoActor);
        return;
    };
    let (mut mine, mut its) = lock_both(own.core(), other.core());
    if mine.has_ended() {
        return;
    }
    if its.has_ended() {
        drop(its);
        receive_exit(own, mine, Some(other.core().pid), ExitReason::NoActor);
        return;
    }
    let olds = [
        mine.links.insert(other.core().pid, Arc::clone(&other)),
        its.links.insert(own.core().pid, Arc::clone(own)),
    ];
    drop((mine, its));
    drop(olds);
}

/// Takes a link away. No exit signal comes through it afterwards.
pub(super) fn unlink(own: &Arc<dyn Peer>, other: Pid) {
    // Not by the table: one that was struck off it may be about to tell us.
    let linked = own.core().lock().links.get(&other).cloned();
    if let Some(other) = linked {
        let (mut mine, mut its) = lock_both(own.core(), other.core());
        let both = (mine.links.remove(&other.core().pid), its.links.remove(&own.core().pid));
        drop((mine, its));
        drop(both);
    }
}

/// Has `own` told of the other one's end, which may have been before.
pub(super) fn monitor(own: &Arc<dyn Peer>, other: Pid) -> MonitorRef {
    let made = |state: &mut State| {
        state.monitors_made += 1;
        MonitorRef { owner: own.core().pid, number: state.monitors_made }
    };
    let peer = if own.core().pid == other { None } else { Some(other.peer()) };
    match peer {
        // Nobody is there any more when it ends.
        None => made(&mut own.core().lock()),
        Some(Err(_)) => {
            let mut mine = own.core().lock();
            let monitor = made(&mut mine);
            tell_down(own, mine, monitor, other, ExitReason::NoActor);
            monitor
        }
        Some(Ok(peer)) => {
            let (mut mine, mut its) = lock_both(own.core(), peer.core());
            let monitor = made(&mut mine);
            if its.has_ended() {
                drop(its);
                tell_down(own, mine, monitor, other, ExitReason::NoActor);
            } else if !mine.has_ended() {
                mine.watching.insert(monitor, Arc::clone(&peer));
                its.watchers.insert(monitor, Arc::clone(own));
            }
            monitor
        }
    }
}

/// Takes a monitor away. Nothing comes into the mailbox through it afterwards. True if nothing has
/// come before, either.
pub(super) fn demonitor(own: &Arc<dyn Peer>, monitor: MonitorRef) -> bool {
    let watched = own.core().lock().watching.remove(&monitor);
    let was_there = watched.is_some();
    if let Some(watched) = watched {
        let watcher = watched.core().lock().watchers.remove(&monitor);
        drop(watcher);
    }
    was_there
}

fn tell_down(
    to: &Arc<dyn Peer>,
    state: MutexGuard<'_, State>,
    monitor: MonitorRef,
    pid: Pid,
    reason: ExitReason,
) {
    let waker = to.deliver(Signal::Down { monitor, pid, reason });
    drop(state);
    waker.into_iter().for_each(wake_guarded);
}

/// The end of an actor: of its names, its mailbox, its links and its monitors, in this order. The
/// reason is this one, unless another one was decided.
pub(super) fn end(own: &Arc<dyn Peer>, reason: ExitReason, is_by_itself: bool) {
    let pid = own.core().pid;
    // The reason that it is not, whose destructor is foreign code.
    let mut _other = None;
    let (reason, left) = {
        let mut state = own.core().lock();
        let reason = match std::mem::replace(&mut state.fate, Fate::Ended) {
            Fate::Lives => reason,
            Fate::Doomed(Doom { reason: first, is_overtaken }) => {
                let is_first = !(is_overtaken && is_by_itself);
                let (its, other) = if is_first { (first, reason) } else { (reason, first) };
                _other = Some(other);
                its
            }
            Fate::Ended => return,
        };
        let left = std::mem::take(&mut *state);
        // Monitors that it makes when it has ended are told apart from those before.
        state.monitors_made = left.monitors_made;
        state.fate = Fate::Ended;
        (reason, left)
    };
    let struck = pid::strike(pid);
    left.names.iter().for_each(|name| name.remove(pid));
    own.close();
    // Some may have ended since, and have nobody else. Their destructors are foreign code, whose
    // panic must not keep the others from being told.
    let mut peers = Vec::new();
    for (_, other) in left.links {
        // Whoever has taken the link away meanwhile is not told.
        let mut its = other.core().lock();
        let link = its.links.remove(&pid);
        if link.is_some() {
            receive_exit(&other, its, Some(pid), reason.clone());
        } else {
            drop(its);
        }
        peers.push(other);
    }
    for (monitor, watcher) in left.watchers {
        let mut its = watcher.core().lock();
        let watched = its.watching.remove(&monitor);
        if watched.is_some() {
            tell_down(&watcher, its, monitor, pid, reason.clone());
        } else {
            drop(its);
        }
        peers.push(watcher);
    }
    for (monitor, watched) in left.watching {
        let watcher = watched.core().lock().watchers.remove(&monitor);
        drop(watcher);
        peers.push(watched);
    }
    // The only place that sets it, and `fate` lets one pass.
    let _ = own.core().ended.set(reason);
    discard_all(peers);
    drop(struck);
}
