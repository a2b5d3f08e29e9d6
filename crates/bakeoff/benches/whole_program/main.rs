//! Whole-program figures beside their limits: the harness on an engine that does nothing, the
//! loading of a large database against SQLite's own shell and MariaDB's client, how soon a restored image
//! takes its first client, the report of a large run, and the merging of many shards.
//!
//! Every figure is the median of several runs; what is compared takes turns. Ends with 1 when a
//! limit is missed. Needs the `sqlite3` shell, and installs it on Debian as root; and MariaDB with its clients
//! and MyRocks, and Tarantool, each for its part.
//!
//! `-- report`, `-- merge`, `-- point`, `-- giant`, `-- large` and `-- ready` run one part.

#[path = "../common/job.rs"]
mod job;
#[path = "../common/mariadb.rs"]
mod mariadb;
mod servers;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use bakeoff_lab::place::TargetPlace;
use bakeoff_lab::process::job::Task;
use bakeoff_stats::quantile;
use bakeoff_testkit::{is_root, open_to_all, skip};

const BAKEOFF: &str = env!("CARGO_BIN_EXE_bakeoff");
const RUNS: usize = 3;

/// The figures so far, and whether all were within their limits.
struct Table(bool);

impl Table {
    fn row(&mut self, name: &str, measured: f64, unit: &str, least: bool, limit: f64) {
        let ok = if least { measured >= limit } else { measured <= limit };
        let (sign, word) = (if least { "≥" } else { "≤" }, if ok { "ok" } else { "MISSED" });
        println!("{name:<58} {measured:>12.2} {unit:<14} {sign} {limit:<10} {word}");
        self.0 &= ok;
    }
}

type Part = fn(&Path, &mut Table);

/// The parts, by their names.
const PARTS: [(&str, Part); 6] = [
    ("report", report_of_a_large_run),
    ("merge", merge_of_many_shards),
    ("point", point_reads_on_null),
    ("giant", giant_into_sqlite),
    ("large", servers::large),
    ("ready", servers::ready),
];

fn main() -> ExitCode {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    let known = PARTS.map(|(name, _)| name);
    assert!(known.into_iter().any(is_wanted), "there is no part {wanted:?}: {}", known.join(", "));
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the runs");
    // Servers may run as another user.
    open_to_all(place.path());
    let mut table = Table(true);
    for (_, part) in PARTS.into_iter().filter(|part| is_wanted(part.0)) {
        part(place.path(), &mut table);
    }
    if table.0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn median(figures: Vec<f64>) -> f64 {
    quantile::median(&figures).expect("figures")
}

/// Runs a command to its end and expects it to go well; the seconds it took.
fn timed(command: &mut Command) -> f64 {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output().expect("the command starts");
    let seconds = start.elapsed().as_secs_f64();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    seconds
}

/// Writes synthetic test data into a folder: so many trials, and in so many shards where that is said, too.
fn synthetic(folder: &Path, numbers: &[&str]) {
    let mut synthetic = Command::new(std::env::var("CARGO").expect("cargo runs this"));
    synthetic.args(["run", "--release", "-q", "-p", "bakeoff-testkit", "--example", "synthetic"]);
    timed(synthetic.arg("--").arg(folder).args(numbers));
}

/// `bakeoff report` on a run of 10,000 trials.
fn report_of_a_large_run(place: &Path, table: &mut Table) {
    let folder = place.join("large-run");
    synthetic(&folder, &["10000"]);
    for format in ["term", "html", "json"] {
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            let mut command = Command::new(BAKEOFF);
            command.arg("report").arg(&folder).args(["--format", format, "--output"]);
            runs.push(timed_with_memory(command.arg(place.join("report"))));
        }
        let seconds = median(runs.iter().map(|run| run.0).collect());
        let megabytes = median(runs.iter().map(|run| run.1).collect());
        let name = format!("report --format {format} on 10,000 trials");
        table.row(&name, seconds, "s", false, 5.0);
        table.row(&format!("{name}, peak memory"), megabytes, "MB", false, 500.0);
    }
    fs::remove_dir_all(folder).expect("the large run can be removed");
}

