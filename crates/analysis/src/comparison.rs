//! A comparison of two levels of the compared factor, and its verdict.

use bakeoff_results::{FigureOfMerit, Levels};
use bakeoff_stats::{CONFIDENCE, Decision, MARGIN};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Two levels of the compared factor against each other, all other levels equal. In a document a ratio of a rate is
/// the other way round, as tables show it: how many times as much the level does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Comparison {
    /// The operation; of a rate, all of them together: [`ALL_OPERATIONS`](bakeoff_results::ALL_OPERATIONS), or the only one's name.
    pub operation: String,
    /// What is compared: [`bakeoff_results::FigureOfMerit::metric`].
    pub metric: String,
    /// The compared factor.
    pub factor: String,
    /// The other factors' levels.
    pub levels: Levels,
    /// The level that the other is held against.
    pub baseline: String,
    /// The level.
    pub level: String,
    /// How many times slower the level is: of a time the level's mean over the baseline's, of a rate the
    /// baseline's over the level's. Above 1 is slower. `None` without a pair, and where trials of both
    /// were cut off.
    pub ratio: Option<f64>,
    /// What the ratio is; `None` without one.
    #[serde(default)]
    pub ratio_is: Option<RatioIs>,
    /// The 95 % interval's lower end; `None` with fewer than two pairs, and where the ratio may be
    /// anything below its upper end.
    pub low: Option<f64>,
    /// Its upper end; `None` with fewer than two pairs, and where the ratio may be anything above its
    /// lower end.
    pub high: Option<f64>,
    /// How many blocks back it.
    pub blocks: u32,
    /// The fewest operations in any of the trials behind it; `None` without a pair.
    #[serde(default)]
    pub fewest_operations: Option<u64>,
    /// The p-value of "the ratio is 1" after Holm's adjustment; `None` where none was worked out.
    #[serde(default)]
    pub p_adjusted: Option<f64>,
    /// Over how many comparisons that adjustment went, this one among them; 0 where there was none.
    #[serde(default)]
    pub adjusted_over: u32,
    /// Which of the two had written back nothing of what it owes, by its own counters: of these the
    /// figures are those of a fresh database.
    #[serde(default)]
    pub fresh: Vec<String>,
    /// The ratio without the part of both means that bakeoff's own code took; `None` where that is
    /// below 10 % in both, and where it is not known.
    #[serde(default)]
    pub engine_only_ratio: Option<f64>,
    /// How much slower one of two equal levels seems to be, as a share: what a level of the pair shows
    /// against itself that was entered twice, in five blocks or more. `None` where that was not measured.
    #[serde(default)]
    pub noise_floor: Option<f64>,
    /// The same over whole trials, their warm-up among them; `None` where there is no ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_warm_up: Option<OtherwiseCounted>,
    /// The same with the pairs of the trials that were set aside; `None` where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with_set_aside: Option<OtherwiseCounted>,
    /// What follows.
    pub verdict: Verdict,
}

/// What a comparison would say, had other trials or another part of them counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtherwiseCounted {
    /// The ratio, as [`Comparison::ratio`].
    pub ratio: f64,
    /// The lower end of its interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// How many pairs back it.
    pub pairs: u32,
    /// The word.
    pub verdict: Verdict,
}

impl OtherwiseCounted {
    /// Of a comparison that was judged so; `None` where it has no ratio.
    fn from_comparison(comparison: &Comparison) -> Option<Self> {
        let Comparison { ratio, low, high, blocks, verdict, .. } = *comparison;
        Some(Self { ratio: ratio?, low, high, pairs: blocks, verdict })
    }

    /// The same with its ratio the other way round; its word stays that of the level.
    fn turned(self) -> Self {
        let (low, high) = (inverse(self.high), inverse(self.low));
        Self { ratio: 1.0 / self.ratio, low, high, ..self }
    }

    /// The same with the word of the other level.
    fn with_other_word(self) -> Self {
        Self { verdict: self.verdict.swapped(), ..self }
    }

    /// The ratio of the pairs alone that are here and not behind the comparison that is told; `None`
    /// where there are none.
    pub fn ratio_of_added(&self, told: &Comparison) -> Option<f64> {
        let (all, counted) = (f64::from(self.pairs), f64::from(told.blocks));
        let sum = all * self.ratio.ln() - counted * told.ratio?.ln();
        (all > counted).then(|| (sum / (all - counted)).exp())
    }

    /// Whether it says something else than the comparison that is told: its ratio lies outside of the
    /// interval there, and is another by more than the margin that is too small to choose by.
    pub fn is_outside(&self, told: &Comparison) -> bool {
        let matters = told.ratio.is_some_and(|it| (self.ratio / it).ln().abs() > MARGIN.ln_1p());
        let below = told.low.is_some_and(|low| self.ratio < low);
        matters && (below || told.high.is_some_and(|high| self.ratio > high))
    }
}

/// Fills in what comparisons would say, had something else counted. `others` has each of them once more,
/// judged so, in whatever order.
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
            let pair = (&*other.baseline, &*other.level);
            match pair {
                _ if pair == (&*comparison.baseline, &*comparison.level) => {
                    OtherwiseCounted::from_comparison(other)
                }
                _ if pair == (&*comparison.level, &*comparison.baseline) => {
                    OtherwiseCounted::from_comparison(&other.swapped())
                }
                _ => None,
            }
        });
        put(comparison, found);
    }
}

