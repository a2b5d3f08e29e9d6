use bakeoff_results::measure::BATCH_REFUSED;
use bakeoff_results::{Run, Scope, TrialSummary};

use super::{WarningTally, tally_items, tally_trials};
use crate::placement::{PlacementModes, modes_by_cell};
use crate::warning::{Warning, WarningKind};

/// One mean of both modes says how often the scheduler chose each.
pub(super) fn warn_of_two_placements(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let cells = modes_by_cell(counted);
    let factor = |modes: &Option<PlacementModes>| modes.map_or(0.0, |modes| modes.factor());
    let worst = cells.values().flatten().max_by(|a, b| a.factor().total_cmp(&b.factor()))?;
    let PlacementModes { trials, together, apart, rates: [shared, parted] } = worst;
    let WarningTally { part, at, .. } =
        tally_items(run, "cell", &cells, |(levels, _)| levels, |(_, modes)| factor(modes))?;
    let text = format!(
        "trials of {part} ran in two modes, at worst at {at}: in {together} of {trials} trials \
         clients and server shared a processor, and in {apart} they were apart: {} against {} \
         operations a second. Their mean says how often the scheduler chose which",
        group_digits(*shared),
        group_digits(*parted)
    );
    let warning = Warning::new(WarningKind::TwoPlacements, text);
    Some(
        warning.with_remedy(
            "`taskset -c 0 bakeoff run ...` keeps both on one processor in every trial",
        ),
    )
}

pub(super) fn note_refused_policy(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let refused = |trial: &TrialSummary| {
        trial.measures.get(&BATCH_REFUSED, &Scope::Clients).unwrap_or_default()
    };
    let WarningTally { part, .. } = tally_trials(run, counted, refused)?;
    let text = format!(
        "in {part} the system did not let the clients' threads be scheduled as batch work \
         (SCHED_BATCH): they may have taken processors from the server"
    );
    let warning = Warning::new(WarningKind::NotBatch, text);
    Some(
        warning
            .with_remedy("allow the system call sched_setscheduler, which containers may forbid"),
    )
}

/// "82,000".
fn group_digits(rate: f64) -> String {
    let digits = format!("{rate:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
