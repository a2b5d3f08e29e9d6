use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::measure::{IMAGE, LEAST_OPERATIONS};
use bakeoff_results::{
    ALL_OPERATIONS, CellLevels, FigureOfMerit, Levels, OperationSummary, Run, Scope, TrialSummary,
};
use bakeoff_stats::family::Adjustment;
use bakeoff_stats::serial::{self, SerialCorrelation};
use bakeoff_stats::steady::Steadiness;

use crate::answers;
use crate::attempts::Attempts;
use crate::cells::{Rank, rank_levels};
use crate::comparison::{Comparison, OtherwiseCounted, Verdict, put_otherwise};
use crate::idle::{IdleCase, IdleComparison, IdleSeconds};
use crate::open_loop::{is_behind, is_open};
use crate::processor_waits::ProcessorWait;
use crate::span::ComparedSpan;
use crate::steady::rounds;
use crate::total::{Total, seconds_a_unit};
use crate::verdict::{
    ComparisonCase, ComparisonSample, JudgingRule, OperationFigure, estimate_shared_noise, judge,
    judge_with,
};

/// A trial that counts, with the facts that all its figures share, looked up once.
#[derive(Clone, Copy)]
pub(crate) struct Counted<'a> {
    trial: &'a TrialSummary,
    never_steady: bool,
    broken: bool,
    waited: ProcessorWait,
}

impl<'a> Counted<'a> {
    pub fn from_trial(trial: &'a TrialSummary) -> Self {
        Self {
            trial,
            never_steady: rounds(trial) == Some(Steadiness::NotSteady),
            broken: answers::is_broken(trial),
            waited: ProcessorWait::from_trial(trial),
        }
    }
}

