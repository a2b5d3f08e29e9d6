//! What changes of a server's settings buy: each level of the compared factor against the present one,
//! in two runs of which the second has fresh blocks.

use std::collections::BTreeMap;

use bakeoff_results::measure::READ;
use bakeoff_results::{Levels, Scope, TrialSummary};
use serde::Serialize;

use crate::attempts::Attempts;
use crate::cells::{select_counted, sum_counters};
use crate::changes::{CellChange, compare_changes};
use crate::comparison::Verdict;
use crate::cost::WorkCost;
use crate::document::Document;

/// Figures of work that differ by less are no cause.
const CAUSE: f64 = 1.25;
/// At most so many causes are told.
const MOST_CAUSES: usize = 2;

/// How one level serves in comparison with another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelEffect {
    pub from: String,
    pub to: String,
    /// One for all operations together where they have a rate, else one for each; empty where no pair
    /// of trials counts.
    pub operations: Vec<OperationEffect>,
    /// What changed in the work for an operation, most first.
    pub causes: Vec<WorkChange>,
    /// Why its first failed trial failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationEffect {
    pub operation: String,
    /// How many times as fast; above 1 is faster.
    pub speed: Option<f64>,
    /// The 95 % interval's ends.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub pairs: u32,
    pub verdict: Verdict,
}

/// Work for an operation, of which there is more or less.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkChange {
    /// As the engine calls it, if it is one of its own counters.
    pub what: String,
    pub unit: WorkUnit,
    pub from: f64,
    pub to: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkUnit {
    Count,
    Bytes,
    Seconds,
}

/// A level's effect in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectWord {
    /// An operation is faster, none is slower.
    Gain,
    /// An operation is slower, none is faster.
    Loss,
    /// One is faster and another slower.
    Mixed,
    /// All are the same within the margin.
    None,
    Undecided,
    /// No pair of trials counts.
    Failed,
}

impl LevelEffect {
    pub fn word(&self) -> EffectWord {
        let has = |verdict| self.operations.iter().any(|it| it.verdict == verdict);
        match (has(Verdict::Faster), has(Verdict::Slower)) {
            _ if self.operations.is_empty() => EffectWord::Failed,
            (true, true) => EffectWord::Mixed,
            (true, false) => EffectWord::Gain,
            (false, true) => EffectWord::Loss,
            (false, false) if self.operations.iter().all(|it| it.verdict == Verdict::Same) => {
                EffectWord::None
            }
            (false, false) => EffectWord::Undecided,
        }
    }

    /// The geometric mean over operations; 1 where nothing is known.
    pub fn mean_speed(&self) -> f64 {
        let logs: Vec<f64> =
            self.operations.iter().filter_map(|it| it.speed).map(f64::ln).collect();
        if logs.is_empty() { 1.0 } else { (logs.iter().sum::<f64>() / logs.len() as f64).exp() }
    }
}

/// The effects of pairs (from, to) of levels of the compared factor. They are one family: the more
/// are asked for, the more each must show. Each level has one cell.
pub fn find_effects(document: &Document, pairs: &[(&str, &str)]) -> Vec<LevelEffect> {
    let run = &document.run.run;
    let cell = |level: &str| {
        let mut all = document.trials.iter().map(|trial| &trial.levels);
        all.find(|levels| levels.get(&run.compare).is_some_and(|it| it == level))
    };
    let cells: Vec<_> =
        pairs.iter().filter_map(|(from, to)| Some((cell(from)?, cell(to)?))).collect();
    let changes = compare_changes(run, &document.trials, cells.iter().copied());
    let attempts = Attempts::from_trials(&document.trials);
    let effect = |(from, to): &(&str, &str)| {
        let (before, after) = (cell(from), cell(to));
        let is_own = |it: &&CellChange<'_>| Some(it.from) == before && Some(it.to) == after;
        let of_level = |it: &&TrialSummary| Some(&it.levels) == after;
        let own = document.trials.iter().filter(of_level);
        LevelEffect {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            operations: changes.iter().filter(is_own).map(to_operation_effect).collect(),
            causes: find_causes(&document.trials, before, after),
            failure: own.filter(|it| !it.valid && !attempts.set_aside(it)).find_map(tell_failure),
        }
    };
    pairs.iter().map(effect).collect()
}

