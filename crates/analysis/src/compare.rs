//! The compared factor's levels against each other, paired inside blocks.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{Levels, OperationSummary, Run, TrialSummary};
use bakeoff_stats::{CONFIDENCE, Estimate, MARGIN, holm, paired};

use crate::cells::{Rank, rank};
use crate::document::{Comparison, Verdict};
use crate::open_loop::OpenLoop;

/// What of an operation of a trial is compared.
pub(crate) type Mean = fn(&OperationSummary) -> Option<f64>;

/// Blocks that differ in nothing but the repetition.
#[derive(Default)]
struct Group<'a> {
    /// The compared factor's levels that were run or tried, in the plan's order.
    levels: BTreeSet<(Rank, &'a str)>,
    /// For each block, the trials that count, by level.
    blocks: BTreeMap<u32, BTreeMap<&'a str, &'a TrialSummary>>,
}

/// All comparisons against the baseline (or, where it has no trial that counts, against the first
/// level that has), then all of a level with itself under an alias
/// (`sqlite@again`), each in the order of the workload's operations, then of the plan's factors.
pub(crate) fn all(
    run: &Run,
    rows: &[TrialSummary],
    counted: &[&TrialSummary],
    mean: Mean,
) -> (Vec<Comparison>, Vec<Comparison>) {
    let groups = groups(run, rows, counted);
    let (mut comparisons, mut noise) = (Vec::new(), Vec::new());
    for operation in &run.operations {
        for ((_, others), group) in &groups {
            let new = |baseline: &str, level: &str| Comparison {
                operation: operation.clone(),
                metric: "mean_s".to_owned(),
                factor: run.compare.clone(),
                levels: others.clone(),
                baseline: baseline.to_owned(),
                level: level.to_owned(),
                ratio: None,
                low: None,
                high: None,
                blocks: 0,
                verdict: Verdict::Undecided,
            };
            let baseline = baseline(run, group);
            let mut family = Vec::new();
            for (_, level) in &group.levels {
                match run.alias(&run.compare, level) {
                    Some(base) => {
                        let mut alone = [new(base, level)];
                        judge(&mut alone, group, mean);
                        noise.extend(alone);
                    }
                    None if *level != baseline => family.push(new(baseline, level)),
                    None => {}
                }
            }
            judge(&mut family, group, mean);
            comparisons.append(&mut family);
        }
    }
    (comparisons, noise)
}

/// What a group's levels are held against.
fn baseline<'a>(run: &'a Run, group: &Group<'a>) -> &'a str {
    let counts = |level: &str| group.blocks.values().any(|block| block.contains_key(level));
    let levels = group.levels.iter().map(|(_, level)| *level);
    let mut with_trials =
        levels.filter(|level| run.alias(&run.compare, level).is_none() && counts(level));
    match with_trials.next() {
        Some(first) if !counts(&run.baseline) => first,
        _ => &run.baseline,
    }
}

/// The trials, by the levels of all factors but the compared one. Of a cell that did not keep up
/// with its rate none is compared: its times say how long the trials were.
fn groups<'a>(
    run: &Run,
    rows: &'a [TrialSummary],
    counted: &[&'a TrialSummary],
) -> BTreeMap<(Rank, Levels), Group<'a>> {
    let key = |row: &TrialSummary| {
        let mut others = row.levels.clone();
        others.remove(&run.compare);
        (rank(run, &others), others)
    };
    let mut groups: BTreeMap<(Rank, Levels), Group> = BTreeMap::new();
    for row in rows {
        if let Some(level) = row.levels.get(&run.compare) {
            let place = rank(run, &row.levels);
            groups.entry(key(row)).or_default().levels.insert((place, level));
        }
    }
    let behind: BTreeSet<&Levels> = counted
        .iter()
        .filter(|trial| OpenLoop::of(trial).is_some_and(|open| !open.kept_up))
        .map(|trial| &trial.levels)
        .collect();
    for &row in counted.iter().filter(|trial| !behind.contains(&trial.levels)) {
        if let Some(level) = row.levels.get(&run.compare) {
            let group = groups.entry(key(row)).or_default();
            group.blocks.entry(row.block).or_default().insert(level, row);
        }
    }
    groups
}

/// Fills in what the pairs say. The comparisons are one family: of several levels held against
/// one baseline, one may look different by chance (Holm's adjustment).
fn judge(family: &mut [Comparison], group: &Group, mean: Mean) {
    let mut estimates: Vec<Estimate> = Vec::new();
    let mut judged: Vec<&mut Comparison> = Vec::new();
    for comparison in family {
        let pairs = pairs(comparison, group, mean);
        let Ok(estimate) = paired::ratio(&pairs, CONFIDENCE) else { continue };
        comparison.ratio = Some(estimate.ratio);
        // Two pairs far apart can have an interval up to infinity, for which JSON has no word.
        comparison.low = estimate.low.filter(|low| low.is_finite());
        comparison.high = estimate.high.filter(|high| high.is_finite());
        comparison.blocks = pairs.len() as u32;
        estimates.push(estimate);
        judged.push(comparison);
    }
    let verdicts = holm::verdicts(&estimates, MARGIN, CONFIDENCE);
    for (comparison, verdict) in judged.into_iter().zip(verdicts) {
        comparison.verdict = verdict.into();
    }
}

/// The means of the baseline and of the level in every block that has both.
fn pairs(comparison: &Comparison, group: &Group, mean: Mean) -> Vec<(f64, f64)> {
    let of = |row: &TrialSummary| {
        let operations = &row.operations;
        let found = operations.iter().find(|view| view.name == comparison.operation)?;
        mean(found).filter(|mean| *mean > 0.0)
    };
    let pair = |block: &BTreeMap<&str, &TrialSummary>| {
        let baseline = of(block.get(comparison.baseline.as_str())?)?;
        Some((baseline, of(block.get(comparison.level.as_str())?)?))
    };
    group.blocks.values().filter_map(pair).collect()
}
