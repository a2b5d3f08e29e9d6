//! Power cuts that were armed, and moments that were noted: random histories of writes and syncs, and what is left of them
//! against a model that knows, of each write, only whether a sync covers it. Without FUSE.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bakeoff_devices::ext4::{Mode, SyncScope};
use bakeoff_devices::models::Models;
use bakeoff_devices::plug::{Keep, Metadata, Walk};
use bakeoff_devices::station::Station;
use bakeoff_devices::trigger::{Awaited, Trigger};
use bakeoff_disk::executor::{self, Executor};
use bakeoff_disk::history;
use bakeoff_disk::materialise::materialise;
use bakeoff_disk::volume::{DataAccess, InodeNumber, ROOT, Volume, VolumeOptions};
use bakeoff_testkit::wait_until;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use rustix::io::Errno;
use tempfile::TempDir;

const NAMES: [&str; 3] = ["a", "b", "c"];
const SECTOR: usize = 512;
/// Sectors of a file.
const SECTORS: usize = 24;

/// A write that no sync covers: of a file, from a sector on, so many of them, all of one value.
#[derive(Clone, Debug, PartialEq)]
struct Write {
    file: usize,
    from: usize,
    sectors: usize,
    value: u8,
}

impl Write {
    fn apply(&self, files: &mut Files) {
        files[self.file][self.from..][..self.sectors].fill(self.value);
    }

    fn covers(&self, file: usize, sector: usize) -> bool {
        self.file == file && (self.from..self.from + self.sectors).contains(&sector)
    }
}

/// The value of each sector of each file.
type Files = [[u8; SECTORS]; NAMES.len()];

/// A disk under a random history, and the model.
struct History {
    volume: Arc<Volume>,
    folders: TempDir,
    files: [InodeNumber; NAMES.len()],
    random: Xoshiro256PlusPlus,
    durable: Files,
    pending: Vec<Write>,
    writes: u64,
    syncs: u64,
    /// What the last step wrote.
    wrote: Option<Write>,
}

impl History {
    fn new(seed: u64) -> Self {
        let folders = tempfile::tempdir().unwrap();
        let backing = folders.path().join("backing");
        fs::create_dir(&backing).unwrap();
        for name in NAMES {
            fs::write(backing.join(name), [0; SECTORS * SECTOR]).unwrap();
        }
        let spec = Models::standard().parse("null").unwrap();
        let station = Station::new(spec.build(1), 1);
        let executor =
            Executor::start(station, executor::ExecutorOptions { timing: false, null: true });
        let options = VolumeOptions::new(Arc::new(executor), &spec);
        let volume = Volume::open(&backing, options).unwrap();
        let files = NAMES.map(|name| {
            let ino = volume.lookup(ROOT, OsStr::new(name)).unwrap().st_ino;
            volume.open_file(ino, Mode::Buffered, true).unwrap();
            ino
        });
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (durable, pending) = (Files::default(), Vec::new());
        Self { volume, folders, files, random, durable, pending, writes: 0, syncs: 0, wrote: None }
    }

    /// A write or a sync, with what it does to the model.
    fn step(&mut self) -> Result<(), Errno> {
        let file = self.random.random_range(0..NAMES.len());
        self.wrote = None;
        match self.random.random_range(0..8_u32) {
            0..3 => self.write(file, Mode::Buffered, None),
            3 => self.write(file, Mode::Direct, None),
            4 => self.write(file, Mode::Direct, Some(SyncScope::Data)),
            5 => self.write(file, Mode::Direct, Some(SyncScope::All)),
            6 => {
                self.sync(|volume, ino, done| volume.fsync(ino, SyncScope::Data, done), Some(file))
            }
            _ => self.sync(|volume, _, done| volume.fsyncdir(ROOT, done), None),
        }
    }

