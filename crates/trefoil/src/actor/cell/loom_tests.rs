//! Links, monitors, mailboxes and names while actors end, under loom.
//!
//! Most models have no tasks: an end is a call of `exit`, as the join waker makes it. Two models at
//! the end have a task, and its handle comes late.

use super::*;
use crate::actor::registry::Registry;
use crate::actor::{Address, Context as Own, Event, ExitReason};
use crate::primitives::Mutex;
use crate::task::{self, CompletedTask, Home, Id, NO_HOME, OwnedTasks, Ran, Runnable, Schedule};
use loom::future::block_on;
use loom::thread;
use std::future::{pending, ready};

type Peers = Arc<dyn Peer>;

/// The end of an actor that ends by itself.
fn exit(own: &Arc<dyn Peer>, reason: ExitReason) {
    end(own, reason, true);
}

/// An actor without a task.
fn actor(capacity: Option<usize>) -> (Arc<Cell<u32>>, Own<u32>) {
    let cell = pid::enroll(|pid| Cell::new(pid, None, capacity)).expect("there is room");
    (Arc::clone(&cell), Own::new(cell))
}

fn peer(cell: &Arc<Cell<u32>>) -> Peers {
    Arc::clone(cell) as _
}

/// Whose end was decided, and for which reason.
fn doom_of(cell: &Arc<Cell<u32>>) -> Option<String> {
    match &cell.core.lock().fate {
        Fate::Doomed(doom) => Some(doom.reason.to_string()),
        Fate::Lives | Fate::Ended => None,
    }
}

/// All that is in the mailbox, as text.
fn events(own: &mut Own<u32>) -> Vec<String> {
    let mut events = Vec::new();
    while let Ok(Some(event)) = own.try_next() {
        events.push(match event {
            Event::Message(n) => format!("message {n}"),
            Event::Exit { reason, .. } => format!("exit {reason}"),
            Event::Down { reason, .. } => format!("down {reason}"),
        });
    }
    events
}

/// Nobody has a half of a link or of a monitor.
fn assert_alone(cell: &Arc<Cell<u32>>) {
    let state = cell.core.lock();
    assert!(state.links.is_empty(), "a link is left");
    assert!(state.watchers.is_empty() && state.watching.is_empty(), "a monitor is left");
}

fn ends(cell: &Arc<Cell<u32>>, reason: ExitReason) -> impl FnOnce() + 'static {
    let peer = peer(cell);
    move || exit(&peer, reason)
}

#[test]
fn loom_actor_a_link_is_told_once_whenever_the_other_one_ends() {
    loom::model(|| {
        let ((a, mut own), (b, _b)) = (actor(None), actor(None));
        own.trap_exit(true);
        let ending = thread::spawn(ends(&b, ExitReason::Shutdown));
        own.link(b.core.pid);
        ending.join().unwrap();
        // It was linked before the end, or afterwards.
        let events = events(&mut own);
        assert!(events == ["exit shutdown"] || events == ["exit no such actor"], "{events:?}");
        assert_alone(&a);
        assert_alone(&b);
    });
}

#[test]
fn loom_actor_a_signal_that_is_not_trapped_dooms() {
    loom::model(|| {
        let ((a, own), (b, _b)) = (actor(None), actor(None));
        own.link(b.core.pid);
        let ending = thread::spawn(ends(&b, ExitReason::Shutdown));
        // Another one comes at the same time. The first decides.
        doom(&peer(&a), ExitReason::Aborted);
        ending.join().unwrap();
        let doom = doom_of(&a).expect("two reasons");
        assert!(doom == "shutdown" || doom == "aborted", "{doom}");
        exit(&peer(&a), ExitReason::Normal);
        assert_eq!(a.core.ended.get().map(ToString::to_string), Some(doom));
        assert_alone(&a);
    });
}