#[derive(Default)]
struct BlockGroup<'a> {
    levels: BTreeSet<(Rank, &'a str)>,
    blocks: BTreeMap<u32, BTreeMap<&'a str, Counted<'a>>>,
    /// In an open loop the rate is given, so only times can be compared.
    is_open: bool,
    /// For each block, its latest attempt and the levels that ended in it, well or not.
    ended: BTreeMap<u32, (u32, BTreeSet<&'a str>)>,
}

#[derive(Clone)]
pub(crate) struct ConditionProgress {
    pub levels: Levels,
    pub blocks: u32,
    pub judged_at: u32,
}

impl<'a> BlockGroup<'a> {
    fn note_ended(&mut self, row: &'a TrialSummary, level: &'a str) {
        let (attempt, levels) = self.ended.entry(row.block).or_default();
        if row.attempt > *attempt {
            (*attempt, *levels) = (row.attempt, BTreeSet::new());
        }
        if row.attempt == *attempt {
            levels.insert(level);
        }
    }

    fn compare_idle(
        &self,
        run: &Run,
        seconds: &IdleSeconds,
        others: &Levels,
        [baseline, level]: [&str; 2],
    ) -> Option<IdleCase> {
        let both =
            |block: &BTreeMap<&str, Counted<'a>>| Some((*block.get(baseline)?, *block.get(level)?));
        let pairs: Vec<(Counted<'_>, Counted<'_>)> =
            self.blocks.values().filter_map(both).collect();
        let trials: Vec<_> = pairs.iter().map(|(one, other)| (one.trial, other.trial)).collect();
        let (found, [baseline_idle, level_idle]) = seconds.compare_trials(&trials)?;
        let comparison = IdleComparison {
            factor: run.compare.clone(),
            levels: others.clone(),
            baseline: baseline.to_owned(),
            level: level.to_owned(),
            blocks: pairs.len() as u32,
            baseline_idle,
            level_idle,
            more_s_a_minute: 60.0 * found.share,
            low: 60.0 * found.low,
            high: 60.0 * found.high,
            p_adjusted: None,
            adjusted_by: None,
            clear: false,
        };
        let [one, other] = [baseline, level].map(|level| comparison.cell_at(level));
        let is_wordless = |it: &Counted<'_>| it.never_steady || it.broken;
        let wordless = answers::answers_differ(run, &one, &other)
            || pairs.iter().any(|(one, other)| is_wordless(one) || is_wordless(other));
        Some(IdleCase { comparison, p: (!wordless).then_some(found.p) })
    }

    fn list_subjects(&self, run: &'a Run) -> Vec<ComparisonSubject<'a>> {
        subjects_of(run, self.is_open)
    }

    fn has_operation(&self, level: &str, operation: &str) -> bool {
        let mut trials = self.blocks.values().filter_map(|block| block.get(level));
        let has = |view: &OperationSummary| view.name == operation || operation == ALL_OPERATIONS;
        trials.any(|counted| counted.trial.operations.iter().any(has))
    }

    /// Whether trials of a level count, but none has the operation: more blocks will not change
    /// that.
    fn lacks_operation(&self, level: &str, operation: &str) -> bool {
        let counts = self.blocks.values().any(|block| block.contains_key(level));
        counts && !self.has_operation(level, operation)
    }

    /// In a run that is judged at looks, keeps the blocks of the last look. So nobody reads a
    /// verdict between two looks, when a run is stopped or watched there.
    fn judge_at_last_look(&mut self, run: &Run) -> (u32, u32) {
        let all = self.levels.len();
        let whole = self.ended.iter().filter(|(_, (_, levels))| levels.len() == all);
        let whole: Vec<u32> = whole.map(|(block, _)| *block).collect();
        let blocks = whole.len() as u32;
        let Some(sequential) = &run.sequential else { return (blocks, blocks) };
        let look = sequential.looks.iter().copied().filter(|look| *look <= blocks).max();
        if let Some(look) = look {
            let judged = &whole[..look as usize];
            self.blocks.retain(|block, _| judged.contains(block));
        }
        (blocks, look.unwrap_or(0))
    }
}

pub(crate) struct ComparisonSets {
    /// Against the baseline. Where no counted trial of it has the operation, against the first
    /// level that has one.
    pub with_baseline: Vec<Comparison>,
    /// The other levels against each other, by their own pairs.
    pub between: Vec<Comparison>,
    /// All pairs of levels by the p99 of operations of which each trial has enough.
    pub tails: Vec<Comparison>,
    /// The adjusted p-values of idle seconds, and by what they were adjusted.
    pub idle: Vec<(Option<f64>, Option<Adjustment>)>,
    /// A level against its alias (`sqlite@again`).
    pub noise: Vec<Comparison>,
    pub conditions: Vec<ConditionProgress>,
    /// How the ratios of successive blocks correlate, where there are enough blocks.
    pub serial: Vec<(Levels, SerialCorrelation)>,
}

#[derive(Clone, Copy)]
pub(crate) struct ComparisonSubject<'a> {
    operation: &'a str,
    merit: FigureOfMerit,
    /// By the p99 instead of the mean.
    is_tail: bool,
}

impl ComparisonSubject<'_> {
    pub(crate) fn read_figure(
        self,
        counted: &Counted<'_>,
        span: ComparedSpan,
    ) -> Option<OperationFigure> {
        let Counted { trial, never_steady, broken, waited } = *counted;
        let figure = |cost_s: Option<f64>, (count, unfinished)| {
            let cost_s = cost_s.filter(|cost| *cost > 0.0)?;
            let cut_off = unfinished > 0;
            let is_too_few = has_too_few(trial);
            let image = trial.measures.get(&IMAGE, &Scope::Trial).unwrap_or(0.0) as u32;
            Some(OperationFigure {
                cost_s,
                count,
                image,
                is_too_few,
                cut_off,
                never_steady,
                broken,
                waited,
            })
        };
        if self.merit.is_rate() {
            let sums = trial.operations.iter().fold((0, 0), |sum: (u64, u64), view| {
                (sum.0.saturating_add(view.count), sum.1.saturating_add(view.unfinished))
            });
            let is_bound = Total::from_trial(trial).is_some_and(|total| total.at_most);
            let sums = (sums.0, if is_bound { sums.1 } else { 0 });
            return figure(seconds_a_unit(trial, self.merit, span), sums);
        }
        let view = trial.operations.iter().find(|view| view.name == self.operation)?;
        let cost_s = match self.is_tail {
            true => view.p99_s.filter(|_| view.count >= ENOUGH_FOR_TAIL),
            false => span.mean_s(view),
        };
        figure(cost_s, (view.count, view.unfinished))
    }

    fn metric_name(self) -> &'static str {
        if self.is_tail { P99 } else { self.merit.metric_name() }
    }
}

/// The metric of a comparison by the p99.
pub const P99: &str = "p99_s";

/// So that ten operations of a trial lie beyond its p99.
const ENOUGH_FOR_TAIL: u64 = 1_000;