    fn write(&mut self, file: usize, mode: Mode, sync: Option<SyncScope>) -> Result<(), Errno> {
        let from = self.random.random_range(0..SECTORS);
        let sectors = self.random.random_range(1..=SECTORS - from);
        let value = (self.writes % 255) as u8 + 1;
        let write = Write { file, from, sectors, value };
        self.writes += 1;
        self.syncs += u64::from(sync.is_some());
        let covered = mode == Mode::Direct && self.pending.iter().all(|write| write.file != file);
        self.wrote = Some(write.clone());
        self.pending.push(write);
        let access = DataAccess { mode, sync, drop_privileges: false };
        let (done, end) = mpsc::channel();
        let (at, data) = ((from * SECTOR) as u64, vec![value; sectors * SECTOR]);
        self.volume.write(self.files[file], at, &data, access, move |wrote| {
            done.send(wrote).unwrap();
        });
        assert_eq!(end.recv().unwrap()?, data.len());
        if covered || sync.is_some() {
            self.settle(file);
        }
        Ok(())
    }

    fn sync(
        &mut self,
        sync: impl FnOnce(&Arc<Volume>, InodeNumber, Box<dyn FnOnce(Result<(), Errno>) + Send>),
        file: Option<usize>,
    ) -> Result<(), Errno> {
        self.syncs += 1;
        let (done, end) = mpsc::channel();
        let ino = self.files[file.unwrap_or_default()];
        sync(&self.volume, ino, Box::new(move |synced| done.send(synced).unwrap()));
        end.recv().unwrap()?;
        if let Some(file) = file {
            self.settle(file);
        }
        Ok(())
    }

    /// What was written to a file is durable.
    fn settle(&mut self, file: usize) {
        for write in self.pending.extract_if(.., |write| write.file == file) {
            write.apply(&mut self.durable);
        }
    }

    /// An image of the power cut.
    fn image(&self, keep: Keep, seed: u64) -> Files {
        self.image_by(|folder| self.volume.image(keep, seed, folder))
    }

    /// An image, each sector being of one value.
    fn image_by(&self, make: impl FnOnce(&Path) -> io::Result<()>) -> Files {
        let image = tempfile::tempdir_in(self.folders.path()).unwrap();
        make(image.path()).unwrap();
        assert_eq!(fs::read_dir(&image).unwrap().count(), NAMES.len());
        NAMES.map(|name| {
            let bytes = fs::read(image.path().join(name)).unwrap();
            assert_eq!(bytes.len(), SECTORS * SECTOR);
            let sectors: Vec<u8> = bytes
                .chunks(SECTOR)
                .map(|sector| {
                    assert!(sector.iter().all(|byte| *byte == sector[0]), "half a sector");
                    sector[0]
                })
                .collect();
            sectors.try_into().unwrap()
        })
    }

    /// What is there if the first `count` of what was pending are.
    fn prefix(&self, count: usize) -> Files {
        let mut files = self.durable;
        self.pending[..count].iter().for_each(|write| write.apply(&mut files));
        files
    }

    /// Checks an image against what the rule allows.
    fn check(&self, keep: Keep, image: &Files) {
        let allowed = match keep {
            Keep::DropAll => *image == self.durable,
            Keep::Prefix => (0..=self.pending.len()).any(|count| self.prefix(count) == *image),
            Keep::Subset => self.is_subset(image),
            Keep::Torn => self.is_made_of(image),
        };
        let Self { durable, pending, .. } = self;
        assert!(allowed, "{keep}: {image:?} of {durable:?} and {pending:?}");
    }

    /// Whether each sector holds what was durable there or what was pending.
    fn is_made_of(&self, image: &Files) -> bool {
        (0..NAMES.len()).all(|file| {
            (0..SECTORS).all(|sector| {
                let value = image[file][sector];
                let written = |write: &Write| write.covers(file, sector) && write.value == value;
                value == self.durable[file][sector] || self.pending.iter().any(written)
            })
        })
    }

    /// Whether the writes of which a sector is seen make the image, whole and in their order.
    fn is_subset(&self, image: &Files) -> bool {
        let mut files = self.durable;
        let seen = |write: &&Write| image[write.file].contains(&write.value);
        self.pending.iter().filter(seen).for_each(|write| write.apply(&mut files));
        files == *image
    }
}

