//! A folder in which a run fails, is killed, and goes on; and what may be left of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use bakeoff_testkit::{PATIENCE, Since, ended_within};
use rusqlite::{Connection, OpenFlags, types::Value};

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

/// How many trials that makes.
pub const TRIALS: usize = 4;

/// And how many power cuts.
pub const CUTS: i64 = 2;

/// The columns of a trial that never change once it is committed.
const COMMITTED: &str = "SELECT 'trial ' || id, block, attempt, position, levels, started_s, ran_s, \
    measures, (SELECT group_concat(hex(kept)) FROM operation WHERE trial = trial.id), \
    (SELECT group_concat(name || points) FROM owed WHERE trial = trial.id) FROM trial";

/// The same of power cuts, and of what was learnt by a calibration. A cut that failed is made again.
const MORE_COMMITTED: [&str; 2] = [
    "SELECT 'cut ' || id, facts FROM cut WHERE facts ->> 'failed' IS NULL",
    "SELECT 'calibration ' || key, operations, seconds, turned_over FROM calibration",
];

/// The folder of a run.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::write(place.path().join("short.toml"), EXPERIMENT).unwrap();
        Self(place)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn program() -> PathBuf {
        fs::canonicalize(env!("CARGO_BIN_EXE_bakeoff")).unwrap()
    }

    /// The run's command, what it prints going to the file `said`.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let said = File::options().create(true).append(true).open(self.said()).unwrap();
        let mut command = Command::new(Self::program());
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.stdout(said.try_clone().unwrap()).stderr(said);
        command.env("XDG_RUNTIME_DIR", self.path()).env(MARK, self.path());
        command
    }

    fn said(&self) -> PathBuf {
        self.path().join("said")
    }

    /// What was printed since it was last asked for.
    pub fn take_said(&self) -> String {
        let said = fs::read(self.said()).unwrap_or_default();
        let _ = fs::remove_file(self.said());
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Begins the run, or goes on with it where there is one.
    pub fn begin_or_resume(&self) -> Command {
        if self.database().exists() {
            return self.command(&["run", "--resume", "r"]);
        }
        // A folder that holds no run is not gone on with.
        let _ = fs::remove_dir_all(self.path().join("r"));
        self.command(&["run", "short.toml", "--out", "r"])
    }

    /// The same, without a fault; `None` where it does not end in time. One that hangs is not waited
    /// for: it may do so in a call that can't be interrupted.
    pub fn finish(&self, limit: Duration) -> Option<ExitStatus> {
        let mut child = self.begin_or_resume().spawn().unwrap();
        let ended = ended_within(limit, &mut child);
        if ended.is_none() {
            let _ = child.kill();
        }
        ended
    }

    fn database(&self) -> PathBuf {
        self.path().join("r/run.sqlite")
    }

    /// What stands in the trials, cuts and calibrations that are committed, by what they are.
    pub fn committed(&self) -> BTreeMap<String, Vec<Value>> {
        if !self.database().exists() {
            return BTreeMap::new();
        }
        let open = Connection::open_with_flags(self.database(), OpenFlags::SQLITE_OPEN_READ_ONLY);
        let open = open.unwrap();
        let mut all = BTreeMap::new();
        for sql in [COMMITTED].into_iter().chain(MORE_COMMITTED) {
            // A database that was never written to its end has no table.
            let Ok(mut select) = open.prepare(sql) else { return BTreeMap::new() };
            let columns = select.column_count();
            let row = |row: &rusqlite::Row<'_>| {
                let values: rusqlite::Result<_> = (0..columns).map(|at| row.get(at)).collect();
                Ok((row.get(0)?, values?))
            };
            all.extend(select.query_map([], row).unwrap().map(Result::unwrap));
        }
        all
    }

    /// How many power cuts were made, how many different ones those are, and how many attempts failed.
    pub fn cuts(&self) -> [i64; 3] {
        let open = Connection::open(self.database()).unwrap();
        let sql = "SELECT count(*), count(DISTINCT facts ->> 'number'),
                       (SELECT count(*) FROM cut WHERE facts ->> 'failed' IS NOT NULL)
                   FROM cut WHERE facts ->> 'failed' IS NULL";
        let row = |row: &rusqlite::Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?]);
        open.query_row(sql, [], row).unwrap()
    }

    /// By their places in the plan, how many trials count and how many failed by themselves.
    pub fn trials(&self) -> Vec<(i64, i64)> {
        let open = Connection::open(self.database()).unwrap();
        let check: String = open.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
        // What was interrupted, or ran while the machine was disturbed, was run again.
        let sql = "SELECT sum(valid), sum(NOT valid AND reason NOT LIKE '%interrupted%' \
                                          AND reason NOT LIKE 'the machine was disturbed%') \
                   FROM trial GROUP BY repetition, json_extract(levels, '$.engine')";
        let mut select = open.prepare(sql).unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// Why trials failed.
    pub fn reasons(&self) -> Vec<String> {
        let open = Connection::open_with_flags(self.database(), OpenFlags::SQLITE_OPEN_READ_ONLY);
        let Ok(open) = open else { return Vec::new() };
        let select = open.prepare("SELECT reason FROM trial WHERE reason IS NOT NULL");
        let Ok(mut select) = select else { return Vec::new() };
        select.query_map([], |row| row.get(0)).unwrap().filter_map(Result::ok).collect()
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
        let work = self.path().join("r/work");
        let notes = fs::read_dir(self.path().join("bakeoff")).into_iter().flatten();
        let notes = notes.filter_map(Result::ok).map(|note| note.path());
        let there = notes.chain([work]).filter(|path| path.is_file() || path.ends_with("work"));
        there.filter(|path| path.exists()).map(|path| path.display().to_string()).collect()
    }
}
