//! Warnings where the machine, the disk or the clients were slow rather than the engine.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::measure::{
    ACHIEVED_LATENCY, CPU, FOREIGN_CPU, HOST_WRITES, MODELLED_LATENCY, RATE, STEAL, WAITED_WRITES,
};
use bakeoff_results::{
    Canary, CellLevels, Disturbed, Measure, Merged, OwnFactor, Run, RunMember, Scope, TrialSummary,
};
use bakeoff_stats::drift;

use super::{WarningTally, format_percent, tally_items, tally_trials};
use crate::machines::{MachinesView, RatioOverMachines};
use crate::warning::{Warning, WarningKind};

/// The share of a processor that a client may use before it measures itself.
const CLIENT_BUSY: f64 = 0.70;

/// The share of another level's neighbours that a level's may fall short by.
const STARVED: f64 = 0.20;

/// How far a virtual disk's mean latency may be from the model's.
const STRAYED: f64 = 0.05;

const FOREIGN: f64 = 0.10;

/// In seconds. Below this mean latency a file system in user space is not small beside the device:
/// a round trip through it takes 30 to 100 microseconds.
const FLOOR: f64 = 200e-6;

/// Seconds that a write to a file of a virtual disk takes beside the device's time, on 2 processors:
/// docs/disks.md has the measurement.
const CALL_S: f64 = 30e-6;

/// The share of the clients' time from which such calls may turn a comparison.
const CALLS: f64 = 0.25;

pub(super) fn warn_of_disturbances(
    counted: &[&TrialSummary],
    disturbed: &[Disturbed],
) -> Option<Warning> {
    let blocks: BTreeSet<(u32, u32)> =
        counted.iter().map(|trial| (trial.block, trial.attempt)).collect();
    let counts = |it: &&Disturbed| blocks.contains(&(it.block, it.attempt));
    let first = disturbed.iter().find(counts)?;
    let (number, of) = (disturbed.iter().filter(counts).count(), blocks.len());
    let noun = if of == 1 { "block" } else { "blocks" };
    let text = format!(
        "{number} of {of} {noun} were measured while the machine was disturbed, first block {} \
         ({}); as many as could be were run again",
        first.block, first.what
    );
    Some(Warning::new(WarningKind::Disturbed, text))
}

/// The most readings of a machine in which a drift is looked for.
const READINGS: usize = 1000;

pub(super) fn warn_of_drift(machines: &[&[Canary]]) -> Option<Warning> {
    let changes = machines.iter().map(|canaries| describe_drift(canaries));
    let changes: Vec<String> = changes.filter(|changes| !changes.is_empty()).collect();
    let first = changes.first()?;
    let what = match machines.len() {
        1 => "the machine itself changed during the run".to_owned(),
        of => format!("in {} of {of} parts of the run the machine itself changed", changes.len()),
    };
    let text = format!(
        "{what} ({first} at its end); comparisons inside blocks are still sound, figures of cells are not"
    );
    Some(Warning::new(WarningKind::MachineDrifted, text))
}

fn describe_drift(canaries: &[Canary]) -> String {
    let changes: Vec<String> = Canary::MEASUREMENTS
        .iter()
        .filter_map(|(name, value)| {
            let series: Vec<f64> = canaries.iter().filter_map(value).collect();
            // A slope looks at all pairs: of many readings a sample shows the same.
            let series: Vec<f64> =
                series.iter().copied().step_by(series.len().div_ceil(READINGS).max(1)).collect();
            let drift = drift::find_drift(&series).filter(drift::Drift::matters)?;
            let direction = if drift.change > 0.0 { "slower" } else { "faster" };
            Some(format!("{name} {} {direction}", format_percent(drift.change.abs())))
        })
        .collect();
    changes.join(", ")
}

pub(super) fn warn_of_disagreement(run: &Run, machines: Option<&MachinesView>) -> Option<Warning> {
    let apart = |it: &&RatioOverMachines| {
        let ratios = || it.on.iter().map(|on| on.ratio);
        let (least, most) = (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max));
        if it.disagree { most / least - 1.0 } else { 0.0 }
    };
    let WarningTally { part, share, at, .. } =
        tally_items(run, "ratio", &machines?.ratios, |it| &it.levels, apart)?;
    let text = format!("the machines disagree on {part}, at worst by {share}, at {at}");
    let warning = Warning::new(WarningKind::MachinesDisagree, text);
    Some(warning.with_remedy("read the ratios of each machine: their mean is of no machine"))
}