/// The present by the clock of [`Volume::off_at`].
fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Runs a history up to an armed moment.
fn run(seed: u64) -> History {
    let mut history = History::new(seed);
    for _ in 0..history.random.random_range(0..20) {
        history.step().unwrap();
    }
    let count = history.random.random_range(1..40);
    let (trigger, end) = if history.random.random() {
        (Trigger::Writes(count), (history.writes + count, u64::MAX))
    } else {
        (Trigger::Syncs(count), (u64::MAX, history.syncs + count))
    };
    history.volume.arm(trigger).unwrap();
    let before = loop {
        let before = now();
        match history.step() {
            Ok(()) => assert_eq!(history.volume.off_at(), None),
            Err(error) => {
                assert_eq!(error, Errno::IO);
                break before;
            }
        }
    };
    assert!(
        history.writes == end.0 || history.syncs == end.1,
        "{trigger:?} came too early or late"
    );
    let off_at = history.volume.off_at().unwrap();
    assert!((before..=now()).contains(&off_at));
    history
}

#[test]
fn what_a_sync_that_failed_should_have_kept_is_not_lasting_and_all_that_others_kept_is() {
    let mut seen = [0; Keep::ALL.len()];
    for seed in 0..100 {
        let history = run(seed);
        for (keep, seen) in Keep::ALL.into_iter().zip(&mut seen) {
            let image = history.image(keep, seed);
            history.check(keep, &image);
            *seen += u32::from(image != history.durable);
            assert_eq!(image, history.image(keep, seed), "{keep}: another image of that moment");
        }
    }
    let [dropped, others @ ..] = seen;
    assert_eq!(dropped, 0);
    assert!(others.iter().all(|seen| *seen > 20), "{others:?} images with something pending in it");
}

/// What was durable and what was pending when a moment came.
type Then = (Files, Vec<Write>);

/// From when on a history is remembered.
#[derive(Clone, Copy, PartialEq)]
enum From {
    /// The mount.
    Mount,
    /// A moment at which all is made durable that was done before.
    Sync,
}

/// Runs a history in which several moments are waited for, to the last of them.
fn run_through(seed: u64, moments: &[Awaited], from: From) -> (History, Vec<Then>) {
    let mut history = History::new(seed);
    history.volume.record();
    if from == From::Sync {
        for _ in 0..20 {
            history.step().unwrap();
        }
        assert!(history.volume.record_anew().unwrap());
        let pending = std::mem::take(&mut history.pending);
        pending.iter().for_each(|write| write.apply(&mut history.durable));
    }
    history.volume.await_moments(moments).unwrap();
    let mut then: Vec<Option<Then>> = vec![None; moments.len()];
    while then.contains(&None) {
        let (durable, mut pending) = (history.durable, history.pending.clone());
        let (before, step) = (now(), history.step());
        pending.extend(history.wrote.clone());
        for (then, noted) in then.iter_mut().zip(history.volume.noted()) {
            if let (None, Some(at)) = (&then, noted) {
                assert!((before..=now()).contains(&at));
                *then = Some((durable, pending.clone()));
            }
        }
        let goes_on = then.contains(&None);
        assert_eq!(step, if goes_on { Ok(()) } else { Err(Errno::IO) }, "the last one ends it");
    }
    (history, then.into_iter().flatten().collect())
}

#[test]
fn a_moment_after_which_the_disk_ran_on_is_seen_as_one_at_which_the_power_went() {
    let mut pending_seen = 0;
    for seed in 0..60 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let moments: Vec<Awaited> = (0..6)
            .map(|_| {
                let count = random.random_range(1..60);
                let writes = random.random();
                let trigger = if writes { Trigger::Writes(count) } else { Trigger::Syncs(count) };
                Awaited { trigger, within: None }
            })
            .collect();
        let from = if seed % 2 == 0 { From::Mount } else { From::Sync };
        let (mut history, then) = run_through(seed, &moments, from);
        assert!(history.volume.record_anew().is_err(), "the power is off");
        for (number, (durable, pending)) in then.into_iter().enumerate() {
            (history.durable, history.pending) = (durable, pending);
            for (keep, metadata) in
                Keep::ALL.into_iter().flat_map(|keep| Metadata::ALL.map(|it| (keep, it)))
            {
                let of = |to: &Path| history.volume.image_of(number, metadata, keep, seed, to);
                let image = history.image_by(of);
                history.check(keep, &image);
                pending_seen += u32::from(image != history.durable);
                assert_eq!(image, history.image_by(of), "{keep}: another image of that moment");
            }
        }
    }
    assert!(pending_seen > 500, "{pending_seen} images with something pending in them");
}

