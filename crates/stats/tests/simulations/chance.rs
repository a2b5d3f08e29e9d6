//! Seeded chance, for made-up runs of which the truth is known.

use bakeoff_stats::paired::{LogSummary, estimate_ratio};
use bakeoff_stats::{CONFIDENCE, Estimate};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// The standard deviation of the logarithm of a trial's mean, where nothing else is said.
pub const NOISE: f64 = 0.03;

/// A source of random values, the same for the same seed.
pub struct Chance(Xoshiro256PlusPlus);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A uniform value from 0 to 1.
    pub fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// A standard normal value. Source: Box and Muller, "A note on the generation of random
    /// normal deviates" (1958).
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// A value of the gamma distribution with mean 1 and that coefficient of variation, of at most
    /// 1. Source: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000).
    pub fn gamma(&mut self, cv: f64) -> f64 {
        let shape = 1.0 / (cv * cv);
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && (1.0 - self.uniform()).ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
                return d * v / shape;
            }
        }
    }

    /// Blocks of two trials; the second level is `truth` times the first, the noise of a trial's
    /// logarithm is `sd`. Each block is as a whole faster or slower than others, by 20 %.
    pub fn noisy_blocks(&mut self, n: usize, truth: f64, sd: f64) -> Vec<(f64, f64)> {
        (0..n)
            .map(|_| {
                let block = 0.2 * self.normal();
                let a = (block + sd * self.normal()).exp();
                let b = truth * (block + sd * self.normal()).exp();
                (a, b)
            })
            .collect()
    }

    /// As [`Chance::noisy_blocks`], with [`NOISE`].
    pub fn blocks(&mut self, n: usize, truth: f64) -> Vec<(f64, f64)> {
        self.noisy_blocks(n, truth, NOISE)
    }
}

/// What pairs say, with the confidence that is reported.
pub fn estimate(pairs: &[(f64, f64)]) -> Estimate {
    estimate_ratio(pairs, CONFIDENCE).unwrap()
}

/// What pairs say at a look, by their plain mean.
pub fn estimate_untrimmed(pairs: &[(f64, f64)], confidence: f64) -> Estimate {
    LogSummary::untrimmed_from_pairs(pairs).unwrap().estimate(confidence).unwrap()
}

/// The share of tries that come out true.
pub fn share(tries: u32, mut attempt: impl FnMut() -> bool) -> f64 {
    f64::from((0..tries).map(|_| u32::from(attempt())).sum::<u32>()) / f64::from(tries)
}
