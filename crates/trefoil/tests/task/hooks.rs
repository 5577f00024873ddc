//! Hooks that are called for tasks, and the names of tasks.

use crate::support::{Hasty, current_thread};
use parking_lot::Mutex;
use std::future::pending;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use trefoil::fork_join::{self, Divisible};
use trefoil::runtime::{Builder, Handle, Runtime, TaskMeta};
use trefoil::task::{self, Id, JoinSet, LocalSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Spawn,
    Before,
    After,
    End,
}
use Event::{After, Before, End, Spawn};

/// What hooks were called with.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Noted>>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Noted {
    event: Event,
    id: Id,
    at: &'static Location<'static>,
    name: Option<String>,
}

impl Log {
    fn hook(&self, event: Event) -> impl Fn(&TaskMeta<'_>) + Send + Sync + 'static {
        let log = self.clone();
        move |task| {
            let name = task.name().map(String::from);
            log.0.lock().push(Noted { event, id: task.id(), at: task.spawned_at(), name });
        }
    }

    fn all(&self, builder: &mut Builder) {
        builder
            .on_task_spawn(self.hook(Spawn))
            .on_before_task_poll(self.hook(Before))
            .on_after_task_poll(self.hook(After))
            .on_task_terminate(self.hook(End));
    }

    /// The events of one task.
    fn of(&self, id: Id) -> Vec<Event> {
        self.0.lock().iter().filter(|noted| noted.id == id).map(|noted| noted.event).collect()
    }

    fn take(&self) -> Vec<Noted> {
        std::mem::take(&mut self.0.lock())
    }
}

/// Runtimes with all hooks; the last one measures its tasks as well.
fn logged() -> Vec<(Runtime, Log)> {
    let mut all = Vec::new();
    for workers in [0, 1, 2, 4] {
        let mut builder = match workers {
            0 => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        };
        let log = Log::default();
        log.all(&mut builder);
        if workers == 4 {
            builder.enable_metrics_poll_time_histogram();
        }
        let runtime = builder.worker_threads(workers.max(1)).enable_all().build().unwrap();
        all.push((runtime, log));
    }
    all
}

#[test]
fn hooks_follow_a_task_through_its_life() {
    for (runtime, log) in logged() {
        let yields = runtime.spawn(async {
            task::yield_now().await;
            task::yield_now().await;
        });
        let id = yields.id();
        runtime.block_on(yields).unwrap();
        // Whoever joins is woken after the last hook.
        let polls = [Before, After];
        assert_eq!(log.of(id), [&[Spawn], &polls[..], &polls, &polls, &[End]].concat());

        let panics = runtime.spawn(async { panic!("on purpose") });
        let id = panics.id();
        assert!(runtime.block_on(panics).unwrap_err().is_panic());
        assert_eq!(log.of(id), [Spawn, Before, After, End]);

        let rests = runtime.spawn(pending::<()>());
        let id = rests.id();
        runtime.block_on(runtime.spawn(async {})).unwrap();
        rests.abort();
        assert!(runtime.block_on(rests).unwrap_err().is_cancelled());
        let events = log.of(id);
        // It may be aborted before its first poll.
        assert!(events == [Spawn, Before, After, End] || events == [Spawn, End], "{events:?}");

        let (left, handle) = (runtime.spawn(pending::<()>()).id(), runtime.handle().clone());
        drop(runtime);
        assert_eq!((log.of(left)[0], log.of(left).last()), (Spawn, Some(&End)));
        // A task that is refused has a life, too.
        assert_eq!(log.of(handle.spawn(async {}).id()), [Spawn, End]);
    }
}

#[test]
fn hooks_know_where_a_task_was_spawned() {
    for (runtime, log) in logged() {
        let mut lines = vec![line!() + 1];
        let first = runtime.spawn(async {});
        lines.push(line!() + 1);
        let second = runtime.handle().spawn(async {});
        let mut set = JoinSet::new();
        lines.push(line!() + 1);
        set.spawn_on(async {}, runtime.handle());
        lines.push(line!() + 1);
        let pinned = runtime.spawn_pinned(0, async {});
        let (line, inner) = runtime.block_on(async {
            for task in [first, second, pinned] {
                task.await.unwrap();
            }
            set.join_next().await.unwrap().unwrap();
            (line!(), trefoil::spawn(async {}))
        });
        lines.push(line);
        runtime.block_on(inner).unwrap();
        let spawns = log.take().into_iter().filter(|noted| noted.event == Spawn);
        let spawned: Vec<_> = spawns.map(|noted| (noted.at.file(), noted.at.line())).collect();
        let expected: Vec<_> = lines.into_iter().map(|line| (file!(), line)).collect();
        assert_eq!(spawned, expected);
    }
}

/// Closures that another thread forks are in tasks of the runtime.
#[test]
fn hooks_know_where_closures_were_forked() {
    let log = Log::default();
    let mut builder = Builder::new_multi_thread();
    log.all(&mut builder);
    let runtime = builder.worker_threads(2).build().unwrap();
    let _guard = runtime.enter();
    let no = |(): (), (): ()| ();
    let line = line!() + 1;
    runtime.install(|| ());
    runtime.handle().install(|| ());
    fork_join::join(|| (), || ());
    fork_join::fork_all([|| (); 2]);
    fork_join::fork_reduce(0..40, |_| (), no);
    fork_join::for_each((0..40u32).with_grain(1), |_| ());
    fork_join::map_reduce((0..40u32).with_grain(1), |_| (), no);
    // One for the scope, and one for the helper that it has another worker run.
    fork_join::scope(|scope| scope.spawn(|_| ()));
    let lines = [0, 1, 2, 3, 4, 5, 6, 8, 8].map(|n| (file!(), line + n));
    let spawns = log.take().into_iter().filter(|noted| noted.event == Spawn);
    let spawned: Vec<_> = spawns.map(|noted| (noted.at.file(), noted.at.line())).collect();
    assert_eq!(spawned, lines);
}

#[test]
fn hooks_see_names() {
    for (runtime, log) in logged() {
        let own = String::from("own");
        let task = task::Builder::new().name(&own).spawn_on(async {}, runtime.handle()).unwrap();
        drop(own);
        runtime.block_on(task).unwrap();
        runtime.block_on(async {
            task::Builder::new().name("entered").spawn(async {}).unwrap().await.unwrap();
            task::Builder::new().spawn(async {}).unwrap().await.unwrap();
            let mut set = JoinSet::new();
            set.build_task().name("member").spawn(async { 1 }).unwrap();
            let handle = Handle::current();
            set.build_task().name("other member").spawn_on(async { 2 }, &handle).unwrap();
            set.build_task().name("unseen").spawn_blocking(|| 4).unwrap();
            set.build_task().name("unseen").spawn_blocking_on(|| 8, &handle).unwrap();
            assert_eq!(set.join_all().await.into_iter().sum::<u32>(), 15);
        });
        for event in [Spawn, Before, After, End] {
            let log = log.0.lock();
            let mut names: Vec<_> = log
                .iter()
                .filter(|noted| noted.event == event)
                .map(|noted| noted.name.as_deref().unwrap_or("-"))
                .collect();
            names.sort_unstable();
            assert_eq!(names, ["-", "entered", "member", "other member", "own"]);
        }
    }
}

/// The hooks of a runtime see the tasks of its own set, and not those of others.
#[test]
fn hooks_see_tasks_of_a_local_runtime_only() {
    let log = Log::default();
    let mut builder = Builder::new_current_thread();
    log.all(&mut builder);
    let local = builder.build_local(Default::default()).unwrap();
    local.block_on(async {
        task::spawn_local(async {}).await.unwrap();
        task::Builder::new().name("local").spawn_local(async {}).unwrap().await.unwrap();
    });
    let names: Vec<_> = log.take().into_iter().map(|noted| (noted.event, noted.name)).collect();
    let of = |name: Option<&str>| {
        [Spawn, Before, After, End].map(|event| (event, name.map(String::from)))
    };
    assert_eq!(names, [of(None), of(Some("local"))].concat());

    let runtime = builder.build().unwrap();
    let set = LocalSet::new();
    let named = task::Builder::new().name("other").spawn_local_on(async {}, &set).unwrap();
    set.block_on(&runtime, async {
        named.await.unwrap();
        task::spawn_local(async {}).await.unwrap();
        let mut members = JoinSet::new();
        members.build_task().name("member").spawn_local(async {}).unwrap();
        members.build_task().name("member").spawn_local_on(async {}, &set).unwrap();
        assert_eq!(members.join_all().await.len(), 2);
        task::spawn_blocking(|| ()).await.unwrap();
    });
    assert_eq!(log.take(), []);
}

/// Hooks that fork, block in place, spawn, or panic.
#[test]
fn hooks_may_do_what_tasks_may() {
    for workers in [1, 2, 4] {
        let calls = Arc::new(AtomicUsize::new(0));
        let its = Arc::clone(&calls);
        let hook = move |_: &TaskMeta<'_>| {
            its.fetch_add(1, SeqCst);
            assert_eq!(trefoil::fork_join::join(|| 1, || 2), (1, 2));
            task::block_in_place(std::thread::yield_now);
            // Nothing is printed: the harness keeps that in a buffer of all threads.
            std::panic::resume_unwind(Box::new("on purpose"));
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .on_before_task_poll(hook.clone())
            .on_after_task_poll(hook.clone())
            .on_task_terminate(hook)
            .build()
            .unwrap();
        let runtime = Hasty(Some(runtime));
        let spawn = |n| {
            runtime.spawn(async move {
                task::yield_now().await;
                n
            })
        };
        let tasks: Vec<_> = (0..50).map(spawn).collect();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(runtime.block_on(task).unwrap(), n);
        }
        // Two polls, and the end.
        assert_eq!(calls.load(SeqCst), 50 * 5);
    }
}

