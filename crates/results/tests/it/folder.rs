//! The run folder as files: what is kept, who may write it, and what is said of a broken one.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::data::{TrialGenerator, run};
use bakeoff_results::measure::CPU;
use bakeoff_results::{
    Answers, Calibration, Canary, DATABASE, EXPERIMENT, EndedTrial, Error, RunFolder, Scope,
    Status, Trial, TrialSummary, histogram,
};
use rusqlite::Connection;

const TOML: &str = "name = \"synthetic\" # and a comment\n";

fn folder() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/run");
    (dir, path)
}

fn trials(block: u32) -> Vec<Trial> {
    TrialGenerator::new(u64::from(block), 40).block(0, block, ["1", "0"])
}

/// A folder with one block in it, closed.
fn written(path: &Path) -> Vec<Trial> {
    let mut folder = RunFolder::create(path, &run(&["1"], &["0"], 8), TOML).unwrap();
    let trials = trials(0);
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    trials
}

#[test]
fn everything_of_a_trial_comes_back() {
    let (_dir, path) = folder();
    let mut folder = RunFolder::create(&path, &run(&["1"], &["0"], 8), TOML).unwrap();
    let trials = trials(7);
    let canary =
        Canary { at_s: 1.5, cpu_s: 0.25, memory_s: 0.5, sync_s: 0.125, read_s: None, off: None };
    folder.commit_canary(&canary).unwrap();
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    let failed = Trial {
        attempt: 1,
        valid: true, // which it can't be
        reason: Some("the engine crashed".to_owned()),
        measured: None,
        ..trials[0].clone()
    };
    folder.commit_trial(&failed).unwrap();
    drop(folder);

    let folder = RunFolder::open(&path).unwrap();
    for trial in &trials {
        let back = folder.trial(7, 0, trial.order).unwrap().expect("it was committed");
        assert_eq!(*trial, back);
    }
    let back = folder.trial(7, 1, 0).unwrap().unwrap();
    assert_eq!(back, Trial { valid: false, ..failed });
    assert!(folder.trial(8, 0, 0).unwrap().is_none());
    assert_eq!(folder.run().unwrap(), run(&["1"], &["0"], 8));
    assert_eq!(folder.canaries().unwrap(), [canary]);
    assert_eq!(fs::read_to_string(path.join(EXPERIMENT)).unwrap(), TOML);
    let done = folder.done().unwrap();
    assert_eq!(done.len(), 5);
    assert_eq!(done[3], EndedTrial { block: 7, attempt: 0, order: 3, valid: true });
    assert_eq!(done[4], EndedTrial { block: 7, attempt: 1, order: 0, valid: false });
}

/// A trial in an open loop: its operations have service times beside their response times.
#[test]
fn service_times_come_back_and_so_do_their_figures() {
    let (_dir, path) = folder();
    let mut folder = RunFolder::create(&path, &run(&["1"], &["0"], 8), TOML).unwrap();
    let mut trials = trials(0);
    let mut service = histogram::empty();
    service.record_n(2_000_000, 10_000).unwrap();
    trials[0].measured.as_mut().unwrap().operations[0].service = Some(service);
    // What a child process says is what is kept.
    let measured = serde_json::to_string(&trials[0].measured).unwrap();
    trials[0].measured = serde_json::from_str(&measured).unwrap();
    trials[..2].iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    assert_eq!(folder.trial(0, 0, 0).unwrap().as_ref(), Some(&trials[0]));

    let summaries = folder.trials().unwrap();
    let [open, closed] = [&summaries[0].operations[0], &summaries[1].operations[0]];
    for figure in [open.service_mean_s, open.service_p99_s] {
        assert!((figure.unwrap() / 0.002 - 1.0).abs() < 0.001, "{figure:?}");
    }
    assert_eq!((closed.service_mean_s, closed.service_p99_s), (None, None));
}

