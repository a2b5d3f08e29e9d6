//! What single operations ask of the device, and when.

use bakeoff_devices::device::{Kind, Nanos, Request};
use bakeoff_devices::ext4::{
    Background, Barrier, Committing, Counts, Data, Durable, Ext4, JournalPlace, LEAST_SPAN, Mode,
    Options, Parameters, Sync, Work,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const SECOND: Nanos = 1_000_000_000;
const FILE: u64 = 7;

fn ext4() -> Ext4 {
    Ext4::new(Options::default())
}

/// One with much on it, so that its groups are large.
fn full() -> Ext4 {
    let mut ext4 = ext4();
    ext4.adopt(99, 1 << 30);
    ext4
}

/// A sync that is done at once.
fn sync(ext4: &mut Ext4, now: Nanos, file: u64, sync: Sync) -> Work {
    done(ext4, |ext4| ext4.sync(now, file, sync))
}

/// Work that is done at once.
fn done(ext4: &mut Ext4, work: impl FnOnce(&mut Ext4) -> Work) -> Work {
    let work = work(ext4);
    ext4.done(work.ticket);
    work
}

/// A buffered write without a sync, which has to cost nothing.
fn write(ext4: &mut Ext4, now: Nanos, file: u64, offset: u64, length: u64) {
    let work = ext4.write(now, file, offset, length, Mode::Buffered, None);
    assert!(work.is_empty(), "{work:?}");
}

/// The steps as letters and KiB: `w40 w12 f`.
fn shape(work: &Work) -> String {
    let letter = |request: &Request| match request.kind {
        Kind::Read => format!("r{}", request.length / KIB),
        Kind::Write => format!("w{}", request.length / KIB),
        Kind::Flush => "f".to_owned(),
    };
    let step = |step: &Vec<Request>| step.iter().map(letter).collect::<Vec<_>>().join("+");
    work.steps.iter().map(step).collect::<Vec<_>>().join(" ")
}

fn bytes(work: &Work) -> u64 {
    work.steps.iter().flatten().map(|request| request.length).sum()
}

/// Everything due by `until`, each done at once: moments, works and what they make durable.
fn background(ext4: &mut Ext4, until: Nanos) -> Vec<(Nanos, Work, Vec<Durable>)> {
    let mut all = Vec::new();
    while let Some(at) = ext4.next_tick().filter(|at| *at <= until) {
        if let Some(Background { work, durable }) = ext4.tick(at) {
            ext4.done(work.ticket);
            all.push((at, work, durable));
        }
    }
    all
}

#[test]
fn appends_reach_the_device_as_one_write() {
    let mut ext4 = ext4();
    ext4.names_changed(0, &[]);
    for number in 0..10 {
        write(&mut ext4, number, FILE, number * 4 * KIB, 4 * KIB);
    }
    assert_eq!(shape(&sync(&mut ext4, 10, FILE, Sync::Data)), "w40 w28 f w4 f");
    let counts = ext4.counts();
    let file = counts.files[&FILE];
    assert_eq!((file.host_writes.requests, file.host_writes.sequential), (10, 10));
    assert_eq!((file.device_writes.requests, file.device_writes.bytes), (1, 40 * KIB));
    assert_eq!((counts.commits, counts.flushes, file.data_syncs), (1, 2, 1));
}

#[test]
fn a_write_in_place_makes_no_commit_but_an_append_does() {
    let mut ext4 = ext4();
    ext4.adopt(FILE, MIB);
    write(&mut ext4, 0, FILE, 8 * KIB, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "w4 f");
    // Its timestamp changed, and that is fsync's business.
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::All)), "w8 f w4 f");
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::All)), "f");

    write(&mut ext4, 0, FILE, MIB, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "w4 w16 f w4 f");
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "f");
    // Within the last block: no new block, but another size.
    write(&mut ext4, 0, FILE, MIB + 4 * KIB, 100);
    sync(&mut ext4, 0, FILE, Sync::Data);
    write(&mut ext4, 0, FILE, MIB + 4 * KIB + 100, 100);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "w4 w8 f w4 f");
}

fn with_data(data: Data) -> Ext4 {
    let journal = Parameters { data, ..Parameters::default() };
    Ext4::new(Options { journal, ..Options::default() })
}

