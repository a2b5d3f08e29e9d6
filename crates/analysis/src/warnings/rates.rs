//! How far rates can be trusted: whether they were counted, and whether all clients had a part in them.

use bakeoff_results::measure::STARVED;
use bakeoff_results::{Run, Scope, TrialSummary};

use super::{WarningTally, part};
use crate::littles_law::{concurrency, starving};
use crate::warning::{Warning, WarningKind};

/// Trials in which some clients waited while others were served over and over.
pub(super) fn clients_starved(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let how_far = |trial: &TrialSummary| starving(trial).unwrap_or_default();
    let worst = counted.iter().copied().max_by(|a, b| how_far(a).total_cmp(&how_far(b)))?;
    WarningTally::of_trials(counted, how_far).say(run, |n, m, _, at| {
        let text = format!(
            "in {} some clients waited while others were served again and again; at worst {}, at \
             {at}. Rates count what ended, and are right; a mean time tells little there",
            part(n, m),
            how_clients_starved(worst)
        );
        Warning::new(WarningKind::ClientsStarved, text)
            .remedy("a longer --seconds shows whether these clients are served at last")
    })
}

/// "11 of 16 clients spent the whole window of 2.7 s in one operation, and the longest took 15.6 s".
fn how_clients_starved(trial: &TrialSummary) -> String {
    let clients = concurrency(trial).unwrap_or_default();
    let starved = trial.measures.get(&STARVED, &Scope::Clients).unwrap_or_default();
    let window = trial.window_s.map_or(0.0, |(from, to)| to - from);
    let longest = trial.operations.iter().filter_map(|it| it.max_s).fold(0.0, f64::max);
    if starved > 0.0 {
        return format!(
            "{:.0} of {clients:.0} clients spent the whole window of {window:.1} s in one operation, and \
             the longest took {longest:.1} s",
            starved.min(clients)
        );
    }
    format!("an operation took {longest:.2} s in a window of {window:.1} s")
}

/// Trials whose rates an older bakeoff took from latencies, and which can't be counted any more.
pub(super) fn not_counted(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    if !run.figure_of_merit.is_rate() {
        return None;
    }
    let lacks = |trial: &TrialSummary| f64::from(u8::from(!trial.has_counted_rates()));
    WarningTally::of_trials(counted, lacks).say(run, |n, m, _, at| {
        let text = format!(
            "in {} the rates are not counted: an older bakeoff took them from latencies, and kept too \
             few seconds to count in, first at {at}. Where clients starved they are too low",
            part(n, m)
        );
        Warning::new(WarningKind::RatesNotCounted, text).remedy("run it again to have them counted")
    })
}
