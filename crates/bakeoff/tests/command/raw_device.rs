//! `--path` of a raw device: a loop device, whose backing file shows what became of it.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt, lchown, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bakeoff_results::Scope;
use bakeoff_results::measure::{FAULTS, WRITTEN};
use bakeoff_testkit::{NOBODY, in_time, needs, needs_root, wait_until};

use super::{Done, Place, SMALL, measured};

/// The file behind the device, and its bytes.
const FILE: &str = "backing";
const BYTES: u64 = 16 << 20;
/// What the user has on it, at its start and at its end.
const PRECIOUS: &[u8] = b"years of work";
/// Without it nothing is written.
const DESTROYS: &str = "--i-know-this-destroys-data";

/// A loop device until it is dropped.
struct Loop(String);

impl Loop {
    /// One over a new file in the place that holds something precious; none where this machine gives none.
    fn over(place: &Place) -> Option<Self> {
        if !needs_root("make a loop device") {
            return None;
        }
        let path = place.path(FILE);
        let file = File::create_new(&path).unwrap();
        file.set_len(BYTES).unwrap();
        file.write_all_at(PRECIOUS, 0).unwrap();
        file.write_all_at(PRECIOUS, BYTES - 4096).unwrap();
        Self::made(&["--find", "--show", path.to_str().unwrap()])
    }

    /// As losetup makes it by these arguments.
    fn made(arguments: &[&str]) -> Option<Self> {
        needs(call("losetup", arguments).map(Self))
    }

    /// Runs `fileio` on it for a moment, into the folder `r`.
    fn run(&self, place: &Place, more: &[&str]) -> Done {
        let run = ["run", "fileio", "--path", &self.0, "--out", "r", "--repetitions", "1"];
        place.run(&[&run[..], &["--seconds", "0.5"], more].concat())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// A mounted device until it is dropped.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

/// What a command says.
fn call(program: &str, arguments: &[&str]) -> Result<String, String> {
    let done = Command::new(program).args(arguments).output();
    let done = done.map_err(|error| format!("{program}: {error}"))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&done.stderr))),
    }
}

/// Makes a file system on a device; none where that can't be done here. A process that another test starts may have
/// the device a little longer than this one.
fn with_file_system(device: &Loop, options: &[&str]) -> Option<()> {
    needs(call("mkfs.ext4", &["-V"]))?;
    let arguments = [&["-q"][..], options, &[&*device.0]].concat();
    wait_until("a file system", || call("mkfs.ext4", &arguments).is_ok());
    Some(())
}

/// What is on the device at a byte.
fn held_at(place: &Place, at: u64) -> Vec<u8> {
    let mut bytes = vec![0; PRECIOUS.len()];
    File::open(place.path(FILE)).unwrap().read_exact_at(&mut bytes, at).unwrap();
    bytes
}

#[test]
fn a_raw_device_is_not_written_to_unless_all_of_it_is_given_up_and_the_run_is_for_it() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    let refused = |more: &[&str], texts: &[&str]| {
        device.run(&place, more).code(2).says(texts);
        assert!(!place.path("r").exists(), "{more:?}: nothing was begun");
        assert_eq!(held_at(&place, 0), PRECIOUS, "{more:?}");
    };
    refused(&["--factor", "size=4M"], &["is a raw device", "would be lost", DESTROYS]);
    for (more, texts) in [
        (&["size=32M"][..], &["33554432 bytes", "16777216"][..]),
        (&["size=4M", "files=4"], &["`files` 1"]),
        (&["size=4M", "access=buffered"], &["`access` direct"]),
        (&["size=4M,8M"], &["written once", "these are 2"]),
    ] {
        let levels = more.iter().flat_map(|level| ["--factor", *level]).collect::<Vec<_>>();
        refused(&[&[DESTROYS][..], &levels].concat(), texts);
    }
    let small = [DESTROYS, "--factor", "size=4M"];
    refused(&[&small[..], &["--disk", "null"]].concat(), &["take --disk host"]);
    refused(&[&small[..], &["--neighbours", "x1"]].concat(), &["take --neighbours 0"]);
    // A plan says what would be lost, and loses nothing.
    let plan = device.run(&place, &[&small[..], &["--dry-run"]].concat()).code(0);
    plan.says(&[&format!("everything on {} is lost", device.0)]);
    assert_eq!(held_at(&place, 0), PRECIOUS);
    place.write("small.toml", SMALL);
    let engines = ["run", "small.toml", "--path", &device.0, DESTROYS, "--out", "r"];
    place.run(&engines).code(2).says(&["keeps its data in files"]);
    // The flag is for a device.
    fs::create_dir(place.path("array")).unwrap();
    let folder = ["run", "fileio", "--path", "array", DESTROYS, "--out", "r"];
    place.run(&folder).code(2).says(&["is a folder", "leave it out"]);
    place.run(&["run", "fileio", DESTROYS, "--out", "r"]).code(2).says(&["--path"]);
    assert_eq!(held_at(&place, 0), PRECIOUS);
}

