//! Arrival processes: the gaps between the starts of an open loop.

use std::fmt;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

#[derive(Clone, Copy)]
pub struct ArrivalProcess {
    pub name: &'static str,
    /// A short description: `in even gaps`.
    pub summary: &'static str,
    /// The gap before a start, in mean gaps: 0 or more, and 1 on average. It gets the number of the
    /// start, from 0, and must draw all randomness from the generator. It must be quick: other
    /// clients wait for their starts.
    pub gap: fn(u64, &mut ArrivalRandom) -> f64,
}

pub const ARRIVALS: [&ArrivalProcess; 2] = [&ArrivalProcess::EVEN, &ArrivalProcess::POISSON];

impl ArrivalProcess {
    pub const EVEN: Self = Self {
        name: "even",
        summary: "in even gaps",
        gap: |number, _| if number == 0 { 0.0 } else { 1.0 },
    };

    /// Exponential gaps.
    pub const POISSON: Self = Self {
        name: "poisson",
        summary: "in random gaps, as those of many independent users",
        // Inversion: 1 - u is above 0.
        gap: |_, random| -(1.0 - random.draw_uniform()).ln(),
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

#[derive(Clone, Debug)]
pub struct ArrivalRandom(Xoshiro256PlusPlus);

impl ArrivalRandom {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub fn draw_uniform(&mut self) -> f64 {
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
