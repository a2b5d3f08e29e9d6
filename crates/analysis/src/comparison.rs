use bakeoff_results::{CellLevels, FigureOfMerit, Levels};
use bakeoff_stats::family::Adjustment;
use bakeoff_stats::{CONFIDENCE, Decision, MARGIN};

use crate::images::ImagesView;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Two levels of the compared factor against each other, all other levels equal. In a document the
/// ratio of a rate is inverted, as tables show it: how many times as much the level does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Comparison {
    /// For a rate [`ALL_OPERATIONS`](bakeoff_results::ALL_OPERATIONS), or the only operation's
    /// name.
    pub operation: String,
    /// See [`bakeoff_results::FigureOfMerit::metric_name`].
    pub metric: String,
    pub factor: String,
    pub levels: Levels,
    pub baseline: String,
    pub level: String,
    /// How many times slower the level is: the level's mean time over the baseline's, or the
    /// baseline's rate over the level's. `None` without a pair, and where trials of both were cut
    /// off.
    pub ratio: Option<f64>,
    #[serde(default)]
    pub ratio_is: Option<RatioBound>,
    /// The 95 % interval's lower end; `None` with fewer than two pairs, and where the ratio has no
    /// lower bound.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub blocks: u32,
    #[serde(default)]
    pub fewest_operations: Option<u64>,
    /// The degrees of freedom of Student's distribution behind the interval: pairs less one, or
    /// images less one, and what was borrowed from all comparisons of the run.
    #[serde(default)]
    pub freedom: Option<f64>,
    /// Of pairs from two images or more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<ImagesView>,
    /// The p-value of "the ratio is 1", after the adjustment.
    #[serde(default)]
    pub p_adjusted: Option<f64>,
    #[serde(default)]
    pub adjusted_by: Option<Adjustment>,
    /// The size of the family of that adjustment; 0 where there was none.
    #[serde(default)]
    pub adjusted_over: u32,
    /// Which of the two wrote back nothing of what it owes: its figures are those of a fresh
    /// database.
    #[serde(default)]
    pub fresh: Vec<String>,
    /// The ratio without the time of bakeoff's own code; `None` where that is below 10 % in both.
    #[serde(default)]
    pub engine_only_ratio: Option<f64>,
    /// How much slower one of two equal levels seems to be, as a share: what a level shows against
    /// its own alias, in five blocks or more.
    #[serde(default)]
    pub noise_floor: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_warm_up: Option<OtherwiseCounted>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_set_aside: Option<OtherwiseCounted>,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtherwiseCounted {
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub pairs: u32,
    pub verdict: Verdict,
}

impl OtherwiseCounted {
    fn from_comparison(comparison: &Comparison) -> Option<Self> {
        let Comparison { ratio, low, high, blocks, verdict, .. } = *comparison;
        Some(Self { ratio: ratio?, low, high, pairs: blocks, verdict })
    }

    fn with_inverse_ratio(self) -> Self {
        let (low, high) = (inverse(self.high), inverse(self.low));
        Self { ratio: 1.0 / self.ratio, low, high, ..self }
    }

    fn with_other_word(self) -> Self {
        Self { verdict: self.verdict.swapped(), ..self }
    }

    /// The ratio of the added pairs alone, those that are not behind `told`.
    pub fn ratio_of_added(&self, told: &Comparison) -> Option<f64> {
        let (all, counted) = (f64::from(self.pairs), f64::from(told.blocks));
        let sum = all * self.ratio.ln() - counted * told.ratio?.ln();
        (all > counted).then(|| (sum / (all - counted)).exp())
    }

    /// Whether it contradicts `told`: its ratio lies outside the interval there, and differs by
    /// more than the margin.
    pub fn is_outside(&self, told: &Comparison) -> bool {
        let matters = told.ratio.is_some_and(|it| (self.ratio / it).ln().abs() > MARGIN.ln_1p());
        let below = told.low.is_some_and(|low| self.ratio < low);
        matters && (below || told.high.is_some_and(|high| self.ratio > high))
    }
}