/// If syncs come in rounds, the trial itself asks for more operations.
fn has_too_few(trial: &TrialSummary) -> bool {
    let least = trial.measures.get(&LEAST_OPERATIONS, &Scope::Clients);
    let fewest = trial.operations.iter().map(|view| view.count).min();
    least.zip(fewest).is_some_and(|(least, fewest)| (fewest as f64) < least)
}

/// The subjects by which levels are compared: each operation by its time, or all together by a
/// rate. In an open loop always times, since the rate is given.
pub(crate) fn subjects_of(run: &Run, is_open: bool) -> Vec<ComparisonSubject<'_>> {
    let merit = if is_open { FigureOfMerit::Time } else { run.figure_of_merit };
    let subject = |operation| ComparisonSubject { operation, merit, is_tail: false };
    let operations = run.operations.iter().map(|operation| subject(operation));
    match (&run.operations[..], merit.is_rate()) {
        (_, false) | ([_], true) => operations.collect(),
        (_, true) => vec![subject(ALL_OPERATIONS)],
    }
}

/// The p99 of each operation, in a run that is judged once: looks are planned for means.
fn list_tails(run: &Run) -> Vec<ComparisonSubject<'_>> {
    let tail =
        |operation| ComparisonSubject { operation, merit: FigureOfMerit::Time, is_tail: true };
    let operations = run.operations.iter().filter(|_| run.sequential.is_none());
    operations.map(|operation| tail(operation)).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// By the p99.
    Tail,
    Baseline,
    Harness,
    Between,
}

pub(crate) struct Groups<'a> {
    all: BTreeMap<(Rank, Levels), BlockGroup<'a>>,
    conditions: Vec<ConditionProgress>,
}

