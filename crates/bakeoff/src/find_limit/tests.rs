//! The planner on made-up trials of servers that are slow from some rate on.

use bakeoff_experiment::Experiment;
use bakeoff_results::{Scope, Trial, TrialMeasurements, histogram, measure};

use super::*;
use crate::tests::{describe_run, load_experiment, make_trial, measure_reads};

/// Two conditions: of one client the limit is kept up to 200 operations a second, of two up to 1,000.
struct Bench {
    dir: tempfile::TempDir,
    experiment: Experiment,
    plan: TrialPlan,
}

impl Bench {
    fn new(more: &str) -> Self {
        let experiment = load_experiment(&format!(
            "workload = 'point'\nengine = 'sqlite'\nclients = [1, 2]\nfind_limit = 'p99=50ms'\n{more}"
        ));
        let plan = experiment.plan();
        Self { dir: tempfile::tempdir().unwrap(), experiment, plan }
    }

    fn folder(&self) -> RunFolder {
        let run = describe_run(serde_json::json!({
            "compare": "rate", "baseline": "closed", "factors": [["clients", ["1", "2"]]],
            "repetitions": 1, "planned": 2,
        }));
        RunFolder::create(&self.dir.path().join("run"), &run, "").unwrap()
    }

    fn planner(&self, folder: &mut RunFolder) -> FindLimit {
        FindLimit::new(&self.experiment, &self.plan, folder).unwrap()
    }
}

/// The highest rate that a number of clients serves within the limit.
fn most(clients: &str) -> f64 {
    if clients == "1" { 200.0 } else { 1_000.0 }
}

/// So many operations of a time in milliseconds; an open loop at a rate where one is given.
fn measured(
    rate: Option<f64>,
    count: u64,
    milliseconds: f64,
    per_second: f64,
) -> TrialMeasurements {
    let mut measured = measure_reads(count, milliseconds);
    let [operation] = &mut measured.operations[..] else { panic!("one operation") };
    operation.per_second = per_second;
    operation.service = rate.is_some().then(|| operation.kept.clone());
    if let Some(rate) = rate {
        let measures = &mut measured.measures;
        measures.set(&measure::OFFERED, Scope::Clients, rate);
        measures.set(&measure::DUE, Scope::Clients, 2.0 * rate);
        measures.set(&measure::NOT_STARTED, Scope::Clients, 0.0);
        measures.set(&measure::BACKLOG, Scope::Clients, 7.0);
    }
    measured
}

/// Records the trial of a block, of so many operations.
fn record(folder: &mut RunFolder, due: &DueBlock, count: u64) {
    folder.commit_trial(&trial(due, count)).unwrap();
}

/// Records one that broke the limit while the machine was disturbed: noted when it began, or by what others used.
fn disturb(folder: &mut RunFolder, due: &DueBlock, noted: bool) {
    let mut trial = trial(due, 2_000);
    let measured = trial.measured.as_mut().unwrap();
    measured.operations[0].kept = histogram::new_histogram();
    measured.operations[0].kept.record_n(90_000_000, 2_000).unwrap();
    if !noted {
        measured.measures.set(&measure::FOREIGN_CPU, Scope::Machine, 1.0);
    }
    folder.commit_trial(&trial).unwrap();
    if noted {
        folder.note_disturbed(due.block.number, due.attempt, "reading is slow").unwrap();
    }
}

/// The trial of a block, of so many operations.
fn trial(due: &DueBlock, count: u64) -> Trial {
    let [planned] = &due.block.trials[..] else { panic!("{due:?}") };
    let most = most(&planned.cell.to_map()["clients"]);
    let measured = match planned.cell.rate() {
        Rate::Closed => measured(None, count, 3.0, 1.2 * most),
        Rate::Open { per_second, .. } => {
            let milliseconds = if per_second <= most { 10.0 } else { 90.0 };
            measured(Some(per_second), count, milliseconds, per_second)
        }
    };
    Trial { attempt: due.attempt, ..make_trial(&due.block, planned, measured) }
}

/// Runs all that is asked for; the blocks with their rates, and what was said.
fn carry_out(
    planner: &mut FindLimit,
    folder: &mut RunFolder,
    count: u64,
) -> (Vec<(u32, u32, String)>, Vec<String>) {
    let (mut run, mut said) = (Vec::new(), Vec::new());
    loop {
        let due = planner.next(folder).unwrap();
        said.extend(planner.take_news());
        let Some(due) = due else { return (run, said) };
        record(folder, &due, count);
        let rate = due.block.trials[0].cell.aliased_level(Factor::RATE).to_owned();
        run.push((due.block.number, due.block.repetition, rate));
    }
}

fn rates(run: &[(u32, u32, String)]) -> Vec<&str> {
    run.iter().map(|it| &*it.2).collect()
}

