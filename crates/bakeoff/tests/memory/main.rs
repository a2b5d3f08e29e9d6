//! A limit of memory holds: for the processes and for the page cache of their files, on the
//! machine's own disk and on virtual ones, by the group's own account and by the machine's.

mod reader;
mod runs;
mod server;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bakeoff_disk::mount::{Launcher, MountOptions, Mounted};
use bakeoff_lab::place::group::LimitedGroup;
use bakeoff_lab::place::{ProcessGroup, TargetPlace, page_cache};
use bakeoff_lab::process::job::{ProcessJob, Task};
use bakeoff_testkit::{needs, open_to_all, wait_until};
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
            page_cache::forget(&backing).unwrap();
            page_cache::resident(&backing).unwrap() <= ROUNDING
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
        let mut bytes = page_cache::resident(&self.backing).unwrap();
        if self.disk.is_some() {
            bytes += page_cache::resident(&self.seen).unwrap();
        }
        bytes
    }

    /// Fails if more is in use than the group's limit, or more in the page cache. Whether the limit was put to
    /// use: the machine may take back pages at any time.
    #[track_caller]
    fn is_held_and_used(&self, group: &LimitedGroup) -> bool {
        let limit = group.limit().memory_bytes.unwrap();
        let lately = if self.disk.is_some() { LATELY } else { 0 };
        let resident = self.resident_at_most(limit + lately + ROUNDING);
        let (usage, cached) = (group.usage().unwrap(), group.cached().unwrap());
        let peak = group.peak();
        let figures = format!(
            "limit {} MiB, in use {} MiB, cached {} MiB, peak {:?}; in the page cache {} MiB",
            limit >> 20,
            usage >> 20,
            cached >> 20,
            peak.map(|peak| peak >> 20),
            resident >> 20
        );
        assert!(usage <= limit && peak.is_none_or(|peak| peak <= limit), "{figures}");
        assert!(resident <= limit + lately + ROUNDING, "{figures}");
        assert_eq!(group.out_of_memory_kills().unwrap(), 0, "{figures}");
        println!("{figures}");
        peak.unwrap_or(usage) > limit / 2
    }

    /// Bytes of the files in the page cache, when a disk's daemon has let go of all but so many.
    #[track_caller]
    fn resident_at_most(&self, bytes: u64) -> u64 {
        let mut resident = self.resident();
        if self.disk.is_some() {
            wait_until("the page cache at its limit", || {
                resident = self.resident();
                resident <= bytes
            });
        }
        resident
    }
}

/// A group of processes over the files in a folder.
fn over(files: &Path, group: &LimitedGroup) -> ProcessGroup {
    let (limit, cgroups) = (group.limit(), group.processes());
    ProcessGroup { files: Some(files.into()), limit, cgroups, runtime: None }
}

/// Reads all files below a folder, in a trial's own process.
fn read(directory: &Path, group: Option<&LimitedGroup>) {
    let groups = group.iter().map(|group| ("readers".into(), over(directory, group)));
    let place = TargetPlace { groups: groups.collect(), ..TargetPlace::folder(directory) };
    read_in(&place, group.map(|_| "readers"));
}

/// Reads the files of a group in a place, in a trial's own process.
fn read_in(place: &TargetPlace, group: Option<&str>) {
    let (target, subject) = ("tables".into(), serde_json::Value::Null);
    let task = Task::Read { group: group.map(Into::into) };
    let job = ProcessJob { target, subject, place: place.clone(), task };
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
