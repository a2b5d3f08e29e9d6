//! What other users and other programs put in the way of virtual disks: notes, folders and mounts that are
//! not bakeoff's own, daemons that are stopped, clients that say nothing or too much. Nothing of it is
//! believed, followed or waited for.

use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bakeoff_testkit::{
    NOBODY, PATIENCE, Since, children, comes_while, ended_within, in_time, needs_root, open_to_all,
    wait_until,
};
use rustix::fs::{FlockOperation, flock};
use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, Signal, kill_process};

use super::disk::{Disks, write_through};
use super::on_disks::{can_mount, mounts_below};
use super::{Done, Place, trials};

/// Bytes that a command of a disk has in memory at most.
const LITTLE: u64 = 200 << 20;

/// A command that waits for nobody and takes little memory.
fn soon(mut command: Command) -> Done {
    let mut child = command.spawn().unwrap();
    let since = Since::now();
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(peak(child.id()));
        if most > LITTLE || since.at_least(PATIENCE) {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it goes on and had {most} bytes of memory");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Done(child.wait_with_output().unwrap())
}

/// The most bytes of memory that a command had. Before it is another program, it has this one's.
fn peak(pid: u32) -> u64 {
    let program = |of: &str| fs::read_link(format!("/proc/{of}/exe")).ok();
    if program(&pid.to_string()) == program("self") {
        return 0;
    }
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

/// A place with a backing folder `b`, a mountpoint `m` and the folder of notes.
fn place() -> (Place, PathBuf) {
    let place = Place::new();
    for name in ["b", "m"] {
        fs::create_dir(place.path(name)).unwrap();
    }
    let notes = place.path("bakeoff/disks");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&notes).unwrap();
    (place, notes)
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// By this user, and by an ordinary one, who can't mount everywhere.
#[test]
fn what_is_no_note_among_the_notes_is_neither_waited_for_nor_read() {
    let clutter = || {
        let (place, notes) = place();
        fifo(&notes.join("0.json"));
        symlink("/dev/zero", notes.join("1.json")).unwrap();
        fs::create_dir(notes.join("2.json")).unwrap();
        (place, notes)
    };
    if can_mount() {
        let (place, notes) = clutter();
        fs::write(notes.join("3.json"), vec![b' '; 4 << 20]).unwrap();
        let disk = |arguments: &[&str]| soon(place.command(&[&["disk"], arguments].concat()));
        disk(&["mount", "b", "m", "--model", "null"]).code(0);
        disk(&["stat", "m"]).code(0);
        disk(&["unmount", "m"]).code(0);
        for name in ["0.json", "1.json", "2.json"] {
            assert!(notes.join(name).symlink_metadata().is_ok(), "{name} is nobody's to remove");
        }
    }
    if !needs_root("be somebody else") {
        return;
    }
    let (place, notes) = clutter();
    let theirs = notes.join("3.json");
    fs::write(&theirs, "{}").unwrap();
    let given =
        Command::new("chown").args(["-hR", &NOBODY.to_string()]).arg(place.path("")).status();
    assert!(given.unwrap().success());
    // Somebody else's is left, and one's own that says nothing is removed.
    for (user, is_left) in [(NOBODY - 1, true), (NOBODY, false)] {
        chown(&theirs, Some(user), None).unwrap();
        let stat = soon(as_stranger(&place, &["disk", "stat", "m"]));
        stat.code(3).says(&["no virtual disk is mounted"]);
        assert_eq!(theirs.exists(), is_left, "{user}");
    }
}

#[test]
fn another_user_s_note_is_not_believed() {
    if !needs_root("be somebody else") {
        return;
    }
    let (place, notes) = place();
    fs::create_dir_all(place.path("victim/.bakeoff-disk")).unwrap();
    let victim = place.path("victim").canonicalize().unwrap();
    let text = serde_json::json!({
        "pid": std::process::id(), "backing": victim, "mountpoint": place.path("m"),
        "model": "null",
    });
    let note = notes.join("0.json");
    fs::write(&note, text.to_string()).unwrap();
    chown(&note, Some(NOBODY), Some(NOBODY)).unwrap();
    soon(place.command(&["disk", "stat", "m"])).code(3).says(&["no virtual disk"]);
    assert!(victim.join(".bakeoff-disk").exists(), "a stranger had it removed");
    assert!(note.exists(), "it is the stranger's");
    // The same from root, whose daemon is gone: its process's number is somebody else's by now.
    chown(&note, Some(0), Some(0)).unwrap();
    soon(place.command(&["disk", "stat", "m"])).code(3);
    assert!(!victim.join(".bakeoff-disk").exists() && !note.exists());
}

/// A file system that a stranger mounted under the name of a disk of bakeoff's, and whose daemon
/// answers nothing.
struct Foreign {
    at: PathBuf,
    _daemon: File,
}

impl Foreign {
    fn mount(place: &Place, socket: &Path) -> Self {
        let at = place.path("at").canonicalize().unwrap();
        let daemon = File::options().read(true).write(true).open("/dev/fuse").unwrap();
        let fd = daemon.as_raw_fd();
        let data = format!("fd={fd},rootmode=40000,user_id={NOBODY},group_id={NOBODY}");
        let (name, data) = (format!("bakeoff-disk:{}", socket.display()), CString::new(data));
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount(name, &at, "fuse.bakeoff", flags, data.unwrap().as_c_str()).unwrap();
        Self { at, _daemon: daemon }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ =
            bakeoff_disk::mount_table::unmount(&self.at, bakeoff_disk::mount_table::How::Lazily);
    }
}

/// bakeoff as a stranger starts it in a place, with the same folder for notes.
fn as_stranger(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command_as(NOBODY, arguments);
    command.env("XDG_RUNTIME_DIR", place.path(""));
    command
}

#[test]
fn a_stranger_s_mount_is_not_asked_what_it_is() {
    if !needs_root("be somebody else") || !can_mount() {
        return;
    }
    let (place, _) = place();
    let theirs = place.path("theirs");
    fs::create_dir(&theirs).unwrap();
    fifo(&theirs.join("x.json"));
    fs::create_dir(place.path("at")).unwrap();
    let foreign = Foreign::mount(&place, &theirs.join("x.socket"));
    let disk = |arguments: &[&str]| soon(place.command(&[&["disk"], arguments].concat()));
    disk(&["mount", "b", "m", "--model", "null"]).code(0);
    disk(&["stat", "at"]).code(3).says(&["a disk of user 65534"]);
    disk(&["unmount", "m"]).code(0);
    assert!(bakeoff_disk::mount_table::is_ours(&foreign.at), "it stays");
    disk(&["unmount", "at"]).code(0);
}

#[test]
fn a_folder_of_notes_that_somebody_else_made_or_can_write_is_refused() {
    let place = Place::new();
    let user = rustix::process::getuid().as_raw();
    let temporary = place.path("tmp");
    fs::create_dir(&temporary).unwrap();
    fs::set_permissions(&temporary, Permissions::from_mode(0o1777)).unwrap();
    open_to_all(&place.path(""));
    let ask = || {
        let arguments = ["disk", "stat", "m"];
        let mut command =
            if user == 0 { as_stranger(&place, &arguments) } else { place.command(&arguments) };
        command.env("TMPDIR", &temporary).env_remove("XDG_RUNTIME_DIR");
        soon(command)
    };
    let user = if user == 0 { NOBODY } else { user };
    let folder = temporary.join(format!("bakeoff-{user}"));
    ask().code(3);
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    ask().code(1).says(&[&folder.to_string_lossy(), "chmod 700", "others"]);
    fs::remove_dir_all(&folder).unwrap();
    symlink("/proc", &folder).unwrap();
    ask().code(1).says(&[&folder.to_string_lossy(), "is not a folder"]);
    fs::remove_file(&folder).unwrap();
    if user == NOBODY {
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        ask().code(1).says(&[&folder.to_string_lossy(), "user 0", "XDG_RUNTIME_DIR"]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
}

#[test]
fn root_keeps_its_notes_in_run_and_nowhere_that_others_share() {
    if !needs_root("be somebody else") {
        return;
    }
    let place = Place::new();
    for name in ["tmp", "theirs"] {
        fs::create_dir(place.path(name)).unwrap();
        fs::set_permissions(place.path(name), Permissions::from_mode(0o1777)).unwrap();
    }
    chown(place.path("theirs"), Some(NOBODY), Some(NOBODY)).unwrap();
    fs::create_dir(place.path("theirs/roots")).unwrap();
    let script = r#"
        mount -t tmpfs none /run
        export TMPDIR=$PWD/tmp
        ask() { "$0" disk stat m 2>&1 || echo "code $?"; }
        unset XDG_RUNTIME_DIR; ask; stat -c 'made %a' /run/bakeoff; rmdir /run/bakeoff
        # Somebody else's folder, and root's own in somebody else's.
        export XDG_RUNTIME_DIR=$PWD/theirs; ask; stat -c 'made %a' /run/bakeoff; rmdir /run/bakeoff
        export XDG_RUNTIME_DIR=$PWD/theirs/roots; ask; stat -c 'made %a' /run/bakeoff
        chmod 770 /run/bakeoff; echo refused; ask
        find tmp theirs
    "#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-euc", script, env!("CARGO_BIN_EXE_bakeoff")]);
    let done = Done(command.current_dir(place.path("")).output().unwrap()).code(0);
    let said = done.out();
    let (before, after) = said.split_once("refused\n").unwrap();
    assert_eq!(before.matches("made 700\n").count(), 3, "{before}");
    assert_eq!(before.matches("code 3\n").count(), 3, "{before}");
    assert!(after.contains("chmod 700 /run/bakeoff") && after.contains("code 1\n"), "{after}");
    assert!(after.ends_with("tmp\ntheirs\ntheirs/roots\n"), "{after}");
}

/// Both ways to an image.
const WAYS: [&[&str]; 2] =
    [&["disk", "snapshot", "m"], &["disk", "cut", "m", "--keep", "drop-all", "--image"]];

#[test]
fn an_image_is_written_only_where_nobody_else_writes_or_decides() {
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    disks.mount("null");
    write_through(&place.path("m/file"), "text").unwrap();
    let refuses = |folder: &str, why: &[&str]| {
        for way in WAYS {
            place.run(&[way, &[folder]].concat()).code(3).says(why);
        }
        assert!(disks.stat()["off_at_ns"].is_null(), "the power is on");
    };
    fs::create_dir(place.path("image")).unwrap();
    // What another image's writer holds while it has written nothing yet.
    let writer = File::open(place.path("image")).unwrap();
    flock(&writer, FlockOperation::LockExclusive).unwrap();
    refuses("image", &["another image is being written there"]);
    assert!(place.path("image").exists(), "it is the other one's");
    drop(writer);
    place.typed("disk snapshot m image").code(0);
    assert!(place.path("image/file").exists());

    if needs_root("be somebody else") {
        let [theirs, open] = ["theirs", "open"].map(|name| place.path(name));
        for folder in [theirs.clone(), theirs.join("empty"), place.path("precious"), open.clone()] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(place.path("precious/thesis"), "years").unwrap();
        symlink(place.path("precious"), theirs.join("link")).unwrap();
        for path in [theirs.clone(), theirs.join("empty")] {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        for folder in ["theirs/new", "theirs/empty", "theirs/link", "open", "open/new"] {
            refuses(folder, &["can't take the image", "take another folder"]);
        }
        let inside = |path: PathBuf| fs::read_dir(path).unwrap().count();
        assert_eq!(inside(theirs.clone()), 2, "nothing is made there");
        assert_eq!((inside(theirs.join("empty")), inside(open.clone())), (0, 0));
        assert_eq!(fs::read_to_string(place.path("precious/thesis")).unwrap(), "years");
        // As in /tmp, where nobody can touch what is root's.
        fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
        for (way, folder) in WAYS.into_iter().zip(["open/one", "open/other"]) {
            place.run(&[way, &[folder]].concat()).code(0);
        }
    }
    disks.unmount();
    disks.assert_clean();
}

/// A snapshot may be whole before its daemon is told to end.
#[test]
fn a_daemon_that_is_told_to_end_finishes_no_snapshot() {
    if !can_mount() {
        return;
    }
    in_time("a snapshot that takes its time", |_| {
        let disks = Disks::new()?;
        let place = &disks.0;
        disks.mount("null");
        let large = File::create(place.path("m/large")).unwrap();
        let block = vec![1; 1 << 20];
        (0..300).for_each(|_| (&large).write_all(&block).unwrap());
        large.sync_all().unwrap();
        drop(large);
        let daemon = daemon_of(&disks);
        let snapshot = place.start(&["disk", "snapshot", "m", "image"]);
        wait_until("the image is being written", || place.path("image/large").exists());
        kill_process(daemon, Signal::TERM).unwrap();
        let done = Done(snapshot.wait_with_output().unwrap());
        if done.0.status.success() {
            return None;
        }
        let done = done.code(1);
        let done = done.says(&["the disk is being unmounted", "nothing of the image is left"]);
        assert!(!done.err().contains("runs on"), "{}", done.err());
        assert!(!place.path("image").exists());
        wait_until("the disk is gone", || !bakeoff_disk::mount_table::is_ours(&place.path("m")));
        wait_until("its folder", || !place.path("b/.bakeoff-disk").exists());
        Some(())
    });
}

fn daemon_of(disks: &Disks) -> Pid {
    Pid::from_raw(disks.stat()["pid"].as_i64().unwrap() as i32).unwrap()
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_stopped_daemon_is_told_from_one_that_works_and_the_remedy_named() {
    let Some(disks) = Disks::new() else { return };
    disks.mount("null");
    let daemon = daemon_of(&disks);
    kill_process(daemon, Signal::STOP).unwrap();
    let mut asking = ["stat", "unmount"].map(|what| disks.0.start(&["disk", what, "m"]));
    if asking.iter_mut().any(|it| ended_within(PATIENCE, it).is_none()) {
        asking.iter_mut().for_each(|it| it.kill().unwrap());
        kill_process(daemon, Signal::CONT).unwrap();
        panic!("they wait for a daemon that is stopped");
    }
    for asked in asking {
        let remedies = ["CONT", "KILL"].map(|it| format!("kill -{it} {}", daemon.as_raw_pid()));
        let [on, off] = remedies.each_ref().map(String::as_str);
        let done = Done(asked.wait_with_output().unwrap());
        done.code(1).says(&["does not answer", on, off]);
    }
    kill_process(daemon, Signal::CONT).unwrap();
    assert_eq!(daemon_of(&disks), daemon, "what nobody waits for any more is not done");
    kill_process(daemon, Signal::STOP).unwrap();
    kill_process(daemon, Signal::KILL).unwrap();
    wait_until("its end", || disks.0.typed("disk stat m").0.status.code() == Some(3));
    assert!(!mounts_below(&disks.0.path("m")), "the second remedy works as it is written");
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
            found = daemon(id).filter(|_| mounts_below(&place.path("r")));
            trials(&place.path("r")) >= 1 && found.is_some()
        });
        let daemon = found.filter(|_| begun)?;
        let stopped = kill_process(daemon, Signal::STOP).is_ok();
        // Somebody who waits for the disk can't be ended before it is.
        std::thread::sleep(Duration::from_millis(500));
        kill_process(Pid::from_child(&run), Signal::TERM).unwrap();
        if ended_within(PATIENCE, &mut run).is_none() {
            let _ = kill_process(daemon, Signal::CONT);
            run.wait().unwrap();
            panic!("it is held up by a disk that is stopped");
        }
        let done = Done(run.wait_with_output().unwrap());
        // Where it was over, or was told so late that the stopped disk had failed its trial.
        let late = !stopped || matches!(done.0.status.code(), Some(0 | 5));
        (!late).then_some((place, done))
    });
    done.code(130).says(&["--resume r"]);
    assert!(!mounts_below(&place.path("r")));
    place.assert_clean("r");
    place.typed("run --resume r").code(0);
}

