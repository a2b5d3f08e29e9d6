//! Power cuts, faults and a full disk, as a program meets them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_devices::trigger::Trigger;
use bakeoff_disk::volume::ROOT;
use bakeoff_testkit::{PATIENCE, Tmpfs, wait_until};
use rustix::io::Errno;

use super::reality::{self, Way, errno};
use crate::disk::{BUFFERED, Disk};

fn error<T>(result: std::io::Result<T>) -> Errno {
    errno(&result.map(drop).unwrap_err())
}

/// Writes a file and syncs it.
fn write_durably(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::write(path, bytes).unwrap();
    File::open(path).unwrap().sync_all().unwrap();
}

#[test]
fn after_a_cut_every_call_fails_and_what_was_not_durable_is_undone() {
    let Some(disk) = Disk::mount("null") else { return };
    let large = vec![7; 3 << 20];
    let names = ["removed", "replaced", "cut off", "written"];
    names.iter().for_each(|name| write_durably(&disk.path(name), name));
    write_durably(&disk.path("large"), &large);
    File::open(disk.path("")).unwrap().sync_all().unwrap();

    fs::remove_file(disk.path("removed")).unwrap();
    fs::write(disk.path("new"), "new").unwrap();
    fs::rename(disk.path("new"), disk.path("replaced")).unwrap();
    fs::write(disk.path("cut off"), "").unwrap();
    File::options().write(true).open(disk.path("large")).unwrap().set_len(100).unwrap();
    fs::create_dir(disk.path("folder")).unwrap();
    let mut file = reality::open(&disk.path("written"), Way::Buffered).unwrap();
    file.write_all_at(b"again", 0).unwrap();
    assert_eq!(fs::read_to_string(disk.path("written")).unwrap(), "againen");
    assert!(!disk.path(".bakeoff-disk").exists());

    let image = disk.cut(Keep::DropAll);
    for name in names {
        assert_eq!(fs::read_to_string(image.join(name)).unwrap(), name);
    }
    assert!(fs::read(image.join("large")).unwrap() == large);
    assert_eq!(fs::read_dir(&image).unwrap().count(), 5);

    file.seek(SeekFrom::Start(0)).unwrap();
    let failed = [
        error(file.read_to_string(&mut String::new())),
        error(file.write_all(b"y")),
        error(file.sync_all()),
        error(file.metadata()),
        error(File::open(disk.path("large"))),
        error(File::create(disk.path("other"))),
        error(fs::read_dir(disk.path(""))),
        error(fs::metadata(disk.path("folder"))),
        error(fs::rename(disk.path("large"), disk.path("z"))),
    ];
    assert_eq!(failed, [Errno::IO; 9]);
}

