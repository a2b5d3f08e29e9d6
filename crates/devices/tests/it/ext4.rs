//! The file system in virtual time: what its operations ask of the device, and when.

mod histories;
mod layout;
mod script;

use bakeoff_devices::device::Nanos;
use bakeoff_devices::ext4::{Ext4Counts, Ext4MountOptions};

use script::{Script, check, check_with};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const SECOND: Nanos = 1_000_000_000;

#[test]
fn a_write_in_place_makes_no_commit_but_an_append_does() {
    check(
        "barrier=1",
        "adopt 1M
        write 8K 4K
        datasync -> w4 f
        # Its timestamp changed, and that is fsync's business.
        fsync -> w8 f w4 f
        fsync -> f
        write 1M 4K
        datasync -> w4 w16 f w4 f
        datasync -> f
        # Within the last block: no new block, but another size.
        write 1M+4K 100
        datasync -> w4 w16 f w4 f
        write 1M+4K+100 100
        datasync -> w4 w8 f w4 f",
    );
}

#[test]
fn synchronous_and_direct_writes_sync_what_they_say() {
    let Script { mut ext4, .. } = check(
        "barrier=1",
        "adopt 1M
        osync 0 16K -> w16 f
        direct 0 16K -> w16
        direct 0 16K data -> w16 f
        direct 0 16K all -> w16 w8 f w4 f
        direct 1M 16K data -> w16 w16 f w4 f
        # It takes the place of dirty pages; of those at its edges only a part is new.
        8.adopt 1M
        8.write 0 64K
        8.direct 2K 32K -> w32
        dirty -> 36K
        8.datasync -> w4+w32 f",
    );
    let mode = bakeoff_devices::ext4::Mode::Direct;
    let sector = ext4.write(0, script::FILE, 512, 512, mode, None);
    let place = ext4.file_extents(script::FILE)[0].place;
    assert_eq!((sector.steps[0][0].offset, sector.steps[0][0].length), (place + 512, 512));
}

#[test]
fn reads_cost_what_is_neither_dirty_nor_a_hole_nor_cached() {
    check(
        "barrier=1",
        "adopt 64K
        write 16K 4K
        write 256K 4K
        read 0 64K -> r16+r44
        read 16K 4K
        read 64K 192K
        datasync -> w4+w4 w16 f w4 f
        read 0 64K -> r64
        punch 16K 32K
        read 0 64K -> r16+r16
        # A page written in part is in the cache until it was read once.
        8.adopt 1M
        8.write 100 6K
        8.datasync -> w8 f
        8.read 0 8K
        8.read 0 8K -> r8
        8.write 4K 10K
        8.datasync -> w12 f
        8.read 0 16K -> r12",
    );
}

#[test]
fn the_first_write_to_allocated_blocks_makes_a_commit() {
    check(
        "barrier=1",
        "allocate 0 1M
        truncate 1M
        datasync -> w20 f w4 f
        read 0 1M
        write 0 4K
        # The blocks are there: only the extents change.
        datasync -> w4 w8 f w4 f
        write 0 4K
        datasync -> w4 f
        read 0 1M -> r4",
    );
}

#[test]
fn names_are_committed_by_syncs_of_what_they_changed() {
    check(
        "barrier=1",
        "names
        syncdir -> w12 f w4 f
        syncdir -> f
        adopt 1M
        8.adopt 1M
        rename
        8.fsync -> f
        datasync -> f
        fsync -> w16 f w4 f
        counts -> 2 commits 7 flushes
        # They are told as durable later.
        names
        8.write 0 1K
        8.fsync -> w4 w16 f w4 f
        wait 60 -> 5s ; names",
    );
}

