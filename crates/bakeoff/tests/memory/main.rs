//! A limit of memory holds: for the processes and for the page cache of their files, on the
//! machine's own disk and on virtual ones, by the group's own account and by the machine's.
//!
//! A program of its own: on cgroup v2 whoever divides its group has to be the only process in it.

mod runs;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bakeoff_disk::mount::{Launcher, MountOptions, Mounted};
use bakeoff_lab::place::group::{LimitedGroup, ResourceLimit};
use bakeoff_lab::place::{ProcessGroup, TargetPlace, page_cache};
use bakeoff_lab::process::job::{ProcessJob, Task};
use bakeoff_testkit::{in_time, needs, open_to_all, wait_until};
use rustix::pipe::{SpliceFlags, splice};
use tempfile::TempDir;

/// The command under test.
const BAKEOFF: &str = env!("CARGO_BIN_EXE_bakeoff");

/// Bytes of the backing files that a virtual disk may still have in the page cache: what was read
/// or written lately.
const LATELY: u64 = 24 << 20;

/// Bytes that the machine counts and the group does not yet: each processor charges a few pages
/// ahead.
const ROUNDING: u64 = 1 << 20;

/// bakeoff as a disk's daemon.
fn launcher() -> Launcher {
    Launcher { program: BAKEOFF.into(), arguments: vec!["disk-daemon".into()] }
}

/// Whether memory can be limited here, and a disk mounted if one is wanted.
fn can(disk: bool) -> bool {
    if needs(bakeoff_lab::try_memory_limit()).is_none() {
        return false;
    }
    let folder = folder();
    !disk || needs(bakeoff_lab::try_virtual_disk(&launcher(), folder.path())).is_some()
}

/// A folder on a disk. The system's temporary folder may be in memory, and can't be told to forget.
fn folder() -> TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // A server's user must get in.
    open_to_all(folder.path());
    folder
}

/// Files that are read within a limit, on a disk.
struct Stage {
    /// Where they are seen; the backing folder on the machine's own disk.
    seen: PathBuf,
    backing: PathBuf,
    disk: Option<Mounted>,
    // Last: what is mounted goes first.
    _folder: TempDir,
}

impl Stage {
    /// Files that `fill` makes in an empty folder, none of them in the page cache; then the disk.
    fn new(model: &str, uncached: bool, fill: impl FnOnce(&Path)) -> Self {
        let folder = folder();
        let backing = folder.path().join("files");
        std::fs::create_dir(&backing).unwrap();
        fill(&backing);
        // A page that the machine has in hand this moment stays.
        wait_until("cold files", || {
            page_cache::drop_from_cache(&backing).unwrap();
            page_cache::resident_bytes(&backing).unwrap() <= ROUNDING
        });
        if model == "host" {
            return Self { seen: backing.clone(), backing, disk: None, _folder: folder };
        }
        let seen = folder.path().join("disk");
        std::fs::create_dir(&seen).unwrap();
        let options = MountOptions { uncached, ..MountOptions::new(&backing, &seen, model) };
        let disk = Some(Mounted::start(&launcher(), &options).unwrap());
        Self { seen, backing, disk, _folder: folder }
    }

    /// Bytes of the files in the page cache, wherever they are seen.
    fn resident(&self) -> u64 {
        let mut bytes = page_cache::resident_bytes(&self.backing).unwrap();
        if self.disk.is_some() {
            bytes += page_cache::resident_bytes(&self.seen).unwrap();
        }
        bytes
    }

    /// Fails if more is in use than the group's limit, or more in the page cache, of which a disk's daemon lets go soon.
    /// Whether the limit was put to use: the machine may take back pages at any time.
    #[track_caller]
    fn is_held_and_used(&self, group: &LimitedGroup) -> bool {
        let limit = group.limit().memory_bytes.unwrap();
        let lately = if self.disk.is_some() { LATELY } else { 0 };
        wait_until("the page cache at its limit", || self.resident() <= limit + lately + ROUNDING);
        let (usage, cached, peak) = (group.usage().unwrap(), group.cached().unwrap(), group.peak());
        let figures = format!("of {limit} bytes {usage} in use, {cached} cached, peak {peak:?}");
        assert!(usage <= limit && peak.is_none_or(|peak| peak <= limit), "{figures}");
        assert_eq!(group.out_of_memory_kills().unwrap(), 0, "{figures}");
        println!("{figures}");
        peak.unwrap_or(usage) > limit / 2 && cached > limit / 2
    }
}

