mod knee;
mod level;
mod times;

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::measure::DEVICE_LIMIT;
use bakeoff_results::{
    ALL_OPERATIONS, CellLevels, FigureOfMerit, Levels, OwnFactor, Run, Scope, TrialSummary,
};
use bakeoff_stats::{CONFIDENCE, paired};

use crate::cells::{rank_levels, select_counted};
use crate::comparison::{Comparison, RatioBound, Verdict};
use crate::document::Document;
use crate::leader::{Leader, LeaderOutcome};
use crate::open_loop::{is_behind, is_open};
use crate::sweep::{
    FastestVerdict, LeadChange, PointState, SecondFactor, Sweep, SweepFastest, SweepLevel,
    SweepPanel, SweepPoint, SweepSeries,
};
use crate::total::{Total, mean};
use level::parse_numbers;

pub use times::build_time_sweep;

const MORE_IS_EASIER: [OwnFactor; 2] = [OwnFactor::Memory, OwnFactor::Cpus];

const BEHIND: &str = "not kept up with the offered rate";

/// `None` where no factor but the compared one is numeric.
pub fn build_sweep(document: &Document) -> Option<Sweep> {
    build_lines(document, document.run.run.figure_of_merit)
}

fn build_lines(document: &Document, merit: FigureOfMerit) -> Option<Sweep> {
    let run = &document.run.run;
    let mut numeric: Vec<(&str, Vec<SweepLevel>)> = run
        .factors
        .iter()
        .filter(|(factor, _)| *factor != run.compare)
        .filter_map(|(factor, levels)| {
            Some((factor.as_str(), list_tried_levels(document, factor, levels)?))
        })
        .collect();
    // The sort is stable: it keeps the plan's order of ties.
    numeric.sort_by_key(|(_, levels)| std::cmp::Reverse(levels.len()));
    let mut numeric = numeric.into_iter();
    let (factor, levels) = numeric.next()?;
    let second = numeric.next();
    let second = second.map(|(factor, levels)| SecondFactor { factor: factor.to_owned(), levels });
    let cells = CellIndex::from_document(document, merit);
    let panels = cells.panels(factor, &levels);
    let knees = cells.find_knees(factor, &levels);
    (!panels.is_empty()).then(|| Sweep { factor: factor.to_owned(), levels, second, panels, knees })
}

fn list_tried_levels(
    document: &Document,
    factor: &str,
    levels: &[String],
) -> Option<Vec<SweepLevel>> {
    parse_numbers(levels)?;
    let of = |trial: &TrialSummary| trial.levels.get(factor).cloned();
    let tried: BTreeSet<String> = document.trials.iter().filter_map(of).collect();
    let levels: Vec<String> = levels.iter().filter(|it| tried.contains(*it)).cloned().collect();
    let values = parse_numbers(&levels)?;
    let levels = levels.into_iter().zip(values);
    let mut levels: Vec<SweepLevel> =
        levels.map(|(level, value)| SweepLevel { level, value }).collect();
    levels.sort_by(|one, other| one.value.total_cmp(&other.value));
    if MORE_IS_EASIER.iter().any(|it| factor == *it) {
        levels.reverse();
    }
    Some(levels)
}

#[derive(Clone, Copy)]
struct LineSubject<'a> {
    operation: &'a str,
    merit: FigureOfMerit,
}

impl LineSubject<'_> {
    fn is_done(self, trial: &TrialSummary) -> bool {
        self.operation == ALL_OPERATIONS
            || trial.operations.iter().any(|it| it.name == self.operation)
    }

    fn read_figure(self, trial: &TrialSummary) -> Option<(f64, RatioBound)> {
        let is = |cut_off, bound| if cut_off { bound } else { RatioBound::Exact };
        let (value, is) = if self.merit.is_rate() {
            let total = Total::from_trial(trial)?;
            (total.rate(self.merit)?, is(total.at_most, RatioBound::AtMost))
        } else {
            let found = trial.operations.iter().find(|it| it.name == self.operation)?;
            (found.mean_s?, is(found.unfinished > 0, RatioBound::AtLeast))
        };
        (value > 0.0).then_some((value, is))
    }
}