/// `others` has each comparison once more, judged differently, in any order.
pub(crate) fn put_otherwise(
    comparisons: &mut [Comparison],
    others: &[Comparison],
    put: impl Fn(&mut Comparison, Option<OtherwiseCounted>),
) {
    for comparison in comparisons {
        let is_same = |other: &&Comparison| {
            (&other.operation, &other.levels) == (&comparison.operation, &comparison.levels)
        };
        let mut same = others.iter().filter(is_same);
        let found = same.find_map(|other| {
            let other = other.with_baseline(&comparison.baseline, &comparison.level)?;
            OtherwiseCounted::from_comparison(&other)
        });
        put(comparison, found);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatioBound {
    Exact,
    /// Some of the level's operations were still running when their trial was cut off.
    AtLeast,
    /// Some of the baseline's operations were.
    AtMost,
}

/// The verdict of a comparison, with a margin of 5 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The interval lies wholly below the margin.
    Faster,
    /// The interval lies wholly above the margin.
    Slower,
    /// The interval lies within the margin.
    Same,
    Undecided,
    /// The paired mean and the Hodges-Lehmann estimate disagree.
    Spiky,
    /// A trial behind it has too few operations for a verdict.
    TooFew,
    /// Faster or slower, but by no more than a level differs from its own alias.
    WithinNoise,
    /// The verdict might differ if no thread had waited for a processor.
    ShortOfProcessors,
    /// A trial behind it was meant to be steady and was not.
    NeverSteady,
    /// The two did not do the same work: they did not answer alike, a trial left broken data, or
    /// one of them broke the promise of its durability level.
    Void,
}

impl Verdict {
    pub fn is_decided(self) -> bool {
        matches!(self, Self::Faster | Self::Slower | Self::Same)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Same => "same",
            Self::Undecided => "undecided",
            Self::Spiky => "spiky",
            Self::TooFew => "too few",
            Self::WithinNoise => "within noise",
            Self::ShortOfProcessors => "short of processors",
            Self::NeverSteady => "never steady",
            Self::Void => "void",
        }
    }

    fn swapped(self) -> Self {
        match self {
            Self::Faster => Self::Slower,
            Self::Slower => Self::Faster,
            other => other,
        }
    }
}

impl From<bakeoff_stats::Decision> for Verdict {
    fn from(decision: bakeoff_stats::Decision) -> Self {
        use bakeoff_stats::Decision as From;
        match decision {
            From::Faster => Self::Faster,
            From::Slower => Self::Slower,
            From::Same => Self::Same,
            From::Undecided => Self::Undecided,
            From::Spiky => Self::Spiky,
        }
    }
}

impl RatioBound {
    pub(crate) fn swapped(self) -> Self {
        match self {
            Self::Exact => Self::Exact,
            Self::AtLeast => Self::AtMost,
            Self::AtMost => Self::AtLeast,
        }
    }
}

/// The only place that inverts a document's ratios, by `as_told`.
impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(&self.as_told(), serializer)
    }
}

impl<'de> Deserialize<'de> for Comparison {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::deserialize(deserializer)?.as_told())
    }
}

pub(crate) fn is_rate(metric: &str) -> bool {
    FigureOfMerit::of_metric(metric).is_some_and(FigureOfMerit::is_rate)
}

fn inverse(ratio: Option<f64>) -> Option<f64> {
    ratio.map(|ratio| 1.0 / ratio).filter(|it| it.is_finite())
}

impl Comparison {
    pub(crate) fn cell_at(&self, level: &str) -> Levels {
        self.levels.with_level(&self.factor, level)
    }

    /// The comparison of these two levels, where it is of them, whichever is its baseline.
    pub(crate) fn with_baseline(&self, baseline: &str, level: &str) -> Option<Self> {
        match (self.baseline.as_str(), self.level.as_str()) {
            pair if pair == (baseline, level) => Some(self.clone()),
            pair if pair == (level, baseline) => Some(self.swapped()),
            _ => None,
        }
    }

