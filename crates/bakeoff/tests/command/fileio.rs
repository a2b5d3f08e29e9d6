//! The workload `fileio`: a folder in the place of an engine.

use bakeoff_results::Scope;
use bakeoff_results::measure::CONCURRENCY;

use super::on_disks::can_mount;
use super::{Place, measured};

#[test]
fn a_disk_is_read_without_an_engine_at_any_depth() {
    let place = Place::new();
    let disks = if can_mount() { "host,null" } else { "host" };
    let run = ["run", "fileio", "--disk", disks, "--factor", "depth=1,8", "--clients", "2"];
    let more = ["--factor", "block=16k", "--seconds", "0.5", "--repetitions", "1", "--out", "r"];
    place.run(&[&run[..], &more].concat()).code(0).says(&["16K", "depth"]);
    place.assert_clean("r");
    let document = place.json("r");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2 * disks.split(',').count());
    for trial in trials {
        let depth: f64 = trial["levels"]["depth"].as_str().unwrap().parse().unwrap();
        let concurrency = measured(trial).get(&CONCURRENCY, &Scope::Clients);
        assert_eq!((&trial["valid"], concurrency), (&true.into(), Some(2.0 * depth)), "{trial}");
        assert!(trial["levels"]["engine"].is_null() && trial["levels"]["block"] == "16K");
        let operation = &trial["operations"][0];
        let (mean, rate) = (operation["mean_s"].as_f64(), operation["per_second"].as_f64());
        let in_flight = mean.unwrap() * rate.unwrap();
        assert!((1.4 * depth..=2.1 * depth).contains(&in_flight), "{in_flight}: {trial}");
    }
}

#[test]
fn what_a_folder_does_not_have_is_refused_with_what_it_has() {
    let place = Place::new();
    let refused = |more: &[&str], texts: &[&str]| {
        place.run(&[&["run", "fileio"], more].concat()).code(2).says(texts);
    };
    refused(&["--engine", "sqlite"], &["`engine`", "fileio", "disk, neighbours, clients"]);
    refused(&["--factor", "dept=4"], &["did you mean `depth`?"]);
    refused(&["--factor", "depth=0"], &["1 to 1024"]);
    refused(&["--factor", "block=5K"], &["a multiple of 4K"]);
    refused(&["--cuts", "3"], &["fileio only reads"]);
    let endless = ["--factor", "depth=1024", "--factor", "block=1M", "--clients", "2"];
    let run = ["run", "fileio", "--disk", "host", "--repetitions", "1", "--out", "r"];
    let texts = ["clients 2 × depth 1024", "2048 MiB of buffers", "nothing in this experiment"];
    place.run(&[&run[..], &endless].concat()).code(2).says(&texts);
    assert!(!place.path("r").exists(), "nothing was begun");
    // The others run.
    let some = ["--factor", "depth=1,1024", "--factor", "block=1M", "--clients", "2"];
    let some = [&run[..], &some, &["--seconds", "0.5"]].concat();
    let text = "not run: block 1M × clients 2 × depth 1024 (1 trial): they would take 2048 MiB";
    place.run(&[&some[..], &["--dry-run"]].concat()).code(0).says(&["1 trial in 1 block", text]);
    place.run(&some).code(0).says(&[text]);
    assert_eq!(place.json("r")["trials"].as_array().unwrap().len(), 1);
    place.run(&["run", "redmine", "--factor", "depth=4"]).code(2).says(&["`depth`", "redmine"]);
}
