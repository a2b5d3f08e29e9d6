//! Images of a disk that runs on, without FUSE: while others write, rename and remove, each is of one
//! moment.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use bakeoff_devices::ext4::{Mode, SyncScope};
use bakeoff_devices::plug::Keep;
use bakeoff_disk::volume::{DataAccess, HIDDEN};
use bakeoff_testkit::{needs_root, wait_until};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::disk::{BUFFERED, Disk, PAGE};

/// Pages of the file that is written over and over: more than are read at a time.
const PAGES: usize = 512;
/// The page that is written as the n-th of a round: far from those before and after it, so that an
/// image that was copied while they were written has some of later ones and not all of earlier ones.
fn nth(n: usize) -> usize {
    n * 201 % PAGES
}

/// A disk that takes no time, which has a file `pages` in it.
fn disk() -> Disk {
    Disk::with_files("null", &[("pages", &[0; PAGES * PAGE])])
}

fn snapshot(disk: &Disk, keep: Keep, seed: u64, name: &str) -> io::Result<PathBuf> {
    let to = disk.folder(name);
    disk.volume.snapshot(keep, seed, &to).map(|()| to)
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
fn every_record_that_was_acknowledged_is_in_an_image_and_the_log_goes_on() {
    let disk = disk();
    let log = disk.create("log");
    let append = |number: u64| {
        disk.write(log, number as usize * 8, &number.to_le_bytes(), BUFFERED).unwrap();
        disk.sync(log, SyncScope::All).unwrap();
    };
    let rounds = while_busy(append, |acknowledged| {
        for (number, keep) in Keep::ALL.into_iter().cycle().take(12).enumerate() {
            let before = acknowledged.load(Ordering::Acquire);
            let image = snapshot(&disk, keep, number as u64, &format!("image-{number}")).unwrap();
            let after = acknowledged.load(Ordering::Acquire);
            let there = records(&image);
            assert!(there.iter().copied().eq(0..there.len() as u64), "{keep}: {there:?}");
            // One more may be in flight.
            assert!((before..=after + 1).contains(&(there.len() as u64)), "{keep}");
            wait_until("it to go on", || acknowledged.load(Ordering::Acquire) > after);
        }
    });
    assert_eq!((disk.volume.recorded_bytes(), disk.volume.is_off()), (0, false));
    assert!(records(&disk.cut(Keep::DropAll)).into_iter().eq(0..rounds));
}

#[test]
fn an_image_is_of_one_moment_though_all_is_written_over_while_it_is_made() {
    for (mode, keep) in [
        (Mode::Buffered, Keep::DropAll),
        (Mode::Buffered, Keep::Prefix),
        (Mode::Direct, Keep::DropAll),
    ] {
        let disk = disk();
        let pages = disk.open("pages");
        let access = DataAccess {
            mode,
            sync: Some(SyncScope::Data),
            drop_privileges: false,
            gathered: false,
        };
        let next = |round: u64| {
            let (generation, page) = (round / PAGES as u64 + 1, nth(round as usize % PAGES));
            disk.write(pages, page * PAGE, &[generation as u8; PAGE], access).unwrap();
        };
        let mut met_the_middle = 0;
        while_busy(next, |rounds| {
            for number in 0..8 {
                let before = rounds.load(Ordering::Acquire);
                let image = snapshot(&disk, keep, number, &format!("image-{number}")).unwrap();
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
    let disk = disk();
    // Each round replaces the file by a new one of its number, by way of another name.
    let text = |round: u64| round.to_le_bytes().repeat(25_000);
    let replace = |round: u64| {
        let new = disk.create("new");
        disk.write(new, 0, &text(round), BUFFERED).unwrap();
        disk.sync(new, SyncScope::All).unwrap();
        disk.rename("new", "current");
        disk.sync_folder().unwrap();
        disk.volume.forget(new, 1);
    };
    while_busy(replace, |rounds| {
        for number in 0..20 {
            let before = rounds.load(Ordering::Acquire);
            let image = snapshot(&disk, Keep::DropAll, 1, &format!("image-{number}")).unwrap();
            let after = rounds.load(Ordering::Acquire);
            let bytes = fs::read(image.join("current")).unwrap();
            let round = u64::from_le_bytes(bytes[..8].try_into().unwrap());
            assert!(bytes == text(round), "of one round");
            // The last that had ended, or one that came while it was made.
            assert!((before - 1..=after).contains(&round), "{before} to {after}, but {round}");
        }
    });
    let hidden = disk.folders.path().join("backing").join(HIDDEN);
    assert_eq!(fs::read_dir(hidden).unwrap().count(), 0, "what was kept is let go of");
}

#[test]
fn an_image_without_room_is_an_error_and_the_disk_runs_on() {
    if !needs_root("mount a small file system") {
        return;
    }
    let disk = disk();
    let small = disk.folder("small");
    mount("tmpfs", &small, "tmpfs", MountFlags::empty(), Some(c"size=1m")).unwrap();
    let pages = disk.open("pages");
    disk.write(pages, 0, &[7; PAGES * PAGE], BUFFERED).unwrap();
    let made = snapshot(&disk, Keep::Prefix, 1, "small/image");
    unmount(&small, UnmountFlags::empty()).unwrap();
    assert_eq!(made.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!((disk.volume.recorded_bytes(), disk.volume.is_off()), (0, false));
    disk.sync(pages, SyncScope::All).unwrap();
    let image = snapshot(&disk, Keep::DropAll, 1, "image").unwrap();
    assert_eq!(fs::read(image.join("pages")).unwrap(), [7; PAGES * PAGE]);
}

/// A snapshot needs the power, an image needs it off, and both an empty folder outside of the disk.
#[test]
fn an_image_that_is_not_possible_changes_nothing() {
    let disk = disk();
    let (full, inside) = (disk.folder("full"), disk.folder("backing/in"));
    fs::write(full.join("thesis"), "years").unwrap();
    for to in [&full, &inside, &full.join("nowhere")] {
        let snapshot = disk.volume.snapshot(Keep::Prefix, 1, to).unwrap_err();
        let cut = disk.volume.cut_power(Keep::Prefix, 1, to).unwrap_err();
        assert_eq!(snapshot.kind(), cut.kind(), "{snapshot}, {cut}");
        assert!(!disk.volume.is_off(), "{cut}");
    }
    let empty = disk.folder("empty");
    assert!(disk.volume.image(Keep::Prefix, 1, &empty).is_err() && !disk.volume.is_off());
    disk.volume.power_off();
    let error = disk.volume.snapshot(Keep::Prefix, 1, &empty).unwrap_err();
    assert!(error.to_string().contains("the power is off"), "{error}");
    disk.volume.image(Keep::Prefix, 1, &empty).unwrap();
    let error = disk.volume.image(Keep::Prefix, 1, &empty).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::DirectoryNotEmpty);
    assert_eq!(fs::read_dir(&full).unwrap().count(), 1);
}
