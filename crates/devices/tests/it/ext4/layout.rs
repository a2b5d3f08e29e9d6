//! Where files lie on the device, and how large it is.

use bakeoff_devices::ext4::{
    Committing, DeviceWork, Ext4, Ext4MountOptions, Ext4Parameters, JournalPlace, LEAST_SPAN, Mode,
    SyncScope,
};

use super::script::FILE;
use super::{KIB, MIB};

fn ext4() -> Ext4 {
    Ext4::new(Ext4MountOptions::default())
}

/// Writes through the page cache and syncs.
fn append(ext4: &mut Ext4, file: u64, offset: u64, length: u64) -> DeviceWork {
    ext4.write(0, file, offset, length, Mode::Buffered, None);
    let work = ext4.sync_file(0, file, SyncScope::Data);
    ext4.finish_work(work.ticket);
    work
}

#[test]
fn a_sequential_file_is_read_and_written_in_large_requests() {
    let mut ext4 = ext4();
    for number in 0..64 {
        ext4.write(0, FILE, number * MIB, MIB, Mode::Direct, None);
    }
    // One more behind the journal.
    let groups = 1;
    assert!(ext4.file_extents(FILE).len() as u64 <= groups + 1, "{:?}", ext4.file_extents(FILE));
    let reads: usize =
        (0..64).map(|number| ext4.read(FILE, number * MIB, MIB).steps[0].len()).sum();
    assert!(reads as u64 <= 64 + groups + 1);
    let counts = ext4.counts().all;
    assert!(counts.device_reads.random_requests() <= groups + 1, "{counts:?}");
    assert!(counts.device_writes.random_requests() <= groups + 1, "{counts:?}");
}

#[test]
fn files_that_grow_in_turns_lie_in_long_runs() {
    let mut ext4 = ext4();
    // With much on it, so that its groups are large.
    ext4.adopt_file(99, 1 << 30);
    for number in 0..2048 {
        for file in 0..4 {
            append(&mut ext4, file, number * 4 * KIB, 4 * KIB);
        }
    }
    for file in 0..4 {
        let extents = ext4.file_extents(file);
        assert!(extents.len() <= 16, "{extents:?}");
        assert!(extents.iter().map(|extent| extent.length).max() >= Some(3 * MIB), "{extents:?}");
    }
}

#[test]
fn freed_space_is_used_again() {
    let mut ext4 = ext4();
    let empty = ext4.span();
    // Beside its journal.
    assert_eq!(empty, LEAST_SPAN + MIB);
    let mut order = 12345u64;
    for number in 0..20_000u64 {
        order = order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let length = ((order >> 33) % 64 + 1) * 16 * KIB;
        ext4.write(0, number, 0, length, Mode::Direct, None);
        if number >= 300 {
            ext4.remove_file(0, number - 300);
        }
    }
    // At most 300 MiB are there at a time, 150 on average.
    assert!(ext4.span() <= 400 * MIB, "{} MiB", ext4.span() / MIB);
    (0..20_000).for_each(|number| ext4.remove_file(0, number));
    assert_eq!(ext4.span(), empty);
}

#[test]
fn a_journal_near_the_data_is_one_write_and_in_pieces_between_them() {
    let (commit, journal) = (Committing::Fast, JournalPlace::Near);
    let journal = Ext4Parameters { commit, journal, ..Ext4Parameters::default() };
    let mut ext4 = Ext4::new(Ext4MountOptions { journal, ..Ext4MountOptions::default() });
    assert_eq!(append(&mut ext4, FILE, 0, 4 * KIB).steps.len(), 3, "data, a commit, a flush");
    let mut last = ext4.counts();
    for number in 1..4096u64 {
        let work = append(&mut ext4, FILE, number * 4 * KIB, 4 * KIB);
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
    assert_eq!(ext4.file_extents(FILE).len(), 32 + 3);
    assert_eq!(ext4.span() / MIB, 19);
}

#[test]
fn the_journal_is_one_place_in_the_middle_written_round() {
    let mut ext4 = ext4();
    ext4.adopt_file(99, 64 * MIB);
    let mut seen = Vec::new();
    for number in 0..2000 {
        let work = append(&mut ext4, FILE, number * 64, 64);
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
    let file = ext4.file_extents(99);
    assert_eq!(file.len(), 2, "around the journal: {file:?}");
    assert_eq!((file[0].place + file[0].length, file[1].place), (from, from + 4 * MIB));
}
