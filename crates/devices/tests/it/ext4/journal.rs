//! What the journal's options change: what is ordered or written of data, barriers, and where it lies.

use bakeoff_devices::device::RequestKind;
use bakeoff_devices::ext4::{
    Barrier, Committing, DataMode, Durable, Ext4, Ext4MountOptions, Ext4Parameters, JournalPlace,
    Mode, SyncScope,
};

use super::{FILE, KIB, MIB, SECOND, background, ext4, shape, sync, write};

fn with_data(data: DataMode) -> Ext4 {
    let journal = Ext4Parameters { data, ..Ext4Parameters::default() };
    Ext4::new(Ext4MountOptions { journal, ..Ext4MountOptions::default() })
}

/// By its age; a sync still waits for the data of its own file.
#[test]
fn with_writeback_a_commit_does_not_wait_for_data() {
    for (data, later) in
        [(DataMode::Ordered, "w4 w16 f w4 f"), (DataMode::Writeback, "w4+w16 f w4 f")]
    {
        let mut ext4 = with_data(data);
        ext4.adopt(FILE, MIB);
        write(&mut ext4, 0, FILE, MIB, 4 * KIB);
        let all = background(&mut ext4, 100 * SECOND);
        let (_, work, durable) = all.last().expect("it is written back");
        assert_eq!(shape(work), later, "{data:?}");
        assert!(durable.contains(&Durable::File(FILE)), "{durable:?}");
        write(&mut ext4, 100 * SECOND, FILE, MIB + 4 * KIB, 4 * KIB);
        let synced = shape(&sync(&mut ext4, 100 * SECOND, FILE, SyncScope::Data));
        assert!(synced.starts_with("w4 w"), "{data:?}: {synced}");
    }
}

#[test]
fn journalled_data_are_written_twice_and_by_a_commit_of_anybody() {
    let mut ext4 = with_data(DataMode::Journal);
    ext4.adopt(FILE, MIB);
    ext4.adopt(1, MIB);
    write(&mut ext4, 0, FILE, 0, 8 * KIB);
    // A descriptor, an inode and two pages.
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "w16 f w4 f");
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "f");
    // The page cache can't be left out, and a page is once in a transaction.
    for _ in 0..3 {
        assert_eq!(shape(&ext4.write(0, FILE, 0, 4 * KIB, Mode::Direct, None)), "");
    }
    write(&mut ext4, 0, 1, 0, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, 1, SyncScope::Data)), "w16 f w4 f");
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::All)), "f", "the other sync took it in");
    let written = ext4.counts();
    assert_eq!((written.all.device_writes.bytes, written.journal.bytes), (0, 40 * KIB));
    background(&mut ext4, 100 * SECOND);
    let later = ext4.counts();
    assert_eq!((later.all.device_writes.bytes, later.journal.bytes), (12 * KIB, 40 * KIB));
    assert_eq!(ext4.dirty(), 0);
}

#[test]
fn journalled_data_are_committed_before_they_are_written_to_their_places() {
    let mut ext4 = with_data(DataMode::Journal);
    ext4.adopt(FILE, MIB);
    write(&mut ext4, 0, FILE, 0, 4 * KIB);
    let all = background(&mut ext4, 100 * SECOND);
    let shapes: Vec<String> = all.iter().map(|(_, work, _)| shape(work)).collect();
    assert_eq!(shapes, ["w12 f w4 f", "w4"]);
    // A transaction that fills its part of the journal is committed by its writer.
    let mut committed = 0;
    for page in 0..1024 {
        let work = ext4.write(200 * SECOND, FILE, page * 4 * KIB, 4 * KIB, Mode::Buffered, None);
        committed += u64::from(!work.is_empty());
        ext4.done(work.ticket);
    }
    assert!((1..1024).contains(&committed), "{committed}");
    assert_eq!(ext4.counts().commits, 1 + committed);
}

/// All that is written waits as before; it is not flushed.
#[test]
fn without_barriers_nothing_is_flushed() {
    let journal = Ext4Parameters { barrier: Barrier::Off, ..Ext4Parameters::default() };
    let mut ext4 = Ext4::new(Ext4MountOptions { journal, ..Ext4MountOptions::default() });
    ext4.adopt(FILE, MIB);
    write(&mut ext4, 0, FILE, 8 * KIB, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "w4");
    write(&mut ext4, 0, FILE, MIB, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "w4 w16 w4");
    assert_eq!(ext4.written(), 28 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::All)), "");
    write(&mut ext4, 0, FILE, 0, 4 * KIB);
    let later = background(&mut ext4, 100 * SECOND);
    assert!(later.iter().any(|(_, _, durable)| durable.contains(&Durable::File(FILE))));
    let flushes = later.iter().flat_map(|(_, work, _)| work.steps.iter().flatten());
    assert_eq!(flushes.filter(|request| request.kind == RequestKind::Flush).count(), 0);
    assert_eq!((ext4.counts().flushes, ext4.counts().commits), (0, 2));
}

#[test]
fn a_journal_near_the_data_is_one_write_and_in_pieces_between_them() {
    let (commit, journal) = (Committing::Fast, JournalPlace::Near);
    let journal = Ext4Parameters { commit, journal, ..Ext4Parameters::default() };
    let mut ext4 = Ext4::new(Ext4MountOptions { journal, ..Ext4MountOptions::default() });
    write(&mut ext4, 0, FILE, 0, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "w4 w24 f");
    let mut last = ext4.counts();
    for number in 1..4096u64 {
        write(&mut ext4, 0, FILE, number * 4 * KIB, 4 * KIB);
        let work = sync(&mut ext4, 0, FILE, SyncScope::Data);
        let [data, commit] = [0, 1].map(|step| work.steps[step][0].offset);
        assert!(data.abs_diff(commit) <= MIB, "{number}: from {data} to {commit}");
        let counts = ext4.counts();
        assert_eq!(
            (counts.journal.requests, counts.flushes),
            (last.journal.requests + 1, last.flushes + 1)
        );
        last = counts;
    }
    // The first 32 groups are of 512 KiB, the next of 1 MiB, each with a piece of 64 KiB.
    assert_eq!(ext4.extents(FILE).len(), 32 + 3);
    assert_eq!(ext4.span() / MIB, 19);
}

#[test]
fn the_journal_is_one_place_in_the_middle_written_round() {
    let mut ext4 = ext4();
    ext4.adopt(99, 64 * MIB);
    let mut seen = Vec::new();
    for number in 0..2000 {
        write(&mut ext4, 0, FILE, number * 64, 64);
        let work = sync(&mut ext4, 0, FILE, SyncScope::Data);
        let [first, last] = [work.steps[1][0], work.steps[3][0]];
        assert_eq!(first.offset + first.length, last.offset, "the record lies behind the blocks");
        seen.push(first.offset);
    }
    let (from, to) = (*seen.iter().min().unwrap(), *seen.iter().max().unwrap());
    assert!((28 * MIB..=32 * MIB).contains(&from), "from {from}");
    // A journal of 4 MiB, all of it used, five times.
    assert!((4 * MIB - 32 * KIB..4 * MIB).contains(&(to - from)), "{from} to {to}");
    assert_eq!(seen.windows(2).filter(|pair| pair[1] < pair[0]).count(), 5);
    assert!(ext4.span() >= 68 * MIB);
    let file = ext4.extents(99);
    assert_eq!(file.len(), 2, "around the journal: {file:?}");
    assert_eq!((file[0].place + file[0].length, file[1].place), (from, from + 4 * MIB));
}
