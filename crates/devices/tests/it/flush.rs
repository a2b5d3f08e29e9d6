//! What a flush costs, in virtual time: dirty or not, shared, and written through instead.

use bakeoff_devices::device::{DeviceRequest, Nanos, RequestKind};
use bakeoff_devices::ext4::{Barrier, Ext4, Ext4MountOptions, Ext4Parameters, Mode, SyncScope};
use bakeoff_devices::models::Models;
use bakeoff_devices::station::Station;

const MIB: u64 = 1 << 20;
pub const FLUSH: DeviceRequest =
    DeviceRequest { kind: RequestKind::Flush, offset: 0, length: 0, stream: 0 };

pub fn request(kind: RequestKind, length: u64) -> DeviceRequest {
    DeviceRequest { kind, offset: MIB, length, stream: 0 }
}

fn station(spec: &str) -> Station {
    let spec = Models::standard().parse(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let mut station = Station::new(spec.build(1), 1);
    station.set_span(1 << 30);
    station
}

/// Microseconds of each request, one after the other.
fn times(spec: &str, requests: &[DeviceRequest]) -> Vec<f64> {
    let mut station = station(spec);
    let (mut now, mut done) = (0, Vec::new());
    let time = |(id, request): (usize, &DeviceRequest)| {
        let began = now;
        station.submit(now, id as u64, *request);
        while done.is_empty() {
            now = station.next_event().expect("a request is under way");
            station.advance(now, &mut done);
        }
        done.clear();
        (now - began) as f64 / 1e3
    };
    requests.iter().enumerate().map(time).collect()
}

/// How many rounds a second `clients` make, each of these requests one after the other. A round's
/// writes take as long as the device says, and nothing is between two rounds.
pub fn rounds_a_second(spec: &str, clients: u64, round: &[DeviceRequest]) -> f64 {
    const SECONDS: Nanos = 10;
    let mut station = station(spec);
    let (mut now, mut done, mut rounds) = (0, Vec::new(), 0);
    let mut at = vec![0; clients as usize];
    (0..clients).for_each(|client| station.submit(0, client, round[0]));
    while now < SECONDS * 1_000_000_000 {
        now = station.next_event().expect("requests are under way");
        station.advance(now, &mut done);
        for completion in done.drain(..) {
            let next = &mut at[completion.id as usize];
            *next = (*next + 1) % round.len();
            rounds += u64::from(*next == 0);
            station.submit(now, completion.id, round[*next]);
        }
    }
    rounds as f64 / SECONDS as f64
}

const WRITE: DeviceRequest =
    DeviceRequest { kind: RequestKind::Write, offset: MIB, length: 4096, stream: 0 };

#[test]
fn a_flush_costs_its_floor_unless_something_was_written_since_the_last() {
    let spec = "ssd-sata/flush_us=1000/flush_floor_us=70/write_us=20";
    let read = request(RequestKind::Read, 4096);
    let took = times(spec, &[FLUSH, WRITE, FLUSH, FLUSH, read, FLUSH]);
    assert_eq!(took, [70.0, 20.0, 1000.0, 70.0, 77.0, 70.0]);
    // A floor above the flush is no floor.
    assert_eq!(times("ssd-sata/flush_us=0/flush_floor_us=70", &[FLUSH, WRITE, FLUSH])[2], 0.0);
    // What was written costs by its bytes, too: 1 MiB at 1,048.576 MB/s is a millisecond.
    let spec = "ssd-sata/flush_us=1000/flush_mb_s=1048.576";
    let large = request(RequestKind::Write, MIB);
    assert_eq!(times(spec, &[large, FLUSH])[1], 2000.0);
}

#[test]
fn flushes_that_come_while_one_runs_share_the_next() {
    let mut station = station("ssd-sata/flush_us=1000/flush_floor_us=1000");
    let (mut ends, mut done) = (Vec::new(), Vec::new());
    for (at, id) in [(0, 0), (100_000, 1), (900_000, 2), (1_500_000, 3)] {
        station.submit(at, id, FLUSH);
    }
    while let Some(next) = station.next_event() {
        station.advance(next, &mut done);
        ends.extend(done.drain(..).map(|it| (it.id, it.at / 1000)));
    }
    assert_eq!(ends, [(0, 1000), (1, 2000), (2, 2000), (3, 3000)]);
    // It was busy all the time, and each flush is counted.
    let counts = station.counts(3_000_000);
    assert_eq!((counts.busy_ns, counts.flushes), (3_000_000, 4));
    // A write after the flush that runs belongs to the next, and so to no one's floor.
    let mut station = self::station("ssd-sata/flush_us=1000/flush_floor_us=10/write_us=20");
    station.submit(0, 0, WRITE);
    station.submit(20_000, 1, FLUSH);
    station.submit(30_000, 2, WRITE);
    station.submit(100_000, 3, FLUSH);
    station.advance(u64::MAX / 2, &mut done);
    assert_eq!(done.last().map(|it| (it.id, it.at / 1000)), Some((3, 2020)));
}

#[test]
fn eight_writers_get_half_as_many_flushes_as_they_are() {
    let spec = "ssd-sata/flush_us=2576/write_us=28";
    let one = rounds_a_second(spec, 1, &[WRITE, FLUSH]);
    let eight = rounds_a_second(spec, 8, &[WRITE, FLUSH]);
    assert!((383.0..385.0).contains(&one), "{one}");
    // n ÷ 2 F, less what the writes take.
    assert!((3.7 * one..4.1 * one).contains(&eight), "{eight} of {one}");
}

#[test]
fn a_drive_with_fua_writes_a_commit_record_through_and_other_drives_flush_it() {
    let kinds = |has_fua, options: Ext4Parameters, mode, sync| {
        let options = Ext4MountOptions { has_fua, journal: options, ..Ext4MountOptions::default() };
        let mut ext4 = Ext4::new(options);
        ext4.adopt_file(1, MIB);
        let first = ext4.write(0, 1, 0, 4096, mode, sync);
        let work = if sync.is_some() { first } else { ext4.sync_file(0, 1, SyncScope::All) };
        work.steps.iter().map(|step| step.iter().map(letter).collect()).collect::<Vec<String>>()
    };
    let plain = Ext4Parameters::default();
    // Data; the journal's blocks; a flush; the record.
    let commit = |has_fua| kinds(has_fua, plain, Mode::Buffered, None);
    assert_eq!(commit(false), ["W", "W", "F", "W", "F"]);
    assert_eq!(commit(true), ["W", "W", "F", "T"]);
    let off = Ext4Parameters { barrier: Barrier::Off, ..plain };
    assert_eq!(kinds(true, off, Mode::Buffered, None), ["W", "W", "W"]);
    // A direct overwrite by O_DSYNC is one write; by O_SYNC its times are committed, too.
    let direct = |has_fua, sync| kinds(has_fua, plain, Mode::Direct, Some(sync));
    assert_eq!(direct(false, SyncScope::Data), ["W", "F"]);
    assert_eq!(direct(true, SyncScope::Data), ["T"]);
    assert_eq!(direct(true, SyncScope::All), ["W", "W", "F", "T"]);
}

fn letter(request: &DeviceRequest) -> char {
    match request.kind {
        RequestKind::Read => 'R',
        RequestKind::Write => 'W',
        RequestKind::WriteThrough => 'T',
        RequestKind::Flush => 'F',
    }
}

#[test]
fn writes_through_go_one_after_the_other_and_leave_nothing_to_flush() {
    let spec = "ssd-nvme/fua_us=400/write_us=15/flush_us=219/flush_floor_us=70";
    let through = request(RequestKind::WriteThrough, 4096);
    assert_eq!(times(spec, &[through, through, FLUSH]), [400.0, 400.0, 70.0]);
    let one = rounds_a_second(spec, 1, &[through]);
    let four = rounds_a_second(spec, 4, &[through]);
    assert!((one - 2500.0).abs() < 1.0 && (four - one).abs() < 1.0, "{one}, {four}");
}
