//! Compares levels during a run by ratios alone. The report judges them once, at the end.

use std::collections::BTreeMap;

use bakeoff_experiment::{Experiment, TrialPlan, without_alias};
use bakeoff_results::{Levels, Trial, TrialSummary};

/// Ratios nearer to 1 than this, either way, are shown as one word.
const ALIKE: f64 = 1.05;

pub struct InterimRatios {
    compare: &'static str,
    levels: Vec<String>,
    sizes: BTreeMap<u32, usize>,
    varied: Vec<&'static str>,
    conditions: BTreeMap<Levels, BTreeMap<u32, BlockMeans>>,
}

/// The latest attempt of a block: the mean seconds of each operation at each level.
#[derive(Default)]
struct BlockMeans {
    attempt: u32,
    trials: usize,
    means: BTreeMap<String, BTreeMap<String, f64>>,
}

impl InterimRatios {
    pub fn new(experiment: &Experiment, plan: &TrialPlan) -> Self {
        let sizes = plan.blocks.iter().map(|block| (block.number, block.trials.len())).collect();
        let others = experiment.factors.keys().filter(|factor| **factor != experiment.compare);
        let varied = others.filter(|factor| experiment.run_levels(**factor).len() > 1);
        Self {
            compare: experiment.compare.name(),
            levels: experiment.run_levels(experiment.compare),
            sizes,
            varied: varied.map(|factor| factor.name()).collect(),
            conditions: BTreeMap::new(),
        }
    }

    pub fn resume(&mut self, trials: &[TrialSummary]) {
        for trial in trials.iter().filter(|trial| trial.valid) {
            let operations = trial.operations.iter();
            let means = operations.filter_map(|it| Some((it.name.clone(), it.mean_s?)));
            self.add_means((trial.block, trial.attempt), &trial.levels, means.collect());
        }
    }

    /// Takes a finished trial. After the last trial of a block, returns how its condition stands.
    pub fn take_trial(&mut self, trial: &Trial) -> Option<String> {
        let measured = trial.measured.as_ref().filter(|_| trial.valid);
        let operations = measured.iter().flat_map(|it| &it.operations);
        let counted = operations.filter(|it| !it.kept.is_empty());
        let means = counted.map(|it| (it.name.clone(), it.kept.mean() / 1e9));
        self.add_means((trial.block, trial.attempt), &trial.levels, means.collect());
        let condition = self.condition_levels(&trial.levels);
        let block = self.conditions.get(&condition)?.get(&trial.block)?;
        let is_whole = self.sizes.get(&trial.block) == Some(&block.trials);
        if is_whole { self.describe_condition(&condition) } else { None }
    }

    fn condition_levels(&self, levels: &Levels) -> Levels {
        let mut condition = levels.clone();
        condition.remove(self.compare);
        condition
    }

    fn add_means(
        &mut self,
        (number, attempt): (u32, u32),
        of: &Levels,
        means: BTreeMap<String, f64>,
    ) {
        let condition = self.condition_levels(of);
        let blocks = self.conditions.entry(condition).or_default();
        let block = blocks.entry(number).or_default();
        if attempt > block.attempt {
            // A disturbed block is run again as a whole.
            *block = BlockMeans { attempt, ..BlockMeans::default() };
        }
        block.trials += 1;
        if let Some(level) = of.get(self.compare) {
            block.means.insert(level.clone(), means);
        }
    }

    /// As `durability strict: fjall 1.3 times as fast as sqlite, so far (4 blocks)`; `None` without
    /// anything to compare.
    fn describe_condition(&self, condition: &Levels) -> Option<String> {
        let blocks = self.conditions.get(condition)?;
        let (baseline, others) = self.levels.split_first()?;
        let mut told: Vec<String> = Vec::new();
        let mut most = 0;
        // An alias of the baseline measures noise.
        for level in others.iter().filter(|level| without_alias(level) != without_alias(baseline)) {
            let pairs = blocks.values().filter_map(|block| block.mean_ratio(baseline, level));
            let logarithms: Vec<f64> = pairs.map(f64::ln).collect();
            if logarithms.is_empty() {
                continue;
            }
            most = most.max(logarithms.len());
            let ratio = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
            told.push(format!("{level} {} {baseline}", in_words(ratio)));
        }
        if told.is_empty() {
            return None;
        }
        let varied = self.varied.iter();
        let place: Vec<String> =
            varied.filter_map(|name| Some(format!("{name} {}", condition.get(*name)?))).collect();
        let place =
            if place.is_empty() { String::new() } else { format!("{}: ", place.join(", ")) };
        let blocks = if most == 1 { "block" } else { "blocks" };
        Some(format!("{place}{}, so far ({most} {blocks})", told.join(", ")))
    }
}

