//! The answers of the suite `held-out`, by doing what its definitions say on one thread.

use anyhow::{Result, ensure};
use palio_protocol::salt::mix;

/// No instance of the catalogue comes near; a parameter with a digit too many must not hang Palio.
const STEPS_MAX: u64 = 1 << 31;

pub(super) fn affordable(steps: Option<u64>) -> Result<()> {
    ensure!(steps.is_some_and(|steps| steps <= STEPS_MAX), "it would take too long to compute");
    Ok(())
}

fn grind(value: u64, key: u64, steps: u64) -> u64 {
    (0..steps).fold(value, |value, _| mix(value, key))
}

/// The shape of a tree, and the number from which it follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    pub(super) seed: u64,
    pub(super) roots: u64,
    pub(super) branches: u64,
    pub(super) chance: u64,
}

impl Tree {
    pub(super) fn answer(self, salt: u64) -> Result<u64> {
        ensure!(
            self.branches.saturating_mul(self.chance) < 10_000,
            "a tree with one child or more for each node may have no end"
        );
        affordable(Some(self.roots))?;
        let mut sum = mix(salt, self.seed);
        let mut found: Vec<u64> = (1..=self.roots).map(|i| mix(self.seed, i)).collect();
        while let Some(node) = found.pop() {
            sum = sum.wrapping_add(mix(salt, node));
            if mix(node, 0) % 10_000 < self.chance {
                found.extend((1..=self.branches).map(|i| mix(node, i)));
            }
        }
        Ok(sum)
    }
}

/// All numbers are raised by half of the salt, and the one of rank r counts r times.
pub(super) fn quicksort(n: u64, plain: u64, salt: u64) -> u64 {
    let ranks = (u128::from(n) * (u128::from(n) + 1) / 2) as u64;
    plain.wrapping_add(ranks.wrapping_mul(salt >> 1))
}

pub(super) fn phases(cells: u64, phases: u64, steps: u64, salt: u64) -> Result<u64> {
    affordable(cells.checked_mul(phases).and_then(|tasks| tasks.checked_mul(steps.max(1))))?;
    let mut values: Vec<u64> = (0..cells).map(|i| mix(salt, i)).collect();
    for _ in 0..phases {
        let old = values.clone();
        for (i, value) in values.iter_mut().enumerate() {
            let left = old[i.checked_sub(1).unwrap_or(old.len() - 1)];
            let right = old[(i + 1) % old.len()];
            let mixed =
                left.wrapping_add(old[i].wrapping_mul(3)).wrapping_add(right.wrapping_mul(5));
            *value = grind(mixed, i as u64, steps);
        }
    }
    Ok(values.into_iter().fold(0, u64::wrapping_add))
}

/// The steps of each stage.
const PIPELINE: [u64; 5] = [1, 32, 4, 128, 8];

pub(super) fn pipeline(values: u64, salt: u64) -> Result<u64> {
    affordable(values.checked_mul(PIPELINE.iter().sum()))?;
    let through =
        |value| (0..).zip(PIPELINE).fold(value, |value, (stage, steps)| grind(value, stage, steps));
    Ok((0..values).map(|i| through(salt.wrapping_add(i))).fold(0, u64::wrapping_add))
}

pub(super) fn broadcast(levels: u64, rounds: u64, salt: u64) -> Result<u64> {
    ensure!((1..=24).contains(&levels), "a tree of actors has 1 to 24 levels, not {levels}");
    affordable(rounds.checked_mul(1 << levels))?;
    let mut sum = 0_u64;
    for round in 0..rounds {
        let mut level = vec![mix(salt, round)];
        for _ in 1..levels {
            level = level.into_iter().flat_map(|value| [mix(value, 1), mix(value, 2)]).collect();
        }
        sum = level.into_iter().fold(sum, u64::wrapping_add);
    }
    Ok(sum)
}

pub(super) fn deadlines(tasks: u64, salt: u64) -> Result<u64> {
    affordable(Some(tasks))?;
    let of = |task| {
        let number = mix(salt, task);
        1 + (number >> 1) % 8 + if number % 2 == 1 { 0 } else { 100 }
    };
    Ok((0..tasks).map(of).sum())
}