#[test]
fn what_is_removed_or_lost_before_write_back_costs_no_data() {
    let Script { ext4, .. } = check(
        "barrier=1",
        "write 0 4M
        remove
        wait 100 -> 5s w16 f w4 f
        written -> 0K 20K
        8.write 0 4M
        8.truncate 0
        8.fsync -> w16 f w4 f
        8.remove
        9.adopt 1M
        9.write 0 1M
        9.failsync
        dirty -> 0K
        9.datasync -> f
        # Of a page that is cut in part the rest is written with zeros.
        10.adopt 8K
        10.truncate 1K
        dirty -> 4K
        10.datasync -> w4 w20 f w4 f",
    );
    assert_eq!(ext4.counts().removed.host_writes.bytes, 8 * MIB);
    assert_eq!(ext4.counts().files.keys().collect::<Vec<_>>(), [&9, &10]);
}

#[test]
fn counts_tell_files_and_moments_apart() {
    let mut script = check("barrier=1", "names");
    for number in 0..10 {
        assert_eq!(script.call(&format!("write {} 4K", number * 4096)), "");
    }
    assert_eq!(script.call("datasync"), "w40 w28 f w4 f");
    assert_eq!(script.call("2.write 0 1M"), "");
    let before = script.ext4.counts();
    let file = before.files[&script::FILE];
    assert_eq!((file.host_writes.requests, file.host_writes.sequential), (10, 10));
    assert_eq!((file.device_writes.requests, file.device_writes.bytes), (1, 40 * KIB));
    assert_eq!((before.commits, before.flushes, file.data_syncs, file.full_syncs), (1, 2, 1, 0));
    assert_eq!(script.call("2.write 5M 1M"), "");
    assert_eq!(script.call("remove"), "");
    let counts = script.ext4.counts().since(&before);
    assert_eq!(counts.all.host_writes.bytes, MIB);
    assert_eq!(counts.files[&2].host_writes.random_requests(), 1);
    assert_eq!(counts.removed, Default::default());
    assert_eq!((counts.commits, counts.flushes), (0, 0));
    let text = serde_json::to_string(&counts).expect("counts can be written");
    assert_eq!(serde_json::from_str::<Ext4Counts>(&text).expect("and read"), counts);
}

#[test]
fn work_of_others_that_is_under_way_is_waited_for() {
    check(
        "barrier=1",
        "write 0 4K
        a: fsync -> w4 w20 f w4 f
        # Its pages and its commit: both are the other's work. That may have flushed before.
        b: fsync -> (a)(a)f
        same a b
        end a
        end b
        fsync -> f",
    );
}

#[test]
fn commits_follow_each_other_and_syncs_share_the_one_that_waits() {
    check(
        "barrier=1",
        "0.write 0 4K
        1.write 0 4K
        2.write 0 4K
        3.write 0 4K
        a: 0.fsync -> w4 w20 f w4 f
        b: 1.fsync -> w4 (a)w16 f w4 f
        # The flushes of the commit that they share do for their pages, too.
        c: 2.fsync -> w4 (b)
        d: 3.fsync -> w4 (b)
        counts -> 2 commits 4 flushes
        same b d
        # The second one is closed when the first is done; what changes then is the third's.
        end a
        0.write 4K 4K
        e: 0.fsync -> w4 (b)w16 f w4 f
        # A transaction is committed whoever says so first.
        end e
        end d
        end b
        1.write 4K 4K
        1.fsync -> w4 w16 f w4 f",
    );
}

#[test]
fn metadata_are_committed_after_5_s_and_data_written_after_30_s() {
    // With much on it, so that its groups are large. At 31 s the pages are 30 s old.
    check(
        "barrier=1",
        "99.adopt 1024M
        next -> never
        at 1
        names
        write 0 1M
        wait 99 -> 6s w24 f w4 f; names | 31s w1024 w16 f w4 f; 7
        next -> never
        # Or all at once.
        names
        write 1M 8M
        8.write 0 4K
        settle -> w1024+w1024+w1024+w1024+w1024+w1024+w1024+w1024+w4 w28 f w4 f; 7 8 names
        dirty -> 0K
        wait 100
        settle",
    );
    let script: String = (0..256).map(|file| format!("{file}.write 0 4K\n")).collect();
    let mut small = check("barrier=1", &format!("999.adopt 1024M\n{script}"));
    let told = small.call("wait 40");
    // Small files become few requests.
    assert!(told.contains("| 30s w1024 w76 f") && told.ends_with(" 254 255"), "{told}");
}

