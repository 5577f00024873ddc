//! A supervisor at work.

use super::child::{Restart, Start, Starter};
use super::{BoxError, Child, StartError, Status, Strategy, Supervisor, TooManyRestarts};
use crate::actor::cell::{self, Peer};
use crate::actor::exit::Panic;
use crate::actor::{Context, Event, ExitReason, Pid};
use crate::context;
use crate::sync::oneshot;
use crate::task::yield_now;
use crate::time::{Instant, timeout};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub(super) enum Command {
    Children(oneshot::Sender<Vec<Status>>),
}

pub(super) struct Running {
    own: Context<Command>,
    strategy: Strategy,
    max_restarts: u32,
    within: Duration,
    places: Vec<Place>,
    /// When children were restarted, within the last period.
    restarts: VecDeque<Instant>,
}

struct Place {
    child: Child,
    /// The actor, while it runs.
    actor: Option<Arc<dyn Peer>>,
    was_started: bool,
    restarts: u64,
    /// It was to be started again, and failed to.
    is_due: bool,
}

const NO_TIME: &str = "its grace needs timers, and the runtime has none: call `enable_time` on the \
                       runtime builder, or give it a grace of zero or `Duration::MAX`";

/// The supervisor ends.
type Step = ControlFlow<ExitReason>;

impl Running {
    pub(super) fn new(supervisor: Supervisor, own: Context<Command>) -> Self {
        let Supervisor { name: _, strategy, max_restarts, within, children, made_at: _ } =
            supervisor;
        let place =
            |child| Place { child, actor: None, was_started: false, restarts: 0, is_due: false };
        let places = children.into_iter().map(place).collect();
        Self { own, strategy, max_restarts, within, places, restarts: VecDeque::new() }
    }

    pub(super) async fn run(mut self, said: oneshot::Sender<Result<(), StartError>>) -> ExitReason {
        self.own.trap_exit(true);
        let mut failure = None;
        for place in 0..self.places.len() {
            if let Err(error) = self.start(place).await {
                failure = Some(error);
                break;
            }
        }
        if let Some(error) = failure {
            self.stop_from(0, None).await;
            let reason = ExitReason::error(error.to_string());
            // Whoever asked may have gone.
            let _ = said.send(Err(error));
            return reason;
        }
        // The same.
        let _ = said.send(Ok(()));
        loop {
            if let ControlFlow::Break(reason) = self.step().await {
                self.stop_from(0, None).await;
                return reason;
            }
        }
    }

    async fn step(&mut self) -> Step {
        let due = self.places.iter().position(|place| place.is_due);
        let event = match due {
            None => self.own.next().await.map(Some),
            Some(_) => {
                // Whoever wants to stop this must be heard between two attempts.
                yield_now().await;
                self.own.try_next()
            }
        };
        match (event, due) {
            (Ok(Some(Event::Exit { from, reason })), _) => self.ended(from, reason).await,
            (Ok(Some(Event::Message(Command::Children(answer)))), _) => {
                // The same.
                let _ = answer.send(self.status());
                Step::Continue(())
            }
            (Ok(Some(Event::Down { .. })), _) => Step::Continue(()),
            (Ok(None), Some(place)) => self.restart(place).await,
            (Ok(None), None) => Step::Continue(()),
            // Its own end was decided elsewhere.
            (Err(_), _) => Step::Break(ExitReason::Aborted),
        }
    }

    fn status(&self) -> Vec<Status> {
        let status = |place: &Place| Status {
            name: place.child.name.clone(),
            pid: place.pid(),
            restarts: place.restarts,
        };
        self.places.iter().map(status).collect()
    }

    /// Somebody has ended, or wants the supervisor to.
    async fn ended(&mut self, from: Option<Pid>, reason: ExitReason) -> Step {
        let is_it = |place: &Place| from.is_some() && place.pid() == from;
        let Some(place) = self.places.iter().position(is_it) else {
            return Step::Break(reason);
        };
        // A child that lives has sent this by itself, as anybody may.
        let Some(actor) = self.places[place].actor.take_if(|actor| !actor.core().is_alive()) else {
            return Step::Break(reason);
        };
        // It may have done so just before its end, for another reason than its end's. Afterwards,
        // the signal of its link is there, too, and would be that of a stranger.
        let reason = actor.core().ended().wait().await.clone();
        self.own.forget_exits_of(actor.core().pid());
        match self.places[place].child.restart {
            Restart::Permanent => self.restart(place).await,
            Restart::Transient if reason.is_failure() => self.restart(place).await,
            Restart::Transient => Step::Continue(()),
            Restart::Temporary => {
                self.places.remove(place);
                Step::Continue(())
            }
        }
    }

