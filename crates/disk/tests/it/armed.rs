//! Moments that were armed and noted: what is seen of them later in a disk that ran on is what a disk
//! with the same history has whose power went then. Without FUSE.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use bakeoff_devices::ext4::{Mode, SyncScope};
use bakeoff_devices::plug::{Keep, Metadata, Walk};
use bakeoff_devices::trigger::{TimedTrigger, Trigger};
use bakeoff_disk::history;
use bakeoff_disk::materialise::materialise;
use bakeoff_disk::volume::{DataAccess, InodeNumber, Volume};
use bakeoff_testkit::wait_until;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use rustix::io::Errno;

use crate::disk::Disk;

const NAMES: [&str; 3] = ["a", "b", "c"];
const SECTOR: usize = 512;
/// Sectors of a file.
const SECTORS: usize = 24;

/// The bytes of each file.
type Files = [Vec<u8>; NAMES.len()];

/// From when on a history is remembered.
#[derive(Clone, Copy, PartialEq)]
enum From {
    /// The mount.
    Mount,
    /// A moment at which all is made durable that was done before.
    Sync,
}

/// A disk under a random history of writes and syncs.
struct History {
    disk: Disk,
    files: [InodeNumber; NAMES.len()],
    random: Xoshiro256PlusPlus,
    present: Files,
    /// What syncs cover, and direct writes to files of which nothing was pending.
    durable: Files,
    writes: u64,
    syncs: u64,
}

impl History {
    /// With some steps behind it.
    fn new(seed: u64, metadata: Metadata, from: From) -> Self {
        let bytes = vec![0; SECTORS * SECTOR];
        let files = NAMES.map(|name| (name, &bytes[..]));
        let disk = Disk::with_options("null", &files, true, |options| options.metadata = metadata);
        let files = NAMES.map(|name| disk.open(name));
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let present = NAMES.map(|_| bytes.clone());
        let durable = present.clone();
        let mut history = Self { disk, files, random, present, durable, writes: 0, syncs: 0 };
        history.volume().record();
        for _ in 0..history.random.random_range(0..20) {
            history.step().unwrap();
        }
        if from == From::Sync {
            assert!(history.disk.volume.record_anew().unwrap());
            history.durable.clone_from(&history.present);
        }
        (history.writes, history.syncs) = (0, 0);
        history
    }

    fn volume(&self) -> &Volume {
        &self.disk.volume
    }

    fn step(&mut self) -> Result<(), Errno> {
        let file = self.random.random_range(0..NAMES.len());
        match self.random.random_range(0..8_u32) {
            0..3 => self.write(file, Mode::Buffered, None),
            3 => self.write(file, Mode::Direct, None),
            4 => self.write(file, Mode::Direct, Some(SyncScope::Data)),
            5 => self.write(file, Mode::Direct, Some(SyncScope::All)),
            6 => {
                self.syncs += 1;
                self.disk.sync(self.files[file], SyncScope::Data)?;
                self.durable[file].clone_from(&self.present[file]);
                Ok(())
            }
            _ => {
                self.syncs += 1;
                self.disk.sync_folder()
            }
        }
    }

    fn write(&mut self, file: usize, mode: Mode, sync: Option<SyncScope>) -> Result<(), Errno> {
        let from = self.random.random_range(0..SECTORS) * SECTOR;
        let length = self.random.random_range(1..=SECTORS - from / SECTOR) * SECTOR;
        let bytes = vec![self.random.random(); length];
        self.writes += 1;
        self.syncs += u64::from(sync.is_some());
        let is_clean = mode == Mode::Direct && self.durable[file] == self.present[file];
        self.present[file][from..from + length].copy_from_slice(&bytes);
        let access = DataAccess { mode, sync, drop_privileges: false, gathered: false };
        self.disk.write(self.files[file], from, &bytes, access)?;
        if is_clean || sync.is_some() {
            self.durable[file].clone_from(&self.present[file]);
        }
        Ok(())
    }

    /// An image: what it has of each file, and nothing else.
    fn image_by(&self, make: impl FnOnce(&Path) -> io::Result<()>) -> Files {
        let image = tempfile::tempdir_in(self.disk.folders.path()).unwrap();
        make(image.path()).unwrap();
        assert_eq!(fs::read_dir(&image).unwrap().count(), NAMES.len());
        NAMES.map(|name| fs::read(image.path().join(name)).unwrap())
    }

    /// An image of the power cut.
    fn image(&self, keep: Keep, seed: u64) -> Files {
        self.image_by(|folder| self.volume().image(keep, seed, folder))
    }

    fn image_of(&self, number: usize, metadata: Metadata, keep: Keep, seed: u64) -> Files {
        self.image_by(|to| self.volume().image_of(number, metadata, keep, seed, to))
    }

    /// Goes on until all of some moments came, with the last of which the power goes. Gives what was
    /// durable at each.
    fn run_through(&mut self, moments: &[TimedTrigger]) -> Vec<Files> {
        self.disk.volume.await_moments(moments, &[]).unwrap();
        let mut then: Vec<Option<Files>> = vec![None; moments.len()];
        while then.contains(&None) {
            let (durable, before) = (self.durable.clone(), now());
            let step = self.step();
            let noted = self.volume().moment_times();
            for ((then, noted), moment) in then.iter_mut().zip(&noted).zip(moments) {
                if let (None, Some(at)) = (&then, noted) {
                    assert!((before..=now()).contains(at));
                    let count = match moment.trigger {
                        Trigger::Writes(count) => (count, self.writes),
                        Trigger::Syncs(count) => (count, self.syncs),
                        _ => unreachable!("only those are armed"),
                    };
                    assert_eq!(count.0, count.1, "{moment:?} came too early or late");
                    *then = Some(durable.clone());
                }
            }
            let is_over = !then.contains(&None);
            assert_eq!(step, if is_over { Err(Errno::IO) } else { Ok(()) });
            assert_eq!(
                self.volume().off_at(),
                noted.into_iter().max().flatten().filter(|_| is_over)
            );
        }
        then.into_iter().flatten().collect()
    }
}

