//! Decides verdicts. Table, chart, sentence and JSON all take theirs from here; a broken promise
//! makes one void afterwards ([`crate::broken_promises`]).

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{ENOUGH_OPERATIONS, Levels, Run, SequentialDesign};
use bakeoff_stats::family::{Adjustment, decide_adjusted};
use bakeoff_stats::images::{ImageVariance, are_images_alike, average_images};
use bakeoff_stats::moderated::{Variance, VariancePrior};
use bakeoff_stats::paired::LogSummary;
use bakeoff_stats::{CONFIDENCE, Decision, Estimate, MARGIN, unpaired};

use crate::comparison::{Comparison, RatioBound, Verdict};
use crate::images::ImageFindings;
use crate::processor_waits::{ProcessorWait, could_turn};

/// The fewest operations of a kind in each trial behind a verdict: the mean of fewer is too rough,
/// and one of them can make it.
pub(crate) const ENOUGH: u64 = ENOUGH_OPERATIONS;

#[derive(Clone, Copy)]
pub(crate) struct OperationFigure {
    /// The trial's mean, or the inverse of its rate, in seconds. Less is better.
    pub cost_s: f64,
    pub count: u64,
    /// Which load of the data; 0 where there is one.
    pub image: u32,
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

    fn list_pairs(&self) -> Option<Vec<(f64, f64)>> {
        let Self::Paired(pairs) = self else { return None };
        Some(pairs.iter().map(|(a, b)| (a.cost_s, b.cost_s)).collect())
    }

    /// The logarithms of the ratios, each with the image of its pair.
    pub fn list_logs(&self) -> Option<Vec<(u32, f64)>> {
        let Self::Paired(pairs) = self else { return None };
        let log =
            |(a, b): &(OperationFigure, OperationFigure)| (a.image, b.cost_s.ln() - a.cost_s.ln());
        Some(pairs.iter().map(log).collect())
    }

    /// By pairs, or by the means of images.
    fn summarize(&self, counts_images: bool) -> Option<LogSummary> {
        match counts_images {
            true => LogSummary::from_logs(&average_images(&self.list_logs()?)).ok(),
            false => LogSummary::from_pairs(&self.list_pairs()?).ok(),
        }
    }

    /// Samples without pairs borrow nothing. Where their images differ by more than their trials,
    /// they are those of the images.
    fn estimate_apart(&self) -> Option<Estimate> {
        let sides = self.map_sides(|figure| (figure.image, figure.cost_s.ln()));
        let variances: Vec<ImageVariance> =
            sides.iter().filter_map(|side| ImageVariance::from_logs(side)).collect();
        let [baseline, level] = sides.map(|side| match are_images_alike(&variances) {
            true => side.into_iter().map(|(_, log)| log).collect(),
            false => average_images(&side),
        });
        unpaired::ratio_of_logs(&baseline, &level, CONFIDENCE).ok()
    }

