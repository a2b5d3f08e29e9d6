//! The trials of an experiment, in the order in which they run.

use std::collections::BTreeMap;

use bakeoff_factor::DEFAULT;

use crate::factor::OptionFactor;
use crate::random::SplitMix64;
use crate::{
    Cpus, CutBy, EngineState, Experiment, Factor, MemoryLimit, NeighbourLoad, Rate, level,
};

/// All trials, in blocks.
///
/// In a block are all levels of the compared factor, all other levels equal. A repetition is one
/// pass over all blocks, in shuffled order; over as many repetitions as there are compared
/// levels, each level has every place in its block once, and, if their number is even, follows
/// every other level once.
///
/// Blocks of trials that are to be steady and that differ in their neighbours alone follow each other
/// ([`TrialBlock::shares_conditioning`]), all with the levels in one order; over as many repetitions as
/// there are levels of neighbours, each has every place among them once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialPlan {
    /// The blocks, in running order.
    pub blocks: Vec<TrialBlock>,
}

/// What is run back to back, and compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialBlock {
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

impl TrialPlan {
    /// How many trials there are.
    pub fn trials(&self) -> usize {
        self.blocks.iter().map(|block| block.trials.len()).sum()
    }

    /// How many of them are conditioned first: of those that are to be steady, all that do not follow the
    /// conditioning of another.
    pub fn conditionings(&self) -> usize {
        let steady = |it: &&PlannedTrial| it.cell.state() == EngineState::Steady;
        let of = |blocks: Vec<&TrialBlock>| blocks[0].trials.iter().filter(steady).count();
        sequences(&self.blocks, |block| block).into_iter().map(of).sum()
    }
}

/// Splits trials, or whatever has a block each, into sequences: blocks that follow each other and share
/// their conditioning.
pub fn sequences<T>(all: &[T], block: impl Fn(&T) -> &TrialBlock) -> Vec<Vec<&T>> {
    let mut sequences: Vec<Vec<&T>> = Vec::new();
    for next in all {
        let shares = |it: &&T| block(it).shares_conditioning(block(next));
        match sequences.last_mut() {
            Some(last) if last.iter().all(shares) => last.push(next),
            _ => sequences.push(vec![next]),
        }
    }
    sequences
}

impl TrialBlock {
    /// Whether one conditioning can serve the trials of both: they belong to one repetition, are to be
    /// steady, and differ in their neighbours alone, which can be changed while an engine goes on.
    /// Where neighbours are what is compared, each trial is conditioned by itself: none is to owe what
    /// another has put off.
    pub fn shares_conditioning(&self, other: &Self) -> bool {
        let alike = |(own, other): (&PlannedTrial, &PlannedTrial)| {
            let steady = own.cell.state() == EngineState::Steady;
            let (mut a, mut b) = (own.cell.levels.clone(), other.cell.levels.clone());
            let differ = a.remove(&Factor::NEIGHBOURS) != b.remove(&Factor::NEIGHBOURS);
            steady && differ && a == b
        };
        let pairs = || self.trials.iter().zip(&other.trials);
        self.repetition == other.repetition
            && self.trials.len() == other.trials.len()
            && !self.trials.is_empty()
            && pairs().all(alike)
    }
}

impl Cell {
    /// Of these levels.
    fn new(levels: impl Iterator<Item = (Factor, String)>) -> Self {
        Self { levels: levels.collect() }
    }

