//! Finds levels of durability that all engines give: a preset takes them; otherwise the user is
//! told what to type.

use bakeoff_engines::Durability;
use bakeoff_experiment::{Experiment, Factor, FlagOverrides};
use bakeoff_lab::{CommonLevels, Plan, Registry};

use super::usage_failure;
use crate::exit::CommandFailure;

#[derive(Debug, PartialEq, Eq)]
pub struct DurabilitySubstitute {
    pub levels: String,
    pub line: String,
}

/// Only if the user chose engines and no durability. Never changes a chosen level, nor an
/// experiment that compares levels.
pub fn find_substitute(
    registry: &Registry,
    name: &str,
    experiment: &Experiment,
    changes: &FlagOverrides,
) -> Option<DurabilitySubstitute> {
    let is_preset = registry.presets().iter().any(|preset| preset.name == name);
    let engines_alone =
        changes.gives_factor(Factor::ENGINE) && !changes.gives_factor(Factor::DURABILITY);
    if !is_preset || !engines_alone || experiment.compare == Factor::DURABILITY {
        return None;
    }
    let asked = asked_levels(experiment)?;
    let common = CommonLevels::from_experiment(registry, experiment);
    let taken = common.in_place_of(&asked)?;
    let line = describe_substitute(name, &asked, &taken, &common);
    Some(DurabilitySubstitute { levels: level_names(&taken).join(","), line })
}

/// Also says which level every engine gives, if durability is why nothing is left.
pub fn check_sufficient(plan: &Plan<'_>) -> Result<(), CommandFailure> {
    plan.ensure_comparable().map_err(|error| {
        let advice = advise_level(plan);
        let advice = advice.map_or_else(String::new, |advice| format!("\n{advice}"));
        usage_failure(format!("{error}{advice}"))
    })
}

/// `None` if no engine lacks a level, or no level is common to all.
pub fn advise_level(plan: &Plan<'_>) -> Option<String> {
    let experiment = plan.experiment;
    let [engine, durability] = [Factor::ENGINE, Factor::DURABILITY].map(Factor::name);
    let for_want = plan.left_out.iter().any(|it| {
        it.levels.len() == 2 && it.levels.contains_key(engine) && it.levels.contains_key(durability)
    });
    if !for_want || experiment.compare == Factor::DURABILITY {
        return None;
    }
    let asked = asked_levels(experiment)?;
    let common = CommonLevels::from_experiment(plan.registry, experiment);
    if asked.iter().all(|level| common.engines_without(*level).is_empty()) {
        return None;
    }
    let work = common.in_place_of(&asked).unwrap_or_else(|| common.of_all());
    let typed = level_names(&work).join(",");
    (!work.is_empty()).then(|| {
        format!("every engine here gives {}: --durability {typed}", join_names(&level_names(&work)))
    })
}

fn asked_levels(experiment: &Experiment) -> Option<Vec<Durability>> {
    let levels = experiment.factors.get(&Factor::DURABILITY)?;
    // Where they are not compared, they have no alias.
    levels.iter().map(|level| Durability::from_name(level)).collect()
}

/// Says which levels a preset has, which engines lack which, and what replaces them.
fn describe_substitute(
    name: &str,
    asked: &[Durability],
    taken: &[Durability],
    common: &CommonLevels,
) -> String {
    let lack = |level: &Durability, called: &str| {
        let engines = common.engines_without(*level);
        let verb = if engines.len() == 1 { "does" } else { "do" };
        format!("{} {verb} not give {called}", join_names(&engines))
    };
    let (lacking, at) = match asked {
        [level] => (lack(level, "that"), join_names(&level_names(taken))),
        _ => {
            let dropped = asked.iter().filter(|level| !taken.contains(level));
            let lacking: Vec<String> = dropped.map(|level| lack(level, level.name())).collect();
            (lacking.join(", "), format!("{} alone", join_names(&level_names(taken))))
        }
    };
    format!(
        "{name} is at durability {}; {lacking}, so all run at {at}",
        join_names(&level_names(asked))
    )
}

fn level_names(levels: &[Durability]) -> Vec<&'static str> {
    levels.iter().map(|level| level.name()).collect()
}

