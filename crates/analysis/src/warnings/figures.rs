//! Warnings about the worth of figures of cells and comparisons.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{Levels, OperationSummary, Run, TrialSummary};
use bakeoff_stats::serial::SerialCorrelation;
use bakeoff_stats::{CONFIDENCE, quantile};

use super::{WarningTally, describe_place, format_part, tally_items};
use crate::comparison::{Comparison, Contrast, OtherwiseCounted};
use crate::document::CellView;
use crate::open_loop::is_open;
use crate::verdict::ENOUGH;
use crate::warning::{Warning, WarningKind};

/// A trial's mean may be this many times its cell's mean, or this part of it.
const STALLED: f64 = 2.0;

/// Fewer operations in a trial's window make a rough mean.
const FEW: u64 = 100;
/// With fewer, no better length of a trial is named.
const SURE: u64 = 5;
/// With fewer operations, no length is named that would give [`WANTED`].
const SURE_OF_QUANTILE: f64 = 10.0;

/// The quantile whose absence is worth a warning.
const WANTED: f64 = 0.99;

pub(super) fn warn_of_noise(run: &Run, noise: &[Comparison]) -> Option<Warning> {
    // How far the nearer end of the interval is from 1.
    let off = |comparison: &&Comparison| match (comparison.low, comparison.high) {
        (Some(low), Some(high)) => low.ln().max(-high.ln()).exp_m1(),
        _ => 0.0,
    };
    let WarningTally { part, share, at, .. } =
        tally_items(run, "comparison", noise, |comparison| &comparison.levels, off)?;
    let text = format!(
        "a level entered twice differs from itself in {part}, at worst by {share} or more, at {at} \
         (one in twenty is off by chance)"
    );
    Some(
        Warning::new(WarningKind::Noise, text)
            .with_remedy("take differences of that size for noise"),
    )
}

/// Comparisons in which a block's ratio follows the one before it. Many are looked at, so each
/// p-value is multiplied by their number.
pub(super) fn warn_of_correlated_blocks(
    run: &Run,
    all: &[(Levels, SerialCorrelation)],
) -> Option<Warning> {
    let follows = |(_, it): &&(Levels, SerialCorrelation)| {
        let believed = it.p * all.len() as f64 <= 1.0 - CONFIDENCE;
        if believed { it.lag1 } else { 0.0 }
    };
    let WarningTally { part, worst, at, .. } =
        tally_items(run, "comparison", all, |(levels, _)| levels, follows)?;
    let text = format!(
        "in {part} the ratio of a block follows that of the block before it (correlation \
         {worst:.2} at {at}): intervals take blocks for independent, and are too narrow then"
    );
    let warning = Warning::new(WarningKind::BlocksCorrelated, text);
    Some(warning.with_remedy(
        "find out what changes on the machine over minutes (other load, heat, a disk that fills), \
         and measure again without it",
    ))
}

/// Cells that did not keep up are left out: their response times run away, and no two trials need
/// be alike.
pub(super) fn warn_of_stalls(
    run: &Run,
    cells: &[CellView],
    counted: &[&TrialSummary],
) -> Option<Warning> {
    let kept_up = cells.iter().filter(|cell| cell.open_loop.is_none_or(|open| open.kept_up));
    let known: BTreeMap<&Levels, &CellView> = kept_up.map(|cell| (&cell.levels, cell)).collect();
    let mut furthest: BTreeMap<&Levels, f64> = BTreeMap::new();
    for trial in counted {
        let Some(cell) = known.get(&trial.levels) else { continue };
        let means: BTreeMap<&str, Option<f64>> =
            cell.operations.iter().map(|whole| (&*whole.name, whole.mean_s)).collect();
        for own in &trial.operations {
            let whole = means.get(&*own.name).copied().flatten();
            let Some((own, whole)) = own.mean_s.zip(whole) else { continue };
            let off = (own / whole).max(whole / own);
            let furthest = furthest.entry(&cell.levels).or_default();
            *furthest = off.max(*furthest);
        }
    }
    let above = |(_, off): &(&Levels, f64)| if *off > STALLED { *off } else { 0.0 };
    let WarningTally { part, worst, at, .. } =
        tally_items(run, "cell", furthest, |(levels, _)| levels, above)?;
    let text = format!(
        "in {part} a trial's mean is more than twice the cell's, or less than half of it, at worst \
         by a factor of {worst:.1}, at {at}: that trial, or the machine under it, was not like the \
         others"
    );
    Some(Warning::new(WarningKind::Stalled, text).with_remedy("look at its trials one by one"))
}

/// The ratio over whole trials lies outside of the window's interval, or leads to another verdict.
pub(super) fn warn_if_warm_up_decides(run: &Run, compared: &[Comparison]) -> Option<Warning> {
    let differs = |it: &&Comparison| {
        let whole = it.with_warm_up;
        whole.is_some_and(|whole| whole.is_outside(it) || whole.verdict != it.verdict)
    };
    let differ: Vec<&Comparison> = compared.iter().filter(differs).collect();
    let (first, whole) = differ.iter().find_map(|it| Some((it, it.with_warm_up?)))?;
    let text = format!(
        "{} of {} ratios would be others if the warm-up counted; the first is {} of {}: {} with \
         the warm-up, {} without",
        differ.len(),
        compared.len(),
        first.operation,
        pair_in_words(run, first),
        format_otherwise(&whole, first),
        told_of(first)
    );
    let warning = Warning::new(WarningKind::WarmUpDecides, text);
    Some(warning.with_remedy("a longer --seconds makes the warm-up matter less"))
}

