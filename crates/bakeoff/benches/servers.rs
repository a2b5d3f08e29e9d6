//! Private servers beside their limits: loading `large` into MariaDB against the server's own client fed
//! with a dump of the same rows, and how soon a restored image takes its first client, of `large` on
//! MariaDB and of `small` on Tarantool.
//!
//! Every figure is the median of several runs; what is compared takes turns. Ends with 1 when a
//! limit is missed. Needs MariaDB with its clients and MyRocks, and Tarantool, each for its part.
//!
//! `-- large` and `-- ready` run one part.

#[path = "common/job.rs"]
mod job;
#[path = "common/mariadb.rs"]
mod mariadb;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use bakeoff_engines::Durability;
use bakeoff_lab::driving::Drive;
use bakeoff_lab::place::TargetPlace;
use bakeoff_lab::procedures::drive;
use bakeoff_lab::process::Received;
use bakeoff_lab::process::job::{Message, Task};
use bakeoff_lab::targets::Setup;
use bakeoff_testkit::{PATIENCE, needs, open_to_all};

const RUNS: usize = 3;
/// Restored images of `small`, which take little time.
const STARTS: usize = 5;
/// Images are loaded under this level: see the lab.
const DURABILITY: Durability = Durability::None;

type Part = fn(&str, &Path) -> bool;

/// The parts, by their names, and their engines.
const PARTS: [(&str, Part, [&str; 2]); 2] = [
    ("large", large, ["mariadb:innodb", "mariadb:rocksdb"]),
    ("ready", ready, ["tarantool:memtx", "tarantool:vinyl"]),
];

fn main() -> ExitCode {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    let known = PARTS.map(|(name, ..)| name);
    assert!(known.into_iter().any(is_wanted), "there is no part {wanted:?}: {}", known.join(", "));
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    // The servers may run as another user.
    open_to_all(place.path());
    let mut ok = true;
    for (_, part, engines) in PARTS.into_iter().filter(|part| is_wanted(part.0)) {
        for engine in engines {
            if needs(bakeoff_engines::find(engine).expect("an engine").available()).is_none() {
                continue;
            }
            let folder = place.path().join(engine.replace(':', "-"));
            fs::create_dir(&folder).expect("a folder");
            ok &= part(engine, &folder);
            fs::remove_dir_all(folder).expect("it can be removed");
        }
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
    load(engine, "large", &image);
    write_dump(engine, &image, &dump);
    let (mut ours, mut client, mut whole, mut ready) = (vec![], vec![], vec![], vec![]);
    for _ in 0..RUNS {
        let target = folder.join("target");
        ours.push(load(engine, "large", &target));
        fs::remove_dir_all(&target).expect("it can be removed");
        let (seconds, all) = read_dump(engine, &target, &dump);
        client.push(seconds);
        whole.push(all);
        fs::remove_dir_all(&target).expect("it can be removed");
        copy(&image, &target);
        ready.push(until_ready(engine, "large", &target));
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

/// Loads `small`, and opens copies of it; whether they were ready within the limit.
fn ready(engine: &str, folder: &Path) -> bool {
    let image = folder.join("image");
    load(engine, "small", &image);
    let start = |number: usize| {
        let target = folder.join(format!("target-{number}"));
        copy(&image, &target);
        until_ready(engine, "small", &target)
    };
    let seconds = median((0..STARTS).map(start).collect());
    row(&format!("restored {engine}, small, ready for its first client"), seconds, "s", 1.0)
}

/// Restores an image.
fn copy(image: &Path, target: &Path) {
    let copied = Command::new("cp").arg("-a").arg(image).arg(target).status();
    assert!(copied.expect("cp").success());
}

/// How a scale is set up in an engine, and the clients that are never told to go. The experiment's file is
/// made beside the folder of the database.
fn set_up(engine: &str, scale: &str, directory: &Path) -> (Setup, Drive) {
    let keys = [
        ("workload", "\"redmine\"".into()),
        ("scale", format!("\"{scale}\"")),
        ("durability", format!("\"{}\"", DURABILITY.name())),
        ("state", "\"warm\"".into()),
    ];
    job::cell(directory.parent().expect("a folder in another"), Some(engine), &keys)
}

/// Loads as a run does; the seconds, from the start to the end of the process.
fn load(engine: &str, scale: &str, directory: &Path) -> f64 {
    fs::create_dir(directory).expect("a folder for the database");
    let (setup, _) = set_up(engine, scale, directory);
    let begin = Instant::now();
    job::perform(&setup, &TargetPlace::folder(directory), Task::Load);
    begin.elapsed().as_secs_f64()
}

/// Opens a loaded folder as a trial does; the seconds from the start of its process until its
/// clients could begin.
fn until_ready(engine: &str, scale: &str, directory: &Path) -> f64 {
    let (setup, drive) = set_up(engine, scale, directory);
    let begin = Instant::now();
    let task = drive::task(&[&drive]);
    let process = job::start(&setup, &TargetPlace::folder(directory), task);
    let said = process.receive(PATIENCE);
    let seconds = begin.elapsed().as_secs_f64();
    assert!(matches!(said, Received::Message(Message::Ready)), "{}", process.exit_report());
    seconds
}

/// Writes what a loaded folder holds as statements.
fn write_dump(engine: &str, directory: &Path, dump: &Path) {
    let server = mariadb::serve(engine, DURABILITY, &[], directory);
    let file = File::create(dump).expect("a file for the dump");
    mariadb::run(mariadb::tool("mariadb-dump", &server).arg("bakeoff").stdout(file));
    server.stop().expect("it stops");
}

/// Feeds the dump to the server's own client: the seconds it took, and with an empty folder
/// before it and a stopped server after it.
fn read_dump(engine: &str, directory: &Path, dump: &Path) -> (f64, f64) {
    let whole = Instant::now();
    let server = mariadb::serve(engine, DURABILITY, &[], directory);
    mariadb::run(mariadb::tool("mariadb", &server).args(["--execute", "CREATE DATABASE bakeoff"]));
    let begin = Instant::now();
    mariadb::run(
        mariadb::tool("mariadb", &server).arg("bakeoff").stdin(File::open(dump).expect("the dump")),
    );
    let seconds = begin.elapsed().as_secs_f64();
    server.stop().expect("it stops");
    (seconds, whole.elapsed().as_secs_f64())
}
