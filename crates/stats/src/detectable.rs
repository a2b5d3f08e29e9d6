//! What a plan can tell apart, before it runs.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::family::Adjustment;
use crate::moderated::{LEAST_COMPARISONS, MOST_BORROWED};
use crate::paired::{CONFIDENCE, MARGIN, count_trimmed};

/// The noise of a trial where nothing is known of the machine: the standard deviation of its
/// logarithm.
pub const USUAL_NOISE: f64 = 0.05;

/// In how many runs of such plans a difference is found.
pub const POWER: f64 = 0.8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedFamily {
    /// The standard deviation of a trial's logarithm.
    pub noise: f64,
    /// Of each comparison.
    pub blocks: usize,
    pub comparisons: usize,
    pub adjustment: Adjustment,
}

impl PlannedFamily {
    /// The smallest ratio above 1 that gets a word in [`POWER`] of all runs, if half of the
    /// comparisons differ by as much. `None` with fewer than two blocks.
    ///
    /// The t that the word needs, and the standard errors from there to the mean in [`POWER`] of
    /// runs, are added; simulated in tests/simulations/detectable.rs.
    pub fn find_detectable_ratio(&self) -> Option<f64> {
        let kept = self.blocks.checked_sub(2 * count_trimmed(self.blocks))?;
        let own = kept.checked_sub(1).filter(|own| *own > 0)? as f64;
        let borrowed =
            if self.comparisons >= LEAST_COMPARISONS { MOST_BORROWED * own } else { 0.0 };
        let student = StudentsT::new(0.0, 1.0, own + borrowed).ok()?;
        let error = self.noise * 2.0_f64.sqrt() / (self.blocks as f64).sqrt();
        let wrong = 1.0 - CONFIDENCE;
        let level = match self.adjustment {
            Adjustment::Holm => wrong / self.comparisons.max(1) as f64,
            Adjustment::FalseDiscovery => wrong / 2.0,
        };
        let adjusted = student.inverse_cdf(1.0 - level / 2.0) * error;
        let interval = MARGIN.ln_1p() + student.inverse_cdf(1.0 - wrong / 2.0) * error;
        let log = adjusted.max(interval) + student.inverse_cdf(POWER) * error;
        log.exp().is_finite().then(|| log.exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alone and in three blocks: ln 1.05 + 4.3027 e + 1.0607 e with e = 0.05 √2 / √3.
    #[test]
    fn a_ratio_worked_by_hand() {
        let alone =
            PlannedFamily { noise: 0.05, blocks: 3, comparisons: 1, adjustment: Adjustment::Holm };
        let error = 0.05 * (2.0f64 / 3.0).sqrt();
        let expected = 1.05 * ((4.3027 + 1.0607) * error).exp();
        assert!((alone.find_detectable_ratio().unwrap() - expected).abs() < 1e-4);
        let ratio = |it: PlannedFamily| it.find_detectable_ratio().unwrap();
        let many = PlannedFamily { comparisons: 12, ..alone };
        let by_share = PlannedFamily { adjustment: Adjustment::FalseDiscovery, ..many };
        assert!(ratio(by_share) < ratio(many), "a false discovery rate asks for less");
        assert!(ratio(PlannedFamily { blocks: 5, ..by_share }) < ratio(by_share));
        for blocks in [0, 1] {
            assert_eq!(PlannedFamily { blocks, ..alone }.find_detectable_ratio(), None);
        }
    }
}