/// An image is noted once: what it answers when it is asked again takes the place of what it had.
#[test]
fn answers_come_back_one_for_each_image() {
    let (_dir, path) = folder();
    let mut folder = RunFolder::create(&path, &run(&["1"], &["0"], 8), TOML).unwrap();
    let of = |image: &str, digest: &str| Answers {
        image: image.to_owned(),
        engine: image.to_owned(),
        levels: [("engine".to_owned(), image.to_owned())].into(),
        work: "all".to_owned(),
        operations: 3,
        statements: 40,
        digest: Some(digest.to_owned()),
        failed: None,
        difference: None,
    };
    for (image, digest) in [("alpha", "1"), ("beta", "2"), ("alpha", "3")] {
        folder.note_answers(&of(image, digest)).unwrap();
    }
    drop(folder);
    let mut folder = RunFolder::resume(&path).unwrap();
    let known = folder.run().unwrap().answers;
    let (beta, alpha) = (of("beta", "2"), of("alpha", "3"));
    // One was there from the first.
    assert_eq!(known[1..], [beta.clone(), alpha.clone()]);
    assert!(beta.is_unlike(&alpha) && !beta.is_unlike(&of("gamma", "2")));
    let other = Answers { work: "other".to_owned(), ..of("gamma", "9") };
    assert!(!other.is_unlike(&beta), "it was asked something else");
    // What else is noted of the run leaves them as they are.
    folder.set_neighbour_alone(7.0).unwrap();
    assert_eq!(folder.run().unwrap().answers, known);
}

#[test]
fn a_closed_folder_is_two_plain_files() {
    let (_dir, path) = folder();
    written(&path);
    let names = || {
        let entries = fs::read_dir(&path).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), [EXPERIMENT, DATABASE]);
    drop(RunFolder::open(&path).unwrap());
    drop(RunFolder::resume(&path).unwrap());
    assert_eq!(names(), [EXPERIMENT, DATABASE], "neither reading nor resuming leaves anything");
}

#[test]
fn a_calibration_is_kept_for_a_run_that_goes_on() {
    let (_dir, path) = folder();
    written(&path);
    let known = Calibration { operations: 51_234, seconds: 61.5, turned_over: true };
    let mut folder = RunFolder::resume(&path).unwrap();
    assert_eq!(folder.calibration("redmine sqlite").unwrap(), None);
    folder.note_calibration("redmine sqlite", &known).unwrap();
    let again = Calibration { operations: 7, turned_over: false, ..known };
    folder.note_calibration("redmine lmdb", &known).unwrap();
    folder.note_calibration("redmine lmdb", &again).unwrap();
    assert_eq!(folder.calibration("redmine sqlite").unwrap(), Some(known));
    assert_eq!(folder.calibration("redmine lmdb").unwrap(), Some(again));
}

#[test]
fn a_disturbed_block_is_kept_but_does_not_count() {
    let (_dir, path) = folder();
    written(&path);
    let mut folder = RunFolder::resume(&path).unwrap();
    folder.invalidate(0, 0, "the canary was off").unwrap();
    folder.invalidate(0, 0, "another word").unwrap();
    folder.set_status(Status::Interrupted, Some(2.5)).unwrap();
    let state = folder.state().unwrap();
    assert_eq!((state.status, state.ended_s), (Status::Interrupted, Some(2.5)));
    assert!(folder.done().unwrap().iter().all(|done| !done.valid));
    let trial = folder.trial(0, 0, 2).unwrap().unwrap();
    assert_eq!(trial.reason.as_deref(), Some("the canary was off"));
    assert!(trial.measured.is_some());
}