/// By its age; a sync still waits for the data of its own file.
#[test]
fn with_writeback_a_commit_does_not_wait_for_data() {
    for (data, later) in [(Data::Ordered, "w4 w16 f w4 f"), (Data::Writeback, "w4+w16 f w4 f")] {
        let mut ext4 = with_data(data);
        ext4.adopt(FILE, MIB);
        write(&mut ext4, 0, FILE, MIB, 4 * KIB);
        let all = background(&mut ext4, 100 * SECOND);
        let (_, work, durable) = all.last().expect("it is written back");
        assert_eq!(shape(work), later, "{data:?}");
        assert!(durable.contains(&Durable::File(FILE)), "{durable:?}");
        write(&mut ext4, 100 * SECOND, FILE, MIB + 4 * KIB, 4 * KIB);
        let synced = shape(&sync(&mut ext4, 100 * SECOND, FILE, Sync::Data));
        assert!(synced.starts_with("w4 w"), "{data:?}: {synced}");
    }
}

#[test]
fn journalled_data_are_written_twice_and_by_a_commit_of_anybody() {
    let mut ext4 = with_data(Data::Journal);
    ext4.adopt(FILE, MIB);
    ext4.adopt(1, MIB);
    write(&mut ext4, 0, FILE, 0, 8 * KIB);
    // A descriptor, an inode and two pages.
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "w16 f w4 f");
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "f");
    // The page cache can't be left out, and a page is once in a transaction.
    for _ in 0..3 {
        assert_eq!(shape(&ext4.write(0, FILE, 0, 4 * KIB, Mode::Direct, None)), "");
    }
    write(&mut ext4, 0, 1, 0, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, 1, Sync::Data)), "w16 f w4 f");
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::All)), "f", "the other sync took it in");
    let written = ext4.counts();
    assert_eq!((written.all.device_writes.bytes, written.journal.bytes), (0, 40 * KIB));
    background(&mut ext4, 100 * SECOND);
    let later = ext4.counts();
    assert_eq!((later.all.device_writes.bytes, later.journal.bytes), (12 * KIB, 40 * KIB));
    assert_eq!(ext4.dirty(), 0);
}

#[test]
fn journalled_data_are_committed_before_they_are_written_to_their_places() {
    let mut ext4 = with_data(Data::Journal);
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
    let journal = Parameters { barrier: Barrier::Off, ..Parameters::default() };
    let mut ext4 = Ext4::new(Options { journal, ..Options::default() });
    ext4.adopt(FILE, MIB);
    write(&mut ext4, 0, FILE, 8 * KIB, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "w4");
    write(&mut ext4, 0, FILE, MIB, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "w4 w16 w4");
    assert_eq!(ext4.written(), 28 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::All)), "");
    write(&mut ext4, 0, FILE, 0, 4 * KIB);
    let later = background(&mut ext4, 100 * SECOND);
    assert!(later.iter().any(|(_, _, durable)| durable.contains(&Durable::File(FILE))));
    let flushes = later.iter().flat_map(|(_, work, _)| work.steps.iter().flatten());
    assert_eq!(flushes.filter(|request| request.kind == Kind::Flush).count(), 0);
    assert_eq!((ext4.counts().flushes, ext4.counts().commits), (0, 2));
}

#[test]
fn synchronous_and_direct_writes() {
    let mut ext4 = ext4();
    ext4.adopt(FILE, MIB);
    let mut cost = |offset, length, mode, sync| {
        shape(&done(&mut ext4, |ext4| ext4.write(0, FILE, offset, length, mode, sync)))
    };
    assert_eq!(cost(0, 16 * KIB, Mode::Buffered, Some(Sync::Data)), "w16 f");
    assert_eq!(cost(0, 16 * KIB, Mode::Direct, None), "w16");
    assert_eq!(cost(0, 16 * KIB, Mode::Direct, Some(Sync::Data)), "w16 f");
    assert_eq!(cost(0, 16 * KIB, Mode::Direct, Some(Sync::All)), "w16 w8 f w4 f");
    assert_eq!(cost(MIB, 16 * KIB, Mode::Direct, Some(Sync::Data)), "w16 w16 f w4 f");
    let sector = ext4.write(0, FILE, 512, 512, Mode::Direct, None);
    let place = ext4.extents(FILE)[0].place;
    assert_eq!((sector.steps[0][0].offset, sector.steps[0][0].length), (place + 512, 512));
}

