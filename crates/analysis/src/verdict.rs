//! Verdicts: the one place where they are decided.
//!
//! Table, chart, sentence and JSON all take theirs from here.

use bakeoff_results::{ENOUGH_OPERATIONS, Run, Sequential};
use bakeoff_stats::{CONFIDENCE, Decision, Estimate, MARGIN, holm, paired, unpaired};

use crate::comparison::{Comparison, RatioIs, Verdict};
use crate::waits::{ProcessorWait, could_turn};

/// The fewest operations of a kind in each trial behind a word: the mean of fewer is too rough, and
/// too easily made by one of them.
pub(crate) const ENOUGH: u64 = ENOUGH_OPERATIONS;

/// What one trial has of an operation.
#[derive(Clone, Copy)]
pub(crate) struct OperationFigure {
    /// What is compared, in seconds: the trial's mean, or the inverse of its rate. Less is better.
    pub cost_s: f64,
    /// How many operations that is of.
    pub count: u64,
    /// Whether a kind of them has fewer than a verdict needs of this trial.
    pub is_too_few: bool,
    /// Whether some of them were still running when the trial was cut off, so that it is a lower
    /// bound.
    pub cut_off: bool,
    /// Whether its trial was to be steady and was not.
    pub never_steady: bool,
    /// Whether what its trial has left is broken.
    pub broken: bool,
    /// What was waited for a processor in its trial.
    pub waited: ProcessorWait,
}

/// A comparison to be judged, and what it goes by.
pub(crate) struct ComparisonCase {
    pub comparison: Comparison,
    /// Whether the two did not answer alike when they were asked.
    pub unlike: bool,
    pub sample: ComparisonSample,
}

/// The figures that a comparison goes by.
pub(crate) enum ComparisonSample {
    /// Those of the baseline and of the level in every block that has both.
    Paired(Vec<(OperationFigure, OperationFigure)>),
    /// Those of the baseline, and those of the level, which were not run in the same blocks.
    Apart(Vec<OperationFigure>, Vec<OperationFigure>),
}

impl ComparisonSample {
    /// How many pairs there are, or figures of the side that has fewer.
    pub fn size(&self) -> usize {
        match self {
            Self::Paired(pairs) => pairs.len(),
            Self::Apart(baseline, level) => baseline.len().min(level.len()),
        }
    }

    /// This of each figure of the baseline, and of each of the level.
    fn each<T>(&self, of: impl Fn(&OperationFigure) -> T) -> [Vec<T>; 2] {
        match self {
            Self::Paired(pairs) => {
                let both = pairs.iter().map(|(one, other)| (of(one), of(other)));
                both.unzip::<_, _, Vec<T>, Vec<T>>().into()
            }
            Self::Apart(baseline, level) => {
                [baseline, level].map(|side| side.iter().map(&of).collect())
            }
        }
    }

    /// Whether this is so of a figure of the baseline, and whether it is of one of the level.
    fn any(&self, is: impl Fn(&OperationFigure) -> bool) -> [bool; 2] {
        self.each(is).map(|side| side.contains(&true))
    }

    /// The fewest operations behind one of its figures.
    fn fewest(&self) -> Option<u64> {
        match self {
            Self::Paired(pairs) => {
                pairs.iter().map(|(one, other)| one.count.min(other.count)).min()
            }
            Self::Apart(baseline, level) => baseline.iter().chain(level).map(|it| it.count).min(),
        }
    }

    /// What the figures say of the ratio.
    fn estimate(&self, confidence: f64) -> Option<Estimate> {
        match self {
            Self::Paired(pairs) => {
                let costs: Vec<_> = pairs.iter().map(|(a, b)| (a.cost_s, b.cost_s)).collect();
                paired::ratio(&costs, confidence).ok()
            }
            Self::Apart(baseline, level) => {
                let logs = |side: &[OperationFigure]| -> Vec<f64> {
                    side.iter().map(|figure| figure.cost_s.ln()).collect()
                };
                unpaired::ratio_of_logs(&logs(baseline), &logs(level), confidence).ok()
            }
        }
    }
}

/// When a family is judged.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum JudgingRule {
    /// Once, of all blocks: by intervals of 95 % and Holm's adjustment over the family.
    Once,
    /// At several looks, by intervals of a confidence that holds for all looks and all comparisons of the
    /// run together, so that Holm's adjustment has no part in it.
    Looks {
        /// The confidence of each interval.
        confidence: f64,
        /// How many pairs the first look has.
        first: u32,
    },
}

impl JudgingRule {
    /// That of a run.
    pub fn from_run(run: &Run) -> Self {
        let first = |it: &Sequential| it.looks.first().copied();
        match run.sequential.as_ref().and_then(|it| Some((it.confidence, first(it)?))) {
            Some((confidence, first)) => Self::Looks { confidence, first },
            None => Self::Once,
        }
    }

    /// What figures say, without an interval before the first look.
    fn estimate(self, sample: &ComparisonSample) -> Option<Estimate> {
        match self {
            Self::Once => sample.estimate(CONFIDENCE),
            Self::Looks { confidence, first } => {
                let estimate = sample.estimate(confidence)?;
                let looked = sample.size() >= first as usize;
                let none = Estimate { low: None, high: None, p: None, ..estimate };
                Some(if looked { estimate } else { none })
            }
        }
    }

