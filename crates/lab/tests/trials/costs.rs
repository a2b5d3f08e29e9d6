//! What a trial is found to have cost, with real engines.

use std::path::Path;
use std::time::Duration;

use bakeoff_analysis::WorkCost;
use bakeoff_experiment::{Experiment, FlagOverrides};
use bakeoff_lab::place::TargetPlace;
use bakeoff_lab::process::job::{Message, ProcessJob, Task};
use bakeoff_lab::process::{ChildProcess, Received};
use bakeoff_lab::targets::{Setup, WantedLevels};
use bakeoff_lab::{Registry, resolve};
use bakeoff_results as results;
use bakeoff_results::measure::{
    CACHE_MISSES, CPU, DRAIN_WRITTEN, OPERATIONS, RETURNED, WORK_ROWS, WRITTEN,
};
use bakeoff_results::{Levels, RunFolder, Scope, TrialMeasurements};
use bakeoff_testkit::{PATIENCE, needs, open_to_all, skip};

use crate::Test;
use crate::stage::program;

pub const TESTS: &[Test] = &[
    ("a_weaker_level_syncs_less_than_it_commits", a_weaker_level_syncs_less_than_it_commits),
    ("an_engine_that_syncs_is_seen_to_and_a_liar_is_told", a_liar_is_told),
    ("a_write_through_a_synced_descriptor_counts", a_write_through_a_synced_descriptor_counts),
    ("rows_and_what_they_took_are_of_the_whole_trial", rows_are_of_the_whole_trial),
    ("innodb_is_accounted_for", || accounted_for("mariadb:innodb", "Innodb_os_log_written")),
    ("myrocks_is_accounted_for", || accounted_for("mariadb:rocksdb", "Rocksdb_wal_bytes")),
    ("postgresql_is_accounted_for", || accounted_for("postgres", "transactions committed")),
];

const CLIENTS: usize = 2;

/// How long a process may say nothing: it loads, or drains, on a disk that others use.
const SILENCE: Duration = Duration::from_secs(10 * PATIENCE.as_secs());

/// Does a task in a process of its own, as the lab does.
fn perform(setup: &Setup, place: &TargetPlace, task: Task) -> Option<Box<TrialMeasurements>> {
    let (target, subject) = (setup.target.to_owned(), setup.subject.clone());
    let job = ProcessJob { target, subject, place: place.clone(), task };
    let mut process = ChildProcess::start(&program(), &job).expect("a process");
    loop {
        match process.receive(SILENCE) {
            Received::Message(Message::Ready | Message::Drained(_)) => {
                process = process.go().expect("it listens");
            }
            Received::Message(Message::Done(measured)) => return measured,
            Received::Message(Message::Failed(error)) => panic!("{error:?}"),
            Received::Message(_) => {}
            Received::Nothing => panic!("nothing was heard of it for {SILENCE:?}"),
            Received::End => panic!("{}", process.exit_report()),
        }
    }
}

/// Loads data and runs a trial on them.
fn measure(engine: &str, durability: &str, place: &Path) -> TrialMeasurements {
    measure_with("redmine", engine, durability, place)
}

fn measure_with(workload: &str, engine: &str, durability: &str, place: &Path) -> TrialMeasurements {
    // A server runs as another user, who must come by.
    open_to_all(place);
    let file = place.join("one.toml");
    let keys = [("workload", workload), ("engine", engine), ("durability", durability)];
    let text: String = keys.iter().map(|(key, value)| format!("{key} = '{value}'\n")).collect();
    std::fs::write(&file, format!("{text}clients = {CLIENTS}\nseconds = 2\n")).unwrap();
    let registry = Registry::standard();
    let (file, changes) = (file.to_string_lossy(), FlagOverrides::default());
    let experiment = Experiment::load(&file, &changes, &registry.vocabulary()).unwrap();
    let plan = experiment.plan();
    let cell = &plan.blocks[0].trials[0].cell;
    let wanted = WantedLevels { experiment: &experiment, cell, workload };
    let setup = registry.target_of(workload).unwrap().resolve(&wanted).unwrap();
    let (_, drive) = resolve(&registry, &experiment, cell, 0).unwrap();
    let directory = place.join("data");
    std::fs::create_dir(&directory).unwrap();
    let place = TargetPlace::folder(&directory);
    perform(&setup, &place, Task::Load);
    *perform(&setup, &place, bakeoff_lab::procedures::drive::task(&[&drive]))
        .expect("a trial measures")
}

