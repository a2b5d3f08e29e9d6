//! Data in memory: what a plan promises and no commit there can keep.

use bakeoff_analysis::{Warning, in_memory};
use bakeoff_engines::{Durability, EngineHome};
use bakeoff_experiment::{Cell, Factor, HOST};
use bakeoff_lab::{Possible, Registry, spec};
use bakeoff_results::Machine;

/// What is said of a plan that promises to keep commits, where the data lie in the memory of the machine.
pub fn warning(registry: &Registry, possible: &Possible, machine: &Machine) -> Option<Warning> {
    if !machine.is_in_memory() {
        return None;
    }
    let trials = possible.plan.blocks.iter().flat_map(|block| &block.trials);
    let promising = trials.filter(|trial| promises(registry, &trial.cell)).count();
    in_memory(&[machine.file_system.as_str()], promising, promising)
}

/// Whether a cell promises to keep commits, on the machine's own disk.
fn promises(registry: &Registry, cell: &Cell) -> bool {
    let none = Durability::None.name();
    let stores = || {
        let engine = spec::engine(registry, cell);
        engine.is_ok_and(|engine| engine.about().stores && engine.home() != EngineHome::External)
    };
    cell.level(Factor::DURABILITY).is_some_and(|level| level != none)
        && cell.level(Factor::DISK).is_none_or(|level| level == HOST)
        && stores()
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
        let possible = Possible::from_experiment(&registry, &experiment);
        warning(&registry, &possible, &machine).map(|warning| warning.to_string())
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
