//! How a plan is dealt to several machines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::common::good;
use bakeoff_experiment::{
    Experiment, Shard, ShardCountError, TrialBlock, TrialPlan, deal_blocks, group_sequences,
};

const TOML: &str = "
workload = \"redmine\"
engine = [\"sqlite\", \"lmdb\", \"fjall\"]
clients = [1, 4]
neighbours = [\"0\", \"x2\"]
seed = 1
repetitions = 6
";

fn plan(toml: &str) -> TrialPlan {
    good(toml, "").plan()
}

/// The levels of a block, whatever their order.
fn kind(block: &TrialBlock) -> BTreeSet<BTreeMap<String, String>> {
    block.trials.iter().map(|trial| trial.cell.to_map()).collect()
}

#[test]
fn every_block_is_in_exactly_one_shard_and_none_has_much_more_than_another() {
    for repetitions in [1, 5, 6, 7] {
        let toml = TOML.replace("repetitions = 6", &format!("repetitions = {repetitions}"));
        let plan = plan(&toml);
        let all: Vec<u32> = plan.blocks.iter().map(|block| block.number).collect();
        for count in 1..=all.len() as u32 {
            let shards = (1..=count).map(|index| Shard::new(index, count).unwrap());
            let parts: Vec<_> = shards.map(|shard| shard.own_blocks(&plan).unwrap()).collect();
            let mut dealt: Vec<u32> = parts.iter().flatten().copied().collect();
            dealt.sort_unstable();
            assert_eq!(dealt, all, "{count} shards of {repetitions} repetitions");
            let sizes = || parts.iter().map(BTreeSet::len);
            let (least, most) = (sizes().min().unwrap(), sizes().max().unwrap());
            assert!(least > 0 && most - least <= 1, "{count} of {}: {least}, {most}", all.len());
        }
    }
}

#[test]
fn each_shard_has_every_combination_where_there_are_as_many_repetitions() {
    let plan = plan(TOML);
    for count in [2, 3, 4, 6] {
        for index in 1..=count {
            let own = Shard::new(index, count).unwrap().own_blocks(&plan).unwrap();
            let blocks = plan.blocks.iter().filter(|block| own.contains(&block.number));
            let kinds: BTreeSet<_> = blocks.map(kind).collect();
            assert_eq!(kinds.len(), 4, "shard {index} of {count}");
        }
    }
    // With more shards some have not all, and each knows how many it has.
    let mut counts = BTreeSet::new();
    for shard in (1..=10).map(|index| Shard::new(index, 10).unwrap()) {
        let own = shard.own_blocks(&plan).unwrap();
        let blocks = plan.blocks.iter().filter(|block| own.contains(&block.number));
        let kinds: BTreeSet<_> = blocks.map(kind).collect();
        assert_eq!(shard.count_combinations(&plan), Ok((kinds.len(), 4)), "{shard}");
        counts.insert(kinds.len());
    }
    assert!(counts.first() < Some(&4), "{counts:?}");
    // Three engines: three repetitions in a row have each of them at each place once.
    let own = Shard::new(2, 2).unwrap().own_blocks(&plan).unwrap();
    let repetitions = plan.blocks.iter().filter(|block| own.contains(&block.number));
    let repetitions: BTreeSet<u32> = repetitions.map(|block| block.repetition).collect();
    assert_eq!(repetitions, BTreeSet::from([3, 4, 5]));
}

#[test]
fn blocks_that_share_their_conditioning_stay_together() {
    let plan = plan(&format!("{TOML}state = \"steady\"\n"));
    let together = group_sequences(&plan.blocks, |block| block);
    assert_eq!((plan.blocks.len(), together.len()), (24, 12));
    for count in 1..=12 {
        let dealt = deal_blocks(&plan, count).unwrap();
        for sequence in &together {
            let owners: BTreeSet<u32> = sequence.iter().map(|it| dealt[&it.number]).collect();
            assert_eq!(owners.len(), 1, "{count} shards: {owners:?}");
        }
    }
    assert_eq!(deal_blocks(&plan, 13), Err(ShardCountError { shards: 13, parts: 12 }));
}

#[test]
fn more_shards_than_the_plan_has_parts_are_refused_with_their_number() {
    let plan = plan(TOML);
    let refused = Shard::new(7, 1000).unwrap().own_blocks(&plan).unwrap_err();
    assert_eq!(refused, ShardCountError { shards: 1000, parts: 24 });
    let said = refused.to_string();
    assert!(said.contains("1000 shards") && said.contains("24 shards at most"), "{said}");
}

#[test]
fn a_shard_is_read_as_it_is_written_and_nothing_else_is_one() {
    let shard: Shard = "2/8".parse().unwrap();
    assert_eq!((shard.index(), shard.count(), shard.to_string()), (2, 8, "2/8".to_owned()));
    let refused = |text: &str| text.parse::<Shard>().unwrap_err();
    for (text, said) in [
        ("0/0", "0/0 is a part of nothing"),
        ("2/0", "2/0 is a part of nothing"),
        ("0/8", "numbered from 1 to 8"),
        ("9/8", "there is no shard 9 of 8"),
        ("2/99999999999", "99999999999 is too large"),
        ("99999999999/2", "99999999999 is too large"),
    ] {
        assert!(refused(text).contains(said), "{text}: {}", refused(text));
    }
    for text in ["", "2", "/", "2/", "/8", "2/8/3", "+2/8", " 2/8", "-1/8", "auto"] {
        assert!(refused(text).contains("as 2/8"), "{text}: {}", refused(text));
    }
}

/// The same plan has the same sign wherever its files lie, and another one for whatever decides it.
#[test]
fn a_plan_is_known_by_what_decides_it_and_not_by_where_its_files_lie() {
    let id = |toml: &str| good(toml, "").plan_id("0.1.0", "generated, seed 1");
    assert_eq!(id(TOML), id(TOML));
    assert_eq!(id(TOML).len(), 16);
    for (from, to) in [
        ("seed = 1", "seed = 2"),
        ("repetitions = 6", "repetitions = 7"),
        ("clients = [1, 4]", "clients = [4, 1]"),
        ("\"lmdb\", ", ""),
    ] {
        assert_ne!(id(&TOML.replace(from, to)), id(TOML), "{to}");
    }
    assert_ne!(good(TOML, "").plan_id("0.1.1", "generated, seed 1"), id(TOML));

    let of_text = |path: &str, fingerprint: &str| {
        let text = Some(PathBuf::from(path));
        let it = Experiment { text, ..good(TOML, "") };
        it.plan_id("0.1.0", &format!("{path} (5 bytes, fingerprint {fingerprint})"))
    };
    assert_eq!(of_text("/home/a/text", "17"), of_text("/scratch/text", "17"));
    assert_ne!(of_text("/home/a/text", "17"), of_text("/home/a/text", "18"));
}
