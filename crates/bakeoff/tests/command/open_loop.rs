//! Open loops: operations come at a rate, whether or not they are served.

use bakeoff_results::Scope;
use bakeoff_results::measure::{BACKLOG, CONCURRENCY, NOT_STARTED, OFFERED, OPERATIONS};

use super::on_disks::can_mount;
use super::{Place, measured};

const READS: &str = "workload = \"point\"\nengine = \"null\"\nseconds = 1\nrepetitions = 2\n";

#[test]
fn a_rate_that_is_kept_has_as_many_operations_as_were_due() {
    let place = Place::new();
    place.write("mine.toml", READS);
    let run = ["run", "mine.toml", "--rate", "300/s,poisson:300/s", "--compare", "rate"];
    let done = place.run(&[&run[..], &["--out", "r"]].concat()).code(0);
    done.says(&["response time", "service", "kept up"]);
    let document = place.json("r");
    for trial in document["trials"].as_array().unwrap() {
        let measures = measured(trial);
        let of_clients = |measure| measures.get(measure, &Scope::Clients).unwrap();
        assert!(of_clients(&OPERATIONS) >= 300.0 * 0.75 && of_clients(&NOT_STARTED) <= 3.0);
        // All that was due in the window of 0.9 s, and nothing else.
        let count = trial["operations"][0]["count"].as_f64().unwrap();
        let even = trial["levels"]["rate"] == "300/s";
        assert!((count - 270.0).abs() <= if even { 0.0 } else { 70.0 }, "{trial}");
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
    let measures = measured(&document["trials"][0]);
    let of_clients = |measure| measures.get(measure, &Scope::Clients).unwrap();
    // A commit waits for a turn of the platters: 11 an operation, 120 a second.
    assert!(of_clients(&OPERATIONS) < 60.0, "{measures:?}");
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
    // By Little's law each of them was always in an operation, or waiting for its turn.
    let operation = &trial["operations"][0];
    let (mean, rate) = (operation["mean_s"].as_f64(), operation["per_second"].as_f64());
    let in_flight = mean.unwrap() * rate.unwrap();
    assert!((900.0..1100.0).contains(&in_flight), "{in_flight}");
}
