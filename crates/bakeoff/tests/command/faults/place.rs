//! A folder in which a run fails, is killed, and goes on; and what may be left of it.

use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bakeoff_testkit::{PATIENCE, Since, ended_within};
use rusqlite::{Connection, OpenFlags, types::Value};

use crate::Place;

/// Marks the processes of a place, which inherit it.
const MARK: &str = "BAKEOFF_TEST_PLACE";

/// What is run: two engines, two trials each, one of them on a virtual disk, and two power cuts of one run
/// of the clients, which the disk remembers. Nothing of it takes long: each call of it fails in a run of its
/// own, and a supervised call takes many times as long as another.
const EXPERIMENT: &str = r#"
name = "short"
workload = "point"
engine = ["sqlite", "null"]
disk = "ssd-sata"
seconds = 0.5
repetitions = 2
cuts = 2
keep = "drop-all"
"#;

/// By the four places in its plan, how many trials count and how many failed by themselves: what was interrupted, or ran
/// while the machine was disturbed, was run again.
const TRIALS: &str = "SELECT sum(valid), sum(NOT valid AND reason NOT LIKE '%interrupted%' \
    AND reason NOT LIKE 'the machine was disturbed%') \
    FROM trial GROUP BY repetition, json_extract(levels, '$.engine')";

/// How many of the two power cuts were made, how many different ones those are, and how many attempts failed.
const CUTS: &str = "SELECT count(*), count(DISTINCT facts ->> 'number'), \
    (SELECT count(*) FROM cut WHERE facts ->> 'failed' IS NOT NULL) \
    FROM cut WHERE facts ->> 'failed' IS NULL";

/// How long a run may take that goes on: one that waits for ever takes longer.
pub const LIMIT: Duration = Duration::from_secs(900);

/// The columns that never change once they are committed: of trials, of power cuts, but for one that failed, which is
/// made again, and of what was learnt by a calibration.
const COMMITTED: [&str; 3] = [
    "SELECT 'trial ' || id, block, attempt, position, levels, started_s, ran_s, \
        measures, (SELECT group_concat(hex(kept)) FROM operation WHERE trial = trial.id), \
        (SELECT group_concat(name || points) FROM owed WHERE trial = trial.id) FROM trial",
    "SELECT 'cut ' || id, facts FROM cut WHERE facts ->> 'failed' IS NULL",
    "SELECT 'calibration ' || key, operations, seconds, turned_over FROM calibration",
];

/// The folder of a run.
pub struct FaultPlace(Place);

impl FaultPlace {
    pub fn new() -> Self {
        let place = Place::new();
        place.write("short.toml", EXPERIMENT);
        Self(place)
    }

    pub fn path(&self) -> &Path {
        self.0.0.path()
    }

    pub fn program() -> PathBuf {
        fs::canonicalize(env!("CARGO_BIN_EXE_bakeoff")).unwrap()
    }

    /// The run's command, what it prints going to the file `said`: whoever hangs holds no pipe.
    fn command(&self, arguments: &[&str]) -> Command {
        let said = File::options().create(true).append(true).open(self.0.path("said")).unwrap();
        let mut command = self.0.command(arguments);
        command.stdout(said.try_clone().unwrap()).stderr(said).env(MARK, self.path());
        command
    }