/// Syncs for each commit, by the kernel's count; says so where it can't count.
fn syncs_per_commit(measured: &TrialMeasurements) -> Option<f64> {
    let counted = measured.measures.of_database(&results::measure::SYNCS);
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

/// The warnings of a run whose only trial this is.
fn warnings(measured: TrialMeasurements, durability: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let levels = [("engine", "sqlite"), ("durability", durability), ("clients", "2")];
    let levels: Levels = levels.into_iter().map(|(f, l)| (f.to_owned(), l.to_owned())).collect();
    let factors = levels.iter().map(|(f, l)| (f.clone(), vec![l.clone()])).collect();
    let run: results::Run = serde_json::from_value(serde_json::json!({
        "name": "", "title": "", "workload": "", "operations": [], "compare": "engine",
        "baseline": "sqlite", "factors": [], "seconds": 2.0, "repetitions": 1, "seed": 1,
        "planned": 1, "command": "", "version": "", "started_s": 0.0, "engines": [],
        "machine": results::Machine::default(), "harness_s": 0.0,
        "neighbour_alone_per_second": null, "text": "",
    }))
    .unwrap();
    let run = results::Run { factors, ..run };
    let mut folder = RunFolder::create(&folder.path().join("run"), &run, "").unwrap();
    let trial = results::Trial {
        repetition: 0,
        block: 0,
        attempt: 0,
        order: 0,
        levels,
        started_s: 0.0,
        valid: true,
        reason: None,
        measured: Some(measured),
    };
    folder.commit_trial(&trial).unwrap();
    let warnings = bakeoff_analysis::document(&folder).unwrap().warnings;
    let about = warnings.iter().filter(|it| it.kind == bakeoff_analysis::WarningKind::NotSynced);
    about.map(ToString::to_string).collect()
}

fn a_liar_is_told() {
    let place = tempfile::tempdir().unwrap();
    let honest = measure("sqlite", "strict", place.path());
    let found = cost(&honest);
    let payload = found.application_bytes.unwrap();
    assert!(found.operations > 0 && found.commits > Some(0) && payload > 0, "{found:?}");
    assert!(written(&honest) > payload, "{found:?}");
    assert!(found.engine_cpu_per_operation_s().unwrap() > 0.0, "{found:?}");
    // A sync a commit, and some of checkpoints.
    let Some(each) = syncs_per_commit(&honest) else { return };
    assert!((0.99..and_some(2.0, &honest)).contains(&each), "{found:?}");
    assert_eq!(warnings(honest, "strict"), [""; 0]);

    // SQLite with its syncs off, which says that it is strict.
    let place = tempfile::tempdir().unwrap();
    let liar = measure("sqlite", "none", place.path());
    assert!(cost(&liar).commits > Some(0));
    assert_eq!(warnings(liar.clone(), "none"), [""; 0]);
    assert_eq!(warnings(liar, "strict").len(), 1);
}

/// LMDB makes its meta page durable by a write, and calls nothing for it.
fn a_write_through_a_synced_descriptor_counts() {
    let place = tempfile::tempdir().unwrap();
    let measured = measure("lmdb", "strict", place.path());
    if let Some(each) = syncs_per_commit(&measured) {
        assert!((1.9..and_some(2.2, &measured)).contains(&each), "{:?}", cost(&measured));
    }
}

/// Each operation of `point` returns a row, those outside of the window among them.
fn rows_are_of_the_whole_trial() {
    for (engine, has_a_cache) in [("sqlite", true), ("lmdb", false)] {
        let place = tempfile::tempdir().unwrap();
        let TrialMeasurements { measures, operations, .. } =
            measure_with("point", engine, "relaxed", place.path());
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
    let engine = bakeoff_engines::find(name).unwrap();
    if needs(engine.available()).is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let measured = measure(name, "strict", place.path());
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
        let engine = bakeoff_engines::find(name).unwrap();
        if needs(engine.available()).is_none() {
            continue;
        }
        let place = tempfile::tempdir().unwrap();
        let measured = measure_with("ledger", name, durability, place.path());
        if let Some(each) = syncs_per_commit(&measured) {
            assert!(each < and_some(0.5, &measured), "{name}: {:?}", cost(&measured));
        }
    }
}
