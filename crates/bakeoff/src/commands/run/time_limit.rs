//! Checks that a run can do something in its time limit.

use bakeoff_analysis::FIRST_LOOK;
use bakeoff_lab::{MediumKind, Plan, RunEstimate};

use super::usage_failure;
use crate::commands::plan::round_seconds;
use crate::exit::CommandFailure;
use crate::progress::format_span;

/// Refuses less time than one block takes; warns if the run may end before anything is decided.
pub fn check_time(plan: &Plan<'_>, medium: MediumKind) -> Result<Option<String>, CommandFailure> {
    let Some(max_time) = plan.experiment.bounds.and_then(|bounds| bounds.max_time) else {
        return Ok(None);
    };
    let first = plan.first_repetitions(FIRST_LOOK);
    let RunEstimate { loads_s, trials_s, longest_block_s, .. } =
        RunEstimate::from_plan(medium, &first);
    let about = |seconds: f64| format_span(round_seconds(seconds));
    let given = format_span(max_time.as_secs_f64());
    if longest_block_s + loads_s > max_time.as_secs_f64() {
        let (block, loads) = (about(longest_block_s), about(loads_s));
        return Err(usage_failure(format!(
            "--max-time is {given}, and one block takes longer: about {block}, and the loading before it \
             {loads}. Give more time, or shorten the block: --seconds, or fewer levels of what is compared"
        )));
    }
    let least_s = loads_s + trials_s;
    Ok((least_s > max_time.as_secs_f64()).then(|| {
        format!(
            "--max-time is {given}, and nothing is decided before {FIRST_LOOK} repetitions, which take \
             about {}: it may end before that",
            about(least_s)
        )
    }))
}

#[cfg(test)]
mod tests {
    use bakeoff_experiment::{Experiment, FlagOverrides};

    use super::*;
    use crate::Lab;
    use crate::commands::run::path::DataLocation;

    /// What is offered as it is can decide something in its own time.
    #[test]
    fn every_preset_has_the_time_for_its_least() {
        let registry = Lab::standard().registry;
        let vocabulary = registry.vocabulary();
        let mut bounded = 0;
        for preset in &vocabulary.presets {
            for quick in [false, true] {
                let changes = FlagOverrides { quick, ..FlagOverrides::default() };
                let Ok(experiment) = Experiment::load(preset.name, &changes, &vocabulary) else {
                    continue;
                };
                let plan = Plan::from_experiment(&registry, &experiment);
                let short = check_time(&plan, DataLocation::medium(None)).unwrap();
                assert_eq!(short, None, "{}, quick: {quick}", preset.name);
                bounded += usize::from(experiment.bounds.is_some());
            }
        }
        assert!(bounded >= 2, "the demo has a time, and its short version another");
    }
}
