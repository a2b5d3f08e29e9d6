//! A piece of a merged run: one machine's part, and where it is read from.

use std::collections::BTreeMap;

use bakeoff_results::{Cut, MergePart, RunMember, TrialSummary};

pub struct MergePiece<'a> {
    pub member: RunMember,
    pub part: MergePart<'a>,
    pub trials: &'a [TrialSummary],
    pub cuts: &'a [Cut],
}

impl MergePiece<'_> {
    pub fn unfinished_blocks(&self) -> Vec<u32> {
        // For each block the latest attempt, and how many of its trials have ended.
        let mut ended: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        for trial in self.trials {
            let (attempt, count) = ended.entry(trial.block).or_default();
            if trial.attempt > *attempt {
                (*attempt, *count) = (trial.attempt, 0);
            }
            if trial.attempt == *attempt {
                *count += 1;
            }
        }
        let whole = |(number, trials): &&(u32, u32)| {
            ended.get(number).is_some_and(|(_, count)| count == trials)
        };
        let blocks = self.member.blocks.iter();
        blocks.filter(|block| !whole(block)).map(|(number, _)| *number).collect()
    }

    /// How many power cuts it lacks, if there are `each` per engine and level.
    pub fn cuts_left(&self, each: u32) -> u32 {
        let left = |(engine, level): &(String, String)| {
            let of = self.cuts.iter().filter(|cut| cut.failed.is_none());
            let of = of.filter(|cut| cut.engine == *engine && cut.durability == *level);
            each.saturating_sub(of.count() as u32)
        };
        self.member.cuts.iter().map(left).fold(0, u32::saturating_add)
    }
}