impl<'a> Groups<'a> {
    pub fn from_trials(
        run: &Run,
        rows: impl IntoIterator<Item = &'a TrialSummary>,
        counted: &[&'a TrialSummary],
    ) -> Self {
        let mut all = group_blocks(run, rows, counted);
        let conditions = all.iter_mut().map(|((_, levels), group)| {
            let (blocks, judged_at) = group.judge_at_last_look(run);
            ConditionProgress { levels: levels.clone(), blocks, judged_at }
        });
        let conditions = conditions.collect();
        Self { all, conditions }
    }

    /// All comparisons of a run, by this part of its trials.
    ///
    /// The noise of a level is judged first, as a family of its own. All pairs of levels, at all
    /// operations and settings, by mean and by p99, are one family, since a summary counts over all of
    /// them.
    /// Comparisons with the harness are in no summary, and a third family. A run that goes on until
    /// it is decided is judged at looks: see [`JudgingRule`].
    /// The p-values of idle seconds are in the family of all pairs.
    pub fn compare_levels(
        &self,
        run: &Run,
        span: ComparedSpan,
        idle: &[IdleCase],
    ) -> ComparisonSets {
        let noise = compare_aliases(run, &self.all, span);
        let mut cases = self.collect_cases(run, &Floors::from_noise(&noise), span);
        cases.extend(collect_tails(run, &self.all, span));
        let (harness, contenders): (Vec<_>, Vec<_>) =
            cases.into_iter().partition(|(purpose, _)| *purpose == Purpose::Harness);
        let means = contenders.iter().filter(|(purpose, _)| *purpose != Purpose::Tail);
        let serial = means.filter_map(|(_, case)| case.test_serial_correlation()).collect();
        let (mut with_baseline, mut between, mut tails) = (Vec::new(), Vec::new(), Vec::new());
        let idle_p: Vec<Option<f64>> = idle.iter().map(|case| case.p).collect();
        let mut idle = Vec::new();
        for (family, others) in [(contenders, &idle_p[..]), (harness, &[])] {
            let (purposes, family): (Vec<Purpose>, Vec<ComparisonCase>) =
                family.into_iter().unzip();
            let rule = JudgingRule::from_run(run, &family);
            let judged = judge_with(family, others, rule);
            idle.extend(judged.adjusted.into_iter().map(|p| (p, judged.adjusted_by)));
            for (purpose, comparison) in purposes.into_iter().zip(judged.comparisons) {
                match purpose {
                    Purpose::Tail => tails.push(comparison),
                    Purpose::Between => between.push(comparison),
                    Purpose::Baseline | Purpose::Harness => with_baseline.push(comparison),
                }
            }
        }
        sort(run, &mut with_baseline);
        let conditions = self.conditions.clone();
        ComparisonSets { with_baseline, between, tails, idle, noise, conditions, serial }
    }

    /// The pairs of contenders that stood still, in the order of conditions.
    pub fn compare_idle(&self, run: &Run, seconds: &IdleSeconds) -> Vec<IdleCase> {
        let mut cases = Vec::new();
        for ((_, others), group) in &self.all {
            for (purpose, baseline, level) in pair_levels(run, group, ALL_OPERATIONS) {
                let case = group.compare_idle(run, seconds, others, [baseline, level]);
                cases.extend(case.filter(|_| purpose != Purpose::Harness));
            }
        }
        cases
    }

    /// All pairs of levels by mean or rate.
    fn collect_cases(
        &self,
        run: &Run,
        floors: &Floors<'_>,
        span: ComparedSpan,
    ) -> Vec<(Purpose, ComparisonCase)> {
        let mut cases = Vec::new();
        for (subject, others, group) in collect_subjects(run, &self.all) {
            for (purpose, baseline, level) in pair_levels(run, group, subject.operation) {
                let floor = floors.of_pair(subject.operation, others, [baseline, level]);
                let comparison = Comparison {
                    noise_floor: floor,
                    ..start_comparison(run, subject, others, baseline, level)
                };
                cases.push((
                    purpose,
                    ComparisonCase::from_group(run, comparison, subject, group, span),
                ));
            }
        }
        cases
    }

    /// The standard deviation of a trial's logarithm, by mean or rate, that the comparisons of
    /// contenders share. `None` where they are too few to share one.
    pub fn estimate_noise(&self, run: &Run) -> Option<f64> {
        let cases = self.collect_cases(run, &Floors::from_noise(&[]), ComparedSpan::Window);
        let contenders = cases.into_iter().filter(|(purpose, _)| *purpose != Purpose::Harness);
        estimate_shared_noise(&contenders.map(|(_, case)| case).collect::<Vec<_>>())
    }
}

impl ComparisonSets {
    pub fn put_otherwise(
        &mut self,
        others: &Self,
        put: impl Fn(&mut Comparison, Option<OtherwiseCounted>),
    ) {
        let all: Vec<Comparison> =
            others.with_baseline.iter().chain(&others.between).cloned().collect();
        put_otherwise(&mut self.with_baseline, &all, &put);
        put_otherwise(&mut self.between, &all, &put);
    }
}

/// All comparisons with the measured trials that were set aside among those that count, each
/// attempt as a block of its own. `None` where there are none, and in a run that is judged at
/// looks.
pub(crate) fn with_set_aside(
    run: &Run,
    trials: &[TrialSummary],
    counted: &[&TrialSummary],
    idle: &[IdleCase],
) -> Option<ComparisonSets> {
    let attempts = Attempts::from_trials(trials);
    let is_aside = |trial: &&TrialSummary| attempts.set_aside(trial) && !trial.has_failed();
    let last = trials.iter().map(|trial| trial.block).max()?;
    let mut numbers: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let aside: Vec<TrialSummary> = trials
        .iter()
        .filter(is_aside)
        .map(|trial| {
            let next = last.saturating_add(1 + numbers.len() as u32);
            let block = *numbers.entry((trial.block, trial.attempt)).or_insert(next);
            TrialSummary { block, attempt: 0, valid: true, ..trial.clone() }
        })
        .collect();
    if aside.is_empty() || run.sequential.is_some() {
        return None;
    }
    let all: Vec<&TrialSummary> = counted.iter().copied().chain(&aside).collect();
    Some(Groups::from_trials(run, trials.iter().chain(&aside), &all).compare_levels(
        run,
        ComparedSpan::Window,
        idle,
    ))
}

pub(crate) fn compare_all<'a>(
    run: &Run,
    rows: impl IntoIterator<Item = &'a TrialSummary>,
    counted: &[&'a TrialSummary],
) -> ComparisonSets {
    Groups::from_trials(run, rows, counted).compare_levels(run, ComparedSpan::Window, &[])
}

fn sort(run: &Run, comparisons: &mut [Comparison]) {
    comparisons.sort_by_cached_key(|it| {
        let others = rank_levels(run, &it.levels);
        let cell = rank_levels(run, &it.cell_at(&it.level));
        (find_position(run, &it.operation), others, it.levels.clone(), cell)
    });
}

fn find_position(run: &Run, operation: &str) -> usize {
    run.operations.iter().position(|name| name == operation).unwrap_or(usize::MAX)
}

fn collect_subjects<'a>(
    run: &'a Run,
    groups: &'a BTreeMap<(Rank, Levels), BlockGroup<'a>>,
) -> Vec<(ComparisonSubject<'a>, &'a Levels, &'a BlockGroup<'a>)> {
    let of = |((_, others), group): (&'a (Rank, Levels), &'a BlockGroup<'a>)| {
        group.list_subjects(run).into_iter().map(move |subject| (subject, others, group))
    };
    let mut all: Vec<_> = groups.iter().flat_map(of).collect();
    all.sort_by_key(|(subject, ..)| find_position(run, subject.operation));
    all
}

