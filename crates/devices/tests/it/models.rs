//! What the models deliver, in virtual time, beside what is published of such devices.

use bakeoff_devices::device::{DeviceRequest, Nanos, RequestKind};
use bakeoff_devices::ext4::{DeviceWork, Ext4, Ext4MountOptions, Mode, SyncScope};
use bakeoff_devices::limit::{ClientLoad, simulate_rate};
use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::station::Station;

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

/// One client that reads at random.
const READS: ClientLoad =
    ClientLoad { clients: 1, depth: 1, reads: 100, in_order: false, block: 4096, span: SPAN };
const WRITES: ClientLoad = ClientLoad { reads: 0, ..READS };

/// How many requests of a load a device serves in a second.
fn served(spec: &str, load: ClientLoad, seconds: u64) -> f64 {
    beside(NeighbourLevel::None, spec, load, seconds)
}

fn beside(neighbours: NeighbourLevel, spec: &str, load: ClientLoad, seconds: u64) -> f64 {
    let spec = Models::standard().parse(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    simulate_rate(&spec, 1, neighbours, &load, seconds * SECOND).expect("it takes time")
}

fn random_reads(spec: &str, depth: u64, seconds: u64) -> f64 {
    served(spec, ClientLoad { depth, ..READS }, seconds)
}

/// Keeps `depth` requests in order under way for 3 s and returns how many a second were completed. Each
/// follows the last one after `think`.
fn in_order(kind: RequestKind, length: u64, start: u64, depth: u64, think: Nanos) -> f64 {
    let mut station = station("hdd-7200", 1);
    let (mut done, mut count, mut last) = (Vec::new(), 0, 0);
    let mut waiting: std::collections::VecDeque<_> = (0..depth).map(|id| (0, id)).collect();
    let mut next_id = depth;
    loop {
        let event = station.next_event().unwrap_or(Nanos::MAX);
        if let Some(&(at, id)) = waiting.front().filter(|(at, _)| *at <= event) {
            waiting.pop_front();
            let offset = start + id * length;
            station.submit(at, id, DeviceRequest { kind, offset, length, stream: 0 });
            continue;
        }
        station.advance(event, &mut done);
        for completion in done.drain(..) {
            count += 1;
            last = completion.at;
            waiting.push_back((completion.at + think, next_id));
            next_id += 1;
        }
        if event >= 3 * SECOND {
            return count as f64 * 1e9 / last as f64;
        }
    }
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
    let clients = served("hdd-7200", ClientLoad { clients: 32, ..READS }, 60);
    row("hdd-7200, random read 4 KiB, 32 clients", clients, 120.0, 140.0);
    let alone = random_reads("hdd-7200", 1, 60);
    let narrow = random_reads("hdd-7200/used=0.02", 1, 60);
    row("data on 2 % of the stroke, times as many", narrow / alone, 1.9, 2.5);
}

#[test]
fn however_small_the_data_they_lie_all_over_the_stroke() {
    for span in [64 << 20, GIB, 1 << 40] {
        let rate = served("hdd-7200", ClientLoad { span, ..READS }, 60);
        row(&format!("hdd-7200, random read over {} MiB", span >> 20), rate, 75.0, 83.0);
    }
}

#[test]
fn a_hard_disk_streams_at_the_rate_of_the_zone() {
    let mib = f64::from(1 << 20) / 1e6;
    let end = SPAN - 3 * GIB / 8;
    // What a request's answer takes to become the next request, through a kernel and a daemon.
    let think = 100_000;
    for (start, rate) in [(0, 150.0), (end, 112.0)] {
        for (kind, depth) in
            [(RequestKind::Read, 1), (RequestKind::Read, 4), (RequestKind::Write, 4)]
        {
            let got = in_order(kind, 1 << 20, start, depth, think) * mib;
            let what = format!("hdd-7200, sequential {kind:?}, depth {depth}, from {start}: MB/s");
            row(&what, got, rate * 0.9, rate * 1.1);
        }
    }
    let got = in_order(RequestKind::Read, 16 << 10, 0, 1, think) * mib / 64.0;
    // 0.1 ms of the host, 0.1 ms of the command, 0.05 ms of the link: the platters are ahead.
    row("hdd-7200, sequential read 16 KiB, depth 1: MB/s", got, 55.0, 70.0);
    let got = in_order(RequestKind::Write, 4096, 0, 1, think);
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

/// Writes 4 KiB after the other into a file of `size` bytes and syncs each, as often as it goes, through
/// what ext4 makes of that beside `others` bytes.
fn commits(spec: &str, others: u64, size: u64) -> f64 {
    let journal = Models::standard().parse(spec).expect("a model").file_system();
    let mut ext4 = Ext4::new(Ext4MountOptions { journal, ..Ext4MountOptions::default() });
    ext4.adopt_file(1, others);
    ext4.adopt_file(2, size);
    let mut station = station(spec, 1);
    let mut end = 0;
    rounds(&mut station, 30, |station, now| {
        ext4.write(now, 2, end, 4096, Mode::Buffered, None);
        end += 4096;
        let work = ext4.sync_file(now, 2, SyncScope::Data);
        // Nobody else waits for it.
        ext4.finish_work(work.ticket);
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

/// An append takes two seeks and a turn, and a write in place one turn, however much is on the disk.
#[test]
fn a_commit_costs_turns_unless_the_write_cache_is_on() {
    for others in [0, 4 << 20, GIB, 500 * GIB] {
        for (spec, least, most) in [
            ("hdd-7200", 20.0, 40.0),
            ("hdd-7200/commit=fast", 20.0, 60.0),
            ("hdd-7200/journal=near", 40.0, 60.0),
            ("hdd-7200/commit=fast/journal=near", 50.0, 120.0),
            ("hdd-5400", 15.0, 35.0),
        ] {
            let what = format!("{spec}, append 4 KiB and sync beside {} MiB", others >> 20);
            row(&what, commits(spec, others, 0), least, most);
        }
        // A piece of journal in the way is passed without a whole turn.
        for spec in ["hdd-7200", "hdd-7200/journal=near"] {
            row("the same in place", commits(spec, others, 64 << 20), 110.0, 121.0);
        }
    }
    row("hdd-7200, overwrite and flush", overwrites("hdd-7200", 60), 110.0, 120.0);
    row("the same, write cache on", overwrites("hdd-7200/cache=64M", 60), 60.0, 120.0);
    let cached = |spec, seconds| served(spec, WRITES, seconds);
    row("random writes into the write cache", cached("hdd-7200/cache=64M", 1), 1000.0, 10_000.0);
    // A full one goes no faster than the head.
    row("random writes, full write cache of 1 MiB", cached("hdd-7200/cache=1M", 60), 78.0, 300.0);
}

#[test]
fn neighbours_take_their_turns() {
    for streams in [1, 2, 4] {
        let rate = beside(NeighbourLevel::Streams(streams), "hdd-7200", READS, 120);
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
    let writes = served("raid10:2×hdd-7200", WRITES, 60);
    row("raid10:2×hdd-7200, random write: the later of two", writes, 55.0, 75.0);
}

#[test]
fn cloud_volumes_keep_to_their_limits() {
    let reads = |spec: &str, depth, block| served(spec, ClientLoad { depth, block, ..READS }, 10);
    row("ebs-gp3, random read, depth 1", reads("ebs-gp3", 1, 4096), 1000.0, 1400.0);
    row("ebs-gp3, random read, depth 16", reads("ebs-gp3", 16, 4096), 2970.0, 3030.0);
    row("ebs-gp3, random read 1 MiB: MiB/s", reads("ebs-gp3", 16, 1 << 20), 122.0, 128.0);
    let more = reads("ebs-gp3/iops=6000/burst_iops=6000", 32, 4096);
    row("the same with iops=6000", more, 5940.0, 6060.0);
    let streamed =
        |spec, depth, block| served(spec, ClientLoad { in_order: true, depth, block, ..READS }, 10);
    row("ebs-magnetic, sequential: MiB/s", streamed("ebs-magnetic", 4, 1 << 20), 40.0, 90.0);
    let merged = streamed("ebs-gp3", 64, 16 << 10);
    row("ebs-gp3, sequential read 16 KiB, depth 64", merged, 7900.0, 8100.0);
}

#[test]
fn gp2_bursts_while_its_bucket_lasts() {
    // Spent at 3,000 and earned at 300 a second. How many there are as it comes, `specs` holds.
    let small = |seconds| random_reads("ebs-gp2:100G/credits=27000", 16, seconds);
    row("with 27,000 credits, first 9 s", small(9), 2970.0, 3030.0);
    row("with 27,000 credits, 10 s of 3,000 and 90 s of 300", small(100), 560.0, 580.0);
}

#[test]
fn an_ssd_has_the_rates_of_its_data_sheet() {
    let run = |load, depth, seconds| served("ssd-sata", ClientLoad { depth, ..load }, seconds);
    for (what, load, depth, least, most) in [
        ("random read, depth 1", READS, 1, 12_800.0, 13_200.0),
        ("random read, depth 32", READS, 32, 95_000.0, 99_000.0),
        ("random write, depth 1", WRITES, 1, 35_000.0, 36_500.0),
        ("random write, depth 32", WRITES, 32, 84_000.0, 88_000.0),
    ] {
        row(&format!("ssd-sata, {what}"), run(load, depth, 1), least, most);
    }
    let large = |load, seconds| {
        run(ClientLoad { block: 1 << 20, ..load }, 4, seconds) * f64::from(1 << 20) / 1e6
    };
    row("ssd-sata, read 1 MiB: MB/s", large(READS, 1), 550.0, 565.0);
    row("ssd-sata, write 1 MiB: MB/s", large(WRITES, 10), 520.0, 535.0);
    // 12 GB fill at 530 − 300 MB/s in 52 s; the mean of 180 s, of which 128 are at 300 MB/s.
    row("ssd-sata, write 1 MiB for 180 s: MB/s", large(WRITES, 180), 360.0, 372.0);
    row("ssd-sata, write and flush", overwrites("ssd-sata", 1), 1130.0, 1145.0);
}
