//! Storms of fibers and of actors that are fibers, whose every end is accounted for.
//!
//! `cargo run --release -p trefoil-tools --bin stress_fibers -- [--seconds N] [--seed N]
//! [--workers W]`
//!
//! A round is 100,000 fibers, on one runtime after the other, of 1, 2, 3, 8 or 64 workers
//! (`--workers` chooses one number). On each runtime are, at the same time:
//!
//! - trees of fibers that do at random all that fibers do (`plan.rs`), whose results are foreseen;
//! - threads from outside that spawn, join, abort and fork;
//! - trees of linked actors under the eyes of two observers on another runtime, and a supervisor
//!   whose children fail (`actors.rs`);
//! - at the end, fibers that rest in all manners, that run, and that have not begun (`ends.rs`).
//!
//! Some runtimes are shut down while all of this goes on. Then:
//!
//! - everything that was made is dropped, and nothing twice;
//! - each handle has an output, a panic or an abort, as foreseen; nothing is for ever pending;
//! - each observer is told of each actor's end once by its link and once by its monitor, with the
//!   reason that a joiner gets.
//!
//! The seed is printed, and decides what is done; not when. If something is wrong, or if nothing
//! happens for 30 seconds, the process aborts.

#[cfg(unix)]
mod actors;
#[cfg(unix)]
mod ends;
#[cfg(unix)]
mod plan;

#[cfg(unix)]
fn main() {
    storm::main();
}

#[cfg(not(unix))]
fn main() {
    println!("fibers are those of Unix");
}

