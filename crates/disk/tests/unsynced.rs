//! What a power cut leaves of names that nobody synced, where the file system has one journal and
//! where it promises only what POSIX does, and of direct writes, by the device's cache. Without
//! FUSE: by calls of the volume.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, mpsc};

use bakeoff_devices::device::Nanos;
use bakeoff_devices::ext4::{Ext4MountOptions, Mode, SyncScope};
use bakeoff_devices::models::Models;
use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_devices::station::Station;
use bakeoff_disk::executor::{self, Executor};
use bakeoff_disk::volume::{DataAccess, FileOwner, InodeNumber, ROOT, Volume, VolumeOptions};
use bakeoff_testkit::wait_until;
use rustix::fs::RenameFlags;
use tempfile::TempDir;

/// A disk of a model, over a folder of its own.
struct Disk {
    volume: Arc<Volume>,
    executor: Arc<Executor>,
    folders: TempDir,
}

/// Bytes of a page.
const PAGE: usize = 4096;
const BUFFERED: DataAccess =
    DataAccess { mode: Mode::Buffered, sync: None, drop_privileges: false };

/// Nanoseconds in which any test is over: nothing is committed that nobody has asked for.
const HOUR: Nanos = 3_600_000_000_000;

impl Disk {
    /// With the files `a` and `b` in it, durable, and no more unless it is asked for.
    fn new(model: &str, metadata: Metadata) -> Self {
        Self::committing(model, metadata, HOUR)
    }

    /// The same, whose changes wait so many nanoseconds for a commit that nobody asks for.
    fn committing(model: &str, metadata: Metadata, commit: Nanos) -> Self {
        let folders = tempfile::tempdir().unwrap();
        let backing = folders.path().join("backing");
        std::fs::create_dir(&backing).unwrap();
        for name in ["a", "b"] {
            std::fs::write(backing.join(name), name).unwrap();
        }
        let spec = Models::standard().parse(model).unwrap();
        let null = spec.is_null();
        let station = Station::new(spec.build(1), 1);
        let options = executor::ExecutorOptions { timing: !null, null };
        let executor = Arc::new(Executor::start(station, options));
        let mut options = VolumeOptions::new(Arc::clone(&executor), &spec);
        options.metadata = metadata;
        options.commit = commit;
        Self { volume: Volume::open(&backing, options).unwrap(), executor, folders }
    }

    fn find(&self, name: &str) -> InodeNumber {
        self.volume.lookup(ROOT, OsStr::new(name)).unwrap().st_ino
    }

    fn create(&self, name: &str) -> InodeNumber {
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        self.volume.create(ROOT, OsStr::new(name), 0o644, FileOwner { uid, gid }).unwrap().st_ino
    }

    fn rename(&self, from: &str, to: &str) {
        let (from, to) = (OsStr::new(from), OsStr::new(to));
        self.volume.rename(ROOT, from, ROOT, to, RenameFlags::empty()).unwrap();
    }

    fn write(&self, ino: InodeNumber, text: &str, access: DataAccess) {
        self.volume.open_file(ino, access.mode, true).unwrap();
        let (done, end) = mpsc::channel();
        self.volume.write(ino, 0, text.as_bytes(), access, move |wrote| done.send(wrote).unwrap());
        assert_eq!(end.recv().unwrap(), Ok(text.len()));
        self.volume.close_file(ino);
    }

    fn sync(&self, ino: InodeNumber, sync: SyncScope) {
        let (done, end) = mpsc::channel();
        self.volume.fsync(ino, sync, move |synced| done.send(synced).unwrap());
        end.recv().unwrap().unwrap();
    }

    /// Syncs the root.
    fn sync_folder(&self) {
        let (done, end) = mpsc::channel();
        self.volume.fsyncdir(ROOT, move |synced| done.send(synced).unwrap());
        end.recv().unwrap().unwrap();
    }

    /// The files that a power cut leaves, with what is in them: `a=a b=b`.
    fn cut(&self, keep: Keep, seed: u64) -> String {
        let image = self.folders.path().join("image");
        std::fs::create_dir(&image).unwrap();
        self.volume.cut(keep, seed, &image).unwrap();
        let mut files: Vec<String> =
            std::fs::read_dir(&image).unwrap().map(|file| show(&file.unwrap().path())).collect();
        files.sort();
        files.join(" ")
    }
}

fn show(path: &Path) -> String {
    let name = path.file_name().unwrap().display();
    format!("{name}={}", std::fs::read_to_string(path).unwrap())
}

