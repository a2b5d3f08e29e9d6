//! What a run records of the disks that it simulates.

use std::collections::BTreeSet;

use bakeoff_experiment::{Experiment, Factor, HOST, base};
use bakeoff_results::DiskFact;

use crate::Registry;

/// Each simulated disk of an experiment, in the order in which it names them.
pub fn disk_facts(registry: &Registry, experiment: &Experiment) -> Vec<DiskFact> {
    let models = registry.models();
    let levels = experiment.levels(Factor::DISK);
    let mut seen = BTreeSet::new();
    let plain = levels.iter().map(|level| base(level)).filter(|level| seen.insert(*level));
    let fact = |level: &str| {
        let spec = match experiment.disks.get(level) {
            Some(table) => models.parse_table(table),
            None => models.parse(level),
        };
        let spec = spec.ok()?;
        Some(DiskFact {
            level: level.to_owned(),
            simulates: models.simulated(&spec),
            flush_s: spec.number("flush_us").map(|flush_us| flush_us * 1e-6),
        })
    };
    plain.filter(|level| *level != HOST).filter_map(fact).collect()
}