struct CellIndex<'a> {
    run: &'a Run,
    merit: FigureOfMerit,
    /// No aliases, and not the harness.
    contenders: Vec<&'a str>,
    /// Cells that broke a promise: none of them is fastest.
    broken: BTreeSet<&'a Levels>,
    all: BTreeMap<&'a Levels, Vec<&'a TrialSummary>>,
    counted: BTreeMap<&'a Levels, Vec<&'a TrialSummary>>,
    comparisons: BTreeMap<(&'a str, &'a Levels), Vec<&'a Comparison>>,
}

impl<'a> CellIndex<'a> {
    fn from_document(document: &'a Document, merit: FigureOfMerit) -> Self {
        let run = &document.run.run;
        let by_levels = |trials: Vec<&'a TrialSummary>| {
            let mut placed: BTreeMap<&Levels, Vec<&TrialSummary>> = BTreeMap::new();
            trials.into_iter().for_each(|it| placed.entry(&it.levels).or_default().push(it));
            placed
        };
        let mut comparisons: BTreeMap<_, Vec<&Comparison>> = BTreeMap::new();
        for it in document.comparisons.iter().chain(&document.between) {
            comparisons.entry((it.operation.as_str(), &it.levels)).or_default().push(it);
        }
        let broken = document.cells.iter().filter(|cell| cell.broken_promise.is_some());
        Self {
            run,
            merit,
            contenders: run.contenders().collect(),
            broken: broken.map(|cell| &cell.levels).collect(),
            all: by_levels(document.trials.iter().collect()),
            counted: by_levels(select_counted(&document.trials)),
            comparisons,
        }
    }

    fn list_other_levels(&self, factor: &str) -> Vec<Levels> {
        let mut others: BTreeMap<_, Levels> = BTreeMap::new();
        for cell in self.all.keys() {
            let mut rest = (*cell).clone();
            rest.remove(factor);
            rest.remove(&self.run.compare);
            others.insert((rank_levels(self.run, &rest), rest.clone()), rest);
        }
        others.into_values().collect()
    }

    fn panels(&self, factor: &str, levels: &[SweepLevel]) -> Vec<SweepPanel> {
        let of = |rest: &Levels| self.panels_at(rest, factor, levels);
        let mut panels: Vec<SweepPanel> =
            self.list_other_levels(factor).iter().flat_map(of).collect();
        let place = |name: &str| self.run.operations.iter().position(|it| it == name);
        // The sort is stable: it keeps the order of the other levels.
        panels.sort_by_key(|panel| place(&panel.operation).unwrap_or(usize::MAX));
        panels.retain(|panel| !panel.series.is_empty());
        panels
    }

    /// In an open loop the rate is given, so only times say something.
    fn panels_at(&self, rest: &Levels, factor: &str, levels: &[SweepLevel]) -> Vec<SweepPanel> {
        let here =
            |cell: &Levels| rest.iter().all(|(factor, level)| cell.get(factor) == Some(level));
        let mut trials = self.all.iter().filter(|(cell, _)| here(cell)).flat_map(|(_, all)| all);
        let is_open = trials.any(|trial| is_open(trial));
        let merit = if is_open { FigureOfMerit::Time } else { self.merit };
        let of = |operation: &str| {
            self.panel(LineSubject { operation, merit }, rest.clone(), factor, levels)
        };
        match (&self.run.operations[..], merit.is_rate()) {
            (operations, false) | (operations @ [_], true) => {
                operations.iter().map(|operation| of(operation)).collect()
            }
            (_, true) => vec![of(ALL_OPERATIONS)],
        }
    }

    fn panel(
        &self,
        subject: LineSubject<'_>,
        rest: Levels,
        factor: &str,
        levels: &[SweepLevel],
    ) -> SweepPanel {
        let places: Vec<Levels> =
            levels.iter().map(|it| rest.with_level(factor, &it.level)).collect();
        let mut series: Vec<SweepSeries> = Vec::new();
        for level in &self.contenders {
            let point = |place| self.point(subject, place, level);
            let points: Vec<SweepPoint> = places.iter().map(point).collect();
            if points.iter().any(|point| point.state != PointState::NotRun) {
                series.push(SweepSeries { level: (*level).to_owned(), points });
            }
        }
        let mut fastest = Vec::new();
        for (at, place) in places.iter().enumerate() {
            fastest.push(self.find_fastest(subject.operation, place, at, &mut series));
        }
        let turns = find_lead_changes(&fastest, levels);
        SweepPanel {
            operation: subject.operation.to_owned(),
            metric: subject.merit.metric_name().to_owned(),
            levels: rest,
            series,
            fastest,
            turns,
        }
    }

    fn point(&self, subject: LineSubject<'_>, place: &Levels, level: &str) -> SweepPoint {
        let cell = place.with_level(&self.run.compare, level);
        let of = |trials: &BTreeMap<&Levels, Vec<&'a TrialSummary>>| {
            trials.get(&cell).cloned().unwrap_or_default()
        };
        let (all, counted) = (of(&self.all), of(&self.counted));
        let does = |trial: &&TrialSummary| subject.is_done(trial);
        let behind = |trial: &&TrialSummary| is_behind(trial);
        if all.is_empty() || (!counted.is_empty() && !counted.iter().any(does)) {
            return blank_point(PointState::NotRun, None);
        }
        let aside = |trials: &[&TrialSummary], why: &str| SweepPoint {
            state: PointState::SetAside,
            why: Some(why.to_owned()),
            ..estimate_point(trials, subject).unwrap_or(blank_point(PointState::SetAside, None))
        };
        if counted.iter().any(behind) {
            return aside(&counted, BEHIND);
        }
        if counted.is_empty() {
            let why = all.iter().find_map(|trial| trial.reason.as_deref());
            return aside(&all, why.unwrap_or("no trial counts"));
        }
        estimate_point(&counted, subject)
            .unwrap_or(blank_point(PointState::SetAside, Some("no operation ended")))
    }

    /// Finds the fastest at a place; also notes how the others compare with it.
    fn find_fastest(
        &self,
        operation: &str,
        place: &Levels,
        at: usize,
        series: &mut [SweepSeries],
    ) -> SweepFastest {
        let in_state = |state| series.iter().filter(move |it| it.points[at].state == state);
        let kept = |level: &str| !self.broken.contains(&place.with_level(&self.run.compare, level));
        let known = in_state(PointState::Known).filter(|it| kept(&it.level));
        let levels: Vec<String> = known.map(|it| it.level.clone()).collect();
        let aside = in_state(PointState::SetAside).count();
        let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
        let pair =
            |baseline: &str, level: &str| self.find_comparison(operation, place, baseline, level);
        let Some(leader) = Leader::from_levels(&levels, pair) else {
            let told = if levels.len() + aside > 1 {
                FastestVerdict::Unknown
            } else {
                FastestVerdict::Alone
            };
            return SweepFastest { told, levels: Vec::new() };
        };
        for it in series.iter_mut() {
            let rival = leader.rivals.iter().find(|(level, _)| *level == it.level);
            it.points[at].against = rival.map(|(_, contrast)| *contrast);
        }
        let is_short = leader.rivals.iter().any(|it| it.1.verdict == Verdict::ShortOfProcessors);
        let told = match leader.outcome {
            _ if aside > 0 || leader.rivals.len() + 1 < levels.len() => FastestVerdict::Unknown,
            LeaderOutcome::Won => FastestVerdict::Won,
            LeaderOutcome::Open if is_short => FastestVerdict::Unknown,
            LeaderOutcome::Even | LeaderOutcome::Open | LeaderOutcome::Noise => {
                FastestVerdict::TooClose
            }
            LeaderOutcome::Spiky
            | LeaderOutcome::TooFew
            | LeaderOutcome::NeverSteady
            | LeaderOutcome::Void => FastestVerdict::Unknown,
        };
        SweepFastest { told, levels: may_be_it(&leader) }
    }

    fn find_comparison(
        &self,
        operation: &str,
        place: &Levels,
        baseline: &str,
        level: &str,
    ) -> Option<Comparison> {
        let here = self.comparisons.get(&(operation, place))?;
        here.iter().find_map(|it| it.with_baseline(baseline, level))
    }
}

