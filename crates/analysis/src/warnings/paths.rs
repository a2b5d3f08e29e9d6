//! Warnings about paths that operations take by what they find in the database. Where their shares
//! differ between engines, one engine did less work.

use std::collections::BTreeMap;

use bakeoff_results::measure::{BEGUN_AGAIN, ENDED, Measure, ROLLED_BACK, SKIPPED, UNMATCHED};
use bakeoff_results::{Levels, Run, Scope, TrialSummary};

use super::{describe_place, format_percent};
use crate::warning::{Warning, WarningKind};

/// Shares of operations that are further apart are worth a warning, if they are so many standard
/// errors apart, too.
const APART: f64 = 0.03;
const SURE: f64 = 4.0;

/// The factor whose levels have to do the same work.
const ENGINE: &str = "engine";

/// Paths after which an operation has done another part of its work, in words.
const PATHS: [(&Measure, &str); 3] = [
    (&ROLLED_BACK, "rolled back by the script"),
    (&SKIPPED, "ended since a row was there already"),
    (&UNMATCHED, "without a row that they looked for"),
];

/// The counts of one operation over several trials.
fn sum_counts<'a>(
    trials: impl IntoIterator<Item = &'a &'a TrialSummary>,
    operation: &str,
    what: &Measure,
) -> f64 {
    let scope = Scope::Operation(operation.to_owned().into());
    trials.into_iter().filter_map(|trial| trial.measures.get(what, &scope)).sum()
}

/// How many operations of a kind ended, and which share of them took a path.
#[derive(Clone, Copy)]
struct PathShare {
    ended: f64,
    share: f64,
}

impl PathShare {
    /// `None` if none has ended.
    fn from_trials(trials: &[&TrialSummary], operation: &str, path: &Measure) -> Option<Self> {
        let ended = sum_counts(trials, operation, &ENDED);
        (ended > 0.0).then(|| Self { ended, share: sum_counts(trials, operation, path) / ended })
    }

    /// Whether another share is greater by more than chance and a few percentage points.
    fn is_below(self, other: Self) -> bool {
        let both = self.ended + other.ended;
        let mean = (self.share * self.ended + other.share * other.ended) / both;
        let error = (mean * (1.0 - mean) * (1.0 / self.ended + 1.0 / other.ended)).sqrt();
        other.share - self.share > APART.max(SURE * error)
    }
}

/// Shares of one path at two engines.
struct UnequalPath<'a> {
    operation: &'a str,
    path: &'static str,
    low: (&'a str, PathShare),
    high: (&'a str, PathShare),
    /// Of a trial with the higher share.
    levels: &'a Levels,
}

impl UnequalPath<'_> {
    fn distance(&self) -> f64 {
        self.high.1.share - self.low.1.share
    }
}

pub(super) fn warn_of_unequal_work(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    // By all levels but the engine's, then by engine.
    let mut cells: BTreeMap<Levels, BTreeMap<&str, Vec<&TrialSummary>>> = BTreeMap::new();
    for trial in counted {
        let mut rest = trial.levels.clone();
        rest.remove(ENGINE);
        let Some(engine) = trial.levels.get(ENGINE) else { continue };
        cells.entry(rest).or_default().entry(engine).or_default().push(trial);
    }
    let mut all = Vec::new();
    for engines in cells.values() {
        for operation in &run.operations {
            for (path, words) in PATHS {
                all.extend(find_unequal(engines, operation, (path, words)));
            }
        }
    }
    let more = if all.len() > 1 { " at worst" } else { "" };
    let UnequalPath { operation, path, low, high, levels } =
        all.into_iter().max_by(|a, b| a.distance().total_cmp(&b.distance()))?;
    let text = format!(
        "engines did not do the same work:{more} {} of the operations {operation} were {path} on {}, and \
         {} on {} ({})",
        format_percent(low.1.share),
        low.0,
        format_percent(high.1.share),
        high.0,
        describe_place(run, levels)
    );
    let warning = Warning::new(WarningKind::UnequalWork, text);
    Some(warning.with_remedy(
        "a faster engine comes sooner to the end of what can be sold or found: give the tables more rows, \
         let the trials be shorter, or compare at one rate (--rate)",
    ))
}

/// The two engines whose shares of a path are furthest apart.
fn find_unequal<'a>(
    engines: &BTreeMap<&'a str, Vec<&'a TrialSummary>>,
    operation: &'a str,
    (path, words): (&Measure, &'static str),
) -> Option<UnequalPath<'a>> {
    let shares = engines.iter().filter_map(|(engine, trials)| {
        Some((*engine, PathShare::from_trials(trials, operation, path)?))
    });
    let shares: Vec<(&str, PathShare)> = shares.collect();
    let low = shares.iter().min_by(|a, b| a.1.share.total_cmp(&b.1.share))?;
    let high = shares.iter().max_by(|a, b| a.1.share.total_cmp(&b.1.share))?;
    let levels = &engines[high.0].first()?.levels;
    low.1.is_below(high.1).then_some(UnequalPath {
        operation,
        path: words,
        low: *low,
        high: *high,
        levels,
    })
}

/// What operations did by their scripts, apart from conflicts.
pub(super) fn note_paths(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let all: Vec<String> =
        run.operations.iter().filter_map(|it| describe_paths(counted, it)).collect();
    (!all.is_empty()).then(|| {
        let text = format!(
            "operations went other ways than through their whole scripts, over all trials {}; these \
             are no conflicts",
            all.join("; ")
        );
        Warning::new(WarningKind::PathsTaken, text)
    })
}

fn describe_paths(counted: &[&TrialSummary], operation: &str) -> Option<String> {
    let told = |share: f64| match share {
        0.0 => None,
        small if small < 0.01 => Some("less than 1 %".to_owned()),
        share => Some(format_percent(share)),
    };
    let shares = PATHS.into_iter().filter_map(|(path, words)| {
        let share = told(PathShare::from_trials(counted, operation, path)?.share)?;
        Some(format!("{share} were {words}"))
    });
    let again = sum_counts(counted, operation, &BEGUN_AGAIN);
    let again = (again > 0.0).then(|| {
        format!(
            "{again:.0} times one began again with other draws by \\again or \\on_duplicate again"
        )
    });
    let parts: Vec<String> = shares.chain(again).collect();
    (!parts.is_empty()).then(|| format!("of {operation} {}", parts.join(", ")))
}
