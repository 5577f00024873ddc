//! The price of one spawn.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc as std_mpsc;

use may::go;
use palio_protocol::harness::{Iteration, Refusal, Request, Staged, Work};
use palio_protocol::salt;

use crate::scheduler::{ROOM_OUTSIDE, keep_stacks, run, start};

/// What the coroutines of this iteration have added up, how many have ended, how many are to end,
/// and what the last one rings. Statics, since the document's tasks carry nothing.
static SUM: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
static TASKS: AtomicU64 = AtomicU64::new(0);
static RING: OnceLock<std_mpsc::SyncSender<()>> = OnceLock::new();

fn tiny() {
    SUM.fetch_add(salt::of_process().wrapping_add(1), Ordering::Relaxed);
    // AcqRel: the last coroutine speaks for all that came before it.
    if ENDED.fetch_add(1, Ordering::AcqRel) + 1 == TASKS.load(Ordering::Relaxed) {
        let ring = RING.get().expect("it is made before the first spawn");
        ring.send(()).expect("the outside thread waits");
    }
}

struct Spawns {
    is_outside: bool,
    tasks: u64,
    rung: std_mpsc::Receiver<()>,
}

fn spawn_all(tasks: u64) {
    for _ in 0..tasks {
        go!(tiny);
    }
}

impl Staged for Spawns {
    fn prepare(&mut self) {
        // Relaxed: the spawns publish them.
        SUM.store(0, Ordering::Relaxed);
        ENDED.store(0, Ordering::Relaxed);
        TASKS.store(self.tasks, Ordering::Relaxed);
    }

    fn run(&mut self) {
        if self.is_outside {
            spawn_all(self.tasks);
        } else {
            let tasks = self.tasks;
            run(move || spawn_all(tasks));
        }
    }

    fn finish(&mut self) -> Iteration {
        self.rung.recv().expect("the last coroutine rings");
        // Relaxed: whoever rang has ordered them.
        let ended = ENDED.load(Ordering::Relaxed);
        Iteration { answer: SUM.load(Ordering::Relaxed), ops: ended, work: Some(ended) }
    }
}

pub(crate) fn prepare(request: &mut Request) -> Result<Work, Refusal> {
    let tasks: u64 = request.param("tasks")?;
    if tasks == 0 {
        return Err(Refusal::Misuse("--set tasks=0: there is a last task to wait for".into()));
    }
    let is_outside = match request.param::<String>("from")?.as_str() {
        "worker" => false,
        "outside" => true,
        other => {
            let reason = format!("--set from={other} is neither worker nor outside");
            return Err(Refusal::Misuse(reason));
        }
    };
    keep_stacks(tasks as usize);
    start(request)?;
    let (ring, rung) = std_mpsc::sync_channel(ROOM_OUTSIDE);
    // A process has one work.
    RING.set(ring).expect("it is made once");
    Ok(Work::staged(Spawns { is_outside, tasks, rung }))
}