#[test]
fn a_raw_device_in_use_is_not_written_to() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    let small = [DESTROYS, "--factor", "size=4M"];
    // By a process that has it for itself, as those that build other devices over it.
    let flags = libc::O_EXCL;
    let exclusive = File::options().read(true).custom_flags(flags).open(&device.0).unwrap();
    device.run(&place, &small).code(2).says(&["is a device in use", "the kernel keeps it"]);
    drop(exclusive);
    assert_eq!(held_at(&place, 0), PRECIOUS);
    let at = place.path("mount");
    fs::create_dir(&at).unwrap();
    if with_file_system(&device, &[]).is_none() {
        return;
    }
    let mounted = call("mount", &[&device.0, at.to_str().unwrap()]).map(|_| Mounted(&at));
    let Some(_mounted) = needs(mounted) else { return };
    fs::write(at.join("thesis"), PRECIOUS).unwrap();
    let said = format!("{} is mounted on ", device.0);
    for more in [&small[..], &small[1..]] {
        device.run(&place, more).code(2).says(&["is a device in use", &said]);
    }
    assert!(!place.path("r").exists(), "nothing was begun");
    assert_eq!(fs::read(at.join("thesis")).unwrap(), PRECIOUS);
}

#[test]
fn a_mounted_device_is_known_by_a_link_to_it() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    let at = place.path("mount");
    fs::create_dir(&at).unwrap();
    if with_file_system(&device, &[]).is_none() {
        return;
    }
    let mounted = call("mount", &[&device.0, at.to_str().unwrap()]).map(|_| Mounted(&at));
    let Some(_mounted) = needs(mounted) else { return };
    symlink(&device.0, place.path("link")).unwrap();
    let run = ["run", "fileio", "--path", "link", DESTROYS, "--factor", "size=4M", "--out", "r"];
    let said = format!("{} is mounted on ", device.0);
    place.run(&run).code(2).says(&["is a device in use", &said]);
}

/// The kernel keeps none of these from a descriptor of one's own: they did not ask for the device alone.
#[test]
fn a_device_that_somebody_else_has_without_having_it_alone_is_not_written_to() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    let small = [DESTROYS, "--factor", "size=4M"];
    let refused = |texts: &[&str]| {
        for more in [&small[..], &small[1..]] {
            // Others may have it for a moment, too: then that is said, and it is refused all the same.
            wait_until("the reason", || {
                let done = device.run(&place, more).code(2);
                assert!(!place.path("r").exists(), "{texts:?}: nothing was begun");
                assert_eq!(held_at(&place, 0), PRECIOUS, "{texts:?}");
                let said = format!("{}{}", done.out(), done.err());
                texts.iter().all(|text| said.contains(text))
            });
        }
    };
    let writer = File::options().write(true).open(&device.0).unwrap();
    let own = format!("process {} (", std::process::id());
    refused(&["is a device in use", &own, "open for writing"]);
    drop(writer);
    let Some(above) = Loop::made(&["--find", "--show", &device.0]) else { return };
    let above_is = above.0.trim_start_matches("/dev/");
    refused(&["is a device in use", &format!("is below the device {above_is}")]);
}

#[test]
fn a_device_that_can_only_be_read_is_refused() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    drop(device);
    let path = place.path(FILE);
    let arguments = ["--read-only", "--find", "--show", path.to_str().unwrap()];
    let Some(device) = Loop::made(&arguments) else { return };
    device.run(&place, &[DESTROYS, "--factor", "size=4M"]).code(2).says(&["can't be written to"]);
    assert!(!place.path("r").exists(), "nothing was begun");
}

#[test]
fn what_is_on_a_device_is_said_to_those_who_want_the_verdict_alone_too() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    let known = with_file_system(&device, &["-L", "thesis"]);
    if known.and(needs(call("blkid", &["-p", &device.0]))).is_none() {
        return;
    }
    let quiet = [DESTROYS, "--factor", "size=4M", "--quiet"];
    let lost = format!("everything on {} is lost", device.0);
    device.run(&place, &quiet).code(0).says(&[&lost, "on it is ext4 named thesis"]);
}