#[test]
fn loom_actor_nothing_comes_after_an_unlink() {
    loom::model(|| {
        let ((a, mut own), (b, _b)) = (actor(None), actor(None));
        own.trap_exit(true);
        own.link(b.core.pid);
        let ending = thread::spawn(ends(&b, ExitReason::Shutdown));
        own.unlink(b.core.pid);
        let before = events(&mut own).len();
        ending.join().unwrap();
        assert!(before <= 1);
        assert_eq!(events(&mut own), [""; 0]);
        assert_alone(&a);
        assert_alone(&b);
    });
}

/// Whoever has made the link, the other one takes it away; and it is made from both sides.
#[test]
fn loom_actor_two_link_each_other() {
    loom::model(|| {
        let ((a, mut own), (b, other)) = (actor(None), actor(None));
        own.trap_exit(true);
        let pid = a.core.pid;
        let linking = thread::spawn(move || {
            other.link(pid);
            other
        });
        own.link(b.core.pid);
        let other = linking.join().unwrap();
        let links = |cell: &Arc<Cell<u32>>| cell.core.lock().links.len();
        assert_eq!((links(&a), links(&b)), (1, 1));
        exit(&peer(&b), ExitReason::Shutdown);
        assert_eq!(events(&mut own), ["exit shutdown"]);
        assert_alone(&a);
        drop(other);
    });
}

#[test]
fn loom_actor_both_ends_of_a_link_end() {
    loom::model(|| {
        let ((a, own), (b, _b)) = (actor(None), actor(None));
        own.link(b.core.pid);
        own.monitor(b.core.pid);
        let ending = thread::spawn(ends(&b, ExitReason::Shutdown));
        exit(&peer(&a), ExitReason::Normal);
        ending.join().unwrap();
        assert_alone(&a);
        assert_alone(&b);
        // `a` may have been doomed by the end of `b`, and not the other way round.
        let reason = a.core.ended.get().expect("it has ended");
        assert!(matches!(reason, ExitReason::Normal | ExitReason::Shutdown));
        assert!(matches!(b.core.ended.get(), Some(ExitReason::Shutdown)));
    });
}

/// Three in a ring: each end takes the locks of the others.
#[test]
fn loom_actor_a_ring_of_links_ends() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let [(a, one), (b, two), (c, three)] = [(); 3].map(|()| actor(None));
        one.link(b.core.pid);
        two.link(c.core.pid);
        three.link(a.core.pid);
        let ending = [&a, &b].map(|cell| thread::spawn(ends(cell, ExitReason::Shutdown)));
        three.unlink(a.core.pid);
        exit(&peer(&c), ExitReason::Shutdown);
        ending.into_iter().for_each(|thread| thread.join().unwrap());
        [&a, &b, &c].into_iter().for_each(assert_alone);
    });
}

#[test]
fn loom_actor_a_monitor_tells_once_whenever_the_other_one_ends() {
    loom::model(|| {
        let ((a, mut own), (b, _b)) = (actor(None), actor(None));
        let ending = thread::spawn(ends(&b, ExitReason::Shutdown));
        own.monitor(b.core.pid);
        ending.join().unwrap();
        let events = events(&mut own);
        assert!(events == ["down shutdown"] || events == ["down no such actor"], "{events:?}");
        assert_alone(&a);
        assert_alone(&b);
    });
}

#[test]
fn loom_actor_nothing_is_received_after_a_demonitor() {
    loom::model(|| {
        let ((a, mut own), (b, _b)) = (actor(None), actor(None));
        let [first, second] = [(); 2].map(|()| own.monitor(b.core.pid));
        let ending = thread::spawn(ends(&b, ExitReason::Shutdown));
        own.demonitor(first);
        ending.join().unwrap();
        // The other one is told.
        let Ok(Some(Event::Down { monitor, .. })) = own.try_next() else { panic!("no event") };
        assert_eq!(monitor, second);
        assert_eq!(events(&mut own), [""; 0]);
        assert_alone(&a);
        assert_alone(&b);
    });
}

#[test]
fn loom_actor_a_signal_is_trapped_or_dooms() {
    loom::model(|| {
        let (a, mut own) = actor(None);
        let to = peer(&a);
        let sending = thread::spawn(move || assert!(send_exit(&to, None, ExitReason::Shutdown)));
        own.trap_exit(true);
        sending.join().unwrap();
        let (events, doom) = (events(&mut own), doom_of(&a));
        assert!(events.is_empty() != doom.is_none(), "{events:?} {doom:?}");
    });
}

