//! Commits a second on a hard disk without a write cache, in virtual time.

use bakeoff_disk::device::hdd::{Hdd, Parameters};
use bakeoff_disk::device::{Device, Nanos};
use bakeoff_disk::ext4::{Ext4, Mode, Options, Sync, Work};

const MIB: u64 = 1 << 20;
/// From an answer to the next call, and from a step to the next.
const HOST: Nanos = 100_000;
const STEP: Nanos = 20_000;

/// Performs work and returns when it is done.
fn perform(disk: &mut dyn Device, mut now: Nanos, work: &Work) -> Nanos {
    let mut done = Vec::new();
    for step in &work.steps {
        for (id, request) in step.iter().enumerate() {
            disk.submit(now, id as u64, *request);
        }
        done.clear();
        while done.len() < step.len() {
            now = now.max(disk.next_completion().expect("requests are under way"));
            disk.advance(now, &mut done);
        }
        now += STEP;
    }
    now
}

/// Writes of 4 KiB one after the other, each with an `fdatasync`: how many a second.
fn commits_a_second(others: u64, size: u64, seed: u64) -> f64 {
    const COMMITS: u64 = 2000;
    let mut disk = Hdd::new(Parameters::rpm_7200(), seed).expect("such a disk can be");
    let mut ext4 = Ext4::new(Options::default());
    ext4.adopt(1, others);
    ext4.adopt(2, size);
    let mut now = 0;
    for number in 0..COMMITS {
        ext4.write(now, 2, number * 4096, 4096, Mode::Buffered, None);
        let work = ext4.sync(now, 2, Sync::Data);
        disk.set_span(ext4.span());
        now = perform(&mut disk, now, &work) + HOST;
    }
    COMMITS as f64 / (now as f64 / 1e9)
}

#[test]
fn an_append_takes_a_turn_or_two_and_a_write_in_place_one() {
    println!("{:>12} {:>6} {:>10} {:>10}", "others, MiB", "seed", "appends/s", "in place/s");
    for others in [0, 100 * MIB, 1 << 30, 20 << 30, 500 << 30] {
        for seed in 0..3 {
            let append = commits_a_second(others, 0, seed);
            let in_place = commits_a_second(others, 64 * MIB, seed);
            println!("{:>12} {seed:>6} {append:>10.1} {in_place:>10.1}", others / MIB);
            assert!((50.0..=120.0).contains(&append), "{append} appends a second");
            assert!((110.0..=120.0).contains(&in_place), "{in_place} writes in place a second");
        }
    }
}
