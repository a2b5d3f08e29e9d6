//! What a commit costs by the device's model, of whole turns of an engine's debts, and what was watched
//! beside it.

use std::collections::BTreeMap;

use bakeoff_results::measure::{
    COMMITS, PRICED, PRICED_LOG, PRICED_PUT_OFF, PRICED_RATE, PRICED_RATE_MOST, PRICED_READS,
    TRACE, TRACED_TURNS, UTILISATION, WRITTEN_BACK,
};
use bakeoff_results::{Levels, Measure, Run, Scope, TrialSummary};
use bakeoff_stats::paired;
use serde::{Deserialize, Serialize};

/// By how much a price and what was watched may differ.
const APART: f64 = 0.25;

/// How sure an interval is.
const CONFIDENCE: f64 = 0.95;

/// A cell's price: means over its trials.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PricedView {
    /// Device-seconds a commit, nobody else being on the device.
    pub time_s: f64,
    /// Of these: writes and syncs of the log.
    pub log_s: f64,
    /// Reads.
    pub reads_s: f64,
    /// All other writes and syncs: what was put off.
    pub put_off_s: f64,
    /// Commits a second that the device can serve beside its neighbours, one request of the engine after
    /// the other; `None` for one that takes no time.
    pub rate: Option<f64>,
    /// The same with up to 31 requests beside each of the log's.
    pub rate_most: Option<f64>,
    /// How often the debt that turns most slowly turned over meanwhile, at least; `None` where nothing is
    /// put off.
    pub turns: Option<f64>,
    /// Mean size of a trace, in bytes.
    pub trace_bytes: f64,
    /// Commits a second that were watched while the clients ran.
    pub watched_rate: Option<f64>,
    /// Device-seconds a commit that were watched; `None` beside neighbours, whose requests keep the
    /// device busy, too.
    pub watched_s: Option<f64>,
    /// Whether anything that was put off was paid in each trial's window: only then can the two be held
    /// against each other. `None` where that is not counted.
    pub paid: Option<bool>,
    /// The price over the baseline's, in blocks; `None` for the baseline, and where no block has both.
    pub ratio: Option<PriceRatio>,
}

/// A ratio of prices: above 1, the level's commits cost more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PriceRatio {
    /// The geometric mean over the blocks.
    pub ratio: f64,
    /// The lower end of the 95 % interval; `None` with a single block.
    pub low: Option<f64>,
    /// The upper end, likewise.
    pub high: Option<f64>,
    /// How many blocks.
    pub blocks: u32,
}

impl PricedView {
    /// Of a cell's trials; `None` where one was not priced.
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
            watched_rate: mean(trials, |it| Some(commits(it)? / it.ran_s?)),
            watched_s: mean(trials, watched_s),
            paid: paid.map(|paid| paid.iter().all(|written| *written > 0.0)),
            ratio: None,
        })
    }

    /// The price over what was watched, where both can be had: nobody else is on the device, and what is
    /// put off, if anything, was paid in the window, too.
    pub fn over_watched(&self) -> Option<f64> {
        let watched = self.watched_s.filter(|_| self.paid != Some(false))?;
        Some(self.time_s / watched)
    }

    /// Whether price and window are more than a quarter apart; `None` where they can't be compared.
    pub fn is_apart(&self) -> Option<bool> {
        self.over_watched().map(|ratio| !(1.0 / (1.0 + APART)..=1.0 + APART).contains(&ratio))
    }
}

fn mean(trials: &[&TrialSummary], of: impl Fn(&TrialSummary) -> Option<f64>) -> Option<f64> {
    let all: Vec<f64> = trials.iter().map(|trial| of(trial)).collect::<Option<_>>()?;
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

fn commits(trial: &TrialSummary) -> Option<f64> {
    trial.measures.get(&COMMITS, &Scope::Clients).filter(|commits| *commits > 0.0)
}

fn watched_s(trial: &TrialSummary) -> Option<f64> {
    let alone = trial.levels.get("neighbours").is_none_or(|level| level == "0");
    let busy = trial.measures.get(&UTILISATION, &Scope::Disk)? * trial.ran_s?;
    Some(busy / commits(trial).filter(|_| alone && busy > 0.0)?)
}

/// The price of each trial that has one, by its cell and its block.
pub(crate) struct TrialPrices<'a>(BTreeMap<&'a Levels, BTreeMap<u32, f64>>);

impl<'a> TrialPrices<'a> {
    /// Of the trials that count.
    pub fn from_trials(counted: &[&'a TrialSummary]) -> Self {
        let mut prices: BTreeMap<_, BTreeMap<u32, f64>> = BTreeMap::new();
        for trial in counted {
            if let Some(price) = trial.measures.get(&PRICED, &Scope::Disk) {
                prices.entry(&trial.levels).or_default().insert(trial.block, price);
            }
        }
        Self(prices)
    }

    /// How the price of a cell stands to that of its condition's baseline; `None` of the baseline itself.
    pub fn to_baseline(&self, run: &Run, levels: &Levels) -> Option<PriceRatio> {
        let mut baseline = levels.clone();
        let level = baseline.insert(run.compare.clone(), run.baseline.clone())?;
        if level == run.baseline {
            return None;
        }
        ratio(self.0.get(&baseline)?, self.0.get(levels)?)
    }
}

/// How prices stand to a baseline's, paired by block.
fn ratio(baseline: &BTreeMap<u32, f64>, level: &BTreeMap<u32, f64>) -> Option<PriceRatio> {
    let pairs = level.iter().filter_map(|(block, price)| Some((*baseline.get(block)?, *price)));
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let it = paired::ratio(&pairs, CONFIDENCE).ok()?;
    Some(PriceRatio { ratio: it.ratio, low: it.low, high: it.high, blocks: pairs.len() as u32 })
}

#[cfg(test)]
mod tests {
    use bakeoff_results::Measures;

    use super::*;

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
        TrialSummary {
            repetition: 0,
            block: 0,
            attempt: 0,
            order: 0,
            levels: Levels::from([("neighbours".into(), neighbours.into())]),
            started_s: 0.0,
            ran_s: Some(10.0),
            window_s: Some((1.0, 10.0)),
            operations: Vec::new(),
            measures,
            warnings: Vec::new(),
            valid: true,
            reason: None,
        }
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
        let ratio = ratio(&prices, &level).unwrap();
        assert!((ratio.ratio - 2.0).abs() < 1e-9 && ratio.blocks == 2, "{ratio:?}");
        assert!(ratio.low.is_some_and(|low| (low - 2.0).abs() < 1e-9), "{ratio:?}");
        assert_eq!(super::ratio(&BTreeMap::from([(9, 1.0)]), &prices), None);
    }
}
