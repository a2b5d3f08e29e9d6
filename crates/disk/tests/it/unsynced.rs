//! What a power cut leaves of what nobody synced: of names, by one journal and by what POSIX promises;
//! of direct writes, by the device's cache; and of the copies on an array.

use std::collections::BTreeSet;
use std::path::Path;

use bakeoff_devices::ext4::{Ext4MountOptions, SyncScope};
use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_disk::volume::{AttributeChanges, DataAccess};
use bakeoff_testkit::wait_until;
use rustix::fs::FallocateFlags;

use crate::disk::{BUFFERED, DIRECT, Disk, PAGE};

/// Bytes of a sector.
const SECTOR: usize = 512;

/// With the files `a` and `b` in it, durable.
fn disk(model: &str, metadata: Metadata) -> Disk {
    let files = [("a", &b"a"[..]), ("b", b"b")];
    Disk::with_options(model, &files, true, |options| options.metadata = metadata)
}

/// Makes calls on such a disk and cuts the power: `a=a b=b`, each file with what is in it. What is
/// written directly are sectors.
fn left_after(model: &str, metadata: Metadata, calls: &str) -> String {
    let disk = disk(model, metadata);
    for call in calls.split(", ") {
        let words: Vec<&str> = call.split(' ').collect();
        let [name, what] = [1, 2].map(|at| *words.get(at).unwrap_or(&""));
        let write = |text: &str, access: DataAccess| {
            let ino = disk.open(name);
            disk.write(ino, 0, text.as_bytes(), access).unwrap();
            disk.volume.close_file(ino);
        };
        let synced = Some(SyncScope::Data);
        match words[0] {
            "rename" => disk.rename(name, what),
            "create" => disk.volume.forget(disk.create(name), 1),
            "write" => write(what, BUFFERED),
            "osync" => write(what, DataAccess { sync: synced, ..BUFFERED }),
            "direct" => write(&what.repeat(SECTOR), DIRECT),
            "dsync" => write(&what.repeat(SECTOR), DataAccess { sync: synced, ..DIRECT }),
            "fdatasync" => disk.sync(disk.find(name), SyncScope::Data).unwrap(),
            "fsync" => disk.sync(disk.find(name), SyncScope::All).unwrap(),
            "syncdir" => disk.sync_folder().unwrap(),
            "sync" => disk.volume.settle(),
            other => panic!("no call {other}"),
        }
    }
    list(&disk.cut(Keep::DropAll))
}

fn list(image: &Path) -> String {
    let file = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        let text = if text.len() == SECTOR { &text[..1] } else { &text };
        format!("{}={text}", path.file_name().unwrap().display())
    };
    let files = std::fs::read_dir(image).unwrap();
    let files: BTreeSet<String> = files.map(|entry| file(&entry.unwrap().path())).collect();
    files.into_iter().collect::<Vec<_>>().join(" ")
}

#[test]
fn names_are_lasting_by_a_commit_or_by_a_sync_of_their_folder() {
    let new = "rename a z, create new, write new n, fdatasync new";
    for (calls, ordered, posix) in [
        // A sync of another file, which is new or grew, commits; a synchronous write as well.
        (new, "b=b new=n z=a", "a=a b=b"),
        ("rename a z, create new, osync new n", "b=b new=n z=a", "a=a b=b"),
        // One that commits nothing makes no name durable.
        ("rename a z, write b B, fdatasync b", "a=a b=B", "a=a b=B"),
        ("rename a z, fsync z, create x, create y", "b=b z=a", "a=a b=b"),
        ("rename a z, fsync z, syncdir, create x, create y", "b=b z=a", "b=b z=a"),
        ("rename a z, sync", "b=b z=a", "b=b z=a"),
    ] {
        assert_eq!(left_after("null", Metadata::Ordered, calls), ordered, "{calls}");
        assert_eq!(left_after("null", Metadata::Posix, calls), posix, "{calls}");
    }
    assert_eq!(left_after("ssd-sata", Metadata::Ordered, new), "b=b new=n z=a");
    assert_eq!(left_after("ssd-sata", Metadata::Posix, new), "a=a b=b");
}

/// Without barriers a sync leaves data and names in the device's cache, which a power cut takes, until as
/// much was written after them as the cache holds.
#[test]
fn what_was_synced_without_barriers_is_lost_with_the_cache_of_the_device() {
    // Each write of b is a page.
    for (model, writes, expected) in [
        ("ssd-sata/barrier=0", 1, "a=a b=b"),
        ("ssd-sata", 1, "b=B z=A"),
        ("ssd-sata/barrier=0/cache=0", 1, "b=B z=A"),
        ("ssd-sata/barrier=0/cache=65536", 2, "a=a b=b"),
        ("ssd-sata/barrier=0/cache=65536", 40, "b=B z=A"),
        ("null/barrier=0", 1, "b=B z=A"),
    ] {
        let more = ", write b B, fdatasync b".repeat(writes);
        let calls = format!("write a A, fdatasync a, rename a z, fsync z{more}");
        let left = left_after(model, Metadata::Ordered, &calls);
        assert_eq!(left, expected, "{model}, {writes}");
    }
}

