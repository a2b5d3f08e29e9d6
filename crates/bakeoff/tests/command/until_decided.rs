//! Runs that go on until they are decided.

use serde_json::Value;

use super::{Place, SMALL};

/// The block, place and engine of each trial that counts, in the plan's order: a block that was run again comes
/// later.
fn trials(document: &Value) -> Vec<(u64, u64, String)> {
    let trials = document["trials"].as_array().unwrap().iter();
    let trials = trials.filter(|trial| trial["valid"] == true);
    let number = |trial: &Value, field: &str| trial[field].as_u64().unwrap();
    let engine = |trial: &Value| trial["levels"]["engine"].as_str().unwrap().to_owned();
    let mut trials: Vec<_> =
        trials.map(|it| (number(it, "block"), number(it, "order"), engine(it))).collect();
    trials.sort();
    trials
}

#[test]
fn a_run_ends_when_it_is_decided_and_shares_its_blocks_with_a_fixed_one() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let run = ["run", "small.toml", "--until-decided", "--max-repetitions", "5", "--out", "r"];
    place.run(&run).code(0).says(&["trial 1 of 6", "How long each condition went on"]);
    let document = place.json("r");
    let run = &document["run"];
    assert_eq!((&run["planner"], &run["status"]), (&"until-decided".into(), &"finished".into()));
    assert_eq!(run["sequential"]["looks"], serde_json::json!([3, 4, 5]));
    assert!(run["sequential"]["used_s"].as_f64().unwrap() > 3.0);
    let condition = &document["conditions"][0];
    let blocks = condition["blocks"].as_u64().unwrap();
    assert!((3..=5).contains(&blocks), "{condition}");
    assert_ne!(condition["state"], "open");
    // One of sqlite and lmdb reads much faster: it may take a block more on a busy machine.
    assert!(document["comparisons"][0]["low"].is_f64());
    place.run(&["run", "small.toml", "--repetitions", "5", "--out", "fixed", "--quiet"]).code(0);
    let fixed = trials(&place.json("fixed"));
    assert_eq!(trials(&document), fixed[..2 * blocks as usize]);
    // It has nothing left to do.
    place.run(&["run", "--resume", "r"]).code(0).says(&["decided"]);
    assert_eq!(trials(&place.json("r")), trials(&document));
    place.assert_clean("r");
}

/// An engine against itself is never decided in so few blocks, and the time is over before.
#[test]
fn a_run_ends_in_good_order_when_the_time_is_over() {
    let place = Place::new();
    let toml = SMALL.replace("\"lmdb\"", "\"sqlite@again\", \"lmdb\"");
    place.write("small.toml", &format!("{toml}clients = [1, 2, 3]\n"));
    let run = ["run", "small.toml", "--until-decided", "--max-time", "9s", "--out", "r"];
    let done = place.run(&run).code(0);
    done.says(&[
        "nothing is decided before 3 repetitions",
        "another block would not end within --max-time",
        "the time was over",
    ]);
    let document = place.json("r");
    assert_eq!(document["run"]["status"], "finished");
    let used = document["run"]["sequential"]["used_s"].as_f64().unwrap();
    assert!(used > 1.5, "{used}");
    let ended = trials(&document);
    assert!(ended.len().is_multiple_of(3) && ended.len() >= 3, "whole blocks: {ended:?}");
    // Three repetitions take longer than the time, on any machine.
    assert!(ended.len() < 27, "{}", ended.len());
    // The time that it has used counts when it is taken up again.
    place.run(&["run", "--resume", "r"]).code(0).says(&["another block would not end"]);
    assert_eq!(trials(&place.json("r")), ended);
}

#[test]
fn a_time_that_is_too_short_for_a_block_is_refused_before_anything_runs() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let long = ["run", "small.toml", "--seconds", "60", "--until-decided", "--max-time", "1min"];
    place
        .run(&long)
        .code(2)
        .says(&["--max-time is 1 min, and one block takes longer: about 2 min"]);
    assert_eq!(std::fs::read_dir(place.path(".")).unwrap().count(), 1, "nothing was made");
}

#[test]
fn a_dry_run_says_the_least_and_the_most() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let plan = |flags: &[&str]| {
        let arguments = [&["run", "small.toml", "--until-decided", "--dry-run"], flags].concat();
        place.run(&arguments)
    };
    plan(&[]).code(0).says(&[
        "6 trials in 3 blocks, 0.5 s each, about 6 s with the loading",
        "these are the first 3 repetitions, which is the least; a condition that is not decided then goes \
         on: at most 40 trials in 20 blocks, about 35 s",
        "planner until-decided: repetition by repetition",
    ]);
    assert!(!plan(&[]).out().contains("repetition  3"), "which come after that nobody knows");
    plan(&["--max-time", "1s"])
        .code(2)
        .says(&["it would not begin here: --max-time is 1 s, and one block takes"]);
    let short = plan(&["--max-time", "20s"]).code(0);
    short.says(&["20 blocks, about 20 s, when --max-time ends it"]);
}

#[test]
fn flags_that_don_t_go_together_are_refused() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let refused = |flags: &[&str], says: &str| {
        place.run(&[&["run", "small.toml", "--dry-run"], flags].concat()).code(2).says(&[says]);
    };
    refused(&["--max-time", "2h"], "add --until-decided, or leave --max-time out");
    refused(&["--max-repetitions", "9"], "the planner `fixed` takes no --max-repetitions");
    refused(&["--until-decided", "--repetitions", "9"], "give --max-repetitions");
    refused(&["--until-decided", "--max-time", "soon"], "`soon` is no time");
    refused(&["--until-decided", "--max-repetitions", "2"], "valid: 3 to 1000");
    refused(&["--until-decided", "--planner", "fixed"], "cannot be used with");
    refused(&["--until-decided", "--engine", "sqlite"], "has nothing to decide");
}