/// The disk's daemon that a run has started, if there is one.
fn daemon(run: u32) -> Option<Pid> {
    let is_daemon = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|it| it.contains("disk-daemon"))
    };
    children(run).into_iter().find(is_daemon).and_then(|pid| Pid::from_raw(pid.cast_signed()))
}

#[test]
fn clients_that_say_nothing_or_too_much_take_neither_its_time_nor_its_memory() {
    let Some(disk) = Disks::new() else { return };
    disk.mount("null");
    let pid = daemon_of(&disk).as_raw_pid();
    let threads = || fs::read_dir(format!("/proc/{pid}/task")).unwrap().count();
    let connect = || {
        let files = fs::read_dir(disk.0.path("bakeoff/disks")).unwrap();
        let mut paths = files.map(|file| file.unwrap().path());
        let socket = paths.find(|path| path.extension().is_some_and(|it| it == "socket"));
        UnixStream::connect(socket.unwrap()).unwrap()
    };
    let before = (threads(), disk.stat()["memory_bytes"].as_u64().unwrap());
    let silent: Vec<UnixStream> = (0..100).map(|_| connect()).collect();
    // It comes after all of them, is answered in time or not at all, and waits for none of them.
    disk.stat();
    assert!(threads() < before.0 + 40, "{} threads", threads());
    drop(silent);

    let mut endless = connect();
    endless.set_write_timeout(Some(PATIENCE)).unwrap();
    let much = vec![b'x'; 1 << 20];
    let written = (0..100).take_while(|_| endless.write_all(&much).is_ok()).count();
    assert!(written < 100, "it takes a request of any length");
    let grown = disk.stat()["memory_bytes"].as_u64().unwrap().saturating_sub(before.1);
    assert!(grown < 20 << 20, "it has grown by {grown} bytes");

    let mut wrong = connect();
    wrong.write_all(b"what is this?\n").unwrap();
    let mut said = String::new();
    wrong.set_read_timeout(Some(PATIENCE)).unwrap();
    wrong.read_to_string(&mut said).unwrap();
    assert!(said.contains("refused"), "{said}");
    disk.unmount();
}
