//! A plan that several machines share: its parts, and `bakeoff cluster`, which prints the job files for them.

use std::collections::BTreeSet;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::process::Command;

use rustix::fs::FlockOperation;
use serde_json::Value;

use super::on_disks::can_mount;
use super::{Done, Place, SMALL};

/// Four blocks: two numbers of clients, two repetitions.
fn place() -> Place {
    let place = Place::new();
    place.write("four.toml", &SMALL.replace("seconds = 0.5", "seconds = 0.5\nclients = [1, 2]"));
    place
}

/// The numbers of the blocks that have trials.
fn blocks(document: &Value) -> BTreeSet<u64> {
    let trials = document["trials"].as_array().unwrap().iter();
    trials.map(|trial| trial["block"].as_u64().unwrap()).collect()
}

/// The SHA-256 of the command under test.
fn sum() -> String {
    let sum = Command::new("sha256sum").arg(env!("CARGO_BIN_EXE_bakeoff")).output().unwrap();
    String::from_utf8(sum.stdout).unwrap().split(' ').next().unwrap().to_owned()
}

#[test]
fn every_block_is_run_by_one_shard_which_knows_what_it_is_a_part_of() {
    let place = place();
    let run = |shard: &str, out: &str| {
        let run = ["run", "four.toml", "--shard", shard, "--same-machine", "--out", out];
        let said = place.run(&run).code(0).err();
        // What a node loads: each engine's rows once, for all its blocks.
        for engine in ["sqlite", "lmdb"] {
            let is_load = |line: &&str| line.starts_with("loaded ") && line.contains(engine);
            assert_eq!(said.lines().filter(is_load).count(), 1, "{engine}: {said}");
        }
        place.json(out)
    };
    let (first, second) = (run("1/2", "one"), run("2/2", "two"));
    assert_eq!((blocks(&first).len(), blocks(&second).len()), (2, 2));
    assert_eq!(&blocks(&first) | &blocks(&second), BTreeSet::from([0, 1, 2, 3]));
    let (one, two) = (&first["run"]["shard"], &second["run"]["shard"]);
    for (shard, number) in [(one, 1), (two, 2)] {
        assert_eq!((&shard["index"], &shard["count"]), (&number.into(), &2.into()));
        assert_eq!(shard["program_sha256"], *sum());
    }
    assert_eq!((&one["plan"], &one["host"]["boot"]), (&two["plan"], &two["host"]["boot"]));
    assert!(one["plan"].is_string() && one["host"]["boot"].is_string(), "{one}");
    assert_eq!(first["run"]["planned"], 4);
    assert!(first["run"]["command"].as_str().unwrap().contains("--shard 1/2"));

    // It stays the part that it is when it goes on.
    place.typed("run --resume one").code(0).says(&["nothing is left to run"]);
    assert_eq!(blocks(&place.json("one")), blocks(&first));
    place.typed("run --resume one --shard 2/2").code(2).says(&["shard 1/2"]);
    place.assert_clean("one");
}

#[test]
fn a_plan_shows_the_part_that_is_run_and_the_scheduler_says_which() {
    let place = place();
    let task = ["TASK_ID=1", "TASK_MIN=0", "TASK_MAX=3", "TASK_COUNT=4"];
    let task = task.map(|it| format!("SLURM_ARRAY_{it}"));
    let pod = ["JOB_COMPLETION_INDEX=1", "BAKEOFF_SHARDS=4"].map(str::to_owned);
    let some = "shard 2 of 4: 1 of 4 blocks, of 1 of 2 combinations of levels; the rest is in other shards";
    let both = "shard 1 of 2: 2 of 4 blocks, of all 2 combinations of levels\n";
    for (shard, variables, code, said) in [
        ("auto", &task[..], 0, some),
        ("auto", &pod, 0, some),
        ("1/2", &[], 0, both),
        ("3/4", &task, 2, "say 2/4"),
        ("3/2", &[], 2, "no shard 3 of 2"),
        ("1/1000", &[], 2, "it has 4"),
    ] {
        let mut command = place.command(&["run", "four.toml", "--dry-run", "--shard", shard]);
        command.envs(variables.iter().filter_map(|it| it.split_once('=')));
        Done(command.output().unwrap()).code(code).says(&[said]);
    }
    for (flags, why) in [
        (&["--shard", "1/2", "--until-decided"][..], "the planner until-decided decides"),
        (&["--same-machine"], "add --shard"),
    ] {
        let run = [&["run", "four.toml", "--out", "r"][..], flags].concat();
        place.run(&run).code(2).says(&[why]);
        assert!(!place.path("r").exists(), "{flags:?}");
    }
    if !can_mount() {
        return;
    }
    // Of power cuts alone there are as many shards as engines and levels.
    let cuts = ["run", "power-cut", "--engine", "sqlite", "--repetitions", "0", "--cuts", "2"];
    let cuts = [&cuts[..], &["--durability", "strict,none", "--dry-run", "--shard"]].concat();
    place.run(&[&cuts[..], &["2/2"]].concat()).code(0).says(&["shard 2 of 2", "2 power cuts"]);
    place.run(&[&cuts[..], &["3/3"]].concat()).code(2).says(&["2 shards at most"]);
}

#[test]
fn a_shard_has_the_machine_alone_unless_it_is_told_otherwise() {
    let place = place();
    DirBuilder::new().mode(0o700).create(place.path("bakeoff")).unwrap();
    let other = File::open(place.path("bakeoff")).unwrap();
    rustix::fs::flock(&other, FlockOperation::LockExclusive).unwrap();
    let run = ["run", "four.toml", "--shard", "1/4", "--quiet", "--out", "r"];
    place.run(&run).code(1).says(&["another shard runs on this machine", "--same-machine"]);
    assert!(!place.path("r").exists());
    place.run(&[&run[..], &["--same-machine"]].concat()).code(0);
    drop(other);
    place.typed("run --resume r").code(0);
}

