//! Runs that go to their end: what they leave, say and measure.

use std::collections::BTreeMap;

use bakeoff_results::measure::*;
use serde_json::Value;

use super::{Done, Place, SMALL, measured, trials};

#[test]
fn a_run_leaves_its_results_and_nothing_else() {
    let place = Place::small();
    let arguments = ["run", "small.toml", "--out", "results", "--noise-floor", "--clients", "1,2"];
    let done = place.run(&arguments).code(0);
    assert!(!format!("{}{}", done.out(), done.err()).contains('\x1b'), "it is no terminal");
    assert_eq!(lines(&done.err(), "trial begins"), 0, "nobody asked for a log");
    done.says(&["trial 1 of 12", "read", "results/report.html"]);
    place.assert_clean("results");

    let document = place.json("results");
    assert_eq!(document["run"]["status"], "finished");
    // Without its own folder, which would be in the way.
    assert_eq!(document["run"]["command"], "bakeoff run small.toml --noise-floor --clients 1,2");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 12);
    for trial in trials {
        assert_eq!(trial["valid"], true, "{trial}");
        let measures = measured(trial);
        for scope in [Scope::Clients, Scope::DATABASE] {
            assert!(measures.get(&CPU, &scope).unwrap() > 0.0, "{scope}: {trial}");
        }
        assert!(measures.get(&SPACE, &Scope::Trial).unwrap() > 1e6, "{trial}");
    }
    assert_eq!(document["comparisons"].as_array().unwrap().len(), 2, "lmdb, for 1 and 2 clients");
    assert_eq!(document["noise"].as_array().unwrap().len(), 2, "sqlite, for 1 and 2 clients");
    assert_eq!(document["comparisons"][0]["blocks"], 2);
}

#[test]
fn redmine_runs_on_every_engine_with_neighbours() {
    let place = Place::new();
    let run = ["run", "redmine", "--engine", "sqlite,lmdb,fjall,null", "--out", "r"];
    let levels = ["--neighbours", "0,25%,x1", "--clients", "2", "--durability", "none"];
    let short = ["--seconds", "1", "--repetitions", "1", "--noise-floor", "false"];
    place.run(&[&run[..], &levels, &short].concat()).code(0);
    place.assert_clean("r");
    let document = place.json("r");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 12);
    let alone = document["run"]["neighbour_alone_per_second"].as_f64().unwrap();
    let mut achieved: BTreeMap<&str, f64> = BTreeMap::new();
    for trial in trials {
        let operations = trial["operations"].as_array().unwrap();
        let names: Vec<&Value> = operations.iter().map(|operation| &operation["name"]).collect();
        assert_eq!(names, ["create_issue", "process_issues"]);
        assert!(operations[1]["count"].as_u64().unwrap() > 0, "{trial}");
        assert_eq!(operations[0]["errors"], 0, "{trial}");
        // At which rate requests are due is theirs; how many a second are done is up to who else is on
        // the machine's disk.
        let neighbours = trial["levels"]["neighbours"].as_str().unwrap();
        let [due, done] = [&OFFERED, &RATE].map(|it| measured(trial).get(it, &Scope::Neighbours));
        assert_eq!(due.is_some(), neighbours == "25%", "{trial}");
        assert!(due.is_none_or(|due| (due / alone - 0.25).abs() < 1e-6), "{due:?} of {alone}");
        *achieved.entry(neighbours).or_default() += done.unwrap_or(0.0);
    }
    // Of all engines together.
    let at_work: Vec<bool> = achieved.values().map(|per_second| *per_second > 0.0).collect();
    assert_eq!(at_work, [false, true, true], "{achieved:?}");
}