struct BlockProcessors<'a> {
    own: u32,
    owners: BTreeMap<u32, &'a RunMember>,
}

impl<'a> BlockProcessors<'a> {
    fn from_run(run: &'a Run) -> Self {
        let owners = run.merged.as_ref().map(Merged::map_owners).unwrap_or_default();
        Self { own: run.machine.processors, owners }
    }

    fn find_processors(&self, trial: &TrialSummary) -> u32 {
        self.owners.get(&trial.block).map_or(self.own, |member| member.machine.processors)
    }
}

/// `None` if the share is too small to matter, or unknown.
pub fn share_of_others(trial: &TrialSummary, processors: u32) -> Option<f64> {
    let ran_s = trial.ran_s?;
    let of = |what| trial.measures.share_of_others(what, ran_s, processors);
    let share = (of(&FOREIGN_CPU)? + of(&STEAL).unwrap_or_default()).min(1.0);
    Some(share).filter(|share| *share > FOREIGN)
}

pub(super) fn warn_of_shared_machine(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let processors = BlockProcessors::from_run(run);
    let above = |trial: &TrialSummary| {
        share_of_others(trial, processors.find_processors(trial)).unwrap_or_default()
    };
    let WarningTally { part, share, at, .. } = tally_trials(run, counted, above)?;
    let text = format!(
        "in {part} others used over {} of the machine's processors while the clients ran, at worst \
         {share}, at {at}",
        format_percent(FOREIGN)
    );
    let warning = Warning::new(WarningKind::MachineShared, text);
    Some(warning.with_remedy("end what else runs on the machine, and run it again"))
}

pub(super) fn warn_of_busy_start(run: &Run) -> Option<Warning> {
    let parts: Vec<(Option<f64>, u32)> = match &run.merged {
        None => vec![(run.load, run.machine.processors)],
        Some(merged) => merged.members.iter().map(|it| (it.load, it.machine.processors)).collect(),
    };
    let busy = parts.iter().filter_map(|(load, processors)| {
        let processors = f64::from((*processors).max(1));
        load.filter(|load| *load > processors).map(|load| (load, processors))
    });
    let busy: Vec<(f64, f64)> = busy.collect();
    let share = |(load, processors): &(f64, f64)| load / processors;
    let (load, processors) =
        busy.iter().copied().max_by(|one, other| share(one).total_cmp(&share(other)))?;
    let what = match &run.merged {
        None => "the machine was busy when the run began".to_owned(),
        Some(_) => format!(
            "in {} of {} parts of the run the machine was busy when it began, at worst",
            busy.len(),
            parts.len()
        ),
    };
    let text = format!(
        "{what}: a load of {load:.1} on {processors} processors, before it had started anything"
    );
    let remedy = "end what else runs on the machine, wait until its load has gone down (uptime), and \
                  run it again";
    Some(Warning::new(WarningKind::BusyAtStart, text).with_remedy(remedy))
}

fn read_neighbour_rate(trial: &TrialSummary) -> Option<f64> {
    trial.measures.get(&RATE, &Scope::Neighbours)
}

/// Against other levels of the same block: an engine whose neighbours got less had more of the disk
/// for itself.
pub(super) fn warn_of_starved_neighbours(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    if run.compare == OwnFactor::Neighbours {
        return None;
    }
    let mut most: BTreeMap<u32, f64> = BTreeMap::new();
    for (trial, achieved) in
        counted.iter().filter_map(|trial| Some((trial, read_neighbour_rate(trial)?)))
    {
        let most = most.entry(trial.block).or_default();
        *most = most.max(achieved);
    }
    let short = |trial: &TrialSummary| {
        let most = most.get(&trial.block).copied().unwrap_or_default();
        let short = 1.0 - read_neighbour_rate(trial).unwrap_or_default() / most;
        if most > 0.0 && short > STARVED { short } else { 0.0 }
    };
    let WarningTally { part, share, at, .. } = tally_trials(run, counted, short)?;
    let text = format!(
        "in {part} the background I/O got over {} less done than beside another level of the same \
         block, at worst {share} less, at {at}: that level had more of the disk for itself",
        format_percent(STARVED)
    );
    Some(Warning::new(WarningKind::NeighboursStarved, text))
}

