//! A disk's daemon as a process: started, told what to mount, heard, and gone with whoever started
//! it.
//!
//! This program is also that process, and one that starts it and is killed. So it is its own
//! harness: `cargo test -p bakeoff-disk --test launch [NAME]` runs the tests whose names contain that.

#[path = "../../../devices/tests/it/drum.rs"]
mod drum;
mod memory;
mod own;

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::plug::Metadata;
use bakeoff_disk::daemon;
use bakeoff_disk::mount::{self, Error, Launcher, MountOptions, Mounted};
use bakeoff_disk::mount_table;
use bakeoff_testkit::{Test, needs, wait_until};
use tempfile::TempDir;

const TESTS: &[Test] = &[
    ("it_mounts_what_it_is_told_to", it_mounts_what_it_is_told_to),
    ("the_kernel_keeps_no_write_for_long", the_kernel_keeps_no_write_for_long),
    ("large_files_take_little_memory", memory::large_files_take_little_memory),
    ("a_refusal_keeps_its_kind", a_refusal_keeps_its_kind),
    ("a_model_of_the_programs_own_takes_its_time", own::it_takes_its_time),
    ("a_model_that_the_daemon_does_not_have_is_refused", own::without_it_it_is_refused),
    ("what_is_no_daemon_is_told_from_one", what_is_no_daemon_is_told_from_one),
    ("a_killed_one_is_told_with_its_end", a_killed_one_is_told_with_its_end),
    ("a_panic_of_one_is_told_in_its_words", a_panic_of_one_is_told_in_its_words),
    ("a_panic_of_a_thread_ends_it_and_what_waits", a_panic_of_a_thread_ends_it_and_what_waits),
    ("a_daemon_that_is_told_nothing_says_so", a_daemon_that_is_told_nothing_says_so),
    ("it_goes_with_a_killed_process", it_goes_with_a_killed_process),
    ("it_goes_with_the_thread_that_started_it", it_goes_with_the_thread_that_started_it),
    ("a_detached_one_stays", a_detached_one_stays),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["disk-daemon"] => serve(&own::models()),
        [own::STANDARD_DAEMON] => serve(&Models::standard()),
        ["hold", how, place] => hold(how, Path::new(place)),
        _ if needs(daemon::can_mount()).is_none() => ExitCode::SUCCESS,
        _ => bakeoff_testkit::run(TESTS, &[], 1, &arguments),
    }
}

/// Is a disk's daemon that has these models.
fn serve(models: &Models) -> ExitCode {
    let served = daemon::run_launched(models, &mut io::stdin().lock(), &mut io::stdout());
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// This program as a disk's daemon.
fn launcher() -> Launcher {
    let program = std::env::current_exe().expect("a program has a path");
    Launcher { program, arguments: vec!["disk-daemon".into()] }
}

/// An empty backing folder `b` and an empty folder `m` to mount on.
fn place() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    for name in ["b", "m"] {
        std::fs::create_dir(place.path().join(name)).unwrap();
    }
    place
}

fn options(place: &Path, model: &str) -> MountOptions {
    MountOptions::new(&place.join("b"), &place.join("m"), model)
}

fn is_mounted(place: &Path) -> bool {
    mount_table::is_ours(&place.join("m").canonicalize().unwrap())
}

#[track_caller]
fn wait_until_gone(place: &Path) {
    let gone = || !is_mounted(place) && !place.join("b/.bakeoff-disk").exists();
    wait_until("the disk's end", gone);
}

fn it_mounts_what_it_is_told_to() {
    let place = place();
    let asked = MountOptions {
        neighbours: NeighbourLevel::Share(0.25),
        seed: u64::MAX,
        used_fraction: Some(0.02),
        metadata: Metadata::Posix,
        timing: false,
        uncached: true,
        write_back: true,
        ..options(place.path(), "hdd-7200")
    };
    let mounted = Mounted::start(&launcher(), &asked).unwrap();
    std::fs::write(mounted.path().join("file"), "text").unwrap();
    assert_eq!(std::fs::read_to_string(place.path().join("b/file")).unwrap(), "text");
    let stat = mounted.control().stat().unwrap();
    assert_ne!(stat.pid, std::process::id());
    assert_eq!((stat.model.as_str(), stat.seed), ("hdd-7200/used=0.02", u64::MAX));
    assert_eq!((stat.neighbours.as_str(), stat.metadata.as_str()), ("25%", "posix"));
    assert!(!stat.timing);
    mounted.unmount().unwrap();
    assert!(!is_mounted(place.path()));
}

