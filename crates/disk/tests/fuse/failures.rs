//! Power cuts, faults and a full disk, as a program meets them.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use bakeoff_devices::plug::Keep;
use bakeoff_devices::trigger::Trigger;
use bakeoff_testkit::{PATIENCE, wait_until};
use rustix::io::Errno;

use crate::common::Disk;
use crate::reality::{self, Way, errno};

/// A new empty folder outside of the disk.
pub fn folder(disk: &Disk, name: &str) -> PathBuf {
    let path = disk.folders.path().join(name);
    fs::create_dir(&path).unwrap();
    path
}

fn error<T>(result: std::io::Result<T>) -> Errno {
    errno(&result.map(drop).unwrap_err())
}

#[test]
fn after_a_cut_every_call_fails_and_the_image_holds_what_was_synced() {
    let Some(disk) = Disk::mount("null") else { return };
    fs::write(disk.path("synced"), "old").unwrap();
    let mut file = reality::open(&disk.path("synced"), Way::Buffered).unwrap();
    file.sync_all().unwrap();
    file.write_all_at(b"new", 0).unwrap();
    fs::write(disk.path("never"), "x").unwrap();
    fs::create_dir(disk.path("folder")).unwrap();
    assert_eq!(fs::read_to_string(disk.path("synced")).unwrap(), "new");

    let image = folder(&disk, "image");
    disk.volume.cut(Keep::DropAll, 1, &image).unwrap();
    assert_eq!(fs::read_to_string(image.join("synced")).unwrap(), "old");
    assert_eq!(fs::read_dir(&image).unwrap().count(), 1);

    let mut buffer = String::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    assert_eq!(error(file.read_to_string(&mut buffer)), Errno::IO);
    assert_eq!(error(file.write_all(b"y")), Errno::IO);
    assert_eq!(error(file.sync_all()), Errno::IO);
    assert_eq!(error(file.metadata()), Errno::IO);
    assert_eq!(error(File::open(disk.path("never"))), Errno::IO);
    assert_eq!(error(File::create(disk.path("other"))), Errno::IO);
    assert_eq!(error(fs::read_dir(disk.path(""))), Errno::IO);
    assert_eq!(error(fs::metadata(disk.path("folder"))), Errno::IO);
    assert_eq!(error(fs::rename(disk.path("never"), disk.path("z"))), Errno::IO);
    let again = folder(&disk, "again");
    disk.volume.image(Keep::DropAll, 2, &again).unwrap();
    assert_eq!(fs::read_to_string(again.join("synced")).unwrap(), "old");
}

#[test]
fn the_sync_that_the_power_goes_with_fails_and_so_does_all_that_comes_later() {
    let Some(disk) = Disk::mount("null") else { return };
    for way in [Way::Buffered, Way::Synced, Way::DirectSynced, Way::Mapped] {
        fs::write(disk.path(format!("{way:?}")), vec![0; 8192]).unwrap();
        File::open(disk.path(format!("{way:?}"))).unwrap().sync_all().unwrap();
    }
    let files = [Way::Buffered, Way::Synced, Way::DirectSynced, Way::Mapped]
        .map(|way| (way, reality::open(&disk.path(format!("{way:?}")), way).unwrap()));
    disk.volume.arm(Trigger::Syncs(10)).unwrap();
    let mut answered = 0;
    let struck = (1..).find_map(|n| {
        files
            .iter()
            .position(|(way, file)| {
                let written = reality::write(file, *way, 0, &[n; 4096]);
                let synced =
                    written.and_then(|()| if *way == Way::Buffered { sync(file) } else { Ok(()) });
                answered += u8::from(synced.is_ok());
                synced.is_err()
            })
            .map(|file| (file, n))
    });
    let (file, n) = struck.unwrap();
    assert_eq!(answered, 9);
    for (_, file) in &files {
        assert_eq!(sync(file), Err(Errno::IO));
    }
    let image = folder(&disk, "image");
    disk.volume.image(Keep::DropAll, 1, &image).unwrap();
    for (place, (way, _)) in files.iter().enumerate() {
        let durable = fs::read(image.join(format!("{way:?}"))).unwrap();
        let last = if place < file { n } else { n - 1 };
        assert!(durable[..4096] == [last; 4096] && durable.len() == 8192, "{way:?}");
    }
}

fn sync(file: &File) -> Result<(), Errno> {
    file.sync_data().map_err(|error| errno(&error))
}

/// A disk that writes [`MUCH`] in ten minutes.
const SLOW: &str = "ebs-magnetic/throughput_mib_s=0.1";
const MUCH: usize = 64 << 20;

