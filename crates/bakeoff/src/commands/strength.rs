//! What a plan can tell apart before it runs, and whether each level comes first equally often.

use bakeoff_analysis::{PlannedComparisons, USUAL_NOISE};
use bakeoff_experiment::{Factor, without_alias};
use bakeoff_lab::Plan;

use super::past_noise::PastNoise;

/// By the noise of an earlier run, else by the usual one. `None` for a plan that compares nothing,
/// or searches for a limit.
pub fn describe_strength(plan: &Plan<'_>, past: Option<&PastNoise>) -> Option<String> {
    let blocks = plan.experiment.most_repetitions();
    let planned = count_planned(plan).filter(|_| plan.experiment.limit.is_none())?;
    let noise = past.map_or(USUAL_NOISE, |past| past.of_trial);
    let ratio = planned.find_detectable_ratio(blocks, noise)?;
    let (noise, seen) = (format_noise(noise), past.map_or_else(String::new, describe_source));
    let comparisons = match planned.count() {
        1 => "1 comparison".into(),
        count => format!("{count} comparisons"),
    };
    Some(format!(
        "can tell apart what differs by {ratio:.2} × or more ({comparisons} of {blocks} blocks, at {noise} of \
         noise a trial{seen})"
    ))
}

fn describe_source(past: &PastNoise) -> String {
    format!(", as in {}", past.folder.display())
}

/// In percent, to two digits.
fn format_noise(noise: f64) -> String {
    let percent = 100.0 * noise;
    let decimals = (1.0 - percent.log10().floor()).clamp(0.0, 4.0) as usize;
    let digits = format!("{percent:.decimals$}");
    match digits.contains('.') {
        true => format!("{} %", digits.trim_end_matches('0').trim_end_matches('.')),
        false => format!("{digits} %"),
    }
}

/// `None` where each level comes first equally often.
pub fn describe_order(plan: &Plan<'_>) -> Option<String> {
    let experiment = plan.experiment;
    let levels = experiment.run_levels(experiment.compare).len() as u32;
    let repetitions = experiment.most_repetitions();
    if plan.trials.count_trials() == 0 || levels < 2 || repetitions.is_multiple_of(levels) {
        return None;
    }
    let balanced = repetitions.next_multiple_of(levels);
    Some(format!(
        "the order is not balanced: of {levels} levels, some come first in more of the {repetitions} \
         repetitions than others; {balanced} would balance it"
    ))
}

fn count_planned(plan: &Plan<'_>) -> Option<PlannedComparisons> {
    let experiment = plan.experiment;
    let target = plan.registry.target_of(&experiment.workload).ok()?;
    let about = target.describe_workload(&experiment.workload)?;
    let is_harness = |level: &str| {
        let engine = plan.registry.engine(level);
        experiment.compare == Factor::ENGINE && engine.is_some_and(|it| !it.about().stores)
    };
    let is_contender =
        |level: &&String| without_alias(level) == level.as_str() && !is_harness(level);
    let compared = experiment.run_levels(experiment.compare);
    let others = experiment.factors.keys().filter(|factor| **factor != experiment.compare);
    Some(PlannedComparisons {
        contenders: compared.iter().filter(is_contender).count(),
        conditions: others.map(|it| experiment.run_levels(*it).len()).product(),
        subjects: match about.figure_of_merit.is_rate() {
            true => 1,
            false => about.operations.len().max(1),
        },
    })
}