/// A hook is called for the task that it spawns, too.
#[test]
fn a_hook_may_spawn() {
    let spawned = Arc::new(AtomicUsize::new(0));
    let its = Arc::clone(&spawned);
    let runtime = Builder::new_current_thread()
        .on_task_spawn(move |_| {
            if its.fetch_add(1, SeqCst) < 9 {
                trefoil::spawn(async {});
            }
        })
        .build()
        .unwrap();
    let metrics = runtime.metrics();
    runtime.block_on(async {
        drop(trefoil::spawn(async {}));
        task::yield_now().await;
        task::yield_now().await;
    });
    assert_eq!(spawned.load(SeqCst), 10);
    assert_eq!((metrics.spawned_tasks_count(), metrics.num_alive_tasks()), (10, 0));
}

#[test]
fn a_builder_says_why_it_spawns_no_closure() {
    let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let handle = runtime.handle().clone();
    drop(runtime);
    let refused = task::Builder::new().spawn_blocking_on(|| (), &handle);
    let error = refused.unwrap_err();
    assert!(trefoil::runtime::is_rt_shutdown_err(&error), "{error}");
    // The same text is not enough.
    let other = std::io::Error::other(error.to_string());
    assert!(!trefoil::runtime::is_rt_shutdown_err(&other));
    let mut set = JoinSet::new();
    assert!(set.build_task().spawn_blocking_on(|| (), &handle).is_err());
    assert!(set.is_empty());
}

