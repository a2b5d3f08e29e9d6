//! Disks without a file system: `--path` of a raw device, and `bakeoff layouts`. A loop device is one, whose backing
//! file shows what became of it.

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
/// As much of a device as these tests write over; and with the flag.
const SIZE: &str = "--factor size=4M";
const SMALL_AND_DESTROYS: &str = "--i-know-this-destroys-data --factor size=4M";

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

    fn run(&self, place: &Place, more: &str) -> Done {
        run_on(place, &self.0, more)
    }

    /// Fails unless a run on it is refused for this reason, before anything of it is written over.
    #[track_caller]
    fn refuses(&self, place: &Place, more: &str, why: &str) {
        self.run(place, more).code(2).says(&[why]);
        assert!(!place.path("r").exists(), "{more}: nothing was begun");
        assert_eq!(held_at(place, 0), PRECIOUS, "{more}");
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

/// Runs `fileio` on a path for a moment, into the folder `r`.
fn run_on(place: &Place, path: &str, more: &str) -> Done {
    place.typed(&format!("run fileio --path {path} --out r --repetitions 1 --seconds 0.5 {more}"))
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
fn with_file_system(device: &Loop) -> Option<()> {
    needs(call("mkfs.ext4", &["-V"]))?;
    let arguments = ["-q", "-F", "-L", "thesis", &device.0];
    wait_until("a file system", || call("mkfs.ext4", &arguments).is_ok());
    Some(())
}

/// What is on the device at a byte.
fn held_at(place: &Place, at: u64) -> Vec<u8> {
    let mut bytes = vec![0; PRECIOUS.len()];
    File::open(place.path(FILE)).unwrap().read_exact_at(&mut bytes, at).unwrap();
    bytes
}

/// Nor by a link to it that somebody else made.
#[test]
fn a_raw_device_is_not_written_to_unless_all_of_it_is_given_up_and_the_run_is_for_it() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    device.refuses(&place, SIZE, DESTROYS);
    // What else it can't be used for is tested where that is said.
    device.refuses(&place, &format!("{DESTROYS} --factor size=32M"), "16777216");
    // A plan says what would be lost, and loses nothing.
    let plan = device.run(&place, &format!("{SMALL_AND_DESTROYS} --dry-run")).code(0);
    plan.says(&[&format!("everything on {} is lost", device.0)]);
    place.write("small.toml", SMALL);
    let engines = format!("run small.toml --path {} {DESTROYS} --out r", device.0);
    place.typed(&engines).code(2).says(&["keeps its data in files"]);
    // The flag is for a device.
    fs::create_dir(place.path("array")).unwrap();
    run_on(&place, "array", DESTROYS).code(2).says(&["leave it out"]);
    place.typed(&format!("run fileio {DESTROYS} --out r")).code(2).says(&["--path"]);
    assert_eq!(held_at(&place, 0), PRECIOUS);
    let link = place.path("link");
    symlink(&device.0, &link).unwrap();
    lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
    run_on(&place, "link", SMALL_AND_DESTROYS).code(2).says(&["belongs to user 65534"]);
    // Nor is one written to that can only be read.
    drop(device);
    let path = place.path(FILE);
    let arguments = ["--read-only", "--find", "--show", path.to_str().unwrap()];
    let Some(device) = Loop::made(&arguments) else { return };
    device.refuses(&place, SMALL_AND_DESTROYS, "can't be written to");
}

/// The kernel keeps the last two from no descriptor of one's own: they did not ask for the device alone.
#[test]
fn a_device_that_somebody_else_has_is_not_written_to() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    // Others may have it for a moment, too: then that is said, and it is refused all the same.
    let refuses = |why: &str| {
        for more in [SMALL_AND_DESTROYS, SIZE] {
            wait_until("the reason", || {
                let done = device.run(&place, more).code(2).says(&["is a device in use"]);
                assert!(!place.path("r").exists() && held_at(&place, 0) == PRECIOUS, "{why}");
                done.err().contains(why)
            });
        }
    };
    // By a process that has it for itself, as those that build other devices over it.
    let exclusive = File::options().read(true).custom_flags(libc::O_EXCL).open(&device.0).unwrap();
    refuses("the kernel keeps it");
    drop(exclusive);
    let writer = File::options().write(true).open(&device.0).unwrap();
    refuses(&format!("process {} (", std::process::id()));
    drop(writer);
    let Some(above) = Loop::made(&["--find", "--show", &device.0]) else { return };
    refuses(&format!("is below the device {}", above.0.trim_start_matches("/dev/")));
}