/// Reads all files below a folder, in a trial's own process.
fn read(directory: &Path, group: Option<&LimitedGroup>) {
    let processes = |group: &LimitedGroup| ProcessGroup {
        files: Some(directory.into()),
        limit: group.limit(),
        cgroups: group.processes(),
        runtime: None,
    };
    let groups = group.iter().map(|group| ("readers".into(), processes(group)));
    let place = TargetPlace { groups: groups.collect(), ..TargetPlace::from_folder(directory) };
    let task = Task::Read { group: group.map(|_| "readers".into()) };
    let job = ProcessJob { target: "tables".into(), subject: serde_json::Value::Null, place, task };
    let job = serde_json::to_string(&job).unwrap();
    let mut process = Command::new(BAKEOFF)
        .arg("trial")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(process.stdin.take().unwrap(), "{job}").unwrap();
    let output = process.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Done"), "{said}");
}

const LIMIT: u64 = 64 << 20;

/// Two files of so many bytes each.
fn fill(folder: &Path, each: u64) {
    fs::create_dir(folder.join("below")).unwrap();
    for name in ["one", "below/two"] {
        fs::write(folder.join(name), vec![1; each as usize]).unwrap();
    }
}

#[test]
fn what_is_read_without_a_limit_is_cached_as_a_whole() {
    if !can(true) {
        return;
    }
    // As large as a limit might be; a group with that limit leaves no more in the page cache than this.
    let each = 48 << 20;
    let held = each + LATELY + ROUNDING;
    for (model, copies) in [("host", 1), ("null", 2)] {
        // The machine may take pages back at any time.
        in_time("the page cache", |_| {
            let stage = Stage::new(model, false, |folder| fill(folder, each));
            read(&stage.seen, None);
            let resident = stage.resident();
            println!("{model}: {} MiB", resident >> 20);
            (resident > copies * held).then_some(())
        });
    }
}

/// A process that reads twice its limit, again and again.
#[test]
fn a_limit_holds_on_every_disk() {
    for model in ["host", "null", "hdd-7200"] {
        if !can(model != "host") {
            return;
        }
        let stage = Stage::new(model, true, |folder| fill(folder, LIMIT));
        let group = LimitedGroup::create(ResourceLimit::from_memory(LIMIT)).unwrap();
        for _ in 0..2 {
            in_time("a full group", |_| {
                read(&stage.seen, Some(&group));
                stage.is_held_and_used(&group).then_some(())
            });
        }
    }
}

/// Though nobody reads or writes: at once, or later, where a page could not leave as those can't that a slow disk has
/// not written. Pages in a pipe stay like those.
#[test]
fn what_is_written_through_a_disk_leaves_the_page_cache_too() {
    if !can(true) {
        return;
    }
    let stage = Stage::new("null", true, |_| {});
    let is_gone = || page_cache::resident_bytes(&stage.backing).unwrap() == 0;
    let size = 64 << 10;
    fs::write(stage.seen.join("held"), vec![1; size]).unwrap();
    let (held, pipe) = rustix::pipe::pipe().unwrap();
    let file = fs::File::open(stage.backing.join("held")).unwrap();
    let spliced = splice(&file, Some(&mut 0), &pipe, None, size, SpliceFlags::empty()).unwrap();
    // The machine's own disk has to write it first: so little that a busy one has, too.
    fill(&stage.seen, 4 << 20);
    wait_until("the end of what was cached and is not held", || {
        let resident = page_cache::resident_bytes(&stage.backing).unwrap();
        assert!(resident >= spliced as u64 && spliced > 0, "{resident} bytes of {spliced}");
        resident <= size as u64
    });
    drop((held, pipe));
    wait_until("the end of what was cached", is_gone);
}