/// Whether it is kept, on a machine that stalls: nothing of what was due is lost, and nothing is made up.
#[test]
fn of_a_rate_all_that_was_due_has_ended_or_is_told_as_not_started() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"null\"\nseconds = 1\n");
    let run = ["run", "mine.toml", "--rate", "300/s,poisson:300/s", "--compare", "rate"];
    let done =
        place.run(&[&run[..], &["--repetitions", "2", "--full", "--out", "r"]].concat()).code(0);
    done.says(&["response time", "service", "kept up"]);
    for trial in place.json("r")["trials"].as_array().unwrap() {
        let measures = measured(trial);
        let of_clients = |measure| measures.get(measure, &Scope::Clients).unwrap();
        let (due, not_started) = (of_clients(&DUE), of_clients(&NOT_STARTED));
        // One at each end; a Poisson process has a standard deviation of 17.
        let chance = if trial["levels"]["rate"] == "300/s" { 1.0 } else { 70.0 };
        assert!(due >= 300.0 - chance && of_clients(&OPERATIONS) + not_started >= due, "{trial}");
        assert_eq!(of_clients(&OFFERED), 300.0);
        let operation = &trial["operations"][0];
        assert!(operation["mean_s"].as_f64() >= operation["service_mean_s"].as_f64(), "{trial}");
    }
    // Nor are many clients of an engine that never waits lost.
    let many = ["run", "mine.toml", "--clients", "1000", "--repetitions", "1", "--out", "many"];
    place.run(&many).code(0);
    let trial = &place.json("many")["trials"][0];
    let concurrency = measured(trial).get(&CONCURRENCY, &Scope::Clients);
    assert_eq!((&trial["valid"], concurrency), (&true.into(), Some(1000.0)));
}

/// How many lines say that.
fn lines(text: &str, wanted: &str) -> usize {
    text.lines().filter(|line| line.contains(wanted)).count()
}

#[test]
fn a_trial_ends_when_enough_operations_of_each_kind_have_ended() {
    let place = Place::small();
    let run = ["run", "small.toml", "--seconds", "20", "--operations", "100", "--out", "r"];
    let done = place.run(&[&run[..], &["--log", "info"]].concat()).code(0);
    let ran = trials(&place.path("r")) as usize;
    assert!(ran >= 4, "{ran}");
    assert_eq!(lines(&done.err(), "INFO trial begins"), ran, "{}", done.err());
    assert_eq!(lines(&done.err(), "DEBUG"), 0, "{}", done.err());
    done.says(&["so far (1 block)", "so far (2 blocks)"]);
    let document = place.json("r");
    assert_eq!(document["run"]["operations_each"], 100);
    for trial in document["trials"].as_array().unwrap() {
        let end = trial["window_s"][1].as_f64().unwrap();
        assert!(end < 20.0, "it was not the time that ended it: {trial}");
        let operations = trial["operations"].as_array().unwrap();
        assert!(operations.iter().all(|it| it["count"].as_u64() >= Some(100)), "{trial}");
    }
}

#[test]
fn quiet_says_the_verdict_failures_and_the_log_alone() {
    let place = Place::small();
    let quiet = ["run", "small.toml", "--quiet", "--repetitions", "1", "--out"];
    let done = place.run(&[&quiet[..], &["r"]].concat()).code(0);
    assert_eq!((done.err().as_str(), done.out().trim().lines().count()), ("", 1), "{}", done.out());
    let mut logged = place.command(&[&quiet[..], &["logged"]].concat());
    let said = Done(logged.env("BAKEOFF_LOG", "debug").output().unwrap()).code(0).err();
    let ran = trials(&place.path("logged")) as usize;
    assert!(lines(&said, "DEBUG process starts") >= 4, "{said}");
    // What a trial's own process says, too.
    assert_eq!([lines(&said, "INFO trial ends"), lines(&said, "DEBUG warm")], [ran; 2], "{said}");

    let nowhere = "sqlite,postgres://me@%2Fnowhere/bench";
    let done = place.run(&[&quiet[..], &["s", "--engine", nowhere]].concat()).code(2);
    assert!(done.err().contains("whether it is running"), "why it did not begin: {}", done.err());
    assert_eq!(done.out(), "");
    assert!(!place.path("s").exists());
}

