//! Extended attributes.

use std::ffi::OsStr;

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
