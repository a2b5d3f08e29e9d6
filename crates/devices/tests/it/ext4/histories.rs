//! Random histories: where each byte of a few small files is, held against what is known of it.

use std::collections::BTreeMap;

use bakeoff_devices::device::{Nanos, RequestKind};
use bakeoff_devices::ext4::{
    Background, Barrier, Committing, DataMode, DeviceWork, Durable, Ext4, Ext4MountOptions,
    Ext4Parameters, Extent, JournalPlace, Mode, SyncScope,
};
use proptest::prelude::*;

const SECTOR: u64 = 512;
const PAGE: u64 = 4096;
/// Sectors of a page.
const IN_PAGE: usize = (PAGE / SECTOR) as usize;
/// Sectors that a file may have.
const SECTORS: u64 = 512;
const FILES: u64 = 4;

#[derive(Clone, Debug)]
enum Step {
    Write { file: u64, at: u64, sectors: u64, mode: Mode, sync: Option<SyncScope> },
    Sync(u64, SyncScope),
    FailSync(u64),
    Truncate(u64, u64),
    Punch { file: u64, at: u64, sectors: u64 },
    Allocate { file: u64, at: u64, sectors: u64 },
    Remove(u64),
    Close(u64),
    Rename,
    SyncDirectory,
    Wait(Nanos),
}

fn step() -> impl Strategy<Value = Step> {
    let file = || 0..FILES;
    let range = || (0..FILES, 0..SECTORS - 100, 1u64..100);
    let kind = || prop_oneof![Just(SyncScope::Data), Just(SyncScope::All)];
    let sync = prop_oneof![4 => Just(None), 1 => kind().prop_map(Some)];
    let mode = prop_oneof![3 => Just(Mode::Buffered), 1 => Just(Mode::Direct)];
    prop_oneof![
        12 => (range(), mode, sync)
            .prop_map(|((file, at, sectors), mode, sync)| Step::Write { file, at, sectors, mode, sync }),
        4 => (file(), kind()).prop_map(|(file, sync)| Step::Sync(file, sync)),
        1 => file().prop_map(Step::FailSync),
        2 => (file(), 0..SECTORS).prop_map(|(file, size)| Step::Truncate(file, size)),
        2 => range().prop_map(|(file, at, sectors)| Step::Punch { file, at, sectors }),
        2 => range().prop_map(|(file, at, sectors)| Step::Allocate { file, at, sectors }),
        1 => file().prop_map(Step::Remove),
        1 => file().prop_map(Step::Close),
        1 => Just(Step::Rename),
        1 => Just(Step::SyncDirectory),
        3 => (0u64..20_000_000_000).prop_map(Step::Wait),
    ]
}

/// What is known of a file's sectors.
#[derive(Clone)]
struct Known {
    /// Written by the host, and not by the device since.
    stale: Vec<bool>,
    /// Page was ever written by the host, and not freed since.
    host: Vec<bool>,
    /// Page was ever written by the device, and not freed since.
    device: Vec<bool>,
}

impl Default for Known {
    fn default() -> Self {
        let pages = SECTORS as usize / IN_PAGE;
        Self {
            stale: vec![false; SECTORS as usize],
            host: vec![false; pages],
            device: vec![false; pages],
        }
    }
}

impl Known {
    fn is_written(&self) -> bool {
        !self.stale.contains(&true)
    }

    fn host_writes(&mut self, at: u64, sectors: u64) {
        for sector in at..at + sectors {
            self.stale[sector as usize] = true;
            self.host[sector as usize / IN_PAGE] = true;
        }
    }

    /// Frees what lies in sectors `from..until`: whole pages are forgotten; a part of a page is
    /// zeroed, which nobody has asked to be durable.
    fn free(&mut self, from: u64, until: u64) {
        for sector in from..until.min(SECTORS) {
            self.stale[sector as usize] = false;
        }
        let whole = (from as usize).div_ceil(IN_PAGE)..until.min(SECTORS) as usize / IN_PAGE;
        for page in whole {
            (self.host[page], self.device[page]) = (false, false);
        }
    }
}

struct Checker {
    ext4: Ext4,
    journal: Ext4Parameters,
    now: Nanos,
    files: BTreeMap<u64, Known>,
    host_bytes: u64,
    device_bytes: u64,
}