/// A loop device has no serial number, and its number may be another file's by now.
#[test]
fn a_run_goes_on_on_no_other_device_of_the_same_number() {
    if Loop::over(&Place::new()).is_none() {
        return;
    }
    // Another test may take the number at once, and have it for as long as it goes on.
    let (place, device, file) = in_time("the time of the number", |_| {
        let place = Place::new();
        let device = Loop::over(&place)?;
        device.run(&place, &[DESTROYS, "--factor", "size=4M"]).code(0);
        let name = device.0.clone();
        drop(device);
        let other = place.path("other");
        let file = File::create_new(&other).unwrap();
        file.set_len(BYTES).unwrap();
        file.write_all_at(PRECIOUS, 0).unwrap();
        // The kernel lets go of the number when nobody looks at the device any more.
        let is_attached = (0..100).any(|milliseconds| {
            std::thread::sleep(Duration::from_millis(milliseconds));
            call("losetup", &[&name, other.to_str().unwrap()]).is_ok()
        });
        // What is attached there else is not this test's to detach.
        is_attached.then(|| (place, Loop(name), file))
    });
    let name = &device.0;
    let resume = ["run", "--resume", "r", "--path", name, DESTROYS];
    place.run(&resume).code(3).says(&["the machine changed", "attached as"]);
    let mut bytes = vec![0; PRECIOUS.len()];
    file.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(bytes, PRECIOUS);
}

#[test]
fn a_link_to_a_device_that_somebody_else_made_is_not_followed() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    let link = place.path("link");
    symlink(&device.0, &link).unwrap();
    lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
    let run = ["run", "fileio", "--path", "link", DESTROYS, "--factor", "size=4M", "--out", "r"];
    place.run(&run).code(2).says(&["belongs to user 65534"]);
    assert_eq!(held_at(&place, 0), PRECIOUS);
}

/// The second trial finds what the first has written: each page is whole and of some write, the last one of this
/// trial where it wrote.
#[test]
fn a_raw_device_is_measured_and_verified_and_nothing_behind_the_size_is_touched() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    let levels = ["size=4M", "pattern=randrw:50", "depth=1,4"];
    let levels = levels.iter().flat_map(|level| ["--factor", *level]).collect::<Vec<_>>();
    let done = device.run(&place, &[&[DESTROYS][..], &levels].concat()).code(0);
    done.says(&[&format!("everything on {} is lost", device.0)]);
    place.assert_clean("r");
    let trials = place.json("r")["trials"].as_array().unwrap().clone();
    assert_eq!(trials.len(), 2);
    for trial in &trials {
        assert_eq!((&trial["valid"], &trial["levels"]["disk"]), (&true.into(), &"host".into()));
        let measured = measured(trial);
        assert_eq!(measured.get(&FAULTS, &Scope::Trial), Some(0.0), "{trial}");
        let written = measured.get(&WRITTEN, &Scope::Device).expect("the kernel counts");
        assert!(written >= 4096.0, "it is this device's own account: {written}");
    }
    assert_ne!(held_at(&place, 0), PRECIOUS, "it is given up");
    assert_eq!(held_at(&place, BYTES - 4096), PRECIOUS, "no request goes there");
    // It goes on there, and nowhere else.
    let resume = ["run", "--resume", "r"];
    place.run(&resume).code(3).says(&["no file system", "name the same device", DESTROYS]);
    let on = [&resume[..], &["--path", &device.0]].concat();
    place.run(&on).code(2).says(&["is a raw device", DESTROYS]);
    place.run(&[&on[..], &[DESTROYS]].concat()).code(0).says(&["nothing is left to run"]);
}

/// What is on a disk stands above the commands that would destroy it; of one that is in use there are none.
#[test]
fn layouts_of_a_device_that_holds_something_or_is_in_use_say_so() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    let layouts = |code: i32| place.run(&["layouts", &device.0]).code(code).out();
    assert!(!layouts(0).contains("# NOT"), "nothing is known that is on it");
    if with_file_system(&device, &["-F", "-L", "thesis"]).is_none() {
        return;
    }
    let held = layouts(2);
    assert!(
        held.contains(&format!("# NOT EMPTY: {}: on it is ext4 named thesis\n", device.0)),
        "{held}"
    );
    assert!(held.contains(&format!("mkfs.ext4 {}\n", device.0)), "{held}");
    let point = place.path("point");
    fs::create_dir(&point).unwrap();
    let shown = point.to_string_lossy();
    if needs(call("mount", &[device.0.as_str(), &*shown])).is_none() {
        return;
    }
    let _mounted = Mounted(&point);
    let why = format!("are printed: {} is mounted on {shown}", device.0);
    let used = place.run(&["layouts", &device.0]).code(2).says(&[&why]);
    assert_eq!(used.out(), "", "no command could be copied");
}
