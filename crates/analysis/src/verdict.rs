//! Decides verdicts. Table, chart, sentence and JSON all take theirs from here; a broken promise
//! makes one void afterwards ([`crate::broken_promises`]).

use bakeoff_results::{ENOUGH_OPERATIONS, Run, SequentialDesign};
use bakeoff_stats::{CONFIDENCE, Decision, Estimate, MARGIN, holm, paired, unpaired};

use crate::comparison::{Comparison, RatioBound, Verdict};
use crate::processor_waits::{ProcessorWait, could_turn};

/// The fewest operations of a kind in each trial behind a verdict: the mean of fewer is too rough,
/// and one of them can make it.
pub(crate) const ENOUGH: u64 = ENOUGH_OPERATIONS;

#[derive(Clone, Copy)]
pub(crate) struct OperationFigure {
    /// The trial's mean, or the inverse of its rate, in seconds. Less is better.
    pub cost_s: f64,
    pub count: u64,
    pub is_too_few: bool,
    /// Some operations were still running when the trial was cut off, so it is a lower bound.
    pub cut_off: bool,
    pub never_steady: bool,
    pub broken: bool,
    pub waited: ProcessorWait,
}

pub(crate) struct ComparisonCase {
    pub comparison: Comparison,
    pub unlike: bool,
    pub sample: ComparisonSample,
}

pub(crate) enum ComparisonSample {
    /// The baseline and the level in every block that has both.
    Paired(Vec<(OperationFigure, OperationFigure)>),
    /// The baseline's and the level's, which did not run in the same blocks.
    Apart(Vec<OperationFigure>, Vec<OperationFigure>),
}

impl ComparisonSample {
    pub fn size(&self) -> usize {
        match self {
            Self::Paired(pairs) => pairs.len(),
            Self::Apart(baseline, level) => baseline.len().min(level.len()),
        }
    }

