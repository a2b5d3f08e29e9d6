//! What other users put in bakeoff's way: notes, folders and mounts that are not its own. Nothing
//! of it is believed, followed or waited for.

use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use bakeoff_testkit::{AS_NOBODY, NOBODY, PATIENCE, Since, needs_root, open_to_all};
use rustix::mount::{MountFlags, mount};

use super::on_disks::can_mount;
use super::{Done, Place};

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

#[test]
fn what_is_no_note_among_the_notes_is_neither_waited_for_nor_read() {
    if !can_mount() {
        return;
    }
    let (place, notes) = place();
    fifo(&notes.join("0.json"));
    symlink("/dev/zero", notes.join("1.json")).unwrap();
    fs::create_dir(notes.join("2.json")).unwrap();
    fs::write(notes.join("3.json"), vec![b' '; 4 << 20]).unwrap();
    let disk = |arguments: &[&str]| soon(place.command(&[&["disk"], arguments].concat()));
    disk(&["mount", "b", "m", "--model", "null"]).code(0);
    disk(&["stat", "m"]).code(0);
    disk(&["unmount", "m"]).code(0);
    for name in ["0.json", "1.json", "2.json"] {
        assert!(notes.join(name).symlink_metadata().is_ok(), "{name} is nobody's to remove");
    }
}

/// The same of an ordinary user, who can't mount everywhere.
#[test]
fn an_ordinary_user_is_not_held_up_either() {
    if !needs_root("be somebody else") {
        return;
    }
    let (place, notes) = place();
    fifo(&notes.join("0.json"));
    symlink("/dev/zero", notes.join("1.json")).unwrap();
    let theirs = notes.join("2.json");
    fs::write(&theirs, "{}").unwrap();
    give(&place);
    chown(&theirs, Some(NOBODY - 1), None).unwrap();
    let stat = soon(as_stranger(&place, &["disk", "stat", "m"]));
    stat.code(3).says(&["no virtual disk is mounted"]);
    assert!(theirs.exists());
    // One's own that says nothing is removed.
    chown(&theirs, Some(NOBODY), None).unwrap();
    soon(as_stranger(&place, &["disk", "stat", "m"])).code(3);
    assert!(!theirs.exists());
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
        let _ = bakeoff_disk::table::unmount(&self.at, bakeoff_disk::table::How::Lazily);
    }
}

/// Gives a place to a stranger, with all that is in it.
pub fn give(place: &Place) {
    let owner = format!("{NOBODY}:{NOBODY}");
    let given = Command::new("chown").args(["-hR", &owner]).arg(place.path("")).status();
    assert!(given.unwrap().success());
}

/// bakeoff as a stranger starts it in a place.
pub fn as_stranger(place: &Place, arguments: &[&str]) -> Command {
    let [setpriv, options @ ..] = AS_NOBODY;
    let mut command = Command::new(setpriv);
    command.args(options).arg(env!("CARGO_BIN_EXE_bakeoff")).args(arguments);
    command.current_dir(place.path("")).env("XDG_RUNTIME_DIR", place.path(""));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
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
    assert!(bakeoff_disk::table::is_ours(&foreign.at), "it stays");
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
