//! What operations wait for that are under way at once.

use bakeoff_devices::ext4::{DeviceWork, Ext4, Ext4MountOptions, SyncScope};

use super::{FILE, KIB, MIB, ext4, shape, write};

/// Work as in [`shape`], with what each step waits for before it: `w4 (1)w12 f`.
fn waits(work: &DeviceWork) -> String {
    let steps = shape(work);
    let step = |(place, step): (usize, &str)| {
        let waits = work.waits.iter().filter(|(before, _)| *before == place);
        waits.map(|(_, number)| format!("({number})")).chain([step.to_owned()]).collect::<String>()
    };
    steps.split(' ').enumerate().map(step).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_sync_waits_for_pages_of_the_file_that_are_being_written() {
    let options = Ext4MountOptions { dirty_background: MIB, ..Ext4MountOptions::default() };
    let mut ext4 = Ext4::new(options);
    ext4.adopt(FILE, 4 * MIB);
    ext4.adopt(8, 4 * MIB);
    write(&mut ext4, 0, FILE, 0, 2 * MIB);
    let background = ext4.tick(1).expect("there are too many dirty pages").work;
    write(&mut ext4, 2, 8, 0, 4 * KIB);
    let number = background.ticket.number;
    // Clean pages, but not on the device yet; and those of another file are no matter.
    assert_eq!(waits(&ext4.sync(2, FILE, SyncScope::Data)), format!("({number})f"));
    assert_eq!(waits(&ext4.sync(2, 8, SyncScope::Data)), "w4 f");
    ext4.done(background.ticket);
    assert_eq!(waits(&ext4.sync(3, FILE, SyncScope::Data)), "f");
}

#[test]
fn two_syncs_of_a_file_end_when_its_pages_are_written() {
    let mut ext4 = ext4();
    write(&mut ext4, 0, FILE, 0, 4 * KIB);
    let first = ext4.sync(0, FILE, SyncScope::All);
    assert_eq!(waits(&first), "w4 w20 f w4 f");
    let number = first.ticket.number;
    // Its pages and its commit: both are the other's work. That may have flushed before.
    let second = ext4.sync(1, FILE, SyncScope::All);
    assert_eq!(waits(&second), format!("({number})({number})f"));
    assert_eq!(second.ticket.commits, first.ticket.commits);
}

#[test]
fn commits_follow_each_other_and_syncs_share_the_one_that_waits() {
    let mut ext4 = ext4();
    for file in 0..4 {
        write(&mut ext4, 0, file, 0, 4 * KIB);
    }
    let works: Vec<DeviceWork> = (0..4).map(|file| ext4.sync(0, file, SyncScope::All)).collect();
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
    assert_eq!(waits(&ext4.sync(1, 0, SyncScope::All)), format!("w4 ({second})w16 f w4 f"));
}

#[test]
fn a_transaction_is_committed_whoever_says_so_first() {
    let mut ext4 = ext4();
    for file in 0..3 {
        write(&mut ext4, 0, file, 0, 4 * KIB);
    }
    let works: Vec<DeviceWork> = (0..3).map(|file| ext4.sync(0, file, SyncScope::All)).collect();
    works.iter().rev().for_each(|work| ext4.done(work.ticket));
    write(&mut ext4, 1, 0, 4 * KIB, 4 * KIB);
    assert_eq!(waits(&ext4.sync(1, 0, SyncScope::All)), "w4 w16 f w4 f");
}
