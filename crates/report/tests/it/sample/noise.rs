//! What a level shows that was entered twice.

use bakeoff_analysis::{Comparison, Document};

/// A level entered twice: what it shows against itself.
pub fn noise(document: &Document, ratio: f64, low: f64, high: f64) -> Comparison {
    let mut noise = document.comparisons[0].clone();
    noise.level = format!("{}@again", noise.baseline);
    (noise.ratio, noise.low, noise.high) = (Some(ratio), Some(low), Some(high));
    noise
}
