//! Limits the size of a run. A report grows with products of the run's numbers, and a foreign
//! folder can hold few things whose product has no end.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::published::Publication;
use bakeoff_results::{Applied, Cut, Run, TrialSummary};

type SizeBound = (&'static str, usize, usize);

/// The name of what exceeds any real run.
pub(crate) fn find_exceeded_bound(
    run: &Run,
    trials: &[TrialSummary],
    cuts: &[Cut],
) -> Option<String> {
    let sizes = Sizes::from_trials(run, trials);
    let machines = run.merged.as_ref().map_or(0, |merged| merged.members.len());
    let lists: [SizeBound; 8] = [
        ("operations", run.operations.len(), 256),
        ("factors", run.factors.len(), 64),
        ("levels", run.factors.iter().map(|(_, levels)| levels.len()).sum(), 2_000),
        ("engines", run.engines.iter().map(|it| it.settings.len() + 1).sum(), 1_000),
        ("terms", run.applied.len(), 2_000),
        ("published figures", run.published.as_ref().map_or(0, count_figures), 5_000),
        ("answers", run.answers.len(), 2_000),
        ("machines", machines, 2_000),
    ];
    let mut bounds = lists.to_vec();
    bounds.extend(sizes.bounds(run, trials));
    bounds.extend(of_cuts(cuts));
    let (what, found, most) = bounds.into_iter().find(|(_, found, most)| found > most)?;
    Some(format!("there are {found} {what}, and {most} at most can be shown"))
}

struct Sizes<'a> {
    operations: usize,
    settings: BTreeMap<Vec<(&'a str, &'a str)>, BTreeSet<&'a str>>,
    levels: BTreeSet<&'a str>,
    counters: BTreeSet<&'a str>,
}

impl<'a> Sizes<'a> {
    fn from_trials(run: &'a Run, trials: &'a [TrialSummary]) -> Self {
        let mut settings: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
        for trial in trials {
            let others = trial.levels.iter().filter(|(factor, _)| **factor != run.compare);
            let others = others.map(|(factor, level)| (factor.as_str(), level.as_str())).collect();
            let level = trial.levels.get(&run.compare).map_or("", String::as_str);
            settings.entry(others).or_default().insert(level);
        }
        let counters = trials.iter().flat_map(|trial| trial.measures.counters());
        Self {
            // There is a line for each, even if nothing was measured.
            operations: run.operations.len().max(1),
            levels: settings.values().flatten().copied().collect(),
            settings,
            counters: counters.map(|(name, _)| name).collect(),
        }
    }

    fn bounds(&self, run: &Run, trials: &[TrialSummary]) -> [SizeBound; 6] {
        // Each pair of levels is looked for among all pairs.
        let fourth = |levels: &BTreeSet<&str>| levels.len().saturating_pow(4);
        let looked_at = self.settings.values().map(fourth).fold(0, usize::saturating_add);
        let lines = self.settings.len().saturating_mul(self.levels.len());
        let lines = lines.saturating_mul(self.operations);
        let longest = |names: &mut dyn Iterator<Item = usize>| names.max().unwrap_or(0);
        let name = longest(&mut trials.iter().map(|trial| sum_text_lengths(&trial.levels)));
        let operation = longest(&mut run.operations.iter().map(String::len));
        let titles = run.baseline.len() + run.compare.len() + name + operation;
        [
            ("settings", self.settings.len(), 10_000),
            ("comparisons", looked_at.saturating_mul(self.operations), 1_000_000_000),
            ("figures", lines, 200_000),
            ("bytes of names", lines.saturating_mul(titles), 200_000_000),
            ("figures of trials", trials.len().saturating_mul(self.operations), 2_000_000),
            ("bytes of rows", self.estimate_row_length(run, trials), 500_000_000),
        ]
    }

    fn estimate_row_length(&self, run: &Run, trials: &[TrialSummary]) -> usize {
        let settings = |it: &Applied| -> usize {
            it.settings.iter().map(|it| it.name.len() + it.value.len() + 3).sum()
        };
        let terms = run.applied.iter().map(settings).max().unwrap_or(0);
        let row = |trial: &TrialSummary| {
            let words = trial.warnings.iter().chain(&trial.reason).map(String::len).sum::<usize>();
            let each =
                500 + terms + words + sum_text_lengths(&trial.levels) + 8 * self.counters.len();
            each.saturating_mul(trial.operations.len().max(1))
        };
        trials.iter().map(row).fold(0, usize::saturating_add)
    }
}

fn count_figures(published: &Publication) -> usize {
    published.tables.iter().map(|table| table.figures.len()).fold(0, usize::saturating_add)
}

fn sum_text_lengths(levels: &BTreeMap<String, String>) -> usize {
    levels.iter().map(|(factor, level)| factor.len() + level.len()).sum()
}

fn of_cuts(cuts: &[Cut]) -> [SizeBound; 3] {
    let promises: BTreeSet<_> =
        cuts.iter().map(|cut| (&cut.engine, &cut.durability, cut.file_system)).collect();
    let judged = || cuts.iter().flat_map(|cut| &cut.judged);
    let rules: BTreeSet<&str> = judged().map(|judged| judged.keep.as_str()).collect();
    let rows = cuts.iter().map(|cut| {
        let words = cut.failed.as_ref().map_or(0, String::len) + cut.moment.len();
        (300 + words + cut.engine.len() + cut.durability.len()).saturating_mul(cut.judged.len())
    });
    [
        ("promises", promises.len(), 1_000),
        ("rules", rules.len(), 64),
        ("bytes of cuts", rows.fold(0, usize::saturating_add), 500_000_000),
    ]
}
