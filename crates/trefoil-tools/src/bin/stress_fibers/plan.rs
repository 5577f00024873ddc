//! What a fiber is to do, and what comes of it.

use crate::storm::{Marker, Rng, Token, World, check, progress};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use trefoil::fiber;
use trefoil::runtime::Handle;
use trefoil::sync::{mpsc, oneshot};
use trefoil::task::{self, JoinHandle};

/// By which the sum of a fiber grows if one that it joins has panicked.
pub(crate) const OF_A_PANIC: u64 = 1000;

/// What a fiber comes to if nobody aborts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Value(u64),
    Panics,
}

pub(crate) struct Plan {
    steps: Vec<Step>,
    stack_size: Option<usize>,
    pub(crate) expected: Outcome,
}

enum Step {
    Yield,
    Sleep(Duration),
    /// A message from a fiber, a task or a thread.
    Receive(Sender),
    /// So many frames of a kibibyte, with a wait in the deepest one, and a panic after it.
    Recurse(u32, bool),
    Child(Arc<Plan>, Fate),
    Scope(Vec<(Arc<Plan>, Fate)>),
    Task,
    /// A wait in a closure of a fork.
    Fork,
    BlockInPlace,
    Compute(u64),
    /// A local of the thread is lent to another thread.
    Lend,
    /// A panic that it catches.
    Catch,
    Panic,
}

enum Sender {
    Fiber,
    Task,
    Thread,
}

/// What is done to a child.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Joined,
    Aborted,
    AbortedLater,
    Detached,
}

impl Plan {
    pub(crate) fn new(rng: &mut Rng, depth: u32) -> Self {
        let steps: Vec<_> = (0..rng.below(7)).map(|_| Step::new(rng, depth)).collect();
        // The deepest recursion has 40 frames of a kibibyte and a bit.
        let stack_size = match rng.below(8) {
            0 => Some(64 << 10),
            1 => Some(1 << 20),
            _ => None,
        };
        let mut sum = 1;
        let mut panics = false;
        for step in steps.iter().take_while(|step| {
            // What it has done until then does not matter.
            panics = panics || step.panics();
            !panics
        }) {
            sum += step.adds();
        }
        let expected = if panics { Outcome::Panics } else { Outcome::Value(sum) };
        Self { steps, stack_size, expected }
    }

    fn adds(&self) -> u64 {
        match self.expected {
            Outcome::Value(sum) => sum,
            Outcome::Panics => OF_A_PANIC,
        }
    }
}

impl Fate {
    fn new(rng: &mut Rng) -> Self {
        match rng.below(8) {
            0 => Self::Aborted,
            1 => Self::AbortedLater,
            2 => Self::Detached,
            _ => Self::Joined,
        }
    }

    fn aborts(self) -> bool {
        matches!(self, Self::Aborted | Self::AbortedLater)
    }
}

impl Step {
    fn new(rng: &mut Rng, depth: u32) -> Self {
        match rng.below(40) {
            0..=5 => Self::Yield,
            6..=8 => Self::Sleep(Duration::from_micros(rng.below(400))),
            9..=12 => Self::Receive(match rng.below(20) {
                0 => Sender::Thread,
                1..=9 => Sender::Task,
                _ => Sender::Fiber,
            }),
            13..=17 => Self::Recurse(1 + rng.below(40) as u32, rng.one_in(12)),
            18..=23 if depth > 0 => Self::Child(Arc::new(Self::child(rng, depth)), Fate::new(rng)),
            24..=27 if depth > 0 => {
                let children = (0..rng.below(4)).map(|_| {
                    let fate = match Fate::new(rng) {
                        // The scope waits for it, and would panic with it.
                        Fate::Detached => Fate::Joined,
                        fate => fate,
                    };
                    (Arc::new(Self::child(rng, depth)), fate)
                });
                Self::Scope(children.collect())
            }
            28 => Self::Fork,
            29 => Self::BlockInPlace,
            30..=32 => Self::Compute(rng.below(500)),
            33 if rng.one_in(8) => Self::Lend,
            34 | 35 => Self::Catch,
            36 => Self::Panic,
            _ => Self::Task,
        }
    }

