//! How many comparisons a plan makes, and what they can tell apart.

use bakeoff_stats::detectable::PlannedFamily;
use bakeoff_stats::family::Adjustment;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedComparisons {
    /// Levels of the compared factor, without aliases and without the harness.
    pub contenders: usize,
    /// Combinations of all other factors' levels.
    pub conditions: usize,
    /// Operations that are compared each by itself; 1 where all together have one rate.
    pub subjects: usize,
}

impl PlannedComparisons {
    pub fn count(self) -> usize {
        let pairs = self.contenders * self.contenders.saturating_sub(1) / 2;
        pairs.saturating_mul(self.conditions).saturating_mul(self.subjects)
    }

    /// The smallest ratio that gets a word in 80 % of runs of so many blocks, where `noise` is the
    /// standard deviation of a trial's logarithm. `None` with fewer than two blocks, or with nothing
    /// to compare.
    pub fn find_detectable_ratio(self, blocks: u32, noise: f64) -> Option<f64> {
        let comparisons = self.count();
        let adjustment = match self.conditions {
            0 | 1 => Adjustment::Holm,
            _ => Adjustment::FalseDiscovery,
        };
        let blocks = blocks as usize;
        let family = PlannedFamily { noise, blocks, comparisons, adjustment };
        family.find_detectable_ratio().filter(|_| comparisons > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_conditions_and_operations_multiply() {
        let plan = PlannedComparisons { contenders: 3, conditions: 8, subjects: 2 };
        assert_eq!(plan.count(), 48);
        let alone = PlannedComparisons { contenders: 1, ..plan };
        assert_eq!((alone.count(), alone.find_detectable_ratio(5, 0.05)), (0, None));
        assert_eq!(plan.find_detectable_ratio(1, 0.05), None);
        assert!(plan.find_detectable_ratio(5, 0.05) < plan.find_detectable_ratio(3, 0.05));
        assert!(plan.find_detectable_ratio(5, 0.03) < plan.find_detectable_ratio(5, 0.05));
    }
}
