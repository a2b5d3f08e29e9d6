//! Reads the shards that are merged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Display, Path};

use bakeoff_experiment::{MOST_TRIALS, Shard};
use bakeoff_lab::now_s;
use bakeoff_results::{Cut, MergePart, PlanShard, Run, RunFolder, RunMember, Status, TrialSummary};

use super::alike::MergeTerms;
use super::piece::MergePiece;
use crate::exit::{CommandFailure, Exit};

/// How much clocks may differ, in seconds: dates are shown to the minute.
const CLOSE_S: f64 = 60.0;

pub struct ShardSource<'a> {
    folder: &'a RunFolder,
    pub run: Run,
    pub shard: PlanShard,
    pub experiment: String,
    pub trials: Vec<TrialSummary>,
    pub cuts: Vec<Cut>,
    pub status: Status,
    /// Whether a bakeoff was writing to it while it was read; unknown for one on another machine.
    pub is_written: bool,
    ended_s: Option<f64>,
    /// Seconds by which its last time lies after the reading, if more than [`CLOSE_S`].
    ahead_s: Option<f64>,
    canaries: u32,
}

pub type TrialPosition = (u32, u32, u32);

impl<'a> ShardSource<'a> {
    /// Its experiment must be the one that the shard ran.
    pub fn read_folder(folder: &'a RunFolder) -> Result<Self, CommandFailure> {
        folder.check_experiment().map_err(CommandFailure::from_folder_error)?;
        let state = folder.read_state().map_err(CommandFailure::from_folder_error)?;
        let dir = folder.dir().display();
        let Some(shard) = state.run.shard.clone() else {
            let what = match state.run.merged {
                Some(_) => "was merged itself: name its shards",
                None => "is a whole run: name folders that `bakeoff run --shard` made",
            };
            return Err(merge_failure(format!("the run in {dir} is no shard, it {what}")));
        };
        let (index, count) = (shard.index, shard.count);
        if Shard::new(index, count).is_err() || u64::from(count) > MOST_TRIALS {
            return Err(merge_failure(format!(
                "the run in {dir} is shard {index} of {count}, which none is"
            )));
        }
        let read = || -> bakeoff_results::Result<Self> {
            let trials = folder.read_trials()?;
            let times = trials.iter().map(|trial| trial.started_s);
            let times = times.chain([state.run.started_s]).chain(state.ended_s);
            let ahead_s = times.fold(f64::NEG_INFINITY, f64::max) - now_s();
            Ok(Self {
                folder,
                shard,
                experiment: folder.read_experiment()?,
                trials,
                cuts: folder.read_cuts()?,
                status: state.status,
                is_written: folder.is_written(),
                ended_s: state.ended_s,
                ahead_s: Some(ahead_s).filter(|ahead_s| *ahead_s > CLOSE_S),
                canaries: folder.read_canaries()?.len() as u32,
                run: state.run,
            })
        };
        read().map_err(CommandFailure::from_folder_error)
    }

    pub fn dir(&self) -> &Path {
        self.folder.dir()
    }

    pub fn display_name(&self) -> Display<'_> {
        self.folder.dir().display()
    }

    /// The piece that the merged run takes: all but the blocks and cuts that `others` ran later.
    pub fn to_piece(&self, others: &[&RunMember]) -> MergePiece<'_> {
        let blocks = others.iter().flat_map(|it| &it.blocks).map(|(number, _)| *number);
        let (blocks, mut own): (BTreeSet<u32>, _) = (blocks.collect(), self.shard.blocks.clone());
        own.retain(|(number, _)| !blocks.contains(number));
        let is_others = |cell: &(String, String)| others.iter().any(|it| it.cuts.contains(cell));
        let cuts = self.shard.cuts.iter().filter(|cell| !is_others(cell)).cloned().collect();
        let Run { machine, harness_s, load, neighbour_alone_per_second, started_s, .. } = &self.run;
        let member = RunMember {
            shard: Some(self.shard.index),
            host: self.shard.host.clone(),
            machine: machine.clone(),
            harness_s: *harness_s,
            load: *load,
            neighbour_alone_per_second: *neighbour_alone_per_second,
            started_s: *started_s,
            ended_s: self.ended_s,
            ahead_s: self.ahead_s,
            canaries: self.canaries,
            blocks: own,
            cuts,
        };
        let part = MergePart {
            folder: self.folder,
            blocks: member.blocks.iter().map(|(number, _)| *number).collect(),
            cuts: member.cuts.iter().cloned().collect(),
            canaries: 0..self.canaries as usize,
        };
        MergePiece { member, part, trials: &self.trials, cuts: &self.cuts }
    }

    /// Whether this one has all that `other` has of the shard, with the same figures.
    fn has_all_of(&self, other: &Self) -> bool {
        let own = by_place(&self.trials);
        let has = |trial: &TrialSummary| {
            own.get(&trial_position(trial)).is_some_and(|it| same_trial(it, trial))
        };
        other.trials.iter().all(has)
            && valid_cuts(&other.cuts).all(|cut| valid_cuts(&self.cuts).any(|own| own == cut))
    }
}