impl Checker {
    fn new(options: Ext4MountOptions) -> Self {
        let files = BTreeMap::new();
        let (ext4, journal) = (Ext4::new(options), options.journal);
        Self { ext4, journal, now: 0, files, host_bytes: 0, device_bytes: 0 }
    }

    /// Whether what is durable is in its place, and not in the journal alone.
    fn in_place(&self) -> bool {
        self.journal.data != DataMode::Journal
    }

    fn file(&mut self, file: u64) -> &mut Known {
        self.files.entry(file).or_default()
    }

    /// All extents by their place on the device; they must not overlap, nor reach beyond the span.
    fn layout(&self) -> BTreeMap<u64, (u64, Extent)> {
        let mut layout = BTreeMap::new();
        for file in 0..FILES {
            for extent in self.ext4.file_extents(file) {
                assert_eq!(layout.insert(extent.place, (file, extent)), None);
            }
        }
        let mut end = 0;
        for (place, (_, extent)) in &layout {
            assert!(*place >= end, "extents overlap at {place}");
            end = place + extent.length;
        }
        assert!(end <= self.ext4.span());
        layout
    }

    /// Takes note of what the device writes. What is no file's must be the journal's.
    fn device_does(&mut self, work: &DeviceWork, journal_before: u64) {
        self.ext4.finish_work(work.ticket);
        let layout = self.layout();
        let mut elsewhere = 0;
        for request in
            work.steps.iter().flatten().filter(|request| request.kind == RequestKind::Write)
        {
            assert_eq!((request.offset % SECTOR, request.length % SECTOR), (0, 0));
            for place in (request.offset..request.offset + request.length).step_by(SECTOR as usize)
            {
                let extent = layout.range(..=place).next_back().map(|(_, held)| *held);
                match extent.filter(|(_, extent)| place < extent.place + extent.length) {
                    None => elsewhere += SECTOR,
                    Some((file, extent)) => {
                        self.device_bytes += SECTOR;
                        let sector = ((extent.offset + place - extent.place) / SECTOR) as usize;
                        let known = self.file(file);
                        assert!(known.host[sector / IN_PAGE], "never written: {file} at {sector}");
                        known.stale[sector] = false;
                        known.device[sector / IN_PAGE] = true;
                    }
                }
            }
        }
        assert_eq!(elsewhere, self.ext4.counts().journal.bytes - journal_before);
    }

    fn apply(&mut self, step: &Step) {
        let journal = self.ext4.counts().journal.bytes;
        let (now, ext4) = (self.now, &mut self.ext4);
        match *step {
            Step::Write { file, at, sectors, mode, sync } => {
                let (offset, length) = (at * SECTOR, sectors * SECTOR);
                let work = ext4.write(now, file, offset, length, mode, sync);
                self.host_bytes += length;
                self.file(file).host_writes(at, sectors);
                self.device_does(&work, journal);
                let range = at as usize..(at + sectors) as usize;
                if mode == Mode::Direct && self.in_place() {
                    assert!(!self.file(file).stale[range].contains(&true));
                }
                if sync.is_some() {
                    self.is_durable(file, &work);
                }
            }
            Step::Sync(file, sync) => {
                let work = ext4.sync_file(now, file, sync);
                self.device_does(&work, journal);
                self.is_durable(file, &work);
                if self.in_place() {
                    self.reads_all(file);
                }
            }
            Step::FailSync(file) => {
                ext4.fail_sync(file);
                self.file(file).stale.fill(false);
            }
            Step::Truncate(file, size) => {
                ext4.truncate(now, file, size * SECTOR);
                self.file(file).free(size, u64::MAX);
            }
            Step::Punch { file, at, sectors } => {
                ext4.punch_hole(now, file, at * SECTOR, sectors * SECTOR);
                self.file(file).free(at, at + sectors);
            }
            Step::Allocate { file, at, sectors } => {
                ext4.allocate_blocks(now, file, at * SECTOR, sectors * SECTOR);
            }
            Step::Remove(file) => {
                ext4.remove_file(now, file);
                self.files.remove(&file);
            }
            Step::Close(file) => ext4.close(file),
            Step::Rename => ext4.names_changed(now, &[1]),
            Step::SyncDirectory => {
                let work = ext4.sync_dir(now);
                self.device_does(&work, journal);
            }
            Step::Wait(time) => self.wait(time),
        }
    }