    /// What was printed since it was last asked for.
    pub fn take_said(&self) -> String {
        let said = fs::read(self.0.path("said")).unwrap_or_default();
        let _ = fs::remove_file(self.0.path("said"));
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Begins the run, or goes on with it where there is one.
    pub fn begin_or_resume(&self) -> Command {
        if self.database().exists() {
            return self.command(&["run", "--resume", "r"]);
        }
        // A folder that holds no run is not gone on with.
        let _ = fs::remove_dir_all(self.0.path("r"));
        self.command(&["run", "short.toml", "--out", "r"])
    }

    /// Goes on with the run, with no fault: whether any of it has failed by itself, which stays so, since that is what was
    /// measured; and what does not hold. One that hangs is not waited for: it may do so in a call that can't be
    /// interrupted.
    pub fn finish(&self) -> (bool, Vec<String>) {
        let mut child = self.begin_or_resume().spawn().unwrap();
        let Some(status) = ended_within(LIMIT, &mut child) else {
            let _ = child.kill();
            return (true, vec!["going on with it did not end".into()]);
        };
        assert_eq!(self.select("PRAGMA integrity_check"), [[Value::Text("ok".into())]]);
        let (trials, cuts) = (self.select_numbers(TRIALS), self.select_numbers(CUTS));
        let failed = trials.contains(&vec![0, 1]) || cuts[0][2] > 0;
        let mut broken = Vec::new();
        if status.code() != Some(if failed { 5 } else { 0 }) {
            broken.push(format!("going on with it ended with {status}"));
        }
        if trials.len() != 4 || trials.iter().any(|trial| trial[0] + trial[1] != 1) {
            broken.push(format!("trials that count and that failed: {trials:?}"));
        }
        if cuts[0][..2] != [2, 2] {
            broken.push(format!("cuts that were made, different ones, and failed ones: {cuts:?}"));
        }
        broken.extend(self.left().into_iter().map(|it| format!("left behind at the end: {it}")));
        (failed, broken)
    }

    fn database(&self) -> PathBuf {
        self.0.path("r/run.sqlite")
    }

    /// What a statement selects; nothing of a database that was never written to its end.
    fn select(&self, sql: &str) -> Vec<Vec<Value>> {
        let open = Connection::open_with_flags(self.database(), OpenFlags::SQLITE_OPEN_READ_ONLY);
        let Ok(open) = open else { return Vec::new() };
        let Ok(mut select) = open.prepare(sql) else { return Vec::new() };
        let columns = select.column_count();
        let rows = select.query_map([], |row| (0..columns).map(|at| row.get(at)).collect());
        rows.unwrap().map(Result::unwrap).collect()
    }

    fn select_numbers(&self, sql: &str) -> Vec<Vec<i64>> {
        let number = |value: Value| match value {
            Value::Integer(number) => number,
            other => panic!("{other:?} is no number"),
        };
        self.select(sql).into_iter().map(|row| row.into_iter().map(number).collect()).collect()
    }

    /// What stands in the trials, cuts and calibrations that are committed, each with what it is first.
    pub fn committed(&self) -> Vec<Vec<Value>> {
        COMMITTED.iter().flat_map(|sql| self.select(sql)).collect()
    }

    /// What was committed, and is not there any more as it was.
    pub fn find_lost(&self, committed: &[Vec<Value>]) -> Vec<String> {
        let now = self.committed();
        let lost = committed.iter().filter(|row| !now.contains(row));
        lost.map(|row| format!("{:?}, which was committed, is lost", row[0])).collect()
    }

    /// Why trials failed.
    pub fn reasons(&self) -> Vec<String> {
        let reasons = self.select("SELECT reason FROM trial WHERE reason IS NOT NULL");
        reasons.into_iter().map(|row| format!("{:?}", row[0])).collect()
    }

    /// What is there that should have gone with the run: processes, mounts, folders, notes. Some of
    /// it goes a moment after the run.
    pub fn left(&self) -> Vec<String> {
        let since = Since::now();
        loop {
            let left: Vec<String> =
                [self.processes(), self.mounts(), self.files()].into_iter().flatten().collect();
            if left.is_empty() || since.at_least(PATIENCE) {
                return left;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn processes(&self) -> Vec<String> {
        let mark = [MARK.as_bytes(), b"=", self.path().as_os_str().as_bytes()].concat();
        let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let ours = processes.filter(|process| {
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark)
        });
        let line = |process: fs::DirEntry| {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            format!("process {}: {line}", process.file_name().display())
        };
        ours.map(line).collect()
    }

    fn mounts(&self) -> Vec<String> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let ours = mounts.lines().filter(|line| line.contains(&*self.path().to_string_lossy()));
        ours.map(Into::into).collect()
    }

    fn files(&self) -> Vec<String> {
        let work = self.0.path("r/work");
        let notes = fs::read_dir(self.0.path("bakeoff")).into_iter().flatten();
        let notes = notes.filter_map(Result::ok).map(|note| note.path());
        let there = notes.chain([work]).filter(|path| path.is_file() || path.ends_with("work"));
        there.filter(|path| path.exists()).map(|path| path.display().to_string()).collect()
    }
}