/// A signal that comes while the actor's context is dropped is not the reason of its end.
#[test]
fn loom_actor_a_signal_after_the_traps_is_overtaken() {
    loom::model(|| {
        let (a, mut own) = actor(None);
        own.trap_exit(true);
        let to = peer(&a);
        let sending = thread::spawn(move || send_exit(&to, None, ExitReason::Shutdown));
        drop(own);
        exit(&peer(&a), ExitReason::Normal);
        sending.join().unwrap();
        assert!(matches!(a.core.ended.get(), Some(ExitReason::Normal)));
    });
}

/// A lost wake-up is a deadlock, which loom reports.
#[test]
fn loom_actor_a_receive_is_woken() {
    loom::model(|| {
        let (a, mut own) = actor(None);
        let other = peer(&a);
        let sending = thread::spawn(move || {
            a.mailbox.try_send(1).unwrap();
            exit(&other, ExitReason::Normal);
        });
        // The message is received or dropped, and then there is an end.
        match block_on(own.receive()) {
            Ok(message) => {
                assert_eq!(message, 1);
                assert!(block_on(own.receive()).is_err());
            }
            Err(_exited) => {}
        }
        sending.join().unwrap();
    });
}

/// A message is received, comes back to its sender, or is dropped with the mailbox; never two of
/// these.
#[test]
fn loom_actor_a_message_has_one_fate() {
    loom::model(|| {
        let alive = Arc::new(());
        let make = |pid| Cell::<Arc<()>>::new(pid, None, Some(1));
        let cell = pid::enroll(make).expect("there is room");
        let mut own = Own::new(Arc::clone(&cell));
        let (to, message) = (Address::new(Arc::clone(&cell)), Arc::clone(&alive));
        let sending = thread::spawn(move || to.try_send(message).is_err());
        let received = own.try_next().is_ok_and(|event| event.is_some());
        let peer: Peers = cell;
        exit(&peer, ExitReason::Normal);
        let came_back = sending.join().unwrap();
        assert!(!(received && came_back));
        assert!(own.try_next().is_err());
        drop(own);
        assert_eq!(Arc::strong_count(&alive), 1);
    });
}

/// A sender that waits for room gets it, or is told of the end.
#[test]
fn loom_actor_a_sender_does_not_outwait_an_end() {
    for ends in [false, true] {
        loom::model(move || {
            let (a, mut own) = actor(Some(1));
            a.mailbox.try_send(1).unwrap();
            let to = Address::new(Arc::clone(&a));
            let sending = thread::spawn(move || block_on(to.send(2)).is_ok());
            if ends {
                exit(&peer(&a), ExitReason::Normal);
                assert!(!sending.join().unwrap());
            } else {
                assert_eq!(block_on(own.receive()), Ok(1));
                assert_eq!(block_on(own.receive()), Ok(2));
                assert!(sending.join().unwrap());
            }
        });
    }
}

#[test]
fn loom_actor_a_name_does_not_outlive_its_actor() {
    loom::model(|| {
        let (registry, (a, _own)) = (Registry::new(), actor(None));
        let ending = thread::spawn(ends(&a, ExitReason::Normal));
        let address = Address::new(Arc::clone(&a));
        let registered = registry.register("x", &address);
        ending.join().unwrap();
        assert_eq!(registry.pid("x"), None, "{registered:?}");
    });
}

/// Whichever of them is gone first, nobody has anything of the other.
#[test]
fn loom_actor_a_registry_is_dropped_while_its_actor_ends() {
    loom::model(|| {
        let (registry, (a, _own)) = (Registry::new(), actor(None));
        registry.register("x", &Address::new(Arc::clone(&a))).unwrap();
        let ending = thread::spawn(ends(&a, ExitReason::Normal));
        drop(registry);
        assert!(a.core.lock().names.is_empty(), "a name is left");
        ending.join().unwrap();
        // The cell is ours alone, and its context's.
        assert_eq!(Arc::strong_count(&a), 2);
    });
}