    fn child(rng: &mut Rng, depth: u32) -> Plan {
        Plan::new(rng, depth - 1)
    }

    fn panics(&self) -> bool {
        matches!(self, Self::Panic | Self::Recurse(_, true))
    }

    fn adds(&self) -> u64 {
        match self {
            Self::Child(plan, Fate::Joined) => plan.adds(),
            Self::Scope(children) => children
                .iter()
                .filter(|(_, fate)| !fate.aborts())
                .map(|(plan, _)| plan.adds())
                .sum(),
            Self::Recurse(depth, _) => u64::from(*depth),
            _ => 0,
        }
    }
}

/// Spawns a fiber that carries a plan out.
pub(crate) fn spawn(world: &Arc<World>, handle: &Handle, plan: Arc<Plan>) -> JoinHandle<u64> {
    world.fibers.fetch_add(1, SeqCst);
    let (token, its) = (Token::new(world), world.clone());
    let stack_size = plan.stack_size;
    let f = move || {
        let _token = token;
        run(&its, &plan)
    };
    match stack_size {
        Some(bytes) => {
            let builder = fiber::Builder::new().stack_size(bytes).name("of the storm");
            builder.spawn_on(handle, f).expect("there is memory for a stack")
        }
        None => {
            let _guard = handle.enter();
            fiber::spawn(f)
        }
    }
}

thread_local! {
    static PLACE: Place = const { Place(0) };
}

/// A local of a thread, which has a destructor.
struct Place(u8);

impl Drop for Place {
    fn drop(&mut self) {
        black_box(self.0);
    }
}

/// Where this thread's local is.
fn place() -> usize {
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

fn run(world: &Arc<World>, plan: &Plan) -> u64 {
    let _token = Token::new(world);
    let at_first = (place(), thread::current().id());
    let mut sum = 1;
    for step in &plan.steps {
        progress();
        sum += take(world, step);
        let now = (place(), thread::current().id());
        check(now == at_first, || "a fiber has left its thread".to_owned());
    }
    sum
}

fn take(world: &Arc<World>, step: &Step) -> u64 {
    match step {
        Step::Yield => fiber::yield_now(),
        Step::Sleep(duration) => fiber::sleep(*duration),
        Step::Receive(sender) => receive(world, sender),
        Step::Recurse(depth, panics) => return recurse(world, *depth, *panics),
        Step::Child(plan, fate) => {
            let child = spawn(world, &Handle::current(), plan.clone());
            match fate {
                Fate::Detached => return 0,
                Fate::Aborted => child.abort(),
                Fate::AbortedLater => {
                    fiber::yield_now();
                    child.abort();
                }
                Fate::Joined => {}
            }
            let added = world.judge(child.join(), plan, fate.aborts());
            return if fate.aborts() { 0 } else { added };
        }
        Step::Scope(children) => return scope(world, children),
        Step::Task => {
            let token = Token::new(world);
            let task = task::spawn(async move {
                let _token = token;
                task::yield_now().await;
                1
            });
            let joined = fiber::wait(task);
            check(joined.is_ok() || world.ends(), || "a task was lost".to_owned());
        }
        Step::Fork => {
            let token = Token::new(world);
            let (one, two) = trefoil::fork_join::join(
                || {
                    fiber::wait(task::yield_now());
                    drop(token);
                    1
                },
                || black_box(2),
            );
            check((one, two) == (1, 2), || "a fork has other results".to_owned());
        }
        Step::BlockInPlace => task::block_in_place(thread::yield_now),
        Step::Compute(checks) => (0..*checks).for_each(|_| fiber::check!()),
        Step::Lend => lend(world),
        Step::Catch => {
            let token = Token::new(world);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                fiber::yield_now();
                resume_unwind(Box::new(Marker(token)));
            }));
            if let Err(payload) = caught
                && !payload.is::<Marker>()
            {
                // An abort unwinds it.
                resume_unwind(payload);
            }
        }
        Step::Panic => resume_unwind(Box::new(Marker(Token::new(world)))),
    }
    0
}

