//! How the trials of an experiment are laid out.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{DEPTH, OF_FILES, load};
use bakeoff_experiment::{
    Cell, Experiment, Factor, FlagOverrides, MemoryLimit, NeighbourLoad, Rate, TrialBlock,
    TrialPlan,
};
use proptest::prelude::*;

const TOML: &str = "
workload = \"redmine\"
engine = [\"sqlite\", \"lmdb\", \"fjall\"]
clients = [1, 4]
neighbours = [\"0\", \"x2\"]
noise_floor = true
seed = 1
";

fn experiment(toml: &str) -> Experiment {
    load(toml, &FlagOverrides::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// The blocks of a plan as text, a line a block: what its cells share, and the compared levels.
fn lines(plan: &TrialPlan) -> Vec<String> {
    let line = |block: &TrialBlock| {
        let shared = &block.trials[0].cell;
        let engines: Vec<&str> =
            block.trials.iter().map(|trial| trial.cell.get(Factor::ENGINE)).collect();
        format!(
            "{}/{}: {} {}: {}",
            block.repetition,
            block.number,
            shared.get(Factor::CLIENTS),
            shared.get(Factor::NEIGHBOURS),
            engines.join(" ")
        )
    };
    plan.blocks.iter().map(line).collect()
}

/// A run is resumed by making its plan again, maybe with a later version of bakeoff: these orders
/// must never change.
#[test]
fn a_known_seed_gives_the_known_plan() {
    let plan = experiment(TOML).plan();
    let expected = [
        "0/0: 1 0: sqlite@again fjall lmdb sqlite",
        "0/1: 1 x2: lmdb sqlite@again sqlite fjall",
        "0/2: 4 0: sqlite fjall sqlite@again lmdb",
        "0/3: 4 x2: lmdb sqlite@again sqlite fjall",
        "1/4: 4 x2: sqlite@again fjall lmdb sqlite",
        "1/5: 1 x2: sqlite@again fjall lmdb sqlite",
        "1/6: 1 0: fjall sqlite sqlite@again lmdb",
        "1/7: 4 0: fjall lmdb sqlite sqlite@again",
    ];
    assert_eq!(lines(&plan)[..expected.len()], expected);
}

#[test]
fn steady_blocks_that_differ_in_neighbours_share_a_conditioning() {
    let steady = experiment(&format!("{TOML}state = [\"warm\", \"steady\"]\nrepetitions = 4\n"));
    let plan = steady.plan();
    let state = |block: &TrialBlock| block.trials[0].cell.get(Factor::STATE).to_owned();
    let neighbours = |block: &TrialBlock| block.trials[0].cell.get(Factor::NEIGHBOURS).to_owned();
    let engines = |block: &TrialBlock| -> Vec<String> {
        block.trials.iter().map(|trial| trial.cell.get(Factor::ENGINE).to_owned()).collect()
    };
    let pairs = plan.blocks.windows(2).filter(|pair| pair[0].shares_conditioning(&pair[1]));
    let pairs: Vec<&[TrialBlock]> = pairs.collect();
    // Two numbers of clients, four repetitions.
    assert_eq!(pairs.len(), 8);
    let mut first: BTreeMap<String, u32> = BTreeMap::new();
    for pair in &pairs {
        assert!(pair.iter().all(|block| state(block) == "steady"));
        assert_eq!(pair[0].repetition, pair[1].repetition);
        assert_eq!(engines(&pair[0]), engines(&pair[1]), "one order for both");
        *first.entry(neighbours(&pair[0])).or_default() += 1;
    }
    assert_eq!(first.into_values().collect::<Vec<_>>(), [4, 4], "each level as often the first");
    // As many trials of either state; a conditioning for each level of 8 pairs.
    assert_eq!((plan.trials(), plan.conditionings()), (128, 32));
    let warm = plan.blocks.iter().filter(|block| state(block) == "warm");
    let shares = |a: &TrialBlock| plan.blocks.iter().any(|b| a.shares_conditioning(b));
    assert!(!warm.into_iter().any(shares));
}

#[test]
fn neighbours_that_are_compared_share_nothing() {
    let toml = TOML.replace("noise_floor = true", "state = \"steady\"\ncompare = \"neighbours\"");
    let plan = experiment(&toml).plan();
    let all = || plan.blocks.iter();
    assert!(!all().any(|a| all().any(|b| a.shares_conditioning(b))));
    assert_eq!(plan.conditionings(), plan.trials());
    // Nor do states that are compared: a block of them is conditioned in parts.
    let states = "compare = \"state\"\nstate = [\"warm\", \"steady\"]";
    let plan = experiment(&TOML.replace("noise_floor = true", states)).plan();
    let all = || plan.blocks.iter();
    assert!(!all().any(|a| all().any(|b| a.shares_conditioning(b))));
}

#[test]
fn another_seed_gives_another_plan() {
    let plan = experiment(TOML).plan();
    assert_eq!(plan, experiment(TOML).plan());
    assert_ne!(plan, experiment(&TOML.replace("seed = 1", "seed = 2")).plan());
}

#[test]
fn a_cell_tells_what_to_stage() {
    let plan = experiment(TOML).plan();
    let cells: Vec<&Cell> =
        plan.blocks.iter().flat_map(|block| &block.trials).map(|trial| &trial.cell).collect();
    let again = cells.iter().find(|cell| cell.get(Factor::ENGINE) == "sqlite@again");
    assert_eq!(again.map(|cell| cell.base(Factor::ENGINE)), Some("sqlite"));
    let busy = cells
        .iter()
        .find(|cell| cell.get(Factor::CLIENTS) == "4" && cell.get(Factor::NEIGHBOURS) == "x2")
        .expect("the combination is planned");
    assert_eq!((busy.clients(), busy.neighbours()), (4, NeighbourLoad::Streams(2)));
    assert_eq!(busy.to_map()["durability"], "strict");
    assert_eq!(busy.to_map().len(), Factor::OWN.len());
}

#[test]
fn a_cell_has_the_factors_of_its_workload_and_no_others() {
    let toml = "workload = \"files\"\nrate = \"poisson:0.50/s\"\ndepth = [4, \"4@again\", 32]\n";
    let plan = experiment(toml).plan();
    let mut blocks = plan.blocks.iter();
    let block = blocks.next().expect("a block");
    let mut depths: Vec<&str> = block.trials.iter().map(|it| it.cell.get(DEPTH)).collect();
    depths.sort_unstable();
    assert_eq!(depths, ["32", "4", "4@again"]);
    let again = block.trials.iter().find(|it| it.cell.get(DEPTH) == "4@again");
    let cell = &again.expect("it is planned").cell;
    assert_eq!((cell.level(DEPTH), cell.base(DEPTH)), (Some("4"), "4"));
    assert_eq!((cell.level(Factor::ENGINE), cell.level(Factor::MEMORY)), (None, None));
    assert_eq!((cell.level(Factor::DISK), cell.memory()), (Some("host"), MemoryLimit::Unlimited));
    let open = Rate::Open { per_second: 0.5, arrivals: Some("poisson".to_owned()) };
    assert_eq!((cell.rate(), cell.clients()), (open, 1));
    assert_eq!(cell.to_map()["depth"], "4@again");
    assert_eq!(cell.to_map().len(), OF_FILES.len());
}

/// How often each level of the compared factor takes each place, a combination of the others.
fn places(
    plan: &TrialPlan,
    compare: Factor,
    repetitions: u32,
) -> BTreeMap<(String, String, u32), u32> {
    let mut places = BTreeMap::new();
    for block in plan.blocks.iter().filter(|block| block.repetition < repetitions) {
        for trial in &block.trials {
            let mut others = trial.cell.to_map();
            let level = others.remove(compare.name()).expect("every factor has a level");
            *places.entry((format!("{others:?}"), level, trial.order)).or_default() += 1;
        }
    }
    places
}

prop_compose! {
    fn experiments()(
        engines in 1usize..=4,
        clients in 1usize..=4,
        durabilities in 1usize..=3,
        compare in prop::sample::select(vec!["engine", "clients", "durability"]),
        noise_floor: bool,
        groups in 1usize..=3,
        seed in 0..=i64::MAX,
    ) -> (Experiment, usize) {
        let mut experiment = experiment(&format!(
            "workload = \"redmine\"\ncompare = \"{compare}\"\nseed = {seed}\n\
             noise_floor = {noise_floor}\nengine = {:?}\nclients = {:?}\ndurability = {:?}\n",
            &["sqlite", "lmdb", "fjall", "null"][..engines],
            &[1, 2, 4, 8][..clients],
            &["none", "relaxed", "strict"][..durabilities],
        ));
        let levels = experiment.levels(experiment.compare).len();
        experiment.repetitions = (groups * levels) as u32;
        (experiment, levels)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_level_takes_every_place_equally_often((experiment, levels) in experiments()) {
        let plan = experiment.plan();
        for group in 1..=experiment.repetitions / levels as u32 {
            let places = places(&plan, experiment.compare, group * levels as u32);
            prop_assert!(places.values().all(|&count| count == group), "{places:?}");
            let cells = plan.trials() / experiment.repetitions as usize;
            prop_assert_eq!(places.len(), cells * levels);
        }
    }

    #[test]
    fn an_even_number_of_levels_follow_each_other_equally_often(
        (experiment, levels) in experiments().prop_filter("even", |(_, levels)| levels % 2 == 0),
    ) {
        let mut pairs: BTreeMap<_, u32> = BTreeMap::new();
        for block in &experiment.plan().blocks {
            for pair in block.trials.windows(2) {
                let pair = (&pair[0].cell, &pair[1].cell);
                *pairs.entry((pair.0.clone(), pair.1.clone())).or_default() += 1;
            }
        }
        let groups = experiment.repetitions / levels as u32;
        prop_assert!(pairs.values().all(|&count| count == groups), "{pairs:?}");
    }

    #[test]
    fn every_cell_is_run_once_a_repetition((experiment, levels) in experiments()) {
        let plan = experiment.plan();
        let all: usize = experiment.factors.keys().map(|&it| experiment.levels(it).len()).product();
        for repetition in 0..experiment.repetitions {
            let blocks = plan.blocks.iter().filter(|block| block.repetition == repetition);
            let trials: Vec<_> = blocks.flat_map(|block| &block.trials).collect();
            let cells: BTreeSet<&Cell> = trials.iter().map(|trial| &trial.cell).collect();
            prop_assert_eq!((trials.len(), cells.len()), (all, all));
        }
        for (number, block) in plan.blocks.iter().enumerate() {
            prop_assert_eq!((block.number as usize, block.trials.len()), (number, levels));
            let orders: Vec<u32> = block.trials.iter().map(|trial| trial.order).collect();
            prop_assert_eq!(orders, (0..levels as u32).collect::<Vec<_>>());
            let shared = |cell: &Cell| {
                let mut levels = cell.to_map();
                levels.remove(experiment.compare.name());
                levels
            };
            let first = shared(&block.trials[0].cell);
            prop_assert!(block.trials.iter().all(|trial| shared(&trial.cell) == first));
        }
    }

    #[test]
    fn more_repetitions_leave_the_earlier_as_they_were((experiment, _) in experiments()) {
        let longer = Experiment { repetitions: experiment.repetitions + 3, ..experiment.clone() };
        let plan = experiment.plan();
        prop_assert_eq!(&longer.plan().blocks[..plan.blocks.len()], &plan.blocks[..]);
    }
}
