//! A merged run that more shards are merged into.

use std::collections::BTreeSet;
use std::path::Path;

use bakeoff_results::{
    Cut, Error, MergePart, Merged, PlanShard, Run, RunFolder, RunMember, TrialSummary,
};

use super::alike::MergeTerms;
use super::piece::MergePiece;
use super::sources::{ShardSource, by_place, made, older_copy, place, refused, same};
use crate::exit::CommandFailure;

/// A merged run as its folder has it.
pub struct EarlierMerge {
    folder: RunFolder,
    pub run: Run,
    pub experiment: String,
    /// Of how many engines and levels of durability it had the power cut.
    pub cut_cells: usize,
    merged: Merged,
    trials: Vec<TrialSummary>,
    cuts: Vec<Cut>,
}

impl EarlierMerge {
    /// Reads a folder that has to hold a merged run.
    pub fn read(dir: &Path) -> Result<Self, CommandFailure> {
        let no_merged = || {
            refused(format!(
                "{} exists, and what it holds is no merged run; name another folder for the merged one",
                dir.display()
            ))
        };
        let folder = match RunFolder::open(dir) {
            Err(Error::NotARun { .. }) => return Err(no_merged()),
            folder => folder.map_err(CommandFailure::folder)?,
        };
        folder.check_experiment().map_err(CommandFailure::folder)?;
        let state = folder.state().map_err(CommandFailure::folder)?;
        let Some(mut merged) = state.run.merged.clone() else { return Err(no_merged()) };
        let read = || -> bakeoff_results::Result<Self> {
            let (trials, cuts) = (folder.trials()?, folder.cuts()?);
            merged.end_last(folder.canaries()?.len() as u32, state.ended_s);
            // A machine claims all that is missing before its first trial, and may have come no further.
            let begun: BTreeSet<u32> = trials.iter().map(|trial| trial.block).collect();
            for member in went_on(&mut merged) {
                member.blocks.retain(|(number, _)| begun.contains(number));
            }
            Ok(Self {
                experiment: folder.experiment()?,
                cut_cells: merged.members.iter().map(|member| member.cuts.len()).sum(),
                folder,
                run: state.run,
                merged,
                trials,
                cuts,
            })
        };
        read().map_err(CommandFailure::folder)
    }

    /// Leaves to shards those of their blocks and power cuts of which who went on has nothing of its own: it
    /// claimed them, and came no further.
    pub fn leave_to(&mut self, sources: &[ShardSource<'_>]) {
        if went_on(&mut self.merged).next().is_none() {
            return;
        }
        for source in sources {
            let own = by_place(&source.trials);
            let is_others = |trial: &&TrialSummary| {
                own.get(&place(trial)).is_none_or(|given| !same(given, trial))
            };
            let run: BTreeSet<u32> =
                self.trials.iter().filter(is_others).map(|trial| trial.block).collect();
            let is_cut_of_others = |cut: &&Cut| made(&source.cuts).all(|given| given != *cut);
            let cut: BTreeSet<(String, String)> =
                made(&self.cuts).filter(is_cut_of_others).map(cell).collect();
            let PlanShard { blocks, cuts, .. } = &source.shard;
            for member in went_on(&mut self.merged) {
                member.blocks.retain(|block| run.contains(&block.0) || !blocks.contains(block));
                member.cuts.retain(|cell| cut.contains(cell) || !cuts.contains(cell));
            }
        }
    }

    /// What has to be the same in the shards.
    pub fn terms(&self) -> MergeTerms<'_> {
        let name = self.folder.dir().display().to_string();
        let Merged { plan, program_sha256, count, .. } = &self.merged;
        let program = program_sha256.as_deref();
        MergeTerms {
            name,
            run: &self.run,
            experiment: &self.experiment,
            plan,
            program,
            count: *count,
        }
    }

    /// The machines that went on with it.
    pub fn went_on(&self) -> Vec<&RunMember> {
        let members = self.merged.members.iter().filter(|member| member.shard.is_none());
        members.filter(|member| !has_nothing(member)).collect()
    }

    /// Refuses shards that have other figures than were merged of them, or fewer, or that have run what a
    /// machine ran that went on with the merged run.
    pub fn check(&self, sources: &[ShardSource<'_>]) -> Result<(), CommandFailure> {
        let name = self.folder.dir().display();
        let (known, owners) = (by_place(&self.trials), self.merged.owners());
        for source in sources {
            if self.has_others_of(source) {
                return Err(self.refused_for_others(source));
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

    /// Whether trials or power cuts were merged of a shard that this folder of it does not have.
    fn has_others_of(&self, source: &ShardSource<'_>) -> bool {
        let (own, shard) = (by_place(&source.trials), Some(source.shard.index));
        let owners = self.merged.owners();
        let is_own = |trial: &&TrialSummary| {
            owners.get(&trial.block).is_some_and(|owner| owner.shard == shard)
        };
        let differs =
            |trial: &TrialSummary| own.get(&place(trial)).is_none_or(|given| !same(given, trial));
        let cut_differs = |cut: &Cut| {
            let cell = cell(cut);
            let merged = self.merged.members.iter().find(|it| it.cuts.contains(&cell));
            merged.is_some_and(|it| it.shard == shard)
                && made(&source.cuts).all(|given| given != cut)
        };
        self.trials.iter().filter(is_own).any(differs) || made(&self.cuts).any(cut_differs)
    }

    /// Why a shard is refused of which others were merged: it is older, or another one.
    fn refused_for_others(&self, source: &ShardSource<'_>) -> CommandFailure {
        let (name, shard, given) = (self.folder.dir().display(), source.shard.index, source.name());
        let known = by_place(&self.trials);
        let has = |trial: &TrialSummary| known.get(&place(trial)).is_some_and(|it| same(it, trial));
        let older = source.trials.iter().all(has)
            && made(&source.cuts).all(|cut| made(&self.cuts).any(|it| it == cut));
        match older {
            true => older_copy(given, shard, name),
            false => refused(format!(
                "{given} is shard {shard}, and {name} has other figures of it: it was run twice. Merge into \
                 another folder, or name the shard that was merged"
            )),
        }
    }

    /// What stays of it beside these shards, whose folders take the place of what was merged of them.
    pub fn pieces(&self, sources: &[ShardSource<'_>]) -> Vec<MergePiece<'_>> {
        let mut seen = 0;
        let mut pieces = Vec::new();
        for member in &self.merged.members {
            let canaries = seen..seen + member.canaries as usize;
            seen = canaries.end;
            let is_given = sources.iter().any(|source| Some(source.shard.index) == member.shard);
            if is_given || has_nothing(member) {
                continue;
            }
            let part = MergePart {
                folder: &self.folder,
                blocks: member.blocks.iter().map(|(number, _)| *number).collect(),
                cuts: member.cuts.iter().cloned().collect(),
                canaries,
            };
            let (member, trials, cuts) = (member.clone(), &self.trials, &self.cuts);
            pieces.push(MergePiece { member, part, trials, cuts });
        }
        pieces
    }
}

/// The members that went on with a merged run.
fn went_on(merged: &mut Merged) -> impl Iterator<Item = &mut RunMember> {
    merged.members.iter_mut().filter(|member| member.shard.is_none())
}

/// Whether a member went on and came to nothing.
fn has_nothing(member: &RunMember) -> bool {
    member.shard.is_none() && member.blocks.is_empty() && member.cuts.is_empty()
}

/// The engine and the level of durability of a power cut.
fn cell(cut: &Cut) -> (String, String) {
    (cut.engine.clone(), cut.durability.clone())
}