#[test]
fn the_neighbours_rate_is_noted_and_nothing_else_changes() {
    let (_dir, path) = folder();
    let run = bakeoff_results::Run {
        harness_s: 5e-8,
        debug_build: false,
        load: None,
        estimated_s: None,
        planner: None,
        left_out: Vec::new(),
        sequential: None,
        answers: Vec::new(),
        neighbour_alone_per_second: None,
        seed: u64::MAX,
        ..run(&["1"], &["25%"], 4)
    };
    let mut folder = RunFolder::create(&path, &run, TOML).unwrap();
    folder.set_neighbour_alone(812.5).unwrap();
    let noted = bakeoff_results::Run { neighbour_alone_per_second: Some(812.5), ..run };
    assert_eq!(folder.run().unwrap(), noted);
}

/// What an engine was opened with is noted once for each combination of terms.
#[test]
fn terms_are_noted_once() {
    let (_dir, path) = folder();
    let mut folder = RunFolder::create(&path, &run(&["16"], &["0"], 8), TOML).unwrap();
    let noted = folder.run().unwrap().applied;
    let mut other = noted[0].clone();
    folder.note_applied(&other).unwrap();
    assert_eq!(folder.run().unwrap().applied, noted);
    other.memory = "512M".to_owned();
    folder.note_applied(&other).unwrap();
    assert_eq!(folder.run().unwrap().applied, [noted[0].clone(), other]);
}

#[test]
fn a_folder_that_holds_anything_is_refused_and_left_alone() {
    let (_dir, path) = folder();
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("letter"), "mine").unwrap();
    let error = RunFolder::create(&path, &run(&["1"], &["0"], 8), TOML).unwrap_err();
    assert!(matches!(error, Error::Exists(_)), "{error:?}");
    assert!(error.to_string().contains("--out") && error.to_string().contains("--resume"));
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
    fs::remove_file(path.join("letter")).unwrap();
    RunFolder::create(&path, &run(&["1"], &["0"], 8), TOML).expect("an empty folder will do");
}

