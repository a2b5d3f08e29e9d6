//! The price of a commit by the device's model, over whole turns of an engine's debts, and the time
//! that was observed beside it.

use std::collections::BTreeMap;

use bakeoff_results::measure::{
    COMMITS, PRICED, PRICED_LOG, PRICED_PUT_OFF, PRICED_RATE, PRICED_RATE_MOST, PRICED_READS,
    TRACE, TRACED_TURNS, UTILISATION, WRITTEN_BACK,
};
use bakeoff_results::{CellLevels, Levels, Measure, OwnFactor, Run, Scope, TrialSummary};
use bakeoff_stats::paired;
use serde::{Deserialize, Serialize};

use crate::total;

/// By how much a price and the observed time may differ.
const APART: f64 = 0.25;

const CONFIDENCE: f64 = 0.95;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PricedView {
    /// Device-seconds per commit, alone on the device.
    pub time_s: f64,
    /// Of these: writes and syncs of the log.
    pub log_s: f64,
    pub reads_s: f64,
    /// All other writes and syncs.
    pub put_off_s: f64,
    /// Commits a second that the device can serve beside its neighbours, one request of the engine
    /// after the other; `None` for a device that takes no time.
    pub rate: Option<f64>,
    /// With up to 31 requests beside each of the log's.
    pub rate_most: Option<f64>,
    /// How often the slowest debt turned over meanwhile, at least; `None` if no work is put off.
    pub turns: Option<f64>,
    pub trace_bytes: f64,
    pub watched_rate: Option<f64>,
    /// `None` beside neighbours, whose requests keep the device busy, too.
    pub watched_s: Option<f64>,
    /// Whether any deferred work was paid in each trial's window: only then can price and window be
    /// compared.
    pub paid: Option<bool>,
    pub ratio: Option<PriceRatio>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriceRatio {
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub blocks: u32,
}

impl PricedView {
    /// `None` where one of the trials was not priced.
    pub(crate) fn of_cell(trials: &[&TrialSummary]) -> Option<Self> {
        let of =
            |measure: &'static Measure| mean(trials, |it| it.measures.get(measure, &Scope::Disk));
        let turns = trials.iter().filter_map(|it| it.measures.get(&TRACED_TURNS, &Scope::Trial));
        let paid = trials.iter().map(|it| it.measures.get(&WRITTEN_BACK, &Scope::Trial));
        let paid: Option<Vec<f64>> = paid.collect();
        Some(Self {
            time_s: of(&PRICED)?,
            log_s: of(&PRICED_LOG)?,
            reads_s: of(&PRICED_READS)?,
            put_off_s: of(&PRICED_PUT_OFF)?,
            rate: of(&PRICED_RATE),
            rate_most: of(&PRICED_RATE_MOST),
            turns: turns.reduce(f64::min),
            trace_bytes: of(&TRACE)?,
            watched_rate: mean(trials, |it| Some(count_commits(it)? / it.ran_s?)),
            watched_s: mean(trials, watched_s),
            paid: paid.map(|paid| paid.iter().all(|written| *written > 0.0)),
            ratio: None,
        })
    }

    /// `None` unless the engine is alone on the device, and any deferred work was paid in the
    /// window, too.
    pub fn over_watched(&self) -> Option<f64> {
        let watched = self.watched_s.filter(|_| self.paid != Some(false))?;
        Some(self.time_s / watched)
    }

    /// Whether price and window are more than a quarter apart.
    pub fn is_apart(&self) -> Option<bool> {
        self.over_watched().map(|ratio| !(1.0 / (1.0 + APART)..=1.0 + APART).contains(&ratio))
    }
}

fn mean(trials: &[&TrialSummary], of: impl Fn(&TrialSummary) -> Option<f64>) -> Option<f64> {
    let all: Vec<f64> = trials.iter().map(|trial| of(trial)).collect::<Option<_>>()?;
    total::mean(&all)
}

fn count_commits(trial: &TrialSummary) -> Option<f64> {
    trial.measures.get(&COMMITS, &Scope::Clients).filter(|commits| *commits > 0.0)
}

fn watched_s(trial: &TrialSummary) -> Option<f64> {
    let alone = trial.levels.level(OwnFactor::Neighbours).is_none_or(|it| it == "0");
    let busy = trial.measures.get(&UTILISATION, &Scope::Disk)? * trial.ran_s?;
    Some(busy / count_commits(trial).filter(|_| alone && busy > 0.0)?)
}

pub(crate) struct TrialPrices<'a>(BTreeMap<&'a Levels, BTreeMap<u32, f64>>);

