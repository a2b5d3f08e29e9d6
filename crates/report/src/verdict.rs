//! Who is fastest at each operation and setting, as far as the intervals say.

use bakeoff_analysis::document::Verdict;
use bakeoff_analysis::{Comparison, Document};

use crate::layout::{Layout, Setting};

/// How much slower one level is than another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The mean time of the one over the other's.
    pub ratio: f64,
    /// The 95 % interval, where there is one.
    pub interval: Option<(f64, f64)>,
    /// How many blocks back it.
    pub blocks: u32,
    /// What follows.
    pub verdict: Verdict,
}

/// What one operation at one setting says.
#[derive(Clone, Debug, PartialEq)]
pub struct Case<'a> {
    /// The operation.
    pub operation: &'a str,
    /// The setting.
    pub setting: Setting<'a>,
    /// The level with the shortest mean time, proven or not.
    pub leader: &'a str,
    /// The level that comes next to it.
    pub next: &'a str,
    /// The next level's mean time over the leader's.
    pub contrast: Contrast,
    /// What follows.
    pub outcome: Outcome,
    /// The levels that are shown to be slower than the leader.
    pub behind: Vec<&'a str>,
}

/// What follows from a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The leader is faster than every other level.
    Won,
    /// The leader would be, but a level against itself differs by as much.
    Noise,
    /// The levels that are not behind are as fast as the leader, within the margin.
    Even,
    /// The intervals leave it open.
    Open,
    /// The runs are too uneven for an interval to be trusted.
    Spiky,
}

/// Every operation at every setting where at least two contenders can be held together.
pub fn cases<'a>(layout: &Layout<'a>) -> Vec<Case<'a>> {
    let contenders = layout.contenders();
    layout
        .operations()
        .flat_map(|operation| layout.settings.iter().map(move |setting| (operation, setting)))
        .filter_map(|(operation, setting)| case(layout, &contenders, operation, setting))
        .collect()
}

fn case<'a>(
    layout: &Layout<'a>,
    contenders: &[&'a str],
    operation: &'a str,
    setting: &Setting<'a>,
) -> Option<Case<'a>> {
    let comparisons = layout.comparisons(operation, setting);
    let baseline = comparisons.first()?.baseline.as_str();
    let mut ranked: Vec<(&str, f64)> = contenders
        .iter()
        .filter_map(|level| Some((*level, against(comparisons, baseline, level)?.ratio)))
        .collect();
    ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(leader, _), rest @ ..] = ranked.as_slice() else { return None };
    let rivals: Vec<(&str, Contrast)> = rest
        .iter()
        .filter_map(|(level, _)| Some((*level, contrast(comparisons, baseline, leader, level)?)))
        .collect();
    let (next, first) = *rivals.first()?;
    let close = noise_floor(layout, operation, setting).is_some_and(|f| first.ratio < 1.0 + f);
    Some(Case {
        operation,
        setting: setting.clone(),
        leader,
        next,
        contrast: first,
        outcome: outcome(&rivals, close),
        behind: rivals
            .iter()
            .filter(|(_, c)| c.verdict == Verdict::Slower)
            .map(|(level, _)| *level)
            .collect(),
    })
}

fn outcome(rivals: &[(&str, Contrast)], close: bool) -> Outcome {
    let has = |verdict| rivals.iter().any(|(_, c)| c.verdict == verdict);
    if rivals.iter().all(|(_, c)| c.verdict == Verdict::Slower) {
        if close { Outcome::Noise } else { Outcome::Won }
    } else if has(Verdict::Spiky) {
        Outcome::Spiky
    } else if has(Verdict::Undecided) {
        Outcome::Open
    } else {
        Outcome::Even
    }
}

/// A level against the baseline; the baseline is as fast as itself.
fn against(comparisons: &[&Comparison], baseline: &str, level: &str) -> Option<Contrast> {
    if level == baseline {
        let blocks = comparisons.iter().map(|c| c.blocks).max()?;
        let itself = Contrast { ratio: 1.0, interval: None, blocks, verdict: Verdict::Same };
        return Some(itself);
    }
    let comparison = comparisons.iter().find(|c| c.level == level && c.baseline == baseline)?;
    Some(Contrast {
        ratio: comparison.ratio?,
        interval: comparison.low.zip(comparison.high),
        blocks: comparison.blocks,
        verdict: comparison.verdict,
    })
}

/// How much slower `slow` is than `fast`.
///
/// Two levels that are both held against a third are held against each other by the ends of
/// their intervals: [low/high', high/low']. From the same blocks this contains the interval of
/// their own pairs, since the deviation of a difference is at most the sum of the deviations:
/// it never claims more than they would.
fn contrast(
    comparisons: &[&Comparison],
    baseline: &str,
    fast: &str,
    slow: &str,
) -> Option<Contrast> {
    let (a, b) = (against(comparisons, baseline, fast)?, against(comparisons, baseline, slow)?);
    if fast == baseline {
        return Some(b);
    }
    let ratio = b.ratio / a.ratio;
    let (low, high) = match (slow == baseline, a.interval, b.interval) {
        (true, Some((low, high)), _) => (1.0 / high, 1.0 / low),
        (false, Some((low, high)), Some((b_low, b_high))) => (b_low / high, b_high / low),
        _ => {
            let blocks = a.blocks.min(b.blocks);
            return Some(Contrast { ratio, interval: None, blocks, verdict: Verdict::Undecided });
        }
    };
    let verdict = match (slow == baseline, a.verdict, b.verdict) {
        (_, Verdict::Spiky, _) | (_, _, Verdict::Spiky) => Verdict::Spiky,
        (true, Verdict::Faster, _) => Verdict::Slower,
        (true, Verdict::Slower, _) => Verdict::Faster,
        (true, other, _) => other,
        (false, ..) => bakeoff_stats::Verdict::of(low, high, bakeoff_stats::MARGIN).into(),
    };
    Some(Contrast { ratio, interval: Some((low, high)), blocks: a.blocks.min(b.blocks), verdict })
}

/// How far a level that was entered twice seems to be from itself, as a share: the half-width
/// of its interval, or how far off its ratio is where that is more. Of the same operation and
/// setting, or the widest of the run where that one has none.
fn noise_floor(layout: &Layout<'_>, operation: &str, setting: &Setting<'_>) -> Option<f64> {
    let noise = &layout.document.noise;
    let here = noise
        .iter()
        .filter(|c| c.operation == operation && layout.setting_of(&c.levels) == *setting)
        .filter_map(floor_of)
        .reduce(f64::max);
    here.or_else(|| widest_noise(layout.document))
}

/// The widest noise floor of a run, as a share.
pub fn widest_noise(document: &Document) -> Option<f64> {
    document.noise.iter().filter_map(floor_of).reduce(f64::max)
}

/// The middle one of a run's noise floors, as a share.
pub fn typical_noise(document: &Document) -> Option<f64> {
    let mut floors: Vec<f64> = document.noise.iter().filter_map(floor_of).collect();
    floors.sort_by(f64::total_cmp);
    floors.get(floors.len() / 2).copied()
}

fn floor_of(noise: &Comparison) -> Option<f64> {
    let (ratio, low, high) = (noise.ratio?, noise.low?, noise.high?);
    let half_width = (high / low).sqrt();
    Some(half_width.max(ratio).max(1.0 / ratio) - 1.0)
}