#[test]
fn what_a_killed_process_had_begun_to_make_is_taken_over_and_nothing_else_is() {
    let (_dir, path) = folder();
    let create = || RunFolder::create(&path, &run(&["1"], &["0"], 8), TOML);
    let begun = ["run.sqlite.new", "run.sqlite.new-journal", "experiment.toml"];
    for names in [&begun[..1], &begun[..2], &begun] {
        fs::create_dir_all(&path).unwrap();
        names.iter().for_each(|name| fs::write(path.join(name), "half of it").unwrap());
        let folder = create().expect("nobody else makes such files");
        assert_eq!(folder.done().unwrap().len(), 0);
        drop(folder);
        RunFolder::resume(&path).expect("it is whole");
        fs::remove_dir_all(&path).unwrap();
    }
    for names in [&begun[2..], &["run.sqlite.new", "letter"][..]] {
        fs::create_dir_all(&path).unwrap();
        names.iter().for_each(|name| fs::write(path.join(name), "mine").unwrap());
        let error = create().unwrap_err();
        assert!(matches!(error, Error::Exists(_)), "{error:?}");
        assert_eq!(fs::read_dir(&path).unwrap().count(), names.len());
        fs::remove_dir_all(&path).unwrap();
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    let (_dir, path) = folder();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "a file where a folder should be").unwrap();
    for target in [path.clone(), path.join("below")] {
        let error = RunFolder::create(&target, &run(&["1"], &["0"], 8), TOML).unwrap_err();
        assert!(matches!(error, Error::CannotWrite { .. }), "{error:?}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "a file where a folder should be");
}

#[test]
fn an_edited_experiment_is_not_resumed() {
    let (_dir, path) = folder();
    written(&path);
    let file = path.join(EXPERIMENT);
    fs::write(&file, TOML.replace('#', "# ")).unwrap();
    let error = RunFolder::resume(&path).unwrap_err();
    assert!(matches!(error, Error::ExperimentChanged { .. }), "{error:?}");
    let open = || RunFolder::open(&path).expect("reading it goes on");
    // Whoever reads it may ask, too, and is told what differs.
    let error = open().check_experiment().unwrap_err();
    assert!(matches!(error, Error::ExperimentChanged { .. }), "{error:?}");
    assert!(error.to_string().contains("line 1 was `"), "{error}");
    fs::remove_file(&file).unwrap();
    open().check_experiment().expect("the record has it");
    assert!(matches!(RunFolder::resume(&path), Err(Error::ExperimentChanged { .. })));
    fs::write(&file, TOML).unwrap();
    open().check_experiment().unwrap();
    RunFolder::resume(&path).unwrap();
}

#[test]
fn the_advice_for_an_edited_experiment_works() {
    let (_dir, path) = folder();
    written(&path);
    fs::write(path.join(EXPERIMENT), "").unwrap();
    let message = RunFolder::resume(&path).unwrap_err().to_string();
    let command = &message[message.find("sqlite3").expect("it names a command")..];
    // The shell of SQLite need not be there where the tests run.
    if Command::new("sqlite3").arg("-version").stdout(Stdio::null()).status().is_ok() {
        let status = Command::new("sh").args(["-c", command]).stdout(Stdio::null()).status();
        assert!(status.unwrap().success(), "{command}");
        RunFolder::resume(&path).unwrap();
    }
}

#[test]
fn one_writes_and_others_read() {
    let (_dir, path) = folder();
    let mut writer = RunFolder::create(&path, &run(&["1"], &["0"], 8), TOML).unwrap();
    let trials = trials(0);
    writer.commit_trial(&trials[0]).unwrap();
    let reader = RunFolder::open(&path).unwrap();
    assert_eq!(reader.done().unwrap().len(), 1);
    writer.commit_trial(&trials[1]).unwrap();
    assert_eq!(reader.done().unwrap().len(), 2);
    assert!(matches!(RunFolder::resume(&path), Err(Error::Busy(_))));
    assert!(matches!(RunFolder::create(&path, &run(&["1"], &["0"], 8), TOML), Err(Error::Busy(_))));
    drop(writer);
    RunFolder::resume(&path).expect("the lock goes with its holder");
}

#[test]
fn a_reader_cannot_write() {
    let (_dir, path) = folder();
    let trials = written(&path);
    let mut reader = RunFolder::open(&path).unwrap();
    let new = Trial { attempt: 1, ..trials[0].clone() };
    assert!(matches!(reader.commit_trial(&new), Err(Error::CannotWrite { .. })));
}

#[test]
fn what_can_not_be_kept_is_refused_whole() {
    let (_dir, path) = folder();
    let mut folder = RunFolder::create(&path, &run(&["1"], &["0"], 8), TOML).unwrap();
    let mut trial = trials(0).remove(0);
    let measured = |trial: &mut Trial, value| {
        trial.measured.as_mut().unwrap().measures.set(&CPU, Scope::Clients, value);
    };
    for nonsense in [f64::NAN, f64::INFINITY] {
        measured(&mut trial, nonsense);
        let error = folder.commit_trial(&trial).unwrap_err();
        assert!(matches!(&error, Error::Unfit(why) if why.contains("cpu")), "{error:?}");
    }
    measured(&mut trial, 1.5);
    trial.measured.as_mut().unwrap().window_s.1 = f64::NAN;
    assert!(matches!(folder.commit_trial(&trial), Err(Error::Unfit(_))));
    trial.measured.as_mut().unwrap().window_s.1 = 18.0;
    trial.measured.as_mut().unwrap().operations[1].slots[3].end_s = f64::NAN;
    assert!(matches!(folder.commit_trial(&trial), Err(Error::Unfit(_))));
    assert!(folder.done().unwrap().is_empty());
    trial.measured.as_mut().unwrap().operations[1].slots[3].end_s = 4.0;
    folder.commit_trial(&trial).unwrap();
    assert!(matches!(folder.commit_trial(&trial), Err(Error::Unfit(_))), "it is there already");
}

#[test]
fn what_is_no_run_is_said_so() {
    let (dir, path) = folder();
    let not_a_run = |path: &Path| {
        for error in [RunFolder::open(path).unwrap_err(), RunFolder::resume(path).unwrap_err()] {
            assert!(matches!(error, Error::NotARun { .. }), "{error:?}");
        }
    };
    not_a_run(&path);
    not_a_run(dir.path());
    fs::create_dir_all(path.join(DATABASE)).unwrap();
    not_a_run(&path);
    fs::remove_dir(path.join(DATABASE)).unwrap();
    let foreign = Connection::open(path.join(DATABASE)).unwrap();
    foreign.execute_batch("CREATE TABLE run (id)").unwrap();
    drop(foreign);
    not_a_run(&path);
}

/// What another bakeoff wrote is not guessed at, whether its form has another number or the same and less
/// in it: both ways into it say which form it has and what to do, and neither touches it.
#[test]
fn another_form_is_refused_with_what_to_do() {
    let earlier = "ALTER TABLE operation DROP COLUMN unfinished; DROP TABLE owed; \
                   DROP TABLE payment; DROP TABLE calibration; PRAGMA user_version = 2";
    for (sql, found) in [
        ("PRAGMA user_version = 1", "1"),
        (earlier, "2"),
        ("PRAGMA user_version = 4", "4"),
        (
            "DROP TABLE owed; DROP TABLE payment; DROP TABLE calibration",
            "3 without the table calibration",
        ),
        (
            "ALTER TABLE operation DROP COLUMN unfinished",
            "3 without the column unfinished of the table operation",
        ),
    ] {
        let (_dir, path) = folder();
        written(&path);
        Connection::open(path.join(DATABASE)).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(path.join(DATABASE)).unwrap();
        for error in [RunFolder::open(&path).unwrap_err(), RunFolder::resume(&path).unwrap_err()] {
            assert!(matches!(error, Error::OtherForm { known: 3, .. }), "{sql}: {error:?}");
            let experiment = path.join(EXPERIMENT);
            let message = format!(
                "{} has form {found}, and this bakeoff reads form 3 alone; use the bakeoff that \
                 wrote it, or run its experiment anew: bakeoff run {}",
                path.join(DATABASE).display(),
                experiment.display()
            );
            assert_eq!(error.to_string(), message);
            assert!(experiment.is_file());
        }
        assert_eq!(fs::read(path.join(DATABASE)).unwrap(), before, "{sql}");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 2, "{sql}");
    }
}

/// Reads all that is there.
fn everything(folder: &RunFolder) -> bakeoff_results::Result<()> {
    let _snapshot = folder.snapshot()?;
    folder.state()?;
    let whole = |it: &TrialSummary| folder.trial(it.block, it.attempt, it.order).map(drop);
    folder.trials()?.iter().try_for_each(whole)?;
    let mut courses = folder.courses();
    folder.trials()?.iter().try_for_each(|trial| courses.read_course(trial).map(drop))?;
    folder.canaries()?;
    folder.cuts().map(drop)
}

/// A folder whose database is damaged again and again.
struct Victim {
    _dir: tempfile::TempDir,
    path: PathBuf,
    pristine: Vec<u8>,
}

impl Victim {
    fn new() -> Self {
        let (_dir, path) = folder();
        written(&path);
        let pristine = fs::read(path.join(DATABASE)).unwrap();
        Self { _dir, path, pristine }
    }

    /// What reading all of it brings, and resuming it.
    fn damage(&self, damage: impl FnOnce(&mut Vec<u8>)) -> [Option<Error>; 2] {
        let mut bytes = self.pristine.clone();
        damage(&mut bytes);
        for rest in ["run.sqlite-wal", "run.sqlite-shm", "run.sqlite-journal"] {
            let _ = fs::remove_file(self.path.join(rest));
        }
        fs::write(self.path.join(DATABASE), bytes).unwrap();
        let read = RunFolder::open(&self.path).and_then(|folder| everything(&folder));
        [read.err(), RunFolder::resume(&self.path).err()]
    }
}

#[test]
fn a_damaged_database_is_called_so_with_advice() {
    let cases: [fn(&mut Vec<u8>); 5] = [
        Vec::clear,
        |bytes| bytes.truncate(50),
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.fill(b'x'),
        |bytes| bytes[100..].fill(0xff),
    ];
    let victim = Victim::new();
    for (number, damage) in cases.into_iter().enumerate() {
        for error in victim.damage(damage) {
            let error = error.unwrap_or_else(|| panic!("case {number} goes unnoticed"));
            assert!(matches!(error, Error::Damaged { .. }), "case {number}: {error:?}");
            assert!(error.to_string().contains(".recover"), "{error}");
        }
    }
}

/// A page of noise may hit what reading does not touch, but nothing may panic, and resuming looks
/// at the structure of everything.
#[test]
fn no_damage_makes_it_panic() {
    let victim = Victim::new();
    for page in 0..victim.pristine.len() / 4096 {
        let found = victim.damage(|bytes| {
            for (at, byte) in bytes[page * 4096..][..4096].iter_mut().enumerate() {
                *byte = (at * 31 % 251) as u8;
            }
        });
        for error in found.into_iter().flatten() {
            assert!(matches!(error, Error::Damaged { .. }), "page {page}: {error:?}");
        }
    }
    assert_eq!(victim.damage(|_| ()).map(|error| error.is_some()), [false, false]);
}

/// Histograms hold lengths of their own; SQLite can't see that they are wrong.
#[test]
fn a_broken_histogram_is_damage() {
    for blob in ["x''", "x'1c849313ffffffff'", "zeroblob(300)", "substr(kept, 1, 60)"] {
        let (_dir, path) = folder();
        written(&path);
        let breaker = Connection::open(path.join(DATABASE)).unwrap();
        breaker.execute_batch(&format!("UPDATE operation SET kept = {blob}")).unwrap();
        drop(breaker);
        let folder = RunFolder::open(&path).unwrap();
        let error = everything(&folder).expect_err(blob);
        assert!(matches!(error, Error::Damaged { .. }), "{blob}: {error:?}");
        assert!(matches!(folder.trial(0, 0, 0), Err(Error::Damaged { .. })), "{blob}");
    }
}

/// Set in the child that a test starts of itself.
const CHILD: &str = "BAKEOFF_TEST_FOLDER";

/// The child of the test below: commits trials until it is killed.
#[test]
fn child_that_commits() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let mut folder = RunFolder::create(Path::new(&path), &run(&["1"], &["0"], 8), TOML).unwrap();
    for block in 0.. {
        for trial in trials(block) {
            folder.commit_trial(&trial).unwrap();
            println!("committed {block} {}", trial.order);
        }
    }
}

#[test]
fn a_killed_run_is_readable_and_goes_on() {
    let (_dir, path) = folder();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "folder::child_that_commits", "--nocapture"])
        .env(CHILD, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Kept: the child would end where nobody reads what it says.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let committed = lines.by_ref().filter(|line| line.contains("committed")).take(9).count();
    assert_eq!(committed, 9, "the child wrote until it was told to stop");
    let busy = RunFolder::resume(&path);
    assert!(matches!(busy, Err(Error::Busy(_))), "it is still at work: {busy:?}");
    child.kill().unwrap();
    child.wait().unwrap();

    let seen = RunFolder::open(&path).unwrap().done().unwrap().len();
    assert!(seen >= 9, "{seen}");
    let mut folder = RunFolder::resume(&path).unwrap();
    assert_eq!(folder.state().unwrap().status, Status::Unfinished);
    let done = folder.done().unwrap();
    for EndedTrial { block, attempt, order, .. } in &done {
        let back = folder.trial(*block, *attempt, *order).unwrap().unwrap();
        assert_eq!(back, trials(*block)[*order as usize]);
    }
    let next = &trials(1000)[0];
    folder.commit_trial(next).unwrap();
    assert_eq!(folder.done().unwrap().len(), done.len() + 1);
}
