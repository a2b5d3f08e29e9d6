//! Open loops: operations come at a rate, whether or not they are served.

use bakeoff_results::Scope;
use bakeoff_results::measure::{BACKLOG, CONCURRENCY, DUE, NOT_STARTED, OFFERED, OPERATIONS};

use super::on_disks::can_mount;
use super::{Place, measured};

const READS: &str = "workload = \"point\"\nengine = \"null\"\nseconds = 1\nrepetitions = 2\n";

/// Whether it is kept, on a machine that stalls: nothing of what was due is lost, and nothing is made up.
#[test]
fn of_a_rate_all_that_was_due_has_ended_or_is_told_as_not_started() {
    let place = Place::new();
    place.write("mine.toml", READS);
    let run = ["run", "mine.toml", "--rate", "300/s,poisson:300/s", "--compare", "rate"];
    let done = place.run(&[&run[..], &["--out", "r"]].concat()).code(0);
    done.says(&["response time", "service", "kept up"]);
    let document = place.json("r");
    for trial in document["trials"].as_array().unwrap() {
        let measures = measured(trial);
        let of_clients = |measure| measures.get(measure, &Scope::Clients).unwrap();
        let even = trial["levels"]["rate"] == "300/s";
        let (due, not_started) = (of_clients(&DUE), of_clients(&NOT_STARTED));
        // One at each end; a Poisson process has a standard deviation of 17.
        let chance = if even { 1.0 } else { 70.0 };
        assert!(due >= 300.0 - chance && of_clients(&OPERATIONS) + not_started >= due, "{trial}");
        // The window is 0.9 s long, and longer where nothing ended in it.
        let [from, to] = [0, 1].map(|end| trial["window_s"][end].as_f64().unwrap());
        let in_window = 300.0 * (to - from);
        let count = trial["operations"][0]["count"].as_f64().unwrap();
        let kept = count <= in_window + chance && count + not_started >= in_window - chance;
        assert!(kept && count > 0.0, "{trial}");
        assert_eq!(of_clients(&OFFERED), 300.0);
        let operation = &trial["operations"][0];
        assert!(operation["mean_s"].as_f64() >= operation["service_mean_s"].as_f64(), "{trial}");
    }
}

#[test]
fn a_rate_that_can_not_be_kept_is_said_to_be_so_and_not_measured() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let toml = "workload = \"redmine\"\nengine = [\"sqlite\", \"lmdb\"]\ndisk = \"hdd-7200\"\n\
                seconds = 2\nrepetitions = 1\nrate = \"200/s\"\n";
    place.write("mine.toml", toml);
    let done = place.run(&["run", "mine.toml", "--out", "r"]).code(0);
    done.says(&[
        "did not keep up",
        "Nothing is compared: no two levels kept up with the same rate",
    ]);
    let document = place.json("r");
    for comparison in document["comparisons"].as_array().unwrap() {
        assert_eq!(comparison["ratio"], serde_json::Value::Null, "{comparison}");
    }
    let trial = &document["trials"][0];
    let measures = measured(trial);
    let of_clients = |measure| measures.get(measure, &Scope::Clients).unwrap();
    // A commit waits for a turn of the platters: 11 an operation, 120 a second. Their clients run until 20 of each
    // kind have ended, and that is seen.
    let ran_s = trial["ran_s"].as_f64().unwrap();
    assert!(of_clients(&OPERATIONS) < 30.0 * ran_s, "{ran_s} s: {measures:?}");
    assert!(of_clients(&NOT_STARTED) > 300.0, "{measures:?}");
    assert!(of_clients(&BACKLOG) >= of_clients(&NOT_STARTED), "{measures:?}");
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("did not keep up"), "{warnings}");
    assert!(!warnings.contains("add up to the clients"), "a closed loop's check: {warnings}");
}

#[test]
fn a_thousand_clients_of_an_engine_that_never_waits_take_no_thread_each() {
    let place = Place::new();
    place.write("mine.toml", READS);
    let run = ["run", "mine.toml", "--clients", "1000", "--repetitions", "1", "--out", "r"];
    place.run(&run).code(0);
    let document = place.json("r");
    let trial = &document["trials"][0];
    let concurrency = measured(trial).get(&CONCURRENCY, &Scope::Clients);
    assert_eq!((&trial["valid"], concurrency), (&true.into(), Some(1000.0)));
    // By Little's law: each of them was in an operation, or waiting for its turn, through the window
    // and until the last that counts was over.
    let operation = &trial["operations"][0];
    let (count, mean_s) = (operation["count"].as_f64(), operation["mean_s"].as_f64());
    let (books, ran_s) = (count.unwrap() * mean_s.unwrap() / 1000.0, trial["ran_s"].as_f64());
    assert!(books > 0.5 * 0.9 && books <= ran_s.unwrap(), "{books} s of {ran_s:?} s: {trial}");
}
