//! A disk's daemon that says nothing, and clients of it that say nothing or too much.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use bakeoff_testkit::{PATIENCE, children, comes_while, ended_within, in_time, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::on_disks::{can_mount, mounts_below};
use super::{Place, trials};

fn pid_of(number: u32) -> Option<Pid> {
    Pid::from_raw(number.cast_signed())
}

fn signal(pid: u32, signal: Signal) {
    kill_process(pid_of(pid).unwrap(), signal).unwrap();
}

/// A disk of the model `null`, mounted in the folder `m`; it goes with this.
struct Disk(Place);

impl Disk {
    fn new() -> Option<Self> {
        let disk = Self(Place::new());
        for name in ["b", "m"] {
            fs::create_dir(disk.0.path(name)).unwrap();
        }
        if !can_mount() {
            return None;
        }
        disk.0.run(&["disk", "mount", "b", "m", "--model", "null"]).code(0);
        Some(disk)
    }

    fn stat(&self) -> Value {
        let stat = self.0.run(&["disk", "stat", "m", "--json"]).code(0);
        serde_json::from_str(&stat.out()).unwrap()
    }

    fn pid(&self) -> u32 {
        self.stat()["pid"].as_u64().unwrap() as u32
    }

    fn connect(&self) -> UnixStream {
        let files = fs::read_dir(self.0.path("bakeoff/disks")).unwrap();
        let paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        let socket = paths.iter().find(|path| path.extension().is_some_and(|it| it == "socket"));
        UnixStream::connect(socket.unwrap()).unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if mounts_below(self.0.path("m").as_path()) {
            let _ = self.0.run(&["disk", "unmount", "m"]);
        }
    }
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_stopped_daemon_is_told_from_one_that_works_and_the_remedy_named() {
    let Some(disk) = Disk::new() else { return };
    let pid = disk.pid();
    signal(pid, Signal::STOP);
    let mut asking = ["stat", "unmount"].map(|what| disk.0.start(&["disk", what, "m"]));
    if asking.iter_mut().any(|it| ended_within(PATIENCE, it).is_none()) {
        asking.iter_mut().for_each(|it| it.kill().unwrap());
        signal(pid, Signal::CONT);
        panic!("they wait for a daemon that is stopped");
    }
    for asked in asking {
        let remedies = [format!("kill -CONT {pid}"), format!("kill -KILL {pid}")];
        let [on, off] = remedies.each_ref().map(String::as_str);
        let done = super::Done(asked.wait_with_output().unwrap());
        done.code(1).says(&["does not answer", on, off]);
    }
    signal(pid, Signal::CONT);
    assert_eq!(disk.pid(), pid, "what nobody waits for any more is not done");
    signal(pid, Signal::STOP);
    signal(pid, Signal::KILL);
    wait_until("its end", || disk.0.run(&["disk", "stat", "m"]).0.status.code() == Some(3));
    assert!(!mounts_below(disk.0.path("m").as_path()), "the second remedy works as it is written");
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_run_ends_in_order_although_its_disk_is_stopped() {
    if !can_mount() {
        return;
    }
    let (place, done) = in_time("the second trial's disk", |_| {
        let place = Place::new();
        let toml = "workload = \"point\"\nengine = [\"sqlite\", \"lmdb\"]\ndisk = \"ssd-sata\"\n\
                    seconds = 2.0\nrepetitions = 2\n";
        place.write("disks.toml", toml);
        let mut run = place.start(&["run", "disks.toml", "--out", "r"]);
        let (id, mut found) = (run.id(), None);
        let begun = comes_while(&mut run, "the second trial's disk", || {
            found = daemon(id).filter(|_| mounts_below(place.path("r").as_path()));
            trials(&place.path("r")) >= 1 && found.is_some()
        });
        let daemon = found.filter(|_| begun).and_then(pid_of)?;
        let stopped = kill_process(daemon, Signal::STOP).is_ok();
        // Somebody who waits for the disk can't be ended before it is.
        std::thread::sleep(Duration::from_millis(500));
        signal(id, Signal::TERM);
        if ended_within(PATIENCE, &mut run).is_none() {
            let at = [id, daemon.as_raw_pid().cast_unsigned()].map(waits);
            let _ = kill_process(daemon, Signal::CONT);
            run.wait().unwrap();
            panic!("it is held up; the run and the daemon wait in {at:?}");
        }
        let done = super::Done(run.wait_with_output().unwrap());
        // Where it was over, or was told so late that the stopped disk had failed its trial.
        let late = !stopped || matches!(done.0.status.code(), Some(0 | 5));
        (!late).then_some((place, done))
    });
    done.code(130).says(&["--resume r"]);
    assert!(!mounts_below(place.path("r").as_path()));
    place.assert_clean("r");
    place.run(&["run", "--resume", "r"]).code(0);
}

/// What each thread of a process is, and what the kernel has it wait for.
fn waits(pid: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let read = |thread: &fs::DirEntry, name| fs::read_to_string(thread.path().join(name));
    let said = threads.map(|thread| {
        let [name, wait] = ["comm", "wchan"].map(|name| read(&thread, name).unwrap_or_default());
        format!("{} {wait}", name.trim())
    });
    said.collect()
}

/// The disk's daemon that a run has started, if there is one.
fn daemon(run: u32) -> Option<u32> {
    let is_daemon = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|it| it.contains("disk-daemon"))
    };
    children(run).into_iter().find(is_daemon)
}

#[test]
fn clients_that_say_nothing_or_too_much_take_neither_its_time_nor_its_memory() {
    let Some(disk) = Disk::new() else { return };
    let pid = disk.pid();
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).unwrap().count();
    let before = (threads(), disk.stat()["memory_bytes"].as_u64().unwrap());
    let silent: Vec<UnixStream> = (0..100).map(|_| disk.connect()).collect();
    // It comes after all of them, is answered in time or not at all, and waits for none of them.
    disk.stat();
    assert!(threads() < before.0 + 40, "{} threads", threads());
    drop(silent);

    let mut endless = disk.connect();
    endless.set_write_timeout(Some(PATIENCE)).unwrap();
    let much = vec![b'x'; 1 << 20];
    let written = (0..100).take_while(|_| endless.write_all(&much).is_ok()).count();
    assert!(written < 100, "it takes a request of any length");
    let grown = disk.stat()["memory_bytes"].as_u64().unwrap().saturating_sub(before.1);
    assert!(grown < 20 << 20, "it has grown by {grown} bytes");

    let mut wrong = disk.connect();
    wrong.write_all(b"what is this?\n").unwrap();
    let mut said = String::new();
    wrong.set_read_timeout(Some(PATIENCE)).unwrap();
    wrong.read_to_string(&mut said).unwrap();
    assert!(said.contains("refused"), "{said}");
    disk.0.run(&["disk", "unmount", "m"]).code(0);
}
