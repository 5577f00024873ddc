//! Deadlines: half of them pass, and either way one of two timers is dropped before it fires.

use std::time::Duration;

use fork_join_workloads::Tally;
use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::salt::{self, mix};

use crate::row::steady;
use crate::{AsyncRuntime, TimedTask};

/// Longer than anything here takes.
const NEVER: Duration = Duration::from_secs(1);
/// What a deadline that passed adds to its milliseconds.
const PASSED: u64 = 100;

/// A task of its own, with a deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    ms: u64,
    is_kept: bool,
}

impl Deadline {
    fn of(task: u64) -> Self {
        let number = mix(salt::of_process(), task);
        Self { ms: 1 + (number >> 1) % 8, is_kept: number % 2 == 1 }
    }

    pub(crate) async fn run<R: AsyncRuntime>(self) -> u64 {
        let short = Duration::from_millis(self.ms);
        let (deadline, work) = if self.is_kept { (NEVER, short) } else { (short, NEVER) };
        match R::timeout(deadline, R::sleep(work)).await {
            Some(()) => self.ms,
            None => PASSED + self.ms,
        }
    }
}

async fn root<R: AsyncRuntime>(tasks: u64) -> Iteration {
    let spawn = |task| R::spawn_timed(TimedTask::deadline(Deadline::of(task)));
    let joins: Vec<_> = (0..tasks).map(spawn).collect();
    let mut tally = Tally::default();
    for join in joins {
        tally += Tally { answer: join.await, work: 1 };
    }
    tally.into()
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let tasks = request.param("tasks")?;
    Ok(steady::<R, _, _>(request.threads, move || root::<R>(tasks)))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn deadlines_pass_as_in_another_program() {
        let start = Instant::now();
        let done = TestRuntime::start(2).run(root::<TestRuntime>(50));
        assert_eq!(done, Iteration { answer: 2_928, ops: 50, work: Some(50) });
        assert!((Duration::from_millis(8)..NEVER).contains(&start.elapsed()));
    }
}