fn receive(world: &Arc<World>, sender: &Sender) {
    let token = Token::new(world);
    let received = match sender {
        Sender::Fiber => {
            let (sends, mut receives) = mpsc::channel(1);
            world.fibers.fetch_add(1, SeqCst);
            fiber::spawn(move || drop(sends.blocking_send(token)));
            receives.blocking_recv().is_some()
        }
        Sender::Task => {
            let (sends, receives) = oneshot::channel();
            task::spawn(async move { drop(sends.send(token)) });
            fiber::wait(receives).is_ok()
        }
        Sender::Thread => {
            let (sends, receives) = oneshot::channel();
            thread::spawn(move || drop(sends.send(token)));
            fiber::wait(receives).is_ok()
        }
    };
    check(received || world.ends(), || "a message was lost".to_owned());
}

/// Has a destructor that waits.
struct Yields(#[expect(dead_code, reason = "it is counted")] Token);

impl Drop for Yields {
    fn drop(&mut self) {
        fiber::yield_now();
    }
}

pub(crate) fn recurse(world: &Arc<World>, depth: u32, panics: bool) -> u64 {
    let frame = [depth as u8; 1024];
    black_box(&frame);
    let _token = Token::new(world);
    if depth > 1 {
        return recurse(world, depth - 1, panics) + u64::from(frame[1023] == depth as u8);
    }
    let _yields = Yields(Token::new(world));
    fiber::yield_now();
    if panics {
        resume_unwind(Box::new(Marker(Token::new(world))));
    }
    fiber::wait(task::yield_now());
    1
}

fn scope(world: &Arc<World>, children: &[(Arc<Plan>, Fate)]) -> u64 {
    /// Nobody is alive who has borrowed this.
    struct Borrowed(AtomicU64);
    impl Drop for Borrowed {
        fn drop(&mut self) {
            let alive = *self.0.get_mut();
            check(alive == 0, || format!("{alive} fibers have outlived their scope"));
        }
    }
    struct Borrows<'a>(&'a Borrowed);
    impl Drop for Borrows<'_> {
        fn drop(&mut self) {
            self.0.0.fetch_sub(1, SeqCst);
        }
    }
    let borrowed = Borrowed(AtomicU64::new(0));
    let borrow = || {
        borrowed.0.fetch_add(1, SeqCst);
        Borrows(&borrowed)
    };
    fiber::scope(|scope| {
        let spawned: Vec<_> = children
            .iter()
            .map(|(plan, fate)| {
                world.fibers.fetch_add(1, SeqCst);
                let (token, borrows) = (Token::new(world), borrow());
                let child = scope.spawn(move || {
                    let _both = (token, borrows);
                    run(world, plan)
                });
                match fate {
                    Fate::Aborted => child.abort(),
                    Fate::AbortedLater => {
                        fiber::yield_now();
                        child.abort();
                    }
                    Fate::Joined | Fate::Detached => {}
                }
                (child, plan, fate.aborts())
            })
            .collect();
        let mut sum = 0;
        for (child, plan, is_aborted) in spawned {
            let added = world.judge(child.join(), plan, is_aborted);
            sum += if is_aborted { 0 } else { added };
        }
        sum
    })
}

fn lend(world: &Arc<World>) {
    PLACE.with(|place| {
        thread::scope(|scope| {
            let token = Token::new(world);
            let lent = scope.spawn(move || {
                thread::yield_now();
                black_box(place.0);
                drop(token);
            });
            while !lent.is_finished() {
                fiber::yield_now();
            }
        });
    });
}
