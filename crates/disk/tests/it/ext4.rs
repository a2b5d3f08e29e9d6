//! The file system of the virtual disk beside a real ext4: what both ask of their device for the
//! same calls. `cargo test -p bakeoff-disk --test it ext4 -- --nocapture` prints the table.

mod counter;
mod patterns;
mod real;

use std::path::Path;

use bakeoff_testkit::needs;
use patterns::{PATTERNS, Pattern};
use real::Real;

use crate::disk::Disk;

/// Operations of each writer.
const OPERATIONS: u64 = 200;
/// A device that takes so long that writers meet in a commit, and no longer.
const MODEL: &str = "ssd-sata";

/// How often they are compared until they are alike: a busy machine commits by the clock, too, every
/// five seconds, and that belongs to no operation. So the least counts are those of the operations.
const ATTEMPTS: usize = 4;

/// What was asked of a device.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    writes: u64,
    bytes: u64,
    flushes: u64,
}

/// Writes, KiB and flushes an operation.
#[derive(Clone, Copy, Debug)]
struct Each {
    writes: f64,
    kib: f64,
    flushes: f64,
}

/// Counts what a pattern asks of a device for each operation.
fn count(pattern: &Pattern, folder: &Path, requests: impl Fn() -> Requests) -> Each {
    let files = pattern.prepare(folder);
    let before = requests();
    pattern.run(folder, &files, 8..8 + OPERATIONS);
    let after = requests();
    let each = |after: u64, before: u64| {
        (after - before) as f64 / (OPERATIONS * u64::from(pattern.writers)) as f64
    };
    Each {
        writes: each(after.writes, before.writes),
        kib: each(after.bytes, before.bytes) / 1024.0,
        flushes: each(after.flushes, before.flushes),
    }
}

/// What the device of the virtual disk was asked so far.
fn requests(disk: &Disk) -> Requests {
    let counts = disk.volume.counts();
    let (data, journal) = (counts.all.device_writes, counts.journal);
    Requests {
        writes: data.requests + journal.requests,
        bytes: data.bytes + journal.bytes,
        flushes: counts.flushes,
    }
}

impl Each {
    fn least(self, other: Self) -> Self {
        Self {
            writes: self.writes.min(other.writes),
            kib: self.kib.min(other.kib),
            flushes: self.flushes.min(other.flushes),
        }
    }
}

#[test]
fn the_device_is_asked_for_what_a_real_ext4_asks_for() {
    compare(|pattern| pattern.writers == 1, Each::least);
}

/// How many writers meet in a commit is a matter of moments.
#[test]
#[ignore = "soak: about 1 min"]
fn several_writers_ask_for_what_they_ask_a_real_ext4_for_soak() {
    compare(|pattern| pattern.writers > 1, |_, last| last);
}

/// Compares patterns, each by what several attempts count together, until they are alike.
fn compare(which: impl Fn(&&Pattern) -> bool, together: impl Fn(Each, Each) -> Each) {
    // A real one lies on the disk that neighbours would be at work on.
    let _alone = crate::neighbours::ALONE.lock();
    let Some(real) = needs(Real::mount()) else { return };
    println!("{:<34} writers  writes  real  flushes  real    KiB   real", "operation");
    let mut wrong = Vec::new();
    let both = PATTERNS.iter().filter(which).flat_map(|pattern| [pattern; 2]);
    for (number, pattern) in both.enumerate() {
        let attempt = |attempt: usize| {
            let folder = real.path().join(format!("{number}-{attempt}"));
            std::fs::create_dir(&folder).unwrap();
            let theirs = count(pattern, &folder, || real.requests());
            // By turns: the kernel gathers its writes, as on a trial's disk, or not.
            let disk = Disk::mount_with(MODEL, number % 2 == 0)?;
            let ours = count(pattern, &disk.path(""), || requests(&disk));
            println!("{}", row(pattern, ours, theirs));
            Some((ours, theirs))
        };
        let Some((mut ours, mut theirs)) = attempt(0) else { return };
        for number in 1..ATTEMPTS {
            if differ(pattern, ours, theirs).is_empty() {
                break;
            }
            let more = attempt(number).expect("it was mounted before");
            (ours, theirs) = (together(ours, more.0), together(theirs, more.1));
        }
        wrong.extend(differ(pattern, ours, theirs));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn row(pattern: &Pattern, ours: Each, theirs: Each) -> String {
    let Pattern { name, writers, .. } = pattern;
    format!(
        "{name:<34} {writers:>7} {:>7.2} {:>5.2} {:>8.2} {:>5.2} {:>6.1} {:>6.1}",
        ours.writes, theirs.writes, ours.flushes, theirs.flushes, ours.kib, theirs.kib
    )
}

/// Where the virtual disk asks for something else. One writer's requests are the same within a
/// twentieth. How many of several writers meet in a commit is a matter of moments and of the two
/// devices' speed, so that the commits may differ by a half; but what each operation writes for
/// itself does not. The kernel takes flushes that meet for one.
fn differ(pattern: &Pattern, ours: Each, theirs: Each) -> Vec<String> {
    let merged = pattern.writers > 1 && theirs.flushes < ours.flushes && theirs.writes < 1.05;
    let flushes = if merged { ours.flushes } else { theirs.flushes };
    let pairs = if pattern.writers == 1 {
        vec![
            ("writes", ours.writes, theirs.writes, 0.05),
            ("flushes", ours.flushes, flushes, 0.05),
            ("KiB", ours.kib, theirs.kib, 0.1),
        ]
    } else {
        let (own, real) = (ours.writes - ours.flushes, theirs.writes - flushes);
        vec![
            ("writes beside those of a commit", own, real, 0.25),
            ("flushes", ours.flushes, flushes, 0.5),
            ("KiB", ours.kib, theirs.kib, 0.25),
        ]
    };
    let far =
        pairs.into_iter().filter(|(_, ours, theirs, share)| (ours - theirs).abs() > share * theirs);
    let Pattern { name, writers, .. } = pattern;
    far.map(|(what, ours, theirs, _)| {
        format!("{name}, {writers} writers: {ours} {what}, {theirs} of a real ext4")
    })
    .collect()
}
