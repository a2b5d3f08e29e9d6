//! Finds the levels of durability that all engines of an experiment give.

use bakeoff_engines::Durability;
use bakeoff_experiment::{Cell, Experiment, Factor, without_alias};

use crate::Registry;
use crate::options;
use crate::plan::ask_servers;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonLevels {
    engines: Vec<(String, Vec<Durability>)>,
}

impl CommonLevels {
    /// Skips engines that can't be had: the plan reports them.
    pub fn from_experiment(registry: &Registry, experiment: &Experiment) -> Self {
        ask_servers(registry, experiment);
        let known: Vec<_> = registry.engines().collect();
        let plan = experiment.plan();
        let mut engines: Vec<(String, Vec<Durability>)> = Vec::new();
        let mut asked: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
        for cell in plan.blocks.iter().flat_map(|block| &block.trials).map(|trial| &trial.cell) {
            let Some(level) = cell.level(Factor::ENGINE) else { continue };
            let how = (level, option_levels(cell));
            if asked.contains(&how) {
                continue;
            }
            asked.push(how);
            let Ok(engine) = options::find_engine(&known, cell) else { continue };
            let settings = experiment.settings_of(level);
            let gives = |durability: &Durability| {
                engine.check_level(*durability).is_ok()
                    && engine.check_user_settings(*durability, &settings).is_ok()
            };
            match engines.iter_mut().find(|(name, _)| name == level) {
                Some((_, given)) => given.retain(gives),
                None => {
                    let given = Durability::ALL.into_iter().filter(gives).collect();
                    engines.push((level.to_owned(), given));
                }
            }
        }
        // Trials may come in another order.
        let named = experiment.run_levels(Factor::ENGINE);
        engines
            .sort_by_key(|(name, _)| named.iter().position(|level| without_alias(level) == name));
        Self { engines }
    }

    pub fn of_all(&self) -> Vec<Durability> {
        let by_all =
            |level: &Durability| self.engines.iter().all(|(_, given)| given.contains(level));
        match self.engines.is_empty() {
            true => Vec::new(),
            false => Durability::ALL.into_iter().filter(by_all).collect(),
        }
    }

    pub fn engines_without(&self, level: Durability) -> Vec<&str> {
        let lacking = self.engines.iter().filter(|(_, given)| !given.contains(&level));
        lacking.map(|(name, _)| name.as_str()).collect()
    }

    /// Replaces `levels`: several by those that all engines give; a single one by the weakest
    /// stronger level that all give. `None` if nothing has to change, or nothing is left.
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

fn option_levels(cell: &Cell) -> Vec<(&str, &str)> {
    cell.options().map(|(option, level)| (option.name.as_str(), level)).collect()
}

#[cfg(test)]
mod tests {
    use bakeoff_engines::Durability::{None as Nothing, Relaxed, Strict};

    use super::*;

    fn levels(engines: &[(&str, &[Durability])]) -> CommonLevels {
        let engines = engines.iter().map(|(name, given)| ((*name).to_owned(), given.to_vec()));
        CommonLevels { engines: engines.collect() }
    }

    /// Beside an engine that gives all levels, and never by less than was asked for.
    #[test]
    fn levels_give_way_to_the_weakest_stronger_ones_that_all_give() {
        let logged: &[Durability] = &[Nothing, Strict];
        for (given, wanted, left) in [
            (logged, &[Relaxed][..], Some(&[Strict][..])),
            (logged, &[Strict], None),
            (&[Relaxed, Strict], &[Nothing], Some(&[Relaxed])),
            (&[Nothing], &[Relaxed], None),
            (logged, &[Relaxed, Strict], Some(&[Strict])),
            (logged, &[Strict, Relaxed, Nothing], Some(&[Strict, Nothing])),
            (logged, &[Strict, Nothing], None),
            (&[Strict], &[Relaxed, Nothing], None),
        ] {
            let two = levels(&[("all", &Durability::ALL), ("second", given)]);
            assert_eq!(two.in_place_of(wanted).as_deref(), left, "{given:?}, {wanted:?}");
            assert_eq!(two.of_all(), given);
        }
        let two = levels(&[("all", &Durability::ALL), ("logged", logged)]);
        assert_eq!(two.engines_without(Relaxed), ["logged"]);
        let apart = levels(&[("forgetful", &[Nothing]), ("synced", &[Strict])]);
        assert_eq!(apart.in_place_of(&[Nothing]), None, "no level is both engines'");
        assert!(apart.of_all().is_empty());
        assert_eq!(levels(&[]).in_place_of(&[Relaxed]), None);
    }

    #[test]
    fn engines_are_asked_as_the_trials_have_them() {
        let text = "workload = 'point'\nengine = ['tarantool:memtx', 'sqlite@one', 'sqlite@two']\n\
                    durability = 'relaxed'\nrepetitions = 2\n";
        let found = CommonLevels::from_experiment(&Registry::standard(), &crate::tests::load(text));
        let memtx: (&str, &[Durability]) = ("tarantool:memtx", &[Nothing, Strict]);
        assert_eq!(found, levels(&[memtx, ("sqlite", &[Nothing, Relaxed, Strict])]));
    }
}
