//! What a power cut leaves where nothing orders data before the metadata, where data are in the journal with
//! them, and where there are two copies of them.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::io;
use std::ops::Range;

use bakeoff_devices::ext4::{DataMode, Extent};
use bakeoff_devices::models::Models;
use bakeoff_devices::plug::{
    Before, Contents, EntryPlace, FileAttributes, Ino, Keep, Metadata, MirrorCopies, NodeKind,
    Pending,
};

const ROOT: Ino = 1;
const LOG: Ino = 2;
const OTHER: Ino = 3;
const PAGE: usize = 4096;
const SEEDS: Range<u64> = 0..300;

struct Files(HashMap<Ino, Vec<u8>>);

impl Contents for Files {
    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.0[&ino].get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn size(&self, ino: Ino) -> io::Result<u64> {
        Ok(self.0[&ino].len() as u64)
    }
}

/// Two files of four pages each, full of `0` and durable.
struct Disk {
    pending: Pending,
    files: Files,
}

impl Disk {
    fn new(data: DataMode) -> Self {
        let attributes = FileAttributes { mode: 0o755, uid: 0, gid: 0 };
        let mut pending = Pending::new(ROOT, attributes, Metadata::Ordered).with_data(data);
        for (name, ino) in [("log", LOG), ("other", OTHER)] {
            let place = EntryPlace { dir: ROOT, name: OsStr::new(name) };
            pending.adopt(place, ino, NodeKind::File, attributes);
        }
        let whole = vec![b'0'; 4 * PAGE];
        Self { pending, files: Files(HashMap::from([(LOG, whole.clone()), (OTHER, whole)])) }
    }

    fn write(&mut self, ino: Ino, pages: Range<usize>, byte: u8) {
        let file = self.files.0.get_mut(&ino).unwrap();
        let (start, end, old_size) = (pages.start * PAGE, pages.end * PAGE, file.len());
        let before = file.get(start..end.min(old_size)).unwrap_or_default().to_vec();
        file.resize(old_size.max(end), 0);
        file[start..end].fill(byte);
        let (offset, length) = (start as u64, (end - start) as u64);
        self.pending.write(ino, offset, length, old_size as u64, Before::Bytes(&before));
    }

    /// What an image has of a file.
    fn left(&self, ino: Ino, keep: Keep, seed: u64) -> Vec<u8> {
        self.left_on(None, ino, keep, seed)
    }

    /// The same where the files lie on an array.
    fn left_on(&self, copies: Option<&MirrorCopies>, ino: Ino, keep: Keep, seed: u64) -> Vec<u8> {
        let image = self.pending.state().image_on(copies, keep, seed, &self.files).unwrap();
        let content = image.item(ino).unwrap().content.as_ref().unwrap();
        let mut bytes = vec![1; content.size() as usize];
        assert_eq!(content.read(&self.files, 0, &mut bytes).unwrap(), bytes.len());
        bytes
    }

    /// In how many images a page past the end that the file had holds what nobody wrote.
    fn stale(&self, keep: Keep) -> usize {
        let is_stale = |seed: &u64| {
            let left = self.left(LOG, keep, *seed);
            assert!(left[..4 * PAGE].iter().all(|byte| *byte == b'0'), "seed {seed}");
            left[4 * PAGE..].iter().any(|byte| ![b'A', 0].contains(byte))
        };
        SEEDS.filter(is_stale).count()
    }
}

#[test]
fn a_file_that_grew_shows_stale_bytes_where_nothing_orders_data_and_nobody_synced() {
    for data in [DataMode::Ordered, DataMode::Writeback, DataMode::Journal] {
        let mut disk = Disk::new(data);
        disk.write(LOG, 4..6, b'A');
        for keep in [Keep::Prefix, Keep::Subset, Keep::Torn] {
            assert_eq!(disk.stale(keep) > 0, data == DataMode::Writeback, "{data:?}, {keep}");
        }
        assert_eq!(disk.stale(Keep::DropAll), 0, "{data:?}");
        disk.pending.sync_file(LOG, disk.pending.mark());
        for keep in Keep::ALL {
            assert_eq!(disk.stale(keep), 0, "{data:?}, {keep}: it was synced");
            assert_eq!(disk.left(LOG, keep, 1).len(), 6 * PAGE);
        }
    }
}

#[test]
fn data_in_the_journal_come_back_in_the_order_in_which_they_were_written() {
    let seen = |data: DataMode, keep: Keep| {
        let mut disk = Disk::new(data);
        for (ino, byte) in [(LOG, b'1'), (OTHER, b'1'), (LOG, b'2'), (OTHER, b'2')] {
            disk.write(ino, 0..1, byte);
        }
        let first = |ino, seed| disk.left(ino, keep, seed)[..PAGE].to_vec();
        let both = |seed| {
            let [log, other] = [LOG, OTHER].map(|ino| first(ino, seed));
            (log[0], log[PAGE - 1], other[0], other[PAGE - 1])
        };
        SEEDS.map(both).collect::<BTreeSet<_>>()
    };
    let in_order = [b"00", b"10", b"11", b"21", b"22"];
    let in_order: BTreeSet<_> = in_order.iter().map(|at| (at[0], at[0], at[1], at[1])).collect();
    for keep in [Keep::Prefix, Keep::Subset, Keep::Torn] {
        assert_eq!(seen(DataMode::Journal, keep), in_order, "{keep}");
    }
    assert!(!seen(DataMode::Ordered, Keep::Subset).is_subset(&in_order));
}