fn collect_tails(
    run: &Run,
    groups: &BTreeMap<(Rank, Levels), BlockGroup<'_>>,
    span: ComparedSpan,
) -> Vec<(Purpose, ComparisonCase)> {
    let mut cases = Vec::new();
    for ((_, others), group) in groups {
        for subject in list_tails(run) {
            for (purpose, baseline, level) in pair_levels(run, group, subject.operation) {
                let comparison = start_comparison(run, subject, others, baseline, level);
                let case = ComparisonCase::from_group(run, comparison, subject, group, span);
                let is_backed = case.sample.size() == group.blocks.len() && case.sample.size() > 1;
                cases.extend(
                    (purpose != Purpose::Harness && is_backed).then_some((Purpose::Tail, case)),
                );
            }
        }
    }
    cases
}

fn compare_aliases(
    run: &Run,
    groups: &BTreeMap<(Rank, Levels), BlockGroup>,
    span: ComparedSpan,
) -> Vec<Comparison> {
    let mut noise = Vec::new();
    for (subject, others, group) in collect_subjects(run, groups) {
        for (_, level) in &group.levels {
            let Some(base) = run.resolve_alias(&run.compare, level) else { continue };
            if [base, *level].iter().any(|level| group.lacks_operation(level, subject.operation)) {
                continue;
            }
            let comparison = start_comparison(run, subject, others, base, level);
            noise.extend(judge(
                vec![ComparisonCase::from_group(run, comparison, subject, group, span)],
                JudgingRule::Once(Adjustment::Holm),
            ));
        }
    }
    noise
}

/// With fewer blocks the interval of a level against itself is too wide to be a floor: it would
/// take away most verdicts, right and wrong ones. Then it is only a check, told in a warning.
const FLOOR_BLOCKS: u32 = 5;

struct Floors<'a>(&'a [Comparison]);

impl<'a> Floors<'a> {
    fn from_noise(noise: &'a [Comparison]) -> Self {
        Self(noise)
    }

    /// Only for a pair that holds the level entered twice: how uneven one level is says nothing of
    /// two others.
    fn of_pair(&self, operation: &str, others: &Levels, pair: [&str; 2]) -> Option<f64> {
        let here = |it: &&Comparison| {
            it.operation == operation
                && it.levels == *others
                && it.blocks >= FLOOR_BLOCKS
                && pair.contains(&&*it.baseline)
        };
        self.0.iter().filter(here).filter_map(Comparison::distance_from_itself).reduce(f64::max)
    }
}

pub(crate) fn start_comparison(
    run: &Run,
    subject: ComparisonSubject<'_>,
    others: &Levels,
    baseline: &str,
    level: &str,
) -> Comparison {
    Comparison {
        operation: subject.operation.to_owned(),
        metric: subject.metric_name().to_owned(),
        factor: run.compare.clone(),
        levels: others.clone(),
        baseline: baseline.to_owned(),
        level: level.to_owned(),
        ratio: None,
        ratio_is: None,
        low: None,
        high: None,
        blocks: 0,
        fewest_operations: None,
        freedom: None,
        images: None,
        p_adjusted: None,
        adjusted_by: None,
        adjusted_over: 0,
        fresh: Vec::new(),
        engine_only_ratio: None,
        noise_floor: None,
        with_warm_up: None,
        with_set_aside: None,
        verdict: Verdict::Undecided,
    }
}

