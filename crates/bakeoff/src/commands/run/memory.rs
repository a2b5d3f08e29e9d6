//! Warns if data lie in memory, where no commit can be durable.

use bakeoff_analysis::{Warning, in_memory};
use bakeoff_engines::{Durability, Engine, EngineHome};
use bakeoff_experiment::Factor;
use bakeoff_lab::spec::DiskSpec;
use bakeoff_lab::{Plan, ResolvedTrial};
use bakeoff_results::Machine;

/// `None` if the plan promises no durable commits, or the data are not in memory.
pub fn find_warning(plan: &Plan<'_>, machine: &Machine) -> Option<Warning> {
    if !machine.is_in_memory() {
        return None;
    }
    let promising = plan.resolved().filter(|trial| promises_commits(trial)).count();
    in_memory(&[machine.file_system.as_str()], promising, promising)
}

fn promises_commits(trial: &ResolvedTrial) -> bool {
    let durability = trial.cell.level(Factor::DURABILITY);
    let stores =
        |engine: &dyn Engine| engine.about().stores && engine.home() != EngineHome::External;
    durability.is_some_and(|level| level != Durability::None.name())
        && trial.spec.disk == DiskSpec::Host
        && trial.engine.is_some_and(stores)
}

#[cfg(test)]
mod tests {
    use bakeoff_experiment::{Experiment, FlagOverrides};

    use super::*;
    use crate::Lab;

    /// What is said of a preset at such levels, on a file system of such a type.
    fn said(file_system: &str, levels: &[(Factor, &str)]) -> Option<String> {
        let registry = Lab::standard().registry;
        let factors = levels.iter().map(|(factor, levels)| (*factor, (*levels).to_owned()));
        let changes = FlagOverrides { factors: factors.collect(), ..FlagOverrides::default() };
        let experiment = Experiment::load("redmine", &changes, &registry.vocabulary()).unwrap();
        let machine = Machine { file_system: file_system.into(), ..Machine::default() };
        let plan = Plan::from_experiment(&registry, &experiment);
        find_warning(&plan, &machine).map(|warning| warning.to_string())
    }

    #[test]
    fn a_plan_whose_commits_would_lie_in_memory_says_so() {
        const ENGINES: (Factor, &str) = (Factor::ENGINE, "sqlite,lmdb");
        let at = |durability, disk| {
            let levels = [(Factor::DURABILITY, durability), (Factor::DISK, disk)];
            [ENGINES, levels[0], levels[1]]
        };
        for durability in ["strict", "relaxed"] {
            for file_system in ["tmpfs", "ramfs"] {
                let said = said(file_system, &at(durability, "host")).expect("nothing is kept");
                for words in [file_system, "no commit outlives a power cut", "--durability none"] {
                    assert!(said.contains(words), "{words}: {said}");
                }
            }
        }
        assert_eq!(said("ext4", &at("strict", "host")), None);
        assert_eq!(said("tmpfs", &at("none", "host")), None);
        assert_eq!(said("tmpfs", &at("strict", "ssd-sata")), None, "the model says what is kept");
        // Those that promise something, and no others, are counted.
        let [both, strict] = ["none,strict", "strict"].map(|it| said("tmpfs", &at(it, "host")));
        assert_eq!(both, strict);
    }
}