fn may_be_it(leader: &Leader<'_>) -> Vec<String> {
    let behind: BTreeSet<&str> = leader.list_slower().collect();
    let rivals = leader.rivals.iter().map(|(level, _)| *level);
    let close = rivals.filter(|level| !behind.contains(level));
    std::iter::once(leader.leader).chain(close).map(str::to_owned).collect()
}

fn blank_point(state: PointState, why: Option<&str>) -> SweepPoint {
    SweepPoint {
        state,
        value: None,
        value_is: None,
        low: None,
        high: None,
        against: None,
        why: why.map(str::to_owned),
        limit: None,
    }
}

/// The mean of the highest rates that the trials' device serves, if each trial knows it.
fn find_device_limit(trials: &[&TrialSummary], subject: LineSubject<'_>) -> Option<f64> {
    let of = |trial: &&TrialSummary| trial.measures.get(&DEVICE_LIMIT, &Scope::Disk);
    let all: Vec<f64> = trials.iter().map(of).collect::<Option<_>>()?;
    let is_its = subject.merit == FigureOfMerit::Operations;
    mean(&all).filter(|_| is_its)
}

fn estimate_point(trials: &[&TrialSummary], subject: LineSubject<'_>) -> Option<SweepPoint> {
    let figures: Vec<(f64, RatioBound)> =
        trials.iter().filter_map(|trial| subject.read_figure(trial)).collect();
    // Against 1 each, so that the ratio is the mean.
    let pairs: Vec<(f64, f64)> = figures.iter().map(|(value, _)| (1.0, *value)).collect();
    let estimate = paired::estimate_ratio(&pairs, CONFIDENCE).ok()?;
    let bound = figures.iter().map(|(_, is)| *is).find(|is| *is != RatioBound::Exact);
    let is = bound.unwrap_or(RatioBound::Exact);
    let finite = |end: Option<f64>, open| end.filter(|end| end.is_finite() && is != open);
    Some(SweepPoint {
        value: Some(estimate.ratio),
        value_is: Some(is),
        low: finite(estimate.low, RatioBound::AtMost),
        high: finite(estimate.high, RatioBound::AtLeast),
        limit: find_device_limit(trials, subject),
        ..blank_point(PointState::Known, None)
    })
}

