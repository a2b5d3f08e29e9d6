//! Data in memory: a promise to keep commits is told to be none, and what promises nothing is not touched.

use bakeoff_testkit::Tmpfs;

use super::on_disks::can_mount;
use super::{Place, SMALL};

const CODE: &str = "data-in-memory";
const SAID: &str = "no commit outlives a power cut there";

/// Whether the document of a run warns of data in memory.
fn is_warned(place: &Place, folder: &str) -> bool {
    place.json(folder)["warnings"].as_array().unwrap().iter().any(|it| it["code"] == CODE)
}

#[test]
fn commits_below_a_path_in_memory_are_measured_and_told_to_be_none() {
    let place = Place::new();
    place.write("small.toml", SMALL);
    let memory = place.path("memory");
    let Some(_disk) = Tmpfs::mount(&memory, "400m") else { return };
    let run = ["run", "small.toml", "--path", "memory", "--repetitions", "1", "--out"];
    let at = |out, more: &[&'static str]| [&run[..], &[out], more].concat();
    let plan = place.run(&at("strict", &["--dry-run"])).code(0);
    plan.says(&["In 2 of 2 trials that promise to keep commits", "(tmpfs)", SAID]);
    place.run(&at("strict", &[])).code(0).says(&[SAID]);
    assert!(is_warned(&place, "strict"));
    let document = place.json("strict");
    let confidence = &document["answer"]["confidence"];
    assert_eq!(confidence["level"], "low");
    let reasons = confidence["reasons"].as_array().unwrap();
    let why = "data in memory: no commit outlives a power cut";
    assert!(reasons.iter().any(|it| it == why), "{reasons:?}");

    let plan = place.run(&at("none", &["--durability", "none", "--dry-run"])).code(0);
    assert!(!plan.err().contains(SAID), "{}", plan.err());
    let done = place.run(&at("none", &["--durability", "none"])).code(0);
    assert!(!done.err().contains(SAID), "{}", done.err());
    assert!(!is_warned(&place, "none"));
}

/// What is durable on a virtual disk is its model's, wherever the files lie.
#[test]
fn commits_on_a_virtual_disk_are_not_told_to_lie_in_memory() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    place.write("small.toml", SMALL);
    let memory = place.path("memory");
    let Some(_disk) = Tmpfs::mount(&memory, "400m") else { return };
    let run = ["run", "small.toml", "--disk", "null", "--repetitions", "1", "--out", "memory/r"];
    let done = place.run(&run).code(0);
    assert!(!done.err().contains(SAID), "{}", done.err());
    assert!(!is_warned(&place, "memory/r"));
}