/// Without barriers a sync leaves data and names in the device's cache, which a power cut takes, until as
/// much was written after them as the cache holds.
#[test]
fn what_was_synced_without_barriers_is_lost_with_the_cache_of_the_device() {
    let left = |model: &str, writes: usize| {
        let disk = Disk::new(model, Metadata::Ordered);
        let (a, b) = (disk.find("a"), disk.find("b"));
        disk.write(a, "A", BUFFERED);
        disk.sync(a, SyncScope::Data);
        disk.rename("a", "z");
        disk.sync(a, SyncScope::All);
        for _ in 0..writes {
            disk.write(b, "B", BUFFERED);
            disk.sync(b, SyncScope::Data);
        }
        disk.cut(Keep::DropAll, 1)
    };
    // Each write of b is a page.
    for (model, writes, expected) in [
        ("ssd-sata/barrier=0", 1, "a=a b=b"),
        ("ssd-sata", 1, "b=B z=A"),
        ("ssd-sata/barrier=0/cache=0", 1, "b=B z=A"),
        ("ssd-sata/barrier=0/cache=65536", 2, "a=a b=b"),
        ("ssd-sata/barrier=0/cache=65536", 40, "b=B z=A"),
        ("null/barrier=0", 1, "b=B z=A"),
    ] {
        assert_eq!(left(model, writes), expected, "{model}, {writes}");
    }
}

/// A file is renamed and another one, which is new or grew, is synced.
fn renamed_and_another_synced(model: &str, metadata: Metadata) -> String {
    let disk = Disk::new(model, metadata);
    disk.rename("a", "z");
    let other = disk.create("other");
    disk.write(other, "new", BUFFERED);
    disk.sync(other, SyncScope::Data);
    disk.cut(Keep::DropAll, 1)
}

#[test]
fn a_rename_that_nobody_synced_is_lasting_with_a_commit_for_another_file() {
    for model in ["null", "ssd-sata"] {
        let ordered = renamed_and_another_synced(model, Metadata::Ordered);
        assert_eq!(ordered, "b=b other=new z=a", "{model}");
        let posix = renamed_and_another_synced(model, Metadata::Posix);
        assert_eq!(posix, "a=a b=b", "{model}");
    }
}

#[test]
fn a_sync_that_commits_nothing_makes_no_name_durable() {
    for metadata in Metadata::ALL {
        let disk = Disk::new("null", metadata);
        disk.rename("a", "z");
        let b = disk.find("b");
        disk.write(b, "B", BUFFERED);
        disk.sync(b, SyncScope::Data);
        assert_eq!(disk.cut(Keep::DropAll, 1), "a=a b=B", "{metadata}");
    }
}

#[test]
fn a_synchronous_write_commits_as_its_sync_does() {
    for (metadata, left) in [(Metadata::Ordered, "b=b other=new z=a"), (Metadata::Posix, "a=a b=b")]
    {
        let disk = Disk::new("null", metadata);
        disk.rename("a", "z");
        let other = disk.create("other");
        disk.write(other, "new", DataAccess { sync: Some(SyncScope::Data), ..BUFFERED });
        assert_eq!(disk.cut(Keep::DropAll, 1), left, "{metadata}");
    }
}

#[test]
fn a_file_that_was_renamed_is_found_under_its_new_name_after_its_fsync_or_that_of_its_folder() {
    for (metadata, folder, left) in [
        (Metadata::Ordered, false, "b=b z=a"),
        (Metadata::Posix, false, "a=a b=b"),
        (Metadata::Posix, true, "b=b z=a"),
    ] {
        let disk = Disk::new("null", metadata);
        disk.rename("a", "z");
        disk.sync(disk.find("z"), SyncScope::All);
        if folder {
            disk.sync_folder();
        }
        for name in ["x", "y"] {
            disk.create(name);
        }
        assert_eq!(disk.cut(Keep::DropAll, 1), left, "{metadata}");
    }
}

#[test]
#[ignore = "slow: make test-slow"]
fn no_timer_makes_a_name_lasting_where_posix_promises_none() {
    let commit = Ext4MountOptions::default().commit;
    let disks = Metadata::ALL.map(|metadata| Disk::committing("ssd-sata", metadata, commit));
    disks.iter().for_each(|disk| disk.rename("a", "z"));
    for (disk, metadata) in disks.iter().zip(Metadata::ALL) {
        // What the journal's timer asks for, and its end.
        wait_until("a commit", || disk.volume.counts().commits > 0);
        wait_until("its end", || disk.executor.achieved().modelled.count > 0);
        let lasting = metadata == Metadata::Ordered;
        let left = if lasting { "b=b z=a" } else { "a=a b=b" };
        assert_eq!(disk.cut(Keep::DropAll, 1), left, "{metadata}");
    }
    // sync(2) is asked for.
    let disk = Disk::new("null", Metadata::Posix);
    disk.rename("a", "z");
    disk.volume.settle();
    assert_eq!(disk.cut(Keep::DropAll, 1), "b=b z=a");
}

