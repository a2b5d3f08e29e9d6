//! The models alone, in virtual time.

use std::time::Instant;

use bakeoff_devices::device::{DeviceRequest, Nanos, RequestKind};
use bakeoff_devices::ext4::{DeviceWork, Ext4, Ext4MountOptions, Mode, SyncScope};
use bakeoff_devices::limit::{ClientLoad, simulate_rate};
use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::station::{Station, StationCounts};

const SECOND: Nanos = 1_000_000_000;

/// A device with the span and the neighbours given.
fn station(model: &str, span: u64, neighbours: &str) -> Station {
    let spec = Models::standard().parse(model).expect("a model that there is");
    let mut station = Station::new(spec.build(1), 1);
    station.set_span(span);
    station.set_neighbours(0, neighbours.parse::<NeighbourLevel>().expect("a level"));
    station
}

/// Requests a second that a load reaches in so many seconds of virtual time.
pub(crate) fn rate(model: &str, neighbours: &str, load: &ClientLoad, seconds: u64) -> f64 {
    let spec = Models::standard().parse(model).expect("a model that there is");
    let level = neighbours.parse::<NeighbourLevel>().expect("a level");
    simulate_rate(&spec, 1, level, load, seconds * SECOND).expect("it takes time")
}

/// Requests of a load that are simulated in a second of real time.
pub(crate) fn pace(model: &str, load: &ClientLoad) -> f64 {
    const REQUESTS: u64 = 1_000_000;
    let mut station = station(model, 4 << 30, "0");
    // A multiplicative walk over the blocks: cheap, and far from sequential.
    let request = |id: u64| {
        let offset = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (1 << 20) * 4096;
        DeviceRequest { kind: RequestKind::Read, offset, length: load.block, stream: 0 }
    };
    let (mut id, mut done) = (load.depth, Vec::new());
    let start = Instant::now();
    (0..id).for_each(|id| station.submit(0, id, request(id)));
    while id < REQUESTS {
        let at = station.next_event().expect("requests are under way");
        station.advance(at, &mut done);
        for completion in done.drain(..) {
            station.submit(completion.at, id, request(id));
            id += 1;
        }
    }
    id as f64 / start.elapsed().as_secs_f64()
}

/// What a device has done after so many seconds with neighbours alone.
pub(crate) fn neighbours_alone(model: &str, span: u64, level: &str, seconds: u64) -> StationCounts {
    station(model, span, level).counts(seconds * SECOND)
}

/// Appends of 4 KiB a second, each made durable by fdatasync before the next.
pub(crate) fn appends(model: &str, count: u64) -> f64 {
    let mut files = Ext4::new(Ext4MountOptions::default());
    let mut station = station(model, files.span(), "0");
    let mut now = 0;
    for append in 0..count {
        let work = files.write(now, 1, append * 4096, 4096, Mode::Buffered, None);
        now = perform(&mut station, now, work);
        let work = files.sync_file(now, 1, SyncScope::Data);
        let ticket = work.ticket;
        now = perform(&mut station, now, work);
        files.finish_work(ticket);
        station.set_span(files.span());
    }
    count as f64 * SECOND as f64 / now as f64
}

/// Performs work from `now` on; when it is done.
fn perform(station: &mut Station, mut now: Nanos, work: DeviceWork) -> Nanos {
    let mut done = Vec::new();
    for step in work.steps {
        let mut left = step.len();
        for (id, request) in (0..).zip(step) {
            station.submit(now, id, request);
        }
        while left > 0 {
            let event = station.next_event().expect("a request is under way");
            station.advance(event, &mut done);
            for completion in done.drain(..) {
                left -= 1;
                now = now.max(completion.at);
            }
        }
    }
    now
}
