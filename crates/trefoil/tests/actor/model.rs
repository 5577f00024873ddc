//! Links, monitors, names and mailboxes against a plain model, with random operations.

#![cfg(not(loom))]

use crate::support::current_thread;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::resume_unwind;
use std::sync::Arc;
use trefoil::actor::{self, Address, Context, Event, ExitReason, MonitorRef, Pid, Registry};
use trefoil::sync::oneshot;

/// A number, and a count of what is alive.
type Message = (u64, Arc<()>);

struct Random(u64);

impl Random {
    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n
    }
}

enum Order {
    Return,
    Panic(String),
    Fail(String),
}

struct Actor {
    address: Address<Message>,
    context: Option<Context<Message>>,
    order: Option<oneshot::Sender<Order>>,
    // The model.
    reason: Option<String>,
    traps: bool,
    links: BTreeSet<Pid>,
    watching: BTreeMap<MonitorRef, Pid>,
    mailbox: VecDeque<String>,
}

struct World {
    actors: BTreeMap<Pid, Actor>,
    /// The living and the dead, in the order of their spawns.
    pids: Vec<Pid>,
    registry: Registry,
    alive: Arc<()>,
    next: u64,
    /// How often something happened that the test is about.
    met: BTreeMap<&'static str, usize>,
    // The model.
    names: BTreeMap<String, Pid>,
}

fn text(event: &Event<Message>) -> String {
    match event {
        Event::Message((number, _)) => format!("message {number}"),
        Event::Exit { from, reason } => format!("exit {from:?} {reason}"),
        Event::Down { monitor, pid, reason } => format!("down {monitor:?} {pid} {reason}"),
    }
}

