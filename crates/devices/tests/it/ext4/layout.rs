//! Where files lie on the device, and how large it is.

use bakeoff_devices::ext4::{LEAST_SPAN, Mode, SyncScope};

use super::{FILE, KIB, MIB, ext4, full, sync, write};

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
fn files_that_grow_in_turns_lie_in_long_runs() {
    let mut ext4 = full();
    for number in 0..2048 {
        for file in 0..4 {
            write(&mut ext4, 0, file, number * 4 * KIB, 4 * KIB);
            sync(&mut ext4, 0, file, SyncScope::Data);
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