    /// The same with another level of one factor, in its canonical form.
    #[must_use]
    pub fn with(&self, factor: Factor, level: String) -> Self {
        let mut levels = self.levels.clone();
        levels.insert(factor, level);
        Self { levels }
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
    pub fn memory(&self) -> MemoryLimit {
        self.read(Factor::MEMORY, MemoryLimit::parse)
    }

    /// How many processors the engine has; unlimited where the workload has no such factor.
    pub fn cpus(&self) -> Cpus {
        self.read(Factor::CPUS, Cpus::parse)
    }

    /// The other load on the disk; none where the workload has no such factor.
    pub fn neighbours(&self) -> NeighbourLoad {
        self.read(Factor::NEIGHBOURS, NeighbourLoad::parse)
    }

    /// The engine's caches and deferred work at the start; warm where the workload has no such factor.
    pub fn state(&self) -> EngineState {
        self.read(Factor::STATE, EngineState::parse)
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
    pub fn plan(&self) -> TrialPlan {
        lay_out(self)
    }

    /// The cell of what promises something, an engine unless the cuts say otherwise, at that level of
    /// its promise, on the disk whose power is cut, with as many clients as are at work then
    /// ([`Experiment::cut_clients`]): of each other factor the first level, or the one that cuts have in its
    /// place.
    pub fn cut_cell(&self, subject: &str, promised: &str) -> Cell {
        let by = self.cuts.as_ref().map(|cuts| &cuts.by);
        let [who, what] = by.map_or(CutBy::OF_ENGINES, |by| by.promise);
        let level = |(factor, levels): (&Factor, &Vec<String>)| {
            let disk = self.cut_disk().map(|disk| (Factor::DISK, disk));
            let clients = (*factor == Factor::CLIENTS).then(|| self.cut_clients().to_string());
            let clients = clients.as_deref().map(|most| (Factor::CLIENTS, most));
            let given = [(who, subject), (what, promised)].into_iter().chain(disk).chain(clients);
            let first = || {
                let first = level::base(&levels[0]);
                by.map_or(first, |by| by.level(*factor, first))
            };
            let level = given.into_iter().find(|(own, _)| own == factor);
            (*factor, level.map_or_else(first, |(_, level)| level).to_owned())
        };
        Cell::new(self.factors.iter().map(level))
    }
}

/// What a generator is for; a word of its seed.
const BLOCKS: u64 = 1;
const ORDER: u64 = 2;
const SEQUENCE: u64 = 7;

/// Lays out the trials of an experiment.
fn lay_out(experiment: &Experiment) -> TrialPlan {
    let (seed, compared) = (experiment.seed, experiment.levels(experiment.compare));
    let combinations = combinations(experiment);
    let sequences = sharing(&combinations);
    let mut blocks = Vec::new();
    for repetition in 0..experiment.most_repetitions() {
        let mut running: Vec<&Vec<usize>> = sequences.iter().collect();
        SplitMix64::from_words(&[seed, BLOCKS, repetition.into()]).shuffle(&mut running);
        for sequence in running {
            let first = sequence[0];
            let levels = order([seed, ORDER, first as u64], repetition, compared.len());
            for place in order([seed, SEQUENCE, first as u64], repetition, sequence.len()) {
                let trials = (0..).zip(&levels).map(|(order, level)| {
                    let mut levels = combinations[sequence[place]].clone();
                    levels.insert(experiment.compare, compared[*level].clone());
                    PlannedTrial { order, cell: Cell { levels } }
                });
                let trials = trials.collect();
                blocks.push(TrialBlock { number: blocks.len() as u32, repetition, trials });
            }
        }
    }
    TrialPlan { blocks }
}

/// Combinations whose blocks share a conditioning, each by its place; all others by themselves.
fn sharing(combinations: &[BTreeMap<Factor, String>]) -> Vec<Vec<usize>> {
    let mut sequences: Vec<Vec<usize>> = Vec::new();
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for (place, combination) in combinations.iter().enumerate() {
        let state = combination.get(&Factor::STATE).map(|level| level::base(level));
        if state.and_then(EngineState::parse) != Some(EngineState::Steady) {
            sequences.push(vec![place]);
            continue;
        }
        let mut shared = combination.clone();
        shared.remove(&Factor::NEIGHBOURS);
        match known.get(&shared) {
            Some(sequence) => sequences[*sequence].push(place),
            None => {
                known.insert(shared, sequences.len());
                sequences.push(vec![place]);
            }
        }
    }
    sequences
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

/// The order of a block's levels, or of the blocks that share a conditioning, by a seed of its own.
/// Each group of as many repetitions as there are levels runs through the rows of a Williams square
/// whose letters are shuffled (E. J. Williams, "Experimental designs balanced for the estimation of
/// residual effects of treatments", 1949): every level has every place once, and if their number is
/// even, every level follows every other once.
fn order(seed: [u64; 3], repetition: u32, levels: usize) -> Vec<usize> {
    let (group, row) = (repetition as usize / levels, repetition as usize % levels);
    let mut letters: Vec<usize> = (0..levels).collect();
    let [seed, what, combination] = seed;
    SplitMix64::from_words(&[seed, what, combination, group as u64]).shuffle(&mut letters);
    // The first row goes to and fro: 0, 1, n - 1, 2, n - 2 ...
    let first = |place: usize| if place % 2 == 1 { place / 2 + 1 } else { levels - place / 2 };
    (0..levels).map(|place| letters[(first(place) + row) % levels]).collect()
}
