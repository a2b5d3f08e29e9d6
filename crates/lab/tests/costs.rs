//! What a trial is found to have cost, with real engines.

use std::io::Cursor;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bakeoff_lab::job::{Data, GO, Job, Measured, Message, Staging};
use bakeoff_results as results;
use bakeoff_results::{Counter, Facts, Levels, RunFolder};

const CLIENTS: usize = 2;

/// Does a job on this thread, as a trial's process does.
fn perform(job: &Job) -> Option<Box<Measured>> {
    let input = format!("{}\n{GO}\n", serde_json::to_string(job).unwrap());
    let mut output = Vec::new();
    bakeoff_lab::child(&mut Cursor::new(input), &mut output);
    let said = String::from_utf8(output).unwrap();
    let last = said.lines().last().expect("it says something");
    match serde_json::from_str(last).unwrap() {
        Message::Done(measured) => measured,
        other => panic!("{other:?}"),
    }
}

/// Loads data and runs a trial on them.
fn measure(engine: &str, durability: &str, place: &Path) -> Measured {
    measure_with("redmine", engine, durability, place)
}

fn measure_with(workload: &str, engine: &str, durability: &str, place: &Path) -> Measured {
    let data = Data {
        engine: engine.into(),
        workload: workload.into(),
        scale: "small".into(),
        seed: 1,
        text: None,
    };
    // A server runs as another user, who must come by.
    std::fs::set_permissions(place, PermissionsExt::from_mode(0o755)).unwrap();
    let directory = place.join("data");
    std::fs::create_dir(&directory).unwrap();
    let staging = Staging { directory, ..Staging::default() };
    let (data_, staging_) = (data.clone(), staging.clone());
    perform(&Job::Load { data: data_, staging: staging_, durability: "none".into() });
    let durability = durability.into();
    let trial = Job::Trial { data, staging, durability, clients: CLIENTS, seconds: 2.0 };
    *perform(&trial).expect("a trial measures")
}

/// Whether the kernel can count syncs here; says so where it can't.
fn counted(measured: &Measured) -> bool {
    let exact = measured.cost.syncs.is_some_and(|syncs| syncs.counted_by == Counter::Kernel);
    if !exact {
        let why = "the kernel's count of syncs takes root and ext4, xfs, btrfs or f2fs";
        assert!(std::env::var_os("CI").is_none(), "{why}");
        println!("skipped: {why}");
    }
    exact
}

/// The warnings of a run whose only trial this is.
fn warnings(measured: Measured, durability: &str) -> Vec<String> {
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
    let facts =
        Facts { cost: Some(measured.cost), littles_law: measured.littles_law, ..Facts::default() };
    let trial = results::Trial {
        repetition: 0,
        block: 0,
        attempt: 0,
        order: 0,
        levels,
        started_s: 0.0,
        valid: true,
        reason: None,
        measured: Some(results::Measured {
            ran_s: measured.ran_s,
            window_s: measured.window_s,
            operations: measured.operations.into_iter().map(Into::into).collect(),
            facts,
        }),
    };
    folder.commit_trial(&trial).unwrap();
    let warnings = folder.document().unwrap().warnings;
    warnings.into_iter().filter(|warning| warning.contains("did not sync")).collect()
}

#[test]
fn an_engine_that_syncs_is_seen_to_and_a_liar_is_told() {
    let place = tempfile::tempdir().unwrap();
    let honest = measure("sqlite", "strict", place.path());
    let cost = honest.cost;
    assert!(cost.operations > 0 && cost.commits > 0 && cost.application_bytes > 0, "{cost:?}");
    assert!(cost.device_bytes.unwrap() > cost.application_bytes, "{cost:?}");
    assert!(cost.engine_cpu_per_operation_s().unwrap() > 0.0, "{cost:?}");
    if !counted(&honest) {
        return;
    }
    // A sync a commit, and some of checkpoints.
    let each = cost.syncs_per_commit().unwrap();
    assert!((0.99..2.0).contains(&each), "{cost:?}");
    assert_eq!(warnings(honest, "strict"), [""; 0]);

    // SQLite with its syncs off, which says that it is strict.
    let place = tempfile::tempdir().unwrap();
    let liar = measure("sqlite", "none", place.path());
    assert!(liar.cost.commits > 0);
    assert_eq!(warnings(liar.clone(), "none"), [""; 0]);
    assert_eq!(warnings(liar, "strict").len(), 1);
}

/// LMDB makes its meta page lasting by a write, and calls nothing for it.
#[test]
fn a_write_through_a_synced_descriptor_counts() {
    let place = tempfile::tempdir().unwrap();
    let measured = measure("lmdb", "strict", place.path());
    if counted(&measured) {
        let each = measured.cost.syncs_per_commit().unwrap();
        assert!((1.9..2.2).contains(&each), "{:?}", measured.cost);
    }
}

/// A server's processes are accounted for, and not the clients.
fn a_server_is_accounted_for(name: &str, counter: &str) {
    let engine = bakeoff_engines::find(name).unwrap();
    if let Err(missing) = engine.available() {
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        return println!("skipped: {missing}");
    }
    let place = tempfile::tempdir().unwrap();
    let measured = measure(name, "strict", place.path());
    let (cost, cpu) = (measured.cost, measured.cpu_s);
    assert!(cost.commits > 0 && cost.device_bytes.unwrap() > cost.application_bytes, "{cost:?}");
    assert!(cpu.engine > 0.05 && cpu.client > 0.0, "{cpu:?}");
    assert_eq!(cost.engine_cpu_s, Some(cpu.engine));
    assert!(measured.io.write_bytes > 0, "{:?}", measured.io);
    assert!(measured.counters[counter] > 0, "{:?}", measured.counters);
    if counted(&measured) {
        // Two clients can share a sync.
        assert!(cost.syncs_per_commit().unwrap() > 0.5 / CLIENTS as f64, "{cost:?}");
    }
}

/// A level that is to cost less does: fewer syncs than commits. Aria at `relaxed` saves few of them on
/// a busy machine.
#[test]
fn a_weaker_level_syncs_less_than_it_commits() {
    let levels = [
        ("mariadb:innodb", "relaxed"),
        ("mariadb:rocksdb", "relaxed"),
        ("mariadb:aria", "none"),
        ("postgres", "relaxed"),
    ];
    for (name, durability) in levels {
        let engine = bakeoff_engines::find(name).unwrap();
        if let Err(missing) = engine.available() {
            assert!(std::env::var_os("CI").is_none(), "{missing}");
            println!("skipped: {missing}");
            continue;
        }
        let place = tempfile::tempdir().unwrap();
        let measured = measure_with("ledger", name, durability, place.path());
        if counted(&measured) {
            assert!(measured.cost.syncs_per_commit().unwrap() < 0.5, "{name}: {:?}", measured.cost);
        }
    }
}

#[test]
fn innodb_is_accounted_for() {
    a_server_is_accounted_for("mariadb:innodb", "Innodb_os_log_written");
}

#[test]
fn myrocks_is_accounted_for() {
    a_server_is_accounted_for("mariadb:rocksdb", "Rocksdb_wal_bytes");
}

#[test]
fn postgresql_is_accounted_for() {
    a_server_is_accounted_for("postgres", "transactions committed");
}
