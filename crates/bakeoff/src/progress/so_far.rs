//! How the compared levels stand so far, for somebody who watches a run: ratios alone. What they say is
//! judged in the report, once.

use std::collections::BTreeMap;

use bakeoff_experiment::{Experiment, TrialPlan, base};
use bakeoff_results::{Levels, Trial, TrialSummary};

/// Ratios that are nearer to 1 than this, either way, are told as one word.
const ALIKE: f64 = 1.05;

/// The trials that have ended, by their conditions and blocks.
pub struct SoFar {
    /// The compared factor, and its levels in order.
    compare: &'static str,
    levels: Vec<String>,
    /// How many trials each block of the plan has.
    sizes: BTreeMap<u32, usize>,
    /// The other factors that vary.
    varied: Vec<&'static str>,
    /// Of each condition its blocks, by their numbers.
    conditions: BTreeMap<Levels, BTreeMap<u32, BlockMeans>>,
}

/// A block: the latest attempt at it, and the mean seconds of each operation at each level.
#[derive(Default)]
struct BlockMeans {
    attempt: u32,
    trials: usize,
    means: BTreeMap<String, BTreeMap<String, f64>>,
}

impl SoFar {
    /// Of a plan of which nothing has ended yet.
    pub fn new(experiment: &Experiment, plan: &TrialPlan) -> Self {
        let sizes = plan.blocks.iter().map(|block| (block.number, block.trials.len())).collect();
        let others = experiment.factors.keys().filter(|factor| **factor != experiment.compare);
        let varied = others.filter(|factor| experiment.levels(**factor).len() > 1);
        Self {
            compare: experiment.compare.name(),
            levels: experiment.levels(experiment.compare),
            sizes,
            varied: varied.map(|factor| factor.name()).collect(),
            conditions: BTreeMap::new(),
        }
    }

    /// Takes trials of an earlier sitting.
    pub fn resume(&mut self, trials: &[TrialSummary]) {
        for trial in trials.iter().filter(|trial| trial.valid) {
            let operations = trial.operations.iter();
            let means = operations.filter_map(|it| Some((it.name.clone(), it.mean_s?)));
            self.add((trial.block, trial.attempt), &trial.levels, means.collect());
        }
    }

    /// Takes a trial that has ended. Where it was the last of its block, how its condition stands.
    pub fn take(&mut self, trial: &Trial) -> Option<String> {
        let measured = trial.measured.as_ref().filter(|_| trial.valid);
        let operations = measured.iter().flat_map(|it| &it.operations);
        let counted = operations.filter(|it| !it.kept.is_empty());
        let means = counted.map(|it| (it.name.clone(), it.kept.mean() / 1e9));
        self.add((trial.block, trial.attempt), &trial.levels, means.collect());
        let condition = self.condition(&trial.levels);
        let block = self.conditions.get(&condition)?.get(&trial.block)?;
        let is_whole = self.sizes.get(&trial.block) == Some(&block.trials);
        if is_whole { self.told(&condition) } else { None }
    }

    fn condition(&self, levels: &Levels) -> Levels {
        let mut condition = levels.clone();
        condition.remove(self.compare);
        condition
    }

    fn add(&mut self, (number, attempt): (u32, u32), of: &Levels, means: BTreeMap<String, f64>) {
        let condition = self.condition(of);
        let blocks = self.conditions.entry(condition).or_default();
        let block = blocks.entry(number).or_default();
        if attempt > block.attempt {
            // What was disturbed is run again as a whole.
            *block = BlockMeans { attempt, ..BlockMeans::default() };
        }
        block.trials += 1;
        if let Some(level) = of.get(self.compare) {
            block.means.insert(level.clone(), means);
        }
    }

