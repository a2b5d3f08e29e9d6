//! Images of a disk that runs on, without FUSE: while others write, rename and remove, each is of one
//! moment.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use bakeoff_devices::ext4::{Mode, SyncScope};
use bakeoff_devices::models::Models;
use bakeoff_devices::plug::Keep;
use bakeoff_devices::station::Station;
use bakeoff_disk::executor::{self, Executor};
use bakeoff_disk::volume::{
    DataAccess, FileOwner, HIDDEN, InodeNumber, ROOT, Volume, VolumeOptions,
};
use bakeoff_testkit::{needs_root, wait_until};
use rustix::fs::RenameFlags;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tempfile::TempDir;

const PAGE: usize = 4096;
/// Pages of the file that is written over and over: more than are read at a time.
const PAGES: usize = 512;
const BUFFERED: DataAccess =
    DataAccess { mode: Mode::Buffered, sync: None, drop_privileges: false };

/// The page that is written as the n-th of a round: far from those before and after it, so that an
/// image that was copied while they were written has some of later ones and not all of earlier ones.
fn nth(n: usize) -> usize {
    n * 201 % PAGES
}

/// A disk that takes no time over a new folder, which has a file `pages` in it.
fn disk() -> (TempDir, Arc<Volume>) {
    let folders = tempfile::tempdir().unwrap();
    let backing = folders.path().join("backing");
    fs::create_dir(&backing).unwrap();
    fs::write(backing.join("pages"), vec![0; PAGES * PAGE]).unwrap();
    let spec = Models::standard().parse("null").unwrap();
    let station = Station::new(spec.build(1), 1);
    let executor =
        Executor::start(station, executor::ExecutorOptions { timing: false, null: true });
    let volume = Volume::open(&backing, VolumeOptions::new(Arc::new(executor), &spec)).unwrap();
    (folders, volume)
}

fn open(volume: &Volume, name: &str) -> InodeNumber {
    let ino = volume.lookup(ROOT, OsStr::new(name)).unwrap().st_ino;
    volume.open_file(ino, Mode::Buffered, true).unwrap();
    ino
}

fn create(volume: &Volume, name: &str) -> InodeNumber {
    let who = FileOwner {
        uid: rustix::process::getuid().as_raw(),
        gid: rustix::process::getgid().as_raw(),
    };
    volume.create(ROOT, OsStr::new(name), 0o600, who).unwrap().st_ino
}

fn write(volume: &Arc<Volume>, ino: InodeNumber, offset: usize, data: &[u8], access: DataAccess) {
    let (done, end) = mpsc::channel();
    volume.write(ino, offset as u64, data, access, move |wrote| done.send(wrote).unwrap());
    assert_eq!(end.recv().unwrap(), Ok(data.len()));
}

fn sync(volume: &Arc<Volume>, ino: InodeNumber) {
    let (done, end) = mpsc::channel();
    volume.fsync(ino, SyncScope::All, move |synced| done.send(synced).unwrap());
    assert_eq!(end.recv().unwrap(), Ok(()));
}

fn snapshot(volume: &Volume, keep: Keep, seed: u64, to: PathBuf) -> io::Result<PathBuf> {
    fs::create_dir(&to)?;
    volume.snapshot(keep, seed, &to).map(|()| to)
}

/// Does something again and again on another thread while `meanwhile` runs; gives how often.
fn while_busy(
    busy: impl Fn(u64) + Send + std::marker::Sync,
    meanwhile: impl FnOnce(&AtomicU64),
) -> u64 {
    let (rounds, over) = (AtomicU64::new(0), AtomicBool::new(false));
    /// Ends the other thread, however this one ends.
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    thread::scope(|scope| {
        let _end = End(&over);
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                busy(rounds.load(Ordering::Acquire));
                rounds.fetch_add(1, Ordering::Release);
            }
        });
        wait_until("the first rounds", || rounds.load(Ordering::Acquire) > 3);
        meanwhile(&rounds);
    });
    rounds.into_inner()
}

/// The numbered records of a log.
fn records(image: &Path) -> Vec<u64> {
    let bytes = fs::read(image.join("log")).unwrap();
    bytes.chunks(8).map(|it| u64::from_le_bytes(it.try_into().unwrap())).collect()
}

#[test]
fn every_record_that_was_acknowledged_is_in_an_image_by_each_rule_and_the_log_goes_on() {
    let (folders, volume) = disk();
    let log = create(&volume, "log");
    let append = |number: u64| {
        write(&volume, log, number as usize * 8, &number.to_le_bytes(), BUFFERED);
        sync(&volume, log);
    };
    let rounds = while_busy(append, |acknowledged| {
        for (number, keep) in Keep::ALL.into_iter().cycle().take(12).enumerate() {
            let before = acknowledged.load(Ordering::Acquire);
            let folder = folders.path().join(format!("image-{number}"));
            let image = snapshot(&volume, keep, number as u64, folder).unwrap();
            let after = acknowledged.load(Ordering::Acquire);
            let there = records(&image);
            assert!(there.iter().copied().eq(0..there.len() as u64), "{keep}: {there:?}");
            // One more may be in flight.
            assert!((before..=after + 1).contains(&(there.len() as u64)), "{keep}");
            wait_until("it to go on", || acknowledged.load(Ordering::Acquire) > after);
        }
    });
    assert_eq!((volume.recorded_bytes(), volume.is_off()), (0, false));
    volume.power_off();
    let image = folders.path().join("the-last");
    fs::create_dir(&image).unwrap();
    volume.image(Keep::DropAll, 1, &image).unwrap();
    assert!(records(&image).into_iter().eq(0..rounds));
}

