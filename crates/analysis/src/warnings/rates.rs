//! Warnings about rates: whether they were counted, and whether all clients had a part in them.

use bakeoff_results::measure::STARVED;
use bakeoff_results::{Run, Scope, TrialSummary};

use super::{WarningTally, tally_trials};
use crate::littles_law::{find_concurrency, find_starvation};
use crate::warning::{Warning, WarningKind};

pub(super) fn warn_of_starved_clients(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let how_far = |trial: &TrialSummary| find_starvation(trial).unwrap_or_default();
    let worst = counted.iter().copied().max_by(|a, b| how_far(a).total_cmp(&how_far(b)))?;
    let WarningTally { part, at, .. } = tally_trials(run, counted, how_far)?;
    let text = format!(
        "in {part} some clients waited while others were served again and again; at worst {}, at \
         {at}. Rates count what ended, and are right; a mean time tells little there",
        how_clients_starved(worst)
    );
    let warning = Warning::new(WarningKind::ClientsStarved, text);
    Some(warning.with_remedy("a longer --seconds shows whether these clients are served at last"))
}

/// "11 of 16 clients spent the whole window of 2.7 s in one operation, and the longest took 15.6
/// s".
fn how_clients_starved(trial: &TrialSummary) -> String {
    let clients = find_concurrency(trial).unwrap_or_default();
    let starved = trial.measures.get(&STARVED, &Scope::Clients).unwrap_or_default();
    let window = trial.window_s.map_or(0.0, |(from, to)| to - from);
    let longest = trial.operations.iter().filter_map(|it| it.max_s).fold(0.0, f64::max);
    if starved > 0.0 {
        return format!(
            "{:.0} of {clients:.0} clients spent the whole window of {window:.1} s in one \
             operation, and the longest took {longest:.1} s",
            starved.min(clients)
        );
    }
    format!("an operation took {longest:.2} s in a window of {window:.1} s")
}

/// An older bakeoff took them from latencies, and they can't be counted any more.
pub(super) fn warn_of_uncounted_rates(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    if !run.figure_of_merit.is_rate() {
        return None;
    }
    let lacks = |trial: &TrialSummary| f64::from(u8::from(!trial.has_counted_rates()));
    let WarningTally { part, at, .. } = tally_trials(run, counted, lacks)?;
    let text = format!(
        "in {part} the rates are not counted: an older bakeoff took them from latencies, and kept \
         too few seconds to count in, first at {at}. Where clients starved they are too low"
    );
    let warning = Warning::new(WarningKind::RatesNotCounted, text);
    Some(warning.with_remedy("run it again to have them counted"))
}