/// The pairs of levels to compare at an operation, the baseline of each pair first.
fn pair_levels<'a>(
    run: &'a Run,
    group: &BlockGroup<'a>,
    operation: &str,
) -> Vec<(Purpose, &'a str, &'a str)> {
    let is_harness = |level: &str| run.is_harness(level);
    let baseline = choose_baseline(run, group, operation);
    let levels = group.levels.iter().map(|(_, level)| *level);
    let others: Vec<&str> = levels
        .filter(|level| *level != baseline && run.resolve_alias(&run.compare, level).is_none())
        .collect();
    let mut pairings = Vec::new();
    for (at, level) in others.iter().enumerate() {
        let purpose = match is_harness(level) || is_harness(baseline) {
            true => Purpose::Harness,
            false => Purpose::Baseline,
        };
        pairings.push((purpose, baseline, *level));
        let contends = |level: &&&str| !is_harness(level);
        if contends(&level) {
            let after = others[at + 1..].iter().filter(contends);
            pairings.extend(after.map(|later| (Purpose::Between, *level, *later)));
        }
    }
    let lacks = |level: &str| group.lacks_operation(level, operation);
    pairings.retain(|(_, baseline, level)| !lacks(baseline) && !lacks(level));
    pairings
}

fn choose_baseline<'a>(run: &'a Run, group: &BlockGroup<'a>, operation: &str) -> &'a str {
    let counts = |level: &str| group.has_operation(level, operation);
    let levels = group.levels.iter().map(|(_, level)| *level);
    let mut with_trials =
        levels.filter(|level| run.resolve_alias(&run.compare, level).is_none() && counts(level));
    match with_trials.next() {
        Some(first) if !counts(&run.baseline) => first,
        _ => &run.baseline,
    }
}

/// The trials, by the levels of all factors but the compared one. A cell that did not keep up with
/// its rate is left out: its times say how long the trials were.
fn group_blocks<'a>(
    run: &Run,
    rows: impl IntoIterator<Item = &'a TrialSummary>,
    counted: &[&'a TrialSummary],
) -> BTreeMap<(Rank, Levels), BlockGroup<'a>> {
    let key = |row: &TrialSummary| {
        let others = row.levels.without_factor(&run.compare);
        (rank_levels(run, &others), others)
    };
    let mut groups: BTreeMap<(Rank, Levels), BlockGroup> = BTreeMap::new();
    for row in rows {
        if let Some(level) = row.levels.get(&run.compare) {
            let place = rank_levels(run, &row.levels);
            let group = groups.entry(key(row)).or_default();
            group.levels.insert((place, level));
            group.is_open |= is_open(row);
            group.note_ended(row, level);
        }
    }
    let behind: BTreeSet<&Levels> =
        counted.iter().filter(|trial| is_behind(trial)).map(|trial| &trial.levels).collect();
    for &row in counted.iter().filter(|trial| !behind.contains(&trial.levels)) {
        if let Some(level) = row.levels.get(&run.compare) {
            let group = groups.entry(key(row)).or_default();
            let counted = Counted::from_trial(row);
            group.blocks.entry(row.block).or_default().insert(level, counted);
        }
    }
    groups
}

impl ComparisonCase {
    fn from_group(
        run: &Run,
        comparison: Comparison,
        subject: ComparisonSubject<'_>,
        group: &BlockGroup,
        span: ComparedSpan,
    ) -> Self {
        let of = |counted: &Counted<'_>| subject.read_figure(counted, span);
        let pair = |block: &BTreeMap<&str, Counted<'_>>| {
            let baseline = of(block.get(comparison.baseline.as_str())?)?;
            Some((baseline, of(block.get(comparison.level.as_str())?)?))
        };
        let pairs = group.blocks.values().filter_map(pair).collect();
        let unlike = answers::are_unlike(run, &comparison);
        Self { comparison, unlike, sample: ComparisonSample::Paired(pairs) }
    }

    fn test_serial_correlation(&self) -> Option<(Levels, SerialCorrelation)> {
        let log = |(baseline, level): &(OperationFigure, OperationFigure)| {
            (level.cost_s / baseline.cost_s).ln()
        };
        let ComparisonSample::Paired(pairs) = &self.sample else { return None };
        let serial = serial::correlate_lag1(&pairs.iter().map(log).collect::<Vec<_>>())?;
        Some((self.comparison.cell_at(&self.comparison.level), serial))
    }
}