impl<'a> TrialPrices<'a> {
    pub fn from_trials(counted: &[&'a TrialSummary]) -> Self {
        let mut prices: BTreeMap<_, BTreeMap<u32, f64>> = BTreeMap::new();
        for trial in counted {
            if let Some(price) = trial.measures.get(&PRICED, &Scope::Disk) {
                prices.entry(&trial.levels).or_default().insert(trial.block, price);
            }
        }
        Self(prices)
    }

    pub fn to_baseline(&self, run: &Run, levels: &Levels) -> Option<PriceRatio> {
        let mut baseline = levels.clone();
        let level = baseline.insert(run.compare.clone(), run.baseline.clone())?;
        if level == run.baseline {
            return None;
        }
        estimate_ratio(self.0.get(&baseline)?, self.0.get(levels)?)
    }
}

fn estimate_ratio(baseline: &BTreeMap<u32, f64>, level: &BTreeMap<u32, f64>) -> Option<PriceRatio> {
    let pairs = level.iter().filter_map(|(block, price)| Some((*baseline.get(block)?, *price)));
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let it = paired::estimate_ratio(&pairs, CONFIDENCE).ok()?;
    Some(PriceRatio { ratio: it.ratio, low: it.low, high: it.high, blocks: pairs.len() as u32 })
}

#[cfg(test)]
mod tests {
    use bakeoff_results::Measures;

    use super::*;
    use crate::tests::trial_at;

    fn trial(price_s: f64, neighbours: &str) -> TrialSummary {
        let mut measures = Measures::default();
        for (what, value) in [
            (&PRICED, price_s),
            (&PRICED_LOG, price_s / 2.0),
            (&PRICED_READS, 0.0),
            (&PRICED_PUT_OFF, price_s / 2.0),
            (&PRICED_RATE, 1.0 / price_s),
            (&TRACE, 1000.0),
            (&UTILISATION, 0.5),
        ] {
            measures.set(what, Scope::Disk, value);
        }
        measures.set(&COMMITS, Scope::Clients, 500.0);
        measures.set(&WRITTEN_BACK, Scope::Trial, 9.0);
        measures.set(&TRACED_TURNS, Scope::Trial, 3.5);
        trial_at(&[("neighbours", neighbours)], measures)
    }

    #[test]
    fn a_price_stands_beside_what_was_watched_where_both_can_be_had() {
        // 5 s busy for 500 commits.
        let view = PricedView::of_cell(&[&trial(0.012, "0"), &trial(0.010, "0")]).unwrap();
        assert_eq!((view.watched_s, view.watched_rate), (Some(0.01), Some(50.0)));
        assert!((view.over_watched().unwrap() - 1.1).abs() < 1e-9, "{view:?}");
        assert_eq!((view.is_apart(), view.turns, view.rate_most), (Some(false), Some(3.5), None));
        for apart in [0.013, 0.007] {
            assert_eq!(PricedView::of_cell(&[&trial(apart, "0")]).unwrap().is_apart(), Some(true));
        }
        // Its neighbours keep the device busy, too.
        let beside = PricedView::of_cell(&[&trial(0.013, "x4")]).unwrap();
        assert_eq!((beside.watched_s, beside.is_apart()), (None, None));
        // A window in which nothing was paid has another cost than a turn.
        let mut fresh = trial(0.013, "0");
        fresh.measures.set(&WRITTEN_BACK, Scope::Trial, 0.0);
        assert_eq!(PricedView::of_cell(&[&fresh]).unwrap().is_apart(), None);
        let mut plain = trial(0.013, "0");
        plain.measures = Measures::default();
        assert_eq!(PricedView::of_cell(&[&plain, &fresh]), None);
    }

    #[test]
    fn prices_are_paired_by_block() {
        let of = |block, price| TrialSummary { block, ..trial(price, "0") };
        let trials = [of(1, 0.01), of(2, 0.04), of(3, 0.02)];
        let counted: Vec<&TrialSummary> = trials.iter().collect();
        let prices = TrialPrices::from_trials(&counted).0.remove(&trials[0].levels).unwrap();
        assert_eq!(prices, BTreeMap::from([(1, 0.01), (2, 0.04), (3, 0.02)]));
        assert!(!TrialPrices::from_trials(&counted).0.contains_key(&Levels::new()));
        // Twice as dear in each block that has both.
        let level = BTreeMap::from([(1, 0.02), (2, 0.08), (9, 7.0)]);
        let ratio = estimate_ratio(&prices, &level).unwrap();
        assert!((ratio.ratio - 2.0).abs() < 1e-9 && ratio.blocks == 2, "{ratio:?}");
        assert!(ratio.low.is_some_and(|low| (low - 2.0).abs() < 1e-9), "{ratio:?}");
        assert_eq!(super::estimate_ratio(&BTreeMap::from([(9, 1.0)]), &prices), None);
    }
}
