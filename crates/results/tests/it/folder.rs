//! The run folder as files: what is kept, who may write it, and what is said of a broken one.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use bakeoff_results::measure::CPU;
use bakeoff_results::{
    Answers, Calibration, DATABASE, Debts, EXPERIMENT, EndedTrial, Error, Run, RunFolder, Scope,
    SlotRecord, SlotSummary, Status, Trial, TrialMeasurements, histogram,
};
use bakeoff_testkit::synthetic::{answers, run};
use rusqlite::Connection;

use crate::{
    TOML, canary, changed, commit_block, create, place, pristine, read_everything, trials, written,
};

#[test]
fn everything_of_a_trial_comes_back() {
    let (_dir, path) = place();
    let mut folder = create(&path);
    let canary = canary(1.5);
    folder.commit_canary(&canary).unwrap();
    let trials = commit_block(&mut folder, 7);
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
        let back = folder.read_trial(7, 0, trial.order).unwrap().expect("it was committed");
        assert_eq!(*trial, back);
    }
    let back = folder.read_trial(7, 1, 0).unwrap().unwrap();
    assert_eq!(back, Trial { valid: false, ..failed });
    assert!(folder.read_trial(8, 0, 0).unwrap().is_none());
    assert_eq!(folder.run().unwrap(), run(&["1"], &["0"], 8));
    assert_eq!(folder.read_canaries().unwrap(), [canary]);
    assert_eq!(fs::read_to_string(path.join(EXPERIMENT)).unwrap(), TOML);
    let done = folder.read_ended_trials().unwrap();
    assert_eq!(done.len(), 5);
    assert_eq!(done[3], EndedTrial { block: 7, attempt: 0, order: 3, valid: true });
    assert_eq!(done[4], EndedTrial { block: 7, attempt: 1, order: 0, valid: false });
}

/// A trial in an open loop: its operations have service times beside their response times.
#[test]
fn service_times_come_back_and_so_do_their_figures() {
    let (_dir, path) = place();
    let mut folder = create(&path);
    let mut trials = trials(0);
    let mut service = histogram::new_histogram();
    service.record_n(2_000_000, 10_000).unwrap();
    trials[0].measured.as_mut().unwrap().operations[0].service = Some(service);
    // What a child process says is what is kept.
    let measured = serde_json::to_string(&trials[0].measured).unwrap();
    trials[0].measured = serde_json::from_str(&measured).unwrap();
    trials[..2].iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    assert_eq!(folder.read_trial(0, 0, 0).unwrap().as_ref(), Some(&trials[0]));

    let summaries = folder.read_trials().unwrap();
    let [open, closed] = [&summaries[0].operations[0], &summaries[1].operations[0]];
    for figure in [open.service_mean_s, open.service_p99_s] {
        assert!((figure.unwrap() / 0.002 - 1.0).abs() < 0.001, "{figure:?}");
    }
    assert_eq!((closed.service_mean_s, closed.service_p99_s), (None, None));
}

/// What the histogram of a slot says of itself.
fn outline(SlotRecord { start_s, end_s, histogram }: &SlotRecord) -> SlotSummary {
    SlotSummary {
        start_s: *start_s,
        end_s: *end_s,
        count: histogram.len(),
        least: histogram.min(),
        mean: histogram.mean(),
        most: histogram.max(),
    }
}

#[test]
fn the_course_of_a_trial_is_its_slots_and_its_debts() {
    let (_dir, path) = place();
    let mut folder = create(&path);
    let mut trials = trials(0);
    trials[1].measured.as_mut().unwrap().debts = Debts::default();
    (trials[2].valid, trials[2].measured) = (false, None);
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    let summaries = folder.read_trials().unwrap();
    let mut courses = folder.open_courses();
    for (trial, summary) in trials.iter().zip(&summaries) {
        let course = courses.read_course(summary).unwrap();
        let (slots, debts): (Vec<Vec<SlotSummary>>, Debts) = match &trial.measured {
            Some(it) => {
                let slots = it.operations.iter().map(|it| it.slots.iter().map(outline).collect());
                (slots.collect(), it.debts.clone())
            }
            None => (Vec::new(), Debts::default()),
        };
        assert_eq!((course.operations, course.debts), (slots, debts));
    }
    let first = &trials[0].measured.as_ref().unwrap().debts;
    assert!(first.owed.len() == 2 && first.payments[0].ended.len() > 1, "there is something");
}

