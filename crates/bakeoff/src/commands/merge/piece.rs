//! A piece of a merged run: what one machine has of it, and where that is read from.

use std::collections::BTreeMap;

use bakeoff_results::{Cut, MergePart, RunMember, TrialSummary};

/// What one machine has of a merged run.
pub struct MergePiece<'a> {
    /// The machine.
    pub member: RunMember,
    /// Where it is read from.
    pub part: MergePart<'a>,
    /// The trials of the folder that it is read from.
    pub trials: &'a [TrialSummary],
    /// The power cuts of that folder.
    pub cuts: &'a [Cut],
}

impl MergePiece<'_> {
    /// The blocks that were not run to their end, by their numbers.
    pub fn unfinished(&self) -> Vec<u32> {
        // Of each block the latest attempt, and how many of its trials have ended.
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

    /// How many power cuts it lacks, where `each` engine has so many at each level.
    pub fn cuts_left(&self, each: u32) -> u32 {
        let left = |(engine, level): &(String, String)| {
            let of = self.cuts.iter().filter(|cut| cut.failed.is_none());
            let of = of.filter(|cut| cut.engine == *engine && cut.durability == *level);
            each.saturating_sub(of.count() as u32)
        };
        self.member.cuts.iter().map(left).fold(0, u32::saturating_add)
    }
}
