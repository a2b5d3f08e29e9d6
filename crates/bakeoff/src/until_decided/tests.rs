//! The planner on made-up trials.

use bakeoff_analysis::FIRST_LOOK;
use bakeoff_experiment::Experiment;
use bakeoff_results::Trial;

use super::*;
use crate::tests::{describe_run, load_experiment, make_trial, measure_reads};

/// Two conditions: of one client `lmdb` takes 1.5 times as long, of two clients as long, which takes more blocks to
/// tell.
struct Bench {
    dir: tempfile::TempDir,
    experiment: Experiment,
    plan: TrialPlan,
}

impl Bench {
    fn new() -> Self {
        Self::with("")
    }

    /// With more lines in the experiment's file.
    fn with(more: &str) -> Self {
        let experiment = load_experiment(&format!(
            "workload = 'point'\nengine = ['sqlite', 'lmdb']\nclients = [1, 2]\n\
             planner = 'until-decided'\nmax_repetitions = 20\n{more}"
        ));
        let plan = experiment.plan();
        Self { dir: tempfile::tempdir().unwrap(), experiment, plan }
    }

    fn folder(&self, max_time_s: Option<f64>) -> RunFolder {
        let factors = [("clients", ["1", "2"]), ("engine", ["sqlite", "lmdb"])];
        let mut run = describe_run(serde_json::json!({
            "compare": "engine", "baseline": "sqlite", "factors": factors, "repetitions": 20, "planned": 80,
        }));
        run.sequential = bakeoff_analysis::schedule_looks(&run, FIRST_LOOK..=20, max_time_s);
        RunFolder::create(&self.dir.path().join("run"), &run, "").unwrap()
    }

    fn planner(&self, folder: &mut RunFolder) -> SequentialPlanner {
        SequentialPlanner::new(&self.experiment, &self.plan, folder).unwrap()
    }

    /// The condition of a block.
    fn clients(&self, block: u32) -> &str {
        let mut blocks = self.plan.blocks.iter();
        let block = blocks.find(|it| it.number == block).expect("a block of the plan");
        block.trials[0].cell.aliased_level(bakeoff_experiment::Factor::CLIENTS)
    }
}

fn ripple(repetition: u32) -> f64 {
    1.0 + 0.01 * f64::from((repetition * 7) % 5) - 0.02
}

/// Milliseconds of an operation.
fn takes(levels: &Levels, repetition: u32) -> f64 {
    match (&*levels["engine"], &*levels["clients"]) {
        ("lmdb", "1") => 1.5 * ripple(repetition),
        ("lmdb", _) => 1.0 + 2.0 * (ripple(repetition) - 1.0),
        _ => 1.0,
    }
}

/// Records so many trials of a block, ten seconds each.
fn record(folder: &mut RunFolder, due: &DueBlock, trials: usize) {
    for planned in due.block.trials.iter().take(trials) {
        let place = f64::from(2 * due.block.number + planned.order);
        let takes = takes(&planned.cell.to_map(), due.block.repetition);
        let trial = make_trial(&due.block, planned, measure_reads(100, takes));
        let trial = Trial { attempt: due.attempt, started_s: 10.0 * place, ..trial };
        folder.commit_trial(&trial).unwrap();
    }
}

/// Runs all that is asked for; the blocks and attempts, and what was said.
fn carry_out(
    planner: &mut SequentialPlanner,
    folder: &mut RunFolder,
) -> (Vec<(u32, u32)>, Vec<String>) {
    let (mut run, mut said) = (Vec::new(), Vec::new());
    loop {
        let used_s = folder.run().unwrap().sequential.unwrap().used_s;
        let due = planner.next(folder).unwrap();
        said.extend(planner.take_news());
        let Some(due) = due else { return (run, said) };
        record(folder, &due, 2);
        folder.note_used(used_s + 20.0).unwrap();
        run.push((due.block.number, due.attempt));
    }
}

#[test]
fn only_open_conditions_go_on_with_blocks_of_the_plan() {
    let bench = Bench::new();
    let mut folder = bench.folder(None);
    let mut planner = bench.planner(&mut folder);
    assert_eq!(planner.blocks_left().len(), 6, "up to the first look");
    let (run, said) = carry_out(&mut planner, &mut folder);
    let of = |clients: &str| -> Vec<u32> {
        run.iter().map(|it| it.0).filter(|block| bench.clients(*block) == clients).collect()
    };
    assert_eq!(run[..6], [0, 1, 2, 3, 4, 5].map(|block| (block, 0)));
    let (clear, unclear) = (of("1").len(), of("2").len());
    assert!((3..6).contains(&clear) && unclear >= 8, "{run:?}");
    assert!(run.is_sorted(), "in the plan's order: {run:?}");
    // The same blocks as those of the plan, from its beginning.
    let planned = bench.plan.blocks.iter().map(|it| it.number);
    let planned: Vec<u32> = planned.filter(|block| bench.clients(*block) == "2").collect();
    assert_eq!(of("2"), planned[..unclear]);
    let open = "0 of 2 conditions decided after 3 blocks; open: clients 1: read lmdb/sqlite 1.";
    assert!(said[0].starts_with(open) || said[0].starts_with("1 of 2"), "{said:?}");
    assert!(said.iter().any(|it| it.contains("; open: clients 2: read lmdb/sqlite ")), "{said:?}");
    assert!(!said.last().unwrap().contains("open"), "{said:?}");
}

