//! The shards that are merged: what each holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Display, Path};

use bakeoff_experiment::{MOST_TRIALS, Shard};
use bakeoff_lab::now_s;
use bakeoff_results::{Cut, MergePart, PlanShard, Run, RunFolder, RunMember, Status, TrialSummary};

use super::alike::MergeTerms;
use super::piece::MergePiece;
use crate::exit::{CommandFailure, Exit};

/// How far clocks may lie apart, in seconds: dates are told to the minute.
const CLOSE_S: f64 = 60.0;

/// A shard as its folder has it.
pub struct ShardSource<'a> {
    folder: &'a RunFolder,
    pub run: Run,
    pub shard: PlanShard,
    pub experiment: String,
    pub trials: Vec<TrialSummary>,
    pub cuts: Vec<Cut>,
    /// How far it came.
    pub status: Status,
    /// Whether a bakeoff was writing to it as it was read; of one on another machine that is not known.
    pub is_written: bool,
    ended_s: Option<f64>,
    /// How long after it was read the last of its times is, in seconds, where the clocks are not close.
    ahead_s: Option<f64>,
    canaries: u32,
}

/// A trial's block, attempt and place.
pub type TrialPosition = (u32, u32, u32);

impl<'a> ShardSource<'a> {
    /// Reads the folder of a shard, whose experiment has to be the one that it ran.
    pub fn read(folder: &'a RunFolder) -> Result<Self, CommandFailure> {
        folder.check_experiment().map_err(CommandFailure::folder)?;
        let state = folder.state().map_err(CommandFailure::folder)?;
        let dir = folder.dir().display();
        let Some(shard) = state.run.shard.clone() else {
            let what = match state.run.merged {
                Some(_) => "was merged itself: name its shards",
                None => "is a whole run: name folders that `bakeoff run --shard` made",
            };
            return Err(refused(format!("the run in {dir} is no shard, it {what}")));
        };
        let (index, count) = (shard.index, shard.count);
        if Shard::new(index, count).is_err() || u64::from(count) > MOST_TRIALS {
            return Err(refused(format!(
                "the run in {dir} is shard {index} of {count}, which none is"
            )));
        }
        let read = || -> bakeoff_results::Result<Self> {
            let trials = folder.trials()?;
            let times = trials.iter().map(|trial| trial.started_s);
            let times = times.chain([state.run.started_s]).chain(state.ended_s);
            let ahead_s = times.fold(f64::NEG_INFINITY, f64::max) - now_s();
            Ok(Self {
                folder,
                shard,
                experiment: folder.experiment()?,
                trials,
                cuts: folder.cuts()?,
                status: state.status,
                is_written: folder.is_written(),
                ended_s: state.ended_s,
                ahead_s: Some(ahead_s).filter(|ahead_s| *ahead_s > CLOSE_S),
                canaries: folder.canaries()?.len() as u32,
                run: state.run,
            })
        };
        read().map_err(CommandFailure::folder)
    }

    /// Where its folder is.
    pub fn dir(&self) -> &Path {
        self.folder.dir()
    }

    /// Its folder, for a reader.
    pub fn name(&self) -> Display<'_> {
        self.folder.dir().display()
    }

    /// What the merged run takes of it: all but the blocks and cuts of `others`, who ran them after it.
    pub fn piece(&self, others: &[&RunMember]) -> MergePiece<'_> {
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

    /// Whether all that another has of it is here, too, with the same figures.
    fn has_all_of(&self, other: &Self) -> bool {
        let own = by_place(&self.trials);
        let has = |trial: &TrialSummary| own.get(&place(trial)).is_some_and(|it| same(it, trial));
        other.trials.iter().all(has)
            && made(&other.cuts).all(|cut| made(&self.cuts).any(|own| own == cut))
    }
}

/// Trials by their places.
pub fn by_place(trials: &[TrialSummary]) -> BTreeMap<TrialPosition, &TrialSummary> {
    trials.iter().map(|trial| (place(trial), trial)).collect()
}

/// Where a trial has its place.
pub fn place(trial: &TrialSummary) -> TrialPosition {
    (trial.block, trial.attempt, trial.order)
}

/// Whether two are one trial. One may have been set aside since: that is no figure.
pub fn same(one: &TrialSummary, other: &TrialSummary) -> bool {
    let figures = |it: &TrialSummary| TrialSummary { valid: true, reason: None, ..it.clone() };
    figures(one) == figures(other)
}

/// Cuts that say something.
pub fn made(cuts: &[Cut]) -> impl Iterator<Item = &Cut> {
    cuts.iter().filter(|cut| cut.failed.is_none())
}

/// Each shard once, by their indices. One that is given twice has the same figures in both folders, and is as
/// far in both: the older copy of a shard is refused here as it is where the newer one was merged before.
pub fn once(sources: Vec<ShardSource<'_>>) -> Result<Vec<ShardSource<'_>>, CommandFailure> {
    let mut once: BTreeMap<u32, ShardSource> = BTreeMap::new();
    for source in sources {
        let index = source.shard.index;
        let Some(known) = once.remove(&index) else {
            once.insert(index, source);
            continue;
        };
        let kept = match (known.has_all_of(&source), source.has_all_of(&known)) {
            (true, true) => known,
            (true, false) => return Err(older_copy(source.name(), index, known.name())),
            (false, true) => return Err(older_copy(known.name(), index, source.name())),
            (false, false) => {
                return Err(refused(format!(
                    "shard {index} is given twice, by {} and {}, and their figures differ: it was run twice. \
                     Name one of them",
                    known.name(),
                    source.name()
                )));
            }
        };
        once.insert(index, kept);
    }
    Ok(once.into_values().collect())
}

impl ShardSource<'_> {
    /// What has to be the same in all shards.
    pub fn terms(&self) -> MergeTerms<'_> {
        let PlanShard { plan, program_sha256, count, .. } = &self.shard;
        let (name, program) = (self.name().to_string(), program_sha256.as_deref());
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

/// Why a folder of a shard is refused that has less of it than another has.
pub fn older_copy(older: Display<'_>, shard: u32, newer: Display<'_>) -> CommandFailure {
    refused(format!(
        "{older} is an older copy of shard {shard}: {newer} has all of it and more; leave {older} out"
    ))
}

/// Folders that can't be merged.
pub fn refused(why: String) -> CommandFailure {
    CommandFailure::new(Exit::Folder, why)
}
