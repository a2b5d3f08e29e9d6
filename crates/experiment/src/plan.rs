//! The trials of an experiment, in the order in which they run.

use std::collections::BTreeMap;

use bakeoff_engines::DEFAULT;

use crate::factor::OptionFactor;
use crate::images::assign_images;
use crate::random::SplitMix64;
use crate::{
    Cpus, CutBy, EngineState, Experiment, Factor, MemoryLimit, NeighbourLoad, Rate,
    ThreadPlacement, level,
};

/// A block has all levels of the compared factor, all other levels equal. A repetition is one pass
/// over all blocks, in shuffled order. Over as many repetitions as there are compared levels, each
/// level has every place in its block once; if their number is even, it follows every other level
/// once.
///
/// Steady blocks that differ only in their neighbours follow each other
/// ([`TrialBlock::shares_conditioning`]), with the levels in one order; over as many repetitions as
/// there are levels of neighbours, each has every place among them once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialPlan {
    pub blocks: Vec<TrialBlock>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialBlock {
    /// Its place in the plan, from 0.
    pub number: u32,
    /// From 0.
    pub repetition: u32,
    pub trials: Vec<PlannedTrial>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTrial {
    /// From 0.
    pub order: u32,
    pub cell: Cell,
    /// Which load of the engine's data it works on, from 0; the same for all levels of a block but
    /// for aliases.
    pub image: u32,
}

/// A level of each factor that the workload has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    levels: BTreeMap<Factor, String>,
}

impl TrialPlan {
    pub fn count_trials(&self) -> usize {
        self.blocks.iter().map(|block| block.trials.len()).sum()
    }

    /// Counts steady trials that do not follow the conditioning of another.
    pub fn count_conditionings(&self) -> usize {
        let steady = |it: &&PlannedTrial| it.cell.state() == EngineState::Steady;
        let of = |blocks: Vec<&TrialBlock>| blocks[0].trials.iter().filter(steady).count();
        group_sequences(&self.blocks, |block| block).into_iter().map(of).sum()
    }
}

pub fn group_sequences<T>(all: &[T], block: impl Fn(&T) -> &TrialBlock) -> Vec<Vec<&T>> {
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
    /// Whether one conditioning serves both: they are steady, of one repetition, and differ only in
    /// their neighbours, which can change while an engine goes on. If neighbours are compared, each
    /// trial has its own: none may owe work that another has put off.
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
    fn new(levels: impl Iterator<Item = (Factor, String)>) -> Self {
        Self { levels: levels.collect() }
    }

    #[must_use]
    pub fn with_level(&self, factor: Factor, level: String) -> Self {
        let mut levels = self.levels.clone();
        levels.insert(factor, level);
        Self { levels }
    }

    /// Without its alias; `None` if the workload has no such factor.
    pub fn level(&self, factor: Factor) -> Option<&str> {
        self.levels.get(&factor).map(|level| level::without_alias(level))
    }

    /// With its alias. Panics if the workload has no such factor.
    pub fn aliased_level(&self, factor: Factor) -> &str {
        &self.levels[&factor]
    }

    /// Without its alias. Panics if the workload has no such factor.
    pub fn base(&self, factor: Factor) -> &str {
        level::without_alias(self.aliased_level(factor))
    }

    pub fn clients(&self) -> usize {
        self.parse_level(Factor::CLIENTS, |level| level.parse().ok())
    }

    pub fn memory(&self) -> MemoryLimit {
        self.parse_level(Factor::MEMORY, MemoryLimit::parse)
    }

    pub fn cpus(&self) -> Cpus {
        self.parse_level(Factor::CPUS, Cpus::parse)
    }

    pub fn neighbours(&self) -> NeighbourLoad {
        self.parse_level(Factor::NEIGHBOURS, NeighbourLoad::parse)
    }

    pub fn state(&self) -> EngineState {
        self.parse_level(Factor::STATE, EngineState::parse)
    }

    pub fn placement(&self) -> ThreadPlacement {
        self.parse_level(Factor::PLACEMENT, ThreadPlacement::parse)
    }

    pub fn rate(&self) -> Rate {
        self.parse_level(Factor::RATE, Rate::parse)
    }

    /// The default if the workload has no such factor.
    fn parse_level<T>(&self, factor: Factor, parse: impl Fn(&str) -> Option<T>) -> T {
        let level = self.level(factor).or(factor.default_level());
        level.and_then(parse).expect("a plan holds checked levels alone")
    }

    /// Without alias; an option at [`DEFAULT`] is not given.
    pub fn options(&self) -> impl Iterator<Item = (&'static OptionFactor, &str)> {
        let all = self.levels.iter().filter_map(|(factor, level)| match factor {
            Factor::Option(option) => Some((*option, level::without_alias(level))),
            Factor::Own(_) | Factor::Declared(_) => None,
        });
        all.filter(|(_, level)| *level != DEFAULT)
    }

    pub fn to_map(&self) -> BTreeMap<String, String> {
        let named = |(factor, level): (&Factor, &String)| (factor.to_string(), level.clone());
        self.levels.iter().map(named).collect()
    }
}