fn disk_means(trial: &TrialSummary) -> Option<(f64, f64)> {
    let of = |measure: &Measure| trial.measures.get(measure, &Scope::Disk);
    of(&MODELLED_LATENCY).zip(of(&ACHIEVED_LATENCY)).filter(|(modelled, _)| *modelled > 0.0)
}

pub(super) fn warn_of_strayed_disk(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let off = |trial| match disk_means(trial) {
        Some((modelled, achieved)) if modelled >= FLOOR => (achieved / modelled - 1.0).abs(),
        _ => 0.0,
    };
    let above = |trial| Some(off(trial)).filter(|off| *off > STRAYED).unwrap_or_default();
    let WarningTally { part, share, at, .. } = tally_trials(run, counted, above)?;
    let text = format!(
        "in {part} the virtual disk did not keep its model's time, at worst off by {share}, at \
         {at}: the machine was too busy to wake in time"
    );
    Some(Warning::new(WarningKind::DiskLate, text))
}

pub(super) fn warn_of_fast_disk(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    // The faster the device, the worse.
    let slowed = |trial| match disk_means(trial) {
        Some((modelled, achieved)) if modelled < FLOOR && achieved > modelled => {
            achieved / modelled
        }
        _ => 0.0,
    };
    let means = counted.iter().filter_map(|trial| disk_means(trial));
    let late = means.filter(|(modelled, _)| *modelled < FLOOR).map(|(m, a)| (a - m) * 1e6);
    let latest_us = late.fold(0.0, f64::max).ceil();
    let WarningTally { part, worst, at, .. } = tally_trials(run, counted, slowed)?;
    let text = format!(
        "in {part} the modelled disk is about as fast as a file system in user space can be, at \
         worst its answers took {worst:.1} times what the model says, at {at}: there its mean \
         latencies are too long by up to {latest_us} µs, its rates are too low, and the time that \
         clients wait for a processor is added to that"
    );
    let warning = Warning::new(WarningKind::DiskTooFast, text);
    Some(warning.with_remedy(
        "compare on a slower disk (bakeoff list disks), or, where the machine's own is as fast, on \
         that: --disk host",
    ))
}

/// On a real disk a write to the page cache takes a microsecond or two. Here an engine that makes many
/// small writes looks slower than it is.
pub(super) fn warn_of_disk_calls(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let share = |trial: &TrialSummary| {
        // Older runs waited for every write.
        let waited = trial.measures.get(&WAITED_WRITES, &Scope::Disk);
        let calls = waited.or_else(|| trial.measures.get(&HOST_WRITES, &Scope::Disk))?;
        Some(calls * CALL_S / (trial.ran_s? * trial.levels.clients().unwrap_or(1.0)))
    };
    let above = |trial| share(trial).filter(|share| *share > CALLS).unwrap_or_default().min(1.0);
    let WarningTally { part, share, at, .. } = tally_trials(run, counted, above)?;
    let text = format!(
        "in {part} about {} of the clients' time or more went into calls of the virtual disk, at worst \
         {share}, at {at}: a real disk doesn't take that time, so that an engine with many small \
         writes looks slower than it is",
        format_percent(CALLS)
    );
    let warning = Warning::new(WarningKind::DiskCalls, text);
    Some(warning.with_remedy("compare on the machine's own disk: --disk host"))
}

/// In either loop: a client without a processor starts and takes its operations late.
pub(super) fn warn_of_busy_clients(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let processors = BlockProcessors::from_run(run);
    let share = |trial: &TrialSummary| {
        let clients = trial.levels.clients()?;
        let used = trial.measures.get(&CPU, &Scope::Clients)?;
        // More clients than processors can't use more than these.
        let most = clients.min(f64::from(processors.find_processors(trial).max(1)));
        Some(used / (trial.ran_s? * most))
    };
    let above = |trial| share(trial).filter(|share| *share > CLIENT_BUSY).unwrap_or_default();
    let WarningTally { part, share, at, .. } = tally_trials(run, counted, above)?;
    let text = format!(
        "in {part} bakeoff's clients used over {} of the processor time that they could have, at \
         worst {share}, at {at}: there the figures measure the clients more than what serves them",
        format_percent(CLIENT_BUSY)
    );
    Some(Warning::new(WarningKind::ClientsBusy, text))
}