#[test]
fn a_level_of_the_log_that_is_none_is_refused() {
    let place = Place::new();
    place.run(&["--log", "debug", "list", "presets"]).code(0);
    place.run(&["list", "presets", "--log", "loud"]).code(2).says(&["debug"]);
    let mut command = place.command(&["list", "presets"]);
    let variable = Done(command.env("BAKEOFF_LOG", "loud").output().unwrap()).code(2);
    variable.says(&["valid: off, error, warn, info, debug, trace"]);
}

/// The block and engine of each trial that counts, in the plan's order.
fn in_order(document: &Value) -> Vec<(u64, u64, String)> {
    let trials = document["trials"].as_array().unwrap().iter();
    let number = |trial: &Value, field: &str| trial[field].as_u64().unwrap();
    let engine = |trial: &Value| trial["levels"]["engine"].as_str().unwrap().to_owned();
    let trials = trials.filter(|trial| trial["valid"] == true);
    let mut trials: Vec<_> =
        trials.map(|it| (number(it, "block"), number(it, "order"), engine(it))).collect();
    trials.sort();
    trials
}

#[test]
fn a_run_ends_when_it_is_decided() {
    let place = Place::small();
    let run =
        ["run", "small.toml", "--until-decided", "--max-repetitions", "5", "--full", "--out", "r"];
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
    // Its blocks are those of a fixed plan.
    let ended = in_order(&document);
    let fixed = in_order(&Place::finished().json("r"));
    assert_eq!((&ended[..4], ended.len() as u64), (&fixed[..], 2 * blocks));
    // It has nothing left to do.
    place.run(&["run", "--resume", "r"]).code(0).says(&["decided"]);
    assert_eq!(in_order(&place.json("r")), ended);
    place.assert_clean("r");
}

/// An engine against itself is never decided in so few blocks, and the time is over before.
#[test]
fn a_run_ends_in_good_order_when_the_time_is_over() {
    let place = Place::new();
    let toml = SMALL.replace("\"lmdb\"", "\"sqlite@again\", \"lmdb\"");
    place.write("small.toml", &format!("{toml}clients = [1, 2, 3]\n"));
    let run = ["run", "small.toml", "--until-decided", "--max-time", "9s", "--full", "--out", "r"];
    place.run(&run).code(0).says(&[
        "nothing is decided before 3 repetitions",
        "another block would not end within --max-time",
        "the time was over",
    ]);
    let document = place.json("r");
    assert_eq!(document["run"]["status"], "finished");
    let ended = in_order(&document);
    assert!(ended.len().is_multiple_of(3) && ended.len() >= 3, "whole blocks: {ended:?}");
    // Three repetitions take longer than the time, on any machine.
    assert!(ended.len() < 27, "{}", ended.len());
    // The time that it has used counts when it is taken up again.
    place.run(&["run", "--resume", "r"]).code(0).says(&["another block would not end"]);
    assert_eq!(in_order(&place.json("r")), ended);
}

#[test]
fn a_run_fails_where_a_figure_is_beyond_what_is_allowed() {
    let place = Place::small();
    let run = |out: &str, conditions: &[&str]| {
        let conditions = conditions.iter().flat_map(|it| ["--fail-if", it]);
        let run = ["run", "small.toml", "--quiet", "--out", out];
        place.run(&run.into_iter().chain(conditions).collect::<Vec<_>>())
    };
    let failed = run("fails", &["p50>1us", "errors>0"]).code(7);
    assert!(lines(&failed.err(), "failed: p50>1us at ") >= 2, "{}", failed.err());
    assert_eq!(lines(&failed.err(), "errors>0"), 0, "{}", failed.err());
    run("passes", &["p50>600s", "rate<0.001/s"]).code(0);
    run("refused", &["p50<1us"]).code(2).says(&["would fail for what is good", "valid: "]);
    assert!(!place.path("refused").exists());
}
