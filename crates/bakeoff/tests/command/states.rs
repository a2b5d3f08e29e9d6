//! Restarts, fresh databases, and those whose debts have come due; and trials that follow one conditioning.

use std::os::unix::process::CommandExt;
use std::process::Command;

use bakeoff_results::measure::*;
use bakeoff_testkit::{AS_NOBODY, children, comes_while, in_time, skip};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::on_disks::can_mount;
use super::{Done, Place, measured, trials};

const STATES: &str = r#"
name = "states"
workload = "redmine"
state = ["cold", "warm", "steady"]
engine = ["sqlite", "lmdb"]
durability = "relaxed"
clients = 2
disk = "ssd-sata"
seconds = 2
repetitions = 1
"#;

fn in_state(document: &Value, state: &str) -> Vec<Measures> {
    let trials = document["trials"].as_array().unwrap().iter();
    let counts = |trial: &&Value| trial["levels"]["state"] == state && trial["valid"] == true;
    trials.filter(counts).map(measured).collect()
}

#[test]
#[ignore = "slow: make test-slow"]
fn each_state_is_what_it_says() {
    if !can_mount() {
        return;
    }
    let of = |it: &Measures, measure, scope| it.get(measure, &scope);
    let reads = |it: &Measures| of(it, &READS, Scope::Disk).unwrap();
    // The machine may take pages back from a warm trial at any time.
    let (place, run, document) = in_time("the warm cache", |_| {
        let place = Place::new();
        place.write("states.toml", STATES);
        let run = place.run(&["run", "states.toml", "--out", "r"]).code(0);
        place.assert_clean("r");
        let document = place.json("r");
        let [cold, warm] = ["cold", "warm"].map(|state| in_state(&document, state));
        let pairs: Vec<_> = cold.iter().map(reads).zip(warm.iter().map(reads)).collect();
        println!("reads after a restart, and else: {pairs:?}");
        assert!(pairs.iter().all(|(cold, _)| *cold > 10.0), "{pairs:?}");
        let is_warm = pairs.iter().all(|(cold, warm)| *cold > 10.0 + 2.0 * warm);
        is_warm.then_some((place, run, document))
    });
    run.says(&["redmine small into sqlite:", "are one cycle of its deferred work"]);
    let [cold, warm, steady] = ["cold", "warm", "steady"].map(|state| in_state(&document, state));
    assert_eq!([&cold, &warm, &steady].map(Vec::len), [2; 3]);
    for (cold, warm) in cold.iter().zip(&warm) {
        // What a fresh process finds in no cache, it reads.
        let opening = of(cold, &OPENING, Scope::Trial).expect("the time to open");
        assert!(opening > 0.0 && of(warm, &OPENING, Scope::Trial).is_none());
        assert!(of(cold, &FIRST_10, Scope::Clients).is_some_and(|first| first > 0.0));
        for it in [cold, warm] {
            assert!(of(it, &CONDITIONED, Scope::Clients).is_none());
        }
    }
    // By the same work, whoever needs it.
    let work: Vec<Option<f64>> =
        steady.iter().map(|it| of(it, &CONDITIONED, Scope::Clients)).collect();
    assert!(work[0] == work[1] && work[0] > Some(0.0), "{work:?}");
    // When LMDB's file stops growing differs from time to time.
    assert!(steady.iter().any(|it| of(it, &TURNED_OVER, Scope::Trial) == Some(1.0)));
    for trial in &steady {
        assert!(of(trial, &SPACE_AT_START, Scope::Trial).is_some());
        assert!(of(trial, &ROUNDS_RANGE, Scope::Trial).is_some_and(|range| range >= 0.0));
    }
    let report = place.run(&["report", "r", "--full"]).code(0);
    report.says(&["Restarts, and steady trials", "opening", "first 10"]);
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_steady_trial_is_priced_beside_what_was_watched() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    let toml = STATES.replace("state = [\"cold\", \"warm\", \"steady\"]", "state = \"steady\"");
    let toml = toml.replace("[\"sqlite\", \"lmdb\"]", "\"sqlite\"").replace("relaxed", "strict");
    place.write("priced.toml", &(toml + "priced = true\n"));
    place.run(&["run", "priced.toml", "--out", "r"]).code(0);
    place.assert_clean("r");
    let document = place.json("r");
    for trial in document["trials"].as_array().unwrap() {
        let measures = measured(trial);
        let of = |measure: &Measure, scope| measures.get(measure, &scope).expect("it is measured");
        let disk = |measure: &Measure| of(measure, Scope::Disk);
        assert!(of(&TRACED_COMMITS, Scope::Clients) > 100.0 && disk(&TRACE) > 1000.0);
        let parts = disk(&PRICED_LOG) + disk(&PRICED_READS) + disk(&PRICED_PUT_OFF);
        assert!((parts / disk(&PRICED) - 1.0).abs() < 1e-6, "{measures:?}");
        // A commit is flushed, which takes the device 1 ms, alone or with the other client's.
        assert!((0.0005..0.1).contains(&disk(&PRICED_LOG)), "{measures:?}");
        assert!(disk(&PRICED_RATE) <= disk(&PRICED_RATE_MOST) * 1.001, "{measures:?}");
        assert!((disk(&PRICED_RATE) * disk(&PRICED) - 1.0).abs() < 1e-6, "nobody else is there");
        // SQLite resets its log when all of it is in the file.
        assert!(of(&TRACED_TURNS, Scope::Trial) >= 3.0 && disk(&PRICED_PUT_OFF) > 0.0);
    }
    for cell in document["cells"].as_array().unwrap() {
        let of = |name: &str| cell["priced"][name].as_f64().unwrap();
        // The device can serve at least as many as were watched, as far as the two agree.
        assert!(of("rate_most") > 0.8 * of("watched_rate"), "{cell}");
    }
    place.run(&["report", "r", "--full"]).code(0).says(&["What a commit costs the disk: priced"]);
}