    /// The word of each of a family, and its adjusted p-value where there is one.
    fn decisions(self, family: &[Estimate]) -> Vec<(Option<f64>, Decision)> {
        match self {
            Self::Once => {
                let p: Vec<Option<f64>> = family.iter().map(|estimate| estimate.p).collect();
                let decisions = holm::decisions(family, MARGIN, CONFIDENCE);
                holm::adjust(&p).into_iter().zip(decisions).collect()
            }
            Self::Looks { .. } => family.iter().map(|it| (None, it.decision(MARGIN))).collect(),
        }
    }
}

/// Fills in what the figures say. The cases are one family: the more of them there are, the more often
/// one looks different by chance, and the more each must show.
pub(crate) fn judge(mut family: Vec<ComparisonCase>, rule: JudgingRule) -> Vec<Comparison> {
    let estimates: Vec<Option<Estimate>> =
        family.iter_mut().map(|case| measure(case, rule)).collect();
    let tested: Vec<Estimate> = estimates.iter().flatten().copied().collect();
    let over = tested.iter().filter(|it| it.p.is_some()).count() as u32;
    let mut said = rule.decisions(&tested).into_iter();
    for (case, estimate) in family.iter_mut().zip(&estimates) {
        if estimate.is_none() {
            // Nothing can be worked out: that its operations are too few is known all the same.
            let verdict = Decision::Undecided;
            if case.sample.size() > 0 {
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

impl ComparisonCase {
    /// Whether a trial behind it was to be steady and was not.
    fn is_never_steady(&self) -> bool {
        self.sample.any(|figure| figure.never_steady).contains(&true)
    }

    /// Whether a trial behind it has fewer operations than its own work asks for.
    fn is_too_few(&self) -> bool {
        self.sample.any(|figure| figure.is_too_few).contains(&true)
    }

    /// Whether what was timed is not the same work.
    fn is_void(&self) -> bool {
        self.unlike || self.sample.any(|figure| figure.broken).contains(&true)
    }

    /// The word, from what its interval and the family say.
    fn verdict(&self, interval: Decision) -> Verdict {
        match (self.is_void(), self.is_never_steady()) {
            (true, _) => Verdict::Void,
            (false, true) => Verdict::NeverSteady,
            (false, false) if self.is_too_few() => Verdict::TooFew,
            (false, false) => {
                let verdict = verdict_of(&self.comparison, interval);
                if self.could_turn(verdict) { Verdict::ShortOfProcessors } else { verdict }
            }
        }
    }

    /// Whether a verdict could be another if nothing had waited for a processor.
    fn could_turn(&self, verdict: Verdict) -> bool {
        let decision = match verdict {
            Verdict::Faster => Decision::Faster,
            Verdict::Slower => Decision::Slower,
            Verdict::Same => Decision::Same,
            _ => return false,
        };
        let it = &self.comparison;
        let keeps = |shift: f64| {
            let low = it.low.unwrap_or(0.0) * shift;
            let high = it.high.unwrap_or(f64::INFINITY) * shift;
            let is_noise = decision != Decision::Same && is_within_noise(it, shift);
            Decision::from_interval(low, high, MARGIN) == decision && !is_noise
        };
        let [baseline, level] = self.sample.each(|figure| figure.waited);
        could_turn(keeps, [&baseline, &level])
    }
}

/// The word for a comparison, from what its interval and the family say.
fn verdict_of(it: &Comparison, interval: Decision) -> Verdict {
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
    match verdict {
        _ if !safe => Verdict::Undecided,
        Verdict::Faster | Verdict::Slower if is_within_noise(it, 1.0) => Verdict::WithinNoise,
        verdict => verdict,
    }
}

/// Whether the ratio, multiplied by `shift`, is smaller than what one level shows against itself.
fn is_within_noise(it: &Comparison, shift: f64) -> bool {
    let within = |(ratio, floor): (f64, f64)| (ratio * shift).ln().abs() < floor.ln_1p();
    it.ratio.zip(it.noise_floor).is_some_and(within)
}

/// Fills in ratio and interval, and returns what the family needs of them; `None` where nothing can
/// be worked out.
fn measure(case: &mut ComparisonCase, rule: JudgingRule) -> Option<Estimate> {
    let wordless = case.is_void() || case.is_never_steady() || case.is_too_few();
    let ComparisonCase { comparison, sample, .. } = case;
    comparison.blocks = sample.size() as u32;
    comparison.fewest_operations = sample.fewest();
    let ratio_is = match sample.any(|figure| figure.cut_off) {
        [false, false] => RatioIs::Exact,
        [false, true] => RatioIs::AtLeast,
        [true, false] => RatioIs::AtMost,
        // Either may be the slower one.
        [true, true] => return None,
    };
    let mut estimate = rule.estimate(sample)?;
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
    if says_nothing || wordless || comparison.fewest_operations.is_none_or(|fewest| fewest < ENOUGH)
    {
        estimate.p = None;
    }
    Some(estimate)
}
