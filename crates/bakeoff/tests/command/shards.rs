//! Parts of a plan that several machines share.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;

use rustix::fs::FlockOperation;
use serde_json::Value;

use super::on_disks::can_mount;
use super::{Done, Place, SMALL};

/// Four blocks: two numbers of clients, two repetitions.
fn four() -> String {
    SMALL.replace("seconds = 0.5", "seconds = 0.5\nclients = [1, 2]")
}

/// The numbers of the blocks that have trials.
fn blocks(document: &Value) -> BTreeSet<u64> {
    let trials = document["trials"].as_array().unwrap().iter();
    trials.map(|trial| trial["block"].as_u64().unwrap()).collect()
}

/// Runs `bakeoff run four.toml` with these flags beside a scheduler's variables.
fn scheduled(place: &Place, flags: &[&str], variables: &[(&str, &str)]) -> Done {
    let mut command = place.command(&[&["run", "four.toml", "--dry-run"][..], flags].concat());
    Done(command.envs(variables.iter().copied()).output().unwrap())
}

#[test]
fn every_block_is_run_by_one_shard_which_knows_what_it_is_a_part_of() {
    let place = Place::new();
    place.write("four.toml", &four());
    let run = |shard: &str, out: &str| {
        let run = ["run", "four.toml", "--shard", shard, "--same-machine", "--quiet", "--out", out];
        place.run(&run).code(0);
        place.json(out)
    };
    let (first, second) = (run("1/2", "one"), run("2/2", "two"));
    let all: BTreeSet<u64> = &blocks(&first) | &blocks(&second);
    assert_eq!(all, BTreeSet::from([0, 1, 2, 3]));
    assert!(blocks(&first).is_disjoint(&blocks(&second)));
    let (one, two) = (&first["run"]["shard"], &second["run"]["shard"]);
    assert_eq!((&one["index"], &one["count"]), (&1.into(), &2.into()));
    assert_eq!((&two["index"], &two["count"]), (&2.into(), &2.into()));
    assert_eq!(one["plan"], two["plan"]);
    assert!(one["host"]["boot"].as_str().is_some_and(|boot| boot == two["host"]["boot"]));
    assert_eq!(first["run"]["planned"], 4);
    assert!(first["run"]["command"].as_str().unwrap().contains("--shard 1/2"));

    // It stays the part that it is when it goes on.
    let resumed = place.run(&["run", "--resume", "one"]).code(0);
    resumed.says(&["nothing is left to run"]);
    assert_eq!(blocks(&place.json("one")), blocks(&first));
    place.run(&["run", "--resume", "one", "--shard", "2/2"]).code(2).says(&["shard 1/2"]);
    place.assert_clean("one");
}

/// What a node with one shard loads: each engine's rows once, for all its blocks.
#[test]
fn a_shard_loads_each_image_once() {
    let place = Place::new();
    place.write("four.toml", &four());
    let run = ["run", "four.toml", "--shard", "1/2", "--same-machine", "--out", "r"];
    let said = place.run(&run).code(0).err();
    assert_eq!(blocks(&place.json("r")).len(), 2);
    for engine in ["sqlite", "lmdb"] {
        let is_load = |line: &&str| line.starts_with("loaded ") && line.contains(engine);
        assert_eq!(said.lines().filter(is_load).count(), 1, "{engine}: {said}");
    }
}

#[test]
fn a_plan_shows_the_part_that_is_run_and_the_scheduler_says_which() {
    let place = Place::new();
    place.write("four.toml", &four());
    let task = [
        ("SLURM_ARRAY_TASK_ID", "1"),
        ("SLURM_ARRAY_TASK_MIN", "0"),
        ("SLURM_ARRAY_TASK_MAX", "3"),
        ("SLURM_ARRAY_TASK_COUNT", "4"),
    ];
    let some = "shard 2 of 4: 1 of 4 blocks, of 1 of 2 combinations of levels; the rest is in other shards";
    let said = &[some, "2 trials in 1 block"];
    scheduled(&place, &["--shard", "auto"], &task).code(0).says(said);
    scheduled(&place, &["--shard", "2/4"], &task).code(0).says(said);
    scheduled(&place, &["--shard", "3/4"], &task).code(2).says(&["3/4", "say 2/4"]);
    let both = "shard 1 of 2: 2 of 4 blocks, of all 2 combinations of levels\n";
    scheduled(&place, &["--shard", "1/2"], &[]).code(0).says(&[both]);
    let pod = [("JOB_COMPLETION_INDEX", "1"), ("BAKEOFF_SHARDS", "4")];
    scheduled(&place, &["--shard", "auto"], &pod).code(0).says(said);
    scheduled(&place, &["--shard", "1/2"], &pod[1..])
        .code(2)
        .says(&["1/2, and BAKEOFF_SHARDS is 4"]);
    scheduled(&place, &["--shard", "auto"], &pod[..1]).code(2).says(&["BAKEOFF_SHARDS"]);
    scheduled(&place, &["--shard", "auto"], &[]).code(2).says(&["JOB_COMPLETION_INDEX"]);
}

#[test]
fn a_part_that_there_is_not_is_refused_before_anything_is_made() {
    let place = Place::new();
    place.write("four.toml", &four());
    let refused = |flags: &[&str], said: &str| {
        let run = [&["run", "four.toml", "--out", "r"][..], flags].concat();
        place.run(&run).code(2).says(&[said]);
        assert!(!place.path("r").exists(), "{flags:?}");
    };
    refused(&["--shard", "0/0"], "a part of nothing");
    refused(&["--shard", "2/0"], "a part of nothing");
    refused(&["--shard", "3/2"], "no shard 3 of 2");
    refused(&["--shard", "second"], "as 2/8");
    refused(&["--shard", "1/99999999999999"], "99999999999999 is too large");
    refused(&["--shard", "1/1000"], "it has 4");
    refused(&["--shard", "1/2", "--until-decided"], "the planner until-decided decides");
    refused(&["--same-machine"], "add --shard");
}

/// Two levels of durability.
#[test]
fn of_power_cuts_alone_there_are_as_many_shards_as_engines_and_levels() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let shard = |shard: &str| {
        let cuts = ["run", "power-cut", "--engine", "sqlite", "--repetitions", "0", "--cuts", "2"];
        let flags = ["--durability", "strict,none", "--shard", shard, "--dry-run"];
        place.run(&[&cuts[..], &flags].concat())
    };
    shard("2/2").code(0).says(&["shard 2 of 2", "2 power cuts"]);
    shard("3/3").code(2).says(&["power cuts alone, of 2 engines and levels", "2 shards at most"]);
}

#[test]
fn a_shard_has_the_machine_alone_unless_it_is_told_otherwise() {
    let place = Place::new();
    place.write("four.toml", &four());
    DirBuilder::new().mode(0o700).create(place.path("bakeoff")).unwrap();
    let other = File::open(place.path("bakeoff")).unwrap();
    rustix::fs::flock(&other, FlockOperation::LockExclusive).unwrap();
    let run = ["run", "four.toml", "--shard", "1/4", "--quiet", "--out", "r"];
    place.run(&run).code(1).says(&["another shard runs on this machine", "--same-machine"]);
    assert!(!place.path("r").exists());
    place.run(&[&run[..], &["--same-machine"]].concat()).code(0);
    drop(other);
    place.run(&["run", "--resume", "r"]).code(0);
}