    fn map_sides<T>(&self, of: impl Fn(&OperationFigure) -> T) -> [Vec<T>; 2] {
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

    fn any_on_sides(&self, is: impl Fn(&OperationFigure) -> bool) -> [bool; 2] {
        self.map_sides(is).map(|side| side.contains(&true))
    }

    fn fewest(&self) -> Option<u64> {
        match self {
            Self::Paired(pairs) => {
                pairs.iter().map(|(one, other)| one.count.min(other.count)).min()
            }
            Self::Apart(baseline, level) => baseline.iter().chain(level).map(|it| it.count).min(),
        }
    }

    fn estimate(&self, confidence: f64) -> Option<Estimate> {
        match self {
            Self::Paired(pairs) => {
                let costs: Vec<_> = pairs.iter().map(|(a, b)| (a.cost_s, b.cost_s)).collect();
                paired::estimate_ratio(&costs, confidence).ok()
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

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum JudgingRule {
    /// Once over all blocks: by intervals of 95 % and Holm's adjustment over the family.
    Once,
    /// At several looks, by a confidence that holds for all looks and all comparisons of the run
    /// together. So there is no adjustment.
    Looks { confidence: f64, first: u32 },
}

impl JudgingRule {
    pub fn from_run(run: &Run) -> Self {
        let first = |it: &SequentialDesign| it.looks.first().copied();
        match run.sequential.as_ref().and_then(|it| Some((it.confidence, first(it)?))) {
            Some((confidence, first)) => Self::Looks { confidence, first },
            None => Self::Once,
        }
    }

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

    fn decide_family(self, family: &[Estimate]) -> Vec<(Option<f64>, Decision)> {
        match self {
            Self::Once => {
                let p: Vec<Option<f64>> = family.iter().map(|estimate| estimate.p).collect();
                let decisions = holm::decide_family(family, MARGIN, CONFIDENCE);
                holm::adjust_p_values(&p).into_iter().zip(decisions).collect()
            }
            Self::Looks { .. } => family.iter().map(|it| (None, it.decide(MARGIN))).collect(),
        }
    }
}

/// The cases are one family: the more there are, the more often one looks different by chance, and
/// the more each must show.
pub(crate) fn judge(mut family: Vec<ComparisonCase>, rule: JudgingRule) -> Vec<Comparison> {
    let estimates: Vec<Option<Estimate>> =
        family.iter_mut().map(|case| measure(case, rule)).collect();
    let tested: Vec<Estimate> = estimates.iter().flatten().copied().collect();
    let over = tested.iter().filter(|it| it.p.is_some()).count() as u32;
    let mut said = rule.decide_family(&tested).into_iter();
    for (case, estimate) in family.iter_mut().zip(&estimates) {
        if estimate.is_none() {
            // No figure can be computed, but too few operations are a verdict all the same.
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
    fn is_never_steady(&self) -> bool {
        self.sample.any_on_sides(|figure| figure.never_steady).contains(&true)
    }

    fn is_too_few(&self) -> bool {
        self.sample.any_on_sides(|figure| figure.is_too_few).contains(&true)
    }

    fn is_void(&self) -> bool {
        self.unlike || self.sample.any_on_sides(|figure| figure.broken).contains(&true)
    }

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

    /// Whether the verdict could be another if nothing had waited for a processor.
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
        let [baseline, level] = self.sample.map_sides(|figure| figure.waited);
        could_turn(keeps, [&baseline, &level])
    }
}

fn verdict_of(it: &Comparison, interval: Decision) -> Verdict {
    if it.fewest_operations.is_none_or(|fewest| fewest < ENOUGH) {
        return Verdict::TooFew;
    }
    let verdict = Verdict::from(interval);
    // A bound can show slower or faster, never the same.
    let safe = match it.ratio_is {
        Some(RatioBound::AtLeast) => matches!(verdict, Verdict::Slower | Verdict::Spiky),
        Some(RatioBound::AtMost) => matches!(verdict, Verdict::Faster | Verdict::Spiky),
        Some(RatioBound::Exact) | None => true,
    };
    match verdict {
        _ if !safe => Verdict::Undecided,
        Verdict::Faster | Verdict::Slower if is_within_noise(it, 1.0) => Verdict::WithinNoise,
        verdict => verdict,
    }
}

/// Whether the ratio × `shift` is nearer to 1 than a level is to its own alias.
fn is_within_noise(it: &Comparison, shift: f64) -> bool {
    let within = |(ratio, floor): (f64, f64)| (ratio * shift).ln().abs() < floor.ln_1p();
    it.ratio.zip(it.noise_floor).is_some_and(within)
}

fn measure(case: &mut ComparisonCase, rule: JudgingRule) -> Option<Estimate> {
    let wordless = case.is_void() || case.is_never_steady() || case.is_too_few();
    let ComparisonCase { comparison, sample, .. } = case;
    comparison.blocks = sample.size() as u32;
    comparison.fewest_operations = sample.fewest();
    let ratio_is = match sample.any_on_sides(|figure| figure.cut_off) {
        [false, false] => RatioBound::Exact,
        [false, true] => RatioBound::AtLeast,
        [true, false] => RatioBound::AtMost,
        [true, true] => return None,
    };
    let mut estimate = rule.estimate(sample)?;
    comparison.ratio = Some(estimate.ratio);
    comparison.ratio_is = Some(ratio_is);
    // Two pairs far apart can have an interval up to infinity, which JSON can't hold.
    comparison.low = estimate.low.filter(|low| low.is_finite() && ratio_is != RatioBound::AtMost);
    comparison.high =
        estimate.high.filter(|high| high.is_finite() && ratio_is != RatioBound::AtLeast);
    let says_nothing = match ratio_is {
        RatioBound::Exact => false,
        RatioBound::AtLeast => estimate.ratio <= 1.0,
        RatioBound::AtMost => estimate.ratio >= 1.0,
    };
    // It never gets a verdict, whatever its pairs show, so it must not cost the others anything.
    if says_nothing || wordless || comparison.fewest_operations.is_none_or(|fewest| fewest < ENOUGH)
    {
        estimate.p = None;
    }
    Some(estimate)
}
