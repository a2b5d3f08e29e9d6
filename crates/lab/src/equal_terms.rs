//! The levels of durability that all engines of an experiment give: those at which they can be compared on equal
//! terms.

use bakeoff_engines::Durability;
use bakeoff_experiment::{Cell, Experiment, Factor, base};

use crate::possible::ask;
use crate::{Registry, spec};

/// Which levels of durability each engine of an experiment gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonLevels {
    /// Each engine's level, without alias, and the levels of durability that it gives, from the weakest.
    engines: Vec<(String, Vec<Durability>)>,
}

impl CommonLevels {
    /// Asks every engine that the trials of an experiment are planned with. One that can't be had is left out:
    /// the plan tells of it.
    pub fn from_experiment(registry: &Registry, experiment: &Experiment) -> Self {
        ask(registry, experiment);
        let plan = experiment.plan();
        let mut engines: Vec<(String, Vec<Durability>)> = Vec::new();
        let mut asked: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
        for cell in plan.blocks.iter().flat_map(|block| &block.trials).map(|trial| &trial.cell) {
            let Some(level) = cell.level(Factor::ENGINE) else { continue };
            let how = (level, options(cell));
            if asked.contains(&how) {
                continue;
            }
            asked.push(how);
            let Ok(engine) = spec::engine(registry, cell) else { continue };
            let settings = experiment.settings_of(level);
            let gives = |durability: &Durability| {
                engine.gives(*durability).is_ok() && engine.keeps(*durability, &settings).is_ok()
            };
            match engines.iter_mut().find(|(name, _)| name == level) {
                Some((_, given)) => given.retain(gives),
                None => {
                    let given = Durability::ALL.into_iter().filter(gives).collect();
                    engines.push((level.to_owned(), given));
                }
            }
        }
        // In the order in which they were named, whatever the order of the trials.
        let named = experiment.levels(Factor::ENGINE);
        engines.sort_by_key(|(name, _)| named.iter().position(|level| base(level) == name));
        Self { engines }
    }

    /// The levels that every engine gives, from the weakest; none where there is no engine.
    pub fn of_all(&self) -> Vec<Durability> {
        let by_all =
            |level: &Durability| self.engines.iter().all(|(_, given)| given.contains(level));
        match self.engines.is_empty() {
            true => Vec::new(),
            false => Durability::ALL.into_iter().filter(by_all).collect(),
        }
    }

    /// The engines that do not give a level.
    pub fn without(&self, level: Durability) -> Vec<&str> {
        let lacking = self.engines.iter().filter(|(_, given)| !given.contains(&level));
        lacking.map(|(name, _)| name.as_str()).collect()
    }

    /// The levels that all engines are to have in the place of these: of several those that every engine gives,
    /// and in the place of one that not every engine gives, the weakest that every engine gives and that promises
    /// more. `None` where each engine gives each of these already, or no level is left.
    pub fn in_place_of(&self, levels: &[Durability]) -> Option<Vec<Durability>> {
        let all = self.of_all();
        let left: Vec<Durability> = levels.iter().copied().filter(|it| all.contains(it)).collect();
        if left.len() == levels.len() {
            return None;
        }
        match levels {
            [asked] => all.into_iter().find(|level| level > asked).map(|level| vec![level]),
            _ => Some(left).filter(|left| !left.is_empty()),
        }
    }
}

/// The options that a cell gives its engine or its disk, by their names.
fn options(cell: &Cell) -> Vec<(&str, &str)> {
    cell.options().map(|(option, level)| (option.name.as_str(), level)).collect()
}

#[cfg(test)]
mod tests {
    use bakeoff_engines::Durability::{None as Nothing, Relaxed, Strict};
    use bakeoff_experiment::FlagOverrides;

    use super::*;

    fn levels(engines: &[(&str, &[Durability])]) -> CommonLevels {
        let engines = engines.iter().map(|(name, given)| ((*name).to_owned(), given.to_vec()));
        CommonLevels { engines: engines.collect() }
    }

    #[test]
    fn one_level_that_an_engine_lacks_gives_way_to_the_weakest_stronger_one_that_all_give() {
        let two = levels(&[("all", &Durability::ALL), ("logged", &[Nothing, Strict])]);
        assert_eq!(two.in_place_of(&[Relaxed]), Some(vec![Strict]));
        assert_eq!(two.in_place_of(&[Strict]), None, "all give it");
        assert_eq!(two.without(Relaxed), ["logged"]);
        let synced = levels(&[("all", &Durability::ALL), ("synced", &[Relaxed, Strict])]);
        assert_eq!(synced.in_place_of(&[Nothing]), Some(vec![Relaxed]), "the weakest, not strict");
    }

    #[test]
    fn no_engine_is_ever_asked_for_less_than_was_asked_for() {
        let forgetful = levels(&[("all", &Durability::ALL), ("forgetful", &[Nothing])]);
        assert_eq!(forgetful.in_place_of(&[Relaxed]), None);
        assert_eq!(forgetful.of_all(), [Nothing]);
        let apart = levels(&[("forgetful", &[Nothing]), ("synced", &[Strict])]);
        assert_eq!(apart.in_place_of(&[Nothing]), None, "no level is both engines'");
        assert!(apart.of_all().is_empty());
        assert_eq!(levels(&[]).in_place_of(&[Relaxed]), None);
    }

    #[test]
    fn of_several_levels_those_are_left_that_all_give() {
        let two = levels(&[("all", &Durability::ALL), ("logged", &[Nothing, Strict])]);
        assert_eq!(two.in_place_of(&[Relaxed, Strict]), Some(vec![Strict]));
        assert_eq!(two.in_place_of(&[Strict, Relaxed, Nothing]), Some(vec![Strict, Nothing]));
        assert_eq!(two.in_place_of(&[Strict, Nothing]), None);
        let synced = levels(&[("all", &Durability::ALL), ("synced", &[Strict])]);
        assert_eq!(synced.in_place_of(&[Relaxed, Nothing]), None, "none is left");
    }

    #[test]
    fn engines_are_asked_as_the_trials_have_them() {
        let registry = Registry::standard();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml");
        let text = "workload = 'point'\nengine = ['tarantool:memtx', 'sqlite@one', 'sqlite@two']\n\
                    durability = 'relaxed'\nrepetitions = 2\n";
        std::fs::write(&file, text).unwrap();
        let (file, changes) = (file.to_string_lossy(), FlagOverrides::default());
        let experiment = Experiment::load(&file, &changes, &registry.vocabulary()).unwrap();
        let found = CommonLevels::from_experiment(&registry, &experiment);
        let expected = levels(&[
            ("tarantool:memtx", &[Nothing, Strict]),
            ("sqlite", &[Nothing, Relaxed, Strict]),
        ]);
        assert_eq!(found, expected);
    }
}