/// Writes a sector of a file around the page cache, and cuts the power.
fn written_directly(model: &str, sync: Option<SyncScope>) -> bool {
    let disk = Disk::new(model, Metadata::Ordered);
    let direct = DataAccess { mode: Mode::Direct, sync: None, drop_privileges: false };
    let (a, old, new) = (disk.find("a"), "o".repeat(512), "n".repeat(512));
    disk.write(a, &old, direct);
    disk.sync(a, SyncScope::Data);
    disk.write(a, &new, DataAccess { sync, ..direct });
    let left = disk.cut(Keep::DropAll, 1);
    assert!(left == format!("a={old} b=b") || left == format!("a={new} b=b"), "{left}");
    left.contains(&new)
}

#[test]
fn a_direct_write_in_place_is_lasting_without_a_sync_unless_the_device_has_a_cache() {
    for (model, durable) in [
        ("null", true),
        ("ebs-gp3", true),
        ("hdd-7200", true),
        ("hdd-7200/cache=64M", false),
        ("ssd-sata", false),
        ("ssd-sata/cache=0", true),
        ("raid10:2×ssd-sata", false),
    ] {
        assert_eq!(written_directly(model, None), durable, "{model}");
        assert!(written_directly(model, Some(SyncScope::Data)), "{model}");
    }
}

#[test]
fn a_direct_write_that_makes_a_file_longer_is_not_lasting_without_a_sync() {
    let disk = Disk::new("ebs-gp3", Metadata::Ordered);
    let direct = DataAccess { mode: Mode::Direct, sync: None, drop_privileges: false };
    disk.write(disk.find("a"), &"n".repeat(512), direct);
    assert_eq!(disk.cut(Keep::DropAll, 1), "a=a b=b");
}

#[test]
fn of_names_in_one_journal_some_first_ones_are_left() {
    for seed in 0..20 {
        let disk = Disk::new("null", Metadata::Ordered);
        disk.rename("a", "z");
        disk.create("x");
        disk.rename("b", "y");
        let left = disk.cut(Keep::Subset, seed);
        let may_be = ["a=a b=b", "b=b z=a", "b=b x= z=a", "x= y=b z=a"];
        assert!(may_be.contains(&left.as_str()), "{left}");
    }
}

/// The first byte of each of a file's four pages, `o` of what was synced and `n` of what was written over it,
/// in the images of a power cut.
fn pages_left(model: &str, synced: bool) -> BTreeSet<String> {
    let disk = Disk::new(model, Metadata::Ordered);
    let a = disk.find("a");
    disk.write(a, &"o".repeat(4 * PAGE), BUFFERED);
    disk.sync(a, SyncScope::All);
    disk.write(a, &"n".repeat(4 * PAGE), BUFFERED);
    if synced {
        disk.sync(a, SyncScope::All);
    }
    disk.cut(Keep::Subset, 0);
    let image = |seed: u64| {
        let folder = disk.folders.path().join(format!("image-{seed}"));
        std::fs::create_dir(&folder).unwrap();
        disk.volume.image(Keep::Subset, seed, &folder).unwrap();
        let left = std::fs::read(folder.join("a")).unwrap();
        assert_eq!(left.len(), 4 * PAGE, "{model}, seed {seed}");
        let page = |page: &[u8]| {
            assert!(page.iter().all(|byte| *byte == page[0]), "{model}, seed {seed}: a torn page");
            char::from(page[0])
        };
        left.chunks(PAGE).map(page).collect::<String>()
    };
    (0..60).map(image).collect()
}

/// Either copy may be read of what nobody synced, chunk by chunk; what was synced is in both.
#[test]
fn on_an_array_what_was_not_synced_differs_by_chunk_and_what_was_never_does() {
    let array = "raid10:4×ssd-sata/chunk=4K";
    let whole = BTreeSet::from(["oooo".to_owned(), "nnnn".to_owned()]);
    assert_eq!(pages_left("ssd-sata", false), whole);
    let left = pages_left(array, false);
    assert!(whole.is_subset(&left) && left.len() > whole.len(), "{left:?}");
    assert_eq!(pages_left(array, true), BTreeSet::from(["nnnn".to_owned()]));
}