#[test]
fn a_direct_write_in_place_is_lasting_unless_the_device_has_a_cache() {
    for (model, left) in [
        ("null", "a=n b=b"),
        ("ebs-gp3", "a=n b=b"),
        ("hdd-7200", "a=n b=b"),
        ("hdd-7200/cache=64M", "a=o b=b"),
        ("ssd-sata", "a=o b=b"),
        ("ssd-sata/cache=0", "a=n b=b"),
        ("raid10:2×ssd-sata", "a=o b=b"),
    ] {
        let calls = |write: &str| format!("direct a o, fdatasync a, {write} a n");
        let after = |write| left_after(model, Metadata::Ordered, &calls(write));
        assert_eq!(after("direct"), left, "{model}");
        assert_eq!(after("dsync"), "a=n b=b", "{model}");
    }
    // It made the file longer.
    assert_eq!(left_after("ebs-gp3", Metadata::Ordered, "direct a n"), "a=a b=b");
}

#[test]
#[ignore = "slow: make test-slow"]
fn no_timer_makes_a_name_lasting_where_posix_promises_none() {
    for (metadata, left) in [(Metadata::Ordered, "b=b z=a"), (Metadata::Posix, "a=a b=b")] {
        let files = [("a", &b"a"[..]), ("b", b"b")];
        let disk = Disk::with_options("ssd-sata", &files, true, |options| {
            options.metadata = metadata;
            options.commit = Ext4MountOptions::default().commit;
        });
        disk.rename("a", "z");
        // What the journal's timer asks for, and its end.
        wait_until("a commit", || disk.volume.counts().commits > 0);
        wait_until("its end", || disk.executor.accuracy().modelled.count > 0);
        assert_eq!(list(&disk.cut(Keep::DropAll)), left, "{metadata}");
    }
}

/// The size that `fallocate` gave it, and what lies behind its end, are there again.
#[test]
fn a_file_that_was_allocated_is_as_long_as_before_a_truncation_that_nobody_synced() {
    for (flags, pages) in [(FallocateFlags::empty(), 4), (FallocateFlags::KEEP_SIZE, 1)] {
        let disk = Disk::with_files("null", &[("a", &[b'a'; PAGE])]);
        let a = disk.open("a");
        disk.volume.fallocate(a, 0, 4 * PAGE as u64, flags).unwrap();
        disk.sync(a, SyncScope::All).unwrap();
        let truncate = AttributeChanges { size: Some(0), ..AttributeChanges::default() };
        disk.volume.setattr(a, &truncate).unwrap();
        let left = std::fs::read(disk.cut(Keep::DropAll).join("a")).unwrap();
        let whole = [[b'a'; PAGE].as_slice(), &vec![0; (pages - 1) * PAGE]].concat();
        assert!(left == whole, "{flags:?}: {} bytes", left.len());
    }
}

/// The first byte of each of a file's four pages, `o` of what was synced and `n` of what was written over it,
/// in the images of a power cut.
fn pages_left(model: &str, synced: bool) -> BTreeSet<String> {
    let disk = disk(model, Metadata::Ordered);
    let a = disk.open("a");
    disk.write(a, 0, &[b'o'; 4 * PAGE], BUFFERED).unwrap();
    disk.sync(a, SyncScope::All).unwrap();
    disk.write(a, 0, &[b'n'; 4 * PAGE], BUFFERED).unwrap();
    if synced {
        disk.sync(a, SyncScope::All).unwrap();
    }
    disk.volume.power_off();
    let image = |seed: u64| {
        let folder = disk.folder(&format!("image-{seed}"));
        disk.volume.image(Keep::Subset, seed, &folder).unwrap();
        let left = std::fs::read(folder.join("a")).unwrap();
        assert_eq!(left.len(), 4 * PAGE, "{model}, seed {seed}");
        left.chunks(PAGE).map(|page| char::from(page[0])).collect::<String>()
    };
    (0..60).map(image).collect()
}

/// Either copy may be read of what nobody synced, chunk by chunk; what was synced is in both.
#[test]
fn on_an_array_what_was_not_synced_differs_by_chunk() {
    let array = "raid10:4×ssd-sata/chunk=4K";
    let whole = BTreeSet::from(["oooo".to_owned(), "nnnn".to_owned()]);
    assert_eq!(pages_left("ssd-sata", false), whole);
    let left = pages_left(array, false);
    assert!(whole.is_subset(&left) && left.len() > whole.len(), "{left:?}");
    assert_eq!(pages_left(array, true), BTreeSet::from(["nnnn".to_owned()]));
}
