//! Runs that another program or another kernel went on with, and records of a bakeoff that knew none of it.

use bakeoff_results::{Cut, Machine, Platform, Run, RunFolder, Takeover};
use bakeoff_testkit::synthetic::{TrialGenerator, run};
use rusqlite::Connection;

fn program(sum: &str) -> Platform {
    Platform {
        version: "0.2.0".into(),
        program_sha256: Some(sum.into()),
        kernel: "6.1".into(),
        kernel_version: Some("#1".into()),
    }
}

/// A run that the program `aa` began.
fn began() -> Run {
    let machine = Machine {
        kernel: "6.1".into(),
        kernel_version: Some("#1".into()),
        smt: Some(true),
        ..Machine::default()
    };
    let plain = run(&["1"], &["0"], 24);
    Run { version: "0.2.0".into(), program_sha256: Some("aa".into()), machine, ..plain }
}

#[test]
fn what_went_on_is_noted_with_what_had_ended_and_forgotten_where_it_ended_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = RunFolder::create(&dir.path().join("run"), &began(), "").unwrap();
    let mut generator = TrialGenerator::new(1, 10);
    let mut commit = |folder: &mut RunFolder, block| {
        let trials = generator.generate_block(block, block, ["1", "0"]);
        trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
        trials.len() as u32
    };
    assert_eq!(folder.last_platform().unwrap(), program("aa"));
    let each = commit(&mut folder, 0);
    folder.note_platform(program("bb")).unwrap();
    assert_eq!(folder.last_platform().unwrap(), program("aa"), "it has run nothing yet");
    // Killed before its first trial ended: what comes back, or comes next, is told in its place.
    folder.note_platform(program("aa")).unwrap();
    assert_eq!(folder.run().unwrap().takeovers, []);
    folder.note_platform(program("bb")).unwrap();
    folder.note_platform(program("cc")).unwrap();
    let taken = |by, trials| Takeover { by: program(by), trials, cuts: 0 };
    assert_eq!(folder.run().unwrap().takeovers, [taken("cc", each)]);
    commit(&mut folder, 1);
    assert_eq!(folder.last_platform().unwrap(), program("cc"));
    folder.note_platform(program("cc")).unwrap();
    assert_eq!(folder.run().unwrap().takeovers.len(), 1, "it is the same");
    folder.note_platform(program("aa")).unwrap();
    let [cut, _] = bakeoff_testkit::synthetic::sample_cuts();
    folder.commit_cut(&Cut { failed: Some("it crashed".into()), ..cut.clone() }).unwrap();
    assert_eq!(folder.last_platform().unwrap(), program("cc"), "a cut that failed says nothing");
    folder.commit_cut(&cut).unwrap();
    assert_eq!(folder.last_platform().unwrap(), program("aa"), "a power cut is something, too");
    assert_eq!(folder.run().unwrap().takeovers, [taken("cc", each), taken("aa", 2 * each)]);
}

#[test]
fn the_version_of_a_trial_is_that_of_what_ran_it() {
    let by = |version: &str| Platform { version: version.into(), ..program("bb") };
    let taken = |version, trials| Takeover { by: by(version), trials, cuts: 0 };
    let run = Run { takeovers: vec![taken("2", 3), taken("3", 5)], ..began() };
    let versions: Vec<&str> = (0..7).map(|place| run.version_of_trial(place)).collect();
    assert_eq!(versions, ["0.2.0", "0.2.0", "0.2.0", "2", "2", "3", "3"]);
}

#[test]
fn a_record_without_these_facts_is_read_and_nothing_is_made_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    drop(RunFolder::create(&path, &began(), "").unwrap());
    let database = Connection::open(path.join("run.sqlite")).unwrap();
    let machine = "kernel_version governor smt huge_pages mount_options hardware virtualisation";
    let facts = machine.split(' ').map(|it| format!("machine.{it}"));
    for fact in facts.chain(["program_sha256".into()]) {
        let there = format!("SELECT json_type(description, '$.{fact}') IS NOT NULL FROM run");
        assert!(database.query_row(&there, [], |row| row.get::<_, bool>(0)).unwrap(), "{fact}");
        let without = format!("UPDATE run SET description = json_remove(description, '$.{fact}')");
        assert_eq!(database.execute(&without, []).unwrap(), 1);
    }
    drop(database);
    let run = RunFolder::open(&path).unwrap().run().unwrap();
    assert_eq!(run.machine, Machine { kernel: "6.1".into(), ..Machine::default() });
    assert_eq!((run.program_sha256, run.takeovers), (None, Vec::new()));
    assert!(run.machine.settings().is_empty());
}
