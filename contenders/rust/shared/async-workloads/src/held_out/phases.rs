//! Phases: a ring of cells, each of which computes its next value from its neighbours' in a task of
//! its own; all are joined before the next phase.

use fork_join_workloads::Tally;
use palio_protocol::harness::{Iteration, Refusal, Request, Work};
use palio_protocol::salt::{self, mix};

use super::grind;
use crate::AsyncRuntime;
use crate::row::steady;

fn next(left: u64, own: u64, right: u64, cell: u64, steps: u32) -> u64 {
    let mixed = left.wrapping_add(own.wrapping_mul(3)).wrapping_add(right.wrapping_mul(5));
    grind(mixed, cell, steps)
}

async fn root<R: AsyncRuntime>(cells: usize, phases: u64, steps: u32) -> Iteration {
    let mut values: Vec<u64> = (0..cells as u64).map(|i| mix(salt::of_process(), i)).collect();
    let mut joins = Vec::with_capacity(cells);
    let mut work = 0;
    for _ in 0..phases {
        for i in 0..cells {
            let (left, own) = (values[(i + cells - 1) % cells], values[i]);
            let right = values[(i + 1) % cells];
            joins.push(R::spawn(async move { next(left, own, right, i as u64, steps) }));
        }
        for (value, join) in values.iter_mut().zip(joins.drain(..)) {
            *value = join.await;
            work += 1;
        }
    }
    Tally { answer: values.into_iter().fold(0, u64::wrapping_add), work }.into()
}

pub(crate) fn prepare<R: AsyncRuntime>(request: &mut Request) -> Result<Work, Refusal> {
    let (cells, phases) = (request.param("cells")?, request.param("phases")?);
    let steps = request.param("steps")?;
    if cells == 0 {
        return Err(Refusal::Misuse("--set cells=0: a ring has at least one".into()));
    }
    Ok(steady::<R, _, _>(request.threads, move || root::<R>(cells, phases, steps)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runtime::TestRuntime;

    #[test]
    fn the_ring_is_that_of_another_program() {
        let done = TestRuntime::start(2).run(root::<TestRuntime>(5, 4, 3));
        assert_eq!(done, Iteration { answer: 16_667_111_710_554_097_318, ops: 20, work: Some(20) });
    }
}
