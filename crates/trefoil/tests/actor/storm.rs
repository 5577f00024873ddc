//! Trees of linked actors that do everything at random, and are ended at any moment.

#![cfg(not(loom))]

use crate::support::{Alive, multi};
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use trefoil::actor::{self, Address, Builder, Context, Event, ExitReason, Registry};
use trefoil::sync::mpsc;
use trefoil::task;

/// Somebody to do something to, or nobody.
struct Message(Option<Address<Message>>, #[expect(dead_code, reason = "it counts")] Alive);

#[derive(Clone)]
struct Storm {
    alive: Arc<AtomicUsize>,
    spawned: mpsc::UnboundedSender<Address<Message>>,
    registry: Registry,
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

impl Storm {
    fn message(&self, about: Option<Address<Message>>) -> Message {
        Message(about, Alive::new(&self.alive))
    }

    fn spawn(&self, seed: u64, depth: u32, parent: Option<&Context<Message>>) -> Address<Message> {
        let mut builder = Builder::new();
        if seed.is_multiple_of(3) {
            builder = builder.capacity(2);
        }
        if let Some(parent) = parent {
            builder = builder.link(parent);
        }
        let storm = self.clone();
        #[cfg(all(unix, not(trefoil_tsan)))]
        if seed.is_multiple_of(2) {
            let spawned =
                builder.spawn_fiber(move |own| trefoil::fiber::wait(storm.live(own, seed, depth)));
            return self.note(spawned.expect("there is memory for a few stacks"));
        }
        self.note(builder.spawn(move |own| async move { storm.live(own, seed, depth).await }))
    }

    fn note(&self, address: Address<Message>) -> Address<Message> {
        let _ = self.spawned.send(address.clone());
        address
    }

    async fn live(self, mut own: Context<Message>, seed: u64, depth: u32) -> ExitReason {
        let _alive = Alive::new(&self.alive);
        let mut dice = Dice(seed);
        own.trap_exit(dice.roll(3) == 0);
        let mut known: Vec<Address<Message>> = vec![own.address()];
        let mut monitors = Vec::new();
        for _ in 0..dice.roll(30) {
            let somebody = known[dice.roll(known.len() as u64) as usize].clone();
            match dice.roll(16) {
                0 | 1 if depth > 0 => {
                    let parent = (dice.roll(2) == 0).then_some(&own);
                    known.push(self.spawn(dice.roll(1 << 30), depth - 1, parent));
                }
                2 | 3 => own.link(&somebody),
                4 => own.unlink(&somebody),
                5 | 6 => monitors.push(own.monitor(&somebody)),
                7 => {
                    if let Some(monitor) = monitors.pop() {
                        own.demonitor(monitor);
                    }
                }
                8 | 9 => {
                    let about = known[dice.roll(known.len() as u64) as usize].clone();
                    let _ = somebody.try_send(self.message(Some(about)));
                }
                10 => {
                    let _ = own.send_exit(&somebody, ExitReason::Shutdown);
                }
                11 if dice.roll(3) == 0 => somebody.abort(),
                12 => {
                    let name = ["x", "y", "z"][dice.roll(3) as usize];
                    let _ = self.registry.register(name, &own.address());
                    if let Ok(found) = self.registry.find(name) {
                        known.push(found);
                    }
                }
                13 => task::yield_now().await,
                14 if dice.roll(8) == 0 => resume_unwind(Box::new("a part of the storm")),
                _ => match own.try_next() {
                    Ok(Some(Event::Message(Message(Some(about), _)))) => known.push(about),
                    Ok(_) => {}
                    Err(_) => return ExitReason::Shutdown,
                },
            }
        }
        if dice.roll(2) == 0 {
            return ExitReason::Normal;
        }
        // Until somebody ends it.
        while own.next().await.is_ok() {}
        ExitReason::Shutdown
    }
}

/// Everybody who is watched is told of once, with the reason that all others see, and nothing is
/// left.
#[test]
fn a_storm_of_actors_leaves_nothing_behind() {
    for round in 0..30u64 {
        let alive = Arc::new(AtomicUsize::new(0));
        let registry = Registry::new();
        let runtime = multi(1 + (round % 4) as usize);
        runtime.block_on(async {
            let (spawned, mut all) = mpsc::unbounded_channel();
            let storm = Storm { alive: alive.clone(), spawned, registry: registry.clone() };
            let watcher = actor::spawn(async move |mut own: Context<()>| {
                own.trap_exit(true);
                let mut watched = HashMap::new();
                let mut actors: Vec<Address<Message>> = Vec::new();
                // Whoever is spawned is watched and linked while the storm goes on.
                while let Some(actor) = all.recv().await {
                    watched.insert(own.monitor(&actor), actor.pid());
                    own.link(&actor);
                    if actors.len().is_multiple_of(7) {
                        actor.abort();
                    }
                    actors.push(actor);
                    // The rest of the storm has no end by itself.
                    for actor in actors.iter().rev().skip(200).take(3) {
                        actor.abort();
                    }
                    if actors.len() >= 2000 || all.is_empty() {
                        task::yield_now().await;
                        actors.iter().for_each(Address::abort);
                    }
                }
                let mut signals = HashMap::new();
                for actor in &actors {
                    let reason = actor.join().await.to_string();
                    signals.insert(actor.pid(), (reason, 0));
                }
                let count = watched.len();
                while let Some(event) = own.try_next().unwrap() {
                    let (pid, reason) = match event {
                        Event::Down { monitor, pid, reason } => {
                            assert_eq!(watched.remove(&monitor), Some(pid));
                            (pid, reason)
                        }
                        Event::Exit { from, reason } => {
                            let from = from.unwrap();
                            signals.get_mut(&from).unwrap().1 += 1;
                            (from, reason)
                        }
                        Event::Message(()) => unreachable!("nobody sends any"),
                    };
                    if !matches!(reason, ExitReason::NoActor) {
                        assert_eq!(signals[&pid].0, reason.to_string());
                    }
                }
                assert!(watched.is_empty(), "{} of {count} were not told of", watched.len());
                let odd = signals.iter().find(|(_, (_, signals))| *signals != 1);
                assert_eq!(odd, None, "a link tells once");
            });
            for seed in 0..30u64 {
                storm.spawn(seed * 7919 + round, 4, None);
            }
            // Those that are alive have clones.
            drop(storm);
            let reason = watcher.join().await;
            assert!(reason.is_normal(), "round {round}: {reason}");
        });
        assert_eq!(registry.names(), []);
        drop(runtime);
        assert_eq!(alive.load(SeqCst), 0, "round {round}");
    }
}

/// A runtime that ends in the middle of it.
#[test]
fn a_storm_ends_with_its_runtime() {
    for round in 0..30u64 {
        let alive = Arc::new(AtomicUsize::new(0));
        let registry = Registry::new();
        let runtime = multi(1 + (round % 4) as usize);
        let (spawned, mut all) = mpsc::unbounded_channel();
        let storm = Storm { alive: alive.clone(), spawned, registry: registry.clone() };
        runtime.block_on(async {
            for seed in 0..50u64 {
                storm.spawn(seed * 104_729 + round, 4, None);
            }
            for _ in 0..round {
                task::yield_now().await;
            }
        });
        drop((runtime, storm));
        let mut actors = 0;
        while let Some(actor) = all.blocking_recv() {
            actor.blocking_join();
            assert!(!actor.is_alive());
            actors += 1;
        }
        assert!(actors >= 50);
        assert_eq!(registry.names(), []);
        assert_eq!(alive.load(SeqCst), 0, "round {round}");
    }
}
