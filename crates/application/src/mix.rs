//! How often clients choose each operation.

use bakeoff_workloads::WorkloadRandom;
use rand::RngExt as _;

use crate::Mistakes;
use crate::configuration::Mix;

/// Operations in proportion to their weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationMix {
    pub name: String,
    /// Sums of the weights up to each operation.
    sums: Vec<u64>,
}

impl OperationMix {
    /// By the weights of all operations, in their order.
    pub fn new(name: &str, weights: impl IntoIterator<Item = u32>) -> Self {
        let mut sum = 0;
        let sums = weights.into_iter().map(|weight| {
            sum += u64::from(weight);
            sum
        });
        Self { name: name.into(), sums: sums.collect() }
    }

    /// By the file's names, which must be of operations.
    pub fn from_names(mix: &Mix, operations: &[String], mistakes: &mut Mistakes) -> Self {
        for (name, _) in &mix.weights {
            if !operations.contains(&name.text) {
                let known = operations.join(", ");
                let what = format!("there is no operation `{}`; there are {known}", name.text);
                mistakes.add(name.place.clone(), what);
            }
        }
        let weight = |operation: &String| {
            let named = mix.weights.iter().filter(|(name, _)| name.text == *operation);
            named.map(|(_, weight)| *weight).sum()
        };
        Self::new(&mix.name, operations.iter().map(weight))
    }

    /// Whether clients ever choose an operation.
    pub fn has(&self, operation: usize) -> bool {
        let before = operation.checked_sub(1).map_or(0, |before| self.sums[before]);
        self.sums[operation] > before
    }

    /// The next operation's number.
    pub fn choose_operation(&self, random: &mut WorkloadRandom) -> usize {
        match self.sums[..] {
            [_] => 0,
            _ => {
                let total = self.sums.last().copied().unwrap_or(1);
                let dice = random.random_range(0..total);
                self.sums.partition_point(|sum| *sum <= dice)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_workloads::seed_stream;

    use super::*;

    #[test]
    fn operations_come_as_often_as_they_weigh() {
        let mix = OperationMix::new("shop", [0, 9, 0, 1]);
        let mut random = seed_stream(1, 0);
        let mut times = [0; 4];
        (0..10_000).for_each(|_| times[mix.choose_operation(&mut random)] += 1);
        assert_eq!((times[0], times[2]), (0, 0));
        assert!((8_900..9_100).contains(&times[1]), "{times:?}");
        assert_eq!([0, 1, 2, 3].map(|operation| mix.has(operation)), [false, true, false, true]);
    }
}