/// Where another level becomes the fastest that is shown to be.
fn find_lead_changes(fastest: &[SweepFastest], levels: &[SweepLevel]) -> Vec<LeadChange> {
    let won = fastest.iter().zip(levels).filter(|(fastest, _)| fastest.told == FastestVerdict::Won);
    let won: Vec<(&str, &str)> = won
        .filter_map(|(fastest, it)| Some((fastest.levels.first()?.as_str(), it.level.as_str())))
        .collect();
    let pairs = won.windows(2).filter(|pair| pair[0].0 != pair[1].0);
    let turn = |pair: &[(&str, &str)]| LeadChange {
        after: pair[0].1.to_owned(),
        at: pair[1].1.to_owned(),
        from: pair[0].0.to_owned(),
        to: pair[1].0.to_owned(),
    };
    pairs.map(turn).collect()
}

#[cfg(test)]
mod tests {
    use bakeoff_results::Measures;

    use super::*;
    use crate::tests::trial_at;

    fn trial(limit: Option<f64>) -> TrialSummary {
        let mut measures = Measures::default();
        measures.set_some(&DEVICE_LIMIT, Scope::Disk, limit);
        trial_at(&[], measures)
    }

    #[test]
    fn a_limit_is_the_mean_of_trials_that_all_have_one_and_of_operations_alone() {
        let of = |limits: &[Option<f64>], merit| {
            let trials: Vec<TrialSummary> = limits.iter().map(|it| trial(*it)).collect();
            let trials: Vec<&TrialSummary> = trials.iter().collect();
            find_device_limit(&trials, LineSubject { operation: "read", merit })
        };
        let both = [Some(100.0), Some(300.0)];
        assert_eq!(of(&both, FigureOfMerit::Operations), Some(200.0));
        for merit in [FigureOfMerit::Time, FigureOfMerit::Megabytes, FigureOfMerit::Rows] {
            assert_eq!(of(&both, merit), None, "{merit:?}");
        }
        assert_eq!(of(&[Some(100.0), None], FigureOfMerit::Operations), None);
        assert_eq!(of(&[], FigureOfMerit::Operations), None);
    }
}
