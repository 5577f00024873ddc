//! Fork-join on the workers of the multi-thread runtime.

use std::marker::PhantomData;
use std::ops::{Add, Range};
use std::sync::OnceLock;

use fork_join_workloads::{ForkJoin, Tally};
use palio_protocol::forks::Forks;
use palio_protocol::harness::{Prepare, Refusal, Request, Work};

use crate::{MultiThread, Scheduler, Trefoil, prepare_one_of, read_io, start, turned};

/// What `--set` accepts beside the parameters, in a runtime whose workers have their own threads:
/// `async` and `caller` in the rows that fork, `block_on` and `channels` in others.
pub const KNOBS_WITH_FORKS: &[(&str, &str)] = &[
    ("async", "on"),
    crate::BLOCK_ON,
    ("caller", "works"),
    channel_crates::KNOB,
    crate::IO,
    turned::EVENTS,
    turned::SHARED,
    turned::SEARCH,
    turned::LIFO,
];

/// Whether the workers that fork also serve tasks. Not a second `Scheduler`: that would compile the
/// rows twice, and two copies of the same loop differ by where they lie.
static SERVES_TASKS: OnceLock<bool> = OnceLock::new();

/// Whether the sampling thread takes a worker's place. Not a second `Scheduler`, for the same
/// reason.
static CALLER_WORKS: OnceLock<bool> = OnceLock::new();

/// A closure that the sampling thread installs, and `join` inside of it.
impl ForkJoin for Trefoil<MultiThread> {
    type Frame<'f> = ();

    fn start(threads: usize) -> Self {
        let mut builder = MultiThread::builder(threads);
        let runtime = if SERVES_TASKS.get() == Some(&false) {
            turned::apply(&mut builder);
            builder
                .handoff_while_forking(false)
                .event_interval(u32::MAX)
                .global_queue_interval(u32::MAX);
            builder.build().expect("the runtime starts")
        } else {
            start(builder)
        };
        Self { runtime, scheduler: PhantomData }
    }

    fn install<R: Send>(&self, work: impl FnOnce(&mut ()) -> R + Send) -> R {
        let work = || work(&mut ());
        let caller_works = CALLER_WORKS.get() != Some(&false);
        if caller_works { self.runtime.install_here(work) } else { self.runtime.install(work) }
    }

    #[inline]
    fn join<C: Forks, RA: Send, RB: Send>(
        _: &mut (),
        a: impl FnOnce(&mut ()) -> RA + Send,
        b: impl FnOnce(&mut ()) -> RB + Send,
    ) -> (RA, RB) {
        C::handed(1);
        trefoil::fork_join::join(|| a(&mut ()), || b(&mut ()))
    }

    /// All children from one frame, each a job of its own but the one that the frame itself runs.
    #[inline]
    fn fork_each<C: Forks>(
        _: &mut (),
        children: Range<usize>,
        child: &(impl Fn(&mut (), usize) -> Tally + Sync),
    ) -> Tally {
        C::handed((children.len() as u64).saturating_sub(1));
        let child = |i| child(&mut (), i);
        trefoil::fork_join::fork_reduce(children, child, Tally::add).unwrap_or_default()
    }
}

/// The rows of [`fork_join_workloads`], each of which reads the [`KNOBS_WITH_FORKS`].
pub fn rows_that_fork() -> impl Iterator<Item = (&'static str, Prepare)> {
    fork_join_workloads::rows::<Trefoil<MultiThread>>()
        .into_iter()
        .map(|(name, _)| (name, prepare as Prepare))
}

/// Any row that forks, after its knobs were read.
fn prepare(request: &mut Request) -> Result<Work, Refusal> {
    let serves_tasks = !request.is_turned("async", ["on", "off"])?;
    let caller_works = !request.is_turned("caller", ["works", "waits"])?;
    SERVES_TASKS.set(serves_tasks).expect("a process prepares one row");
    CALLER_WORKS.set(caller_works).expect("a process prepares one row");
    read_io(request)?;
    turned::read(request, true)?;
    if !serves_tasks && turned::has_intervals() {
        let reason = "--set async=off sets both intervals by itself: leave one of the knobs out";
        return Err(Refusal::Misuse(reason.to_owned()));
    }
    prepare_one_of(&fork_join_workloads::rows::<Trefoil<MultiThread>>(), request)
}
