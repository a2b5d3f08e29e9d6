//! What a file system on a hard disk without a write cache does a second, in virtual time, however
//! much or little is on it.

use std::collections::VecDeque;

use bakeoff_devices::device::hdd::{self, Hdd};
use bakeoff_devices::device::{Device, Nanos};
use bakeoff_devices::ext4::{
    Committing, DeviceWork, Ext4, Ext4MountOptions, Ext4Parameters, JournalPlace, Mode, SyncScope,
};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

const MIB: u64 = 1 << 20;
/// The sizes of data that are tried; much less lies in the disk's own memory.
const SIZES: [u64; 5] = [20 * MIB, 100 * MIB, 1 << 30, 20 << 30, 500 << 30];
/// From an answer to the next call, and from a step to the next.
const HOST: Nanos = 100_000;
const STEP: Nanos = 20_000;

/// Performs work and returns when it is done.
fn perform(disk: &mut dyn Device, mut now: Nanos, work: &DeviceWork) -> Nanos {
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
fn commits_a_second(journal: Ext4Parameters, others: u64, size: u64, seed: u64) -> f64 {
    const COMMITS: u64 = 2000;
    let mut disk = Hdd::new(hdd::HddParameters::rpm_7200(), seed).expect("such a disk can be");
    let mut ext4 = Ext4::new(Ext4MountOptions { journal, ..Ext4MountOptions::default() });
    ext4.adopt(1, others);
    ext4.adopt(2, size);
    let (mut now, mut first) = (0, 0);
    for number in 0..=COMMITS {
        ext4.write(now, 2, number * 4096, 4096, Mode::Buffered, None);
        let work = ext4.sync(now, 2, SyncScope::Data);
        disk.set_span(ext4.span());
        now = perform(&mut disk, now, &work) + HOST;
        ext4.done(work.ticket);
        if number == 0 {
            first = now;
        }
    }
    COMMITS as f64 / ((now - first) as f64 / 1e9)
}

#[test]
fn an_append_takes_two_seeks_and_a_turn_and_a_write_in_place_one_turn() {
    println!(
        "{:>12} {:>8} {:>6} {:>8} {:>10}",
        "others, MiB", "journal", "commit", "append/s", "in place/s"
    );
    for others in [0, MIB, 4 * MIB].into_iter().chain(SIZES) {
        for seed in 0..3 {
            for (journal, commit, bounds) in [
                (JournalPlace::Middle, Committing::Jbd2, 20.0..=40.0),
                (JournalPlace::Middle, Committing::Fast, 20.0..=60.0),
                (JournalPlace::Near, Committing::Jbd2, 40.0..=60.0),
                (JournalPlace::Near, Committing::Fast, 50.0..=120.0),
            ] {
                let chosen = Ext4Parameters { commit, journal, ..Ext4Parameters::default() };
                let append = commits_a_second(chosen, others, 0, seed);
                let in_place = commits_a_second(chosen, others, 64 * MIB, seed);
                let (place, by) = (format!("{journal:?}"), format!("{commit:?}"));
                println!("{:>12} {place:>8} {by:>6} {append:>8.1} {in_place:>10.1}", others / MIB);
                assert!(bounds.contains(&append), "{append} appends a second, {chosen:?}");
                // A piece of journal in the way is passed without a whole turn.
                assert!((110.0..=121.0).contains(&in_place), "{in_place} writes in place a second");
            }
        }
    }
}

/// A file of this size on a disk of its own.
fn one_file(size: u64) -> (Ext4, Hdd) {
    let mut ext4 = Ext4::new(Ext4MountOptions::default());
    ext4.adopt(1, size);
    let mut disk = Hdd::new(hdd::HddParameters::rpm_7200(), 1).expect("such a disk can be");
    disk.set_span(ext4.span());
    (ext4, disk)
}

/// Reads a file with `depth` reads under way, as many as said; how many a second.
fn reads_a_second(
    size: u64,
    depth: u64,
    count: u64,
    mut read: impl FnMut(&mut Ext4, u64) -> DeviceWork,
) -> f64 {
    let (mut ext4, mut disk) = one_file(size);
    let (mut now, mut begun, mut done) = (0, 0, Vec::new());
    // A read is done when all its requests are.
    let mut left = vec![0; count as usize];
    let mut waiting: VecDeque<Nanos> = vec![0; depth as usize].into();
    loop {
        while begun < count && waiting.front().is_some_and(|at| *at <= now) {
            waiting.pop_front();
            let step = read(&mut ext4, begun).steps.remove(0);
            left[begun as usize] = step.len();
            step.iter().for_each(|request| disk.submit(now, begun, *request));
            begun += 1;
        }
        let next = waiting.front().copied().filter(|_| begun < count);
        let Some(event) = disk.next_completion().into_iter().chain(next).min() else { break };
        now = now.max(event);
        disk.advance(now, &mut done);
        for completion in done.drain(..) {
            let left = &mut left[completion.id as usize];
            *left -= 1;
            if *left == 0 {
                waiting.push_back(completion.at + HOST);
            }
        }
    }
    count as f64 / (now as f64 / 1e9)
}

#[test]
fn random_reads_have_the_whole_stroke_to_cross_however_small_the_file_is() {
    println!("{:>12} {:>8} {:>8} {:>8}", "file, MiB", "depth 1", "4", "32");
    for size in SIZES {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(size);
        let [one, four, many] = [1, 4, 32].map(|depth| {
            reads_a_second(size, depth, 4000, |ext4, _| {
                ext4.read(1, random.random_range(0..size / 4096) * 4096, 4096)
            })
        });
        println!("{:>12} {one:>8.1} {four:>8.1} {many:>8.1}", size / MIB);
        assert!((76.0..=82.0).contains(&one), "{one} reads a second");
        assert!((98.0..=112.0).contains(&four), "{four} reads a second, 4 under way");
        assert!((120.0..=140.0).contains(&many), "{many} reads a second, 32 under way");
    }
}

#[test]
fn a_file_is_read_and_written_in_order_at_the_rate_of_the_platters() {
    println!("{:>12} {:>10} {:>10}", "file, MiB", "read, MB/s", "write, MB/s");
    for size in SIZES.into_iter().filter(|size| *size <= 1 << 30) {
        let read =
            reads_a_second(size, 1, size / MIB, |ext4, n| ext4.read(1, n * MIB, MIB)) * 1.048;
        let (mut ext4, mut disk) = one_file(size);
        let mut now = 0;
        for offset in (0..size).step_by(64 << 20) {
            let length = (size - offset).min(64 << 20);
            ext4.write(now, 1, offset, length, Mode::Buffered, None);
            let work = ext4.sync(now, 1, SyncScope::Data);
            now = perform(&mut disk, now, &work);
            ext4.done(work.ticket);
        }
        let write = size as f64 * 1e3 / now as f64;
        println!("{:>12} {read:>10.1} {write:>10.1}", size / MIB);
        // Of 150 MB/s outside and 110 inside.
        assert!((105.0..=150.0).contains(&read), "{read} MB/s read");
        assert!((105.0..=150.0).contains(&write), "{write} MB/s written");
    }
}
