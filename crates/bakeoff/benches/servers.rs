//! Private servers beside their limits: loading `large` against the server's own client fed with
//! a dump of the same rows, and how soon a restored image takes its first client.
//!
//! Every figure is the median of several runs; what is compared takes turns. Ends with 1 when a
//! limit is missed. Needs MariaDB with its clients and MyRocks.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use bakeoff_engines::{Durability, Terms, mysql};
use bakeoff_servers::{Launch, Server};
use bakeoff_testkit::{needs, open_to_all};
use serde_json::{Value, json};

const BAKEOFF: &str = env!("CARGO_BIN_EXE_bakeoff");
const RUNS: usize = 3;
/// Images are loaded under this level: see the lab.
const DURABILITY: Durability = Durability::None;

fn main() -> ExitCode {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    // The servers may run as another user.
    open_to_all(place.path());
    let mut ok = true;
    for engine in ["mariadb:innodb", "mariadb:rocksdb"] {
        if needs(bakeoff_engines::find(engine).expect("an engine").available()).is_none() {
            continue;
        }
        let folder = place.path().join(engine.replace(':', "-"));
        fs::create_dir(&folder).expect("a folder");
        ok &= large(engine, &folder);
        fs::remove_dir_all(folder).expect("it can be removed");
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(name: &str, measured: f64, unit: &str, limit: f64) -> bool {
    let ok = measured <= limit;
    let word = if ok { "ok" } else { "MISSED" };
    println!("{name:<58} {measured:>12.2} {unit:<14} ≤ {limit:<10} {word}");
    ok
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Loads `large` both ways, and opens what was loaded; whether all was within its limits.
fn large(engine: &str, folder: &Path) -> bool {
    let (image, dump) = (folder.join("image"), folder.join("dump.sql"));
    load(engine, &image);
    write_dump(engine, &image, &dump);
    let (mut ours, mut client, mut whole, mut ready) = (vec![], vec![], vec![], vec![]);
    for _ in 0..RUNS {
        let target = folder.join("target");
        ours.push(load(engine, &target));
        fs::remove_dir_all(&target).expect("it can be removed");
        let (seconds, all) = read_dump(engine, &target, &dump);
        client.push(seconds);
        whole.push(all);
        fs::remove_dir_all(&target).expect("it can be removed");
        let copied = Command::new("cp").arg("-a").arg(&image).arg(&target).status();
        assert!(copied.expect("cp").success());
        ready.push(until_ready(engine, &target));
        fs::remove_dir_all(&target).expect("it can be removed");
    }
    let (ours, client, whole) = (median(ours), median(client), median(whole));
    println!(
        "loading large into {engine}: bakeoff {ours:.1} s, from an empty folder to a stopped \
         server; with mariadb < dump.sql {whole:.1} s, of which that itself takes {client:.1} s"
    );
    let name = format!("loading large into {engine}, bakeoff over a dump");
    let quick = row(&name, ours / whole, "times", 1.0);
    row(&format!("restored {engine} ready for its first client"), median(ready), "s", 5.0) && quick
}

fn job(kind: &str, engine: &str, directory: &Path) -> Value {
    json!({kind: {
        "data": {"engine": engine, "workload": "redmine", "scale": "large", "seed": 1, "text": null},
        "staging": {"directory": directory},
        "durability": DURABILITY.name(),
        // A load has neither.
        "clients": 1,
        "seconds": 1.0,
    }})
}

/// Starts `bakeoff trial` on a job.
fn start(job: &Value) -> Child {
    let mut child = Command::new(BAKEOFF)
        .arg("trial")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("bakeoff starts");
    writeln!(child.stdin.as_mut().expect("piped"), "{job}").expect("it takes the job");
    child
}

/// Loads as a run does; the seconds, from the start to the end of the process.
fn load(engine: &str, directory: &Path) -> f64 {
    fs::create_dir(directory).expect("a folder for the database");
    let begin = Instant::now();
    let output = start(&job("Load", engine, directory)).wait_with_output();
    let said = String::from_utf8(output.expect("it ends").stdout).expect("text");
    assert!(said.contains("\"Done\""), "{said}");
    begin.elapsed().as_secs_f64()
}

/// Opens a loaded folder as a trial does; the seconds from the start of its process until its
/// clients could begin. The process ends when nobody tells it to go.
fn until_ready(engine: &str, directory: &Path) -> f64 {
    let begin = Instant::now();
    let mut child = start(&job("Trial", engine, directory));
    let mut said = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut said).expect("a line");
    let seconds = begin.elapsed().as_secs_f64();
    assert!(said.contains("\"Ready\""), "{said}");
    drop(child.stdin.take());
    child.wait().expect("it ends");
    seconds
}

/// A private server as the engine has it.
fn serve(engine: &str, directory: &Path) -> Server {
    let engine = bakeoff_engines::find(engine).expect("an engine");
    let settings = engine.settings(&Terms::new(DURABILITY)).into_iter();
    let launch = Launch {
        directory: directory.into(),
        settings: settings.map(|setting| (setting.name, setting.value)).collect(),
        ..Launch::default()
    };
    Server::initialise(&mysql::SERVER, &launch).expect("an initialised folder");
    Server::start(&mysql::SERVER, &launch).expect("a server")
}

fn tool(name: &str, server: &Server) -> Command {
    let mut command = Command::new(name);
    command.args(["--no-defaults", "--user=root"]);
    command.arg(format!("--socket={}", server.socket().display()));
    command
}

fn run(command: &mut Command) {
    let status = command.status().expect("MariaDB's clients are installed");
    assert!(status.success(), "{command:?}: {status}");
}

/// Writes what a loaded folder holds as statements.
fn write_dump(engine: &str, directory: &Path, dump: &Path) {
    let server = serve(engine, directory);
    let file = File::create(dump).expect("a file for the dump");
    run(tool("mariadb-dump", &server).arg("bakeoff").stdout(file));
    server.stop().expect("it stops");
}

/// Feeds the dump to the server's own client: the seconds it took, and with an empty folder
/// before it and a stopped server after it.
fn read_dump(engine: &str, directory: &Path, dump: &Path) -> (f64, f64) {
    let whole = Instant::now();
    let server = serve(engine, directory);
    run(tool("mariadb", &server).args(["--execute", "CREATE DATABASE bakeoff"]));
    let begin = Instant::now();
    run(tool("mariadb", &server).arg("bakeoff").stdin(File::open(dump).expect("the dump")));
    let seconds = begin.elapsed().as_secs_f64();
    server.stop().expect("it stops");
    (seconds, whole.elapsed().as_secs_f64())
}
