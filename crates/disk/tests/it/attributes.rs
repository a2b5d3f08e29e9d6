//! Extended attributes.

use std::ffi::OsStr;
use std::path::Path;

use bakeoff_devices::plug::Keep;
use bakeoff_disk::volume::ROOT;
use rustix::fs::XattrFlags;

use crate::disk::Disk;

#[test]
fn whoever_asks_for_the_length_of_an_attribute_is_told_it() {
    let disk = Disk::with_files("null", &[("f", b"x")]);
    let (ino, name) = (disk.find("f"), OsStr::new("user.comment"));
    let value = b"important";
    disk.volume.setxattr(ino, name, value, XattrFlags::empty()).unwrap();
    assert_eq!(disk.volume.getxattr(ino, name, &mut []), Ok(value.len()));
    let mut buffer = [0; 64];
    let length = disk.volume.getxattr(ino, name, &mut buffer).unwrap();
    assert_eq!(&buffer[..length], value);
    let listed = disk.volume.listxattr(ino, &mut buffer).unwrap();
    assert_eq!(&buffer[..listed], b"user.comment\0");
    assert_eq!(disk.volume.listxattr(ino, &mut []), Ok(listed));
}

#[test]
fn images_keep_what_was_set_by_every_rule() {
    let name = OsStr::new("user.comment");
    let read = |path: &Path| {
        let mut buffer = [0; 64];
        let length = rustix::fs::getxattr(path, name, &mut buffer);
        length.map(|length| String::from_utf8_lossy(&buffer[..length]).into_owned())
    };
    for keep in Keep::ALL {
        let disk = Disk::with_files("null", &[("d/f", b"x"), ("gone", b"x")]);
        for path in ["", "d", "d/f", "gone"] {
            let ino = if path.is_empty() { ROOT } else { disk.find(path) };
            disk.volume.setxattr(ino, name, path.as_bytes(), XattrFlags::CREATE).unwrap();
        }
        disk.volume.unlink(ROOT, OsStr::new("gone")).unwrap();
        let snapshot = disk.folder("snapshot");
        disk.volume.snapshot(keep, 1, &snapshot).unwrap();
        for image in [snapshot, disk.cut(keep)] {
            for path in ["", "d", "d/f"] {
                assert_eq!(read(&image.join(path)).as_deref(), Ok(path), "{keep:?}");
            }
            // Nobody synced that it was removed.
            if image.join("gone").exists() {
                assert_eq!(read(&image.join("gone")).as_deref(), Ok("gone"), "{keep:?}");
            }
        }
    }
}