fn the_kernel_keeps_no_write_for_long() {
    let place = place();
    let asked = MountOptions { write_back: true, ..options(place.path(), "null") };
    let mounted = Mounted::start(&launcher(), &asked).unwrap();
    let mut file = std::fs::File::create(mounted.path().join("file")).unwrap();
    for written in 1..3 {
        file.write_all(b"text").unwrap();
        let backing = place.path().join("b/file");
        wait_until("the bytes", || std::fs::metadata(&backing).unwrap().len() == 4 * written);
    }
    drop(file);
    // The daemon never stands in the way of its own unmount.
    mounted.unmount().unwrap();
    assert!(!is_mounted(place.path()));
}

fn a_refusal_keeps_its_kind() {
    let place = place();
    let refusal = |asked: &MountOptions| Mounted::start(&launcher(), asked).unwrap_err();
    let good = options(place.path(), "hdd-7200");
    let usage = |asked: &MountOptions, says: &str| match refusal(asked) {
        Error::Usage(why) => assert!(why.contains(says), "{why}"),
        other => panic!("{other:?}"),
    };
    usage(&options(place.path(), "hdd-720"), "`hdd-7200` was meant");
    usage(&MountOptions { used_fraction: Some(f64::NAN), ..good.clone() }, "used is NaN");
    usage(
        &MountOptions { neighbours: NeighbourLevel::Streams(1), ..options(place.path(), "null") },
        "queue",
    );
    let folder = |asked: &MountOptions, says: &str| match refusal(asked) {
        Error::Folder(why) => assert!(why.contains(says), "{why}"),
        other => panic!("{other:?}"),
    };
    let elsewhere = |name: &[u8]| MountOptions {
        mountpoint: place.path().join(OsStr::from_bytes(name)),
        ..good.clone()
    };
    folder(&elsewhere(b"none/deep"), "can't be made");
    folder(&elsewhere(b"b"), "inside each other");
    // JSON can't name it, and the notes of mounts are JSON.
    folder(&elsewhere(b"\xff"), "UTF-8");
    let mounted = Mounted::start(&launcher(), &good).unwrap();
    folder(&good, "a disk is mounted here");
    mounted.unmount().unwrap();
    wait_until_gone(place.path());
}

fn what_is_no_daemon_is_told_from_one() {
    let place = place();
    let failure = |program: &str, arguments: &[&str]| {
        let arguments = arguments.iter().map(Into::into).collect();
        let launcher = Launcher { program: program.into(), arguments };
        match Mounted::start(&launcher, &options(place.path(), "null")).unwrap_err() {
            Error::Failed(why) => why,
            other => panic!("{other:?}"),
        }
    };
    assert!(failure("/nowhere/at/all", &[]).starts_with("/nowhere/at/all can't be started"));
    assert_eq!(failure("false", &[]), "false ended without an answer (exit status: 1)");
    let script = "echo what is this; echo 'error: I mount nothing' >&2; exit 3";
    assert_eq!(failure("sh", &["-c", script]), "I mount nothing");
    let script = "echo one >&2; echo two >&2; kill -KILL $$";
    let told = "sh ended without an answer (signal: 9 (SIGKILL)); the last lines of its standard \
                error:\none\ntwo";
    assert_eq!(failure("sh", &["-c", script]), told);
}

fn a_killed_one_is_told_with_its_end() {
    let place = place();
    let mounted = Mounted::start(&launcher(), &options(place.path(), "null")).unwrap();
    let pid = mounted.control().stat().unwrap().pid;
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let mut told = String::new();
    wait_until("its end", || {
        told = mounted.control().stat().map_or_else(|error| error.to_string(), |_| String::new());
        told.contains("does not answer") && told.contains("it has ended (signal: 9 (SIGKILL))")
    });
    drop(mounted);
    assert!(!is_mounted(place.path()), "what it left is taken away");
}

