//! What the models deliver, in virtual time, beside what is published of such devices.

use bakeoff_devices::device::{DeviceRequest, Nanos, RequestKind};
use bakeoff_devices::ext4::{DeviceWork, Ext4, Ext4MountOptions, Mode, SyncScope};
use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::station::Station;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

const SECOND: Nanos = 1_000_000_000;
const GIB: u64 = 1 << 30;
/// Data that the requests go to, where nothing else is said.
const SPAN: u64 = 4 * GIB;

fn station(spec: &str, seed: u64) -> Station {
    let spec = Models::standard().parse(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let mut station = Station::new(spec.build(seed), seed);
    station.set_span(SPAN);
    station
}

/// Keeps `depth` requests under way for a time and returns how many a second were completed. Each
/// follows the last one after `think`.
fn closed(
    station: &mut Station,
    depth: u64,
    seconds: u64,
    think: Nanos,
    mut request: impl FnMut(u64) -> DeviceRequest,
) -> f64 {
    let (mut done, mut count) = (Vec::new(), 0);
    let mut waiting: std::collections::VecDeque<_> = (0..depth).map(|id| (0, id)).collect();
    let mut next_id = depth;
    let mut last = 0;
    loop {
        let event = station.next_event().unwrap_or(Nanos::MAX);
        if let Some(&(at, id)) = waiting.front().filter(|(at, _)| *at <= event) {
            waiting.pop_front();
            station.submit(at, id, request(id));
            continue;
        }
        station.advance(event, &mut done);
        for completion in done.drain(..) {
            count += 1;
            last = completion.at;
            waiting.push_back((completion.at + think, next_id));
            next_id += 1;
        }
        if event >= seconds * SECOND {
            return count as f64 * 1e9 / last.max(1) as f64;
        }
    }
}

fn random(
    kind: RequestKind,
    length: u64,
    span: u64,
    seed: u64,
) -> impl FnMut(u64) -> DeviceRequest {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    move |_| {
        let offset = rng.random_range(0..span / length) * length;
        DeviceRequest { kind, offset, length, stream: 0 }
    }
}

fn sequential(kind: RequestKind, length: u64, start: u64) -> impl FnMut(u64) -> DeviceRequest {
    move |id| DeviceRequest { kind, offset: start + id * length, length, stream: 0 }
}

fn random_reads(spec: &str, depth: u64, seconds: u64) -> f64 {
    closed(&mut station(spec, 1), depth, seconds, 0, random(RequestKind::Read, 4096, SPAN, 2))
}

/// Prints a row of the table and checks it.
fn row(what: &str, got: f64, least: f64, most: f64) {
    println!("{what:<60} {got:>10.1}   expected {least:.1} to {most:.1}");
    assert!((least..=most).contains(&got), "{what}: {got:.1} is not from {least:.1} to {most:.1}");
}

#[test]
fn hard_disks_serve_random_reads_as_such_disks_do() {
    let sets = [
        ("hdd-7200", [(1_u64, 76.0, 82.0), (4, 98.0, 112.0), (32, 120.0, 140.0)]),
        ("hdd-7200/order=first-come", [(1, 75.0, 82.0), (4, 75.0, 82.0), (32, 75.0, 82.0)]),
        // 11 ms and half a turn of 5.6 ms: 60 a second.
        ("hdd-5400", [(1, 57.0, 63.0), (4, 70.0, 90.0), (32, 85.0, 105.0)]),
    ];
    for (spec, rows) in sets {
        for (depth, least, most) in rows {
            let rate = random_reads(spec, depth, 60);
            row(&format!("{spec}, random read 4 KiB, depth {depth}"), rate, least, most);
        }
    }
    let alone = random_reads("hdd-7200", 1, 60);
    let narrow = random_reads("hdd-7200/used=0.02", 1, 60);
    row("data on 2 % of the stroke, times as many", narrow / alone, 1.9, 2.5);
}

#[test]
fn however_small_the_data_they_lie_all_over_the_stroke() {
    for span in [64 << 20, GIB, 1 << 40] {
        let mut station = station("hdd-7200", 3);
        station.set_span(span);
        let rate = closed(&mut station, 1, 60, 0, random(RequestKind::Read, 4096, span, 4));
        row(&format!("hdd-7200, random read over {} MiB", span >> 20), rate, 76.0, 83.0);
    }
}

#[test]
fn a_hard_disk_streams_at_the_rate_of_the_zone() {
    let mib = f64::from(1 << 20) / 1e6;
    let end = SPAN - 3 * GIB / 8;
    // What a request's answer takes to become the next request, through a kernel and a daemon.
    let think = 100_000;
    for (start, rate) in [(0, 150.0), (end, 112.0)] {
        for (what, kind, depth) in [
            ("read", RequestKind::Read, 1),
            ("read", RequestKind::Read, 4),
            ("write", RequestKind::Write, 4),
        ] {
            let mut station = station("hdd-7200", 1);
            let requests = sequential(kind, 1 << 20, start);
            let got = closed(&mut station, depth, 3, think, requests) * mib;
            let what = format!("hdd-7200, sequential {what}, depth {depth}, from {start}: MB/s");
            row(&what, got, rate * 0.9, rate * 1.1);
        }
    }
    let mut small = station("hdd-7200", 1);
    let got =
        closed(&mut small, 1, 3, think, sequential(RequestKind::Read, 16 << 10, 0)) * mib / 64.0;
    // 0.1 ms of the host, 0.1 ms of the command, 0.05 ms of the link: the platters are ahead.
    row("hdd-7200, sequential read 16 KiB, depth 1: MB/s", got, 55.0, 70.0);
    let mut alone = station("hdd-7200", 1);
    let got = closed(&mut alone, 1, 10, think, sequential(RequestKind::Write, 4096, 0));
    row("hdd-7200, sequential write 4 KiB, depth 1: a turn each", got, 110.0, 120.0);
}

/// Does a round of work after the other and returns rounds a second.
fn rounds(
    station: &mut Station,
    seconds: u64,
    mut work: impl FnMut(&mut Station, Nanos) -> DeviceWork,
) -> f64 {
    let (mut now, mut id, mut count) = (0, 0, 0);
    let mut done = Vec::new();
    while now < seconds * SECOND {
        for step in work(station, now).steps {
            for &request in &step {
                station.submit(now, id, request);
                id += 1;
            }
            while done.len() < step.len() {
                now = station.next_event().expect("a request is under way");
                station.advance(now, &mut done);
            }
            done.clear();
        }
        count += 1;
    }
    count as f64 * 1e9 / now as f64
}

const FLUSH: DeviceRequest =
    DeviceRequest { kind: RequestKind::Flush, offset: 0, length: 0, stream: 0 };

fn write(offset: u64, length: u64) -> DeviceRequest {
    DeviceRequest { kind: RequestKind::Write, offset, length, stream: 0 }
}

/// Appends 4 KiB to a file and syncs it, as often as it goes, through what ext4 makes of that.
fn appends(spec: &str, seconds: u64) -> f64 {
    let journal = Models::standard().parse(spec).expect("a model").file_system();
    let mut ext4 = Ext4::new(Ext4MountOptions { journal, ..Ext4MountOptions::default() });
    let mut station = station(spec, 1);
    let mut end = 0;
    rounds(&mut station, seconds, |station, now| {
        let mut work = ext4.write(now, 1, end, 4096, Mode::Direct, None);
        end += 4096;
        let sync = ext4.sync(now, 1, SyncScope::Data);
        // Nobody else waits for it.
        ext4.done(sync.ticket);
        work.steps.extend(sync.steps);
        station.set_span(ext4.span());
        work
    })
}

/// Writes the same 4 KiB and flushes.
fn overwrites(spec: &str, seconds: u64) -> f64 {
    let steps = vec![vec![write(GIB, 4096)], vec![FLUSH]];
    rounds(&mut station(spec, 1), seconds, |_, _| DeviceWork {
        steps: steps.clone(),
        ..DeviceWork::default()
    })
}

#[test]
fn a_commit_costs_turns_unless_the_write_cache_is_on() {
    row("hdd-7200, append 4 KiB and sync", appends("hdd-7200", 120), 20.0, 40.0);
    let near = appends("hdd-7200/commit=fast/journal=near", 120);
    row("the same as one commit nearby", near, 50.0, 120.0);
    row("hdd-5400, append 4 KiB and sync", appends("hdd-5400", 120), 15.0, 35.0);
    row("hdd-7200, overwrite and flush", overwrites("hdd-7200", 60), 110.0, 120.0);
    row("the same, write cache on", overwrites("hdd-7200/cache=64M", 60), 60.0, 120.0);
    let mut cached = station("hdd-7200/cache=64M", 1);
    let rate = closed(&mut cached, 1, 1, 0, random(RequestKind::Write, 4096, SPAN, 5));
    row("hdd-7200, random writes into the write cache", rate, 1000.0, 10_000.0);
}

#[test]
fn a_full_write_cache_goes_no_faster_than_the_head() {
    let mut cached = station("hdd-7200/cache=1M", 1);
    let writes = random(RequestKind::Write, 4096, SPAN, 5);
    row(
        "random writes, full write cache of 1 MiB",
        closed(&mut cached, 1, 60, 0, writes),
        78.0,
        300.0,
    );
}

#[test]
fn neighbours_take_their_turns() {
    for streams in [1, 2, 4] {
        let mut station = station("hdd-7200", 1);
        station.set_neighbours(0, NeighbourLevel::Streams(streams));
        let rate = closed(&mut station, 1, 120, 0, random(RequestKind::Read, 4096, SPAN, 2));
        let share = 80.0 / (1.0 + f64::from(streams));
        let what = format!("hdd-7200, random read, neighbours x{streams}");
        row(&what, rate, share * 0.85, share * 1.15);
    }
}

#[test]
fn a_quarter_of_the_load_is_a_quarter_of_the_time() {
    for spec in ["hdd-7200", "hdd-5400", "ebs-magnetic"] {
        let mut station = station(spec, 1);
        station.set_neighbours(0, NeighbourLevel::Share(0.25));
        let counts = station.counts(600 * SECOND);
        row(
            &format!("{spec}, 25 % neighbours, percent busy"),
            counts.utilisation() * 100.0,
            22.0,
            28.0,
        );
        assert!(counts.neighbour_requests > 5000 && counts.reads == 0, "{counts:?}");
        // They go when they are told to.
        station.set_neighbours(600 * SECOND, NeighbourLevel::None);
        let rest = station.counts(700 * SECOND).since(&counts);
        assert!(rest.utilisation() < 0.01 && rest.neighbours_in_queue == 0, "{rest:?}");
    }
}

#[test]
fn raid_10_multiplies_what_one_disk_does() {
    let one = random_reads("ebs-magnetic", 16, 60);
    row("ebs-magnetic, random read, 16 threads", one, 90.0, 110.0);
    let times = |disks: u32| random_reads(&format!("raid10:{disks}×ebs-magnetic"), 16, 60) / one;
    row("raid10:4×ebs-magnetic, times one", times(4), 3.0, 4.0);
    row("raid10:8×ebs-magnetic, times one", times(8), 6.0, 7.5);
    // A read at depth 1 goes to one idle disk; at 16 the mirrors also share the way.
    let first_come = |depth| random_reads("raid10:4×hdd-7200/order=first-come", depth, 60);
    row("raid10:4×hdd-7200, first come, 1 thread", first_come(1), 75.0, 82.0);
    row("raid10:4×hdd-7200, first come, 16 threads", first_come(16), 320.0, 375.0);
    let mut mirror = station("raid10:2×hdd-7200", 1);
    let writes = closed(&mut mirror, 1, 60, 0, random(RequestKind::Write, 4096, SPAN, 2));
    row("raid10:2×hdd-7200, random write: the later of two", writes, 55.0, 75.0);
}

#[test]
fn cloud_volumes_keep_to_their_limits() {
    let reads = |spec: &str, depth, length, seconds| {
        let mut station = station(spec, 1);
        closed(&mut station, depth, seconds, 0, random(RequestKind::Read, length, SPAN, 2))
    };
    let mib = |length: u64, rate: f64| rate * length as f64 / f64::from(1 << 20);
    row("ebs-gp3, random read, depth 1", reads("ebs-gp3", 1, 4096, 10), 1000.0, 1400.0);
    row("ebs-gp3, random read, depth 16", reads("ebs-gp3", 16, 4096, 10), 2970.0, 3030.0);
    let large = mib(1 << 20, reads("ebs-gp3", 16, 1 << 20, 10));
    row("ebs-gp3, random read 1 MiB: MiB/s", large, 122.0, 128.0);
    let more = reads("ebs-gp3/iops=6000/burst_iops=6000", 32, 4096, 10);
    row("the same with iops=6000", more, 5940.0, 6060.0);
    let mut magnetic = station("ebs-magnetic", 1);
    let streamed = closed(&mut magnetic, 4, 10, 0, sequential(RequestKind::Read, 1 << 20, 0));
    row("ebs-magnetic, sequential read: MiB/s", streamed, 40.0, 90.0);
    let mut merged = station("ebs-gp3", 1);
    let streamed = closed(&mut merged, 64, 10, 0, sequential(RequestKind::Read, 16 << 10, 0));
    row("ebs-gp3, sequential read 16 KiB, depth 64", streamed, 7900.0, 8100.0);
}

#[test]
fn gp2_bursts_while_its_bucket_lasts() {
    // 5.4 million credits, spent at 3,000 and earned at 300 a second: 2,000 s.
    let mut volume = station("ebs-gp2:100G", 1);
    let mut request = random(RequestKind::Read, 4096, SPAN, 2);
    let seconds = 2400;
    let mut by_second = vec![0u64; seconds + 2];
    let mut done = Vec::new();
    (0..16).for_each(|id| volume.submit(0, id, request(id)));
    let mut id = 16;
    while let Some(at) = volume.next_event().filter(|&at| at < seconds as u64 * SECOND) {
        volume.advance(at, &mut done);
        for completion in done.drain(..) {
            by_second[(completion.at / SECOND) as usize] += 1;
            volume.submit(completion.at, id, request(id));
            id += 1;
        }
    }
    let mean = |from: usize, to: usize| {
        by_second[from..to].iter().sum::<u64>() as f64 / (to - from) as f64
    };
    row("ebs-gp2:100G, random read, first 1,990 s", mean(0, 1990), 2970.0, 3030.0);
    row("ebs-gp2:100G, random read, after 2,010 s", mean(2010, seconds), 297.0, 303.0);
    let small = |seconds| random_reads("ebs-gp2:100G/credits=27000", 16, seconds);
    row("with 27,000 credits, first 9 s", small(9), 2970.0, 3030.0);
    row("with 27,000 credits, 10 s of 3,000 and 90 s of 300", small(100), 560.0, 580.0);
}

#[test]
fn an_ssd_has_the_rates_of_its_data_sheet() {
    let run = |kind, depth, length, seconds| {
        let mut station = station("ssd-sata", 1);
        closed(&mut station, depth, seconds, 0, random(kind, length, SPAN, 2))
    };
    row("ssd-sata, random read, depth 1", run(RequestKind::Read, 1, 4096, 1), 12_800.0, 13_200.0);
    row("ssd-sata, random read, depth 32", run(RequestKind::Read, 32, 4096, 1), 95_000.0, 99_000.0);
    row("ssd-sata, random write, depth 1", run(RequestKind::Write, 1, 4096, 1), 35_000.0, 36_500.0);
    row(
        "ssd-sata, random write, depth 32",
        run(RequestKind::Write, 32, 4096, 1),
        84_000.0,
        88_000.0,
    );
    let mb = |rate: f64| rate * f64::from(1 << 20) / 1e6;
    row("ssd-sata, read 1 MiB: MB/s", mb(run(RequestKind::Read, 4, 1 << 20, 1)), 550.0, 565.0);
    row("ssd-sata, write 1 MiB: MB/s", mb(run(RequestKind::Write, 4, 1 << 20, 10)), 520.0, 535.0);
    // 12 GB fill at 530 − 300 MB/s in 52 s.
    let long = mb(run(RequestKind::Write, 4, 1 << 20, 520));
    row("ssd-sata, write 1 MiB for 520 s: MB/s", long, 318.0, 328.0);
    let commits = overwrites("ssd-sata", 1);
    row("ssd-sata, write and flush", commits, 900.0, 1000.0);
}
