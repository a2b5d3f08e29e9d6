//! Trials that follow one conditioning: neighbours change while an engine goes on.

use std::fs;
use std::process::Child;

use bakeoff_results::measure::*;
use bakeoff_testkit::{children, comes_while, in_time};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::on_disks::can_mount;
use super::{Place, measured, trials};

const STEADY: &str = r#"
name = "steady"
workload = "ledger"
state = "steady"
engine = ["sqlite", "lmdb"]
durability = "relaxed"
disk = "ssd-sata"
seconds = 1
noise_floor = false
"#;

/// A trial, in the order in which they began.
struct Ran {
    engine: String,
    neighbours: String,
    block: u64,
    valid: bool,
    reason: String,
    measures: Measures,
}

impl Ran {
    fn of(&self, measure: &Measure, scope: Scope) -> Option<f64> {
        self.measures.get(measure, &scope)
    }

    /// Whether it counts, or counted until its block was run again.
    fn counts(&self) -> bool {
        self.valid || self.reason.starts_with("the machine was disturbed")
    }

    /// How many trials it followed after its conditioning.
    fn since(&self) -> Option<f64> {
        self.of(&TRIALS_SINCE, Scope::Trial)
    }
}

fn ran(document: &Value) -> Vec<Ran> {
    let mut all: Vec<&Value> = document["trials"].as_array().unwrap().iter().collect();
    let started = |trial: &Value| trial["started_s"].as_f64().unwrap();
    all.sort_by(|a, b| started(a).total_cmp(&started(b)));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ran = |trial: &Value| Ran {
        engine: text(&trial["levels"]["engine"]),
        neighbours: text(&trial["levels"]["neighbours"]),
        block: trial["block"].as_u64().unwrap(),
        valid: trial["valid"] == true,
        reason: text(&trial["reason"]),
        measures: measured(trial),
    };
    all.into_iter().map(ran).collect()
}

/// A pair of trials on one opening, of which the second follows the first.
fn assert_pair(pair: &[Ran]) {
    let [first, second] = pair else { panic!("{} trials", pair.len()) };
    assert_eq!(first.engine, second.engine);
    assert_ne!((first.block, &first.neighbours), (second.block, &second.neighbours));
    assert_eq!((first.since(), second.since()), (Some(0.0), Some(1.0)));
    let work = |it: &Ran| it.of(&CONDITIONED, Scope::Clients);
    assert!(work(first).is_some_and(|work| work > 0.0) && work(first) == work(second));
    // A drain between them would undo the conditioning.
    let drained = |it: &Ran| it.of(&DRAIN, Scope::Trial).is_some();
    assert_eq!((drained(first), drained(second)), (false, true));
    for it in pair {
        // What the machine was disturbed in is set aside, and in the same order all the same.
        assert!(it.counts(), "{}", it.reason);
        let rate = it.of(&RATE, Scope::Neighbours).expect("the neighbours' rate");
        assert_eq!(rate > 0.0, it.neighbours != "0", "{rate}/s beside {}", it.neighbours);
        // A ledger's operation commits once at most: nothing is counted twice.
        let [operations, commits] = [&OPERATIONS, &COMMITS].map(|it2| it.of(it2, Scope::Clients));
        assert!(commits > Some(0.0) && commits <= operations, "{commits:?} of {operations:?}");
        assert!(it.of(&MODELLED_LATENCY, Scope::Disk).is_some_and(|mean| mean > 0.0));
        assert!(it.of(&LOADED, Scope::Trial).is_some_and(|bytes| bytes > 0.0));
    }
}

/// What is the same for all levels of a block.
fn order(pair: &[Ran]) -> Vec<(u64, &str)> {
    pair.iter().map(|it| (it.block, &*it.neighbours)).collect()
}

