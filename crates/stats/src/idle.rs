//! The idle seconds of two levels, those in which nothing ended, from paired blocks.
//!
//! Most trials have none, and those of one trial come in stretches. So Student's test alone would
//! take three equal counts for certain, and a test that counts seconds would take one long stretch
//! for many events. A sign-flip test over blocks is exact, and says nothing of fewer than six. The
//! rule here is our own, and simulated (tests/simulations/idle.rs): Student's t with the larger of
//! two variances, and a p-value that so few trials can bear.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::mean;

/// The whole seconds of a trial's window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdleTrial {
    pub seconds: u32,
    /// The lengths of stretches of idle seconds.
    pub stretches: Vec<u32>,
}

/// How much more of the time the second level was idle: shares of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdleDifference {
    pub share: f64,
    pub low: f64,
    pub high: f64,
    /// Two-sided, of "there is no difference".
    pub p: f64,
}

impl IdleTrial {
    pub fn count_idle(&self) -> u32 {
        self.stretches.iter().sum()
    }

    fn share(&self) -> f64 {
        f64::from(self.count_idle()) / f64::from(self.seconds)
    }

    /// As if each stretch were one event that comes by chance, however long.
    fn variance_of_stretches(&self) -> f64 {
        let square = |length: &u32| (f64::from(*length) / f64::from(self.seconds)).powi(2);
        self.stretches.iter().map(square).sum()
    }
}

impl IdleDifference {
    /// `None` with fewer than two blocks, without any idle second, and with a trial that has no
    /// whole second.
    ///
    /// The variance of a block is that of the blocks, or where that is less that of events which
    /// come to either level by chance. The p-value is 2 / 4^n at least: of two equal levels that
    /// are idle in half of their trials, one is in all n of its trials and the other in none in
    /// that share of runs.
    pub fn from_pairs(pairs: &[(IdleTrial, IdleTrial)], confidence: f64) -> Option<Self> {
        let blocks = pairs.len() as f64;
        let has_none =
            |(one, other): &(IdleTrial, IdleTrial)| one.seconds == 0 || other.seconds == 0;
        let student = StudentsT::new(0.0, 1.0, blocks - 1.0).ok()?;
        if pairs.iter().any(has_none) {
            return None;
        }
        let more: Vec<f64> = pairs.iter().map(|(one, other)| other.share() - one.share()).collect();
        let share = mean(&more);
        let own = more.iter().map(|it| (it - share).powi(2)).sum::<f64>() / (blocks - 1.0);
        let of_stretches = |(one, other): &(IdleTrial, IdleTrial)| {
            one.variance_of_stretches() + other.variance_of_stretches()
        };
        let by_chance = mean(&pairs.iter().map(of_stretches).collect::<Vec<_>>());
        let error = (own.max(by_chance) / blocks).sqrt();
        let half = student.inverse_cdf(0.5 + confidence / 2.0) * error;
        let least = 2.0 * 0.25_f64.powf(blocks);
        (error > 0.0).then(|| Self {
            share,
            low: share - half,
            high: share + half,
            p: (2.0 * student.sf(share.abs() / error)).max(least),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CONFIDENCE;

    fn trial(seconds: u32, stretches: &[u32]) -> IdleTrial {
        IdleTrial { seconds, stretches: stretches.to_vec() }
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-4, "{found} instead of {expected}");
    }

    /// Differences of 2, 4 and 6 of 60 seconds have a standard deviation of 2. The stretches have
    /// squares of 4, 8 and 12: a mean of 8, which is more. With t = 4 / √(8 / 3) = √6 and two degrees
    /// of freedom, p = 1 - √(6 / 8). t(.975, 2) = 4.3027.
    #[test]
    fn a_difference_worked_by_hand() {
        let none = || trial(60, &[]);
        let pairs = [&[2][..], &[2, 2], &[2, 2, 2]].map(|it| (none(), trial(60, it)));
        let found = IdleDifference::from_pairs(&pairs, CONFIDENCE).unwrap();
        close(found.share, 4.0 / 60.0);
        close(found.p, 1.0 - 0.75_f64.sqrt());
        close(found.high, (4.0 + 4.3027 * (8.0_f64 / 3.0).sqrt()) / 60.0);
        let swapped = pairs.map(|(one, other)| (other, one));
        let swapped = IdleDifference::from_pairs(&swapped, CONFIDENCE).unwrap();
        assert_eq!((swapped.share, swapped.p), (-found.share, found.p));
        close(swapped.low, -found.high);
    }

    /// However many idle seconds three trials have, three trials bear 2 / 64.
    #[test]
    fn few_trials_bear_no_small_p() {
        let many = vec![1; 200];
        let of = |blocks: usize| {
            let pairs = vec![(trial(540, &[]), trial(540, &many)); blocks];
            IdleDifference::from_pairs(&pairs, CONFIDENCE).unwrap().p
        };
        assert_eq!([2, 3, 5].map(of), [0.125, 0.03125, 2.0 / 1024.0]);
        // One stretch in each of five trials is five events.
        let long = vec![(trial(60, &[]), trial(60, &[20])); 5];
        assert!(IdleDifference::from_pairs(&long, CONFIDENCE).unwrap().p > 0.05);
    }

    #[test]
    fn nothing_idle_and_one_block_tell_nothing() {
        let idle = (trial(60, &[]), trial(60, &[4]));
        for pairs in [
            vec![],
            vec![idle.clone()],
            vec![(trial(60, &[]), trial(60, &[])); 5],
            vec![idle.clone(), (trial(0, &[]), trial(60, &[4]))],
        ] {
            assert_eq!(IdleDifference::from_pairs(&pairs, CONFIDENCE), None, "{pairs:?}");
        }
    }
}
