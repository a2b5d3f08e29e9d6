//! The folders that images of a disk are written into: nobody else decides over them, and each is one
//! image's alone.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use bakeoff_testkit::{NOBODY, needs_root};
use rustix::fs::{FlockOperation, flock};

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
    place.run(&["disk", "unmount", "m"]).code(0);
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
    place.run(&["disk", "unmount", "m"]).code(0);
    disks.assert_clean();
}
