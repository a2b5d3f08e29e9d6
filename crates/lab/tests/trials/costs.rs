//! What a trial is found to have cost, with real engines; and what is left of a load that fails.

use std::cell::RefCell;
use std::time::Duration;

use bakeoff_analysis::WorkCost;
use bakeoff_lab::place::TargetPlace;
use bakeoff_lab::process::job::{Message, ProcessJob, Task};
use bakeoff_lab::process::{ChildProcess, ReceiveOutcome};
use bakeoff_lab::targets::Setup;
use bakeoff_lab::{TrialError, resolve_trial};
use bakeoff_results::measure::{
    CACHE_MISSES, CPU, DRAIN_WRITTEN, OPERATIONS, RETURNED, SYNCS, WORK_ROWS, WRITTEN,
};
use bakeoff_results::{Scope, TrialMeasurements};
use bakeoff_testkit::{PATIENCE, needs, open_to_all, skip};

use crate::Test;
use crate::stage::{at_work, load, program, setup};

pub const TESTS: &[Test] = &[
    ("a_weaker_level_syncs_less_than_it_commits", a_weaker_level_syncs_less_than_it_commits),
    ("an_engine_that_syncs_is_seen_to_and_a_liar_is_told", a_liar_is_told),
    ("rows_and_what_they_took_are_of_the_whole_trial", rows_are_of_the_whole_trial),
    ("rows_that_cannot_be_had_leave_no_image", rows_that_cannot_be_had_leave_no_image),
    ("innodb_is_accounted_for", || accounted_for("mariadb:innodb", "Innodb_os_log_written")),
    ("myrocks_is_accounted_for", || accounted_for("mariadb:rocksdb", "Rocksdb_wal_bytes")),
    ("postgresql_is_accounted_for", || accounted_for("postgres", "transactions committed")),
];

const CLIENTS: usize = 2;

/// How long a process may say nothing: it loads, or drains, on a disk that others use.
const SILENCE: Duration = Duration::from_secs(10 * PATIENCE.as_secs());

/// Does a task in a process of its own, as the lab does.
fn perform(setup: &Setup, place: &TargetPlace, task: Task) -> Option<Box<TrialMeasurements>> {
    let (target, subject) = (setup.target.to_owned(), setup.subject.to_json());
    let job = ProcessJob { target, subject, place: place.clone(), task };
    let mut process = ChildProcess::start(&program(), &job).expect("a process");
    loop {
        match process.receive(SILENCE) {
            ReceiveOutcome::Message(Message::Ready | Message::Drained(_)) => {
                process = process.tell_to_go().expect("it listens");
            }
            ReceiveOutcome::Message(Message::Done(measured)) => return measured,
            ReceiveOutcome::Message(Message::Failed(error)) => panic!("{error:?}"),
            ReceiveOutcome::Message(_) => {}
            ReceiveOutcome::Nothing => panic!("nothing was heard of it for {SILENCE:?}"),
            ReceiveOutcome::End => panic!("{}", process.exit_report()),
        }
    }
}

/// Loads data and runs a trial on them.
fn measure(workload: &str, engine: &str, durability: &str) -> TrialMeasurements {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    // A server runs as another user, who must come by.
    open_to_all(place);
    let keys = [("workload", workload), ("engine", engine), ("durability", durability)];
    let text: String = keys.iter().map(|(key, value)| format!("{key} = '{value}'\n")).collect();
    let experiment = load(place, &format!("{text}clients = {CLIENTS}\nseconds = 2\n"));
    let plan = experiment.plan();
    let cell = &plan.blocks[0].trials[0].cell;
    let setup = setup(&experiment, cell);
    let drive = resolve_trial(&crate::registry(), &experiment, cell, 0).unwrap().drive;
    let directory = place.join("data");
    std::fs::create_dir(&directory).unwrap();
    let place = TargetPlace::from_folder(&directory);
    perform(&setup, &place, Task::Load);
    *perform(&setup, &place, bakeoff_lab::procedures::drive::drive_task(&[&drive]))
        .expect("a trial measures")
}

/// Syncs for each commit, by the kernel's count; says so where it can't count.
fn syncs_per_commit(measured: &TrialMeasurements) -> Option<f64> {
    let counted = measured.measures.of_database(&SYNCS);
    if counted.is_none() {
        skip("the kernel's count of syncs takes root and ext4, xfs, btrfs or f2fs");
        return None;
    }
    Some(cost(measured).syncs_per_commit().expect("something was committed"))
}

/// The most syncs for a commit where there are so many, and some of no commit, as those of checkpoints and of
/// the drain: they weigh where a busy machine makes few commits.
fn and_some(each: f64, measured: &TrialMeasurements) -> f64 {
    let commits = cost(measured).commits.expect("commits are counted");
    each + 50.0 / commits as f64
}

/// What the trial cost.
fn cost(measured: &TrialMeasurements) -> WorkCost {
    WorkCost::from_measures(&measured.measures).expect("operations are counted")
}

/// Bytes that the engine's processes wrote, those of the drain among them.
fn written(measured: &TrialMeasurements) -> u64 {
    let of = |measure| measured.measures.of_database(measure).expect("bytes are counted") as u64;
    of(&WRITTEN) + of(&DRAIN_WRITTEN)
}

