//! A merged run that more shards are merged into.

use std::path::Path;

use bakeoff_results::{Cut, Error, Member, Merged, Part, Run, RunFolder, TrialSummary};

use super::piece::Piece;
use super::sources::{Source, Terms, by_place, made, place, refused, same};
use crate::exit::Failure;

/// A merged run as its folder has it.
pub struct Earlier {
    folder: RunFolder,
    pub run: Run,
    pub experiment: String,
    merged: Merged,
    trials: Vec<TrialSummary>,
    cuts: Vec<Cut>,
}

impl Earlier {
    /// Reads a folder that has to hold a merged run.
    pub fn read(dir: &Path) -> Result<Self, Failure> {
        let no_merged = || {
            refused(format!(
                "{} exists, and what it holds is no merged run; name another folder for the merged one",
                dir.display()
            ))
        };
        let folder = match RunFolder::open(dir) {
            Err(Error::NotARun { .. }) => return Err(no_merged()),
            folder => folder.map_err(Failure::folder)?,
        };
        let run = folder.run().map_err(Failure::folder)?;
        let Some(mut merged) = run.merged.clone() else { return Err(no_merged()) };
        let read = || -> bakeoff_results::Result<Self> {
            merged.end_last(folder.canaries()?.len() as u32);
            let (trials, cuts) = (folder.trials()?, folder.cuts()?);
            Ok(Self { experiment: folder.experiment()?, folder, run, merged, trials, cuts })
        };
        read().map_err(Failure::folder)
    }

    /// What has to be the same in the shards.
    pub fn terms(&self) -> Terms<'_> {
        let name = self.folder.dir().display().to_string();
        let (plan, count) = (&self.merged.plan, self.merged.count);
        Terms { name, run: &self.run, experiment: &self.experiment, plan, count }
    }

    /// Of how many engines and levels of durability it has the power cut.
    pub fn cut_cells(&self) -> usize {
        self.merged.members.iter().map(|member| member.cuts.len()).sum()
    }

    /// The machines that went on with it.
    pub fn went_on(&self) -> Vec<&Member> {
        self.merged.members.iter().filter(|member| member.shard.is_none()).collect()
    }

    /// Refuses shards that have other figures than were merged of them, or that have run what a machine
    /// ran that went on with the merged run.
    pub fn check(&self, sources: &[Source<'_>]) -> Result<(), Failure> {
        let name = self.folder.dir().display();
        let (known, owners) = (by_place(&self.trials), self.merged.owners());
        for source in sources {
            let (own, shard) = (by_place(&source.trials), source.shard.index);
            let is_own = |trial: &&TrialSummary| {
                owners.get(&trial.block).is_some_and(|owner| owner.shard == Some(shard))
            };
            let differs = |trial: &TrialSummary| {
                own.get(&place(trial)).is_none_or(|given| !same(given, trial))
            };
            let cut_differs = |cut: &Cut| {
                let cell = (cut.engine.clone(), cut.durability.clone());
                let merged = self.merged.members.iter().find(|it| it.cuts.contains(&cell));
                merged.is_some_and(|it| it.shard == Some(shard))
                    && made(&source.cuts).all(|given| given != cut)
            };
            if self.trials.iter().filter(is_own).any(differs) || made(&self.cuts).any(cut_differs) {
                return Err(refused(format!(
                    "{} is shard {shard}, and {name} has other figures of it: it was run twice. Merge into \
                     another folder, or name the shard that was merged",
                    source.name()
                )));
            }
            let is_others = |trial: &&TrialSummary| {
                owners.get(&trial.block).is_some_and(|owner| owner.shard.is_none())
            };
            let twice = source.trials.iter().filter(is_others);
            let mut twice = twice
                .filter(|trial| known.get(&place(trial)).is_none_or(|merged| !same(merged, trial)));
            if let Some(trial) = twice.next() {
                return Err(refused(format!(
                    "block {} was run twice, in {} and where {name} went on: merge into another folder",
                    trial.block,
                    source.name()
                )));
            }
        }
        Ok(())
    }

    /// What stays of it beside these shards, whose folders take the place of what was merged of them.
    pub fn pieces(&self, sources: &[Source<'_>]) -> Vec<Piece<'_>> {
        let mut seen = 0;
        let mut pieces = Vec::new();
        for member in &self.merged.members {
            let canaries = seen..seen + member.canaries as usize;
            seen = canaries.end;
            if sources.iter().any(|source| Some(source.shard.index) == member.shard) {
                continue;
            }
            let part = Part {
                folder: &self.folder,
                blocks: member.blocks.iter().map(|(number, _)| *number).collect(),
                cuts: member.cuts.iter().cloned().collect(),
                canaries,
            };
            let (member, trials, cuts) = (member.clone(), &self.trials, &self.cuts);
            pieces.push(Piece { member, part, trials, cuts });
        }
        pieces
    }
}
