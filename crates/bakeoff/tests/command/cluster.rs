//! `bakeoff cluster`: what is printed, and what is refused.

use std::process::Command;

use super::Place;

#[test]
fn a_job_file_names_this_program_by_its_sum_and_nothing_is_made() {
    let place = Place::new();
    let sum = Command::new("sha256sum").arg(env!("CARGO_BIN_EXE_bakeoff")).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    let sum = sum.split_whitespace().next().expect("a sum");
    for (arguments, texts) in [
        (
            &["slurm", "redmine-sweep", "--shards", "8", "--", "--seed", "2"][..],
            &["#SBATCH --array=1-8", "redmine-sweep-shards", "--shard auto", " --seed 2"][..],
        ),
        (
            &["kubernetes", "redmine", "--shards", "4", "--image", "us/lab", "--claim", "runs"],
            &["\"completions\": 4", "\"us/lab\"", "\"claimName\": \"runs\"", "--shard auto"],
        ),
        (
            &["ssh", "redmine", "one", "two", "--out", "all", "--", "--clients", "4"],
            &["shard 1 one &", "shard 2 two &", "--shard \"$1\"/2", "--clients 4"],
        ),
    ] {
        let printed = place.run(&[&["cluster"][..], arguments].concat()).code(0).says(texts);
        assert!(printed.out().contains(sum), "{}", printed.out());
    }
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 0, "something was made");
}

#[test]
fn a_file_is_named_by_its_whole_path_or_sent_along() {
    let place = Place::new();
    let file = place.write("my own.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let quoted = format!("run '{}' --shard auto", file.display());
    let whole = ["cluster", "slurm", "my own.toml", "--shards", "2"];
    place.run(&whole).code(0).says(&[quoted.as_str()]);
    let sent = ["cluster", "ssh", "my own.toml", "one"];
    place.run(&sent).code(0).says(&["scp -q -- '", "run mine.toml --shard"]);
    let manifest = ["kubernetes", "my own.toml", "--shards", "2", "--image", "i", "--claim", "c"];
    let done = place.run(&[&["cluster"][..], &manifest].concat()).code(0);
    done.says(&["ConfigMap", "/experiment/mine.toml", "workload = \\\"point\\\""]);
}

/// Engines of which one does not give every level of durability.
const LACKING: &str = "tarantool:memtx,sqlite";
/// An experiment that names a file beside it.
const OWN: &str = "workload = \"redmine\"\nengine = \"sqlite\"\ntext = \"book.txt\"\n";
/// What gives up the contents of a device.
const DESTROYS: &str = "--i-know-this-destroys-data";

#[test]
fn what_can_t_stand_in_a_job_file_is_refused() {
    let place = Place::new();
    place.write("mine.fio", "[job]\nrw=read\n");
    place.write("book.txt", &"A text of few words. ".repeat(5000));
    place.write("own.toml", OWN);
    place.write("empty.txt", "");
    let nowhere = &["nowhere.txt"][..];
    let sent = &["book.txt, a path of this machine", "bakeoff cluster slurm"][..];
    let relative = &["--path data is relative"][..];
    for (arguments, texts) in [
        (&["slurm", "mine.fio", "--shards", "2"][..], &["fio", "experiment.toml"][..]),
        (&["slurm", "redmin", "--shards", "2"], &["did you mean `redmine`"]),
        (&["slurm", "nowhere.toml", "--shards", "2"], &["nowhere.toml"]),
        (&["slurm", "redmine"], &["--shards"]),
        (&["slurm", "redmine", "--shards", "0"], &["--shards"]),
        (&["slurm", "redmine", "--shards", "2", "--", "--shard", "1/2"], &["its own --shard"]),
        (&["slurm", "redmine", "--shards", "2", "--", "--out=x"], &["--out=x", "its own"]),
        (&["slurm", "redmine", "--shards", "2", "--", "--resume=x"], &["begins each shard anew"]),
        (&["slurm", "redmine", "--shards", "2", "--", "--dry-run"], &["bakeoff run --dry-run"]),
        (
            &["slurm", "fileio", "--shards", "2", "--", "--path=/dev/sdz", DESTROYS],
            &["writes over no device", DESTROYS],
        ),
        (&["slurm", "redmine", "--shards", "2", "--out", "a\nb"], &["control character"]),
        (&["slurm", "redmine", "--shards", "2", "--", "--no-such"], &["--no-such"]),
        (
            &["slurm", "redmine", "--shards", "2", "--", "--until-decided"],
            &["planner until-decided"],
        ),
        // By the flags, too: `--quick` has five blocks.
        (&["slurm", "redmine-sweep", "--shards", "8", "--", "--quick"], &["8 shards", "it has 5"]),
        // By the levels of durability that all engines give: of two one is left, and half of the blocks.
        (
            &["slurm", "redmine", "--shards", "8", "--", "--quick", "--engine", LACKING],
            &["so all run at strict alone", "8 shards", "it has 5"],
        ),
        (&["kubernetes", "redmine", "--shards", "2"], &["--image", "--claim"]),
        (
            &["kubernetes", "redmine", "--shards", "2", "--image", "i", "--claim", "UP_"],
            &["--claim UP_", "lower-case letters"],
        ),
        (&["slurm", "redmine", "--shards", "2", "--", "--text", "nowhere.txt"], nowhere),
        (&["slurm", "text-oltp", "--shards", "2", "--", "--rows-from=nowhere.txt"], nowhere),
        (
            &["slurm", "redmine", "--shards", "2", "--", "--text", "empty.txt"],
            &["empty.txt", "is empty"],
        ),
        (&["ssh", "redmine", "one", "--", "--text", "book.txt"], sent),
        (&["ssh", "own.toml", "one"], sent),
        (&["kubernetes", "own.toml", "--shards", "2", "--image", "i", "--claim", "c"], sent),
        (&["slurm", "redmine", "--shards", "2", "--", "--path", "data"], relative),
        (&["ssh", "redmine", "one", "--", "--path=data"], relative),
        (
            &["kubernetes", "redmine", "--shards", "2", "--image", "", "--claim", "c"],
            &["--image ``"],
        ),
        (
            &["kubernetes", "redmine", "--shards", "2", "--image", "my lab", "--claim", "c"],
            &["--image `my lab`", "no spaces"],
        ),
        (
            &["kubernetes", "redmine", "--shards=2", "--image=i", "--claim=c", "--program=bin/b"],
            &["--program `bin/b` is relative"],
        ),
        (&["ssh", "redmine"], &["HOST"]),
        (&["ssh", "redmine", "one", "one"], &["one is named twice"]),
        (&["ssh", "redmine", "one", "--shards", "2"], &["--shards 2", "1 hosts"]),
    ] {
        place.run(&[&["cluster"][..], arguments].concat()).code(2).says(texts);
    }
    // What nodes share, and what other machines may have.
    place.run(&["cluster", "slurm", "own.toml", "--shards", "2"]).code(0);
    let theirs = ["cluster", "ssh", "redmine", "one", "--", "--text", "/nowhere/book.txt"];
    place.run(&theirs).code(0).says(&["--text /nowhere/book.txt"]);
}