fn rules() -> impl Iterator<Item = (Keep, Metadata)> {
    Keep::ALL.into_iter().flat_map(|keep| Metadata::ALL.map(|it| (keep, it)))
}

#[test]
fn every_moment_is_seen_as_one_at_which_the_power_went() {
    let mut pending_seen = 0;
    for seed in 0..40 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let moments: Vec<TimedTrigger> = (0..1 + seed % 6)
            .map(|_| {
                let count = random.random_range(1..60);
                let writes = random.random();
                let trigger = if writes { Trigger::Writes(count) } else { Trigger::Syncs(count) };
                TimedTrigger { trigger, within: None }
            })
            .collect();
        let from = if seed % 2 == 0 { From::Mount } else { From::Sync };
        let mut history = History::new(seed, Metadata::Ordered, from);
        let then = history.run_through(&moments);
        for (number, durable) in then.iter().enumerate() {
            let cut = Metadata::ALL.map(|metadata| {
                let mut cut = History::new(seed, metadata, from);
                assert_eq!(&cut.run_through(&moments[number..=number])[0], durable);
                cut
            });
            for (keep, metadata) in rules() {
                let image = history.image_of(number, metadata, keep, seed);
                let cut = &cut[usize::from(metadata == Metadata::ALL[1])];
                assert_eq!(image, cut.image(keep, seed), "{keep}, {metadata}, moment {number}");
                assert!(keep != Keep::DropAll || image == *durable);
                pending_seen += u32::from(image != *durable);
            }
        }
        if from == From::Mount {
            kept_as_made(&history, seed);
        }
        nothing_changes_any_more(&mut history, seed);
    }
    assert!(pending_seen > 200, "{pending_seen} images with something pending in them");
}

fn nothing_changes_any_more(history: &mut History, seed: u64) {
    let image = history.image(Keep::Torn, seed);
    for _ in 0..10 {
        assert_eq!(history.step(), Err(Errno::IO));
    }
    history.volume().power_off();
    assert_eq!(history.image(Keep::Torn, seed), image);
    assert!(history.disk.volume.record_anew().is_err(), "the power is off");
}

/// A history that was kept and is read again has the images that the disk makes of its first moment.
fn kept_as_made(history: &History, seed: u64) {
    let kept = history.disk.folders.path().join("kept");
    history::write(&history.volume().to_recorded().unwrap(), &kept).unwrap();
    let recorded = history::read(&kept).unwrap();
    let events = recorded.event_count();
    assert!(events > 0 && (0..events).map(|it| recorded.moment_end(it)).is_sorted());
    assert_eq!(Some(recorded.moment_end(events)), history.volume().moment_times()[0]);
    for (keep, metadata) in rules() {
        let mut walk = Walk::new(&recorded, metadata);
        assert!(walk.go_to(events));
        let walked = |to: &Path| materialise(&walk.image(keep, seed)?, &walk, to);
        let image = history.image_of(0, metadata, keep, seed);
        assert_eq!(history.image_by(walked), image, "{keep}, {metadata}");
    }
}

/// The present by the clock of [`Volume::off_at`].
fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[test]
fn a_moment_that_does_not_come_counts_as_come_when_its_time_is_over() {
    let (disk, within) =
        (Disk::with_files("null", &[("a", b"a")]), Some(Duration::from_millis(30)));
    let before = now();
    let moments =
        [Trigger::Writes(5), Trigger::Syncs(5)].map(|trigger| TimedTrigger { trigger, within });
    disk.volume.await_moments(&moments, &[]).unwrap();
    wait_until("the power's end", || disk.volume.is_off());
    for noted in disk.volume.moment_times() {
        assert!(noted.unwrap() >= before + 30_000_000);
    }
    let image = disk.folder("image");
    let of = disk.volume.image_of(0, Metadata::Ordered, Keep::Prefix, 1, &image);
    assert!(of.unwrap_err().to_string().contains("not known"), "nothing was recorded");
}

#[test]
fn after_a_time_the_power_goes_unless_something_else_was_armed() {
    let arm = |history: &History, trigger: Trigger| {
        history.disk.volume.await_moments(&[trigger.into()], &[])
    };
    // On a busy machine the time may be over before something else is armed.
    let arm_both = |times: u32| {
        let (history, time) = (
            History::new(1, Metadata::Ordered, From::Mount),
            Duration::from_millis(20) * (1 << times),
        );
        arm(&history, Trigger::After(time)).unwrap();
        arm(&history, Trigger::Writes(1000)).ok().map(|()| (history, time))
    };
    let (mut history, time) = (0..8).find_map(arm_both).expect("it is not stopped every time");
    std::thread::sleep(time * 3);
    history.step().unwrap();
    assert!(
        arm(&history, Trigger::Writes(0)).is_err() && arm(&history, Trigger::Syncs(0)).is_err()
    );
    let before = now();
    arm(&history, Trigger::After(Duration::from_millis(50))).unwrap();
    wait_until("the power's end", || history.volume().is_off());
    assert!(history.volume().off_at().unwrap() >= before + 50_000_000);
    assert_eq!(history.step(), Err(Errno::IO));
    assert!(arm(&history, Trigger::Writes(1)).is_err());
}