#[test]
fn what_only_reads_owes_nothing() {
    let place = Place::small();
    let steady = ["run", "small.toml", "--engine", "sqlite", "--state", "steady", "--out", "r"];
    let short = ["--repetitions", "1", "--noise-floor", "false"];
    let done = place.run(&[&steady[..], &short].concat()).code(0);
    done.says(&["are one cycle of its deferred work"]);
}

/// Without pressure files, and with `/proc` as `hidepid=invisible` shows it to an ordinary user.
#[test]
fn a_machine_that_tells_little_of_itself_is_measured_all_the_same() {
    let place = Place::new();
    let toml = "workload = \"redmine\"\nengine = [\"sqlite\", \"null\"]\ndurability = \"none\"\n";
    place.write("host.toml", &format!("{toml}seconds = 0.5\nrepetitions = 1\n"));
    let script = "mount -t tmpfs none /proc/pressure && mount -o remount,hidepid=2 /proc && \
                  chown -R 65534:65534 . && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).args(AS_NOBODY);
    command.arg(env!("CARGO_BIN_EXE_bakeoff")).args(["run", "host.toml", "--out", "r"]);
    command.current_dir(place.path("")).env("XDG_RUNTIME_DIR", place.path("")).process_group(0);
    let probe = Command::new("unshare").args(["--mount", "true"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        return skip("/proc can't be mounted anew without root");
    }
    Done(command.output().unwrap()).code(0);
    let document = place.json("r");
    let mut trials = document["trials"].as_array().unwrap().iter();
    let trial = measured(trials.find(|trial| trial["levels"]["engine"] == "sqlite").unwrap());
    for pressure in [&PRESSURE_CPU, &PRESSURE_IO, &PRESSURE_MEMORY] {
        assert_eq!(trial.get(pressure, &Scope::Machine), None, "{}", pressure.name);
    }
    assert!(trial.get(&FOREIGN_CPU, &Scope::Machine).is_some());
    assert!(trial.get(&CPU, &Scope::DATABASE).is_some_and(|seconds| seconds > 0.0));
}

/// A trial, in the order in which they began.
struct SequenceTrial {
    engine: String,
    neighbours: String,
    block: u64,
    valid: bool,
    reason: String,
    measures: Measures,
}

impl SequenceTrial {
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

/// A place whose experiment has neighbours of these levels.
fn steady(neighbours: &str, seconds: u32, repetitions: u32) -> Place {
    let place = Place::new();
    let toml = format!(
        "name = \"steady\"\nworkload = \"ledger\"\nstate = \"steady\"\nengine = [\"sqlite\", \"lmdb\"]\n\
         durability = \"relaxed\"\ndisk = \"ssd-sata\"\nseconds = {seconds}\nnoise_floor = false\n\
         neighbours = [{neighbours}]\nrepetitions = {repetitions}\n"
    );
    place.write("steady.toml", &toml);
    place
}

fn in_turn(document: &Value) -> Vec<SequenceTrial> {
    let mut all: Vec<&Value> = document["trials"].as_array().unwrap().iter().collect();
    let started = |trial: &Value| trial["started_s"].as_f64().unwrap();
    all.sort_by(|a, b| started(a).total_cmp(&started(b)));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ran = |trial: &Value| SequenceTrial {
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
fn assert_pair(pair: &[SequenceTrial]) {
    let [first, second] = pair else { panic!("{} trials", pair.len()) };
    assert_eq!(first.engine, second.engine);
    assert_ne!((first.block, &first.neighbours), (second.block, &second.neighbours));
    assert_eq!((first.since(), second.since()), (Some(0.0), Some(1.0)));
    let work = |it: &SequenceTrial| it.of(&CONDITIONED, Scope::Clients);
    assert!(work(first).is_some_and(|work| work > 0.0) && work(first) == work(second));
    // A drain between them would undo the conditioning.
    let drained = |it: &SequenceTrial| it.of(&DRAIN, Scope::Trial).is_some();
    assert_eq!((drained(first), drained(second)), (false, true));
    for it in pair {
        // What the machine was disturbed in is set aside, and in the same order all the same.
        assert!(it.counts(), "{}", it.reason);
        let rate = it.of(&RATE, Scope::Neighbours).expect("the neighbours' rate");
        assert_eq!(rate > 0.0, it.neighbours != "0", "{rate}/s beside {}", it.neighbours);
        // A ledger's operation commits once at most: nothing is counted twice.
        let [operations, commits] = [&OPERATIONS, &COMMITS].map(|what| it.of(what, Scope::Clients));
        assert!(commits > Some(0.0) && commits <= operations, "{commits:?} of {operations:?}");
    }
}

#[test]
#[ignore = "slow: make test-slow"]
fn trials_that_differ_in_neighbours_follow_one_conditioning() {
    if !can_mount() {
        return;
    }
    let place = steady("\"0\", \"x2\"", 1, 2);
    place.run(&["run", "steady.toml", "--out", "r"]).code(0);
    place.assert_clean("r");
    let document = place.whole_json("r");
    let all = in_turn(&document);
    // A block that the machine disturbed is run again, by itself.
    assert!(all.len() >= 8, "{}", all.len());
    let sequences: Vec<&[SequenceTrial]> = all[..8].chunks(4).collect();
    for sequence in &sequences {
        let (first, second) = sequence.split_at(2);
        assert_pair(first);
        assert_pair(second);
        assert_ne!(first[0].engine, second[0].engine);
        let order = |pair: &[SequenceTrial]| -> Vec<(u64, String)> {
            pair.iter().map(|it| (it.block, it.neighbours.clone())).collect()
        };
        assert_eq!(order(first), order(second), "one order for all levels");
    }
    assert_ne!(sequences[0][0].neighbours, sequences[1][0].neighbours, "in turn");
    // One that was run again by itself has followed none.
    let steady = &document["cells"][0]["steady"];
    let followed = steady["followed_others"].as_u64().unwrap();
    assert!(followed == 1 || (followed == 0 && all.len() > 8), "{steady}");
}

/// The trial's process of a run.
fn trial_of(run: u32) -> Option<Pid> {
    let is_trial = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"trial")
    };
    children(run).into_iter().find(is_trial).and_then(|pid| Pid::from_raw(pid.cast_signed()))
}

#[test]
#[ignore = "slow: make test-slow"]
fn what_comes_after_a_trial_that_failed_is_conditioned_anew_and_said_so() {
    if !can_mount() {
        return;
    }
    let (place, all, done) = in_time("the second trial", |_| {
        let place = steady("\"0\", \"x1\", \"x2\"", 2, 1);
        let mut run = place.start(&["run", "steady.toml", "--full", "--out", "r"]);
        // Of the first level, the first trial has ended and the second goes on in the same process.
        let begun = comes_while(&mut run, "the first trial", || trials(&place.path("r")) >= 1);
        let pid = trial_of(run.id()).filter(|_| begun);
        let killed = pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok());
        let done = Done(run.wait_with_output().unwrap());
        let all = in_turn(&place.whole_json("r"));
        let is_second = all.get(1).is_some_and(|it| it.reason.contains("killed"));
        (killed && is_second).then_some((place, all, done))
    });
    // A block that the machine disturbed is run again by itself: then both of its trials begin anew.
    if all.len() == 6 {
        done.says(&["onditioned anew"]);
    }
    place.assert_clean("r");
    let places: Vec<Option<f64>> = all[..6].iter().map(SequenceTrial::since).collect();
    let in_turn = [Some(0.0), Some(1.0), Some(2.0)];
    assert_eq!(places[..3], [Some(0.0), None, Some(0.0)], "the third begins anew");
    assert_eq!(places[3..], in_turn, "the other level goes on as planned");
    assert!(!all[1].valid, "{}", all[1].reason);
    assert!(all[0].counts() && all[2..6].iter().all(SequenceTrial::counts));
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_run_that_stops_within_a_sequence_goes_on_with_whole_blocks() {
    if !can_mount() {
        return;
    }
    let (place, done) = in_time("the run", |_| {
        let place = steady("\"0\", \"x2\"", 1, 1);
        let mut run = place.start(&["run", "steady.toml", "--out", "r"]);
        // The block that was the first is whole then, the other lacks its last trial.
        if !comes_while(&mut run, "the third trial", || trials(&place.path("r")) >= 3) {
            return None;
        }
        kill_process(Pid::from_child(&run), Signal::INT).unwrap();
        let done = Done(run.wait_with_output().unwrap());
        let over = done.0.status.code() == Some(0) || trials(&place.path("r")) > 3;
        (!over).then_some((place, done))
    });
    done.code(130).says(&["--resume r"]);
    place.run(&["run", "--resume", "r"]).code(0);
    place.assert_clean("r");
    // What the machine disturbed may be run once more.
    let all = in_turn(&place.whole_json("r"));
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

/// What somebody sees first: the preset `demo`.
#[test]
#[ignore = "slow: make test-slow"]
fn the_demo_ends_in_an_answer_for_each_drive_and_what_was_lost() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    // Shorter trials say as much in a test. A busy machine takes longer, and runs as many blocks all the same.
    let demo = "run demo --quick --seconds 1 --max-time 30min";
    let planned = place.typed(&format!("{demo} --dry-run")).code(0);
    planned.says(&["15 power cuts"]);
    let done = place.typed(&format!("{demo} --cuts 2 --out r"));
    // A promise that was broken is a finding.
    let code = done.0.status.code();
    assert!(code == Some(0) || code == Some(6), "{code:?}: {}", done.err());
    place.assert_clean("r");
    let document = place.json("r");
    assert_eq!(document["run"]["operations_each"], 50);
    let conditions = document["conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 2, "{conditions:?}");
    assert!(conditions.iter().all(|it| it["blocks"].as_u64() >= Some(3)), "{conditions:?}");
    let cuts = document["cuts"].as_array().unwrap();
    assert_eq!(cuts.len(), 6, "2 of each of 3 engines");
    assert!(cuts.iter().all(|cut| cut["failed"].is_null()), "{cuts:?}");
    // Markdown does not break a sentence into lines.
    place.run(&["report", "r", "--format", "md"]).code(0).says(&[
        "With every commit kept",
        "ssd-nvme-plp",
        "What was lost when the power was cut?",
    ]);
}