#[test]
fn a_direct_write_takes_the_place_of_dirty_pages() {
    let mut ext4 = ext4();
    ext4.adopt(FILE, MIB);
    write(&mut ext4, 0, FILE, 0, 64 * KIB);
    ext4.write(0, FILE, 2 * KIB, 32 * KIB, Mode::Direct, None);
    // Of the pages at its edges only a part is new.
    assert_eq!(ext4.dirty(), 36 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "w4+w32 f");
}

#[test]
fn a_page_written_in_part_is_in_the_cache_until_it_was_read_once() {
    let mut ext4 = ext4();
    ext4.adopt(FILE, MIB);
    // Records of a log that end within pages, made durable.
    write(&mut ext4, 0, FILE, 100, 6 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "w8 f");
    assert!(ext4.read(FILE, 0, 8 * KIB).is_empty());
    assert_eq!(shape(&ext4.read(FILE, 0, 8 * KIB)), "r8", "the kernel has lost it since");
    write(&mut ext4, 0, FILE, 4 * KIB, 10 * KIB);
    sync(&mut ext4, 0, FILE, Sync::Data);
    assert_eq!(shape(&ext4.read(FILE, 0, 16 * KIB)), "r12");
}

#[test]
fn the_first_write_to_allocated_blocks_makes_a_commit() {
    let mut ext4 = ext4();
    ext4.allocate(0, FILE, 0, MIB);
    ext4.truncate(0, FILE, MIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "w20 f w4 f");
    assert!(ext4.read(FILE, 0, MIB).is_empty());
    write(&mut ext4, 0, FILE, 0, 4 * KIB);
    // The blocks are there: only the extents change.
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "w4 w8 f w4 f");
    write(&mut ext4, 0, FILE, 0, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "w4 f");
    assert_eq!(shape(&ext4.read(FILE, 0, MIB)), "r4");
}

#[test]
fn reads_cost_what_is_neither_dirty_nor_a_hole() {
    let mut ext4 = ext4();
    ext4.adopt(FILE, 64 * KIB);
    write(&mut ext4, 0, FILE, 16 * KIB, 4 * KIB);
    write(&mut ext4, 0, FILE, 256 * KIB, 4 * KIB);
    assert_eq!(shape(&ext4.read(FILE, 0, 64 * KIB)), "r16+r44");
    assert!(ext4.read(FILE, 16 * KIB, 4 * KIB).is_empty());
    assert!(ext4.read(FILE, 64 * KIB, 256 * KIB).is_empty());
    sync(&mut ext4, 0, FILE, Sync::Data);
    assert_eq!(shape(&ext4.read(FILE, 0, 64 * KIB)), "r64");
    ext4.punch(0, FILE, 16 * KIB, 32 * KIB);
    assert_eq!(shape(&ext4.read(FILE, 0, 64 * KIB)), "r16+r16");
}

#[test]
fn a_directory_sync_commits_names_that_changed() {
    let mut ext4 = ext4();
    ext4.names_changed(0, &[]);
    assert_eq!(shape(&done(&mut ext4, |ext4| ext4.sync_dir(0))), "w12 f w4 f");
    assert_eq!(shape(&done(&mut ext4, |ext4| ext4.sync_dir(0))), "f");
    assert_eq!(ext4.counts().directory_syncs, 2);
}

#[test]
fn a_file_removed_before_write_back_costs_no_data() {
    let mut ext4 = ext4();
    write(&mut ext4, 0, FILE, 0, 4 * MIB);
    ext4.remove(SECOND, FILE);
    background(&mut ext4, 100 * SECOND);
    let counts = ext4.counts();
    assert_eq!(counts.all.device_writes.bytes, 0);
    assert_eq!(counts.removed.host_writes.bytes, 4 * MIB);
    assert!(counts.files.is_empty());

    write(&mut ext4, 100 * SECOND, FILE, 0, 4 * MIB);
    ext4.truncate(100 * SECOND, FILE, 0);
    assert_eq!(shape(&sync(&mut ext4, 100 * SECOND, FILE, Sync::All)), "w16 f w4 f");
}

