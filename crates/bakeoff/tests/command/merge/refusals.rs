//! What is no part of one plan and program, or is not what it was: nothing is merged of it.

use std::process::Command;

use super::{bytes, changed, describe, half, place, refused, shard};
use crate::Done;

/// What one record says of itself, and what a refusal names of it.
#[test]
fn a_shard_of_another_bakeoff_or_engine_is_refused_by_what_differs() {
    let place = place();
    shard(&place, "1/2", "one", &[]);
    shard(&place, "2/2", "two", &[]);
    let mut first = String::new();
    changed(&place, "two", "version", |run| {
        describe(run, |it| it["version"] = "0.0.9 (another)".into());
    });
    changed(&place, "two", "build", |run| {
        describe(run, |it| it["debug_build"] = (it["debug_build"] != true).into());
    });
    changed(&place, "two", "engine", |run| {
        describe(run, |it| {
            first = it["engines"][0]["name"].as_str().unwrap().to_owned();
            it["engines"][0]["version"] = "0.0".into();
        });
    });
    changed(&place, "two", "program", |run| {
        describe(run, |it| it["shard"]["program_sha256"] = "0123abcd".into());
    });
    changed(&place, "two", "plan", |run| {
        describe(run, |it| it["shard"]["plan"] = "0123456789abcdef".into());
    });
    let engine_is = format!("{first} is");
    let before = bytes(&place, "one");
    for (other, said) in [
        ("version", ["bakeoff is", "0.0.9 (another) in version"]),
        ("build", ["bakeoff's build is", "a debug build"]),
        ("program", ["the SHA-256 of bakeoff's program is", "0123abcd in program"]),
        ("engine", [engine_is.as_str(), "0.0 in engine"]),
        ("plan", ["the plan is", "0123456789abcdef in plan"]),
    ] {
        let of_other = bytes(&place, other);
        refused(&place, &["all", "one", other], &[&said[..], &["one", other]].concat());
        assert_eq!((bytes(&place, "one"), bytes(&place, other)), (before.clone(), of_other));
        assert!(!place.path("all").exists());
    }
    // All of several, each with what it is there.
    let said = ["0.0.9 (another) in version\n", "0123abcd in program\n", "0.0 in engine\n"];
    let several = ["all", "one", "version", "program", "engine"];
    let done = refused(&place, &several, &said);
    let lines = done.err().lines().filter(|line| line.starts_with("  ")).count();
    assert_eq!(lines, 3, "{}", done.err());
    assert!(!place.path("all").exists());
    // Nor is it added to a run that is merged already.
    place.run(&["merge", "all", "one"]).code(0);
    let merged = bytes(&place, "all");
    refused(&place, &["all", "version"], &["bakeoff is", "0.0.9 (another) in version"]);
    refused(&place, &["all", "program"], &["the SHA-256", "0123abcd in program"]);
    assert_eq!(bytes(&place, "all"), merged);
}

/// The same bakeoff by its version, and another file.
#[test]
fn a_shard_that_another_program_file_ran_is_neither_merged_nor_gone_on_with() {
    let place = place();
    half(&place, 1, "one");
    // Written by another process: one that this one starts meanwhile would hold the file open for writing.
    let copy = "cp -- \"$0\" other && printf x >>other";
    let (this, dir) = (env!("CARGO_BIN_EXE_bakeoff"), place.path(""));
    let copied = Command::new("sh").args(["-c", copy, this]).current_dir(&dir).status().unwrap();
    assert!(copied.success());
    let run_by_other = |arguments: &[&str]| {
        let mut command = Command::new(place.path("other"));
        command.args(arguments).current_dir(&dir).env("XDG_RUNTIME_DIR", &dir);
        Done(command.output().unwrap())
    };
    let flags = ["--same-machine", "--quiet", "--out", "two"];
    run_by_other(&[&["run", "four.toml", "--shard", "2/2"][..], &flags].concat()).code(0);
    let [one, two] = ["one", "two"].map(|folder| {
        let document = place.json(folder);
        document["run"]["shard"]["program_sha256"].as_str().expect("a sum").to_owned()
    });
    assert_ne!(one, two);
    refused(&place, &["all", "one", "two"], &["the SHA-256", &one, &two]);
    assert!(!place.path("all").exists());
    run_by_other(&["run", "--resume", "one"]).code(3).says(&["the SHA-256", &one, &two]);
}