pub fn by_place(trials: &[TrialSummary]) -> BTreeMap<TrialPosition, &TrialSummary> {
    trials.iter().map(|trial| (trial_position(trial), trial)).collect()
}

pub fn trial_position(trial: &TrialSummary) -> TrialPosition {
    (trial.block, trial.attempt, trial.order)
}

/// Whether both are the same trial. One may have been set aside since, which changes no figure.
pub fn same_trial(one: &TrialSummary, other: &TrialSummary) -> bool {
    let figures = |it: &TrialSummary| TrialSummary { valid: true, reason: None, ..it.clone() };
    figures(one) == figures(other)
}

pub fn valid_cuts(cuts: &[Cut]) -> impl Iterator<Item = &Cut> {
    cuts.iter().filter(|cut| cut.failed.is_none())
}

/// Keeps each shard once. Two copies must have the same figures and be equally far.
pub fn each_once(sources: Vec<ShardSource<'_>>) -> Result<Vec<ShardSource<'_>>, CommandFailure> {
    let mut once: BTreeMap<u32, ShardSource> = BTreeMap::new();
    for source in sources {
        let index = source.shard.index;
        let Some(known) = once.remove(&index) else {
            once.insert(index, source);
            continue;
        };
        let kept = match (known.has_all_of(&source), source.has_all_of(&known)) {
            (true, true) => known,
            (true, false) => {
                return Err(older_copy(source.display_name(), index, known.display_name()));
            }
            (false, true) => {
                return Err(older_copy(known.display_name(), index, source.display_name()));
            }
            (false, false) => {
                return Err(merge_failure(format!(
                    "shard {index} is given twice, by {} and {}, and their figures differ: it was run twice. \
                     Name one of them",
                    known.display_name(),
                    source.display_name()
                )));
            }
        };
        once.insert(index, kept);
    }
    let once: Vec<ShardSource<'_>> = once.into_values().collect();
    check_claims(&once)?;
    Ok(once)
}

/// Each block is dealt to one shard, and numbered from 0.
fn check_claims(sources: &[ShardSource<'_>]) -> Result<(), CommandFailure> {
    let mut claimed: BTreeMap<u32, &ShardSource<'_>> = BTreeMap::new();
    for source in sources {
        let (dir, index) = (source.display_name(), source.shard.index);
        for (block, _) in &source.shard.blocks {
            if *block >= source.shard.trials {
                return Err(merge_failure(format!(
                    "shard {index} in {dir} claims block {block}, which its plan of {} trials can't have: the \
                     folder is damaged; copy it anew from where it was run",
                    source.shard.trials
                )));
            }
            if let Some(other) = claimed.insert(*block, source) {
                return Err(merge_failure(format!(
                    "shard {} in {} and shard {index} in {dir} both claim block {block}, which is dealt to one \
                     alone: one of the folders is damaged; copy it anew from where it was run",
                    other.shard.index,
                    other.display_name()
                )));
            }
        }
    }
    Ok(())
}

impl ShardSource<'_> {
    pub fn merge_terms(&self) -> MergeTerms<'_> {
        let PlanShard { plan, program_sha256, count, .. } = &self.shard;
        let (name, program) = (self.display_name().to_string(), program_sha256.as_deref());
        MergeTerms {
            name,
            run: &self.run,
            experiment: &self.experiment,
            plan,
            program,
            count: *count,
        }
    }
}

/// Refuses a folder that has less of a shard than another folder.
pub fn older_copy(older: Display<'_>, shard: u32, newer: Display<'_>) -> CommandFailure {
    merge_failure(format!(
        "{older} is an older copy of shard {shard}: {newer} has all of it and more; leave {older} out"
    ))
}

pub fn merge_failure(why: String) -> CommandFailure {
    CommandFailure::new(Exit::Folder, why)
}
