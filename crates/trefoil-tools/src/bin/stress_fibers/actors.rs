//! Trees of linked actors, most of them fibers, and observers who live longer.

use crate::storm::{Marker, Rng, Token, World, check, progress};
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::time::Duration;
use trefoil::actor::supervisor::{Child, Handle as Supervisor, Strategy, Supervisor as Supervises};
use trefoil::actor::{self, Address, Builder, Context, Event, ExitReason, Registry};
use trefoil::runtime::{Handle, Runtime};
use trefoil::sync::mpsc;
use trefoil::{fiber, task};

static ACTORS: AtomicU64 = AtomicU64::new(0);
static TOLD: AtomicU64 = AtomicU64::new(0);

/// How many actors there were, and how many signals have told observers of their ends.
pub(crate) fn counts() -> (u64, u64) {
    (ACTORS.load(Relaxed), TOLD.load(Relaxed))
}

/// Somebody to do something to, or nobody.
struct Message(Option<Address<Message>>, #[expect(dead_code, reason = "it counts")] Token);

/// Whom the observers are told to watch.
type Watch = mpsc::UnboundedSender<Address<Message>>;

#[derive(Clone)]
struct Seeds {
    world: Arc<World>,
    observers: [Watch; 2],
    registry: Registry,
}

pub(crate) struct Storm {
    observers: [Address<()>; 2],
}

impl Storm {
    /// On a runtime, with observers on another one, which lives longer.
    pub(crate) fn begin(
        world: &Arc<World>,
        runtime: &Runtime,
        outer: &Handle,
        mut rng: Rng,
    ) -> Self {
        let mut addresses = Vec::new();
        let observers = std::array::from_fn(|_| {
            let (watch, all) = mpsc::unbounded_channel();
            let (_guard, rng) = (outer.enter(), Rng(rng.next()));
            addresses.push(actor::spawn(move |own| observe(own, all, rng)));
            watch
        });
        let observers: [Watch; 2] = observers;
        let seeds = Seeds { world: world.clone(), observers, registry: Registry::new() };
        let _guard = runtime.enter();
        for _ in 0..rng.below(24) {
            seeds.spawn(Rng(rng.next()), 4, None);
        }
        let observers = addresses.try_into().expect("there are two");
        Self { observers }
    }

    /// All of the runtime's actors have ended, or are about to.
    pub(crate) fn judge(self) {
        for observer in self.observers {
            let reason = observer.blocking_join();
            check(reason.is_normal(), || format!("an observer has failed: {reason}"));
        }
    }
}

impl Seeds {
    fn message(&self, about: Option<Address<Message>>) -> Message {
        Message(about, Token::new(&self.world))
    }

    fn spawn(
        &self,
        mut rng: Rng,
        depth: u32,
        parent: Option<&Context<Message>>,
    ) -> Address<Message> {
        let mut builder = Builder::new();
        if rng.one_in(3) {
            builder = builder.capacity(2);
        }
        if let Some(parent) = parent {
            builder = builder.link(parent);
        }
        let (its, token) = (self.clone(), Token::new(&self.world));
        let address = if rng.one_in(4) {
            builder.spawn(async move |own| {
                let _token = token;
                its.live(own, rng, depth).await
            })
        } else {
            self.world.fibers.fetch_add(1, SeqCst);
            let spawned = builder.stack_size(64 << 10).spawn_fiber(move |own| {
                let _token = token;
                fiber::wait(its.live(own, rng, depth))
            });
            spawned.expect("there is memory for a stack")
        };
        ACTORS.fetch_add(1, Relaxed);
        for observer in &self.observers {
            let _ = observer.send(address.clone());
        }
        address
    }

    async fn live(self, mut own: Context<Message>, mut rng: Rng, depth: u32) -> ExitReason {
        let _token = Token::new(&self.world);
        own.trap_exit(rng.one_in(3));
        let mut known: Vec<Address<Message>> = vec![own.address()];
        let mut monitors = Vec::new();
        for _ in 0..rng.below(30) {
            progress();
            let mut pick = || known[rng.below(known.len() as u64) as usize].clone();
            let (somebody, other) = (pick(), pick());
            match rng.below(16) {
                0 | 1 if depth > 0 => {
                    let parent = rng.one_in(2).then_some(&own);
                    known.push(self.spawn(Rng(rng.next()), depth - 1, parent));
                }
                2 | 3 => own.link(&somebody),
                4 => own.unlink(&somebody),
                5 | 6 => monitors.push(own.monitor(&somebody)),
                7 => {
                    if let Some(monitor) = monitors.pop() {
                        own.demonitor(monitor);
                    }
                }
                8 | 9 => drop(somebody.try_send(self.message(Some(other)))),
                10 => drop(own.send_exit(&somebody, ExitReason::Shutdown)),
                11 if rng.one_in(3) => somebody.abort(),
                12 => {
                    let name = ["x", "y", "z"][rng.below(3) as usize];
                    let _ = self.registry.register(name, &own.address());
                    if let Ok(found) = self.registry.find(name) {
                        known.push(found);
                    }
                }
                13 => task::yield_now().await,
                14 if rng.one_in(8) => resume_unwind(Box::new(Marker(Token::new(&self.world)))),
                _ => match own.try_next() {
                    Ok(Some(Event::Message(Message(Some(about), _)))) => known.push(about),
                    Ok(_) => {}
                    Err(_) => return ExitReason::Shutdown,
                },
            }
        }
        if rng.one_in(2) {
            return ExitReason::Normal;
        }
        // Until somebody ends it.
        while own.next().await.is_ok() {}
        ExitReason::Shutdown
    }
}

/// Watches all actors of a runtime, and accounts for what it is told.
async fn observe(
    mut own: Context<()>,
    mut all: mpsc::UnboundedReceiver<Address<Message>>,
    mut rng: Rng,
) {
    own.trap_exit(true);
    let mut watched = HashMap::new();
    let mut actors = Vec::new();
    // Until nobody is alive who might spawn one.
    while let Some(actor) = all.recv().await {
        watched.insert(own.monitor(&actor), actor.pid());
        own.link(&actor);
        if rng.one_in(12) {
            actor.abort();
        }
        actors.push(actor);
        progress();
    }
    let mut ends = HashMap::new();
    for actor in &actors {
        ends.insert(actor.pid(), (actor.join().await.to_string(), 0));
    }
    let count = watched.len();
    check(count == actors.len(), || "a monitor has the name of another".to_owned());
    // Whoever has joined an actor has been told of its end.
    while let Some(event) = own.try_next().expect("an observer lives") {
        TOLD.fetch_add(1, Relaxed);
        let (pid, reason) = match event {
            Event::Down { monitor, pid, reason } => {
                let its = watched.remove(&monitor);
                check(its == Some(pid), || format!("a monitor has told twice of {pid:?}"));
                (pid, reason)
            }
            Event::Exit { from, reason } => {
                let end = from.and_then(|from| ends.get_mut(&from));
                let Some((end, from)) = end.zip(from) else {
                    crate::storm::fail("an exit signal from nobody")
                };
                end.1 += 1;
                (from, reason)
            }
            Event::Message(()) => crate::storm::fail("a message from nobody"),
        };
        let is_its = matches!(reason, ExitReason::NoActor) || ends[&pid].0 == reason.to_string();
        check(is_its, || format!("{reason} is not {}", ends[&pid].0));
    }
    check(watched.is_empty(), || format!("{} of {count} monitors were silent", watched.len()));
    let odd = ends.values().filter(|(_, signals)| *signals != 1).count();
    check(odd == 0, || format!("{odd} of {count} links have not told once"));
}

/// Children that fail, and are started again.
pub(crate) struct Supervised {
    supervisor: Supervisor,
    counts: Arc<Counts>,
    fails: u64,
}

#[derive(Default)]
struct Counts {
    started: AtomicU64,
    failed: AtomicU64,
}

pub(crate) fn supervise(world: &Arc<World>, runtime: &Runtime, mut rng: Rng) -> Supervised {
    let strategy =
        [Strategy::OneForOne, Strategy::OneForAll, Strategy::RestForOne][rng.below(3) as usize];
    let counts = Arc::new(Counts::default());
    let fails = rng.below(20);
    let mut supervisor = Supervises::new(strategy).intensity(10_000, Duration::from_secs(3600));
    for child in 0..4 {
        let (counts, world) = (counts.clone(), world.clone());
        supervisor = supervisor.child(Child::new(format!("child {child}"), move |starter| {
            let (counts, world) = (counts.clone(), world.clone());
            world.fibers.fetch_add(1, SeqCst);
            let token = Token::new(&world);
            starter.spawn_fiber(move |mut own: Context<()>| {
                let _token = token;
                counts.started.fetch_add(1, SeqCst);
                progress();
                fiber::yield_now();
                let to_fail = |failed: u64| (failed < fails).then_some(failed + 1);
                if counts.failed.fetch_update(SeqCst, SeqCst, to_fail).is_ok() {
                    resume_unwind(Box::new(Marker(Token::new(&world))));
                }
                while own.blocking_next().is_ok() {}
            })?;
            Ok(())
        }));
    }
    let supervisor = runtime.block_on(supervisor.start());
    let supervisor = supervisor.unwrap_or_else(|error| {
        crate::storm::fail(&format!("the supervisor has not started: {error}"))
    });
    Supervised { supervisor, counts, fails }
}

impl Supervised {
    /// Once all children that were to fail have done so, and were started again.
    pub(crate) fn stop(self, runtime: &Runtime) {
        let Self { supervisor, counts, fails } = self;
        runtime.block_on(async {
            while counts.failed.load(SeqCst) < fails || counts.started.load(SeqCst) < fails + 4 {
                task::yield_now().await;
            }
            let children = supervisor.children().await;
            let children = children.unwrap_or_default();
            let alive = children.iter().filter(|child| child.pid.is_some()).count();
            check(alive == 4, || format!("{alive} of 4 children are alive"));
            let restarts: u64 = children.iter().map(|child| child.restarts).sum();
            check(restarts >= fails, || format!("{fails} failures and {restarts} restarts"));
            let reason = supervisor.stop().await;
            check(matches!(reason, ExitReason::Shutdown), || format!("stopped by {reason}"));
        });
    }
}
