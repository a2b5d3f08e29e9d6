//! What is written back and committed later, when, and what is told as durable then.

use bakeoff_devices::ext4::{
    Background, DeviceWork, Durable, Ext4, Ext4MountOptions, Mode, SyncScope,
};

use super::{FILE, KIB, MIB, SECOND, background, ext4, full, shape, sync, write};

fn bytes(work: &DeviceWork) -> u64 {
    work.steps.iter().flatten().map(|request| request.length).sum()
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
    sync(&mut ext4, 0, FILE, SyncScope::All);
    let all = background(&mut ext4, 60 * SECOND);
    assert_eq!(all.len(), 1);
    assert!(all[0].1.is_empty());
    assert_eq!(all[0].2, [Durable::Names]);
}

#[test]
fn many_dirty_pages_are_written_back_early_and_too_many_make_writers_wait() {
    let options = Ext4MountOptions {
        dirty_background: 8 * MIB,
        dirty_limit: 16 * MIB,
        ..Ext4MountOptions::default()
    };
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
    let options = Ext4MountOptions {
        dirty_background: 8 * MIB,
        dirty_limit: 16 * MIB,
        ..Ext4MountOptions::default()
    };
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
