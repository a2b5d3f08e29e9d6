use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::measure::{FLUSHES, OPERATIONS, READS, WRITES};
use bakeoff_results::{CellLevels, DurabilityLevel, Measure, OwnFactor, Run, Scope, TrialSummary};

use crate::document::CellView;
use crate::littles_law::find_concurrency;
use crate::open_loop::is_open;
use crate::unreached::UnreachedLimit;

/// Memory was short from this share of its limit on.
const SHORT: f64 = 0.9;

/// With fewer requests for each operation, the clients' work never went to the disk.
const REQUESTS: f64 = 0.01;

pub(crate) fn find_unreached(
    run: &Run,
    cells: &[CellView],
    counted: &[&TrialSummary],
) -> Vec<UnreachedLimit> {
    let levels = |factor: OwnFactor| -> Vec<&str> { run.base_levels(factor.as_str()).collect() };
    let memory = levels(OwnFactor::Memory)
        .into_iter()
        .filter_map(|it| find_unreached_memory(run, cells, it));
    let disks = levels(OwnFactor::Disk);
    let is_told = |level: &&str| *level != "host" && (disks.len() > 1 || is_array(level));
    let told: Vec<&str> = disks.iter().copied().filter(is_told).collect();
    let reads = told.iter().filter(|level| {
        let has_none = |requests| has_none(counted, OwnFactor::Disk, level, &[requests]);
        has_none(&READS) && !has_none(&WRITES)
    });
    let reads = reads.map(|level| UnreachedLimit::DiskReads { level: (*level).to_owned() });
    let arrays = told.iter().filter(|level| is_array(level) && has_one_client(counted, level));
    let arrays =
        arrays.map(|level| UnreachedLimit::OneClientOnArray { level: (*level).to_owned() });
    let neighbours = levels(OwnFactor::Neighbours).into_iter().filter(|level| {
        let requests = [&READS, &WRITES, &FLUSHES];
        *level != "0" && has_none(counted, OwnFactor::Neighbours, level, &requests)
    });
    let neighbours = neighbours.map(|level| UnreachedLimit::Neighbours { level: level.to_owned() });
    let rate = find_unreached_rate(run, cells).map(|level| UnreachedLimit::Rate { level });
    memory.chain(reads).chain(arrays).chain(neighbours).chain(rate).collect()
}

fn is_array(level: &str) -> bool {
    level.starts_with("raid10:")
}

fn at_level<'a>(
    counted: &'a [&'a TrialSummary],
    factor: OwnFactor,
    level: &'a str,
) -> impl Iterator<Item = &'a TrialSummary> + Clone {
    counted.iter().copied().filter(move |trial| trial.levels.is_at(factor, level))
}

fn find_unreached_memory(run: &Run, cells: &[CellView], level: &str) -> Option<UnreachedLimit> {
    let mut peaks: BTreeMap<String, f64> = BTreeMap::new();
    let here = cells.iter().filter(|cell| cell.levels.is_at(OwnFactor::Memory, level));
    for cell in here {
        let engine = cell.levels.level(OwnFactor::Engine).unwrap_or_default().to_owned();
        for group in &cell.groups {
            let Some(limit) = group.memory_limit_bytes else { continue };
            let peak = group.memory_peak_bytes?;
            if peak >= SHORT * limit {
                return None;
            }
            let most = peaks.entry(engine.clone()).or_insert(peak);
            *most = most.max(peak);
        }
    }
    let scale = match run.levels_of(OwnFactor::Scale.as_str()) {
        [only] => Some(only.clone()),
        _ => None,
    };
    (!peaks.is_empty()).then(|| UnreachedLimit::Memory { level: level.to_owned(), peaks, scale })
}

/// Whether the device got none of these requests in any counted trial at a level; `false` if they
/// were not counted.
fn has_none(
    counted: &[&TrialSummary],
    factor: OwnFactor,
    level: &str,
    requests: &[&'static Measure],
) -> bool {
    let here = at_level(counted, factor, level);
    let is_none = |trial: &TrialSummary| {
        let number = |measure: &&Measure| trial.measures.get(measure, &Scope::Disk);
        let sum: Option<f64> = requests.iter().map(number).sum();
        let operations = trial.measures.get(&OPERATIONS, &Scope::Clients);
        sum.zip(operations).is_some_and(|(sum, operations)| sum < REQUESTS * operations)
    };
    here.clone().next().is_some() && here.clone().all(is_none)
}

/// An array can do work that follows an operation on all disks at once. So each operation must be
/// durable when it ends, and only one in flight.
fn has_one_client(counted: &[&TrialSummary], level: &str) -> bool {
    let here = at_level(counted, OwnFactor::Disk, level);
    let is_durable = |trial: &TrialSummary| {
        let level = trial.levels.level(OwnFactor::Durability);
        level.is_none_or(|it| it == DurabilityLevel::Strict.as_str())
    };
    let is_one = |trial: &TrialSummary| {
        !is_open(trial) && find_concurrency(trial) == Some(1.0) && is_durable(trial)
    };
    here.clone().next().is_some() && here.clone().all(is_one)
}

/// The last offered rate, where several levels were compared and all kept up with it. A search for
/// the highest rate answers that itself.
fn find_unreached_rate(run: &Run, cells: &[CellView]) -> Option<String> {
    let levels = run.levels_of(OwnFactor::Rate.as_str());
    let level = levels.iter().rfind(|level| *level != "closed")?;
    let here = cells.iter().filter(|it| it.levels.is_at(OwnFactor::Rate, level));
    let all: Vec<&CellView> = here.collect();
    let compared: BTreeSet<_> = all.iter().map(|cell| cell.levels.get(&run.compare)).collect();
    let kept = all.iter().all(|cell| cell.open_loop.is_some_and(|open| open.kept_up));
    (run.limit.is_none() && compared.len() > 1 && kept).then(|| level.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_known_by_its_name() {
        assert!(is_array("raid10:4×hdd-7200") && !is_array("ssd-sata") && !is_array("host"));
    }
}
