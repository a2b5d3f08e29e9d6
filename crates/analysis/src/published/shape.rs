//! Decides whether published figures have the same shape here. This is the one place where that is
//! decided: all reports take it from here.

use bakeoff_results::published::PublishedValue;
use serde::{Deserialize, Serialize};

use super::Ours;
use crate::comparison::RatioBound;

/// A ratio nearer to 1 than this is no change.
const CHANGE: f64 = 1.1;
/// How many times apart two ratios of the same shape are at most.
const APART: f64 = 1.25;
/// For *compatible*: our interval's upper end over its lower one, at most.
const WIDE: f64 = 1.5;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum RatioShape {
    /// Our whole interval lies within 1.25 times of the published ratio.
    Same,
    /// The same, of a range in words.
    SameByWords,
    /// Not shown to be the same: our interval is narrow and has the published ratio in it.
    Compatible,
    /// The same direction, and further from 1 here.
    Stronger,
    /// The same direction, and nearer to 1 here.
    Weaker,
    /// The same direction; one of the two is a bound.
    SizeOpen,
    NotTheSame {
        theirs: Goes,
        ours: Goes,
    },
    CantTell {
        why: UntoldReason,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RatioDirection {
    Falls,
    Stays,
    Rises,
}

/// The direction of a ratio from 1, as far as an interval or a bound shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goes {
    Falls,
    Stays,
    Rises,
    /// Down or nowhere: both are possible.
    DoesNotRise,
    /// Up or nowhere: both are possible.
    DoesNotFall,
}

impl Goes {
    fn from_ends(low: RatioDirection, high: RatioDirection) -> Option<Self> {
        Some(match (low, high) {
            (RatioDirection::Falls, RatioDirection::Falls) => Self::Falls,
            (RatioDirection::Rises, RatioDirection::Rises) => Self::Rises,
            (RatioDirection::Stays, RatioDirection::Stays) => Self::Stays,
            (RatioDirection::Falls, RatioDirection::Stays) => Self::DoesNotRise,
            (RatioDirection::Stays, RatioDirection::Rises) => Self::DoesNotFall,
            _ => return None,
        })
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Falls => "falls",
            Self::Stays => "stays",
            Self::Rises => "rises",
            Self::DoesNotRise => "does not rise",
            Self::DoesNotFall => "does not fall",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UntoldReason {
    Gap,
    /// The base cell has no figure here.
    BaseGap,
    /// A bound was published of the base cell.
    BaseIsABound,
    NotRun,
    BaseNotRun,
    /// One of the two can't be had here.
    NotPossible,
    SetAside,
    BaseSetAside,
    /// No trials of the same repetition, or none of the operation.
    NoPair,
    BothCutOff,
    OnePair,
    TooFew,
    NeverSteady,
    /// The interval leaves the direction open, or is too wide for *compatible*.
    TooWide,
    /// The published ratio lies outside the interval, and only a part of the interval is within
    /// 1.25 times of it.
    AcrossLimit,
    /// A bound leaves the direction open.
    BoundIsOpen,
}

impl UntoldReason {
    pub fn words(&self) -> &'static str {
        match self {
            Self::Gap => "no figure published",
            Self::BaseGap => "no figure of its base published",
            Self::BaseIsABound => "a bound published of its base",
            Self::NotRun => "not run",
            Self::BaseNotRun => "its base was not run",
            Self::NotPossible => "not possible here",
            Self::SetAside => "set aside",
            Self::BaseSetAside => "its base was set aside",
            Self::NoPair => "no pair of trials",
            Self::BothCutOff => "both were cut off",
            Self::OnePair => "one pair of trials has no interval",
            Self::TooFew => "too few operations",
            Self::NeverSteady => "never steady",
            Self::TooWide => "interval too wide",
            Self::AcrossLimit => "interval crosses the limit of 1.25 times",
            Self::BoundIsOpen => "a bound leaves it open",
        }
    }
}

impl RatioDirection {
    fn from_ratio(ratio: f64) -> Self {
        match ratio {
            _ if ratio >= CHANGE => Self::Rises,
            _ if ratio <= 1.0 / CHANGE => Self::Falls,
            _ => Self::Stays,
        }
    }

    fn is_opposite(self, to: Self) -> bool {
        matches!((self, to), (Self::Falls, Self::Rises) | (Self::Rises, Self::Falls))
    }
}

impl From<RatioDirection> for Goes {
    fn from(way: RatioDirection) -> Self {
        match way {
            RatioDirection::Falls => Self::Falls,
            RatioDirection::Stays => Self::Stays,
            RatioDirection::Rises => Self::Rises,
        }
    }
}

impl RatioShape {
    pub fn sign(&self) -> &'static str {
        match self {
            Self::Same | Self::SameByWords => "=",
            Self::Compatible => "~",
            Self::Stronger | Self::Weaker | Self::SizeOpen => "≈",
            Self::NotTheSame { .. } => "≠",
            Self::CantTell { .. } => "?",
        }
    }

    pub fn words(&self) -> String {
        match self {
            Self::Same => "same shape".to_owned(),
            Self::SameByWords => "same shape, by words only".to_owned(),
            Self::Compatible => "compatible".to_owned(),
            Self::Stronger => "same direction, stronger here".to_owned(),
            Self::Weaker => "same direction, weaker here".to_owned(),
            Self::SizeOpen => "same direction, size open".to_owned(),
            Self::NotTheSame { theirs, ours } => {
                format!("not the same: theirs {}, ours {}", theirs.words(), ours.words())
            }
            Self::CantTell { why } => format!("can’t tell: {}", why.words()),
        }
    }
}

/// Compares a published ratio with ours.
///
/// A change of under 10 % is none. *Same shape* has to be shown, as equivalence is by two one-sided
/// tests (Schuirmann 1987): our whole interval lies within 1.25 times of the published ratio, so
/// that noise is never a reason to say it. *Compatible*: the interval has that ratio in it, and its
/// upper end is at most 1.5 times its lower one. That the two differ has to be shown, too: the
/// whole interval lies further off than 1.25 times, or goes the opposite way. A bound can show a
/// direction, but never the same size.
pub fn compare_shape(
    theirs: Result<PublishedValue, UntoldReason>,
    ours: Result<Ours, UntoldReason>,
) -> RatioShape {
    let judged = theirs.and_then(|theirs| compare_span(theirs, ours?.to_span()?));
    judged.unwrap_or_else(|why| RatioShape::CantTell { why })
}

struct Span {
    low: f64,
    high: f64,
    is_bound: bool,
}

impl Ours {
    fn to_span(self) -> Result<Span, UntoldReason> {
        if self.pairs < 2 {
            return Err(UntoldReason::OnePair);
        }
        let bound = |way: RatioDirection, safe: Option<f64>, (low, high): (f64, f64)| match safe {
            None => Err(UntoldReason::TooWide),
            Some(safe) if RatioDirection::from_ratio(safe) == way => {
                Ok(Span { low, high, is_bound: true })
            }
            Some(_) => Err(UntoldReason::BoundIsOpen),
        };
        let (low, high) = (self.low.unwrap_or(0.0), self.high.unwrap_or(f64::INFINITY));
        match self.ratio_is {
            RatioBound::AtLeast => bound(RatioDirection::Rises, self.low, (low, f64::INFINITY)),
            RatioBound::AtMost => bound(RatioDirection::Falls, self.high, (0.0, high)),
            RatioBound::Exact if self.low.is_none() || self.high.is_none() => {
                Err(UntoldReason::TooWide)
            }
            RatioBound::Exact => Ok(Span { low, high, is_bound: false }),
        }
    }
}

fn find_direction(theirs: PublishedValue) -> Result<RatioDirection, UntoldReason> {
    match theirs {
        PublishedValue::Exactly(ratio) => Ok(RatioDirection::from_ratio(ratio)),
        // A range in words counts as the middle of its logarithms.
        PublishedValue::Between(low, high) => Ok(RatioDirection::from_ratio((low * high).sqrt())),
        PublishedValue::AtLeast(least)
            if RatioDirection::from_ratio(least) == RatioDirection::Rises =>
        {
            Ok(RatioDirection::Rises)
        }
        PublishedValue::AtMost(most)
            if RatioDirection::from_ratio(most) == RatioDirection::Falls =>
        {
            Ok(RatioDirection::Falls)
        }
        PublishedValue::AtLeast(_) | PublishedValue::AtMost(_) => Err(UntoldReason::BoundIsOpen),
    }
}

/// Whether our whole interval lies further off than the limit, and on which side.
#[derive(Clone, Copy)]
struct Beyond {
    above: bool,
    below: bool,
}

/// A published bound near 1 leaves two directions open, and excludes the third.
fn beside_two_ways(theirs: PublishedValue, beyond: Beyond) -> Result<RatioShape, UntoldReason> {
    let (theirs, ours) = match theirs {
        PublishedValue::AtMost(most)
            if RatioDirection::from_ratio(most) == RatioDirection::Stays && beyond.above =>
        {
            (Goes::DoesNotRise, Goes::Rises)
        }
        PublishedValue::AtLeast(least)
            if RatioDirection::from_ratio(least) == RatioDirection::Stays && beyond.below =>
        {
            (Goes::DoesNotFall, Goes::Falls)
        }
        _ => return Err(UntoldReason::BoundIsOpen),
    };
    Ok(RatioShape::NotTheSame { theirs, ours })
}

fn compare_span(theirs: PublishedValue, ours: Span) -> Result<RatioShape, UntoldReason> {
    let Span { low, high, is_bound } = ours;
    let (least, most) = match theirs {
        PublishedValue::Exactly(ratio) => (ratio, ratio),
        PublishedValue::Between(least, most) => (least, most),
        PublishedValue::AtLeast(least) => (least, f64::INFINITY),
        PublishedValue::AtMost(most) => (0.0, most),
    };
    let beyond = Beyond { above: low > most * APART, below: high < least / APART };
    let Ok(goes) = find_direction(theirs) else { return beside_two_ways(theirs, beyond) };
    let possible = RatioDirection::from_ratio(low)..=RatioDirection::from_ratio(high);
    let only = (possible.start() == possible.end()).then_some(*possible.start());
    if beyond.above || beyond.below || only.is_some_and(|it| it.is_opposite(goes)) {
        let ours = Goes::from_ends(*possible.start(), *possible.end());
        return match ours.filter(|_| !possible.contains(&goes)) {
            Some(ours) => Ok(RatioShape::NotTheSame { theirs: goes.into(), ours }),
            // Further from 1 than everything published, or nearer.
            None => match (only, beyond.above == (goes != RatioDirection::Falls)) {
                (Some(_), true) => Ok(RatioShape::Stronger),
                (Some(_), false) => Ok(RatioShape::Weaker),
                (None, _) => Err(UntoldReason::TooWide),
            },
        };
    }
    if is_bound || matches!(theirs, PublishedValue::AtLeast(_) | PublishedValue::AtMost(_)) {
        return match only {
            Some(ours) if ours == goes => Ok(RatioShape::SizeOpen),
            Some(_) => Err(UntoldReason::BoundIsOpen),
            None => Err(UntoldReason::TooWide),
        };
    }
    // A rise beside a fall is never the same, however small both are.
    let may_be_opposite =
        [low, high].iter().any(|end| RatioDirection::from_ratio(*end).is_opposite(goes));
    let is_same = low >= least / APART && high <= most * APART && !may_be_opposite;
    match theirs {
        PublishedValue::Exactly(_) if is_same => Ok(RatioShape::Same),
        _ if is_same => Ok(RatioShape::SameByWords),
        _ if high > low * WIDE => Err(UntoldReason::TooWide),
        _ if low <= most && high >= least => Ok(RatioShape::Compatible),
        _ if may_be_opposite => Err(UntoldReason::TooWide),
        _ => Err(UntoldReason::AcrossLimit),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::mem::discriminant;

    use super::*;

    const CROSSES: &str = "can’t tell: interval crosses the limit of 1.25 times";

    fn exact(low: f64, high: f64) -> Ours {
        let (low, high) = (Some(low), Some(high));
        let ratio = (low.unwrap_or(1.0) * high.unwrap_or(1.0)).sqrt();
        Ours { ratio, ratio_is: RatioBound::Exact, low, high, pairs: 5 }
    }

    fn at_least(low: f64) -> Ours {
        let (low, high) = (Some(low), None);
        Ours { ratio: 11.0, ratio_is: RatioBound::AtLeast, low, high, pairs: 5 }
    }

    fn words(theirs: PublishedValue, ours: Ours) -> String {
        compare_shape(Ok(theirs), Ok(ours)).words()
    }

    #[test]
    fn each_word_has_its_case() {
        use PublishedValue::{AtLeast, AtMost, Between, Exactly};
        for (theirs, ours, expected) in [
            (Exactly(2.0), exact(1.8, 2.2), "same shape"),
            // Within 1.25 times with both of its ends, and no less.
            (Exactly(1.77), exact(1.8, 2.2), "same shape"),
            (Exactly(2.24), exact(1.8, 2.2), "same shape"),
            (Exactly(1.75), exact(1.8, 2.2), CROSSES),
            (Exactly(2.26), exact(1.8, 2.2), CROSSES),
            (Exactly(1.45), exact(1.8, 2.2), CROSSES),
            (Exactly(2.74), exact(1.8, 2.2), CROSSES),
            // The ratio is in it, and more than the limit allows.
            (Exactly(2.0), exact(1.8, 2.6), "compatible"),
            (Exactly(2.0), exact(1.5, 2.2), "compatible"),
            // Wholly beyond 1.25 times.
            (Exactly(2.76), exact(1.8, 2.2), "same direction, weaker here"),
            (Exactly(1.43), exact(1.8, 2.2), "same direction, stronger here"),
            (Exactly(0.5), exact(0.2, 0.25), "same direction, stronger here"),
            (Exactly(0.2), exact(0.5, 0.6), "same direction, weaker here"),
            (Exactly(1.05), exact(0.97, 1.03), "same shape"),
            (Exactly(3.0), exact(0.98, 1.02), "not the same: theirs rises, ours stays"),
            (Exactly(0.5), exact(1.5, 1.6), "not the same: theirs falls, ours rises"),
            (Exactly(1.0), exact(1.9, 2.1), "not the same: theirs stays, ours rises"),
            // Our interval leaves open whether ours changes at all.
            (Exactly(3.0), exact(0.7, 1.05), "not the same: theirs rises, ours does not rise"),
            (Exactly(0.3), exact(0.95, 1.4), "not the same: theirs falls, ours does not fall"),
            (Exactly(3.0), exact(0.7, 0.9), "not the same: theirs rises, ours falls"),
            // One has just changed, the other just has not.
            (Exactly(1.12), exact(1.06, 1.09), "same shape"),
            // Within 1.25 times, and yet the opposite way, wholly or in part.
            (Exactly(0.9), exact(1.105, 1.12), "not the same: theirs falls, ours rises"),
            (Exactly(0.9), exact(1.05, 1.12), "can’t tell: interval too wide"),
            (Exactly(0.9), exact(0.88, 1.12), "compatible"),
            // What was published as no change has an error of its own, which nobody knows.
            (Exactly(1.0), exact(1.12, 1.2), "same shape"),
            (Exactly(1.0), exact(1.12, 1.3), CROSSES),
            (Exactly(1.0), exact(1.26, 1.3), "not the same: theirs stays, ours rises"),
            (Exactly(9.7), at_least(10.5), "same direction, size open"),
            (Exactly(1.0), at_least(10.5), "not the same: theirs stays, ours rises"),
            (Exactly(9.7), at_least(0.9), "can’t tell: a bound leaves it open"),
            (Exactly(1.0), at_least(1.12), "can’t tell: a bound leaves it open"),
            (Exactly(20.0), at_least(10.5), "same direction, size open"),
            (Exactly(2.0), at_least(10.5), "same direction, stronger here"),
            (AtLeast(10.0), exact(11.0, 12.0), "same direction, size open"),
            (AtLeast(10.0), exact(2.0, 2.2), "same direction, weaker here"),
            (AtLeast(10.0), exact(0.98, 1.02), "not the same: theirs rises, ours stays"),
            (AtLeast(0.9), exact(0.98, 1.02), "can’t tell: a bound leaves it open"),
            // A size is open however exact ours is, and a direction has to be shown.
            (AtLeast(10.0), exact(9.9, 10.1), "same direction, size open"),
            (AtLeast(10.0), exact(9.0, 20.0), "same direction, size open"),
            (AtLeast(1.2), exact(1.05, 1.5), "can’t tell: interval too wide"),
            (AtLeast(1.12), exact(1.06, 1.09), "can’t tell: a bound leaves it open"),
            (AtMost(0.5), exact(0.4, 0.5), "same direction, size open"),
            // What is at most as much may be less: more it is not.
            (AtMost(1.0), exact(1.5, 1.6), "not the same: theirs does not rise, ours rises"),
            (AtMost(1.0), at_least(10.5), "not the same: theirs does not rise, ours rises"),
            (AtMost(1.0), exact(1.05, 1.6), "can’t tell: a bound leaves it open"),
            (AtMost(1.0), exact(1.12, 1.2), "can’t tell: a bound leaves it open"),
            (AtMost(1.0), exact(0.5, 0.6), "can’t tell: a bound leaves it open"),
            (AtMost(1.5), exact(1.6, 1.7), "can’t tell: a bound leaves it open"),
            (AtLeast(0.95), exact(0.5, 0.6), "not the same: theirs does not fall, ours falls"),
            (Between(6.0, 7.0), exact(6.3, 6.7), "same shape, by words only"),
            (Between(6.0, 7.0), exact(4.9, 8.7), "same shape, by words only"),
            (Between(6.0, 7.0), exact(6.5, 9.0), "compatible"),
            (Between(6.0, 7.0), exact(7.1, 9.0), CROSSES),
            (Between(6.0, 7.0), exact(3.0, 3.2), "same direction, weaker here"),
            (Between(6.0, 7.0), exact(12.0, 13.0), "same direction, stronger here"),
            // A wide interval is no reason to say same.
            (Exactly(2.0), exact(1.7, 2.5), "same shape"),
            (Exactly(2.0), exact(1.7, 2.54), "compatible"),
            (Exactly(2.0), exact(1.55, 2.5), "can’t tell: interval too wide"),
            (Exactly(2.0), Ours { high: None, ..exact(1.6, 2.5) }, "can’t tell: interval too wide"),
            // Whatever it is, it is far from what was published.
            (Exactly(20.0), exact(1.6, 2.9), "same direction, weaker here"),
            (Exactly(3.0), exact(1.05, 1.3), "can’t tell: interval too wide"),
        ] {
            assert_eq!(words(theirs, ours), expected, "{theirs:?} {ours:?}");
        }
    }

    /// So noise is never a reason to say *same*, and more trials never turn what was shown into its contrary.
    #[test]
    fn what_an_interval_shows_each_narrower_one_in_it_shows() {
        let shown = |theirs, [from, to]: [i32; 2]| {
            let [low, high] = [from, to].map(|step| 0.3 * 1.03_f64.powi(step));
            let told = compare_shape(Ok(theirs), Ok(exact(low, high)));
            (told.sign() != "?" && told != RatioShape::Compatible).then(|| discriminant(&told))
        };
        let mut kinds = HashSet::new();
        for theirs in
            [0.5, 0.9, 1.0, 1.05, 1.15, 2.0].map(PublishedValue::Exactly).into_iter().chain([
                PublishedValue::Between(1.5, 2.0),
                PublishedValue::Between(0.85, 0.95),
                PublishedValue::Between(0.8, 1.2),
            ])
        {
            for (from, to) in (0..80).flat_map(|from| (from + 1..80).map(move |to| (from, to))) {
                let Some(wide) = shown(theirs, [from, to]) else { continue };
                kinds.insert(wide);
                for narrow in [[from + 1, to], [from, to - 1]] {
                    assert_eq!(shown(theirs, narrow), Some(wide), "{theirs:?}: {from} to {to}");
                }
            }
        }
        assert_eq!(kinds.len(), 5, "same, by words, stronger, weaker, not the same");
    }

    #[test]
    fn without_one_of_the_two_nothing_is_told() {
        let one = Ours { pairs: 1, ..exact(1.9, 2.1) };
        assert_eq!(
            words(PublishedValue::Exactly(2.0), one),
            "can’t tell: one pair of trials has no interval"
        );
        for why in [UntoldReason::Gap, UntoldReason::BaseGap, UntoldReason::BaseIsABound] {
            let expected = format!("can’t tell: {}", why.words());
            assert_eq!(compare_shape(Err(why), Ok(exact(1.9, 2.1))).words(), expected);
        }
        for why in [
            UntoldReason::NotRun,
            UntoldReason::BaseNotRun,
            UntoldReason::SetAside,
            UntoldReason::BaseSetAside,
            UntoldReason::TooFew,
        ] {
            let told = compare_shape(Ok(PublishedValue::Exactly(2.0)), Err(why.clone()));
            assert_eq!((told.sign(), told), ("?", RatioShape::CantTell { why }));
        }
    }

    #[test]
    fn what_is_turned_around_says_the_same() {
        let turned = |value: PublishedValue, ours: Ours| {
            let inverse = |it: Option<f64>| it.map(|it| 1.0 / it);
            let ours = Ours {
                ratio: 1.0 / ours.ratio,
                low: inverse(ours.high),
                high: inverse(ours.low),
                ..ours
            };
            let PublishedValue::Exactly(ratio) = value else { unreachable!("all are exact") };
            compare_shape(Ok(PublishedValue::Exactly(1.0 / ratio)), Ok(ours)).sign()
        };
        for theirs in [1.05, 1.3, 2.0, 3.1, 9.0] {
            for (low, high) in
                [(0.97, 1.04), (1.2, 1.5), (1.9, 2.1), (1.0, 3.0), (3.0, 4.3), (8.0, 9.0)]
            {
                let (theirs, ours) = (PublishedValue::Exactly(theirs), exact(low, high));
                let told = compare_shape(Ok(theirs), Ok(ours)).sign();
                assert_eq!(told, turned(theirs, ours), "{theirs:?} {ours:?}");
            }
        }
    }
}
