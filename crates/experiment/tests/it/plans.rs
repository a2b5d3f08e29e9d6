//! How the trials of an experiment are laid out.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{DEPTH, FILES, OF_FILES, good};
use bakeoff_experiment::{
    Cell, Experiment, Factor, MemoryLimit, NeighbourLoad, PlannedTrial, Rate, TrialBlock, TrialPlan,
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

fn plan(toml: &str) -> TrialPlan {
    good(toml, "").plan()
}

/// The levels of a factor in a block's trials, one after the other.
fn in_order(block: &TrialBlock, factor: Factor) -> String {
    let levels = block.trials.iter().map(|trial| trial.cell.aliased_level(factor));
    levels.collect::<Vec<_>>().join(" ")
}

/// A level that all trials of a block share.
fn shared(block: &TrialBlock, factor: Factor) -> String {
    block.trials[0].cell.aliased_level(factor).to_owned()
}

/// The blocks of a plan as text, a line a block: what its cells share, and the compared levels.
fn lines(plan: &TrialPlan) -> Vec<String> {
    let line = |block: &TrialBlock| {
        let [clients, neighbours] =
            [Factor::CLIENTS, Factor::NEIGHBOURS].map(|it| shared(block, it));
        let engines = in_order(block, Factor::ENGINE);
        format!("{}/{}: {clients} {neighbours}: {engines}", block.repetition, block.number)
    };
    plan.blocks.iter().map(line).collect()
}

/// A run is resumed by making its plan again, maybe with a later version of bakeoff: these orders
/// must never change.
#[test]
fn a_known_seed_gives_the_known_plan() {
    let plan = plan(TOML);
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
    assert_ne!(plan, self::plan(&TOML.replace("seed = 1", "seed = 2")));
}

/// The image of each trial of a block, by its engine.
fn images_of(block: &TrialBlock) -> BTreeMap<&str, u32> {
    let image = |it: &PlannedTrial| it.image;
    block.trials.iter().map(|it| (it.cell.aliased_level(Factor::ENGINE), image(it))).collect()
}

#[test]
fn blocks_take_turns_on_images_and_an_alias_has_another_one() {
    let one = plan(TOML);
    assert!(one.blocks.iter().flat_map(|block| &block.trials).all(|trial| trial.image == 0));
    let three = plan(&format!("{TOML}images = 3\n"));
    assert_eq!(lines(&three), lines(&one), "the order is another matter");
    for block in &three.blocks {
        let image = block.repetition % 3;
        let again = (image + 1) % 3;
        let expected =
            [("fjall", image), ("lmdb", image), ("sqlite", image), ("sqlite@again", again)];
        assert_eq!(images_of(block), expected.into());
    }
    let experiment = good(&format!("{TOML}images = 3\n"), "");
    assert_eq!(experiment.row_seed(0), experiment.seed);
    assert_ne!(experiment.row_seed(1), experiment.row_seed(2));
}

#[test]
fn steady_blocks_that_differ_in_neighbours_share_a_conditioning() {
    let plan = plan(&format!("{TOML}state = [\"warm\", \"steady\"]\nrepetitions = 4\n"));
    let state = |block: &TrialBlock| shared(block, Factor::STATE);
    let pairs = plan.blocks.windows(2).filter(|pair| pair[0].shares_conditioning(&pair[1]));
    let pairs: Vec<&[TrialBlock]> = pairs.collect();
    // Two numbers of clients, four repetitions.
    assert_eq!(pairs.len(), 8);
    let mut first: BTreeMap<String, u32> = BTreeMap::new();
    for pair in &pairs {
        assert!(pair.iter().all(|block| state(block) == "steady"));
        assert_eq!(pair[0].repetition, pair[1].repetition);
        let [one, other] = [&pair[0], &pair[1]].map(|block| in_order(block, Factor::ENGINE));
        assert_eq!(one, other, "one order for both");
        *first.entry(shared(&pair[0], Factor::NEIGHBOURS)).or_default() += 1;
    }
    assert_eq!(first.into_values().collect::<Vec<_>>(), [4, 4], "each level as often the first");
    // As many trials of either state; a conditioning for each level of 8 pairs.
    assert_eq!((plan.count_trials(), plan.count_conditionings()), (128, 32));
    let warm = plan.blocks.iter().filter(|block| state(block) == "warm");
    let shares = |a: &TrialBlock| plan.blocks.iter().any(|b| a.shares_conditioning(b));
    assert!(!warm.into_iter().any(shares));
}

/// A block of states is conditioned in parts.
#[test]
fn neighbours_or_states_that_are_compared_share_no_conditioning() {
    for compared in [
        "state = \"steady\"\ncompare = \"neighbours\"",
        "compare = \"state\"\nstate = [\"warm\", \"steady\"]",
    ] {
        let plan = plan(&TOML.replace("noise_floor = true", compared));
        let mut all = plan.blocks.iter();
        assert!(!all.any(|a| plan.blocks.iter().any(|b| a.shares_conditioning(b))), "{compared}");
        let steady = plan.blocks.iter().flat_map(|block| &block.trials);
        let steady = steady.filter(|it| it.cell.level(Factor::STATE) == Some("steady")).count();
        assert_eq!(plan.count_conditionings(), steady);
    }
}

#[test]
fn a_cell_tells_what_to_stage_of_the_factors_of_its_workload() {
    let toml = format!("{FILES}rate = \"poisson:0.50/s\"\ndepth = [4, \"4@again\", 32]\n");
    let block = &plan(&toml).blocks[0];
    let mut depths: Vec<String> = in_order(block, DEPTH).split(' ').map(str::to_owned).collect();
    depths.sort_unstable();
    assert_eq!(depths, ["32", "4", "4@again"]);
    let again = block.trials.iter().find(|it| it.cell.aliased_level(DEPTH) == "4@again");
    let cell = &again.expect("it is planned").cell;
    assert_eq!((cell.level(DEPTH), cell.base(DEPTH)), (Some("4"), "4"));
    assert_eq!((cell.level(Factor::ENGINE), cell.level(Factor::MEMORY)), (None, None));
    assert_eq!((cell.level(Factor::DISK), cell.memory()), (Some("host"), MemoryLimit::Unlimited));
    let open = Rate::Open { per_second: 0.5, arrivals: Some("poisson".to_owned()) };
    assert_eq!((cell.rate(), cell.clients()), (open, 1));
    assert_eq!((&*cell.to_map()["depth"], cell.to_map().len()), ("4@again", OF_FILES.len()));
    let last = plan(&TOML.replace("[\"0\", \"x2\"]", "\"x2\"").replace("[1, 4]", "4"));
    let cell = &last.blocks[0].trials[0].cell;
    assert_eq!((cell.clients(), cell.neighbours()), (4, NeighbourLoad::Streams(2)));
    // A placement is there where it is named.
    let own = Factor::OWN.len() - 1;
    assert_eq!((&*cell.to_map()["durability"], cell.to_map().len()), ("strict", own));
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
        let mut experiment = good(&format!(
            "workload = \"redmine\"\ncompare = \"{compare}\"\nseed = {seed}\n\
             noise_floor = {noise_floor}\nengine = {:?}\nclients = {:?}\ndurability = {:?}\n",
            &["sqlite", "lmdb", "fjall", "null"][..engines],
            &[1, 2, 4, 8][..clients],
            &["none", "relaxed", "strict"][..durabilities],
        ), "");
        let levels = experiment.run_levels(experiment.compare).len();
        experiment.repetitions = (groups * levels) as u32;
        (experiment, levels)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each level takes each place, and an even number of levels follow each other, equally often.
    #[test]
    fn places_and_successors_are_balanced((experiment, levels) in experiments()) {
        let plan = experiment.plan();
        for group in 1..=experiment.repetitions / levels as u32 {
            let places = places(&plan, experiment.compare, group * levels as u32);
            prop_assert!(places.values().all(|&count| count == group), "{places:?}");
            let cells = plan.count_trials() / experiment.repetitions as usize;
            prop_assert_eq!(places.len(), cells * levels);
        }
        let mut pairs: BTreeMap<_, u32> = BTreeMap::new();
        for pair in plan.blocks.iter().flat_map(|block| block.trials.windows(2)) {
            *pairs.entry((&pair[0].cell, &pair[1].cell)).or_default() += 1;
        }
        let groups = experiment.repetitions / levels as u32;
        let even = levels % 2 == 0;
        prop_assert!(!even || pairs.values().all(|&count| count == groups), "{pairs:?}");
    }

    /// More repetitions leave the earlier as they were.
    #[test]
    fn every_cell_is_run_once_a_repetition((experiment, levels) in experiments()) {
        let plan = experiment.plan();
        let longer = Experiment { repetitions: experiment.repetitions + 3, ..experiment.clone() };
        prop_assert_eq!(&longer.plan().blocks[..plan.blocks.len()], &plan.blocks[..]);
        let all: usize = experiment.factors.keys().map(|&it| experiment.run_levels(it).len()).product();
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
}