    fn wait(&mut self, time: Nanos) {
        let until = self.now + time;
        while let Some(at) = self.ext4.next_tick().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            let journal = self.ext4.counts().journal.bytes;
            let Some(Background { work, durable }) = self.ext4.tick(self.now) else {
                continue;
            };
            self.device_does(&work, journal);
            for durable in durable {
                if let Durable::File(file) = durable {
                    let is_written = self.file(file).is_written();
                    assert!(is_written || !self.in_place(), "{file} is not durable");
                }
            }
        }
        self.now = until;
    }

    /// After a sync all of the file is on the device, unless it is in the journal, and the device was
    /// flushed at last; without barriers never.
    fn is_durable(&mut self, file: u64, work: &DeviceWork) {
        assert!(self.file(file).is_written() || !self.in_place(), "{file} is not durable");
        if self.journal.barrier == Barrier::Off {
            assert!(work.steps.iter().flatten().all(|request| request.kind != RequestKind::Flush));
            return;
        }
        let last = work.steps.last().expect("a sync flushes");
        assert_eq!((last.len(), last[0].kind), (1, RequestKind::Flush));
    }

    /// A clean file is read from the places that the device wrote, and no others.
    fn reads_all(&mut self, file: u64) {
        let layout = self.layout();
        // The first time, pages that were written in part are still in the cache.
        let first = self.ext4.read(file, 0, SECTORS * SECTOR);
        let work = self.ext4.read(file, 0, SECTORS * SECTOR);
        let bytes = |work: &DeviceWork| work.steps.iter().flatten().map(|r| r.length).sum::<u64>();
        assert!(bytes(&first) <= bytes(&work));
        let mut read = vec![false; SECTORS as usize / IN_PAGE];
        for request in work.steps.iter().flatten() {
            for place in (request.offset..request.offset + request.length).step_by(PAGE as usize) {
                let (_, (owner, extent)) = layout.range(..=place).next_back().expect("an extent");
                assert_eq!(*owner, file);
                read[((extent.offset + place - extent.place) / PAGE) as usize] = true;
            }
        }
        assert_eq!(read, self.file(file).device);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("BAKEOFF_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(400),
        ..ProptestConfig::default()
    })]

    /// What is synced was written by the device since the host wrote it; the device writes nothing
    /// that the host did not; files never share a block; and in the end all is written.
    #[test]
    fn every_byte_is_where_it_should_be(
        steps in prop::collection::vec(step(), 1..120),
        limit in prop_oneof![Just(16u64), Just(64), Just(100_000)],
        commit in prop_oneof![Just(Committing::Jbd2), Just(Committing::Fast)],
        journal in prop_oneof![Just(JournalPlace::Middle), Just(JournalPlace::Near)],
        data in prop_oneof![Just(DataMode::Ordered), Just(DataMode::Writeback), Just(DataMode::Journal)],
        barrier in prop_oneof![3 => Just(Barrier::On), 1 => Just(Barrier::Off)],
    ) {
        let options = Ext4MountOptions {
            dirty_background: limit * PAGE / 2,
            dirty_limit: limit * PAGE,
            journal: Ext4Parameters { barrier, commit, data, journal },
            ..Ext4MountOptions::default()
        };
        let empty = Ext4::new(options).span();
        let mut checker = Checker::new(options);
        for step in &steps {
            checker.apply(step);
            checker.layout();
        }
        checker.wait(100_000_000_000);
        prop_assert_eq!(checker.ext4.dirty_bytes(), 0);
        prop_assert_eq!(checker.ext4.next_tick(), None);
        for (file, known) in &checker.files {
            prop_assert!(known.is_written(), "file {} was never written back", file);
        }
        let counts = checker.ext4.counts();
        prop_assert_eq!(counts.all.host_writes.bytes, checker.host_bytes);
        prop_assert_eq!(counts.all.device_writes.bytes, checker.device_bytes);
        let files = counts.files.values().chain([&counts.removed]);
        let by_file: u64 = files.map(|counts| counts.device_writes.bytes).sum();
        prop_assert_eq!(by_file, checker.device_bytes);
        (0..FILES).for_each(|file| checker.ext4.remove_file(checker.now, file));
        prop_assert_eq!(checker.ext4.span(), empty);
    }
}