impl Experiment {
    /// Always the same for the same experiment.
    pub fn plan(&self) -> TrialPlan {
        lay_out(self)
    }

    /// The cell of a power cut: this engine or disk at this promise, on the disk that is cut, with
    /// [`Experiment::cut_clients`]; of each other factor its first level, or the one that cuts use
    /// instead.
    pub fn cut_cell(&self, subject: &str, promised: &str) -> Cell {
        let by = self.cuts.as_ref().map(|cuts| &cuts.by);
        let [who, what] = by.map_or(CutBy::OF_ENGINES, |by| by.promise);
        let level = |(factor, levels): (&Factor, &Vec<String>)| {
            let disk = self.cut_disk().map(|disk| (Factor::DISK, disk));
            let clients = (*factor == Factor::CLIENTS).then(|| self.cut_clients().to_string());
            let clients = clients.as_deref().map(|most| (Factor::CLIENTS, most));
            let given = [(who, subject), (what, promised)].into_iter().chain(disk).chain(clients);
            let first = || {
                let first = level::without_alias(&levels[0]);
                by.map_or(first, |by| by.level_in_cuts(*factor, first))
            };
            let level = given.into_iter().find(|(own, _)| own == factor);
            (*factor, level.map_or_else(first, |(_, level)| level).to_owned())
        };
        Cell::new(self.factors.iter().map(level))
    }
}

/// The purpose of a generator: a word of its seed.
const BLOCKS: u64 = 1;
const ORDER: u64 = 2;
const SEQUENCE: u64 = 7;

fn lay_out(experiment: &Experiment) -> TrialPlan {
    let (seed, compared) = (experiment.seed, experiment.run_levels(experiment.compare));
    let combinations = combine_levels(experiment);
    let sequences = group_sharing(&combinations);
    let mut blocks = Vec::new();
    for repetition in 0..experiment.most_repetitions() {
        let mut running: Vec<&Vec<usize>> = sequences.iter().collect();
        SplitMix64::from_words(&[seed, BLOCKS, repetition.into()]).shuffle(&mut running);
        for sequence in running {
            let first = sequence[0];
            let levels = draw_order([seed, ORDER, first as u64], repetition, compared.len());
            for place in draw_order([seed, SEQUENCE, first as u64], repetition, sequence.len()) {
                let images = assign_images(experiment.images, repetition, &compared);
                let trials = (0..).zip(&levels).map(|(order, level)| {
                    let mut levels = combinations[sequence[place]].clone();
                    levels.insert(experiment.compare, compared[*level].clone());
                    PlannedTrial { order, cell: Cell { levels }, image: images[*level] }
                });
                let trials: Vec<_> = trials.filter(|it| is_run(experiment, &it.cell)).collect();
                if trials.is_empty() {
                    continue;
                }
                blocks.push(TrialBlock { number: blocks.len() as u32, repetition, trials });
            }
        }
    }
    TrialPlan { blocks }
}

/// Whether the engine's settings keep the cell's level of durability.
fn is_run(experiment: &Experiment, cell: &Cell) -> bool {
    let levels = cell.level(Factor::ENGINE).zip(cell.level(Factor::DURABILITY));
    levels.is_none_or(|(engine, durability)| experiment.runs_at(engine, durability))
}

fn group_sharing(combinations: &[BTreeMap<Factor, String>]) -> Vec<Vec<usize>> {
    let mut sequences: Vec<Vec<usize>> = Vec::new();
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for (place, combination) in combinations.iter().enumerate() {
        let state = combination.get(&Factor::STATE).map(|level| level::without_alias(level));
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

fn combine_levels(experiment: &Experiment) -> Vec<BTreeMap<Factor, String>> {
    let mut combinations = vec![BTreeMap::new()];
    let factors = experiment.factors.keys().copied();
    for factor in factors.filter(|factor| *factor != experiment.compare) {
        let levels = experiment.run_levels(factor);
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

/// The order of levels, or of blocks that share a conditioning. Each group of as many repetitions
/// as there are levels runs through the rows of a Williams square with shuffled letters (E. J.
/// Williams, "Experimental designs balanced for the estimation of residual effects of treatments",
/// 1949): every level has every place once; if their number is even, it follows every other once.
fn draw_order(seed: [u64; 3], repetition: u32, levels: usize) -> Vec<usize> {
    let (group, row) = (repetition as usize / levels, repetition as usize % levels);
    let mut letters: Vec<usize> = (0..levels).collect();
    let [seed, what, combination] = seed;
    SplitMix64::from_words(&[seed, what, combination, group as u64]).shuffle(&mut letters);
    // The first row goes to and fro: 0, 1, n - 1, 2, n - 2 ...
    let first = |place: usize| if place % 2 == 1 { place / 2 + 1 } else { levels - place / 2 };
    (0..levels).map(|place| letters[(first(place) + row) % levels]).collect()
}