/// Begins a sync on another thread; where it says how it ended, which is long before its time.
fn begin_sync(file: File) -> mpsc::Receiver<Result<(), Errno>> {
    let (told, heard) = mpsc::channel();
    thread::spawn(move || told.send(sync(&file)));
    heard
}

#[test]
fn who_waits_when_an_armed_moment_comes_fails_soon() {
    for trigger in [Trigger::After(Duration::from_millis(300)), Trigger::Writes(2)] {
        let Some(disk) = Disk::mount(SLOW) else { return };
        let file = File::create(disk.path("file")).unwrap();
        disk.volume.arm(trigger).unwrap();
        file.write_all_at(&vec![1; MUCH], 0).unwrap_or_default();
        let ended = begin_sync(file).recv_timeout(PATIENCE);
        assert_eq!(ended, Ok(Err(Errno::IO)), "{trigger:?}");
        assert!(disk.volume.is_off());
        assert!(disk.volume.arm(trigger).is_err());
    }
}

#[test]
fn those_who_wait_for_the_disk_when_the_power_goes_fail_at_once() {
    let Some(disk) = Disk::mount(SLOW) else { return };
    let file = File::create(disk.path("file")).unwrap();
    file.write_all_at(&vec![1; MUCH], 0).unwrap();
    let image = folder(&disk, "image");
    let waiting = begin_sync(file);
    wait_until("its requests", || disk.executor.counts().in_queue > 0);
    assert!(waiting.try_recv().is_err());
    disk.volume.cut(Keep::DropAll, 1, &image).unwrap();
    assert_eq!(waiting.recv_timeout(PATIENCE), Ok(Err(Errno::IO)));
    assert_eq!(fs::read_dir(&image).unwrap().count(), 0);
}

#[test]
fn a_cut_that_is_not_possible_changes_nothing() {
    let Some(disk) = Disk::mount("null") else { return };
    fs::write(disk.path("file"), "x").unwrap();
    let inside = disk.folders.path().join("backing/image");
    fs::create_dir(&inside).unwrap();
    assert!(disk.volume.cut(Keep::Torn, 1, &inside).is_err());
    let full = folder(&disk, "full");
    fs::write(full.join("file"), "").unwrap();
    assert!(disk.volume.cut(Keep::Torn, 1, &full).is_err());
    assert!(disk.volume.cut(Keep::Torn, 1, &full.join("nowhere")).is_err());
    assert_eq!(fs::read_to_string(disk.path("file")).unwrap(), "x");
}

#[test]
fn removed_and_replaced_files_come_back_when_that_was_not_durable() {
    let Some(disk) = Disk::mount("null") else { return };
    for name in ["removed", "replaced", "cut off"] {
        fs::write(disk.path(name), name).unwrap();
        File::open(disk.path(name)).unwrap().sync_all().unwrap();
    }
    let large = vec![7; 3 << 20];
    fs::write(disk.path("large"), &large).unwrap();
    File::open(disk.path("large")).unwrap().sync_all().unwrap();
    File::open(disk.path("")).unwrap().sync_all().unwrap();

    fs::remove_file(disk.path("removed")).unwrap();
    fs::write(disk.path("new"), "new").unwrap();
    fs::rename(disk.path("new"), disk.path("replaced")).unwrap();
    fs::write(disk.path("cut off"), "").unwrap();
    File::options().write(true).open(disk.path("large")).unwrap().set_len(100).unwrap();
    assert!(!disk.path(".bakeoff-disk").exists());

    let image = folder(&disk, "image");
    disk.volume.cut(Keep::DropAll, 1, &image).unwrap();
    for name in ["removed", "replaced", "cut off"] {
        assert_eq!(fs::read_to_string(image.join(name)).unwrap(), name);
    }
    assert!(fs::read(image.join("large")).unwrap() == large);
    assert_eq!(fs::read_dir(&image).unwrap().count(), 4);
}