    /// Starts a child again, and whoever else the strategy says.
    async fn restart(&mut self, place: usize) -> Step {
        let now = Instant::now();
        while self.restarts.front().is_some_and(|&then| now - then > self.within) {
            self.restarts.pop_front();
        }
        if self.restarts.len() as u64 >= u64::from(self.max_restarts) {
            let child = self.places[place].child.name.clone();
            let Self { max_restarts, within, .. } = *self;
            return Step::Break(ExitReason::error(TooManyRestarts { child, max_restarts, within }));
        }
        self.restarts.push_back(now);
        let first = match self.strategy {
            Strategy::OneForOne | Strategy::RestForOne => place,
            Strategy::OneForAll => 0,
        };
        if self.strategy == Strategy::OneForOne {
            self.start_again(place).await;
            return Step::Continue(());
        }
        self.stop_from(first, Some(place)).await;
        let mut next = first;
        while next < self.places.len() {
            if !self.start_again(next).await {
                // The others follow when it is tried once more.
                break;
            }
            next += 1;
        }
        Step::Continue(())
    }

    async fn start_again(&mut self, place: usize) -> bool {
        let was_started = self.places[place].was_started;
        let is_started = self.start(place).await.is_ok();
        let place = &mut self.places[place];
        place.is_due = !is_started;
        place.restarts += u64::from(is_started && was_started);
        is_started
    }

    async fn start(&mut self, place: usize) -> Result<(), StartError> {
        let supervisor = self.own.peer();
        let Place { child, actor, was_started, .. } = &mut self.places[place];
        let is_timed = child.grace.is_some_and(|grace| !grace.is_zero());
        if is_timed && context::runtime_with_time().is_none() {
            return Err(StartError::new(&child.name, NO_TIME));
        }
        let mut spawned = None;
        let started = match &mut child.start {
            Start::Actor(start) => {
                let starter = Starter::new(&child.name, &supervisor, &mut spawned);
                caught(|| start(starter)).and_then(|started| started)
            }
            Start::Supervisor(make) => match caught(make) {
                Err(error) => Err(error),
                Ok(supervisor_below) => {
                    let (below, started) = supervisor_below.launch(Some(supervisor));
                    spawned = Some(below.peer());
                    match started.await {
                        Ok(started) => started.map_err(BoxError::from),
                        Err(_) => Err("it was ended while it started".into()),
                    }
                }
            },
        };
        let name = child.name.clone();
        match (started, spawned) {
            (Ok(()), Some(spawned)) => {
                *actor = Some(spawned);
                *was_started = true;
                Ok(())
            }
            (Ok(()), None) => Err(StartError::new(&name, "it has spawned no actor")),
            (Err(error), spawned) => {
                if let Some(spawned) = spawned {
                    self.stop(&spawned, Some(Duration::ZERO)).await;
                }
                Err(StartError::new(&name, error))
            }
        }
    }

    /// Stops the children from this place on, the last one first, and forgets the temporary ones,
    /// unless it is for good or for the sake of this one.
    async fn stop_from(&mut self, first: usize, for_one: Option<usize>) {
        for place in (first..self.places.len()).rev() {
            if let Some(actor) = self.places[place].actor.take() {
                let grace = self.places[place].child.grace;
                self.stop(&actor, grace).await;
                if for_one.is_some() && self.places[place].child.restart == Restart::Temporary {
                    self.places.remove(place);
                }
            }
        }
    }

    /// Stops an actor, and takes its exit signal out of the mailbox.
    async fn stop(&mut self, actor: &Arc<dyn Peer>, grace: Option<Duration>) {
        let ended = actor.core().ended();
        let has_ended = match grace {
            Some(Duration::ZERO) => false,
            Some(grace) => {
                cell::send_exit(actor, Some(self.own.pid()), ExitReason::Shutdown);
                timeout(grace, ended.wait()).await.is_ok()
            }
            None => {
                cell::send_exit(actor, Some(self.own.pid()), ExitReason::Shutdown);
                ended.wait().await;
                true
            }
        };
        if !has_ended {
            cell::doom(actor, ExitReason::Aborted);
            ended.wait().await;
        }
        self.own.forget_exits_of(actor.core().pid());
    }
}

impl Place {
    fn pid(&self) -> Option<Pid> {
        self.actor.as_ref().map(|actor| actor.core().pid())
    }
}

/// Calls the user's code. Its panic is an error as any other.
fn caught<T>(f: impl FnOnce() -> T) -> Result<T, BoxError> {
    catch_unwind(AssertUnwindSafe(f))
        .map_err(|payload| ExitReason::Panic(Panic::new(payload)).to_string().into())
}