fn with_memory(background: u64, limit: u64) -> Ext4MountOptions {
    Ext4MountOptions {
        dirty_background: background,
        dirty_limit: limit,
        ..Ext4MountOptions::default()
    }
}

#[test]
fn many_dirty_pages_are_written_back_early_and_too_many_make_writers_wait() {
    check_with(
        with_memory(8 * MIB, 16 * MIB),
        "0.write 0 2M
        1.write 0 2M
        2.write 0 2M
        3.write 0 2M
        next -> 5s
        4.write 0 2M
        next -> now
        a: tick -> w1024+w1024+w1024+w1024+w1024+w1024 w20 f w4 f; 0 1 2
        dirty -> 4096K
        # Clean pages, but not on the device yet; and those of another file are no matter.
        b: 0.datasync -> (a)(a)f
        # While that is under way nothing else is written back, and its pages count.
        5.write 0 5M
        next -> 5s
        tick
        5.write 5M 2M -> w1024+w1024+w1024+w1024
        dirty -> 7168K
        end a
        next -> now
        # What waiting writers wrote back is told as durable.
        wait 6 -> now w1024+w1024+w1024+w1024+w1024+w1024+w1024 w20 f w4 f; 5 3 4",
    );
}

#[test]
fn with_writeback_a_commit_does_not_wait_for_data() {
    for (data, later) in [("ordered", "w4 w16 f w4 f"), ("writeback", "w4+w16 f w4 f")] {
        check(
            &format!("data={data}"),
            &format!(
                "adopt 1M
                write 1M 4K
                wait 100 -> 5s w8 f w4 f | 30s {later}; 7
                # A sync still waits for the data of its own file.
                write 1M+4K 4K
                datasync -> w4 w16 f w4 f"
            ),
        );
    }
}

#[test]
fn journalled_data_are_written_twice_and_by_a_commit_of_anybody() {
    let mut script = check(
        "data=journal",
        "adopt 1M
        1.adopt 1M
        write 0 8K
        # A descriptor, an inode and two pages.
        datasync -> w16 f w4 f
        datasync -> f
        # The page cache can't be left out, and a page is once in a transaction.
        direct 0 4K
        direct 0 4K
        1.write 0 4K
        1.datasync -> w16 f w4 f
        # The other sync took it in.
        fsync -> f
        written -> 0K 40K
        # They are committed before they are written to their places.
        2.adopt 1M
        2.write 0 4K
        wait 100 -> 5s w12 f w4 f | 30s w8+w4+w4; 1 2 7
        written -> 16K 56K
        dirty -> 0K",
    );
    // A transaction that fills its part of the journal is committed by its writer.
    let before = script.ext4.counts().commits;
    let works =
        (0..1024).filter(|page| !script.call(&format!("write {}K 4K", page * 4)).is_empty());
    let committed = works.count() as u64;
    assert!((1..1024).contains(&committed), "{committed}");
    assert_eq!(script.ext4.counts().commits, before + committed);
}

/// All that is written waits as before; it is not flushed.
#[test]
fn without_barriers_nothing_is_flushed() {
    let Script { ext4, .. } = check(
        "barrier=0",
        "adopt 1M
        write 8K 4K
        datasync -> w4
        write 1M 4K
        datasync -> w4 w16 w4
        fsync
        write 0 4K
        wait 100 -> 5s w8 w4 | 30s w4; 7
        counts -> 2 commits 0 flushes",
    );
    assert_eq!(ext4.written_bytes(), 44 * KIB);
}