/// "engine lmdb, clients 4 to sqlite".
pub(super) fn pair_in_words(run: &Run, it: &Comparison) -> String {
    format!("{} to {}", describe_place(run, &it.cell_at(&it.level)), it.baseline)
}

/// "2.05 (1.34 to 3.12), undecided": rates as tables show them.
pub(super) fn format_otherwise(it: &OtherwiseCounted, comparison: &Comparison) -> String {
    let OtherwiseCounted { ratio, low, high, verdict, .. } = *it;
    told_of(&Comparison { ratio: Some(ratio), low, high, verdict, ..comparison.clone() })
}

pub(super) fn told_of(it: &Comparison) -> String {
    let Some(shown) = Contrast::from_shown_comparison(it) else {
        return it.verdict.word().to_owned();
    };
    let ends = match shown.ends {
        (Some(low), Some(high)) => format!(" ({} to {})", format_ratio(low), format_ratio(high)),
        _ => String::new(),
    };
    format!("{}{ends}, {}", format_ratio(shown.ratio), shown.verdict.word())
}

fn format_ratio(ratio: f64) -> String {
    if ratio >= 10.0 { format!("{ratio:.1}") } else { format!("{ratio:.2}") }
}

/// Each operation alone, since the rarest matters as much as the others. Below [`ENOUGH`] there is
/// no verdict for it, below [`FEW`] its mean is rough: the graver of the two is shown.
pub(super) fn warn_of_few_in_trials(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let no_word = "so that the verdict is “too few”";
    warn_of_few_operations(run, counted, ENOUGH, no_word, WarningKind::TooFewOperations).or_else(
        || {
            warn_of_few_operations(
                run,
                counted,
                FEW,
                "so that their mean is rough",
                WarningKind::FewOperations,
            )
        },
    )
}

fn warn_of_few_operations(
    run: &Run,
    counted: &[&TrialSummary],
    wanted: u64,
    so: &str,
    kind: WarningKind,
) -> Option<Warning> {
    // If all operations are one figure, they are counted together.
    let together = |trial: &TrialSummary| run.figure_of_merit.is_rate() && !is_open(trial);
    let rarest = |trial: &TrialSummary| {
        let counts = trial.operations.iter().map(|op| op.count);
        if together(trial) { counts.reduce(u64::saturating_add) } else { counts.min() }
    };
    let short = |trial: &TrialSummary| rarest(trial).is_some_and(|rarest| rarest < wanted);
    // The time to wait for, at the pace of the trial itself, which may have run on for a few
    // operations.
    let seconds = |trial: &TrialSummary| {
        let rarest = rarest(trial).filter(|rarest| *rarest >= SURE)?;
        let took = trial.ran_s.map_or(run.seconds, |ran| ran.max(run.seconds));
        Some((took * wanted as f64 / rarest as f64).ceil())
    };
    let few: Vec<&TrialSummary> = counted.iter().copied().filter(|trial| short(trial)).collect();
    let slowest = few.iter().min_by_key(|trial| rarest(trial))?;
    let more = match few.iter().map(|trial| seconds(trial)).collect::<Option<Vec<f64>>>() {
        Some(all) => {
            let longest = all.into_iter().fold(0.0, f64::max);
            format!("--seconds {longest} would bring {wanted} of each there")
        }
        None => "longer trials (--seconds) show how many there are".into(),
    };
    let text = format!(
        "in {} there are fewer than {wanted} operations{}, {so}; the fewest ({}) at {}",
        format_part(few.len(), counted.len()),
        if together(slowest) { "" } else { " of a kind" },
        rarest(slowest).unwrap_or_default(),
        describe_place(run, &slowest.levels)
    );
    Some(Warning::new(kind, text).with_remedy(more))
}

/// Only operations whose p99 some cell shows: where none does, the gaps say it.
pub(super) fn warn_of_missing_quantiles(
    run: &Run,
    counted: &[&TrialSummary],
    cells: &[CellView],
) -> Option<Warning> {
    let needed = quantile::needed(WANTED)?;
    let in_cells = cells.iter().flat_map(|cell| &cell.operations);
    let shown: BTreeSet<&str> =
        in_cells.filter(|op| op.p99_s.is_some()).map(|op| op.name.as_str()).collect();
    let all = counted
        .iter()
        .copied()
        .flat_map(|trial| trial.operations.iter().map(move |op| (trial, op)));
    // The fewer, the worse.
    type Of<'a> = (&'a TrialSummary, &'a OperationSummary);
    let lack = |(_, op): &Of<'_>| needed as f64 / op.count.max(1) as f64;
    let above = |item: &Of<'_>| {
        let lack = Some(lack(item)).filter(|_| shown.contains(item.1.name.as_str()));
        lack.filter(|lack| *lack > 1.0).unwrap_or_default()
    };
    let WarningTally { part, worst, at, .. } =
        tally_items(run, "operation", all, |(trial, _)| &trial.levels, above)?;
    let text = format!(
        "a p99 that some cells have is left out of others, for {part} of trials: fewer than \
         {needed} of them back it, fewest at {at}"
    );
    let warning = Warning::new(WarningKind::QuantileLeftOut, text);
    if needed as f64 / worst < SURE_OF_QUANTILE {
        return Some(warning);
    }
    let seconds = find_needed_seconds(run, worst);
    Some(warning.with_remedy(format!("--seconds {seconds} would bring enough there")))
}

fn find_needed_seconds(run: &Run, times: f64) -> f64 {
    (run.seconds * times).ceil()
}
