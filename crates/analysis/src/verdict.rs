//! Verdicts: the one place where they are decided.
//!
//! Table, chart, sentence and JSON all take theirs from here.

use bakeoff_stats::{CONFIDENCE, Estimate, MARGIN, holm, paired};

use crate::comparison::{Comparison, RatioIs, Verdict};

/// The fewest operations of a kind in each trial behind a word: the mean of fewer is too rough, and
/// too easily made by one of them.
pub(crate) const ENOUGH: u64 = 20;

/// What one block has of an operation at one level.
#[derive(Clone, Copy)]
pub(crate) struct Figure {
    /// The trial's mean, in seconds.
    pub mean_s: f64,
    /// How many operations that is of.
    pub count: u64,
    /// Whether some of them were still running when the trial was cut off, so that the mean is a
    /// lower bound.
    pub cut_off: bool,
    /// Whether its trial was to be steady and was not.
    pub never_steady: bool,
}

/// A comparison to be judged, and what it goes by: the baseline and the level in every block that has
/// both.
pub(crate) struct Case {
    pub comparison: Comparison,
    pub pairs: Vec<(Figure, Figure)>,
}

/// Fills in what the pairs say. The cases are one family: the more of them there are, the more often
/// one looks different by chance, and the more each must show (Holm's adjustment).
pub(crate) fn judge(mut family: Vec<Case>) -> Vec<Comparison> {
    let estimates: Vec<Option<Estimate>> = family.iter_mut().map(measure).collect();
    let tested: Vec<Estimate> = estimates.iter().flatten().copied().collect();
    let over = tested.iter().filter(|it| it.p.is_some()).count() as u32;
    let p: Vec<Option<f64>> = tested.iter().map(|estimate| estimate.p).collect();
    let verdicts = holm::decisions(&tested, MARGIN, CONFIDENCE);
    let mut said = holm::adjust(&p).into_iter().zip(verdicts);
    for (case, estimate) in family.iter_mut().zip(&estimates) {
        if estimate.is_none() {
            // Nothing can be worked out: that its operations are too few is known all the same.
            let verdict = bakeoff_stats::Decision::Undecided;
            if !case.pairs.is_empty() {
                case.comparison.verdict = case.verdict(verdict);
            }
            continue;
        }
        let Some((p, verdict)) = said.next() else { break };
        case.comparison.p_adjusted = p;
        case.comparison.adjusted_over = p.map_or(0, |_| over);
        case.comparison.verdict = case.verdict(verdict);
    }
    family.into_iter().map(|case| case.comparison).collect()
}

impl Case {
    /// Whether a trial behind it was to be steady and was not.
    fn is_never_steady(&self) -> bool {
        self.pairs.iter().any(|(baseline, level)| baseline.never_steady || level.never_steady)
    }

    /// The word, from what its interval and the family say.
    fn verdict(&self, interval: bakeoff_stats::Decision) -> Verdict {
        match self.is_never_steady() {
            true => Verdict::NeverSteady,
            false => verdict_of(&self.comparison, interval),
        }
    }
}

/// The word for a comparison, from what its interval and the family say.
fn verdict_of(it: &Comparison, interval: bakeoff_stats::Decision) -> Verdict {
    if it.fewest_operations.is_none_or(|fewest| fewest < ENOUGH) {
        return Verdict::TooFew;
    }
    let verdict = Verdict::from(interval);
    // Of a bound only the safe end counts; that two levels are the same it can't say.
    let safe = match it.ratio_is {
        Some(RatioIs::AtLeast) => matches!(verdict, Verdict::Slower | Verdict::Spiky),
        Some(RatioIs::AtMost) => matches!(verdict, Verdict::Faster | Verdict::Spiky),
        Some(RatioIs::Exact) | None => true,
    };
    let noise = || {
        let (ratio, floor) = it.ratio.zip(it.noise_floor)?;
        Some(ratio.ln().abs() < floor.ln_1p())
    };
    match verdict {
        _ if !safe => Verdict::Undecided,
        Verdict::Faster | Verdict::Slower if noise() == Some(true) => Verdict::WithinNoise,
        verdict => verdict,
    }
}

/// Fills in ratio and interval, and returns what the family needs of them; `None` where nothing can
/// be worked out.
fn measure(case: &mut Case) -> Option<Estimate> {
    let never_steady = case.is_never_steady();
    let Case { comparison, pairs } = case;
    let figures = || pairs.iter().flat_map(|(baseline, level)| [baseline, level]);
    comparison.blocks = pairs.len() as u32;
    comparison.fewest_operations = figures().map(|figure| figure.count).min();
    let means: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (a.mean_s, b.mean_s)).collect();
    let ratio_is = match (pairs.iter().any(|it| it.0.cut_off), pairs.iter().any(|it| it.1.cut_off))
    {
        (false, false) => RatioIs::Exact,
        (false, true) => RatioIs::AtLeast,
        (true, false) => RatioIs::AtMost,
        // Either may be the slower one.
        (true, true) => return None,
    };
    let mut estimate = paired::ratio(&means, CONFIDENCE).ok()?;
    comparison.ratio = Some(estimate.ratio);
    comparison.ratio_is = Some(ratio_is);
    // Two pairs far apart can have an interval up to infinity, for which JSON has no word.
    comparison.low = estimate.low.filter(|low| low.is_finite() && ratio_is != RatioIs::AtMost);
    comparison.high = estimate.high.filter(|high| high.is_finite() && ratio_is != RatioIs::AtLeast);
    let says_nothing = match ratio_is {
        RatioIs::Exact => false,
        RatioIs::AtLeast => estimate.ratio <= 1.0,
        RatioIs::AtMost => estimate.ratio >= 1.0,
    };
    // It is never to have a word, whatever its pairs say: so it takes nothing from the others.
    if says_nothing
        || never_steady
        || comparison.fewest_operations.is_none_or(|fewest| fewest < ENOUGH)
    {
        estimate.p = None;
    }
    Some(estimate)
}
