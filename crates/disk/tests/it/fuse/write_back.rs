//! A mount whose buffered writes the kernel gathers.

use std::fs::{self, File};
use std::io::Write;

use bakeoff_devices::plug::Keep;
use bakeoff_folders::{Dir, disk_usage};

use crate::disk::Disk;

const WRITES: usize = 1000;

fn append_small(file: &mut File) {
    for _ in 0..WRITES {
        file.write_all(&[7; 100]).unwrap();
    }
}

#[test]
fn small_writes_arrive_together_and_count_once_they_are_synced() {
    let Some(disk) = Disk::mount_with("null", true) else { return };
    let mut file = File::create(disk.path("log")).unwrap();
    append_small(&mut file);
    file.sync_data().unwrap();
    let counts = disk.volume.counts().all;
    let writes = counts.host_writes.requests;
    assert!(writes < WRITES as u64 / 10, "{writes} writes arrived");
    assert_eq!(counts.data_syncs, 1);
    assert!(counts.device_writes.bytes >= 100 * WRITES as u64);
}

#[test]
fn without_it_each_write_arrives() {
    let Some(disk) = Disk::mount("null") else { return };
    let mut file = File::create(disk.path("log")).unwrap();
    append_small(&mut file);
    assert!(disk.volume.counts().all.host_writes.requests >= WRITES as u64);
}

#[test]
fn a_cut_keeps_what_was_synced_and_may_take_what_was_not() {
    let Some(disk) = Disk::mount_with("null", true) else { return };
    let mut file = File::create(disk.path("log")).unwrap();
    append_small(&mut file);
    file.sync_all().unwrap();
    append_small(&mut file);
    let image = disk.cut(Keep::DropAll);
    assert_eq!(fs::metadata(image.join("log")).unwrap().len(), 100 * WRITES as u64);
}

#[test]
fn sizes_and_blocks_are_those_of_what_was_handed_over() {
    let Some(disk) = Disk::mount_with("null", true) else { return };
    let mut file = File::create(disk.path("log")).unwrap();
    for rounds in 1..4 {
        append_small(&mut file);
        rustix::fs::syncfs(File::open(disk.path("")).unwrap()).unwrap();
        let length = (100 * rounds * WRITES) as u64;
        assert_eq!(fs::metadata(disk.path("log")).unwrap().len(), length);
        let used = disk_usage(&Dir::open(&disk.path("")).unwrap()).unwrap();
        assert!(used >= length, "{used} bytes for {length}");
        assert_eq!(fs::metadata(disk.folders.path().join("backing/log")).unwrap().len(), length);
    }
}