impl World {
    fn new() -> Self {
        Self {
            actors: BTreeMap::new(),
            pids: Vec::new(),
            registry: Registry::new(),
            alive: Arc::new(()),
            next: 0,
            met: BTreeMap::new(),
            names: BTreeMap::new(),
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn meet(&mut self, what: &'static str) {
        *self.met.entry(what).or_default() += 1;
    }

    async fn spawn(&mut self, parent: Option<Pid>) {
        let (lend, borrowed) = oneshot::channel();
        let (order, ordered) = oneshot::channel();
        let body = async move |own: Context<Message>| {
            assert!(lend.send(own).is_ok());
            match ordered.await {
                Ok(Order::Return) | Err(_) => Ok(()),
                // Without the message of a panic in the output of the test.
                Ok(Order::Panic(text)) => resume_unwind(Box::new(text)),
                Ok(Order::Fail(text)) => Err(text),
            }
        };
        let parent = parent.filter(|pid| self.actors[pid].context.is_some());
        let address = match parent {
            Some(parent) => self.actors[&parent].context.as_ref().unwrap().spawn_link(body),
            None => actor::spawn(body),
        };
        let pid = address.pid();
        let actor = Actor {
            address,
            context: Some(borrowed.await.unwrap()),
            order: Some(order),
            reason: None,
            traps: false,
            links: BTreeSet::new(),
            watching: BTreeMap::new(),
            mailbox: VecDeque::new(),
        };
        assert!(self.actors.insert(pid, actor).is_none(), "{pid} was given twice");
        self.pids.push(pid);
        if let Some(parent) = parent {
            self.model_link(parent, pid);
        }
    }

    // The model: what each operation is to do.

    fn lives(&self, pid: Pid) -> bool {
        self.actors[&pid].reason.is_none()
    }

    fn tell(&mut self, to: Pid, event: String) {
        let actor = self.actors.get_mut(&to).unwrap();
        if actor.reason.is_none() && actor.context.is_some() {
            actor.mailbox.push_back(event);
        }
    }

    fn model_link(&mut self, own: Pid, other: Pid) {
        if own == other || !self.lives(own) {
            return;
        }
        if !self.lives(other) {
            self.meet("link to the dead");
            self.model_exit(own, Some(other), "no such actor");
            return;
        }
        self.actors.get_mut(&own).unwrap().links.insert(other);
        self.actors.get_mut(&other).unwrap().links.insert(own);
    }

    fn model_exit(&mut self, to: Pid, from: Option<Pid>, reason: &str) {
        let mut ends = VecDeque::new();
        self.model_signal(to, from, reason, &mut ends);
        self.model_ends(ends);
    }

    fn model_signal(
        &mut self,
        to: Pid,
        from: Option<Pid>,
        reason: &str,
        ends: &mut VecDeque<(Pid, String)>,
    ) {
        if !self.lives(to) {
            return;
        }
        if self.actors[&to].traps {
            self.tell(to, format!("exit {from:?} {reason}"));
        } else if reason != "normal" && ends.iter().all(|(pid, _)| *pid != to) {
            ends.push_back((to, reason.to_owned()));
        }
    }

    /// Ends these, and whoever ends with them, one after the other.
    fn model_ends(&mut self, mut ends: VecDeque<(Pid, String)>) {
        while let Some((pid, reason)) = ends.pop_front() {
            if !self.lives(pid) {
                continue;
            }
            self.meet("end");
            let actor = self.actors.get_mut(&pid).unwrap();
            actor.reason = Some(reason.clone());
            actor.mailbox.clear();
            actor.watching.clear();
            let links = std::mem::take(&mut actor.links);
            self.names.retain(|_, its| *its != pid);
            for other in links {
                self.meet("link told");
                self.actors.get_mut(&other).unwrap().links.remove(&pid);
                self.model_signal(other, Some(pid), &reason, &mut ends);
            }
            let mut told = Vec::new();
            for actor in self.actors.values_mut() {
                let its = actor.watching.extract_if(.., |_, watched| *watched == pid);
                told.extend(its.map(|(monitor, _)| (monitor, actor.address.pid())));
            }
            told.sort_unstable();
            for (monitor, watcher) in told {
                self.meet("monitor told");
                self.tell(watcher, format!("down {monitor:?} {pid} {reason}"));
            }
        }
    }

    // The operations, on both.

    fn monitor(&mut self, own: Pid, other: Pid) {
        let Some(context) = &self.actors[&own].context else { return };
        let monitor = context.monitor(other);
        if own == other || !self.lives(own) {
            return;
        }
        if self.lives(other) {
            self.actors.get_mut(&own).unwrap().watching.insert(monitor, other);
        } else {
            self.tell(own, format!("down {monitor:?} {other} no such actor"));
        }
    }

    fn demonitor(&mut self, own: Pid, random: &mut Random) {
        let actor = self.actors.get_mut(&own).unwrap();
        let Some(context) = &mut actor.context else { return };
        // One that waits to be told, or was.
        let waits = actor.watching.keys().copied().collect::<Vec<_>>();
        if !waits.is_empty() {
            let monitor = waits[random.below(waits.len())];
            context.demonitor(monitor);
            actor.watching.remove(&monitor);
        }
    }

    fn link(&mut self, own: Pid, other: Pid) {
        let Some(context) = &self.actors[&own].context else { return };
        context.link(other);
        self.model_link(own, other);
    }

    fn unlink(&mut self, own: Pid, other: Pid) {
        let Some(context) = &self.actors[&own].context else { return };
        context.unlink(other);
        self.actors.get_mut(&own).unwrap().links.remove(&other);
        self.actors.get_mut(&other).unwrap().links.remove(&own);
    }

    fn trap(&mut self, own: Pid, traps: bool) {
        let actor = self.actors.get_mut(&own).unwrap();
        if let Some(context) = &mut actor.context {
            context.trap_exit(traps);
            actor.traps = traps;
        }
    }

    fn send(&mut self, to: Pid) {
        let message = (self.number(), Arc::clone(&self.alive));
        let number = message.0;
        let actor = &self.actors[&to];
        let taken = actor.address.try_send(message).is_ok();
        assert_eq!(taken, actor.reason.is_none() && actor.context.is_some());
        self.tell(to, format!("message {number}"));
    }

    fn signal(&mut self, to: Pid, from: Pid, normal: bool) {
        let (reason, said) = match normal {
            true => (ExitReason::Normal, "normal".to_owned()),
            false => {
                let said = format!("signal {}", self.number());
                (ExitReason::error(said.clone()), said)
            }
        };
        let lives = self.lives(to);
        let from = match &self.actors[&from].context {
            Some(context) => {
                assert_eq!(context.send_exit(to, reason), lives);
                Some(from)
            }
            None => {
                assert_eq!(to.exit(reason).is_ok(), lives);
                None
            }
        };
        self.model_exit(to, from, &said);
    }

    fn abort(&mut self, pid: Pid) {
        assert_eq!(pid.abort().is_ok(), self.lives(pid));
        self.model_ends([(pid, "aborted".to_owned())].into());
    }

    fn order(&mut self, pid: Pid, random: &mut Random) {
        let number = self.number();
        let (order, reason) = match random.below(3) {
            0 => (Order::Return, "normal".to_owned()),
            1 => (Order::Panic(format!("p{number}")), format!("panicked: p{number}")),
            _ => (Order::Fail(format!("e{number}")), format!("e{number}")),
        };
        if let Some(sender) = self.actors.get_mut(&pid).unwrap().order.take() {
            assert_eq!(sender.send(order).is_ok(), self.lives(pid));
            self.model_ends([(pid, reason)].into());
        }
    }

    fn drop_context(&mut self, pid: Pid) {
        let actor = self.actors.get_mut(&pid).unwrap();
        drop(actor.context.take());
        actor.traps = false;
        actor.mailbox.clear();
    }

    fn register(&mut self, pid: Pid, random: &mut Random) {
        let name = format!("name {}", random.below(3));
        let registered = self.registry.register(&name, &self.actors[&pid].address);
        let is_free = !self.names.contains_key(&name);
        assert_eq!(registered.is_ok(), is_free && self.lives(pid));
        if registered.is_ok() {
            self.names.insert(name, pid);
        } else if random.below(4) == 0 {
            assert_eq!(self.registry.unregister(&name), self.names.remove(&name).is_some());
        }
    }

    /// Takes an event: the next one, or the first of its kind.
    async fn receive(&mut self, pid: Pid, random: &mut Random) {
        let actor = self.actors.get_mut(&pid).unwrap();
        let Some(context) = &mut actor.context else { return };
        let kind = ["", "message", "exit", "down"][random.below(4)];
        let expected = actor.mailbox.iter().position(|event| event.starts_with(kind));
        let ended = actor.reason.is_some();
        let received = {
            let receive = context.next_where(|event| text(event).starts_with(kind));
            trefoil::time::timeout(std::time::Duration::ZERO, receive).await
        };
        match received {
            Err(_late) => assert!(!ended && expected.is_none(), "{:?}", actor.mailbox),
            Ok(Err(_exited)) => assert!(ended),
            Ok(Ok(event)) => {
                let expected = expected.and_then(|place| actor.mailbox.remove(place));
                assert_eq!(Some(text(&event)), expected);
            }
        }
    }

    /// Lets all that is to end come to its end, and compares.
    async fn settle(&self) {
        for (pid, actor) in &self.actors {
            if let Some(reason) = &actor.reason {
                assert_eq!(actor.address.join().await.to_string(), *reason, "{pid}");
            }
        }
        for (pid, actor) in &self.actors {
            assert_eq!(pid.is_alive(), actor.reason.is_none(), "{pid}");
        }
        let names = self.names.iter().map(|(name, pid)| (name.clone(), *pid));
        assert_eq!(self.registry.names(), names.collect::<Vec<_>>());
        // Every message that is alive is in a mailbox.
        let is_message = |event: &&String| event.starts_with("message");
        let mailboxes = self.actors.values().map(|actor| &actor.mailbox);
        let waiting: usize = mailboxes.map(|its| its.iter().filter(is_message).count()).sum();
        let dead = self.actors.values().filter(|actor| actor.reason.is_some());
        // What a context has taken over goes with it.
        if dead.filter(|actor| actor.context.is_some()).count() == 0 {
            assert_eq!(Arc::strong_count(&self.alive), 1 + waiting);
        }
    }

    async fn step(&mut self, random: &mut Random) {
        // Rather the younger ones, more of whom live.
        let pick = |random: &mut Random| {
            let among = self.pids.len().min(12);
            self.pids[self.pids.len() - 1 - random.below(among)]
        };
        let (one, other) = (pick(random), pick(random));
        match random.below(100) {
            0..10 => self.spawn(None).await,
            10..16 => self.spawn(Some(one).filter(|one| self.lives(*one))).await,
            16..34 => self.link(one, other),
            34..40 => self.unlink(one, other),
            40..52 => self.monitor(one, other),
            52..56 => self.demonitor(one, random),
            56..64 => self.trap(one, random.below(4) > 0),
            64..74 => self.send(one),
            74..78 => self.signal(one, other, random.below(2) == 0),
            78..79 => self.abort(one),
            79..82 => self.order(one, random),
            82..83 => self.drop_context(one),
            83..88 => self.register(one, random),
            _ => self.receive(one, random).await,
        }
        self.settle().await;
    }
}

#[test]
fn actors_do_what_the_model_says() {
    let mut met = BTreeMap::new();
    for seed in 1..=100u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        current_thread().block_on(async {
            let mut world = World::new();
            world.spawn(None).await;
            for _ in 0..200 {
                world.step(&mut random).await;
            }
            // What is left in the mailboxes.
            for pid in world.pids.clone() {
                let actor = world.actors.get_mut(&pid).unwrap();
                let Some(context) = actor.context.as_mut().filter(|_| actor.reason.is_none())
                else {
                    continue;
                };
                while let Some(event) = context.try_next().unwrap() {
                    assert_eq!(Some(text(&event)), actor.mailbox.pop_front());
                }
                assert_eq!(actor.mailbox, [""; 0]);
            }
            for (what, times) in std::mem::take(&mut world.met) {
                *met.entry(what).or_insert(0) += times;
            }
            // A count of its own would be taken for a message.
            let alive = Arc::downgrade(&world.alive);
            for pid in world.pids.clone() {
                world.drop_context(pid);
                world.abort(pid);
                world.settle().await;
            }
            drop(world);
            assert_eq!(alive.strong_count(), 0);
        });
    }
    // All that the test is about has happened.
    for what in ["end", "link told", "monitor told", "link to the dead"] {
        assert!(met.get(what).is_some_and(|times| *times > 200), "{met:?}");
    }
}