    /// From the first look on. Looks are planned for plain means and each comparison's own noise.
    fn estimate_at_look(&self, confidence: f64, first: u32) -> Option<Estimate> {
        let summary = LogSummary::untrimmed_from_pairs(&self.list_pairs()?).ok()?;
        let estimate = summary.estimate(confidence).ok()?;
        let looked = self.size() >= first as usize;
        let none = Estimate { low: None, high: None, p: None, ..estimate };
        Some(if looked { estimate } else { none })
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum JudgingRule {
    /// Once over all blocks: by intervals of 95 % and that adjustment over the family.
    Once(Adjustment),
    /// At several looks, by a confidence that holds for all looks and all comparisons of the run
    /// together. So there is no adjustment.
    Looks { confidence: f64, first: u32 },
}

impl JudgingRule {
    pub fn from_run(run: &Run, cases: &[ComparisonCase]) -> Self {
        let first = |it: &SequentialDesign| it.looks.first().copied();
        match run.sequential.as_ref().and_then(|it| Some((it.confidence, first(it)?))) {
            Some((confidence, first)) => Self::Looks { confidence, first },
            None => Self::once(cases),
        }
    }

    /// Words over many conditions may be wrong in a small share; those of one condition together
    /// almost never.
    pub fn once(cases: &[ComparisonCase]) -> Self {
        let conditions: BTreeSet<&Levels> = cases.iter().map(|it| &it.comparison.levels).collect();
        Self::Once(if conditions.len() > 1 { Adjustment::FalseDiscovery } else { Adjustment::Holm })
    }

    fn estimate(self, case: &ComparisonCase, priors: &NoisePriors) -> Option<Estimate> {
        match self {
            Self::Once(_) => match case.sample {
                ComparisonSample::Apart(..) => case.sample.estimate_apart(),
                ComparisonSample::Paired(_) => priors.moderate(case, case.summarize()?),
            },
            Self::Looks { confidence, first } => case.sample.estimate_at_look(confidence, first),
        }
    }

    /// The p-values that count: none where looks decide.
    fn adjust_p_values(self, p: &[Option<f64>]) -> Vec<Option<f64>> {
        match self {
            Self::Once(adjustment) => adjustment.adjust_p_values(p),
            Self::Looks { .. } => vec![None; p.len()],
        }
    }

    fn decide(self, estimate: &Estimate, adjusted: Option<f64>) -> Decision {
        match self {
            Self::Once(_) => decide_adjusted(estimate, adjusted, MARGIN, CONFIDENCE),
            Self::Looks { .. } => estimate.decide(MARGIN),
        }
    }

    fn adjustment(self) -> Option<Adjustment> {
        match self {
            Self::Once(adjustment) => Some(adjustment),
            Self::Looks { .. } => None,
        }
    }
}

/// What comparisons borrow from each other: those of one metric, since the p99 is noisier than the
/// mean; those by pairs and those by the means of images apart.
struct NoisePriors(BTreeMap<(String, bool), VariancePrior>);

impl NoisePriors {
    fn from_family(family: &[ComparisonCase]) -> Self {
        let mut own: BTreeMap<(&str, bool), Vec<Variance>> = BTreeMap::new();
        for case in family.iter().filter(|case| !case.is_wordless()) {
            let key = (case.comparison.metric.as_str(), case.counts_images());
            let variance = case.summarize().and_then(|it| it.variance);
            own.entry(key).or_default().extend(variance);
        }
        let prior = |((metric, by_images), own): ((&str, bool), Vec<Variance>)| {
            Some(((metric.to_owned(), by_images), VariancePrior::from_variances(&own)?))
        };
        Self(own.into_iter().filter_map(prior).collect())
    }

    fn moderate(&self, case: &ComparisonCase, own: LogSummary) -> Option<Estimate> {
        let prior = self.0.get(&(case.comparison.metric.clone(), case.counts_images()));
        let lent = prior.zip(own.variance).map(|(prior, own)| prior.moderate(own));
        lent.map_or(own, |it| own.with_variance(it)).estimate(CONFIDENCE).ok()
    }
}

/// The standard deviation of a trial's logarithm that these comparisons share, if they borrow from
/// each other at all. The logarithm of a ratio has the noise of two trials.
pub(crate) fn estimate_shared_noise(family: &[ComparisonCase]) -> Option<f64> {
    let priors = NoisePriors::from_family(family).0;
    priors.values().map(|prior| (prior.value / 2.0).sqrt()).reduce(f64::max)
}

/// The cases are one family: the more there are, the more often one looks different by chance, and
/// the more each must show. What they know together of the run's noise, each borrows.
pub(crate) fn judge(family: Vec<ComparisonCase>, rule: JudgingRule) -> Vec<Comparison> {
    judge_with(family, &[], rule).comparisons
}

pub(crate) struct JudgedFamily {
    pub comparisons: Vec<Comparison>,
    /// Those of the others.
    pub adjusted: Vec<Option<f64>>,
    pub adjusted_by: Option<Adjustment>,
}

/// As [`judge`], with the p-values of other tests in the same family.
pub(crate) fn judge_with(
    mut family: Vec<ComparisonCase>,
    others: &[Option<f64>],
    rule: JudgingRule,
) -> JudgedFamily {
    let images = ImageFindings::from_family(&family);
    family.iter_mut().for_each(|case| case.comparison.images = images.find(&case.comparison));
    let priors = NoisePriors::from_family(&family);
    let estimates: Vec<Option<Estimate>> =
        family.iter_mut().map(|case| measure(case, rule, &priors)).collect();
    let tested: Vec<Estimate> = estimates.iter().flatten().copied().collect();
    let all: Vec<Option<f64>> =
        tested.iter().map(|it| it.p).chain(others.iter().copied()).collect();
    let over = all.iter().flatten().count() as u32;
    let mut p = rule.adjust_p_values(&all);
    let adjusted = p.split_off(tested.len());
    let mut said = tested.iter().zip(p).map(|(it, p)| (p, rule.decide(it, p)));
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
        case.comparison.adjusted_by = p.and(rule.adjustment());
        case.comparison.verdict = case.verdict(verdict);
    }
    let comparisons = family.into_iter().map(|case| case.comparison).collect();
    JudgedFamily { comparisons, adjusted, adjusted_by: rule.adjustment() }
}

impl ComparisonCase {
    fn is_never_steady(&self) -> bool {
        self.sample.any_on_sides(|figure| figure.never_steady).contains(&true)
    }

    fn is_too_few(&self) -> bool {
        self.sample.any_on_sides(|figure| figure.is_too_few).contains(&true)
    }

    fn counts_images(&self) -> bool {
        self.comparison.images.is_some_and(|it| it.counts_images)
    }

    fn summarize(&self) -> Option<LogSummary> {
        self.sample.summarize(self.counts_images())
    }

    /// Whether its figures get no verdict, whatever they are.
    pub fn is_wordless(&self) -> bool {
        self.is_void() || self.is_never_steady() || self.is_too_few()
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

fn measure(case: &mut ComparisonCase, rule: JudgingRule, priors: &NoisePriors) -> Option<Estimate> {
    let wordless = case.is_wordless();
    let estimate = rule.estimate(case, priors);
    let ComparisonCase { comparison, sample, .. } = case;
    comparison.blocks = sample.size() as u32;
    comparison.fewest_operations = sample.fewest();
    let ratio_is = match sample.any_on_sides(|figure| figure.cut_off) {
        [false, false] => RatioBound::Exact,
        [false, true] => RatioBound::AtLeast,
        [true, false] => RatioBound::AtMost,
        [true, true] => return None,
    };
    let mut estimate = estimate?;
    comparison.freedom = estimate.freedom;
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