#[test]
fn a_condition_that_is_decided_goes_on_to_the_least_number_of_blocks() {
    let bench = Bench::with("min_repetitions = 8\n");
    let mut folder = bench.folder(None);
    let (run, said) = carry_out(&mut bench.planner(&mut folder), &mut folder);
    let of = |clients: &str| run.iter().filter(|it| bench.clients(it.0) == clients).count();
    assert!(of("1") == 8 && of("2") >= 8, "{run:?}");
    assert!(said[0].contains("after 3 blocks"), "it is judged before that: {said:?}");
}

/// Wherever it is stopped, within a block or between two, it comes to the same blocks.
#[test]
fn it_goes_on_as_if_it_had_not_been_stopped() {
    let bench = Bench::new();
    let mut whole = bench.folder(None);
    let (all, _) = carry_out(&mut bench.planner(&mut whole), &mut whole);
    for stop in 0..all.len() {
        let bench = Bench::new();
        let mut folder = bench.folder(None);
        let mut planner = bench.planner(&mut folder);
        for _ in 0..stop {
            let due = planner.next(&mut folder).unwrap().unwrap();
            record(&mut folder, &due, 2);
        }
        let cut_short = planner.next(&mut folder).unwrap().unwrap();
        record(&mut folder, &cut_short, 1);
        let (rest, _) = carry_out(&mut bench.planner(&mut folder), &mut folder);
        let blocks = |run: &[(u32, u32)]| run.iter().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(blocks(&rest), blocks(&all[stop..]), "stopped in block {stop}");
        assert_eq!(rest[0].1, 1, "as a whole");
        let (more, _) = carry_out(&mut bench.planner(&mut folder), &mut folder);
        assert!(more.is_empty(), "{more:?}");
    }
}

#[test]
fn a_disturbed_block_is_run_again_before_its_look_once_and_within_bounds() {
    let bench = Bench::new();
    let mut folder = bench.folder(None);
    let mut planner = bench.planner(&mut folder);
    for _ in 0..6 {
        let due = planner.next(&mut folder).unwrap().unwrap();
        record(&mut folder, &due, 2);
        if [1, 4].contains(&due.block.number) {
            folder.note_disturbed(due.block.number, due.attempt, "reading is slow").unwrap();
        }
    }
    let again = planner.next(&mut folder).unwrap().unwrap();
    assert_eq!((again.block.number, again.attempt), (1, 1), "before the look at three");
    assert_eq!(planner.take_news(), None);
    record(&mut folder, &again, 2);
    folder.note_disturbed(1, 1, "reading is slow").unwrap();
    // Of six blocks one may be run again, and no block more than once.
    let next = planner.next(&mut folder).unwrap().unwrap();
    assert!(planner.take_news().is_some() && next.block.number > 5, "{next:?}");
    let reason = folder.read_trial(1, 0, 0).unwrap().unwrap().reason.unwrap();
    assert!(reason.contains("the machine was disturbed (reading is slow)"), "{reason}");
}

#[test]
fn it_ends_before_a_block_that_would_not_fit() {
    let bench = Bench::new();
    // Twenty seconds a block: the eighth would end at 160.
    let mut folder = bench.folder(Some(155.0));
    let (run, said) = carry_out(&mut bench.planner(&mut folder), &mut folder);
    assert_eq!(run.len(), 7, "{run:?}");
    let last = said.last().unwrap();
    assert!(last.starts_with("another block would not end within --max-time: "), "{last}");
    assert!(last.contains("; open: clients 2"), "{last}");
    // What was used counts in the next sitting.
    let (more, said) = carry_out(&mut bench.planner(&mut folder), &mut folder);
    assert!(more.is_empty() && said.len() == 1, "{more:?} {said:?}");
    // Nobody knows how long the first takes.
    let bench = Bench::new();
    let mut folder = bench.folder(Some(5.0));
    assert_eq!(carry_out(&mut bench.planner(&mut folder), &mut folder).0.len(), 1);
}