    /// `durability strict: fjall 1.3 times as fast as sqlite, lmdb 1.7 times as long as sqlite, so far (4 blocks)`;
    /// `None` where there is nothing to compare.
    fn told(&self, condition: &Levels) -> Option<String> {
        let blocks = self.conditions.get(condition)?;
        let (baseline, others) = self.levels.split_first()?;
        let mut told: Vec<String> = Vec::new();
        let mut most = 0;
        // An alias of the baseline measures noise.
        for level in others.iter().filter(|level| base(level) != base(baseline)) {
            let pairs = blocks.values().filter_map(|block| block.ratio(baseline, level));
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
    /// How many times as long a level's operations take, all of them alike in weight; `None` where the
    /// block does not have both.
    fn ratio(&self, baseline: &str, level: &str) -> Option<f64> {
        let (of, to) = (self.means.get(baseline)?, self.means.get(level)?);
        let both = to.iter().filter_map(|(name, mean)| Some(mean / of.get(name)?));
        let logarithms: Vec<f64> =
            both.filter(|it| it.is_finite() && *it > 0.0).map(f64::ln).collect();
        let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
        (!logarithms.is_empty()).then(|| mean.exp())
    }
}

/// A ratio of times, before the name of what it is held against.
fn in_words(ratio: f64) -> String {
    match ratio {
        it if it > ALIKE => format!("{it:.1} times as long as"),
        it if it < 1.0 / ALIKE => format!("{:.1} times as fast as", 1.0 / it),
        _ => "about the same as".into(),
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_experiment::{Factor, FlagOverrides};
    use bakeoff_results::{Debts, Measures, OperationRecord, TrialMeasurements, histogram};

    use super::*;
    use crate::Lab;

    /// Three engines, of which the first runs twice, at two levels of durability.
    fn so_far() -> (SoFar, TrialPlan) {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("e.toml");
        let toml = "workload = 'point'\nengine = ['sqlite', 'lmdb', 'fjall']\nnoise_floor = true\n\
                    durability = ['strict', 'relaxed']\nrepetitions = 2\n";
        std::fs::write(&file, toml).unwrap();
        let vocabulary = Lab::standard().registry.vocabulary();
        let file = file.to_string_lossy();
        let experiment = Experiment::load(&file, &FlagOverrides::default(), &vocabulary).unwrap();
        let plan = experiment.plan();
        (SoFar::new(&experiment, &plan), plan)
    }

    fn trial(of: &bakeoff_experiment::TrialBlock, place: usize, milliseconds: f64) -> Trial {
        let planned = &of.trials[place];
        let mut kept = histogram::empty();
        kept.record((milliseconds * 1e6) as u64).unwrap();
        let operation = OperationRecord {
            name: "read".into(),
            kept,
            unfinished: 0,
            per_second: 1.0,
            service: None,
            slots: Vec::new(),
            errors: 0,
            retries: 0,
        };
        Trial {
            repetition: of.repetition,
            block: of.number,
            attempt: 0,
            order: planned.order,
            levels: planned.cell.to_map(),
            started_s: 0.0,
            valid: true,
            reason: None,
            measured: Some(TrialMeasurements {
                ran_s: 1.0,
                window_s: (0.0, 1.0),
                operations: vec![operation],
                measures: Measures::default(),
                debts: Debts::default(),
                warnings: Vec::new(),
            }),
        }
    }

    /// What is told of a block whose engines take so long; nothing before its last trial.
    fn told(so_far: &mut SoFar, of: &bakeoff_experiment::TrialBlock, times: [f64; 3]) -> String {
        let mut told = Vec::new();
        for (place, planned) in of.trials.iter().enumerate() {
            let at = match planned.cell.base(Factor::ENGINE) {
                "lmdb" => 1,
                "fjall" => 2,
                _ => 0,
            };
            told.push(so_far.take(&trial(of, place, times[at])));
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
            last = so_far.take(&Trial { attempt: 1, ..trial(block, place, time) });
        }
        let last = last.expect("the block is whole again");
        let told =
            "lmdb 3.0 times as long as sqlite, fjall 3.0 times as long as sqlite, so far (1 block)";
        assert!(last.ends_with(told), "{last}");
    }
}