#[test]
fn what_is_not_of_one_plan_is_refused_with_what_differs() {
    let place = place();
    half(&place, 1, "one");
    shard(&place, "2/2", "seed", &["--seed", "77"]);
    refused(&place, &["all", "one", "seed"], &["`seed` is", "77", "one", "seed"]);
    shard(&place, "2/2", "longer", &["--seconds", "0.6"]);
    refused(&place, &["all", "one", "longer"], &["`seconds` is", "0.6", "longer"]);
    // A folder that differs in one thing is named in what it has of another.
    let each = [" in one, longer, 77 in seed\n", " in one, seed, 0.6 in longer\n"];
    refused(&place, &["all", "one", "seed", "longer"], &each);
    // One refusal says all that differs: whoever mends the first thing alone would be refused again.
    shard(&place, "2/4", "many", &["--seed", "77", "--seconds", "0.6"]);
    let count = "the number of shards is 2 in one, 4 in many\n";
    let values = ["77 in many\n", "0.6 in many\n", count, "the plan is"];
    let done = refused(&place, &["all", "one", "many"], &values);
    for what in ["`seed` is", "`seconds` is", "the number of shards is", "the plan is"] {
        let is_it = |line: &&str| line.trim_start().starts_with(what) && line.contains(" in one, ");
        assert_eq!(done.err().lines().filter(is_it).count(), 1, "{what}: {}", done.err());
    }
    shard(&place, "2/4", "quarter", &[]);
    let count = "the number of shards is 2 in one, 4 in quarter";
    refused(&place, &["all", "one", "quarter"], &[count]);
    place.run(&["run", "four.toml", "--quiet", "--out", "whole"]).code(0);
    refused(&place, &["all", "one", "whole"], &["whole is no shard"]);
    std::fs::create_dir(place.path("empty")).unwrap();
    refused(&place, &["all", "one", "empty"], &["empty is not a run folder"]);
    refused(&place, &["all", "one", "nowhere"], &["nowhere", "it does not exist"]);
    place.write("file", "a shard of wood");
    refused(&place, &["all", "one", "file"], &["file is not a run folder"]);
    assert!(!place.path("all").exists());
    let done = refused(&place, &["file", "one"], &["file is a file, and no run folder"]);
    assert!(!done.err().contains("--resume"), "{}", done.err());
    assert_eq!(std::fs::read(place.path("file")).unwrap(), b"a shard of wood");
    // What is there already is not written over.
    let before = bytes(&place, "whole");
    refused(&place, &["whole", "one"], &["no merged run"]);
    assert_eq!(bytes(&place, "whole"), before);
    std::fs::create_dir(place.path("mine")).unwrap();
    place.write("mine/thesis", "years");
    refused(&place, &["mine", "one"], &["no merged run"]);
    assert_eq!(std::fs::read_dir(place.path("mine")).unwrap().count(), 1);
}

/// Whoever reads the file would take the figures for those of another experiment.
#[test]
fn a_folder_whose_experiment_was_edited_is_refused_by_what_differs() {
    let place = place();
    half(&place, 1, "one");
    half(&place, 2, "two");
    let toml = std::fs::read_to_string(place.path("two/experiment.toml")).unwrap();
    let edited = toml.replace("seconds = 0.5", "seconds = 0.6");
    assert_ne!(edited, toml);
    let differs = "was `seconds = 0.5` and is `seconds = 0.6`";
    place.write("two/experiment.toml", &edited);
    let before = ["one", "two"].map(|folder| bytes(&place, folder));
    refused(&place, &["all", "one", "two"], &["two/experiment.toml was edited", differs]);
    assert!(!place.path("all").exists());
    assert_eq!(["one", "two"].map(|folder| bytes(&place, folder)), before);
    assert_eq!(std::fs::read_to_string(place.path("two/experiment.toml")).unwrap(), edited);
    // It is put back.
    place.write("two/experiment.toml", &toml);
    place.run(&["merge", "all", "one"]).code(0);
    // Nor is anything merged into a folder whose own was edited.
    place.write("all/experiment.toml", &edited);
    let before = bytes(&place, "all");
    refused(&place, &["all", "two"], &["all/experiment.toml was edited", differs]);
    assert_eq!(bytes(&place, "all"), before);
    place.write("all/experiment.toml", &toml);
    // Without the file nothing contradicts the record.
    std::fs::remove_file(place.path("two/experiment.toml")).unwrap();
    place.run(&["merge", "all", "two"]).code(0);
    assert_eq!(place.json("all")["run"]["status"], "finished");
}