#[test]
fn a_failed_sync_drops_the_dirty_pages() {
    let mut ext4 = ext4();
    ext4.adopt(FILE, MIB);
    write(&mut ext4, 0, FILE, 0, MIB);
    ext4.fail_sync(FILE);
    assert_eq!(ext4.dirty(), 0);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "f");
}

#[test]
fn metadata_are_committed_after_5_s_and_data_written_after_30_s() {
    let mut ext4 = full();
    assert_eq!(ext4.next_tick(), None);
    ext4.names_changed(SECOND, &[]);
    write(&mut ext4, SECOND, FILE, 0, MIB);
    let all = background(&mut ext4, 100 * SECOND);
    let told: Vec<_> =
        all.iter().map(|(at, work, durable)| (at / SECOND, shape(work), &durable[..])).collect();
    // 31 s is the moment at which the pages are 30 s old, and a time to look.
    let expected: [(u64, String, &[Durable]); 2] = [
        (6, "w24 f w4 f".to_owned(), &[Durable::Names]),
        (31, "w1024 w16 f w4 f".to_owned(), &[Durable::File(FILE)]),
    ];
    assert_eq!(told, expected);
    assert_eq!(ext4.next_tick(), None);
}

#[test]
fn settling_leaves_nothing_for_later() {
    let mut ext4 = ext4();
    ext4.names_changed(0, &[]);
    write(&mut ext4, SECOND, FILE, 0, 8 * MIB);
    write(&mut ext4, 2 * SECOND, FILE + 1, 0, 4 * KIB);
    let Background { work, durable } = ext4.settle_all(2 * SECOND).expect("there is something");
    ext4.done(work.ticket);
    assert!(bytes(&work) > 8 * MIB && shape(&work).ends_with(" f"), "{}", shape(&work));
    for what in [Durable::File(FILE), Durable::File(FILE + 1), Durable::Names] {
        assert!(durable.contains(&what), "{durable:?}");
    }
    assert_eq!(ext4.dirty(), 0);
    assert!(background(&mut ext4, 100 * SECOND).is_empty());
    assert!(ext4.settle_all(100 * SECOND).is_none());
}

#[test]
fn names_committed_by_a_sync_are_told_as_lasting_later() {
    let mut ext4 = ext4();
    ext4.names_changed(0, &[]);
    write(&mut ext4, 0, FILE, 0, KIB);
    sync(&mut ext4, 0, FILE, Sync::All);
    let all = background(&mut ext4, 60 * SECOND);
    assert_eq!(all.len(), 1);
    assert!(all[0].1.is_empty());
    assert_eq!(all[0].2, [Durable::Names]);
}

#[test]
fn many_dirty_pages_are_written_back_early_and_too_many_make_writers_wait() {
    let options =
        Options { dirty_background: 8 * MIB, dirty_limit: 16 * MIB, ..Options::default() };
    let mut ext4 = Ext4::new(options);
    for number in 0..8 {
        write(&mut ext4, number, number, 0, MIB);
        assert!(ext4.next_tick() > Some(SECOND));
    }
    write(&mut ext4, 8, 8, 0, MIB);
    assert_eq!(ext4.next_tick(), Some(8));
    let background = ext4.tick(9).expect("write-back is due");
    let files: Vec<_> = (0..5).map(Durable::File).collect();
    assert_eq!(background.durable, files);
    assert_eq!(ext4.dirty(), 4 * MIB);

    // While that is under way nothing else is written back in the background, and its pages count.
    for number in 0..7 {
        write(&mut ext4, 10, 20, number * MIB, MIB);
    }
    assert!(ext4.next_tick() > Some(SECOND));
    assert!(ext4.tick(10).is_none());
    let work = ext4.write(11, 20, 7 * MIB, MIB, Mode::Buffered, None);
    assert_eq!(bytes(&work), 4 * MIB);
    assert_eq!(ext4.dirty(), 8 * MIB);
    ext4.done(background.work.ticket);
    assert_eq!(ext4.next_tick(), Some(10));
}

