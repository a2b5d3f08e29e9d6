//! Compares each level of a factor other than the engine with the first one, over many cases.
//!
//! For engines, a reader asks which is fastest. For memory or disks that says little: what counts
//! is the range of the ratios, or the factor that decides between faster and slower.

use super::compares_engines;
use crate::comparison::{Contrast, Verdict};
use crate::layout::DocumentLayout;
use crate::leader::LeaderOutcome;
use crate::operation_case::OperationCase;

pub struct LevelAgainstFirst<'a> {
    pub level: &'a str,
    pub first: &'a str,
    pub pairs: Vec<CaseContrast<'a>>,
    /// What decides between faster and slower, where the level is both and one factor tells.
    pub split: Option<FactorSplit<'a>>,
}

pub struct CaseContrast<'a> {
    pub case: OperationCase<'a>,
    /// The level's mean time over the first one's.
    pub contrast: Contrast,
}

/// At each level of the factor all decided pairs agree.
pub struct FactorSplit<'a> {
    /// `None` stands for the operation.
    pub factor: Option<&'a str>,
    pub faster: Vec<&'a str>,
    pub slower: Vec<&'a str>,
}

/// `None` where engines are compared, cases are few, one of two levels is always fastest, or no
/// level is shown to differ.
pub fn compare_levels<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Option<Vec<LevelAgainstFirst<'a>>> {
    let contenders = layout.contenders();
    let leader = cases.first()?.leader;
    let won = |case: &OperationCase| case.outcome == LeaderOutcome::Won && case.leader == leader;
    let is_plain = contenders.len() == 2 && cases.iter().all(won);
    if compares_engines(layout) || cases.len() < 2 || is_plain {
        return None;
    }
    let first = layout.document.run.run.baseline.as_str();
    let others = contenders.into_iter().filter(|level| *level != first);
    let compared = others.map(|level| LevelAgainstFirst::from_cases(layout, cases, first, level));
    let compared: Vec<_> = compared.filter(|it| !it.pairs.is_empty()).collect();
    let is_decided =
        |it: &LevelAgainstFirst| it.count(Verdict::Faster) > 0 || it.count(Verdict::Slower) > 0;
    compared.iter().any(is_decided).then_some(compared)
}

impl<'a> LevelAgainstFirst<'a> {
    fn from_cases(
        layout: &DocumentLayout<'a>,
        cases: &[OperationCase<'a>],
        first: &'a str,
        level: &'a str,
    ) -> Self {
        let pair = |case: &OperationCase<'a>| {
            let comparison = layout.pair(case.operation, &case.condition, first, level)?;
            let contrast = Contrast::from_comparison(&comparison)?;
            Some(CaseContrast { case: case.clone(), contrast })
        };
        let pairs = cases.iter().filter_map(pair).collect();
        let mut compared = Self { level, first, pairs, split: None };
        if compared.is_turned() {
            compared.split = find_split(layout, &compared.pairs);
        }
        compared
    }

    /// Faster in some cases, and slower in others.
    pub fn is_turned(&self) -> bool {
        self.count(Verdict::Faster) > 0 && self.count(Verdict::Slower) > 0
    }

    pub fn count(&self, verdict: Verdict) -> usize {
        self.contrasts_with(verdict).count()
    }

    pub fn contrasts_with(&self, verdict: Verdict) -> impl Iterator<Item = Contrast> {
        self.pairs.iter().map(|pair| pair.contrast).filter(move |it| it.verdict == verdict)
    }
}

/// Two factors that explain it equally well explain nothing.
fn find_split<'a>(
    layout: &DocumentLayout<'a>,
    pairs: &[CaseContrast<'a>],
) -> Option<FactorSplit<'a>> {
    let factors = std::iter::once(None).chain(layout.varying.iter().copied().map(Some));
    let mut splits = factors.enumerate().filter_map(|(number, factor)| {
        let level_of = |case: &OperationCase<'a>| case.level_of_split(number);
        split_by_level(factor, pairs, level_of)
    });
    let split = splits.next()?;
    splits.next().is_none().then_some(split)
}

/// `None` where decided pairs of one level disagree, or it has none.
fn split_by_level<'a>(
    factor: Option<&'a str>,
    pairs: &[CaseContrast<'a>],
    level_of: impl Fn(&OperationCase<'a>) -> &'a str,
) -> Option<FactorSplit<'a>> {
    let mut levels: Vec<&str> = Vec::new();
    for level in pairs.iter().map(|pair| level_of(&pair.case)) {
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    let mut split = FactorSplit { factor, faster: Vec::new(), slower: Vec::new() };
    for level in levels {
        let here = pairs.iter().filter(|pair| level_of(&pair.case) == level);
        let says = |wanted: Verdict| here.clone().any(|pair| pair.contrast.verdict == wanted);
        match (says(Verdict::Faster), says(Verdict::Slower)) {
            (true, false) => split.faster.push(level),
            (false, true) => split.slower.push(level),
            _ => return None,
        }
    }
    Some(split)
}