fn a_liar_is_told() {
    let honest = measure("redmine", "sqlite", "strict");
    let found = cost(&honest);
    let payload = found.application_bytes.unwrap();
    assert!(found.operations > 0 && found.commits > Some(0) && payload > 0, "{found:?}");
    assert!(written(&honest) > payload, "{found:?}");
    assert!(found.engine_cpu_per_operation_s().unwrap() > 0.0, "{found:?}");
    // A sync a commit, and some of checkpoints.
    let Some(each) = syncs_per_commit(&honest) else { return };
    assert!((0.99..and_some(2.0, &honest)).contains(&each), "{found:?}");
    let liar = measure("redmine", "sqlite", "none");
    let each = syncs_per_commit(&liar).expect("they are counted");
    assert!(cost(&liar).commits > Some(0) && each < and_some(0.1, &liar), "{:?}", cost(&liar));
}

/// Each operation of `point` returns a row, those outside of the window among them.
fn rows_are_of_the_whole_trial() {
    for (engine, has_a_cache) in [("sqlite", true), ("lmdb", false)] {
        let TrialMeasurements { measures, operations, .. } = measure("point", engine, "relaxed");
        let of_clients = |measure| measures.get(measure, &Scope::Clients);
        let rows = of_clients(&WORK_ROWS).expect("rows are counted");
        assert_eq!(of_clients(&OPERATIONS), Some(rows), "{engine}: {operations:?}");
        assert!(rows > operations[0].kept.len() as f64, "{engine}: some are outside the window");
        assert!(of_clients(&RETURNED) > Some(rows), "{engine}: a text each: {measures:?}");
        let misses = measures.get(&CACHE_MISSES, &Scope::Trial);
        assert_eq!(misses.is_some_and(|misses| misses > 0.0), has_a_cache, "{engine}: {misses:?}");
        assert_eq!(misses.is_some(), has_a_cache, "{engine}: what is not counted is not 0");
    }
}

/// A server's processes are accounted for, and not the clients.
fn accounted_for(name: &str, counter: &str) {
    let engine = bakeoff_engines::find_level(name).unwrap();
    if needs(engine.available()).is_none() {
        return;
    }
    let measured = measure("redmine", name, "strict");
    let (found, measures) = (cost(&measured), &measured.measures);
    assert!(found.commits > Some(0), "{found:?}");
    assert!(written(&measured) > found.application_bytes.unwrap(), "{found:?}");
    let engine = measures.of_database(&CPU).unwrap();
    let clients = measures.get(&CPU, &Scope::Clients).unwrap();
    assert!(engine > 0.0 && clients > 0.0, "{engine} {clients}");
    assert_eq!(found.engine_cpu_s, Some(engine));
    assert!(measures.of_database(&WRITTEN) > Some(0.0), "{measures:?}");
    let mut counters = measures.counters();
    assert!(counters.any(|(name, count)| name == counter && count > 0), "{measures:?}");
    assert!(measures.get(&CACHE_MISSES, &Scope::Trial).is_some(), "{measures:?}");
    if let Some(each) = syncs_per_commit(&measured) {
        // Two clients can share a sync.
        assert!(each > 0.5 / CLIENTS as f64, "{found:?}");
    }
}

/// A level that is to cost less does: fewer syncs than commits. Aria at `relaxed` saves few of them on
/// a busy machine.
fn a_weaker_level_syncs_less_than_it_commits() {
    let levels = [
        ("mariadb:innodb", "relaxed"),
        ("mariadb:rocksdb", "relaxed"),
        ("mariadb:aria", "none"),
        ("postgres", "relaxed"),
    ];
    for (name, durability) in levels {
        let engine = bakeoff_engines::find_level(name).unwrap();
        if needs(engine.available()).is_none() {
            continue;
        }
        let measured = measure("ledger", name, durability);
        if let Some(each) = syncs_per_commit(&measured) {
            assert!(each < and_some(0.5, &measured), "{name}: {:?}", cost(&measured));
        }
    }
}

/// A file of rows that is another one when it is loaded.
fn rows_that_cannot_be_had_leave_no_image() {
    let folder = tempfile::tempdir().unwrap();
    open_to_all(folder.path());
    let rows = folder.path().join("rows.tsv");
    let lines = (0..10_000).map(|number| format!("Title {number}\tText {number}.\n"));
    std::fs::write(&rows, lines.collect::<String>()).unwrap();
    let text = "workload = 'text-oltp'\nrows_from = 'rows.tsv'\nengine = ['sqlite', 'lmdb']\n";
    let experiment = load(folder.path(), text);
    let plan = experiment.plan();
    let setups: Vec<Setup> =
        plan.blocks[0].trials.iter().map(|trial| setup(&experiment, &trial.cell)).collect();
    std::fs::write(&rows, "Ape\n").unwrap();
    let images = RefCell::default();
    // Once more it is known, and nothing is loaded.
    for setup in setups.iter().chain(&setups) {
        match at_work(folder.path(), &images, |lab| lab.loaded_image(setup)) {
            Err(TrialError::User(why)) => {
                assert!(why.starts_with("its data can't be loaded: table articles, after row 0: "));
                assert!(why.contains("rows.tsv: the file changed after the run"), "{why}");
            }
            other => panic!("{other:?}"),
        }
        let left = std::fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name());
        let mut left: Vec<_> = left.collect();
        left.sort_unstable();
        assert_eq!(left, ["it.toml", "rows.tsv"], "something is left");
    }
}
