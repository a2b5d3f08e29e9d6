//! Promises that nothing can keep: of data in memory no commit outlives a power cut.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{Levels, Machine, Merged, Run, RunMember, TrialSummary};

use super::part;
use crate::warning::{Warning, WarningKind};

/// Trials that promise to keep commits, and whose data lay in the memory of the machine that ran them.
pub(super) fn lay(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let owners = run.merged.as_ref().map(Merged::owners).unwrap_or_default();
    let promising = counted.iter().filter(|trial| promises(run, &trial.levels));
    let under: Vec<&Machine> = promising.map(|trial| machine(run, &owners, trial)).collect();
    let memories: Vec<&Machine> =
        under.iter().copied().filter(|machine| machine.is_in_memory()).collect();
    let names: BTreeSet<&str> = memories.iter().map(|it| it.file_system.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    in_memory(&names, memories.len(), under.len())
}

/// What is said where, of so many trials that promise to keep commits, a number has its data on file systems
/// of these types, which are in memory; `None` where it is none.
pub fn in_memory(file_systems: &[&str], number: usize, of: usize) -> Option<Warning> {
    if number == 0 {
        return None;
    }
    let text = format!(
        "in {} that promise to keep commits the data lie in memory ({}): no commit outlives a power cut there, \
         and a sync costs next to nothing",
        part(number, of),
        file_systems.join(" and ")
    );
    let remedy = "take a folder on a disk (--path, or --out where there is none), a model of a disk (--disk \
                  ssd-sata), or a level that promises nothing (--durability none)";
    Some(Warning::new(WarningKind::DataInMemory, text).remedy(remedy))
}

/// Whether what ran at these levels promised to keep commits, on the machine's own disk. Of a virtual one the
/// model decides what is durable, wherever its files lie; where somebody else's server has its data, is not known.
fn promises(run: &Run, levels: &Levels) -> bool {
    let level = |factor: &str| {
        let level = levels.get(factor)?;
        Some(run.alias(factor, level).unwrap_or(level))
    };
    let stores = |engine: &str| !engine.contains("://") && run.stores(engine);
    level("durability").is_some_and(|it| it != "none")
        && level("disk").is_none_or(|it| it == "host")
        && level("engine").is_none_or(stores)
}

/// The machine that ran a trial.
fn machine<'a>(
    run: &'a Run,
    owners: &BTreeMap<u32, &'a RunMember>,
    trial: &TrialSummary,
) -> &'a Machine {
    owners.get(&trial.block).map_or(&run.machine, |member| &member.machine)
}