/// Whether a ratio is exact or a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatioIs {
    /// All operations behind it were followed to their end.
    Exact,
    /// A lower bound: some of the level's operations were still running when their trial was cut off.
    AtLeast,
    /// An upper bound: some of the baseline's were.
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
    /// None of these.
    Undecided,
    /// The paired mean and the Hodges-Lehmann estimate disagree.
    Spiky,
    /// A trial behind it has too few operations for any of these words.
    TooFew,
    /// Faster or slower, by no more than a level entered twice differs from itself.
    WithinNoise,
    /// Faster, slower or the same, and perhaps not if nothing had waited for a processor.
    ShortOfProcessors,
    /// A trial behind it that was to be steady was not: what comes later may be anything.
    NeverSteady,
    /// The two did not answer alike, or what a trial behind it has left is broken, or one of them broke the
    /// promise of its level of durability: what was timed is not the same work.
    Void,
}

impl Verdict {
    /// Whether it says which is faster, or that neither is.
    pub fn is_decided(self) -> bool {
        matches!(self, Self::Faster | Self::Slower | Self::Same)
    }

    /// The word for a reader.
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

    /// What it is with the two levels swapped.
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

impl RatioIs {
    /// What it is with the two levels swapped.
    pub(crate) fn swapped(self) -> Self {
        match self {
            Self::Exact => Self::Exact,
            Self::AtLeast => Self::AtMost,
            Self::AtMost => Self::AtLeast,
        }
    }
}

/// The only place at which a document's ratios are turned: each is written as `as_told` has it.
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

/// Whether a comparison's metric is a rate.
pub(crate) fn is_rate(metric: &str) -> bool {
    FigureOfMerit::of_metric(metric).is_some_and(FigureOfMerit::is_rate)
}

/// One over a ratio, where there is one.
fn inverse(ratio: Option<f64>) -> Option<f64> {
    ratio.map(|ratio| 1.0 / ratio).filter(|it| it.is_finite())
}

impl Comparison {
    /// The same with the two levels swapped.
    pub fn swapped(&self) -> Self {
        let turned = self.turned();
        Self {
            baseline: self.level.clone(),
            level: self.baseline.clone(),
            verdict: self.verdict.swapped(),
            with_warm_up: turned.with_warm_up.map(OtherwiseCounted::with_other_word),
            with_set_aside: turned.with_set_aside.map(OtherwiseCounted::with_other_word),
            ..turned
        }
    }

    /// The same with its ratio the other way round; its word stays that of the level.
    fn turned(&self) -> Self {
        Self {
            ratio: inverse(self.ratio),
            ratio_is: self.ratio_is.map(RatioIs::swapped),
            low: inverse(self.high),
            high: inverse(self.low),
            engine_only_ratio: inverse(self.engine_only_ratio),
            with_warm_up: self.with_warm_up.map(OtherwiseCounted::turned),
            with_set_aside: self.with_set_aside.map(OtherwiseCounted::turned),
            ..self.clone()
        }
    }

    /// The same as readers are told it, whose ratio of a rate is how many times as much the level does; and back.
    fn as_told(&self) -> Self {
        if is_rate(&self.metric) { self.turned() } else { self.clone() }
    }

    /// Whether its interval alone says faster or slower, and the number of comparisons it is one of
    /// keeps that from being believed.
    pub fn is_held_back(&self) -> bool {
        let believed = self.p_adjusted.is_none_or(|p| p <= 1.0 - CONFIDENCE);
        !believed && Contrast::from_comparison(self).is_some_and(Contrast::is_held_back)
    }

    /// How far apart a level that was entered twice seems to be from itself, as a share: the
    /// half-width of its interval, or how far off its ratio is where that is more. `None` without an
    /// interval.
    pub fn apart(&self) -> Option<f64> {
        let (ratio, low, high) = (self.ratio?, self.low?, self.high?);
        let half_width = (high / low).ln() / 2.0;
        Some(half_width.max(ratio.ln().abs()).exp_m1())
    }
}

/// How much slower one level is than another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// The mean time of the one over the other's.
    pub ratio: f64,
    /// What the ratio is.
    pub is: RatioIs,
    /// The ends of the 95 % interval, where there are any.
    pub ends: (Option<f64>, Option<f64>),
    /// How many blocks back it.
    pub blocks: u32,
    /// What follows.
    pub verdict: Verdict,
}

impl Contrast {
    /// What a comparison says; `None` where it has no ratio.
    pub fn from_comparison(comparison: &Comparison) -> Option<Self> {
        Some(Self {
            ratio: comparison.ratio?,
            is: comparison.ratio_is.unwrap_or(RatioIs::Exact),
            ends: (comparison.low, comparison.high),
            blocks: comparison.blocks,
            verdict: comparison.verdict,
        })
    }

    /// The same as tables and charts show it: of a time the level's over the baseline's, and of a rate,
    /// too, so that above 1 is faster.
    pub fn shown(comparison: &Comparison) -> Option<Self> {
        let is_rate = is_rate(&comparison.metric);
        Self::from_comparison(comparison).map(|it| if is_rate { it.turned() } else { it })
    }

    /// Whether the interval alone says faster or slower and the verdict does not, since it goes by all
    /// comparisons together.
    pub fn is_held_back(self) -> bool {
        let (low, high) = (self.ends.0.unwrap_or(0.0), self.ends.1.unwrap_or(f64::INFINITY));
        let alone = Decision::from_interval(low, high, MARGIN);
        self.verdict == Verdict::Undecided && matches!(alone, Decision::Faster | Decision::Slower)
    }

    /// How many times faster the one level is; its word stays that of the one.
    pub fn turned(self) -> Self {
        Self {
            ratio: 1.0 / self.ratio,
            is: self.is.swapped(),
            ends: (inverse(self.ends.1), inverse(self.ends.0)),
            ..self
        }
    }
}