/// What is on a disk stands above the commands that would destroy it; of one that is in use there are none.
#[test]
fn a_device_that_holds_something_or_is_mounted_is_told() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    let layouts = |code: i32| place.run(&["layouts", &device.0]).code(code);
    assert!(!layouts(0).out().contains("# NOT"), "nothing is known that is on it");
    if with_file_system(&device).and(needs(call("blkid", &["-p", &device.0]))).is_none() {
        return;
    }
    let held = format!("# NOT EMPTY: {}: on it is ext4 named thesis\n", device.0);
    layouts(2).says(&[&held, &format!("mkfs.ext4 {}\n", device.0)]);
    // It is said to those who want the verdict alone, too.
    let done = device.run(&place, &format!("{SMALL_AND_DESTROYS} --quiet")).code(0);
    done.says(&[&format!("everything on {} is lost", device.0), "on it is ext4 named thesis"]);
    fs::remove_dir_all(place.path("r")).unwrap();

    let at = place.path("mount");
    fs::create_dir(&at).unwrap();
    with_file_system(&device);
    let mounted = call("mount", &[&device.0, at.to_str().unwrap()]).map(|_| Mounted(&at));
    let Some(_mounted) = needs(mounted) else { return };
    fs::write(at.join("thesis"), PRECIOUS).unwrap();
    let said = format!("{} is mounted on ", device.0);
    symlink(&device.0, place.path("link")).unwrap();
    for path in [&*device.0, "link"] {
        for more in [SMALL_AND_DESTROYS, SIZE] {
            run_on(&place, path, more).code(2).says(&["is a device in use", &said]);
        }
    }
    assert!(!place.path("r").exists(), "nothing was begun");
    assert_eq!(layouts(2).says(&[&said]).out(), "", "no command could be copied");
    assert_eq!(fs::read(at.join("thesis")).unwrap(), PRECIOUS);
}

/// A loop device has no serial number, and its number may be another file's by now.
#[test]
fn a_run_goes_on_on_no_other_device_of_the_same_number() {
    if Loop::over(&Place::new()).is_none() {
        return;
    }
    // Another test may take the number at once, and have it for as long as it goes on.
    let (place, device) = in_time("the time of the number", |_| {
        let place = Place::new();
        let device = Loop::over(&place)?;
        device.run(&place, SMALL_AND_DESTROYS).code(0);
        let name = device.0.clone();
        drop(device);
        fs::remove_file(place.path(FILE)).unwrap();
        let file = File::create_new(place.path(FILE)).unwrap();
        file.set_len(BYTES).unwrap();
        file.write_all_at(PRECIOUS, 0).unwrap();
        // The kernel lets go of the number when nobody looks at the device any more.
        let is_attached = (0..100).any(|milliseconds| {
            std::thread::sleep(Duration::from_millis(milliseconds));
            call("losetup", &[&name, place.path(FILE).to_str().unwrap()]).is_ok()
        });
        // What is attached there else is not this test's to detach.
        is_attached.then(|| (place, Loop(name)))
    });
    let resume = format!("run --resume r --path {} {DESTROYS}", device.0);
    place.typed(&resume).code(3).says(&["the machine changed", "attached as"]);
    assert_eq!(held_at(&place, 0), PRECIOUS);
}

/// The second trial finds what the first has written: each page is whole and of some write, the last one of this
/// trial where it wrote.
#[test]
fn a_raw_device_is_measured_and_verified_and_nothing_behind_the_size_is_touched() {
    let place = Place::new();
    let Some(device) = Loop::over(&place) else { return };
    let levels = "--factor pattern=randrw:50 --factor depth=1,4";
    let done = device.run(&place, &format!("{SMALL_AND_DESTROYS} {levels}")).code(0);
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
    let resume = "run --resume r";
    place.typed(resume).code(3).says(&["no file system", "name the same device", DESTROYS]);
    let on = format!("{resume} --path {}", device.0);
    place.typed(&on).code(2).says(&["is a raw device", DESTROYS]);
    place.typed(&format!("{on} {DESTROYS}")).code(0).says(&["nothing is left to run"]);
}

#[test]
fn layouts_are_printed_of_disks_that_are_not_here_and_of_nothing_else() {
    let place = Place::new();
    let out = place.typed("layouts /dev/bakeoff-none-[1-3]n1").code(0).out();
    let (head, commands) = out.split_once("  mkfs.ext4").expect("the commands are printed");
    assert!(head.contains("\n# NOT HERE: /dev/") && head.contains("\n# LEFT OVER: /dev/"), "{out}");
    assert!(commands.contains("bakeoff compare one-disk raid10-2-near"), "{out}");
    for wrong in ["/dev/null", "--chunk 100K /dev/sd[bc]", ""] {
        let refused = place.typed(&format!("layouts {wrong}")).code(2);
        assert_eq!(refused.out(), "", "no command could be copied");
    }
}
