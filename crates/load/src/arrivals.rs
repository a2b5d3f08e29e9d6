//! Arrival processes: how the starts of an open loop follow each other.

use std::fmt;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// An arrival process. Two are the same where they have the same name.
#[derive(Clone, Copy)]
pub struct ArrivalProcess {
    /// Its name: letters, digits and dashes.
    pub name: &'static str,
    /// What its gaps are, in a few words: `in even gaps`.
    pub summary: &'static str,
    /// The gap before a start, in mean gaps: 0 or above, and 1 on average. It is given the number of
    /// the start, from 0, and draws all that is random, so that a seed gives the same starts
    /// always. It is called while other clients wait for their starts: it must be quick.
    pub gap: fn(u64, &mut ArrivalRandom) -> f64,
}

/// The arrival processes that are built in; the first is that of a rate without a name.
pub const ARRIVALS: [&ArrivalProcess; 2] = [&ArrivalProcess::EVEN, &ArrivalProcess::POISSON];

impl ArrivalProcess {
    /// All gaps are the same, and the first start is at once.
    pub const EVEN: Self = Self {
        name: "even",
        summary: "in even gaps",
        gap: |number, _| if number == 0 { 0.0 } else { 1.0 },
    };

    /// A Poisson process: gaps are exponential.
    pub const POISSON: Self = Self {
        name: "poisson",
        summary: "in random gaps, as those of many independent users",
        // Inversion: 1 - u is above 0.
        gap: |_, random| -(1.0 - random.uniform()).ln(),
    };
}

impl PartialEq for ArrivalProcess {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ArrivalProcess {}

impl fmt::Debug for ArrivalProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What gaps are drawn from: the same numbers for the same seed.
#[derive(Clone, Debug)]
pub struct ArrivalRandom(Xoshiro256PlusPlus);

impl ArrivalRandom {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The next number, 0 or above and below 1.
    pub fn uniform(&mut self) -> f64 {
        self.0.random()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_one_on_average() {
        for arrivals in ARRIVALS {
            let mut random = ArrivalRandom::new(7);
            let gaps = (0..100_000).map(|number| (arrivals.gap)(number, &mut random));
            let (mean, least) = gaps
                .fold((0.0, 0.0_f64), |(sum, least), gap| (sum + gap / 100_000.0, least.min(gap)));
            assert!((0.99..1.01).contains(&mean) && least == 0.0, "{arrivals:?}: {mean}, {least}");
        }
    }
}