impl BlockMeans {
    /// All operations weigh alike. `None` if the block lacks one of the two.
    fn mean_ratio(&self, baseline: &str, level: &str) -> Option<f64> {
        let (of, to) = (self.means.get(baseline)?, self.means.get(level)?);
        let both = to.iter().filter_map(|(name, mean)| Some(mean / of.get(name)?));
        let logarithms: Vec<f64> =
            both.filter(|it| it.is_finite() && *it > 0.0).map(f64::ln).collect();
        let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
        (!logarithms.is_empty()).then(|| mean.exp())
    }
}

/// Puts a ratio of times in words; the name of the baseline follows.
fn in_words(ratio: f64) -> String {
    match ratio {
        it if it > ALIKE => format!("{it:.1} times as long as"),
        it if it < 1.0 / ALIKE => format!("{:.1} times as fast as", 1.0 / it),
        _ => "about the same as".into(),
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_experiment::Factor;

    use super::*;
    use crate::tests::{load_experiment, make_trial, measure_reads};

    /// Three engines, of which the first runs twice, at two levels of durability.
    fn so_far() -> (InterimRatios, TrialPlan) {
        let experiment = load_experiment(
            "workload = 'point'\nengine = ['sqlite', 'lmdb', 'fjall']\nnoise_floor = true\n\
             durability = ['strict', 'relaxed']\nrepetitions = 2\n",
        );
        let plan = experiment.plan();
        (InterimRatios::new(&experiment, &plan), plan)
    }

    fn trial(of: &bakeoff_experiment::TrialBlock, place: usize, milliseconds: f64) -> Trial {
        make_trial(of, &of.trials[place], measure_reads(1, milliseconds))
    }

    /// What is told of a block whose engines take so long; nothing before its last trial.
    fn told(
        so_far: &mut InterimRatios,
        of: &bakeoff_experiment::TrialBlock,
        times: [f64; 3],
    ) -> String {
        let mut told = Vec::new();
        for (place, planned) in of.trials.iter().enumerate() {
            let at = match planned.cell.base(Factor::ENGINE) {
                "lmdb" => 1,
                "fjall" => 2,
                _ => 0,
            };
            told.push(so_far.take_trial(&trial(of, place, times[at])));
        }
        let last = told.pop().flatten();
        assert!(told.iter().all(Option::is_none), "{told:?}");
        last.expect("the block is whole")
    }

    #[test]
    fn a_block_tells_how_its_condition_stands() {
        let (mut so_far, plan) = so_far();
        let strict = |block: &&bakeoff_experiment::TrialBlock| {
            block.trials[0].cell.to_map()["durability"] == "strict"
        };
        let blocks: Vec<_> = plan.blocks.iter().filter(strict).collect();
        let other = plan.blocks.iter().find(|block| !strict(block)).unwrap();
        assert_eq!(
            told(&mut so_far, blocks[0], [10.0, 20.0, 5.0]),
            "durability strict: lmdb 2.0 times as long as sqlite, fjall 2.0 times as fast as sqlite, so far (1 block)"
        );
        assert_eq!(
            told(&mut so_far, other, [10.0, 10.0, 10.0]),
            "durability relaxed: lmdb about the same as sqlite, fjall about the same as sqlite, so far (1 block)"
        );
        // The geometric mean of 2 and 8, and of 1/2 and 1/8.
        assert_eq!(
            told(&mut so_far, blocks[1], [10.0, 80.0, 1.25]),
            "durability strict: lmdb 4.0 times as long as sqlite, fjall 4.0 times as fast as sqlite, so far (2 blocks)"
        );
    }

    #[test]
    fn a_block_that_is_run_again_takes_the_place_of_what_was_disturbed() {
        let (mut so_far, plan) = so_far();
        let block = &plan.blocks[0];
        let _ = told(&mut so_far, block, [10.0, 20.0, 20.0]);
        let mut last = None;
        for place in 0..block.trials.len() {
            let is_baseline = block.trials[place].cell.base(Factor::ENGINE) == "sqlite";
            let time = if is_baseline { 10.0 } else { 30.0 };
            last = so_far.take_trial(&Trial { attempt: 1, ..trial(block, place, time) });
        }
        let last = last.expect("the block is whole again");
        let told =
            "lmdb 3.0 times as long as sqlite, fjall 3.0 times as long as sqlite, so far (1 block)";
        assert!(last.ends_with(told), "{last}");
    }
}
