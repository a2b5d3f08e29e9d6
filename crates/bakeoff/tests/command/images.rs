//! The folders that images of a disk are written into: nobody else decides over them, and each is one
//! image's alone.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use bakeoff_testkit::{NOBODY, needs_root, wait_until};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};

use super::Done;
use super::disk::{Disks, write_through};

/// Both ways to an image.
const WAYS: [&[&str]; 2] =
    [&["disk", "snapshot", "m"], &["disk", "cut", "m", "--keep", "drop-all", "--image"]];

#[test]
fn an_image_is_written_only_where_nobody_else_decides() {
    if !needs_root("be somebody else") {
        return;
    }
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    disks.mount("null");
    write_through(&place.path("m/file"), "text").unwrap();
    let theirs = place.path("theirs");
    for folder in [theirs.clone(), theirs.join("empty"), place.path("precious")] {
        fs::create_dir(folder).unwrap();
    }
    fs::write(place.path("precious/thesis"), "years").unwrap();
    symlink(place.path("precious"), theirs.join("link")).unwrap();
    for path in [theirs.clone(), theirs.join("empty")] {
        chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let open = place.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    for way in WAYS {
        for folder in ["theirs/new", "theirs/empty", "theirs/link", "open", "open/new"] {
            let done = place.run(&[way, &[folder]].concat()).code(3);
            done.says(&["can't take the image", "take another folder"]);
        }
    }
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 2, "nothing is made there");
    assert_eq!(fs::read_dir(theirs.join("empty")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(place.path("precious/thesis")).unwrap(), "years");
    assert!(disks.stat()["off_at_ns"].is_null(), "the power is on");
    // As in /tmp, where nobody can touch what is root's.
    fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
    for (way, folder) in WAYS.into_iter().zip(["open/one", "open/other"]) {
        place.run(&[way, &[folder]].concat()).code(0);
    }
    disks.unmount();
    disks.assert_clean();
}

#[test]
fn two_images_are_not_written_into_one_folder() {
    let Some(disks) = Disks::new() else { return };
    let place = &disks.0;
    disks.mount("null");
    write_through(&place.path("m/file"), "text").unwrap();
    fs::create_dir(place.path("image")).unwrap();
    // What another image's writer holds while it has written nothing yet.
    let writer = File::open(place.path("image")).unwrap();
    flock(&writer, FlockOperation::LockExclusive).unwrap();
    for way in WAYS {
        let done = place.run(&[way, &["image"]].concat()).code(3);
        done.says(&["another image is being written there"]);
        assert!(place.path("image").exists(), "it is the other one's");
    }
    assert!(disks.stat()["off_at_ns"].is_null(), "the power is on");
    drop(writer);
    place.run(&["disk", "snapshot", "m", "image"]).code(0);
    assert!(place.path("image/file").exists());
    disks.unmount();
    disks.assert_clean();
}

#[test]
fn a_daemon_that_is_told_to_end_finishes_no_snapshot() {
    // One that was finished before it was told says nothing.
    let ended = (0..TRIES).find_map(|_| match told_to_end_within_a_snapshot() {
        Some(false) => None,
        ended => Some(ended),
    });
    assert!(ended.is_some(), "it finishes each of {TRIES} snapshots");
}

/// How often a snapshot may be faster than the test.
const TRIES: u32 = 10;

/// Whether the daemon was told before the snapshot was whole; `None` where there are no disks.
fn told_to_end_within_a_snapshot() -> Option<bool> {
    let disks = Disks::new()?;
    let place = &disks.0;
    disks.mount("null");
    let large = File::create(place.path("m/large")).unwrap();
    let block = vec![1; 1 << 20];
    (0..300).for_each(|_| (&large).write_all(&block).unwrap());
    large.sync_all().unwrap();
    drop(large);
    let daemon = disks.stat()["pid"].as_i64().and_then(|it| Pid::from_raw(it as i32)).unwrap();
    let snapshot = place.start(&["disk", "snapshot", "m", "image"]);
    wait_until("the image is being written", || place.path("image/large").exists());
    kill_process(daemon, Signal::TERM).unwrap();
    let done = Done(snapshot.wait_with_output().unwrap());
    if done.0.status.success() {
        return Some(false);
    }
    let done = done.code(1);
    let done = done.says(&["the disk is being unmounted", "nothing of the image is left"]);
    assert!(!done.err().contains("runs on"), "{}", done.err());
    assert!(!place.path("image").exists());
    wait_until("the disk is gone", || !bakeoff_disk::table::is_ours(&place.path("m")));
    wait_until("its folder", || !place.path("b/.bakeoff-disk").exists());
    Some(true)
}