#[test]
fn the_same_history_and_seed_leave_the_same_image() {
    let mut images = Vec::new();
    for _ in 0..2 {
        let Some(disk) = Disk::mount("null") else { return };
        for n in 0..20 {
            let file = File::create(disk.path(format!("file{n}"))).unwrap();
            for page in 0..10 {
                file.write_all_at(&[n * 10 + page; 4096], u64::from(page) * 3000).unwrap();
            }
            if n % 3 == 0 {
                file.sync_all().unwrap();
            }
        }
        let image = folder(&disk, "image");
        disk.volume.cut(Keep::Torn, 5, &image).unwrap();
        let mut files: Vec<_> = fs::read_dir(&image)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_owned(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        images.push(files);
    }
    assert!(images[0] == images[1]);
    assert!(images[0].len() >= 7);
}

#[test]
fn the_nth_call_of_a_file_fails() {
    let Some(disk) = Disk::mount("null") else { return };
    fs::create_dir(disk.path("d")).unwrap();
    fs::write(disk.path("d/file"), vec![1; 8192]).unwrap();
    let file = reality::open(&disk.path("d/file"), Way::Direct).unwrap();
    disk.volume.inject("read:2:EIO:d/f*".parse().unwrap());
    let mut room = vec![0u8; 4096 + 512];
    let at = room.as_ptr().align_offset(4096);
    let mut read = || file.read_exact_at(&mut room[at..at + 512], 0).map_err(|e| errno(&e));
    assert_eq!([read(), read(), read()], [Ok(()), Err(Errno::IO), Ok(())]);

    disk.volume.inject("write:1:ENOSPC:file".parse().unwrap());
    let write = |byte| reality::write(&file, Way::Direct, 0, &[byte; 512]);
    assert_eq!(write(2), Err(Errno::NOSPC));
    assert_eq!(fs::read(disk.path("d/file")).unwrap(), vec![1; 8192]);
    assert_eq!(write(2), Ok(()));
    disk.volume.inject("write:1:EIO:file".parse().unwrap());
    assert_eq!(error(file.set_len(5)), Errno::IO);
    assert_eq!(file.metadata().unwrap().len(), 8192);
}

#[test]
fn what_a_failed_sync_drops_is_read_until_the_power_goes() {
    let Some(disk) = Disk::mount("null") else { return };
    fs::write(disk.path("file"), vec![1; 8192]).unwrap();
    let file = reality::open(&disk.path("file"), Way::Buffered).unwrap();
    file.sync_all().unwrap();
    file.write_all_at(&[2; 8192], 0).unwrap();
    disk.volume.inject("fsync:1:EIO:file".parse().unwrap());
    assert_eq!(error(file.sync_all()), Errno::IO);
    file.write_all_at(&[3; 512], 512).unwrap();
    file.sync_all().unwrap();
    assert_eq!(fs::read(disk.path("file")).unwrap()[1024..], [2; 8192 - 1024]);

    let image = folder(&disk, "image");
    disk.volume.cut(Keep::DropAll, 1, &image).unwrap();
    let mut durable = vec![1; 8192];
    durable[512..1024].fill(3);
    assert!(fs::read(image.join("file")).unwrap() == durable);
}

#[test]
fn direct_writes_wait_in_the_cache_of_a_device_that_has_one() {
    for (model, durable) in [("null", [2; 512]), ("ssd-sata", [1; 512])] {
        let Some(disk) = Disk::mount(model) else { return };
        fs::write(disk.path("file"), vec![1; 8192]).unwrap();
        let file = reality::open(&disk.path("file"), Way::Direct).unwrap();
        file.sync_all().unwrap();
        reality::write(&file, Way::Direct, 0, &[2; 512]).unwrap();
        reality::write(&file, Way::Direct, 8192, &[3; 512]).unwrap();
        let image = folder(&disk, "image");
        disk.volume.cut(Keep::DropAll, 1, &image).unwrap();
        let data = fs::read(image.join("file")).unwrap();
        assert_eq!((&data[..512], data.len()), (&durable[..], 8192), "{model}");
    }
}

#[test]
fn a_full_disk_says_so_and_takes_more_when_there_is_room() {
    let Some(disk) = Disk::mount("null") else { return };
    fs::write(disk.path("first"), vec![1; 1 << 20]).unwrap();
    disk.volume.inject(format!("full:{}", 3 << 20).parse().unwrap());
    let stat = rustix::fs::statvfs(disk.path("")).unwrap();
    assert_eq!(stat.f_blocks * stat.f_frsize, 3 << 20);
    assert!(stat.f_bavail * stat.f_frsize <= 2 << 20);

    let mut second = File::create(disk.path("second")).unwrap();
    let block = vec![2; 64 << 10];
    let full = (0..1000).find_map(|_| second.write_all(&block).err()).unwrap();
    assert_eq!(errno(&full), Errno::NOSPC);
    let size = second.metadata().unwrap().len();
    assert!((3 << 19..=2 << 20).contains(&size), "{size}");
    let more = rustix::fs::FallocateFlags::empty();
    assert_eq!(reality::allocate(&second, more, 8 << 20, 1 << 20), Err(Errno::NOSPC));
    // What is there can be written again.
    second.write_all_at(&block, 0).unwrap();

    fs::remove_file(disk.path("first")).unwrap();
    second.seek(SeekFrom::End(0)).unwrap();
    second.write_all(&block).unwrap();
    disk.volume.inject("full:off".parse().unwrap());
    second.write_all(&vec![3; 4 << 20]).unwrap();
    assert!(second.metadata().unwrap().blocks() * 512 > 4 << 20);
}