fn a_panic_of_one_is_told_in_its_words() {
    let place = place();
    // A backtrace would stand behind the words.
    let Launcher { program, arguments } = launcher();
    let without: [OsString; 3] = ["-u".into(), "RUST_BACKTRACE".into(), program.into()];
    let arguments = without.into_iter().chain(arguments).collect();
    let launcher = Launcher { program: "env".into(), arguments };
    match Mounted::start(&launcher, &options(place.path(), own::BROKEN)).unwrap_err() {
        Error::Failed(why) => {
            assert!(why.starts_with("env ended without an answer (exit status: 101)"), "{why}");
            assert!(why.contains("panicked at") && why.contains(drum::BREAKS), "{why}");
        }
        other => panic!("{other:?}"),
    }
    wait_until_gone(place.path());
}

fn a_panic_of_a_thread_ends_it_and_what_waits() {
    let place = place();
    std::fs::write(place.path().join("b/file"), [7; 4096]).unwrap();
    let mounted = Mounted::start(&launcher(), &options(place.path(), own::STUCK)).unwrap();
    std::fs::read(mounted.path().join("file")).expect_err("the connection has ended");
    let mut told = String::new();
    wait_until("its end", || {
        told = mounted.control().stat().expect_err("it ends").to_string();
        told.contains("it has ended (signal: 9 (SIGKILL))")
    });
    assert!(told.contains("panicked at") && told.contains(drum::STICKS), "{told}");
    drop(mounted);
    assert!(!is_mounted(place.path()), "what it left is taken away");
}

fn a_daemon_that_is_told_nothing_says_so() {
    for input in ["", "\n", "{}\n", "mount it\n"] {
        let mut output = Vec::new();
        let error = daemon::run_launched(&Models::standard(), &mut input.as_bytes(), &mut output)
            .unwrap_err();
        let Error::Usage(why) = error else { panic!("{error:?}") };
        assert!(why.contains("standard input"), "{why}");
        let answer = String::from_utf8(output).unwrap();
        assert!(
            answer.starts_with(r#"{"refused":{"usage":"#) && answer.ends_with("}\n"),
            "{answer}"
        );
    }
}

/// Mounts a disk, says so, and waits for its own end.
fn hold(how: &str, place: &Path) -> ExitCode {
    let options = options(place, "null");
    let _mounted = match how {
        "detached" => {
            mount::mount_detached(&launcher(), &options).unwrap();
            None
        }
        _ => Some(Mounted::start(&launcher(), &options).unwrap()),
    };
    println!("held");
    io::stdout().flush().unwrap();
    thread::sleep(Duration::from_secs(60));
    ExitCode::FAILURE
}

/// A process that has mounted a disk.
fn holder(how: &str, place: &Path) -> Child {
    let program: PathBuf = launcher().program;
    let mut command = Command::new(program);
    let mut child = command.args(["hold", how]).arg(place).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "held\n");
    assert!(is_mounted(place));
    child
}

fn it_goes_with_a_killed_process() {
    let place = place();
    let mut holder = holder("attached", place.path());
    // Even while somebody uses it.
    let _open = std::fs::File::create(place.path().join("m/file")).unwrap();
    holder.kill().unwrap();
    holder.wait().unwrap();
    wait_until_gone(place.path());
}

fn it_goes_with_the_thread_that_started_it() {
    let place = place();
    let options = options(place.path(), "null");
    let start = move || std::mem::forget(Mounted::start(&launcher(), &options).unwrap());
    thread::spawn(start).join().unwrap();
    wait_until_gone(place.path());
}

fn a_detached_one_stays() {
    let place = place();
    let mut holder = holder("detached", place.path());
    holder.kill().unwrap();
    holder.wait().unwrap();
    thread::sleep(Duration::from_millis(300));
    assert!(is_mounted(place.path()));
    std::fs::write(place.path().join("m/file"), "text").unwrap();
    mount::unmount_disk(&place.path().join("m")).unwrap();
    wait_until_gone(place.path());
}
