//! Private servers: loading `large` into MariaDB against the server's own client fed with a dump of the same
//! rows, and how soon a restored image takes its first client, of `large` on MariaDB and of `small` on Tarantool.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use bakeoff_engines::Durability;
use bakeoff_lab::driving::Drive;
use bakeoff_lab::place::TargetPlace;
use bakeoff_lab::procedures::drive;
use bakeoff_lab::process::ReceiveOutcome;
use bakeoff_lab::process::job::{Message, Task};
use bakeoff_lab::targets::Setup;
use bakeoff_testkit::{PATIENCE, needs};

use crate::{RUNS, Table, job, mariadb, median};

/// Restored images of `small`, which take little time.
const STARTS: usize = 5;
/// Images are loaded under this level: see the lab.
const DURABILITY: Durability = Durability::None;

/// Those of the engines that are there, each with a folder of its own.
fn of_each(engines: [&str; 2], place: &Path, mut part: impl FnMut(&str, &Path)) {
    for engine in engines {
        if needs(bakeoff_engines::find_level(engine).expect("an engine").available()).is_some() {
            let folder = place.join(engine.replace(':', "-"));
            fs::create_dir(&folder).expect("a folder");
            part(engine, &folder);
            fs::remove_dir_all(folder).expect("it can be removed");
        }
    }
}

/// Loads `large` both ways, and opens what was loaded.
pub fn large(place: &Path, table: &mut Table) {
    of_each(["mariadb:innodb", "mariadb:rocksdb"], place, |engine, folder| {
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
        table.row(&name, ours / whole, "times", false, 1.0);
        let name = format!("restored {engine} ready for its first client");
        table.row(&name, median(ready), "s", false, 5.0);
    });
}

/// Loads `small`, and opens copies of it.
pub fn ready(place: &Path, table: &mut Table) {
    of_each(["tarantool:memtx", "tarantool:vinyl"], place, |engine, folder| {
        let image = folder.join("image");
        load(engine, "small", &image);
        let start = |number: usize| {
            let target = folder.join(format!("target-{number}"));
            copy(&image, &target);
            until_ready(engine, "small", &target)
        };
        let seconds = median((0..STARTS).map(start).collect());
        let name = format!("restored {engine}, small, ready for its first client");
        table.row(&name, seconds, "s", false, 1.0);
    });
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
    job::perform(&setup, &TargetPlace::from_folder(directory), Task::Load);
    begin.elapsed().as_secs_f64()
}

/// Opens a loaded folder as a trial does; the seconds from the start of its process until its
/// clients could begin.
fn until_ready(engine: &str, scale: &str, directory: &Path) -> f64 {
    let (setup, drive) = set_up(engine, scale, directory);
    let begin = Instant::now();
    let task = drive::drive_task(&[&drive]);
    let process = job::start(&setup, &TargetPlace::from_folder(directory), task);
    let said = process.receive(PATIENCE);
    let seconds = begin.elapsed().as_secs_f64();
    assert!(matches!(said, ReceiveOutcome::Message(Message::Ready)), "{}", process.exit_report());
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
