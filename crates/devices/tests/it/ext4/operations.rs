//! What single operations ask of the device.

use bakeoff_devices::ext4::{Ext4Counts, Mode, SyncScope};

use super::{FILE, KIB, MIB, SECOND, background, done, ext4, shape, sync, write};

#[test]
fn appends_reach_the_device_as_one_write() {
    let mut ext4 = ext4();
    ext4.names_changed(0, &[]);
    for number in 0..10 {
        write(&mut ext4, number, FILE, number * 4 * KIB, 4 * KIB);
    }
    assert_eq!(shape(&sync(&mut ext4, 10, FILE, SyncScope::Data)), "w40 w28 f w4 f");
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
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "w4 f");
    // Its timestamp changed, and that is fsync's business.
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::All)), "w8 f w4 f");
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::All)), "f");

    write(&mut ext4, 0, FILE, MIB, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "w4 w16 f w4 f");
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "f");
    // Within the last block: no new block, but another size.
    write(&mut ext4, 0, FILE, MIB + 4 * KIB, 100);
    sync(&mut ext4, 0, FILE, SyncScope::Data);
    write(&mut ext4, 0, FILE, MIB + 4 * KIB + 100, 100);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "w4 w8 f w4 f");
}

#[test]
fn synchronous_and_direct_writes() {
    let mut ext4 = ext4();
    ext4.adopt(FILE, MIB);
    let mut cost = |offset, length, mode, sync| {
        shape(&done(&mut ext4, |ext4| ext4.write(0, FILE, offset, length, mode, sync)))
    };
    assert_eq!(cost(0, 16 * KIB, Mode::Buffered, Some(SyncScope::Data)), "w16 f");
    assert_eq!(cost(0, 16 * KIB, Mode::Direct, None), "w16");
    assert_eq!(cost(0, 16 * KIB, Mode::Direct, Some(SyncScope::Data)), "w16 f");
    assert_eq!(cost(0, 16 * KIB, Mode::Direct, Some(SyncScope::All)), "w16 w8 f w4 f");
    assert_eq!(cost(MIB, 16 * KIB, Mode::Direct, Some(SyncScope::Data)), "w16 w16 f w4 f");
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
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "w4+w32 f");
}

#[test]
fn a_page_written_in_part_is_in_the_cache_until_it_was_read_once() {
    let mut ext4 = ext4();
    ext4.adopt(FILE, MIB);
    // Records of a log that end within pages, made durable.
    write(&mut ext4, 0, FILE, 100, 6 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "w8 f");
    assert!(ext4.read(FILE, 0, 8 * KIB).is_empty());
    assert_eq!(shape(&ext4.read(FILE, 0, 8 * KIB)), "r8", "the kernel has lost it since");
    write(&mut ext4, 0, FILE, 4 * KIB, 10 * KIB);
    sync(&mut ext4, 0, FILE, SyncScope::Data);
    assert_eq!(shape(&ext4.read(FILE, 0, 16 * KIB)), "r12");
}

#[test]
fn the_first_write_to_allocated_blocks_makes_a_commit() {
    let mut ext4 = ext4();
    ext4.allocate(0, FILE, 0, MIB);
    ext4.truncate(0, FILE, MIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "w20 f w4 f");
    assert!(ext4.read(FILE, 0, MIB).is_empty());
    write(&mut ext4, 0, FILE, 0, 4 * KIB);
    // The blocks are there: only the extents change.
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "w4 w8 f w4 f");
    write(&mut ext4, 0, FILE, 0, 4 * KIB);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "w4 f");
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
    sync(&mut ext4, 0, FILE, SyncScope::Data);
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
fn a_renamed_file_is_committed_by_fsync_and_not_by_fdatasync() {
    let mut ext4 = ext4();
    ext4.adopt(FILE, MIB);
    ext4.adopt(8, MIB);
    ext4.names_changed(0, &[FILE]);
    assert_eq!(shape(&sync(&mut ext4, 0, 8, SyncScope::All)), "f");
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "f");
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::All)), "w16 f w4 f");
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
    assert_eq!(shape(&sync(&mut ext4, 100 * SECOND, FILE, SyncScope::All)), "w16 f w4 f");
}

#[test]
fn a_failed_sync_drops_the_dirty_pages() {
    let mut ext4 = ext4();
    ext4.adopt(FILE, MIB);
    write(&mut ext4, 0, FILE, 0, MIB);
    ext4.fail_sync(FILE);
    assert_eq!(ext4.dirty(), 0);
    assert_eq!(shape(&sync(&mut ext4, 0, FILE, SyncScope::Data)), "f");
}

#[test]
fn counts_between_two_moments() {
    let mut ext4 = ext4();
    write(&mut ext4, 0, 1, 0, MIB);
    write(&mut ext4, 0, 2, 0, MIB);
    sync(&mut ext4, 0, 1, SyncScope::All);
    let before = ext4.counts();
    write(&mut ext4, 0, 2, 5 * MIB, MIB);
    ext4.remove(0, 1);
    let counts = ext4.counts().since(&before);
    assert_eq!(counts.all.host_writes.bytes, MIB);
    assert_eq!(counts.files[&2].host_writes.random(), 1);
    assert_eq!(counts.removed, Default::default());
    assert_eq!((counts.commits, counts.flushes), (0, 0));
    let text = serde_json::to_string(&counts).expect("counts can be written");
    assert_eq!(serde_json::from_str::<Ext4Counts>(&text).expect("and read"), counts);
}
