//! The row `spawn_one`: the price of one spawn, in a runtime that lives through all samples.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc as std_mpsc;

use palio_protocol::harness::{Iteration, Refusal, Request, Staged, Work};
use palio_protocol::salt;

/// Room of the channel on which the sampling thread waits.
const ROOM_OUTSIDE: usize = 1000;

/// A runtime of tasks that block, which lives as long as this.
pub trait Lasting: Sized + 'static {
    /// Starts it, for a row with so many tasks at a time.
    ///
    /// # Errors
    /// A knob has no such position.
    fn start(request: &mut Request, tasks: u64) -> Result<Self, Refusal>;
    /// Calls `root` on the sampling thread, which is no worker.
    fn run_outside(&self, root: impl FnOnce());
    /// Runs `root` as a task on the workers, and waits for it on the sampling thread.
    fn run_inside(&self, root: impl FnOnce() + Send + 'static);
    /// Spawns a task that nobody joins, from either place.
    fn spawn_detached(task: fn());
}

/// What the tasks of this iteration have added up, how many have ended, how many are to end, and
/// what the last one rings. Statics, since the document's tasks carry nothing.
static SUM: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
static TASKS: AtomicU64 = AtomicU64::new(0);
static RING: OnceLock<std_mpsc::SyncSender<()>> = OnceLock::new();

fn tiny() {
    SUM.fetch_add(salt::of_process().wrapping_add(1), Ordering::Relaxed);
    // AcqRel: the last task speaks for all that came before it.
    if ENDED.fetch_add(1, Ordering::AcqRel) + 1 == TASKS.load(Ordering::Relaxed) {
        let ring = RING.get().expect("it is made before the first spawn");
        ring.send(()).expect("the outside thread waits");
    }
}

fn spawn_all<L: Lasting>(tasks: u64) {
    for _ in 0..tasks {
        L::spawn_detached(tiny);
    }
}

struct Spawns<L> {
    runtime: L,
    is_outside: bool,
    tasks: u64,
    rung: std_mpsc::Receiver<()>,
}

impl<L: Lasting> Staged for Spawns<L> {
    fn prepare(&mut self) {
        // Relaxed: the spawns publish them.
        SUM.store(0, Ordering::Relaxed);
        ENDED.store(0, Ordering::Relaxed);
        TASKS.store(self.tasks, Ordering::Relaxed);
    }

    fn run(&mut self) {
        let tasks = self.tasks;
        if self.is_outside {
            self.runtime.run_outside(|| spawn_all::<L>(tasks));
        } else {
            self.runtime.run_inside(move || spawn_all::<L>(tasks));
        }
    }

    fn finish(&mut self) -> Iteration {
        self.rung.recv().expect("the last task rings");
        // Relaxed: whoever rang has ordered them.
        let ended = ENDED.load(Ordering::Relaxed);
        Iteration { answer: SUM.load(Ordering::Relaxed), ops: ended, work: Some(ended) }
    }
}

/// The row `spawn_one`, of scope `steady`.
///
/// # Errors
/// Its parameters, or knobs of the runtime, have no such values.
pub fn spawn_one<L: Lasting>(request: &mut Request) -> Result<Work, Refusal> {
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
    let runtime = L::start(request, tasks)?;
    let (ring, rung) = std_mpsc::sync_channel(ROOM_OUTSIDE);
    // A process has one work.
    RING.set(ring).expect("it is made once");
    Ok(Work::staged(Spawns { runtime, is_outside, tasks, rung }))
}
