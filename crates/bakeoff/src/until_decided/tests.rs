//! The planner on made-up trials.

use bakeoff_analysis::FIRST_LOOK;
use bakeoff_experiment::{Experiment, FlagOverrides};
use bakeoff_results::{
    Debts, Machine, Measures, OperationRecord, Run, Trial, TrialMeasurements, histogram,
};

use super::*;
use crate::Lab;

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
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("two.toml");
        let toml = "workload = 'point'\nengine = ['sqlite', 'lmdb']\nclients = [1, 2]\n\
                    planner = 'until-decided'\nmax_repetitions = 20\n";
        std::fs::write(&file, format!("{toml}{more}")).unwrap();
        let vocabulary = Lab::standard().registry.vocabulary();
        let experiment =
            Experiment::load(&file.to_string_lossy(), &FlagOverrides::default(), &vocabulary)
                .unwrap();
        let plan = experiment.plan();
        Self { dir, experiment, plan }
    }

    fn folder(&self, max_time_s: Option<f64>) -> RunFolder {
        let factors = [("clients", ["1", "2"]), ("engine", ["sqlite", "lmdb"])];
        let mut run: Run = serde_json::from_value(serde_json::json!({
            "name": "", "title": "", "workload": "point", "operations": ["read"],
            "compare": "engine", "baseline": "sqlite", "factors": factors, "seconds": 2.0,
            "repetitions": 20, "seed": 1, "planned": 80, "command": "", "version": "",
            "started_s": 0.0, "engines": [], "machine": Machine::default(), "harness_s": 0.0,
            "neighbour_alone_per_second": null, "text": "",
        }))
        .unwrap();
        run.sequential = bakeoff_analysis::schedule(&run, FIRST_LOOK..=20, max_time_s);
        RunFolder::create(&self.dir.path().join("run"), &run, "").unwrap()
    }

    fn planner(&self, folder: &mut RunFolder) -> UntilDecided {
        UntilDecided::new(&self.experiment, &self.plan, folder).unwrap()
    }

    /// The condition of a block.
    fn clients(&self, block: u32) -> &str {
        let mut blocks = self.plan.blocks.iter();
        let block = blocks.find(|it| it.number == block).expect("a block of the plan");
        block.trials[0].cell.get(bakeoff_experiment::Factor::CLIENTS)
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

fn measured(milliseconds: f64) -> TrialMeasurements {
    let mut kept = histogram::empty();
    kept.record_n((milliseconds * 1e6) as u64, 100).unwrap();
    let operation = OperationRecord {
        name: "read".into(),
        kept,
        unfinished: 0,
        per_second: 1.0,
        service: None,
        slots: Vec::new(),
        errors: 0,
        retries: 0,
    };
    TrialMeasurements {
        ran_s: 2.0,
        window_s: (0.2, 2.0),
        operations: vec![operation],
        measures: Measures::default(),
        debts: Debts::default(),
        warnings: Vec::new(),
    }
}

/// Records so many trials of a block, ten seconds each.
fn record(folder: &mut RunFolder, due: &DueBlock, trials: usize) {
    for planned in due.block.trials.iter().take(trials) {
        let levels = planned.cell.to_map();
        let place = f64::from(2 * due.block.number + planned.order);
        let trial = Trial {
            repetition: due.block.repetition,
            block: due.block.number,
            attempt: due.attempt,
            order: planned.order,
            started_s: 10.0 * place,
            valid: true,
            reason: None,
            measured: Some(measured(takes(&levels, due.block.repetition))),
            levels,
        };
        folder.commit_trial(&trial).unwrap();
    }
}

/// Runs all that is asked for; the blocks and attempts, and what was said.
fn carry_out(planner: &mut UntilDecided, folder: &mut RunFolder) -> (Vec<(u32, u32)>, Vec<String>) {
    let (mut run, mut said) = (Vec::new(), Vec::new());
    loop {
        let used_s = folder.run().unwrap().sequential.unwrap().used_s;
        let due = planner.next(folder).unwrap();
        said.extend(planner.news());
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
    assert_eq!(planner.left().len(), 6, "up to the first look");
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
    assert_eq!(planner.news(), None);
    record(&mut folder, &again, 2);
    folder.note_disturbed(1, 1, "reading is slow").unwrap();
    // Of six blocks one may be run again, and no block more than once.
    let next = planner.next(&mut folder).unwrap().unwrap();
    assert!(planner.news().is_some() && next.block.number > 5, "{next:?}");
    let reason = folder.trial(1, 0, 0).unwrap().unwrap().reason.unwrap();
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
