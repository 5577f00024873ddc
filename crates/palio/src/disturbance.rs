//! Blocks that others disturbed: what the machine did for processes outside of a race, and the rule
//! by which such a block is repeated. It looks at the machine alone, never at a sample.

use crate::machine::CpuUse;
use crate::record::{BlockRecord, RepeatRule, RunRecord};

/// A shorter block has too few ticks of the kernel's accounting (10 ms each) to tell percents.
const BLOCK_S_MIN: f64 = 0.5;

/// What others took of the machine's CPU time, as fractions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outside {
    /// Other processes, the kernel's own work, and other guests.
    pub all: f64,
    /// Other guests, which the hypervisor ran instead.
    pub steal: f64,
}

impl Outside {
    /// From what the machine did in a block of `block_s` seconds, and the CPU seconds that the
    /// contenders and Palio took; `None` for a block that is too short.
    #[must_use]
    pub fn of(used: &CpuUse, own_s: f64, block_s: f64) -> Option<Self> {
        if block_s < BLOCK_S_MIN || used.total_s <= 0.0 {
            return None;
        }
        let others = ((used.busy_s - own_s) / used.total_s).max(0.0);
        Some(Self { all: (others + used.steal).min(1.0), steal: used.steal })
    }
}

impl RepeatRule {
    /// Judges a block, after the `before` blocks of its race. What the system does not tell
    /// disturbs nothing.
    #[must_use]
    pub fn judge(
        &self,
        block: u32,
        outside: Option<Outside>,
        before: &[BlockRecord],
    ) -> BlockRecord {
        let all = outside.map(|outside| outside.all);
        BlockRecord {
            block,
            outside: all,
            steal: outside.map(|outside| outside.steal),
            repeated: self.repeats(all, before),
            interrupted: false,
        }
    }

    /// Whether a block in which others took so much is repeated, after the `before` blocks.
    #[must_use]
    pub fn repeats(&self, outside: Option<f64>, before: &[BlockRecord]) -> bool {
        let done = before.iter().filter(|block| block.repeated && !block.interrupted).count();
        outside.is_some_and(|all| all > self.outside_max) && done < self.repeats_max as usize
    }
}

/// What a report says of the rule and of the blocks of all races; `None` without a rule.
#[must_use]
pub fn sentence(run: &RunRecord) -> Option<String> {
    let rule = run.header.repeat?;
    let blocks =
        || run.races.iter().flat_map(|race| &race.blocks).filter(|block| !block.interrupted);
    let is_disturbed = |block: &&BlockRecord| block.outside.is_some_and(|o| o > rule.outside_max);
    let told = blocks().filter(|block| block.outside.is_some()).count();
    let repeated = blocks().filter(|block| block.repeated).count();
    let kept = blocks().filter(is_disturbed).filter(|block| !block.repeated).count();
    // It was given in percent, and a hundredth of it is not exact.
    let percent = (1e6 * rule.outside_max).round() / 1e4;
    let untold = match blocks().count() - told {
        0 => String::new(),
        count => {
            format!("; {count} could not be judged (too short, resumed, or not told by the system)")
        }
    };
    Some(format!(
        "others may take {percent} % of the CPU time in a block: {told} judged, {repeated} disturbed and repeated (at \
         most {} in a race), {kept} disturbed and kept{untold}",
        rule.repeats_max
    ))
}

/// What a report says of a run that was interrupted and gone on with; `None` if it was not.
#[must_use]
pub fn interruptions(run: &RunRecord) -> Option<String> {
    let count = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let resumed = run.header.resumed_at.len();
    let cut = run.races.iter().flat_map(|race| &race.blocks).filter(|b| b.interrupted).count();
    let blocks = match cut {
        0 => "no block was cut off".to_owned(),
        1 => "1 block was cut off and counts for nobody, and all race in another one".to_owned(),
        cut => format!("{cut} blocks were cut off and count for nobody, and all race in others"),
    };
    (resumed > 0).then(|| {
        format!(
            "interrupted and resumed {}: {blocks}; who stops a run chooses what is raced again",
            count(resumed, "time")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: RepeatRule = RepeatRule { outside_max: 0.05, repeats_max: 2 };

    fn used(busy_s: f64, steal: f64) -> CpuUse {
        CpuUse { busy_s, total_s: 4.0, steal }
    }

    fn outside(all: f64) -> Option<Outside> {
        Some(Outside { all, steal: 0.0 })
    }

    #[test]
    fn what_others_took_is_what_is_left_and_what_was_stolen() {
        assert_eq!(
            Outside::of(&used(3.0, 0.25), 2.0, 2.0),
            Some(Outside { all: 0.5, steal: 0.25 })
        );
        // The kernel counts in ticks: its sum may be smaller than what processes took.
        assert_eq!(Outside::of(&used(1.9, 0.0), 2.0, 2.0), Some(Outside { all: 0.0, steal: 0.0 }));
        assert_eq!(Outside::of(&used(3.0, 0.0), 2.0, 0.4), None);
    }

    #[test]
    fn a_block_is_repeated_beyond_the_threshold_and_so_often() {
        let mut blocks = Vec::new();
        for (number, share) in (0..).zip([0.05, 0.051, 0.9, 0.9]) {
            blocks.push(RULE.judge(number, outside(share), &blocks));
        }
        let repeated: Vec<bool> = blocks.iter().map(|block| block.repeated).collect();
        assert_eq!(repeated, [false, true, true, false]);
    }

    #[test]
    fn a_block_that_was_cut_off_is_none_of_the_repeats() {
        let cut =
            BlockRecord { block: 0, outside: None, steal: None, repeated: true, interrupted: true };
        let repeated = BlockRecord { interrupted: false, ..cut };
        assert!(RULE.repeats(Some(0.9), &[cut, cut, repeated]));
        assert!(!RULE.repeats(Some(0.9), &[cut, repeated, repeated]));
    }

    #[test]
    fn what_is_not_told_disturbs_nothing() {
        let block = RULE.judge(3, None, &[]);
        assert_eq!(
            block,
            BlockRecord {
                block: 3,
                outside: None,
                steal: None,
                repeated: false,
                interrupted: false
            }
        );
    }
}