#[test]
fn what_waiting_writers_wrote_back_is_told_as_durable() {
    let options =
        Options { dirty_background: 8 * MIB, dirty_limit: 16 * MIB, ..Options::default() };
    let mut ext4 = Ext4::new(options);
    for number in 0..4 {
        write(&mut ext4, 0, number, 0, 4 * MIB);
    }
    let work = ext4.write(1, 4, 0, 4 * MIB, Mode::Buffered, None);
    assert_eq!(bytes(&work), 4 * MIB);
    let all = background(&mut ext4, 10 * SECOND);
    let told: Vec<_> = all.iter().flat_map(|(_, _, durable)| durable).collect();
    assert!(told.contains(&&Durable::File(0)), "{told:?}");
}

#[test]
fn a_sequential_file_is_read_and_written_in_large_requests() {
    let mut ext4 = ext4();
    for number in 0..64 {
        ext4.write(0, FILE, number * MIB, MIB, Mode::Direct, None);
    }
    // One more behind the journal.
    let groups = 1;
    assert!(ext4.extents(FILE).len() as u64 <= groups + 1, "{:?}", ext4.extents(FILE));
    let reads: usize =
        (0..64).map(|number| ext4.read(FILE, number * MIB, MIB).steps[0].len()).sum();
    assert!(reads as u64 <= 64 + groups + 1);
    let counts = ext4.counts().all;
    assert!(counts.device_reads.random() <= groups + 1, "{counts:?}");
    assert!(counts.device_writes.random() <= groups + 1, "{counts:?}");
}