#[test]
#[ignore = "slow: make test-slow"]
fn trials_that_differ_in_neighbours_follow_one_conditioning() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let toml = format!("{STEADY}neighbours = [\"0\", \"x2\"]\nrepetitions = 2\n");
    place.write("steady.toml", &toml);
    place.run(&["run", "steady.toml", "--out", "r"]).code(0);
    place.assert_clean("r");
    let document = place.whole_json("r");
    let all = ran(&document);
    // A block that the machine disturbed is run again, by itself.
    assert!(all.len() >= 8, "{}", all.len());
    let sequences: Vec<&[Ran]> = all[..8].chunks(4).collect();
    for sequence in &sequences {
        let (first, second) = sequence.split_at(2);
        assert_pair(first);
        assert_pair(second);
        assert_ne!(first[0].engine, second[0].engine);
        assert_eq!(order(first), order(second), "one order for all levels");
    }
    let begins = |sequence: &[Ran]| sequence[0].neighbours.clone();
    assert_ne!(begins(sequences[0]), begins(sequences[1]), "in turn");
    // One that was run again by itself has followed none.
    let steady = &document["cells"][0]["steady"];
    let followed = steady["followed_others"].as_u64().unwrap();
    assert!(followed == 1 || (followed == 0 && all.len() > 8), "{steady}");
}

/// The trial's process of a run.
fn trial_of(run: &Child) -> Option<u32> {
    let is_trial = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"trial")
    };
    children(run.id()).into_iter().find(is_trial)
}

#[test]
#[ignore = "slow: make test-slow"]
fn what_comes_after_a_trial_that_failed_is_conditioned_anew_and_said_so() {
    if !can_mount() {
        return;
    }
    let (place, all, done) = in_time("the second trial", |_| {
        let place = Place::new();
        let toml = format!("{STEADY}neighbours = [\"0\", \"x1\", \"x2\"]\nrepetitions = 1\n");
        place.write("steady.toml", &toml.replace("seconds = 1", "seconds = 2"));
        let mut run = place.start(&["run", "steady.toml", "--out", "r"]);
        // Of the first level, the first trial has ended and the second goes on in the same process.
        let begun = comes_while(&mut run, "the first trial", || trials(&place.path("r")) >= 1);
        let pid = trial_of(&run).filter(|_| begun).and_then(|pid| Pid::from_raw(pid as i32));
        let killed = pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok());
        let done = super::Done(run.wait_with_output().unwrap());
        println!("{}{}", done.out(), done.err());
        let all = ran(&place.whole_json("r"));
        let is_second = all.get(1).is_some_and(|it| it.reason.contains("killed"));
        (killed && is_second).then_some((place, all, done))
    });
    assert!(done.out().contains("onditioned anew"), "{}\n{}", done.out(), done.err());
    place.assert_clean("r");
    let places: Vec<Option<f64>> = all[..6].iter().map(Ran::since).collect();
    let in_turn = [Some(0.0), Some(1.0), Some(2.0)];
    assert_eq!(places[..3], [Some(0.0), None, Some(0.0)], "the third begins anew");
    assert_eq!(places[3..], in_turn, "the other level goes on as planned");
    assert!(!all[1].valid, "{}", all[1].reason);
    assert!(all[0].counts() && all[2..6].iter().all(Ran::counts));
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_run_that_stops_within_a_sequence_goes_on_with_whole_blocks() {
    if !can_mount() {
        return;
    }
    let (place, done) = in_time("the run", |_| {
        let place = Place::new();
        let toml = format!("{STEADY}neighbours = [\"0\", \"x2\"]\nrepetitions = 1\n");
        place.write("steady.toml", &toml);
        let mut run = place.start(&["run", "steady.toml", "--out", "r"]);
        // The block that was the first is whole then, the other lacks its last trial.
        if !comes_while(&mut run, "the third trial", || trials(&place.path("r")) >= 3) {
            return None;
        }
        kill_process(Pid::from_child(&run), Signal::INT).unwrap();
        let done = super::Done(run.wait_with_output().unwrap());
        let over = done.0.status.code() == Some(0) || trials(&place.path("r")) > 3;
        (!over).then_some((place, done))
    });
    done.code(130).says(&["--resume r"]);
    place.run(&["run", "--resume", "r"]).code(0);
    place.assert_clean("r");
    // What the machine disturbed may be run once more.
    let all = ran(&place.whole_json("r"));
    let (before, after) = all.split_at(3);
    assert!(before[0].counts() && before[2].counts(), "the whole block counts");
    assert!(!before[1].valid && before[1].reason.contains("interrupted"), "{}", before[1].reason);
    // What was cut short is run again as a whole, after a conditioning of its own.
    assert!(after.len() >= 2);
    for it in &after[..2] {
        assert!(it.counts() && it.block == before[1].block, "{}", it.reason);
        assert_eq!(it.since(), Some(0.0));
        assert!(it.of(&DRAIN, Scope::Trial).is_some());
    }
}