/// An image is noted once: what it answers when it is asked again takes the place of what it had.
#[test]
fn answers_come_back_one_for_each_image() {
    let (_dir, path) = place();
    let mut folder = create(&path);
    let of = |image: &str, digest: &str| answers(image, "all", Some(digest));
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
    let (_dir, path) = place();
    commit_block(&mut create(&path), 0);
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
fn a_disturbed_block_is_kept_but_does_not_count() {
    let (_dir, path) = written();
    let mut folder = RunFolder::resume(&path).unwrap();
    folder.invalidate_block(0, 0, "the canary was off").unwrap();
    folder.invalidate_block(0, 0, "another word").unwrap();
    folder.set_status(Status::Interrupted, Some(2.5)).unwrap();
    let state = folder.read_state().unwrap();
    assert_eq!((state.status, state.ended_s), (Status::Interrupted, Some(2.5)));
    assert!(folder.read_ended_trials().unwrap().iter().all(|done| !done.valid));
    let trial = folder.read_trial(0, 0, 2).unwrap().unwrap();
    assert_eq!(trial.reason.as_deref(), Some("the canary was off"));
    assert!(trial.measured.is_some());
}

/// What an engine was opened with is noted once for each combination of terms, a calibration once for each of its
/// names, and a rate changes nothing else.
#[test]
fn what_is_noted_of_a_run_comes_back() {
    let (_dir, path) = place();
    let about = Run {
        load: None,
        estimated_s: None,
        planner: None,
        answers: Vec::new(),
        neighbour_alone_per_second: None,
        seed: u64::MAX,
        ..run(&["1"], &["25%"], 4)
    };
    drop(RunFolder::create(&path, &about, TOML).unwrap());
    let mut folder = RunFolder::resume(&path).unwrap();
    folder.set_neighbour_alone(812.5).unwrap();
    let mut noted = Run { neighbour_alone_per_second: Some(812.5), ..about };
    assert_eq!(folder.run().unwrap(), noted);

    let mut other = noted.applied[0].clone();
    folder.note_applied(&other).unwrap();
    assert_eq!(folder.run().unwrap(), noted);
    other.memory = "512M".to_owned();
    folder.note_applied(&other).unwrap();
    noted.applied.push(other);
    assert_eq!(folder.run().unwrap(), noted);

    let known = Calibration { operations: 51_234, seconds: 61.5, turned_over: true };
    assert_eq!(folder.read_calibration("redmine sqlite").unwrap(), None);
    folder.note_calibration("redmine sqlite", &known).unwrap();
    let again = Calibration { operations: 7, turned_over: false, ..known };
    folder.note_calibration("redmine lmdb", &known).unwrap();
    folder.note_calibration("redmine lmdb", &again).unwrap();
    assert_eq!(folder.read_calibration("redmine sqlite").unwrap(), Some(known));
    assert_eq!(folder.read_calibration("redmine lmdb").unwrap(), Some(again));
}

#[test]
fn a_folder_that_holds_anything_is_refused_and_left_alone() {
    let (_dir, path) = place();
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
    let (_dir, path) = place();
    let create = || RunFolder::create(&path, &run(&["1"], &["0"], 8), TOML);
    let begun = ["run.sqlite.new", "run.sqlite.new-journal", "experiment.toml"];
    for names in [&begun[..1], &begun[..2], &begun] {
        fs::create_dir_all(&path).unwrap();
        names.iter().for_each(|name| fs::write(path.join(name), "half of it").unwrap());
        let folder = create().expect("nobody else makes such files");
        assert_eq!(folder.read_ended_trials().unwrap().len(), 0);
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
    let (_dir, path) = place();
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
    let (_dir, path) = written();
    let file = path.join(EXPERIMENT);
    fs::write(&file, TOML.replace('#', "# ")).unwrap();
    let changed = RunFolder::resume(&path).unwrap_err();
    assert!(matches!(changed, Error::ExperimentChanged { .. }), "{changed:?}");
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

    // The advice works. The shell of SQLite need not be there where the tests run.
    fs::write(&file, TOML.replace('#', "# ")).unwrap();
    let message = changed.to_string();
    let command = &message[message.find("sqlite3").expect("it names a command")..];
    if Command::new("sqlite3").arg("-version").stdout(Stdio::null()).status().is_ok() {
        let status = Command::new("sh").args(["-c", command]).stdout(Stdio::null()).status();
        assert!(status.unwrap().success(), "{command}");
        RunFolder::resume(&path).unwrap();
    }
}

#[test]
fn one_writes_and_others_read() {
    let (_dir, path) = place();
    let mut writer = create(&path);
    let trials = trials(0);
    writer.commit_trial(&trials[0]).unwrap();
    let mut reader = RunFolder::open(&path).unwrap();
    assert_eq!(reader.read_ended_trials().unwrap().len(), 1);
    writer.commit_trial(&trials[1]).unwrap();
    assert_eq!(reader.read_ended_trials().unwrap().len(), 2);
    assert!(matches!(reader.commit_trial(&trials[2]), Err(Error::CannotWrite { .. })));
    assert!(matches!(RunFolder::resume(&path), Err(Error::Busy(_))));
    assert!(matches!(RunFolder::create(&path, &run(&["1"], &["0"], 8), TOML), Err(Error::Busy(_))));
    drop(writer);
    RunFolder::resume(&path).expect("the lock goes with its holder");
}

/// What no reader would take, a look at the wrong moment, and what is there already.
#[test]
fn what_can_not_be_kept_is_refused_whole() {
    type Spoil = fn(&mut TrialMeasurements);
    let spoils: [(Spoil, &str); 10] = [
        (|it| it.measures.set(&CPU, Scope::Clients, f64::NAN), "cpu"),
        (|it| it.measures.set(&CPU, Scope::Clients, f64::INFINITY), "cpu"),
        (|it| it.window_s.1 = f64::NAN, ""),
        (|it| it.operations[1].slots[3].end_s = f64::NAN, ""),
        (|it| it.debts.owed[0].points[3].0 = f64::NAN, "NaN"),
        (|it| it.debts.owed[1].points[3].0 = 0.5, "0.5"),
        (|it| it.debts.payments[0].ended[0].0 = f64::INFINITY, "inf"),
        (|it| it.debts.owed[0].unit = "tables".to_owned(), "tables"),
        (|it| it.debts.owed[0].limit = Some(u64::MAX), "limit"),
        (|it| it.debts.payments = vec![it.debts.payments[0].clone(); 65], "65"),
    ];
    let (_dir, path) = place();
    let mut folder = create(&path);
    let whole = trials(0).remove(0);
    for (spoil, words) in spoils {
        let mut trial = whole.clone();
        spoil(trial.measured.as_mut().unwrap());
        let error = folder.commit_trial(&trial).unwrap_err();
        assert!(matches!(&error, Error::Unfit(why) if why.contains(words)), "{words}: {error:?}");
    }
    assert!(folder.read_ended_trials().unwrap().is_empty());
    folder.commit_trial(&whole).unwrap();
    assert!(matches!(folder.commit_trial(&whole), Err(Error::Unfit(_))), "it is there already");
}

#[test]
fn what_is_no_run_is_said_so() {
    let (dir, path) = place();
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
        let (_dir, path) = changed(sql);
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

/// What reading all of a damaged database brings, and resuming it.
fn damage(path: &Path, damage: impl FnOnce(&mut Vec<u8>)) -> [Option<Error>; 2] {
    let mut bytes = pristine().to_vec();
    damage(&mut bytes);
    for rest in ["run.sqlite-wal", "run.sqlite-shm", "run.sqlite-journal"] {
        let _ = fs::remove_file(path.join(rest));
    }
    fs::write(path.join(DATABASE), bytes).unwrap();
    [read_everything(path).err(), RunFolder::resume(path).err()]
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
    let (_dir, path) = written();
    for (number, spoil) in cases.into_iter().enumerate() {
        for error in damage(&path, spoil) {
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
    let (_dir, path) = written();
    for page in 0..pristine().len() / 4096 {
        let found = damage(&path, |bytes| {
            for (at, byte) in bytes[page * 4096..][..4096].iter_mut().enumerate() {
                *byte = (at * 31 % 251) as u8;
            }
        });
        for error in found.into_iter().flatten() {
            assert!(matches!(error, Error::Damaged { .. }), "page {page}: {error:?}");
        }
    }
    assert_eq!(damage(&path, |_| ()).map(|error| error.is_some()), [false, false]);
}

/// Set in the child that a test starts of itself.
const CHILD: &str = "BAKEOFF_TEST_FOLDER";

/// The child of the test below: commits trials until it is killed.
#[test]
fn child_that_commits() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let mut folder = create(Path::new(&path));
    for block in 0.. {
        for trial in trials(block) {
            folder.commit_trial(&trial).unwrap();
            println!("committed {block} {}", trial.order);
        }
    }
}

#[test]
fn a_killed_run_is_readable_and_goes_on() {
    let (_dir, path) = place();
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

    let seen = RunFolder::open(&path).unwrap().read_ended_trials().unwrap().len();
    assert!(seen >= 9, "{seen}");
    let mut folder = RunFolder::resume(&path).unwrap();
    assert_eq!(folder.read_state().unwrap().status, Status::Unfinished);
    let done = folder.read_ended_trials().unwrap();
    for EndedTrial { block, attempt, order, .. } in &done {
        let back = folder.read_trial(*block, *attempt, *order).unwrap().unwrap();
        assert_eq!(back, trials(*block)[*order as usize]);
    }
    let next = &trials(1000)[0];
    folder.commit_trial(next).unwrap();
    assert_eq!(folder.read_ended_trials().unwrap().len(), done.len() + 1);
}