#[test]
fn a_journal_near_the_data_is_one_write_and_in_pieces_between_them() {
    let (commit, journal) = (Committing::Fast, JournalPlace::Near);
    let journal = Parameters { commit, journal, ..Parameters::default() };
    let mut ext4 = Ext4::new(Options { journal, ..Options::default() });
    write(&mut ext4, 0, FILE, 0, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "w4 w24 f");
    let mut last = ext4.counts();
    for number in 1..4096u64 {
        write(&mut ext4, 0, FILE, number * 4 * KIB, 4 * KIB);
        let work = sync(&mut ext4, 0, FILE, Sync::Data);
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
        let work = sync(&mut ext4, 0, FILE, Sync::Data);
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

#[test]
fn files_that_grow_in_turns_lie_in_long_runs() {
    let mut ext4 = full();
    for number in 0..2048 {
        for file in 0..4 {
            write(&mut ext4, 0, file, number * 4 * KIB, 4 * KIB);
            sync(&mut ext4, 0, file, Sync::Data);
        }
    }
    for file in 0..4 {
        let extents = ext4.extents(file);
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
            ext4.remove(0, number - 300);
        }
    }
    // At most 300 MiB are there at a time, 150 on average.
    assert!(ext4.span() <= 400 * MIB, "{} MiB", ext4.span() / MIB);
    (0..20_000).for_each(|number| ext4.remove(0, number));
    assert_eq!(ext4.span(), empty);
}

#[test]
fn small_files_written_back_together_become_few_requests() {
    let mut ext4 = full();
    for number in 0..256 {
        write(&mut ext4, 0, number, 0, 4 * KIB);
    }
    let all = background(&mut ext4, 40 * SECOND);
    let (_, work, durable) = all.last().expect("they expire");
    // The first of them fills the last group.
    assert_eq!(work.steps[0].len(), 2, "{}", shape(work));
    assert_eq!(durable.len(), 256);
}

#[test]
fn counts_between_two_moments() {
    let mut ext4 = ext4();
    write(&mut ext4, 0, 1, 0, MIB);
    write(&mut ext4, 0, 2, 0, MIB);
    sync(&mut ext4, 0, 1, Sync::All);
    let before = ext4.counts();
    write(&mut ext4, 0, 2, 5 * MIB, MIB);
    ext4.remove(0, 1);
    let counts = ext4.counts().since(&before);
    assert_eq!(counts.all.host_writes.bytes, MIB);
    assert_eq!(counts.files[&2].host_writes.random(), 1);
    assert_eq!(counts.removed, Default::default());
    assert_eq!((counts.commits, counts.flushes), (0, 0));
    let text = serde_json::to_string(&counts).expect("counts can be written");
    assert_eq!(serde_json::from_str::<Counts>(&text).expect("and read"), counts);
}

/// Work as in [`shape`], with what each step waits for before it: `w4 (1)w12 f`.
fn waits(work: &Work) -> String {
    let steps = shape(work);
    let step = |(place, step): (usize, &str)| {
        let waits = work.waits.iter().filter(|(before, _)| *before == place);
        waits.map(|(_, number)| format!("({number})")).chain([step.to_owned()]).collect::<String>()
    };
    steps.split(' ').enumerate().map(step).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_sync_waits_for_pages_of_the_file_that_are_being_written() {
    let options = Options { dirty_background: MIB, ..Options::default() };
    let mut ext4 = Ext4::new(options);
    ext4.adopt(FILE, 4 * MIB);
    ext4.adopt(8, 4 * MIB);
    write(&mut ext4, 0, FILE, 0, 2 * MIB);
    let background = ext4.tick(1).expect("there are too many dirty pages").work;
    write(&mut ext4, 2, 8, 0, 4 * KIB);
    let number = background.ticket.number;
    // Clean pages, but not on the device yet; and those of another file are no matter.
    assert_eq!(waits(&ext4.sync(2, FILE, Sync::Data)), format!("({number})f"));
    assert_eq!(waits(&ext4.sync(2, 8, Sync::Data)), "w4 f");
    ext4.done(background.ticket);
    assert_eq!(waits(&ext4.sync(3, FILE, Sync::Data)), "f");
}

#[test]
fn two_syncs_of_a_file_end_when_its_pages_are_written() {
    let mut ext4 = ext4();
    write(&mut ext4, 0, FILE, 0, 4 * KIB);
    let first = ext4.sync(0, FILE, Sync::All);
    assert_eq!(waits(&first), "w4 w20 f w4 f");
    let number = first.ticket.number;
    // Its pages and its commit: both are the other's work. That may have flushed before.
    let second = ext4.sync(1, FILE, Sync::All);
    assert_eq!(waits(&second), format!("({number})({number})f"));
    assert_eq!(second.ticket.commits, first.ticket.commits);
}

#[test]
fn commits_follow_each_other_and_syncs_share_the_one_that_waits() {
    let mut ext4 = ext4();
    for file in 0..4 {
        write(&mut ext4, 0, file, 0, 4 * KIB);
    }
    let works: Vec<Work> = (0..4).map(|file| ext4.sync(0, file, Sync::All)).collect();
    let numbers: Vec<u64> = works.iter().map(|work| work.ticket.number).collect();
    let seen: Vec<String> = works.iter().map(waits).collect();
    let (first, second) = (numbers[0], numbers[1]);
    assert_eq!(seen[0], "w4 w20 f w4 f");
    assert_eq!(seen[1], format!("w4 ({first})w16 f w4 f"));
    // The flushes of the commit that they share do for their pages, too.
    assert_eq!(seen[2], "w4");
    assert_eq!(seen[3], "w4");
    assert_eq!(works[2].waits, [(1, second)]);
    assert_eq!(works[3].waits, [(1, second)]);
    assert_eq!(ext4.counts().commits, 2);
    assert_eq!(works[3].ticket.commits, works[1].ticket.commits);

    // The second one is closed when the first is done; what changes then is the third's.
    ext4.done(works[0].ticket);
    write(&mut ext4, 1, 0, 4 * KIB, 4 * KIB);
    assert_eq!(waits(&ext4.sync(1, 0, Sync::All)), format!("w4 ({second})w16 f w4 f"));
}

#[test]
fn a_transaction_is_committed_whoever_says_so_first() {
    let mut ext4 = ext4();
    for file in 0..3 {
        write(&mut ext4, 0, file, 0, 4 * KIB);
    }
    let works: Vec<Work> = (0..3).map(|file| ext4.sync(0, file, Sync::All)).collect();
    works.iter().rev().for_each(|work| ext4.done(work.ticket));
    write(&mut ext4, 1, 0, 4 * KIB, 4 * KIB);
    assert_eq!(waits(&ext4.sync(1, 0, Sync::All)), "w4 w16 f w4 f");
}

#[test]
fn a_renamed_file_is_committed_by_fsync_and_not_by_fdatasync() {
    let mut ext4 = ext4();
    ext4.adopt(FILE, MIB);
    ext4.adopt(8, MIB);
    ext4.names_changed(0, &[FILE]);
    assert_eq!(shape(&sync(&mut ext4, 0, 8, Sync::All)), "f");
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::Data)), "f");
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, Sync::All)), "w16 f w4 f");
}
