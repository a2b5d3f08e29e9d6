//! An existing merged run into which more shards are merged.

use std::collections::BTreeSet;
use std::path::Path;

use bakeoff_results::{
    Cut, Error, MergePart, Merged, PlanShard, Run, RunFolder, RunMember, TrialSummary,
};

use super::alike::MergeTerms;
use super::piece::MergePiece;
use super::sources::{
    ShardSource, by_place, merge_failure, older_copy, same_trial, trial_position, valid_cuts,
};
use crate::exit::CommandFailure;

pub struct EarlierMerge {
    folder: RunFolder,
    pub run: Run,
    pub experiment: String,
    pub cut_cells: usize,
    merged: Merged,
    trials: Vec<TrialSummary>,
    cuts: Vec<Cut>,
}

impl EarlierMerge {
    pub fn read_folder(dir: &Path) -> Result<Self, CommandFailure> {
        let no_merged = || {
            merge_failure(format!(
                "{} exists, and what it holds is no merged run; name another folder for the merged one",
                dir.display()
            ))
        };
        let folder = match RunFolder::open(dir) {
            Err(Error::NotARun { .. }) => return Err(no_merged()),
            folder => folder.map_err(CommandFailure::from_folder_error)?,
        };
        folder.check_experiment().map_err(CommandFailure::from_folder_error)?;
        let state = folder.read_state().map_err(CommandFailure::from_folder_error)?;
        let Some(mut merged) = state.run.merged.clone() else { return Err(no_merged()) };
        let read = || -> bakeoff_results::Result<Self> {
            let (trials, cuts) = (folder.read_trials()?, folder.read_cuts()?);
            merged.end_last(folder.read_canaries()?.len() as u32, state.ended_s);
            // A machine claims all missing blocks before its first trial, and may not have run
            // them.
            let begun: BTreeSet<u32> = trials.iter().map(|trial| trial.block).collect();
            for member in went_on(&mut merged) {
                member.blocks.retain(|(number, _)| begun.contains(number));
            }
            Ok(Self {
                experiment: folder.read_experiment()?,
                cut_cells: merged.members.iter().map(|member| member.cuts.len()).sum(),
                folder,
                run: state.run,
                merged,
                trials,
                cuts,
            })
        };
        read().map_err(CommandFailure::from_folder_error)
    }

    /// Gives blocks and power cuts that a machine claimed but never ran back to their shards.
    pub fn leave_to(&mut self, sources: &[ShardSource<'_>]) {
        if went_on(&mut self.merged).next().is_none() {
            return;
        }
        for source in sources {
            let own = by_place(&source.trials);
            let is_others = |trial: &&TrialSummary| {
                own.get(&trial_position(trial)).is_none_or(|given| !same_trial(given, trial))
            };
            let run: BTreeSet<u32> =
                self.trials.iter().filter(is_others).map(|trial| trial.block).collect();
            let is_cut_of_others = |cut: &&Cut| valid_cuts(&source.cuts).all(|given| given != *cut);
            let cut: BTreeSet<(String, String)> =
                valid_cuts(&self.cuts).filter(is_cut_of_others).map(cut_cell).collect();
            let PlanShard { blocks, cuts, .. } = &source.shard;
            for member in went_on(&mut self.merged) {
                member.blocks.retain(|block| run.contains(&block.0) || !blocks.contains(block));
                member.cuts.retain(|cell| cut.contains(cell) || !cuts.contains(cell));
            }
        }
    }

    pub fn merge_terms(&self) -> MergeTerms<'_> {
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

    pub fn went_on(&self) -> Vec<&RunMember> {
        let members = self.merged.members.iter().filter(|member| member.shard.is_none());
        members.filter(|member| !has_nothing(member)).collect()
    }

    /// Refuses other or fewer figures than were merged before, and work that another machine has
    /// done since.
    pub fn check_sources(&self, sources: &[ShardSource<'_>]) -> Result<(), CommandFailure> {
        let name = self.folder.dir().display();
        let (known, owners) = (by_place(&self.trials), self.merged.map_owners());
        for source in sources {
            if self.has_others_of(source) {
                return Err(self.refused_for_others(source));
            }
            let is_others = |trial: &&TrialSummary| {
                owners.get(&trial.block).is_some_and(|owner| owner.shard.is_none())
            };
            let twice = source.trials.iter().filter(is_others);
            let mut twice = twice.filter(|trial| {
                known.get(&trial_position(trial)).is_none_or(|merged| !same_trial(merged, trial))
            });
            if let Some(trial) = twice.next() {
                return Err(merge_failure(format!(
                    "block {} was run twice, in {} and where {name} went on: merge into another folder",
                    trial.block,
                    source.display_name()
                )));
            }
        }
        Ok(())
    }

    /// Whether this folder lacks trials or power cuts that were merged of its shard.
    fn has_others_of(&self, source: &ShardSource<'_>) -> bool {
        let (own, shard) = (by_place(&source.trials), Some(source.shard.index));
        let owners = self.merged.map_owners();
        let is_own = |trial: &&TrialSummary| {
            owners.get(&trial.block).is_some_and(|owner| owner.shard == shard)
        };
        let differs = |trial: &TrialSummary| {
            own.get(&trial_position(trial)).is_none_or(|given| !same_trial(given, trial))
        };
        let cut_differs = |cut: &Cut| {
            let cell = cut_cell(cut);
            let merged = self.merged.members.iter().find(|it| it.cuts.contains(&cell));
            merged.is_some_and(|it| it.shard == shard)
                && valid_cuts(&source.cuts).all(|given| given != cut)
        };
        self.trials.iter().filter(is_own).any(differs) || valid_cuts(&self.cuts).any(cut_differs)
    }

    /// Why such a shard is refused: it is older, or another shard.
    fn refused_for_others(&self, source: &ShardSource<'_>) -> CommandFailure {
        let (name, shard, given) =
            (self.folder.dir().display(), source.shard.index, source.display_name());
        let known = by_place(&self.trials);
        let has = |trial: &TrialSummary| {
            known.get(&trial_position(trial)).is_some_and(|it| same_trial(it, trial))
        };
        let older = source.trials.iter().all(has)
            && valid_cuts(&source.cuts).all(|cut| valid_cuts(&self.cuts).any(|it| it == cut));
        match older {
            true => older_copy(given, shard, name),
            false => merge_failure(format!(
                "{given} is shard {shard}, and {name} has other figures of it: it was run twice. Merge into \
                 another folder, or name the shard that was merged"
            )),
        }
    }

    /// The pieces to keep beside these shards; a shard's folder replaces what was merged of it
    /// before.
    pub fn kept_pieces(&self, sources: &[ShardSource<'_>]) -> Vec<MergePiece<'_>> {
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

fn went_on(merged: &mut Merged) -> impl Iterator<Item = &mut RunMember> {
    merged.members.iter_mut().filter(|member| member.shard.is_none())
}

fn has_nothing(member: &RunMember) -> bool {
    member.shard.is_none() && member.blocks.is_empty() && member.cuts.is_empty()
}

fn cut_cell(cut: &Cut) -> (String, String) {
    (cut.engine.clone(), cut.durability.clone())
}
