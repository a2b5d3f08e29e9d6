//! Whether a run can do anything in the time that it has.

use bakeoff_analysis::FIRST_LOOK;
use bakeoff_experiment::Experiment;
use bakeoff_lab::{MediumKind, Possible, Registry, RunEstimate};

use super::usage;
use crate::commands::plan::rounded;
use crate::exit::CommandFailure;
use crate::progress::span;

/// Refuses a time that is shorter than one block by itself; says where it is likely to end before
/// anything can be decided.
pub fn check(
    registry: &Registry,
    experiment: &Experiment,
    possible: &Possible,
    medium: MediumKind,
) -> Result<Option<String>, CommandFailure> {
    let Some(max_time) = experiment.bounds.and_then(|bounds| bounds.max_time) else {
        return Ok(None);
    };
    let first = possible.first_repetitions(FIRST_LOOK);
    let RunEstimate { loads_s, trials_s, longest_block_s, .. } =
        RunEstimate::on(medium, registry, experiment, &first);
    let about = |seconds: f64| span(rounded(seconds));
    let given = span(max_time.as_secs_f64());
    if longest_block_s + loads_s > max_time.as_secs_f64() {
        let (block, loads) = (about(longest_block_s), about(loads_s));
        return Err(usage(format!(
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
    use bakeoff_experiment::FlagOverrides;

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
                let possible = Possible::from_experiment(&registry, &experiment);
                let short =
                    check(&registry, &experiment, &possible, DataLocation::medium(None)).unwrap();
                assert_eq!(short, None, "{}, quick: {quick}", preset.name);
                bounded += usize::from(experiment.bounds.is_some());
            }
        }
        assert!(bounded >= 2, "the demo has a time, and its short version another");
    }
}