#[test]
fn each_condition_has_a_closed_loop_and_then_a_search_of_its_own() {
    let bench = Bench::new("");
    assert_eq!(
        (bench.experiment.compare, &*bench.experiment.planner),
        (Factor::RATE, "find-limit")
    );
    let mut folder = bench.folder();
    let mut planner = bench.planner(&mut folder);
    assert_eq!(planner.blocks_left().len(), 2, "the closed loops");
    let (run, said) = carry_out(&mut planner, &mut folder, 2_000);
    assert_eq!(rates(&run[..2]), ["closed", "closed"]);
    let numbers: Vec<u32> = run.iter().map(|it| it.0).collect();
    assert_eq!(numbers, (0..run.len() as u32).collect::<Vec<u32>>());
    // Half of 240, and up from there.
    let up = ["120/s", "180/s", "270/s", "220/s", "199/s", "209/s", "204/s"];
    assert_eq!(rates(&run[2..9]), up);
    assert_eq!(rates(&run[9..12]), ["199/s"; 3]);
    // The fourth time that a rate is tried is repetition 3 of its cell.
    assert_eq!((run[6].1, run[9].1, run[11].1), (0, 1, 3));
    assert_eq!(run[12].2, "600/s", "half of 1,200");
    let begun = "search 1 of 2: clients 1: a closed loop reaches 240/s; p99=50ms is looked for from 120/s on";
    assert_eq!(said[0], begun);
    let broke = &said[3];
    assert!(broke.starts_with("clients 1: 270/s breaks it: response p99 90.0"), "{said:#?}");
    assert!(broke.contains(" ms (read), service p99 90.0"), "{broke}");
    assert!(broke.ends_with(" ms, backlog 7 at most, kept up; next 220/s"), "{broke}");
    let found =
        "found: 199/s keeps p99=50ms, 3 of 3 times when it was tried again; 204/s breaks it";
    assert!(said.iter().any(|it| it.contains(found)), "{said:#?}");
    assert!(said.last().unwrap().starts_with("clients 2: "), "{said:#?}");
}

/// Wherever it is stopped, it comes to the same blocks.
#[test]
fn it_goes_on_as_if_it_had_not_been_stopped() {
    let bench = Bench::new("");
    let mut whole = bench.folder();
    let (all, _) = carry_out(&mut bench.planner(&mut whole), &mut whole, 2_000);
    for stop in 0..all.len() {
        let bench = Bench::new("");
        let mut folder = bench.folder();
        let mut planner = bench.planner(&mut folder);
        for _ in 0..stop {
            let due = planner.next(&mut folder).unwrap().unwrap();
            record(&mut folder, &due, 2_000);
        }
        let (rest, _) = carry_out(&mut bench.planner(&mut folder), &mut folder, 2_000);
        assert_eq!(rest, all[stop..], "stopped after {stop}");
    }
}

#[test]
fn a_rate_that_is_named_is_where_it_begins_with_its_arrivals() {
    let bench = Bench::new("rate = 'poisson:800/s'\n");
    let mut folder = bench.folder();
    let (run, _) = carry_out(&mut bench.planner(&mut folder), &mut folder, 2_000);
    assert_eq!(rates(&run[..2]), ["poisson:800/s"; 2]);
    assert_eq!(&*run[2].2, "poisson:533/s", "one client breaks it at 800");
    assert!(run.iter().any(|it| it.2 == "poisson:1200/s"), "two keep it: {run:?}");
}

#[test]
fn what_too_few_operations_say_is_told_as_not_known() {
    let bench = Bench::new("");
    let mut folder = bench.folder();
    let (_, said) = carry_out(&mut bench.planner(&mut folder), &mut folder, 300);
    let wanted = "is not known: p99 needs 1000 operations of a kind, and a trial has fewer: give --seconds 6";
    assert!(said.iter().any(|it| it.contains(wanted)), "{said:#?}");
}

/// What others took of a trial's processors is in no response time that was its own.
#[test]
fn a_rate_that_the_machine_disturbed_is_tried_again_and_its_first_trial_is_not_looked_at() {
    let bench = Bench::new("");
    let mut quiet = bench.folder();
    let (undisturbed, _) = carry_out(&mut bench.planner(&mut quiet), &mut quiet, 2_000);
    for noted in [true, false] {
        let bench = Bench::new("");
        let mut folder = bench.folder();
        let mut planner = bench.planner(&mut folder);
        for _ in 0..2 {
            let due = planner.next(&mut folder).unwrap().unwrap();
            record(&mut folder, &due, 2_000);
        }
        // The first rate, which would have been kept.
        let first = planner.next(&mut folder).unwrap().unwrap();
        disturb(&mut folder, &first, noted);
        let again = bench.planner(&mut folder).next(&mut folder).unwrap().unwrap();
        assert_eq!((again.attempt, &again.block), (1, &first.block), "noted: {noted}");
        assert!(!folder.read_trial(first.block.number, 0, 0).unwrap().unwrap().valid);
        record(&mut folder, &again, 2_000);
        let (rest, _) = carry_out(&mut bench.planner(&mut folder), &mut folder, 2_000);
        assert_eq!(rest, undisturbed[3..], "as if it had not been disturbed");
    }
}

/// One in ten is tried again, not more, and each once.
#[test]
fn on_a_machine_that_is_never_quiet_a_search_ends() {
    let bench = Bench::new("");
    let mut folder = bench.folder();
    let mut planner = bench.planner(&mut folder);
    let mut run = Vec::new();
    while let Some(due) = planner.next(&mut folder).unwrap() {
        disturb(&mut folder, &due, false);
        run.push((due.block.number, due.attempt));
    }
    let blocks: BTreeSet<u32> = run.iter().map(|it| it.0).collect();
    let again = run.iter().filter(|it| it.1 > 0).count();
    assert!(run.iter().all(|it| it.1 <= 1), "{run:?}");
    assert!(again >= 1 && again <= blocks.len().div_ceil(10), "{run:?}");
}
