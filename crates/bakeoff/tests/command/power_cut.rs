//! Pulling the plug, as a user does it.

use super::Place;
use super::on_disks::can_mount;

/// Cuts alone: no trial is timed.
const CUTS: [&str; 8] =
    ["run", "power-cut", "--engine", "sqlite", "--repetitions", "0", "--cuts", "2"];

#[test]
fn an_engine_that_keeps_its_promise_ends_well_and_one_cut_can_be_repeated() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let flags = ["--durability", "strict,none", "--keep", "prefix,torn", "--out", "r"];
    let arguments: Vec<&str> = CUTS.into_iter().chain(flags).collect();
    place.run(&arguments).code(0).says(&["The only promise stood 2 power cuts"]);
    place.assert_clean("r");
    let document = place.json("r");
    let cuts = document["cuts"].as_array().unwrap();
    assert_eq!(cuts.len(), 4);
    assert!(cuts.iter().all(|cut| cut["judged"].as_array().unwrap().len() == 2), "{cuts:?}");
    assert_eq!(document["promises"][0]["kept"], true);
    assert_eq!(document["promises"][1]["kept"], serde_json::Value::Null);

    // The command that the report would print, as a user types it.
    let head = document["run"]["cuts"]["command"].as_str().unwrap().to_owned();
    let tail = " --engine sqlite --durability strict --keep torn --cut-number 1 --out again";
    let again = format!("{head}{tail}");
    let words: Vec<&str> = again.split_whitespace().skip(1).collect();
    place.run(&words).code(0);
    let again = place.json("again");
    let [one] = again["cuts"].as_array().unwrap().as_slice() else { panic!("one cut") };
    let first = cuts.iter().find(|cut| cut["durability"] == "strict" && cut["number"] == 1);
    let first = first.unwrap();
    assert_eq!((&one["seed"], &one["moment"]), (&first["seed"], &first["moment"]));
    assert_eq!(again["trials"].as_array().unwrap().len(), 0);
}

#[test]
fn cuts_that_are_made_are_not_made_again() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let flags = ["--durability", "strict", "--keep", "torn", "--out", "r"];
    let arguments: Vec<&str> = CUTS.into_iter().chain(flags).collect();
    place.run(&arguments).code(0);
    let before = place.json("r")["cuts"].clone();
    place.run(&["run", "--resume", "r"]).code(0);
    assert_eq!(place.json("r")["cuts"], before);
}

#[test]
fn the_power_of_this_machines_own_disk_is_not_cut() {
    let place = Place::new();
    let arguments: Vec<&str> = CUTS.into_iter().chain(["--disk", "host", "--out", "r"]).collect();
    place
        .run(&arguments)
        .code(2)
        .says(&["the power of the disk `host` can't be cut", "--disk ssd-sata"]);
    assert!(!place.path("r").exists());
}