/// The seconds a command took and its peak memory in megabytes, looked up while it runs.
fn timed_with_memory(command: &mut Command) -> (f64, f64) {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::null()).spawn().expect("the command starts");
    let mut kilobytes = 0.0;
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        kilobytes = f64::max(kilobytes, peak.unwrap_or(0.0));
        if let Some(status) = child.try_wait().expect("the command can be waited for") {
            assert!(status.success(), "{command:?}");
            return (start.elapsed().as_secs_f64(), kilobytes / 1000.0);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// `bakeoff merge` of 100 shards of 100 trials, with the page that it writes.
fn merge_of_many_shards(place: &Path, table: &mut Table) {
    let folder = place.join("shards");
    synthetic(&folder, &["10000", "100"]);
    let shards: Vec<PathBuf> =
        (1..=100).map(|index| folder.join(format!("shard-{index}"))).collect();
    let (mut merges, mut pages) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let all = folder.join("all");
        merges.push(timed(Command::new(BAKEOFF).arg("merge").arg(&all).args(&shards)));
        let merged = rusqlite::Connection::open(all.join("run.sqlite")).expect("a run folder");
        let trials: u32 = merged
            .query_row("SELECT count(*) FROM trial WHERE valid", [], |row| row.get(0))
            .expect("trials");
        assert_eq!(trials, 10_000);
        drop(merged);
        let mut page = Command::new(BAKEOFF);
        page.arg("report").arg(&all).args(["--format", "html", "--output"]);
        pages.push(timed(page.arg(folder.join("page"))));
        fs::remove_dir_all(all).expect("the merged run can be removed");
    }
    let (seconds, page) = (median(merges), median(pages));
    println!("merging 100 shards: {seconds:.1} s; a report of the merged run alone: {page:.1} s");
    table.row("merging 100 shards of 100 trials", seconds, "s", false, 5.0);
    fs::remove_dir_all(folder).expect("the shards can be removed");
}

/// Recorded operations a second of one point read on the engine that does nothing, one processor.
fn point_reads_on_null(place: &Path, table: &mut Table) {
    let experiment = place.join("point.toml");
    let text = "workload = \"point\"\nengine = \"null\"\nseconds = 2\nrepetitions = 5\n";
    fs::write(&experiment, text).expect("the experiment can be written");
    let folder = place.join("point");
    let mut command = Command::new("taskset");
    command.args(["-c", "0", BAKEOFF, "run", "--quiet", "--out"]).arg(&folder).arg(&experiment);
    timed(&mut command);
    let database = rusqlite::Connection::open(folder.join("run.sqlite")).expect("a run folder");
    let mut statement = database.prepare("SELECT per_second FROM operation").expect("figures");
    let rates = statement.query_map([], |row| row.get(0)).expect("figures");
    let rate = median(rates.map(|rate| rate.expect("a figure")).collect());
    table.row("point read on null, recorded", rate / 1e6, "million/s", true, 3.0);
}

fn have_shell() -> bool {
    let works =
        || Command::new("sqlite3").arg("-version").output().is_ok_and(|o| o.status.success());
    if !works() && is_root() {
        // Elsewhere than on Debian this fails, and the comparison is left out.
        let _ = Command::new("apt-get").args(["install", "-y", "-q", "sqlite3"]).output();
    }
    works()
}