#[test]
fn a_job_file_names_this_program_by_its_sum_and_the_experiment_by_its_path_or_text() {
    let place = Place::new();
    let sum = sum();
    let file = place.write("my own.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let quoted = format!("run '{}' --shard auto", file.display());
    let pod = ["--shards", "4", "--image", "us/lab", "--claim", "runs"];
    for (arguments, texts) in [
        (
            &["slurm", "redmine-sweep", "--shards", "8", "--", "--seed", "2"][..],
            &["#SBATCH --array=1-8", "redmine-sweep-shards", "--shard auto", " --seed 2"][..],
        ),
        (&["slurm", "my own.toml", "--shards", "2"], &[&quoted]),
        (
            &[&["kubernetes", "redmine"][..], &pod].concat(),
            &["\"completions\": 4", "\"us/lab\"", "\"claimName\": \"runs\"", "--shard auto"],
        ),
        (
            &[&["kubernetes", "my own.toml"][..], &pod].concat(),
            &["ConfigMap", "/experiment/mine.toml", "workload = \\\"point\\\""],
        ),
        (
            &["ssh", "redmine", "one", "two", "--out", "all", "--", "--clients", "4"],
            &["shard 1 one &", "shard 2 two &", "--shard \"$1\"/2", "--clients 4"],
        ),
        (&["ssh", "my own.toml", "one"], &["scp -q -- '", "run mine.toml --shard"]),
        // What other machines may have.
        (&["ssh", "redmine", "one", "--", "--text", "/nowhere/book"], &["--text /nowhere/book"]),
    ] {
        let printed = place.run(&[&["cluster"][..], arguments].concat()).code(0).says(texts);
        assert!(printed.out().contains(&sum), "{}", printed.out());
    }
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 1, "something was made");
}

#[test]
fn what_can_t_stand_in_a_job_file_is_refused() {
    let place = Place::new();
    place.write("mine.fio", "[job]\nrw=read\n");
    place.write("book.txt", &"A text of few words. ".repeat(5000));
    place.write("own.toml", "workload = \"redmine\"\nengine = \"sqlite\"\ntext = \"book.txt\"\n");
    place.write("empty.txt", "");
    let refused = |arguments: &[&str], why: &str| {
        place.run(&[&["cluster"][..], arguments].concat()).code(2).says(&[why]);
    };
    for (flags, why) in [
        (&["--shard", "1/2"][..], "its own --shard"),
        (&["--out=x"], "its own"),
        (&["--resume=x"], "begins each shard anew"),
        (&["--dry-run"], "bakeoff run --dry-run"),
        (&["--no-such"], "--no-such"),
        (&["--until-decided"], "planner until-decided"),
        (&["--text", "nowhere.txt"], "nowhere.txt"),
        (&["--text", "empty.txt"], "is empty"),
        (&["--path", "data"], "--path data is relative"),
        (&["--present", "engine=nosuch"], "no such level of engine"),
        (&["--keep-images"], "--keep-images is for power cuts"),
        (&["--present=durability"], "write FACTOR=LEVEL"),
    ] {
        refused(&[&["slurm", "redmine", "--shards", "2", "--"], flags].concat(), why);
    }
    let device = ["--", "--path=/dev/sdz", "--i-know-this-destroys-data"];
    let sent = "book.txt, a path of this machine";
    let lacking = ["--", "--quick", "--engine", "tarantool:memtx,sqlite"];
    for (arguments, why) in [
        (&["slurm", "mine.fio", "--shards", "2"][..], "experiment.toml"),
        (&["slurm", "nowhere.toml", "--shards", "2"], "nowhere.toml"),
        (&["slurm", "redmine"], "--shards"),
        (&[&["slurm", "fileio", "--shards", "2"][..], &device].concat(), "writes over no device"),
        (&["slurm", "redmine", "--shards", "0"], "--shards"),
        (&["slurm", "redmine", "--shards", "2", "--out", "a\nb"], "control character"),
        // By the flags, too: `--quick` has five blocks.
        (&["slurm", "redmine-sweep", "--shards", "8", "--", "--quick"], "it has 5"),
        // By the levels of durability that all engines give: of two one is left, and half of the blocks.
        (&[&["slurm", "redmine", "--shards", "8"][..], &lacking].concat(), "it has 6"),
        (&["ssh", "redmine", "one", "--", "--text", "book.txt"], sent),
        (&["ssh", "own.toml", "one"], sent),
        (&["ssh", "redmine"], "HOST"),
        (&["ssh", "redmine", "one", "one"], "one is named twice"),
        (&["ssh", "redmine", "one", "--shards", "2"], "1 hosts"),
    ] {
        refused(arguments, why);
    }
    for (experiment, pod, why) in [
        ("own.toml", &["--image", "i", "--claim", "c"][..], sent),
        ("redmine", &[], "--claim"),
        ("redmine", &["--image", "i", "--claim", "UP_"], "lower-case letters"),
        ("redmine", &["--image", "my lab", "--claim", "c"], "no spaces"),
        ("redmine", &["--image=i", "--claim=c", "--program=bin/b"], "is relative"),
    ] {
        refused(&[&["kubernetes", experiment, "--shards", "2"], pod].concat(), why);
    }
    // What nodes share.
    place.typed("cluster slurm own.toml --shards 2").code(0);
}