/// A name goes to another actor while its owner ends: it is not taken from the other one.
#[test]
fn loom_actor_a_name_goes_on() {
    loom::model(|| {
        let (registry, (a, _a), (b, _b)) = (Registry::new(), actor(None), actor(None));
        let [first, second] = [&a, &b].map(|cell| Address::new(Arc::clone(cell)));
        registry.register("x", &first).unwrap();
        let ending = thread::spawn(ends(&a, ExitReason::Normal));
        registry.unregister("x");
        registry.register("x", &second).unwrap();
        ending.join().unwrap();
        assert_eq!(registry.pid("x"), Some(b.core.pid));
    });
}

/// A stale pid finds nobody, or the one that has ended; never the next one at its place.
#[test]
fn loom_actor_a_stale_pid_reaches_nobody_else() {
    loom::model(|| {
        let (a, _own) = actor(None);
        let stale = a.core.pid;
        let aborting = thread::spawn(move || stale.abort());
        exit(&peer(&a), ExitReason::Normal);
        let (next, _next) = actor(None);
        let _ = aborting.join().unwrap();
        assert_eq!(doom_of(&next), None);
    });
}

// With a task.

/// A scheduler with one queue.
struct Queue(Mutex<Vec<Runnable>>);

impl Schedule for Queue {
    unsafe fn deliver(this: *const Self, task: Runnable) -> Result<(), Runnable> {
        // SAFETY: each model keeps its queue until its threads have ended.
        unsafe { &*this }.0.lock().push(task);
        Ok(())
    }
}

#[derive(Default)]
struct Worker(OwnedTasks);

impl Home for Worker {
    fn index(&self) -> u32 {
        0
    }
    fn tasks(&self) -> &OwnedTasks {
        &self.0
    }
    fn send_home(&self, _: u32, _: CompletedTask) {
        unreachable!("there is one worker");
    }
}

fn run_all(queue: &Queue, worker: &Worker) {
    while let Some(task) = { queue.0.lock().pop() } {
        match task.run(worker) {
            Ran::Off => {}
            Ran::Woken(task) | Ran::Yielded(task) => queue.0.lock().push(task),
        }
    }
}

fn spawn(
    queue: &Arc<Queue>,
    future: impl Future<Output = ExitReason> + Send + 'static,
) -> JoinHandle<ExitReason> {
    let (task, join) = task::allocate(future, Arc::as_ptr(queue), Id::next(), NO_HOME, None, None);
    queue.0.lock().push(task);
    join
}

/// The cell learns of the end of its task, also if that comes before the cell follows it.
#[test]
fn loom_actor_the_end_of_a_task_is_seen() {
    loom::model(|| {
        let queue = Arc::new(Queue(Mutex::new(Vec::new())));
        let (a, _own) = actor(None);
        let join = spawn(&queue, ready(ExitReason::Shutdown));
        let cell = Arc::clone(&a);
        let following = thread::spawn(move || cell.follow(join));
        run_all(&queue, &Worker::default());
        following.join().unwrap();
        assert!(matches!(a.core.ended.get(), Some(ExitReason::Shutdown)));
        assert!(a.core.task.lock().is_none());
    });
}

/// An abort ends the task, also if it comes before the cell has the task's handle.
#[test]
fn loom_actor_an_abort_before_the_handle_is_not_lost() {
    loom::model(|| {
        let queue = Arc::new(Queue(Mutex::new(Vec::new())));
        let worker = Worker::default();
        let (a, _own) = actor(None);
        let join = spawn(&queue, pending());
        let cell = Arc::clone(&a);
        let following = thread::spawn(move || cell.follow(join));
        assert!(doom(&peer(&a), ExitReason::Aborted));
        following.join().unwrap();
        run_all(&queue, &worker);
        assert!(matches!(a.core.ended.get(), Some(ExitReason::Aborted)));
        assert_eq!(worker.0.len(), 0);
    });
}