#[test]
fn the_sync_that_the_power_goes_with_fails_and_so_does_all_that_comes_later() {
    let Some(disk) = Disk::mount("null") else { return };
    let files = [Way::Buffered, Way::Synced, Way::DirectSynced, Way::Mapped].map(|way| {
        let path = disk.path(format!("{way:?}"));
        write_durably(&path, [0; 8192]);
        (way, reality::open(&path, way).unwrap())
    });
    disk.volume.await_moments(&[Trigger::Syncs(10).into()], &[]).unwrap();
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
    let image = disk.cut(Keep::DropAll);
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
fn who_waits_for_the_disk_when_the_power_goes_fails_soon() {
    for trigger in
        [Some(Trigger::After(Duration::from_millis(300))), Some(Trigger::Writes(2)), None]
    {
        let Some(disk) = Disk::mount(SLOW) else { return };
        let file = File::create(disk.path("file")).unwrap();
        if let Some(trigger) = trigger {
            disk.volume.await_moments(&[trigger.into()], &[]).unwrap();
        }
        file.write_all_at(&vec![1; MUCH], 0).unwrap_or_default();
        let waiting = begin_sync(file);
        if trigger.is_none() {
            wait_until("its requests", || disk.executor.counts().in_queue > 0);
            assert!(waiting.try_recv().is_err());
            assert_eq!(fs::read_dir(disk.cut(Keep::DropAll)).unwrap().count(), 0);
        }
        assert_eq!(waiting.recv_timeout(PATIENCE), Ok(Err(Errno::IO)), "{trigger:?}");
        assert!(disk.volume.is_off());
    }
}

#[test]
fn the_nth_call_of_a_file_fails() {
    let Some(disk) = Disk::mount("null") else { return };
    fs::create_dir(disk.path("d")).unwrap();
    fs::write(disk.path("d/file"), vec![1; 8192]).unwrap();
    let file = reality::open(&disk.path("d/file"), Way::Direct).unwrap();
    disk.volume.inject_fault("read:2:EIO:d/f*".parse().unwrap());
    let mut room = vec![0u8; 4096 + 512];
    let at = room.as_ptr().align_offset(4096);
    let mut read = || file.read_exact_at(&mut room[at..at + 512], 0).map_err(|e| errno(&e));
    assert_eq!([read(), read(), read()], [Ok(()), Err(Errno::IO), Ok(())]);

    disk.volume.inject_fault("write:1:ENOSPC:file".parse().unwrap());
    let write = |byte| reality::write(&file, Way::Direct, 0, &[byte; 512]);
    assert_eq!(write(2), Err(Errno::NOSPC));
    assert_eq!(fs::read(disk.path("d/file")).unwrap(), vec![1; 8192]);
    assert_eq!(write(2), Ok(()));
    disk.volume.inject_fault("write:1:EIO:file".parse().unwrap());
    assert_eq!(error(file.set_len(5)), Errno::IO);
    assert_eq!(file.metadata().unwrap().len(), 8192);
}

#[test]
fn what_a_failed_sync_drops_is_read_until_the_power_goes() {
    let Some(disk) = Disk::mount("null") else { return };
    write_durably(&disk.path("file"), [1; 8192]);
    let file = reality::open(&disk.path("file"), Way::Buffered).unwrap();
    file.write_all_at(&[2; 8192], 0).unwrap();
    disk.volume.inject_fault("fsync:1:EIO:file".parse().unwrap());
    assert_eq!(error(file.sync_all()), Errno::IO);
    file.write_all_at(&[3; 512], 512).unwrap();
    file.sync_all().unwrap();
    assert_eq!(fs::read(disk.path("file")).unwrap()[1024..], [2; 8192 - 1024]);
    let mut durable = vec![1; 8192];
    durable[512..1024].fill(3);
    assert!(fs::read(disk.cut(Keep::DropAll).join("file")).unwrap() == durable);
}

#[test]
fn a_full_disk_says_so_and_takes_more_when_there_is_room() {
    let Some(disk) = Disk::mount("null") else { return };
    fs::write(disk.path("first"), vec![1; 1 << 20]).unwrap();
    disk.volume.inject_fault(format!("full:{}", 3 << 20).parse().unwrap());
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
    disk.volume.inject_fault("full:off".parse().unwrap());
    second.write_all(&vec![3; 4 << 20]).unwrap();
    assert!(second.metadata().unwrap().blocks() * 512 > 4 << 20);
}

/// Nothing is committed by itself in these tests.
#[test]
fn what_was_removed_makes_room_before_a_writer_hears_that_the_disk_is_full() {
    let folder = tempfile::tempdir().unwrap();
    for (model, write_back) in [("null", false), ("ssd-nvme", true)] {
        let small = folder.path().join(model);
        let Some(_tmpfs) = Tmpfs::mount(&small, "40m,nr_inodes=30") else { return };
        let folders = tempfile::tempdir_in(&small).unwrap();
        let Some(disk) = Disk::mount_in(folders, model, write_back) else { return };
        let fill = |name: &str, byte: u8, mib: usize| {
            let mut file = File::create(disk.path(name))?;
            (0..mib).try_for_each(|_| file.write_all(&[byte; 1 << 20]))?;
            file.sync_all()
        };
        let free = || {
            let stat = rustix::fs::statvfs(disk.path("")).unwrap();
            (stat.f_bavail * stat.f_frsize) >> 20
        };
        fill("a", 1, 24).unwrap();
        assert!(free() <= 16, "{}", free());
        fs::remove_file(disk.path("a")).unwrap();
        // The kernel lets go of it soon.
        wait_until("the room", || free() >= 36);
        fill("b", 2, 24).unwrap();
        // There is no room to keep what is cut off.
        fill("b", 3, 24).unwrap();
        assert!(fs::read(disk.path("b")).unwrap() == vec![3; 24 << 20]);
        fill("c", 4, 1).unwrap();
        fs::rename(disk.path("c"), disk.path("b")).unwrap();
        fill("d", 5, 24).unwrap();
        fs::remove_file(disk.path("d")).unwrap();
        let file = File::create(disk.path("e")).unwrap();
        let plain = rustix::fs::FallocateFlags::empty();
        reality::allocate(&file, plain, 0, 30 << 20).unwrap();
        assert_eq!(error(fill("f", 6, 24)), Errno::NOSPC);
        fs::remove_file(disk.path("e")).unwrap();
        drop(file);
        // More names than there are inodes.
        for number in 0..60 {
            let path = disk.path(format!("{number}"));
            write_durably(&path, [7; 10]);
            fs::remove_file(path).unwrap();
        }
    }
}

/// By both kinds of metadata.
#[test]
fn what_made_room_for_others_does_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small");
    let Some(_tmpfs) = Tmpfs::mount(&small, "40m") else { return };
    for metadata in [Metadata::Ordered, Metadata::Posix] {
        let folders = tempfile::tempdir_in(&small).unwrap();
        let files = [("a", &[1; 24 << 20][..]), ("b", b"b")];
        let disk =
            Disk::with_options_in(folders, "null", &files, true, |it| it.metadata = metadata);
        let left = |disk: &Disk| disk.volume.statfs().unwrap().f_bavail;
        let before = left(&disk);
        disk.volume.unlink(ROOT, OsStr::new("a")).unwrap();
        assert!(left(&disk) > before);
        let new = disk.create("new");
        disk.write(new, 0, &[2; 24 << 20], BUFFERED).unwrap();
        let image = folder.path().join(format!("{metadata}"));
        fs::create_dir(&image).unwrap();
        disk.volume.cut_power(Keep::DropAll, 1, &image).unwrap();
        let names = fs::read_dir(&image).unwrap();
        let names: BTreeSet<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        // It was made before there was a need for room.
        assert_eq!(Vec::from_iter(names), ["b", "new"], "{metadata}");
    }
}