    pub fn swapped(&self) -> Self {
        let turned = self.with_inverse_ratio();
        Self {
            baseline: self.level.clone(),
            level: self.baseline.clone(),
            verdict: self.verdict.swapped(),
            with_warm_up: turned.with_warm_up.map(OtherwiseCounted::with_other_word),
            with_set_aside: turned.with_set_aside.map(OtherwiseCounted::with_other_word),
            ..turned
        }
    }

    fn with_inverse_ratio(&self) -> Self {
        Self {
            ratio: inverse(self.ratio),
            ratio_is: self.ratio_is.map(RatioBound::swapped),
            low: inverse(self.high),
            high: inverse(self.low),
            engine_only_ratio: inverse(self.engine_only_ratio),
            with_warm_up: self.with_warm_up.map(OtherwiseCounted::with_inverse_ratio),
            with_set_aside: self.with_set_aside.map(OtherwiseCounted::with_inverse_ratio),
            ..self.clone()
        }
    }

    /// Converts to the form for readers: the ratio of a rate is how many times as much the level
    /// does. Applied twice, it gives the comparison back.
    fn as_told(&self) -> Self {
        if is_rate(&self.metric) { self.with_inverse_ratio() } else { self.clone() }
    }

    /// Whether its interval alone says faster or slower, and only the adjustment prevents the
    /// verdict.
    pub fn is_held_back(&self) -> bool {
        let believed = self.p_adjusted.is_none_or(|p| p <= 1.0 - CONFIDENCE);
        !believed && Contrast::from_comparison(self).is_some_and(Contrast::is_held_back)
    }

    /// Whether its interval knows more of the run's noise than its own pairs tell.
    pub fn borrows_variance(&self) -> bool {
        let by_images = self.images.filter(|it| it.counts_images).map(|it| it.images);
        let own = f64::from(by_images.unwrap_or(self.blocks)) - 1.0;
        self.freedom.is_some_and(|freedom| freedom > own)
    }

    pub fn is_judged_by_false_discovery_rate(&self) -> bool {
        self.adjusted_by == Some(Adjustment::FalseDiscovery)
    }

    /// For a level against its alias: the half-width of the interval, or the distance of the ratio
    /// from 1 where that is more, as a share.
    pub fn distance_from_itself(&self) -> Option<f64> {
        let (ratio, low, high) = (self.ratio?, self.low?, self.high?);
        let half_width = (high / low).ln() / 2.0;
        Some(half_width.max(ratio.ln().abs()).exp_m1())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    pub ratio: f64,
    pub is: RatioBound,
    pub ends: (Option<f64>, Option<f64>),
    pub blocks: u32,
    pub verdict: Verdict,
}

impl Contrast {
    pub fn from_comparison(comparison: &Comparison) -> Option<Self> {
        Some(Self {
            ratio: comparison.ratio?,
            is: comparison.ratio_is.unwrap_or(RatioBound::Exact),
            ends: (comparison.low, comparison.high),
            blocks: comparison.blocks,
            verdict: comparison.verdict,
        })
    }

    /// As tables and charts show it: the level's time over the baseline's, and the same for a rate,
    /// so that above 1 is faster.
    pub fn from_shown_comparison(comparison: &Comparison) -> Option<Self> {
        let is_rate = is_rate(&comparison.metric);
        Self::from_comparison(comparison)
            .map(|it| if is_rate { it.with_inverse_ratio() } else { it })
    }

    pub fn is_held_back(self) -> bool {
        let (low, high) = (self.ends.0.unwrap_or(0.0), self.ends.1.unwrap_or(f64::INFINITY));
        let alone = Decision::from_interval(low, high, MARGIN);
        self.verdict == Verdict::Undecided && matches!(alone, Decision::Faster | Decision::Slower)
    }

    pub fn with_inverse_ratio(self) -> Self {
        Self {
            ratio: 1.0 / self.ratio,
            is: self.is.swapped(),
            ends: (inverse(self.ends.1), inverse(self.ends.0)),
            ..self
        }
    }
}
