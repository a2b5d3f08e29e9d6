//! The models alone, in virtual time.

use std::time::Instant;

use bakeoff_devices::device::{DeviceRequest, Nanos, RequestKind};
use bakeoff_devices::ext4::{DeviceWork, Ext4, Ext4MountOptions, Mode, SyncScope};
use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::station::{Station, StationCounts};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

const SECOND: Nanos = 1_000_000_000;

/// A closed loop of requests: each is followed by the next one when it is done.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub kind: RequestKind,
    pub length: u64,
    pub depth: u64,
    pub random: bool,
}

/// A device with the span and the neighbours given.
fn station(model: &str, span: u64, neighbours: &str) -> Station {
    let spec = Models::standard().parse(model).expect("a model that there is");
    let mut station = Station::new(spec.build(1), 1);
    station.set_span(span);
    station.set_neighbours(0, neighbours.parse::<NeighbourLevel>().expect("a level"));
    station
}

/// Requests a second that a load reaches between two moments of virtual time, in seconds.
pub(crate) fn rate(
    model: &str,
    span: u64,
    neighbours: &str,
    load: Load,
    (from, to): (u64, u64),
) -> f64 {
    let mut station = station(model, span, neighbours);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let places = span / load.length;
    let mut place = 0;
    let mut request = || {
        place = if load.random { random.random_range(0..places) } else { (place + 1) % places };
        DeviceRequest {
            kind: load.kind,
            offset: place * load.length,
            length: load.length,
            stream: 0,
        }
    };
    for id in 0..load.depth {
        station.submit(0, id, request());
    }
    let (mut done, mut counted) = (Vec::new(), 0u64);
    while let Some(now) = station.next_event().filter(|now| *now < to * SECOND) {
        station.advance(now, &mut done);
        for completion in done.drain(..) {
            counted += u64::from(completion.at >= from * SECOND);
            station.submit(completion.at, completion.id, request());
        }
    }
    counted as f64 / (to - from) as f64
}

/// Requests of a load that are simulated in a second of real time.
pub(crate) fn pace(model: &str, load: Load) -> f64 {
    const REQUESTS: u64 = 1_000_000;
    let mut station = station(model, 4 << 30, "0");
    // A multiplicative walk over the blocks: cheap, and far from sequential.
    let request = |id: u64| {
        let offset = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (1 << 20) * 4096;
        DeviceRequest { kind: load.kind, offset, length: load.length, stream: 0 }
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
pub(crate) fn neighbours_alone(
    model: &str,
    span: u64,
    neighbours: &str,
    seconds: u64,
) -> StationCounts {
    let mut station = station(model, span, neighbours);
    while let Some(now) = station.next_event().filter(|now| *now < seconds * SECOND) {
        station.advance(now, &mut Vec::new());
    }
    station.advance(seconds * SECOND, &mut Vec::new());
    station.counts(seconds * SECOND)
}

/// Appends of 4 KiB a second, each made durable by fdatasync before the next.
pub(crate) fn appends(model: &str, count: u64) -> f64 {
    let mut files = Ext4::new(Ext4MountOptions::default());
    let mut station = station(model, files.span(), "0");
    let mut now = 0;
    for append in 0..count {
        let work = files.write(now, 1, append * 4096, 4096, Mode::Buffered, None);
        now = perform(&mut station, now, work);
        let work = files.sync(now, 1, SyncScope::Data);
        let ticket = work.ticket;
        now = perform(&mut station, now, work);
        files.done(ticket);
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