fn tell_failure(trial: &TrialSummary) -> Option<String> {
    trial.first_error().or(trial.reason.as_deref()).map(str::to_owned)
}

fn to_operation_effect(change: &CellChange<'_>) -> OperationEffect {
    let it = &change.comparison;
    let turned = |ratio: Option<f64>| ratio.map(|ratio| 1.0 / ratio).filter(|it| it.is_finite());
    OperationEffect {
        operation: it.operation.clone(),
        speed: turned(it.ratio),
        low: turned(it.high),
        high: turned(it.low),
        pairs: it.blocks,
        verdict: it.verdict,
    }
}

fn find_causes(
    trials: &[TrialSummary],
    before: Option<&Levels>,
    after: Option<&Levels>,
) -> Vec<WorkChange> {
    let Some((before, after)) = before.zip(after) else { return Vec::new() };
    let [before, after] = [before, after].map(|levels| measure_work(trials, levels));
    let mut changes: Vec<WorkChange> = before
        .into_iter()
        .filter_map(|(what, (unit, from))| {
            let to = after.get(&what)?.1;
            Some(WorkChange { what, unit, from, to })
        })
        .filter(WorkChange::matters)
        .collect();
    changes.sort_by(|one, other| other.log().total_cmp(&one.log()));
    // The engine and the system count some things both.
    let is_like = |one: &mut WorkChange, other: &mut WorkChange| -> bool {
        let is_near = |a: f64, b: f64| (a - b).abs() <= 0.05 * a.abs().max(b.abs());
        one.unit == other.unit && is_near(one.from, other.from) && is_near(one.to, other.to)
    };
    changes.dedup_by(is_like);
    changes.truncate(MOST_CAUSES);
    changes
}

impl WorkChange {
    /// By how much it changed, up or down; what comes from nothing or ends at nothing counts as much.
    fn log(&self) -> f64 {
        let least = self.unit.least();
        (self.from.max(least) / self.to.max(least)).ln().abs()
    }

    fn matters(&self) -> bool {
        self.log() >= CAUSE.ln()
    }
}

impl WorkUnit {
    /// Less for an operation is nothing.
    fn least(self) -> f64 {
        match self {
            Self::Count => 0.1,
            Self::Bytes => 1000.0,
            Self::Seconds => 1e-6,
        }
    }
}

/// What all counted trials of a cell did for an operation, by its name.
fn measure_work(trials: &[TrialSummary], levels: &Levels) -> BTreeMap<String, (WorkUnit, f64)> {
    let mut work = BTreeMap::new();
    let counted = select_counted(trials);
    let own: Vec<&TrialSummary> =
        counted.into_iter().filter(|trial| trial.levels == *levels).collect();
    let costs: Option<Vec<WorkCost>> =
        own.iter().map(|trial| WorkCost::from_measures(&trial.measures)).collect();
    let sum = costs.and_then(|costs| costs.into_iter().reduce(|one, other| one.plus(&other)));
    let Some(sum) = sum.filter(|sum| sum.operations > 0) else { return work };
    let mut put = |what: &str, unit, value: Option<f64>| {
        let each = value.map(|value| (unit, value / sum.operations as f64));
        work.extend(each.map(|each| (what.to_owned(), each)));
    };
    for (name, count) in sum_counters(&own) {
        let unit = if name.contains("bytes") { WorkUnit::Bytes } else { WorkUnit::Count };
        put(&name, unit, Some(count as f64));
    }
    put("syncs", WorkUnit::Count, sum.syncs.map(|it| it.count as f64));
    put("bytes to the disk", WorkUnit::Bytes, sum.device_bytes.map(|it| it as f64));
    put("processor time of the server", WorkUnit::Seconds, sum.engine_cpu_s);
    let read = |trial: &&TrialSummary| {
        let scopes = [Scope::Disk, Scope::DATABASE];
        scopes.iter().find_map(|scope| trial.measures.get(&READ, scope))
    };
    let read: Option<Vec<f64>> = own.iter().map(read).collect();
    put("bytes from the disk", WorkUnit::Bytes, read.map(|all| all.iter().sum()));
    work
}