#[test]
fn a_commit_takes_in_the_data_of_all_files_where_they_are_in_the_journal() {
    for (data, left) in
        [(DataMode::Ordered, b'0'), (DataMode::Writeback, b'0'), (DataMode::Journal, b'1')]
    {
        let mut disk = Disk::new(data);
        disk.write(LOG, 0..1, b'1');
        let mark = disk.pending.mark();
        disk.write(LOG, 1..2, b'1');
        disk.pending.commit_journal(mark);
        let found = disk.left(LOG, Keep::DropAll, 0);
        assert_eq!((found[0], found[PAGE]), (left, b'0'), "{data:?}");
    }
}

/// A transaction ends between pages at the earliest: nothing is torn within one.
#[test]
fn the_last_write_in_the_journal_may_end_between_two_of_its_pages() {
    let mut disk = Disk::new(DataMode::Journal);
    disk.write(LOG, 0..4, b'1');
    let mut seen = BTreeSet::new();
    for seed in SEEDS {
        let left = disk.left(LOG, Keep::Torn, seed);
        let there = left.iter().filter(|byte| **byte == b'1').count();
        assert!(left[..there].iter().all(|byte| *byte == b'1'), "seed {seed}: not its beginning");
        seen.insert((there / PAGE, there % PAGE));
    }
    let pages = [0, 1, 2, 3, 4].map(|pages| (pages, 0));
    assert_eq!(seen, BTreeSet::from(pages));
}

/// The log on an array of which each chunk is a page: pages 0 and 2 are on the same disks, and 1 and 3.
fn on_array(model: &str) -> MirrorCopies {
    let spec = Models::standard().parse(model).unwrap();
    let extent = Extent { offset: 0, place: 0, length: 4 * PAGE as u64 };
    MirrorCopies::new(spec.mirrors().expect("it is an array"), HashMap::from([(LOG, vec![extent])]))
}

/// The first bytes of the first two pages, of all images.
fn seen_on(copies: Option<&MirrorCopies>, disk: &Disk, keep: Keep) -> BTreeSet<(char, char)> {
    let pages = |seed| {
        let left = disk.left_on(copies, LOG, keep, seed);
        let page = |number: usize| {
            let page = &left[number * PAGE..][..PAGE];
            assert!(keep == Keep::Torn || page.iter().all(|byte| *byte == page[0]), "seed {seed}");
            char::from(page[0])
        };
        (page(0), page(1))
    };
    SEEDS.map(pages).collect()
}

#[test]
fn of_a_write_in_flight_the_copy_is_read_that_lost_it() {
    let array = on_array("raid10:4×ssd-sata/chunk=4K");
    // One write over the chunks of two pairs of disks.
    let mut disk = Disk::new(DataMode::Ordered);
    disk.write(LOG, 0..2, b'1');
    let whole = BTreeSet::from([('0', '0'), ('1', '1')]);
    assert_eq!(seen_on(None, &disk, Keep::Subset), whole);
    let halves = BTreeSet::from([('0', '1'), ('1', '0')]);
    let any = &whole | &halves;
    assert_eq!(seen_on(Some(&array), &disk, Keep::Subset), any);
    // A pair of which one disk has failed has no other copy to differ from.
    let degraded = on_array("raid10:2×ssd-sata/chunk=4K/array=degraded");
    assert_eq!(seen_on(Some(&degraded), &disk, Keep::Subset), whole);
    let unplaced = MirrorCopies::new(
        Models::standard().parse("raid10:4×ssd-sata").unwrap().mirrors().unwrap(),
        HashMap::new(),
    );
    assert_eq!(seen_on(Some(&unplaced), &disk, Keep::Subset), whole, "it is on no disk yet");
    // What was synced is in both.
    disk.pending.sync_file(LOG, disk.pending.mark());
    for keep in Keep::ALL {
        assert_eq!(seen_on(Some(&array), &disk, keep), BTreeSet::from([('1', '1')]), "{keep}");
    }
}

#[test]
fn each_pair_of_disks_has_a_prefix_of_its_own() {
    let array = on_array("raid10:4×ssd-sata/chunk=4K");
    let mut disk = Disk::new(DataMode::Ordered);
    disk.write(LOG, 0..1, b'1');
    disk.write(LOG, 1..2, b'1');
    let in_order = BTreeSet::from([('0', '0'), ('1', '0'), ('1', '1')]);
    assert_eq!(seen_on(None, &disk, Keep::Prefix), in_order);
    let any = &in_order | &BTreeSet::from([('0', '1')]);
    assert_eq!(seen_on(Some(&array), &disk, Keep::Prefix), any);
    assert_eq!(seen_on(Some(&array), &disk, Keep::DropAll), BTreeSet::from([('0', '0')]));
    // On one pair they stay in order.
    let pair = on_array("raid10:2×ssd-sata/chunk=4K");
    assert_eq!(seen_on(Some(&pair), &disk, Keep::Prefix), in_order);
}