#[cfg(unix)]
mod storm {
    use crate::plan::Plan;
    use crate::{actors, ends, plan};
    use std::hash::{BuildHasher, RandomState};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};
    use trefoil::runtime::{Builder, Handle, Runtime};
    use trefoil::task::{self, JoinError, JoinHandle};

    /// How many fibers a round has.
    const ROUND: u64 = 100_000;

    /// How long nothing may happen before the watchdog aborts.
    const STUCK_AFTER: Duration = Duration::from_secs(30);

    static PROGRESS: AtomicU64 = AtomicU64::new(0);
    static SEED: AtomicU64 = AtomicU64::new(0);
    static CURRENT: Mutex<Option<Handle>> = Mutex::new(None);

    /// Something has happened.
    pub(crate) fn progress() {
        PROGRESS.fetch_add(1, Relaxed);
    }

    /// Ends the process. A panic would be caught by the fiber that is in it.
    pub(crate) fn fail(what: &str) -> ! {
        eprintln!("seed {}: {what}", SEED.load(SeqCst));
        if let Ok(current) = CURRENT.try_lock()
            && let Some(handle) = &*current
        {
            eprintln!("{}", handle.dump());
        }
        std::process::abort();
    }

    /// What is wrong if a claim does not hold.
    pub(crate) fn check(holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            fail(&what());
        }
    }

    /// splitmix64 (Steele, Lea, Flood 2014).
    #[derive(Clone, Copy)]
    pub(crate) struct Rng(pub(crate) u64);

    impl Rng {
        pub(crate) fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }

        pub(crate) fn below(&mut self, n: u64) -> u64 {
            self.next() % n
        }

        pub(crate) fn one_in(&mut self, n: u64) -> bool {
            self.below(n) == 0
        }
    }

    /// What is known of everything on one runtime.
    #[derive(Default)]
    pub(crate) struct World {
        made: AtomicU64,
        dropped: AtomicU64,
        pub(crate) fibers: AtomicU64,
        /// The runtime is being shut down, or is about to be.
        ends: AtomicBool,
    }

    /// What a fiber panics with, on purpose.
    pub(crate) struct Marker(#[expect(dead_code, reason = "it is counted")] pub(crate) Token);

    /// A thing that is counted.
    pub(crate) struct Token(Arc<World>, AtomicBool);

    impl Token {
        pub(crate) fn new(world: &Arc<World>) -> Self {
            world.made.fetch_add(1, SeqCst);
            Self(world.clone(), AtomicBool::new(false))
        }
    }

    impl Drop for Token {
        fn drop(&mut self) {
            check(!self.1.swap(true, SeqCst), || "a destructor ran twice".to_owned());
            self.0.dropped.fetch_add(1, SeqCst);
            progress();
        }
    }

    impl World {
        pub(crate) fn ends(&self) -> bool {
            self.ends.load(SeqCst)
        }

        fn alive(&self) -> u64 {
            // In this order, so that the difference is not negative.
            let dropped = self.dropped.load(SeqCst);
            self.made.load(SeqCst) - dropped
        }

        /// What a plan's fiber has come to, by which `sum` grows: see `Plan::expected`.
        pub(crate) fn judge(
            &self,
            joined: Result<u64, JoinError>,
            plan: &Plan,
            may_be_aborted: bool,
        ) -> u64 {
            progress();
            match joined {
                Ok(sum) => {
                    let foreseen = plan.expected == plan::Outcome::Value(sum);
                    check(foreseen || self.ends(), || {
                        format!("{sum} was returned, and not {:?}", plan.expected)
                    });
                    sum
                }
                Err(error) if error.is_cancelled() => {
                    let foreseen = may_be_aborted || self.ends();
                    check(foreseen, || "nobody has aborted what was cancelled".to_owned());
                    0
                }
                Err(error) => {
                    let payload = error.into_panic();
                    if payload.is::<Marker>() {
                        let foreseen = plan.expected == plan::Outcome::Panics;
                        check(foreseen, || "nobody has foreseen that panic".to_owned());
                    } else {
                        // Timers, for one, panic at a runtime's end.
                        check(self.ends(), || {
                            let text = payload.downcast_ref::<String>().map(String::as_str);
                            let text = text.or(payload.downcast_ref::<&str>().copied());
                            format!("a panic from nowhere: {text:?}")
                        });
                    }
                    plan::OF_A_PANIC
                }
            }
        }
    }

    /// A fiber from outside, and what it is to come to.
    struct Root {
        join: JoinHandle<u64>,
        plan: Arc<Plan>,
        is_aborted: bool,
    }

    impl Root {
        fn spawn(world: &Arc<World>, handle: &Handle, rng: &mut Rng) -> Self {
            let plan = Arc::new(Plan::new(rng, 4));
            let join = plan::spawn(world, handle, plan.clone());
            let is_aborted = rng.one_in(6);
            if is_aborted {
                if rng.one_in(2) {
                    std::thread::yield_now();
                }
                join.abort();
            }
            Self { join, plan, is_aborted }
        }
    }

    /// Spawns, joins, aborts and forks from outside, until the runtime ends or it is through.
    fn be_foreign(world: &Arc<World>, handle: &Handle, mut rng: Rng) {
        let mut roots = Vec::new();
        for _ in 0..rng.below(60) {
            roots.push(Root::spawn(world, handle, &mut rng));
            if rng.one_in(8) {
                // In a worker's place, which it gives up for what it waits for.
                let plan = Arc::new(Plan::new(&mut rng, 2));
                let spawns = || plan::spawn(world, handle, plan.clone());
                let (join, ()) = handle.install_here(|| trefoil::fork_join::join(spawns, progress));
                world.judge(join.join(), &plan, false);
            }
            if rng.one_in(3) {
                let Root { join, plan, is_aborted } =
                    roots.swap_remove(rng.below(roots.len() as u64) as usize);
                world.judge(join.join(), &plan, is_aborted);
            }
        }
        for Root { join, plan, is_aborted } in roots {
            world.judge(join.join(), &plan, is_aborted);
        }
    }

    fn build(rng: &mut Rng, workers: Option<usize>) -> Runtime {
        let mut builder = Builder::new_multi_thread();
        builder
            .worker_threads(workers.unwrap_or([1, 2, 2, 3, 8, 64][rng.below(6) as usize]))
            .serve_in_block_on(rng.one_in(3))
            .handoff_while_forking(!rng.one_in(3))
            .enable_all();
        if rng.one_in(3) {
            builder.fiber_budget(1 + rng.below(64) as u32).fiber_timeslice(None);
        }
        if rng.one_in(3) {
            builder.thread_keep_alive(Duration::ZERO);
        }
        builder.build().unwrap()
    }

    /// One runtime, from its beginning to its end. Returns how many fibers there were.
    fn runtime(seed: u64, workers: Option<usize>, observers: &Handle) -> u64 {
        SEED.store(seed, SeqCst);
        let mut rng = Rng(seed);
        let world = Arc::new(World::default());
        let runtime = build(&mut rng, workers);
        let handle = runtime.handle().clone();
        *CURRENT.lock().unwrap() = Some(handle.clone());
        let foreigners: Vec<_> = (0..rng.below(3))
            .map(|_| {
                let (world, handle, rng) = (world.clone(), handle.clone(), Rng(rng.next()));
                std::thread::spawn(move || be_foreign(&world, &handle, rng))
            })
            .collect();
        let actors = actors::Storm::begin(&world, &runtime, observers, Rng(rng.next()));
        let supervised = actors::supervise(&world, &runtime, Rng(rng.next()));
        let mut roots: Vec<_> =
            (0..100 + rng.below(300)).map(|_| Root::spawn(&world, &handle, &mut rng)).collect();
        // One in four is shut down in the midst of it.
        if !rng.one_in(4) {
            let awaited = roots.drain(..);
            if rng.one_in(2) {
                for Root { join, plan, is_aborted } in awaited {
                    world.judge(join.join(), &plan, is_aborted);
                }
            } else {
                runtime.block_on(async {
                    for Root { join, plan, is_aborted } in awaited {
                        world.judge(join.await, &plan, is_aborted);
                    }
                    task::yield_now().await;
                });
            }
        }
        if rng.one_in(2) {
            supervised.stop(&runtime);
        }
        let resting = ends::spawn(&world, &handle, &mut rng);
        world.ends.store(true, SeqCst);
        let way = rng.below(3);
        match way {
            0 => runtime.shutdown_timeout(Duration::from_secs(60)),
            1 => runtime.shutdown_background(),
            _ => drop(runtime),
        }
        for root in roots {
            world.judge(root.join.join(), &root.plan, root.is_aborted);
        }
        foreigners.into_iter().for_each(|thread| thread.join().unwrap());
        resting.judge(&world, way == 2);
        actors.judge();
        let patience = Instant::now();
        while world.alive() > 0 {
            let left = || format!("{} are left of {:?}", world.alive(), world.made);
            check(patience.elapsed() < STUCK_AFTER, left);
            std::thread::yield_now();
        }
        world.fibers.load(SeqCst)
    }

    fn watch() {
        let mut last = (0, Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let now = PROGRESS.load(Relaxed);
            if now != last.0 {
                last = (now, Instant::now());
            } else if last.1.elapsed() > STUCK_AFTER {
                fail(&format!("nothing has happened for {STUCK_AFTER:?}"));
            }
        }
    }

    pub(crate) fn main() {
        let (mut seconds, mut workers) = (10, None);
        let mut seed = RandomState::new().hash_one(0) >> 32;
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let number = words.next().and_then(|n| n.parse::<u64>().ok());
            match (word.as_str(), number) {
                ("--seconds", Some(n)) => seconds = n,
                ("--seed", Some(n)) => seed = n,
                // A current-thread runtime has no fibers.
                ("--workers", Some(n)) => workers = Some(n.max(1) as usize),
                _ => panic!("usage: stress_fibers [--seconds N] [--seed N] [--workers W]"),
            }
        }
        println!("seed {seed}");
        // Thousands panic on purpose, and timers do at the end of a runtime.
        std::panic::set_hook(Box::new(|_| ()));
        std::thread::spawn(watch);
        let observers = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut rng = Rng(seed);
        let (mut rounds, mut runtimes, mut fibers) = (0, 0, 0);
        while Instant::now() < end {
            let mut round = 0;
            while round < ROUND {
                round += runtime(rng.next(), workers, observers.handle());
                runtimes += 1;
            }
            fibers += round;
            rounds += 1;
        }
        let (actors, told) = actors::counts();
        println!(
            "{rounds} rounds, {runtimes} runtimes, {fibers} fibers, {actors} actors, {told} signals: \
             all accounted for"
        );
    }
}
