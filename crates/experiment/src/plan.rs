//! The trials of an experiment, in the order in which they run.

use std::collections::BTreeMap;

use bakeoff_factor::DEFAULT;

use crate::factor::OptionFactor;
use crate::random::SplitMix64;
use crate::{Experiment, Factor, Memory, Neighbours, Rate, State, level};

/// All trials, in blocks.
///
/// In a block are all levels of the compared factor, all other levels equal. A repetition is one
/// pass over all blocks, in shuffled order; over as many repetitions as there are compared
/// levels, each level has every place in its block once, and, if their number is even, follows
/// every other level once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The blocks, in running order.
    pub blocks: Vec<Block>,
}

/// What is run back to back, and compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its place in the plan, from 0.
    pub number: u32,
    /// Which pass over all blocks it belongs to, from 0.
    pub repetition: u32,
    /// Its trials, in running order.
    pub trials: Vec<PlannedTrial>,
}

/// One run of one cell, to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTrial {
    /// Its place in the block, from 0.
    pub order: u32,
    /// What is run.
    pub cell: Cell,
}

/// A level of each factor that the workload has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    levels: BTreeMap<Factor, String>,
}

impl Plan {
    /// How many trials there are.
    pub fn trials(&self) -> usize {
        self.blocks.iter().map(|block| block.trials.len()).sum()
    }
}

impl Cell {
    /// Of these levels.
    fn new(levels: impl Iterator<Item = (Factor, String)>) -> Self {
        Self { levels: levels.collect() }
    }

    /// The level of a factor, without its alias; `None` where the workload has no such factor.
    pub fn level(&self, factor: Factor) -> Option<&str> {
        self.levels.get(&factor).map(|level| level::base(level))
    }

    /// The level of a factor, with its alias if it has one.
    ///
    /// # Panics
    /// When the workload has no such factor.
    pub fn get(&self, factor: Factor) -> &str {
        &self.levels[&factor]
    }

    /// The level of a factor, without its alias: what is to be staged.
    ///
    /// # Panics
    /// When the workload has no such factor.
    pub fn base(&self, factor: Factor) -> &str {
        level::base(self.get(factor))
    }

    /// How many clients work at once; one where the workload has no such factor.
    pub fn clients(&self) -> usize {
        self.read(Factor::CLIENTS, |level| level.parse().ok())
    }

    /// How much memory the engine has; unlimited where the workload has no such factor.
    pub fn memory(&self) -> Memory {
        self.read(Factor::MEMORY, Memory::parse)
    }

    /// The other load on the disk; none where the workload has no such factor.
    pub fn neighbours(&self) -> Neighbours {
        self.read(Factor::NEIGHBOURS, Neighbours::parse)
    }

    /// What the engine has behind it; warm where the workload has no such factor.
    pub fn state(&self) -> State {
        self.read(Factor::STATE, State::parse)
    }

    /// When operations start; in a closed loop where the workload has no such factor.
    pub fn rate(&self) -> Rate {
        self.read(Factor::RATE, Rate::parse)
    }

    /// What the level of a factor of the lab's own says, or its default where the workload has no
    /// such factor.
    fn read<T>(&self, factor: Factor, parse: impl Fn(&str) -> Option<T>) -> T {
        let level = self.level(factor).or(factor.default_level());
        level.and_then(parse).expect("a plan holds checked levels alone")
    }

    /// The options that factors give its engine or its disk, with the level of each, without its
    /// alias. One that is left as it is, [`DEFAULT`], is not given.
    pub fn options(&self) -> impl Iterator<Item = (&'static OptionFactor, &str)> {
        let all = self.levels.iter().filter_map(|(factor, level)| match factor {
            Factor::Option(option) => Some((*option, level::base(level))),
            Factor::Own(_) | Factor::Declared(_) => None,
        });
        all.filter(|(_, level)| *level != DEFAULT)
    }

    /// The levels by the factors' names.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        let named = |(factor, level): (&Factor, &String)| (factor.to_string(), level.clone());
        self.levels.iter().map(named).collect()
    }
}

impl Experiment {
    /// All trials, in the order in which they run: the same for the same experiment, always.
    pub fn plan(&self) -> Plan {
        lay_out(self)
    }

    /// A cell with that engine at that level of durability, on the disk whose power is cut: of each
    /// other factor the first level.
    pub fn cut_cell(&self, engine: &str, durability: &str) -> Cell {
        let level = |(factor, levels): (&Factor, &Vec<String>)| {
            let disk = self.cut_disk().map(|disk| (Factor::DISK, disk));
            let given = [(Factor::ENGINE, engine), (Factor::DURABILITY, durability)];
            let given = given.into_iter().chain(disk).find(|(own, _)| own == factor);
            let level = given.map_or_else(|| level::base(&levels[0]), |(_, level)| level);
            (*factor, level.to_owned())
        };
        Cell::new(self.factors.iter().map(level))
    }
}

/// What a generator is for; a word of its seed.
const BLOCKS: u64 = 1;
const ORDER: u64 = 2;

/// Lays out the trials of an experiment.
fn lay_out(experiment: &Experiment) -> Plan {
    let compared = experiment.levels(experiment.compare);
    let combinations = combinations(experiment);
    let mut blocks = Vec::new();
    for repetition in 0..experiment.most_repetitions() {
        let mut running: Vec<usize> = (0..combinations.len()).collect();
        SplitMix64::of(&[experiment.seed, BLOCKS, repetition.into()]).shuffle(&mut running);
        for combination in running {
            let order = order(experiment.seed, combination, repetition, compared.len());
            let trials = (0..).zip(order).map(|(order, level)| {
                let mut levels = combinations[combination].clone();
                levels.insert(experiment.compare, compared[level].clone());
                PlannedTrial { order, cell: Cell { levels } }
            });
            let trials = trials.collect();
            blocks.push(Block { number: blocks.len() as u32, repetition, trials });
        }
    }
    Plan { blocks }
}

/// All combinations of the levels of the factors that are not compared.
fn combinations(experiment: &Experiment) -> Vec<BTreeMap<Factor, String>> {
    let mut combinations = vec![BTreeMap::new()];
    let factors = experiment.factors.keys().copied();
    for factor in factors.filter(|factor| *factor != experiment.compare) {
        let levels = experiment.levels(factor);
        let extended = combinations.iter().flat_map(|combination| {
            levels.iter().map(move |level| {
                let mut combination = combination.clone();
                combination.insert(factor, level.clone());
                combination
            })
        });
        combinations = extended.collect();
    }
    combinations
}

/// The order of a block's levels. Each group of as many repetitions as there are levels runs
/// through the rows of a Williams square whose letters are shuffled (E. J. Williams, "Experimental
/// designs balanced for the estimation of residual effects of treatments", 1949): every level has
/// every place once, and if their number is even, every level follows every other once.
fn order(seed: u64, combination: usize, repetition: u32, levels: usize) -> Vec<usize> {
    let (group, row) = (repetition as usize / levels, repetition as usize % levels);
    let mut letters: Vec<usize> = (0..levels).collect();
    SplitMix64::of(&[seed, ORDER, combination as u64, group as u64]).shuffle(&mut letters);
    // The first row goes to and fro: 0, 1, n - 1, 2, n - 2 ...
    let first = |place: usize| if place % 2 == 1 { place / 2 + 1 } else { levels - place / 2 };
    (0..levels).map(|place| letters[(first(place) + row) % levels]).collect()
}
