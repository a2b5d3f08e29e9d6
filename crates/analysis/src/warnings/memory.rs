//! Warns of promises that can't be kept: data in memory survive no power cut.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{
    DurabilityLevel, Levels, Machine, Merged, OwnFactor, Run, RunMember, TrialSummary,
};

use super::format_part;
use crate::warning::{Warning, WarningKind};

pub(super) fn warn_of_data_in_memory(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let owners = run.merged.as_ref().map(Merged::map_owners).unwrap_or_default();
    let promising = counted.iter().filter(|trial| promises_commits(run, &trial.levels));
    let under: Vec<&Machine> = promising.map(|trial| find_machine(run, &owners, trial)).collect();
    let memories: Vec<&Machine> =
        under.iter().copied().filter(|machine| machine.is_in_memory()).collect();
    let names: BTreeSet<&str> = memories.iter().map(|it| it.file_system.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    in_memory(&names, memories.len(), under.len())
}

/// `number` of `of` trials that promise to keep commits have their data on file systems in memory.
pub fn in_memory(file_systems: &[&str], number: usize, of: usize) -> Option<Warning> {
    if number == 0 {
        return None;
    }
    let text = format!(
        "in {} that promise to keep commits the data lie in memory ({}): no commit outlives a \
         power cut there, and a sync costs next to nothing",
        format_part(number, of),
        file_systems.join(" and ")
    );
    let remedy = "take a folder on a disk (--path, or --out where there is none), a model of a disk (--disk \
                  ssd-sata), or a level that promises nothing (--durability none)";
    Some(Warning::new(WarningKind::DataInMemory, text).with_remedy(remedy))
}

/// On a virtual disk the model decides what is durable, wherever its files lie; the data's place on
/// an external server is unknown.
fn promises_commits(run: &Run, levels: &Levels) -> bool {
    let level = |factor| run.base_level(levels, factor);
    let stores = |engine: &str| !engine.contains("://") && run.stores_data(engine);
    level(OwnFactor::Durability).is_some_and(|it| it != DurabilityLevel::None.as_str())
        && level(OwnFactor::Disk).is_none_or(|it| it == "host")
        && level(OwnFactor::Engine).is_none_or(stores)
}

fn find_machine<'a>(
    run: &'a Run,
    owners: &BTreeMap<u32, &'a RunMember>,
    trial: &TrialSummary,
) -> &'a Machine {
    owners.get(&trial.block).map_or(&run.machine, |member| &member.machine)
}