/// How many changes, added one after the other, are worth it: up to the first step that is no gain.
pub fn count_worthwhile(steps: &[LevelEffect]) -> usize {
    steps.iter().take_while(|step| step.word() == EffectWord::Gain).count()
}

/// The levels that a second run tries again: at most so many, those that seem fastest.
pub fn choose_best(effects: &[LevelEffect], most: usize) -> Vec<&LevelEffect> {
    /// What seems less is not worth a second look.
    const WORTH: f64 = 1.02;
    let seems = |effect: &&LevelEffect| {
        let is_open = matches!(effect.word(), EffectWord::Gain | EffectWord::Undecided);
        is_open && effect.mean_speed() >= WORTH
    };
    let mut best: Vec<&LevelEffect> = effects.iter().filter(seems).collect();
    best.sort_by(|one, other| other.mean_speed().total_cmp(&one.mean_speed()));
    best.truncate(most);
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(verdicts: &[(f64, Verdict)]) -> LevelEffect {
        let operation = |(speed, verdict): &(f64, Verdict)| OperationEffect {
            operation: "all".into(),
            speed: Some(*speed),
            low: None,
            high: None,
            pairs: 5,
            verdict: *verdict,
        };
        let operations = verdicts.iter().map(operation).collect();
        let (from, to) = ("a".into(), "b".into());
        LevelEffect { from, to, operations, causes: Vec::new(), failure: None }
    }

    #[test]
    fn a_gain_hurts_no_operation_and_only_gains_are_added() {
        use Verdict::{Faster, Same, Slower, Undecided};
        for (verdicts, expected) in [
            (vec![(2.0, Faster), (1.0, Same)], EffectWord::Gain),
            (vec![(2.0, Faster), (0.5, Slower)], EffectWord::Mixed),
            (vec![(0.5, Slower), (1.0, Undecided)], EffectWord::Loss),
            (vec![(1.0, Same), (1.0, Same)], EffectWord::None),
            (vec![(1.0, Same), (1.1, Undecided)], EffectWord::Undecided),
            (vec![], EffectWord::Failed),
        ] {
            assert_eq!(effect(&verdicts).word(), expected, "{verdicts:?}");
        }
        let (gain, none) = (effect(&[(2.0, Faster)]), effect(&[(1.0, Same)]));
        assert_eq!(count_worthwhile(&[gain.clone(), none.clone(), gain.clone()]), 1);
        assert_eq!(count_worthwhile(&[none.clone(), gain.clone()]), 0);
        let open = effect(&[(1.3, Undecided)]);
        let loss = effect(&[(1.5, Faster), (0.8, Slower)]);
        let all = [none, open.clone(), loss, gain.clone()];
        assert_eq!(choose_best(&all, 3), [&gain, &open]);
        assert_eq!(choose_best(&all, 1), [&gain]);
    }

    #[test]
    fn what_hardly_differs_is_no_cause() {
        let change = |unit, from, to| WorkChange { what: "syncs".into(), unit, from, to };
        for (change, expected) in [
            (change(WorkUnit::Count, 1.03, 2.03), true),
            (change(WorkUnit::Count, 1.03, 1.10), false),
            (change(WorkUnit::Count, 0.001, 0.01), false),
            (change(WorkUnit::Bytes, 0.0, 900.0), false),
            (change(WorkUnit::Bytes, 1e6, 0.0), true),
            (change(WorkUnit::Seconds, 1e-3, 2e-3), true),
        ] {
            assert_eq!(change.matters(), expected, "{change:?}");
        }
    }
}
