use std::collections::BTreeSet;

use bakeoff_experiment::{Experiment, Factor, HOST, without_alias};
use bakeoff_results::DiskFact;

use crate::Registry;

pub fn disk_facts(registry: &Registry, experiment: &Experiment) -> Vec<DiskFact> {
    let models = registry.models();
    let levels = experiment.run_levels(Factor::DISK);
    let mut seen = BTreeSet::new();
    let plain = levels.iter().map(|level| without_alias(level)).filter(|level| seen.insert(*level));
    let fact = |level: &str| {
        let spec = match experiment.disks.get(level) {
            Some(table) => models.parse_table(table),
            None => models.parse(level),
        };
        let spec = spec.ok()?;
        Some(DiskFact {
            level: level.to_owned(),
            simulates: models.describe_simulation(&spec),
            // Where some writes go past the cache, an operation's time hangs on more than this.
            flush_s: spec
                .read_number("flush_us")
                .filter(|_| !spec.has_fua())
                .map(|flush_us| flush_us * 1e-6),
            timed: None,
        })
    };
    plain.filter(|level| *level != HOST).filter_map(fact).collect()
}