fn join_names(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Lab;

    /// An experiment as a preset's name and flags make it, and what takes the place of its levels.
    fn of(
        name: &str,
        flags: &[(Factor, &str)],
    ) -> (Experiment, Option<DurabilitySubstitute>, Registry) {
        let registry = Lab::standard().registry;
        let factors = flags.iter().map(|(factor, levels)| (*factor, (*levels).to_owned()));
        let changes = FlagOverrides { factors: factors.collect(), ..FlagOverrides::default() };
        let experiment = Experiment::load(name, &changes, &registry.vocabulary()).unwrap();
        let instead = find_substitute(&registry, name, &experiment, &changes);
        (experiment, instead, registry)
    }

    const ENGINES: (Factor, &str) = (Factor::ENGINE, "tarantool:memtx,sqlite");

    #[test]
    fn a_preset_s_level_gives_way_to_what_every_chosen_engine_gives() {
        let (_, instead, _) = of("text-oltp", &[ENGINES]);
        let expected = DurabilitySubstitute {
            levels: "strict".into(),
            line: "text-oltp is at durability relaxed; tarantool:memtx does not give that, so all run at \
                   strict"
                .into(),
        };
        assert_eq!(instead, Some(expected));
        let (_, instead, _) = of("redmine", &[(Factor::ENGINE, "tarantool:memtx,tarantool:vinyl")]);
        let line = instead.expect("both lack a level").line;
        let expected = "redmine is at durability relaxed and strict; tarantool:memtx and tarantool:vinyl do \
                        not give relaxed, so all run at strict alone";
        assert_eq!(line, expected);
    }

    /// Whatever is planned, the trials of a block have one level of durability.
    #[test]
    fn all_engines_are_planned_at_the_same_levels() {
        for preset in ["text-oltp", "oltp", "redmine"] {
            let (_, instead, _) = of(preset, &[ENGINES]);
            let levels = instead.expect("an engine lacks a level").levels;
            let (experiment, again, registry) =
                of(preset, &[ENGINES, (Factor::DURABILITY, &levels)]);
            assert_eq!(again, None, "a level that was given is left");
            let plan = Plan::from_experiment(&registry, &experiment);
            let lacking = plan.left_out.iter().any(|it| it.levels.contains_key("durability"));
            assert!(!lacking, "{preset}: {:?}", plan.left_out);
            for block in &plan.trials.blocks {
                let levels = block.trials.iter().map(|it| it.cell.base(Factor::DURABILITY));
                assert_eq!(levels.collect::<BTreeSet<_>>(), BTreeSet::from(["strict"]), "{preset}");
            }
        }
    }

    #[test]
    fn a_level_that_was_given_a_preset_s_own_engines_and_levels_that_are_compared_are_left() {
        let typed = [ENGINES, (Factor::DURABILITY, "relaxed")];
        assert_eq!(of("text-oltp", &typed).1, None);
        assert_eq!(of("text-oltp", &[]).1, None);
        assert_eq!(of("text-oltp", &[(Factor::ENGINE, "sqlite,lmdb")]).1, None, "both give it");
        assert_eq!(of("power-cut", &[ENGINES]).1, None);
    }

    #[test]
    fn what_to_type_is_a_level_that_every_engine_gives() {
        let advised = |engines: &str, level: &str| {
            let flags = [(Factor::ENGINE, engines), (Factor::DURABILITY, level)];
            let (experiment, _, registry) = of("text-oltp", &flags);
            let plan = Plan::from_experiment(&registry, &experiment);
            let refused = check_sufficient(&plan).err();
            (advise_level(&plan), refused.map(|it| it.message))
        };
        let strict = "every engine here gives strict: --durability strict";
        let (advice, refused) = advised("tarantool:memtx,sqlite", "relaxed");
        assert_eq!(advice.as_deref(), Some(strict));
        let refused = refused.expect("nothing is left to compare");
        assert!(refused.ends_with(strict), "{refused}");
        // The strongest that the one gives is less than was asked for, and still every engine's.
        let (advice, refused) = advised("tarantool:memtx/wal_mode=write,sqlite", "relaxed");
        assert_eq!(advice.as_deref(), Some("every engine here gives none: --durability none"));
        assert!(refused.is_some());
        assert_eq!(advised("sqlite,lmdb", "relaxed"), (None, None));
        // Two that can be had are compared, and the third is left out with the same advice.
        let (advice, refused) = advised("tarantool:memtx,sqlite,lmdb", "relaxed");
        assert_eq!((advice.as_deref(), refused), (Some(strict), None));
    }
}