#[test]
fn an_image_is_of_one_moment_though_all_is_written_over_while_it_is_made() {
    for (mode, keep) in [
        (Mode::Buffered, Keep::DropAll),
        (Mode::Buffered, Keep::Prefix),
        (Mode::Direct, Keep::DropAll),
    ] {
        let (folders, volume) = disk();
        let pages = open(&volume, "pages");
        let access = DataAccess { mode, sync: Some(SyncScope::Data), drop_privileges: false };
        let next = |round: u64| {
            let (generation, page) = (round / PAGES as u64 + 1, nth(round as usize % PAGES));
            write(&volume, pages, page * PAGE, &[generation as u8; PAGE], access);
        };
        let mut met_the_middle = 0;
        while_busy(next, |rounds| {
            for number in 0..8 {
                let before = rounds.load(Ordering::Acquire);
                let folder = folders.path().join(format!("image-{number}"));
                let image = snapshot(&volume, keep, number, folder).unwrap();
                let bytes = fs::read(image.join("pages")).unwrap();
                let there: Vec<u8> = (0..PAGES).map(|n| bytes[nth(n) * PAGE]).collect();
                assert!(bytes.chunks(PAGE).all(|page| page.iter().all(|byte| *byte == page[0])));
                let end = there.partition_point(|generation| *generation == there[0]);
                assert!(
                    there[end..].iter().all(|generation| generation.wrapping_add(1) == there[0]),
                    "{mode:?}, {keep}: more than one moment: {there:?}"
                );
                met_the_middle += u32::from(end < PAGES);
                wait_until("it to go on", || rounds.load(Ordering::Acquire) > before + 700);
            }
        });
        assert!(met_the_middle > 2, "{met_the_middle} images in the middle of a round");
    }
}

#[test]
fn what_is_renamed_and_removed_while_an_image_is_made_is_in_it_as_it_was() {
    let (folders, volume) = disk();
    // Each round replaces the file by a new one of its number, by way of another name.
    let text = |round: u64| round.to_le_bytes().repeat(25_000);
    let replace = |round: u64| {
        let new = create(&volume, "new");
        write(&volume, new, 0, &text(round), BUFFERED);
        sync(&volume, new);
        let (from, to) = (OsStr::new("new"), OsStr::new("current"));
        volume.rename(ROOT, from, ROOT, to, RenameFlags::empty()).unwrap();
        let (done, end) = mpsc::channel();
        volume.fsyncdir(ROOT, move |synced| done.send(synced).unwrap());
        assert_eq!(end.recv().unwrap(), Ok(()));
        volume.forget(new, 1);
    };
    while_busy(replace, |rounds| {
        for number in 0..20 {
            let before = rounds.load(Ordering::Acquire);
            let folder = folders.path().join(format!("image-{number}"));
            let image = snapshot(&volume, Keep::DropAll, 1, folder).unwrap();
            let after = rounds.load(Ordering::Acquire);
            let bytes = fs::read(image.join("current")).unwrap();
            let round = u64::from_le_bytes(bytes[..8].try_into().unwrap());
            assert!(bytes == text(round), "of one round");
            // The last that had ended, or one that came while it was made.
            assert!((before - 1..=after).contains(&round), "{before} to {after}, but {round}");
        }
    });
    let hidden = folders.path().join("backing").join(HIDDEN);
    assert_eq!(fs::read_dir(hidden).unwrap().count(), 0, "what was kept is let go of");
}

#[test]
fn an_image_without_room_is_an_error_and_the_disk_runs_on() {
    if !needs_root("mount a small file system") {
        return;
    }
    let (folders, volume) = disk();
    let small = folders.path().join("small");
    fs::create_dir(&small).unwrap();
    mount("tmpfs", &small, "tmpfs", MountFlags::empty(), Some(c"size=1m")).unwrap();
    let pages = open(&volume, "pages");
    write(&volume, pages, 0, &vec![7; PAGES * PAGE], BUFFERED);
    let made = snapshot(&volume, Keep::Prefix, 1, small.join("image"));
    unmount(&small, UnmountFlags::empty()).unwrap();
    assert_eq!(made.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!((volume.recorded_bytes(), volume.is_off()), (0, false));
    sync(&volume, pages);
    let image = snapshot(&volume, Keep::DropAll, 1, folders.path().join("image")).unwrap();
    assert_eq!(fs::read(image.join("pages")).unwrap(), [7; PAGES * PAGE]);
}

#[test]
fn a_disk_without_power_has_no_later_moment_and_a_folder_with_something_in_it_stays() {
    let (folders, volume) = disk();
    assert!(snapshot(&volume, Keep::Prefix, 1, folders.path().join("backing/in")).is_err());
    fs::write(folders.path().join("thesis"), "years").unwrap();
    let error = volume.snapshot(Keep::Prefix, 1, folders.path()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::DirectoryNotEmpty);
    volume.power_off();
    let error = snapshot(&volume, Keep::Prefix, 1, folders.path().join("image")).unwrap_err();
    assert!(error.to_string().contains("the power is off"), "{error}");
}