#[test]
fn a_history_that_was_kept_has_the_images_that_the_disk_makes() {
    for seed in 0..20 {
        let moment = Awaited { trigger: Trigger::Writes(10 + seed), within: None };
        let (history, _) = run_through(seed, &[moment], From::Mount);
        let kept = history.folders.path().join("kept");
        history::write(&history.volume.recorded().unwrap(), &kept).unwrap();
        let recorded = history::read(&kept).unwrap();
        assert!(recorded.events() > 10);
        assert_eq!(recorded.time(recorded.events()), history.volume.noted()[0].unwrap());
        assert!((0..recorded.events()).all(|it| recorded.time(it) <= recorded.time(it + 1)));
        for (keep, metadata) in
            Keep::ALL.into_iter().flat_map(|keep| Metadata::ALL.map(|it| (keep, it)))
        {
            let mut walk = Walk::new(&recorded, metadata);
            assert!(walk.go_to(recorded.events()));
            let of = |to: &Path| history.volume.image_of(0, metadata, keep, seed, to);
            let walked = |to: &Path| {
                let image = walk.image(keep, seed)?;
                materialise(&image, &walk, to)
            };
            assert_eq!(history.image_by(walked), history.image_by(of), "{keep}, {metadata}");
        }
    }
}

#[test]
fn a_moment_that_does_not_come_counts_as_come_when_its_time_is_over() {
    let history = History::new(1);
    let within = Some(Duration::from_millis(30));
    let before = now();
    let moment = |trigger| Awaited { trigger, within };
    history.volume.await_moments(&[Trigger::Writes(5), Trigger::Syncs(5)].map(moment)).unwrap();
    wait_until("the power's end", || history.volume.is_off());
    for noted in history.volume.noted() {
        assert!(noted.unwrap() >= before + 30_000_000);
    }
    let folder = history.folders.path().join("image");
    fs::create_dir(&folder).unwrap();
    let of = history.volume.image_of(0, Metadata::Ordered, Keep::Prefix, 1, &folder);
    assert!(of.unwrap_err().to_string().contains("not known"), "nothing was recorded");
}

#[test]
fn after_the_cut_nothing_changes_any_more() {
    for seed in 0..10 {
        let mut history = run(seed);
        let image = history.image(Keep::Torn, seed);
        let pending = history.pending.clone();
        for _ in 0..20 {
            assert_eq!(history.step(), Err(Errno::IO));
        }
        history.pending = pending;
        history.volume.power_off();
        assert_eq!(history.image(Keep::Torn, seed), image);
        history.check(Keep::Torn, &image);
    }
}

#[test]
fn an_image_needs_the_power_off_and_an_empty_folder() {
    let history = History::new(1);
    let folder = history.folders.path().join("image");
    fs::create_dir(&folder).unwrap();
    assert!(history.volume.image(Keep::Prefix, 1, &folder).is_err());
    assert!(!history.volume.is_off());
    assert!(history.volume.arm(Trigger::Writes(0)).is_err());
    assert!(history.volume.arm(Trigger::Syncs(0)).is_err());
    history.volume.power_off();
    history.volume.image(Keep::Prefix, 1, &folder).unwrap();
    assert!(history.volume.image(Keep::Prefix, 1, &folder).is_err());
}

#[test]
fn after_a_time_the_power_goes_unless_something_else_was_armed() {
    // On a busy machine the time may be over before something else is armed.
    let arm_both = |times: u32| {
        let (history, time) = (History::new(1), Duration::from_millis(20) * (1 << times));
        history.volume.arm(Trigger::After(time)).unwrap();
        history.volume.arm(Trigger::Writes(1000)).ok().map(|()| (history, time))
    };
    let (mut history, time) = (0..8).find_map(arm_both).expect("it is not stopped every time");
    std::thread::sleep(time * 3);
    history.step().unwrap();
    let before = now();
    history.volume.arm(Trigger::After(Duration::from_millis(50))).unwrap();
    wait_until("the power's end", || history.volume.is_off());
    assert!(history.volume.off_at().unwrap() >= before + 50_000_000);
    assert_eq!(history.step(), Err(Errno::IO));
}
