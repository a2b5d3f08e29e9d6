//! The shards that are merged: what each holds, and whether they are parts of one plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Display, Path};

use bakeoff_experiment::{MOST_TRIALS, Shard};
use bakeoff_results::{Cut, Member, Part, PlanShard, Run, RunFolder, Status, TrialSummary};

use super::piece::Piece;
use crate::exit::{Exit, Failure};

/// A shard as its folder has it.
pub struct Source<'a> {
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
    canaries: u32,
}

/// A trial's block, attempt and place.
pub type Place = (u32, u32, u32);

impl<'a> Source<'a> {
    /// Reads the folder of a shard, whose experiment has to be the one that it ran.
    pub fn read(folder: &'a RunFolder) -> Result<Self, Failure> {
        folder.check_experiment().map_err(Failure::folder)?;
        let state = folder.state().map_err(Failure::folder)?;
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
            Ok(Self {
                folder,
                shard,
                experiment: folder.experiment()?,
                trials: folder.trials()?,
                cuts: folder.cuts()?,
                status: state.status,
                is_written: folder.is_written(),
                ended_s: state.ended_s,
                canaries: folder.canaries()?.len() as u32,
                run: state.run,
            })
        };
        read().map_err(Failure::folder)
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
    pub fn piece(&self, others: &[&Member]) -> Piece<'_> {
        let blocks = others.iter().flat_map(|it| &it.blocks).map(|(number, _)| *number);
        let (blocks, mut own): (BTreeSet<u32>, _) = (blocks.collect(), self.shard.blocks.clone());
        own.retain(|(number, _)| !blocks.contains(number));
        let is_others = |cell: &(String, String)| others.iter().any(|it| it.cuts.contains(cell));
        let cuts = self.shard.cuts.iter().filter(|cell| !is_others(cell)).cloned().collect();
        let Run { machine, harness_s, load, neighbour_alone_per_second, started_s, .. } = &self.run;
        let member = Member {
            shard: Some(self.shard.index),
            host: self.shard.host.clone(),
            machine: machine.clone(),
            harness_s: *harness_s,
            load: *load,
            neighbour_alone_per_second: *neighbour_alone_per_second,
            started_s: *started_s,
            ended_s: self.ended_s,
            canaries: self.canaries,
            blocks: own,
            cuts,
        };
        let part = Part {
            folder: self.folder,
            blocks: member.blocks.iter().map(|(number, _)| *number).collect(),
            cuts: member.cuts.iter().cloned().collect(),
            canaries: 0..self.canaries as usize,
        };
        Piece { member, part, trials: &self.trials, cuts: &self.cuts }
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
pub fn by_place(trials: &[TrialSummary]) -> BTreeMap<Place, &TrialSummary> {
    trials.iter().map(|trial| (place(trial), trial)).collect()
}

/// Where a trial has its place.
pub fn place(trial: &TrialSummary) -> Place {
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

/// Each shard once, by their indices. One that is given twice has the same figures in both folders; then the
/// one that went further counts.
pub fn once(sources: Vec<Source<'_>>) -> Result<Vec<Source<'_>>, Failure> {
    let mut once: BTreeMap<u32, Source> = BTreeMap::new();
    for source in sources {
        let index = source.shard.index;
        let Some(known) = once.remove(&index) else {
            once.insert(index, source);
            continue;
        };
        let kept = match (known.has_all_of(&source), source.has_all_of(&known)) {
            (true, _) => known,
            (false, true) => source,
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

/// What is held against each other of two runs that are to be of one plan.
pub struct Terms<'a> {
    pub name: String,
    pub run: &'a Run,
    pub experiment: &'a str,
    pub plan: &'a str,
    /// The SHA-256 of the program; `None` where an older bakeoff has not recorded it.
    pub program: Option<&'a str>,
    pub count: u32,
}

impl Source<'_> {
    /// What has to be the same in all shards.
    pub fn terms(&self) -> Terms<'_> {
        let PlanShard { plan, program_sha256, count, .. } = &self.shard;
        let (name, program) = (self.name().to_string(), program_sha256.as_deref());
        Terms { name, run: &self.run, experiment: &self.experiment, plan, program, count: *count }
    }
}

/// Refuses runs of two plans or two binaries, and says what differs.
pub fn check_alike(one: &Terms<'_>, other: &Terms<'_>) -> Result<(), Failure> {
    let Some((what, own, others)) = difference(one, other) else { return Ok(()) };
    Err(refused(format!(
        "{} and {} can't be one run: {what} {own} in the first and {others} in the second. Merge shards of one \
         experiment, seed and bakeoff alone",
        one.name, other.name
    )))
}

/// The first thing that differs: what it is, with a verb, and what it is in either.
fn difference(one: &Terms<'_>, other: &Terms<'_>) -> Option<(String, String, String)> {
    let differs = |what: &str, own: String, others: String| {
        (own != others).then(|| (what.to_owned(), own, others))
    };
    let build = |it: &Terms| if it.run.debug_build { "a debug build" } else { "optimised" };
    let sum = |it: &Terms| it.program.unwrap_or("not recorded").to_owned();
    let left_out = |it: &Terms| {
        let lines: Vec<String> = it.run.left_out.iter().map(bakeoff_lab::possible::line).collect();
        if lines.is_empty() { "nothing".into() } else { lines.join("; ") }
    };
    differs("bakeoff is", one.run.version.clone(), other.run.version.clone())
        .or_else(|| differs("bakeoff is", build(one).into(), build(other).into()))
        .or_else(|| differs("the SHA-256 of bakeoff's program is", sum(one), sum(other)))
        .or_else(|| settled(one.experiment, other.experiment))
        .or_else(|| differs("the shards are", one.count.to_string(), other.count.to_string()))
        .or_else(|| engines(one.run, other.run))
        .or_else(|| differs("what can't be run is", left_out(one), left_out(other)))
        .or_else(|| differs("the text is", one.run.text.clone(), other.run.text.clone()))
        .filter(|(what, ..)| what != "the text is" || one.plan != other.plan)
        .or_else(|| differs("the plan is", one.plan.into(), other.plan.into()))
}

/// The first key of two experiments that differs, where files lie aside.
fn settled(one: &str, other: &str) -> Option<(String, String, String)> {
    let lines = |text: &str| -> BTreeMap<String, String> {
        let keys = text.lines().filter_map(|line| line.split_once(" = "));
        let keys = keys.filter(|(key, _)| !["text", "rows_from"].contains(key));
        keys.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    let (one, other) = (lines(one), lines(other));
    let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let key = keys.into_iter().find(|key| one.get(*key) != other.get(*key))?;
    let of = |lines: &BTreeMap<String, String>| {
        lines.get(key).cloned().unwrap_or_else(|| "not there".into())
    };
    Some((format!("`{key}` is"), of(&one), of(&other)))
}

/// The first engine whose version or settings differ.
fn engines(one: &Run, other: &Run) -> Option<(String, String, String)> {
    one.engines.iter().find_map(|own| {
        let others = other.engines.iter().find(|others| others.name == own.name)?;
        let what = format!("{} is", own.name);
        if own.version != others.version {
            return Some((what, own.version.clone(), others.version.clone()));
        }
        let settings = |all: &[(String, String)]| {
            let all = all.iter().map(|(level, settings)| format!("{level}: {settings}"));
            all.collect::<Vec<_>>().join("; ")
        };
        let (own, others) = (settings(&own.settings), settings(&others.settings));
        (own != others).then_some((what, own, others))
    })
}

/// Folders that can't be merged.
pub fn refused(why: String) -> Failure {
    Failure::new(Exit::Folder, why)
}