/// Loading `giant` by bakeoff, against the faster of the shell's two ways to take the same rows:
/// its CSV import into the finished schema, and a script of inserts with the indexes at its end.
fn giant_into_sqlite(place: &Path, table: &mut Table) {
    if !have_shell() {
        skip("loading against sqlite3; there is no sqlite3 shell on this machine");
        return;
    }
    let database = load(place).1;
    let file = fs::read_dir(&database)
        .expect("a database folder")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .max_by_key(|path| fs::metadata(path).map_or(0, |data| data.len()))
        .expect("a database file");
    let export = place.join("export");
    fs::create_dir(&export).expect("a folder for the rows");
    let tables = tables(&file);
    let csv = exported(&file, &export, &tables);
    let dump = export.join("dump.sql");
    shell(&file, &format!(".output {}\n.dump {}\n", dump.display(), tables.join(" ")));
    fs::remove_dir_all(&database).expect("the database can be removed");

    let (mut ours, mut csv_s, mut dump_s) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..RUNS {
        let (seconds, database) = load(place);
        ours.push(seconds);
        fs::remove_dir_all(database).expect("the database can be removed");
        for (times, script) in [(&mut csv_s, &csv), (&mut dump_s, &dump)] {
            let target = place.join(format!("shell-{run}"));
            times.push(shell(&target, &format!(".read {}\n", script.display())));
            fs::remove_file(target).expect("the shell's database can be removed");
        }
    }
    let (ours, csv_s, dump_s) = (median(ours), median(csv_s), median(dump_s));
    println!("loading giant: bakeoff {ours:.1} s; sqlite3 CSV {csv_s:.1} s, script {dump_s:.1} s");
    table.row("loading giant, bakeoff over sqlite3", ours / csv_s.min(dump_s), "times", false, 1.5);
}

/// Loads `giant` as a run does; the seconds, and the folder of the database.
fn load(place: &Path) -> (f64, PathBuf) {
    let folder = place.join("giant");
    fs::create_dir(&folder).expect("a folder for the database");
    let keys = [("workload", "\"redmine\"".into()), ("scale", "\"giant\"".into())];
    let (setup, _) = job::cell(place, Some("sqlite"), &keys);
    let start = Instant::now();
    job::perform(&setup, &TargetPlace::from_folder(&folder), Task::Load);
    (start.elapsed().as_secs_f64(), folder)
}

/// Feeds a script to the shell; the seconds it took.
fn shell(database: &Path, script: &str) -> f64 {
    let start = Instant::now();
    let mut child = Command::new("sqlite3")
        .arg("-bail")
        .arg(database)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("sqlite3 starts");
    child.stdin.as_mut().expect("piped").write_all(script.as_bytes()).expect("it takes the script");
    assert!(child.wait().expect("it ends").success(), "sqlite3 failed on {script}");
    start.elapsed().as_secs_f64()
}

/// A column of texts from the database's own schema, without what SQLite keeps for itself.
fn schema(database: &Path, column: &str, condition: &str) -> Vec<String> {
    let connection = rusqlite::Connection::open(database).expect("the database");
    let query = format!(
        "SELECT {column} FROM sqlite_schema WHERE {condition} AND name NOT LIKE 'sqlite_%'"
    );
    let mut statement = connection.prepare(&query).expect("a schema");
    let rows = statement.query_map([], |row| row.get(0)).expect("a schema");
    rows.map(|row| row.expect("a text")).collect()
}

fn tables(database: &Path) -> Vec<String> {
    schema(database, "name", "type = 'table'")
}

/// Writes every table as CSV, and a script that makes the same schema and imports them all.
fn exported(database: &Path, folder: &Path, tables: &[String]) -> PathBuf {
    let mut import = String::new();
    for sql in schema(database, "sql", "sql NOT NULL") {
        import += &format!("{sql};\n");
    }
    for table in tables {
        let csv = folder.join(table);
        let script = format!(".mode csv\n.output {}\nSELECT * FROM \"{table}\";\n", csv.display());
        shell(database, &script);
        import += &format!(".import --csv {} {table}\n", csv.display());
    }
    let path = folder.join("import.sql");
    fs::write(&path, import).expect("the script can be written");
    path
}
