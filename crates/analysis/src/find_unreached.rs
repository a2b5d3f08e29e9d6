//! Finds the limits that a run set and never reached.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::measure::{FLUSHES, OPERATIONS, READS, WRITES};
use bakeoff_results::{Measure, Run, Scope, TrialSummary};

use crate::document::CellView;
use crate::littles_law::concurrency;
use crate::open_loop::is_open;
use crate::unreached::Unreached;

/// Below this part of a limit its memory was never short.
const SHORT: f64 = 0.9;

/// Fewer requests for each operation, and the clients' work never went to the disk.
const REQUESTS: f64 = 0.01;

/// All limits of a run that were not reached, a level each.
pub(crate) fn find_unreached(
    run: &Run,
    cells: &[CellView],
    counted: &[&TrialSummary],
) -> Vec<Unreached> {
    let levels = |factor: &str| -> Vec<&str> {
        let known = run.factors.iter().find(|(name, _)| name == factor);
        let levels = known.into_iter().flat_map(|(_, levels)| levels).map(String::as_str);
        levels.filter(|level| run.alias(factor, level).is_none()).collect()
    };
    let memory = levels("memory").into_iter().filter_map(|it| memory(run, cells, it));
    let disks = levels("disk");
    let is_told = |level: &&str| *level != "host" && (disks.len() > 1 || is_array(level));
    let told: Vec<&str> = disks.iter().copied().filter(is_told).collect();
    let reads = told.iter().filter(|level| {
        has_none(counted, "disk", level, &[&READS]) && !has_none(counted, "disk", level, &[&WRITES])
    });
    let reads = reads.map(|level| Unreached::DiskReads { level: (*level).to_owned() });
    let arrays = told.iter().filter(|level| is_array(level) && has_one_client(counted, level));
    let arrays = arrays.map(|level| Unreached::OneClientOnArray { level: (*level).to_owned() });
    let neighbours = levels("neighbours").into_iter().filter(|level| {
        *level != "0" && has_none(counted, "neighbours", level, &[&READS, &WRITES, &FLUSHES])
    });
    let neighbours = neighbours.map(|level| Unreached::Neighbours { level: level.to_owned() });
    let rate = rate(run, cells).map(|level| Unreached::Rate { level });
    memory.chain(reads).chain(arrays).chain(neighbours).chain(rate).collect()
}

/// Whether a disk is an array of several.
fn is_array(level: &str) -> bool {
    level.starts_with("raid10:")
}

/// The trials at a level of a factor.
fn at_level<'a>(
    counted: &'a [&'a TrialSummary],
    factor: &'a str,
    level: &'a str,
) -> impl Iterator<Item = &'a TrialSummary> + Clone {
    counted
        .iter()
        .copied()
        .filter(move |trial| trial.levels.get(factor).is_some_and(|it| it == level))
}

/// The level of memory, where no group of any of its cells came near its limit.
fn memory(run: &Run, cells: &[CellView], level: &str) -> Option<Unreached> {
    let mut peaks: BTreeMap<String, f64> = BTreeMap::new();
    let here = cells.iter().filter(|cell| cell.levels.get("memory").is_some_and(|it| it == level));
    for cell in here {
        let engine = cell.levels.get("engine").cloned().unwrap_or_default();
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
    let scales = run.factors.iter().find(|(name, _)| name == "scale").map(|(_, levels)| levels);
    let scale = scales.and_then(|levels| match levels.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    });
    (!peaks.is_empty()).then(|| Unreached::Memory { level: level.to_owned(), peaks, scale })
}

/// Whether the device got none of these requests at a level, in any trial that counts; `false` where nobody
/// counted them.
fn has_none(
    counted: &[&TrialSummary],
    factor: &str,
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

/// Whether all trials on a disk have one operation in flight, and each is durable when it ends: what a disk does
/// later, it can do on all disks of an array at once.
fn has_one_client(counted: &[&TrialSummary], level: &str) -> bool {
    let here = at_level(counted, "disk", level);
    let is_durable =
        |trial: &TrialSummary| trial.levels.get("durability").is_none_or(|it| it == "strict");
    let is_one = |trial: &TrialSummary| {
        !is_open(trial) && concurrency(trial) == Some(1.0) && is_durable(trial)
    };
    here.clone().next().is_some() && here.clone().all(is_one)
}

/// The last rate that was offered, where several levels were held against each other and all kept up with
/// it; `None` in a search for the highest rate, which answers that itself.
fn rate(run: &Run, cells: &[CellView]) -> Option<String> {
    let (_, levels) = run.factors.iter().find(|(name, _)| name == "rate")?;
    let level = levels.iter().rfind(|level| *level != "closed")?;
    let here = cells.iter().filter(|it| it.levels.get("rate").is_some_and(|rate| rate == level));
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
