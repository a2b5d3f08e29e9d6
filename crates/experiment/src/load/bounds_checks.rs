//! Checks the terms of a planner: bounds, or the number of repetitions.

use crate::level::without_alias;
use crate::message::ExperimentProblem;
use crate::{Bounds, Experiment, FlagOverrides, PlannerNames};

pub(super) fn idle_flags(changes: &FlagOverrides, planner: PlannerNames) -> Vec<ExperimentProblem> {
    let flags = match planner.repeats {
        true => vec![("--repetitions", changes.repetitions.is_some(), "give --max-repetitions")],
        false if planner.seeks => {
            let all = [
                ("--repetitions", changes.repetitions.is_some()),
                ("--min-repetitions", changes.min_repetitions.is_some()),
                ("--max-repetitions", changes.max_repetitions.is_some()),
                ("--max-time", changes.max_time.is_some()),
            ];
            all.map(|(flag, given)| (flag, given, "leave --find-limit out")).to_vec()
        }
        false => {
            let help = "add --until-decided";
            vec![
                ("--min-repetitions", changes.min_repetitions.is_some(), help),
                ("--max-repetitions", changes.max_repetitions.is_some(), help),
                ("--max-time", changes.max_time.is_some(), help),
            ]
        }
    };
    let given = flags.into_iter().filter(|(_, given, _)| *given);
    given
        .map(|(flag, _, help)| {
            let name = &planner.name;
            ExperimentProblem::new(format!("the planner `{name}` takes no {flag}"))
                .with_help(format!("{help}, or leave {flag} out"))
        })
        .collect()
}

pub(super) fn no_room(experiment: &Experiment) -> Option<ExperimentProblem> {
    let Bounds { min_repetitions, max_repetitions, .. } = experiment.bounds?;
    (min_repetitions > max_repetitions).then(|| {
        ExperimentProblem::new(format!(
            "a block can't be repeated {min_repetitions} times at least and {max_repetitions} times at most"
        ))
        .with_help("lower `min_repetitions`, or raise `max_repetitions`")
    })
}

pub(super) fn nothing_to_decide(experiment: &Experiment) -> Option<ExperimentProblem> {
    let levels = &experiment.factors[&experiment.compare];
    let one = levels.iter().all(|level| without_alias(level) == without_alias(&levels[0]));
    let asked = experiment.bounds.is_some() && experiment.repetitions > 0;
    (one && asked).then(|| {
        let (planner, compare) = (&experiment.planner, experiment.compare);
        ExperimentProblem::new(format!(
            "the planner `{planner}` has nothing to decide: `{compare}` is compared, and has one level"
        ))
        .with_help(format!("name two levels of `{compare}`, or compare another factor"))
    })
}
