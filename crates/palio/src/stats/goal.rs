//! When does a race need another block?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::floor::NoiseFloor;

/// A noise floor that a race should reach, and the blocks that it may take to do so.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FloorGoal {
    /// As a ratio above 1.
    pub ratio: f64,
    /// The most blocks of a race, the planned ones among them.
    pub blocks_max: u32,
}

impl FloorGoal {
    /// Whether a race of which `planned` blocks were asked for needs another one after `done`,
    /// where `floor` is what these have shown.
    ///
    /// Only the reference against itself is looked at. Contenders are not, so that a race does not
    /// end where one of them happens to look good. Blocks are added in pairs, of which the second
    /// mirrors the first.
    #[must_use]
    pub fn needs_block(&self, planned: u32, done: u32, floor: &NoiseFloor) -> bool {
        done < planned || (done < self.blocks_max && (done % 2 == 1 || floor.ratio() > self.ratio))
    }
}

#[cfg(test)]
mod tests {
    use super::super::BlockTimes;
    use super::*;

    #[test]
    fn blocks_are_added_in_pairs_until_the_floor_or_the_end_is_reached() {
        let goal = FloorGoal { ratio: 1.05, blocks_max: 10 };
        let times = BlockTimes::new([Some(1.0); 6]).unwrap();
        let (quiet, noisy) = (NoiseFloor::measure(&times, &times), NoiseFloor::unknown());
        let needs = |done, floor: &NoiseFloor| goal.needs_block(5, done, floor);
        assert!(needs(4, &quiet) && needs(5, &quiet) && !needs(6, &quiet));
        assert!(needs(6, &noisy) && needs(9, &noisy) && !needs(10, &noisy));
        // A plan beyond the bound stands.
        assert!(goal.needs_block(20, 19, &quiet) && !goal.needs_block(20, 20, &noisy));
    }
}