/// Whoever spawns: a thread in no runtime or in another one, and also if the task is refused.
#[test]
fn hooks_are_called_in_their_runtime() {
    let other = current_thread();
    for (mut builder, is_local) in [
        (Builder::new_multi_thread(), false),
        (Builder::new_current_thread(), false),
        (Builder::new_current_thread(), true),
    ] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let hook = |event| {
            let seen = Arc::clone(&seen);
            move |_: &TaskMeta<'_>| {
                seen.lock().push((event, Handle::try_current().ok().map(|handle| handle.id())));
            }
        };
        builder.worker_threads(1).on_task_spawn(hook(Spawn)).on_task_terminate(hook(End));
        let handle = if is_local {
            let local = builder.build_local(Default::default()).unwrap();
            drop(local.spawn_local(async {}));
            let _other = other.enter();
            drop(local.spawn_local(async {}));
            let task = local.spawn_local(async {});
            local.block_on(task).unwrap();
            local.handle().clone()
        } else {
            let runtime = builder.build().unwrap();
            runtime.block_on(runtime.spawn(async {})).unwrap();
            let handle = runtime.handle().clone();
            other.block_on(async { drop(handle.spawn(async {})) });
            handle
        };
        // Its runtime has ended.
        drop(handle.spawn(async {}));
        other.block_on(async { drop(handle.spawn(async {})) });
        let seen = std::mem::take(&mut *seen.lock());
        let of = |event| seen.iter().filter(|(other, _)| *other == event).count();
        assert_eq!(of(Spawn), if is_local { 5 } else { 4 });
        assert_eq!(of(End), of(Spawn));
        assert!(seen.iter().all(|&(_, runtime)| runtime == Some(handle.id())), "{seen:?}");
    }
}
