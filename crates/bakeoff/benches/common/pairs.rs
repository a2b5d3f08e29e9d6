//! Pairs of figures, another tool's and ours, and their ratio beside its limits.

use bakeoff_stats::paired::{CONFIDENCE, Estimate, estimate_ratio};
use bakeoff_stats::quantile::median;

/// What the ratio, ours over the other's, must be.
#[derive(Clone, Copy)]
pub enum Limit {
    /// At least so much.
    Least {
        /// The ratio.
        ratio: f64,
        /// The lower end of its interval.
        low: Option<f64>,
    },
    /// At most so much.
    Most(f64),
}

impl Limit {
    /// Whether an estimate is within it. Without an interval nothing is known of its end.
    fn holds(self, estimate: &Estimate) -> bool {
        match self {
            Self::Most(most) => estimate.ratio <= most,
            Self::Least { ratio, low } => {
                let end = |least| estimate.low.is_some_and(|low| low >= least);
                estimate.ratio >= ratio && low.is_none_or(end)
            }
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Most(most) => write!(f, "≤ {most}"),
            Self::Least { ratio, low: None } => write!(f, "≥ {ratio}"),
            Self::Least { ratio, low: Some(low) } => write!(f, "≥ {ratio}, from {low}"),
        }
    }
}

/// The line above rows; the other tool by its name.
pub fn heading(title: &str, other: &str) {
    println!("\n{title:<44} {other:>10} {:>10}  {:<22} {:<14}", "bakeoff", "ratio", "limit");
}

/// One thing measured in pairs.
#[derive(Default)]
pub struct Pairs(Vec<(f64, f64)>);

impl Pairs {
    /// The other's figure, and ours.
    pub fn add(&mut self, [theirs, ours]: [f64; 2]) {
        self.0.push((theirs, ours));
    }

    /// Prints the median of each and the ratio; whether the ratio is within its limit.
    pub fn row(&self, name: &str, limit: Limit) -> bool {
        let estimate = estimate_ratio(&self.0, CONFIDENCE).expect("figures above 0");
        let kept = limit.holds(&estimate);
        let of = |figure: fn(&(f64, f64)) -> f64| {
            median(&self.0.iter().map(figure).collect::<Vec<_>>()).expect("figures")
        };
        let interval = match (estimate.low, estimate.high) {
            (Some(low), Some(high)) => format!("{:.3} ({low:.3}–{high:.3})", estimate.ratio),
            _ => format!("{:.3} (one pair)", estimate.ratio),
        };
        let (theirs, ours) = (of(|pair| pair.0), of(|pair| pair.1));
        let word = if kept { "ok" } else { "MISSED" };
        println!("{name:<44} {theirs:>10.1} {ours:>10.1}  {interval:<22} {limit:<14} {word}");
        kept
    }
}

/// What both did in a turn each, the other first; they change who begins.
pub fn turns<T>(
    number: usize,
    mut theirs: impl FnMut() -> T,
    mut ours: impl FnMut() -> T,
) -> [T; 2] {
    if number.is_multiple_of(2) {
        return [theirs(), ours()];
    }
    let ours = ours();
    [theirs(), ours]
}

/// A number above 0 from the environment; `usual` where it says none.
fn number_of(variable: &str, usual: u32) -> u32 {
    let Ok(text) = std::env::var(variable) else { return usual };
    let number = text.parse().ok().filter(|number| *number > 0);
    number.unwrap_or_else(|| panic!("{variable} is {text:?}: write a number above 0"))
}

/// How many pairs are made.
pub fn pairs() -> usize {
    number_of("BAKEOFF_PAIRS", 5) as usize
}

/// How many seconds each of both runs.
pub fn seconds() -> u32 {
    number_of("BAKEOFF_BENCH_SECONDS", 5)
}
