//! Trials that end after a number of operations, and what is said on the way and of their colours.

use super::{Done, Place, SMALL};

#[test]
fn a_trial_ends_when_enough_operations_of_each_kind_have_ended() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let run = ["run", "small.toml", "--seconds", "20", "--operations", "100"];
    let dry = place.run(&[&run[..], &["--dry-run"]].concat()).code(0);
    dry.says(&[
        "4 trials in 2 blocks, 20 s each, sooner after 100 operations of each kind, about ",
    ]);
    let done = place.run(&[&run[..], &["--out", "r"]].concat()).code(0);
    done.says(&["so far (1 block)", "so far (2 blocks)"]);
    let document = place.json("r");
    assert_eq!(document["run"]["operations_each"], 100);
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    for trial in trials {
        let end = trial["window_s"][1].as_f64().unwrap();
        assert!(end < 20.0, "it was not the time that ended it: {trial}");
        let operations = trial["operations"].as_array().unwrap();
        assert!(operations.iter().all(|it| it["count"].as_u64() >= Some(100)), "{trial}");
    }
    let text = place.run(&["report", "r", "--format", "md"]).code(0);
    text.says(&["until 100 of each operation have ended, for 20 s at most"]);
    let colored = |variables: &[(&str, &str)]| {
        let mut command = place.command(&["report", "r", "--present", "engine=lmdb"]);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command.envs(variables.iter().copied());
        Done(command.output().unwrap()).code(0).out().contains("\x1b[")
    };
    assert!(!colored(&[]), "it goes to no terminal");
    assert!(colored(&[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn what_can_not_be_had_of_a_report_is_refused_before_anything_is_run_or_read() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let pdf = ["report", "nowhere", "--output", "x.pdf"];
    place.run(&pdf).code(2).says(&["as `.pdf`", ".html", ".md", ".csv", "--format FORMAT"]);
    let present = ["run", "small.toml", "--out", "r", "--present", "engine=postgres"];
    place.run(&present).code(2).says(&["no such level of engine; it has sqlite, lmdb"]);
    assert!(!place.path("r").exists(), "the mended command finds its place free");
}