pub(super) fn requests(requests: u64, steps: u64, salt: u64) -> Result<u64> {
    affordable(requests.checked_mul(2 * steps.min(STEPS_MAX) + 2))?;
    let of = |request| {
        let value = mix(salt, request);
        let computed = [1, 2].map(|key| grind(value.wrapping_add(key), key, steps));
        [computed[0], computed[1], mix(value, 3), mix(value, 4)]
            .into_iter()
            .fold(0, u64::wrapping_add)
    };
    Ok((0..requests).map(of).fold(0, u64::wrapping_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALTS: [u64; 4] = [0, 1, 0x0123_4567_89AB_CDEF, u64::MAX];

    fn sum(values: impl IntoIterator<Item = u64>) -> u64 {
        values.into_iter().fold(0, u64::wrapping_add)
    }

    #[test]
    fn a_tree_is_that_of_the_recursion() {
        fn below(node: u64, children: u64, tree: Tree, salt: u64) -> u64 {
            let each = (1..=children).map(|i| {
                let child = mix(node, i);
                let has = mix(child, 0) % 10_000 < tree.chance;
                below(child, if has { tree.branches } else { 0 }, tree, salt)
            });
            sum(each).wrapping_add(mix(salt, node))
        }
        for salt in SALTS {
            for seed in 0..5 {
                let tree = Tree { seed, roots: 20, branches: 4, chance: 2_400 };
                let expected = below(seed, tree.roots, tree, salt);
                assert_eq!(tree.answer(salt).unwrap(), expected, "{seed}, {salt}");
            }
        }
        let endless = Tree { seed: 0, roots: 1, branches: 4, chance: 2_500 };
        assert!(endless.answer(0).unwrap_err().to_string().contains("no end"));
        let wide = Tree { roots: u64::MAX, chance: 0, ..endless };
        assert!(wide.answer(0).unwrap_err().to_string().contains("too long"));
    }

    #[test]
    fn ranks_are_those_of_sorted_numbers() {
        let ranked = |n: u64, salt: u64| {
            let mut numbers: Vec<u64> = (0..n).map(|i| (mix(0, i) >> 1) + (salt >> 1)).collect();
            numbers.sort_unstable();
            sum((1..).zip(numbers).map(|(rank, number): (u64, u64)| rank.wrapping_mul(number)))
        };
        for salt in SALTS {
            for n in [0, 1, 2, 1000] {
                assert_eq!(quicksort(n, ranked(n, 0), salt), ranked(n, salt), "{n}, {salt}");
            }
        }
    }

    #[test]
    fn phases_are_those_of_the_recursion() {
        fn cell(phase: u64, i: u64, cells: u64, steps: u64, salt: u64) -> u64 {
            if phase == 0 {
                return mix(salt, i);
            }
            let before = |i: u64| cell(phase - 1, i % cells, cells, steps, salt);
            let mut value = before(i + cells - 1)
                .wrapping_add(before(i).wrapping_mul(3))
                .wrapping_add(before(i + 1).wrapping_mul(5));
            for _ in 0..steps {
                value = mix(value, i);
            }
            value
        }
        for salt in SALTS {
            for cells in [1, 2, 5] {
                let expected = sum((0..cells).map(|i| cell(4, i, cells, 3, salt)));
                assert_eq!(phases(cells, 4, 3, salt).unwrap(), expected, "{cells}, {salt}");
            }
        }
        assert!(phases(1 << 30, 1 << 30, 1 << 30, 0).is_err());
    }

    #[test]
    fn a_pipeline_is_that_of_one_stage_after_the_other() {
        for salt in SALTS {
            let mut values: Vec<u64> = (0..50).map(|i| salt.wrapping_add(i)).collect();
            for (stage, steps) in [(0, 1), (1, 32), (2, 4), (3, 128), (4, 8)] {
                for value in &mut values {
                    for _ in 0..steps {
                        *value = mix(*value, stage);
                    }
                }
            }
            assert_eq!(pipeline(50, salt).unwrap(), sum(values));
        }
    }

    #[test]
    fn a_broadcast_is_that_of_the_recursion() {
        fn leaves(value: u64, levels: u64) -> u64 {
            if levels == 1 {
                return value;
            }
            sum([1, 2].map(|child| leaves(mix(value, child), levels - 1)))
        }
        for salt in SALTS {
            for levels in 1..6 {
                let expected = sum((0..7).map(|round| leaves(mix(salt, round), levels)));
                assert_eq!(broadcast(levels, 7, salt).unwrap(), expected, "{levels}, {salt}");
            }
        }
        assert!(broadcast(0, 1, 0).is_err());
    }

    #[test]
    fn deadlines_pass_where_the_work_takes_longer() {
        for salt in SALTS {
            let of = |task| {
                let number = mix(salt, task);
                let short = 1 + (number / 2) % 8;
                let (work, deadline) = if number & 1 == 1 { (short, 1000) } else { (1000, short) };
                if work < deadline { work } else { 100 + deadline }
            };
            assert_eq!(deadlines(300, salt).unwrap(), sum((0..300).map(of)));
        }
    }

    #[test]
    fn requests_are_those_of_their_tasks() {
        for salt in SALTS {
            let mut expected = 0_u64;
            for request in 0..20 {
                let value = mix(salt, request);
                for key in 1..=4_u64 {
                    let mut result = if key <= 2 { value.wrapping_add(key) } else { value };
                    for _ in 0..if key <= 2 { 9 } else { 1 } {
                        result = mix(result, key);
                    }
                    expected = expected.wrapping_add(result);
                }
            }
            assert_eq!(requests(20, 9, salt).unwrap(), expected);
        }
    }
}
