//! What holds for every model, whatever it is asked: each request is completed once and never
//! before it came, time only moves forward, how time is cut into steps makes no difference, the
//! same seed gives the same answers, and no device is busy for longer than there was time.

use std::collections::BTreeMap;

use bakeoff_devices::device::{Completion, DeviceRequest, Nanos, RequestKind};
use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::station::{Station, StationCounts};
use proptest::prelude::*;

const SPECS: [&str; 15] = [
    "null",
    "hdd-7200",
    "hdd-7200/order=first-come",
    "hdd-7200/cache=1M",
    "hdd-5400/used=0.1/cache=65536",
    "hdd-7200/outer_mb_s=110/aging=0",
    "ssd-sata",
    "ssd-sata/buffer=1M",
    "ssd-nvme-slow",
    "ebs-magnetic",
    "ebs-gp2:100G/credits=20",
    "ebs-gp3",
    "raid10:2×hdd-7200",
    "raid10:4×hdd-7200/cache=1M",
    "raid10:8×ebs-magnetic",
];

const SPAN: u64 = 256 << 20;

/// A request and the nanoseconds from the one before it.
fn submission() -> impl Strategy<Value = (Nanos, DeviceRequest)> {
    let kind = prop_oneof![4 => Just(RequestKind::Read), 4 => Just(RequestKind::Write), 1 => Just(RequestKind::Flush)];
    let gap = prop_oneof![3 => Just(0), 3 => 0..200_000u64, 3 => 0..30_000_000u64];
    let place = prop_oneof![2 => 0..SPAN / 512, 1 => 0..64u64];
    let length = prop_oneof![6 => 1..64u64, 1 => 1..8192u64];
    (gap, kind, place, length, 0..3u32).prop_map(|(gap, kind, place, length, stream)| {
        let (offset, length) =
            if kind == RequestKind::Flush { (0, 0) } else { (place * 512, length * 512) };
        (gap, DeviceRequest { kind, offset, length, stream })
    })
}

fn level() -> impl Strategy<Value = NeighbourLevel> {
    prop_oneof![
        3 => Just(NeighbourLevel::None),
        1 => (1..4u32).prop_map(NeighbourLevel::Streams),
        1 => (0.05..0.5f64).prop_map(NeighbourLevel::Share),
    ]
}

type History = (Vec<Completion>, BTreeMap<u64, Nanos>, StationCounts);

/// Lives through a history, looking at the station only when a request comes and then `step` apart.
fn live(
    spec: &str,
    level: NeighbourLevel,
    history: &[(Nanos, DeviceRequest)],
    step: Nanos,
) -> History {
    let mut station = Station::new(Models::standard().parse(spec).unwrap().build(7), 8);
    station.set_span(SPAN);
    station.set_neighbours(0, level);
    let (mut done, mut submitted) = (Vec::new(), BTreeMap::new());
    let mut now = 0;
    for (id, &(gap, request)) in (0..).zip(history) {
        let at = now + gap;
        while step > 0 && now + step < at {
            now += step;
            station.advance(now, &mut done);
        }
        now = at;
        station.submit(now, id, request);
        submitted.insert(id, now);
    }
    while done.len() < history.len() {
        let next = station.next_event().expect("requests are under way");
        now = if step > 0 { now + step } else { now.max(next) };
        station.advance(now, &mut done);
    }
    // Up to a time that is the same for every step.
    let end = history.iter().map(|(gap, _)| gap).sum::<Nanos>() + 120_000_000_000;
    assert!(now <= end, "{spec}: {now}");
    let counts = station.counts(end);
    (done, submitted, counts)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_model_keeps_the_laws(
        history in prop::collection::vec(submission(), 1..60),
        level in level(),
        step in prop_oneof![1_000_000..50_000_000u64, Just(1_000_000_000)],
        spec in prop::sample::select(SPECS.to_vec()),
    ) {
        let (done, submitted, counts) = live(spec, level, &history, 0);
        let mut ids: Vec<u64> = done.iter().map(|completion| completion.id).collect();
        ids.sort_unstable();
        prop_assert_eq!(ids, (0..history.len() as u64).collect::<Vec<_>>());
        prop_assert!(done.iter().all(|completion| completion.at >= submitted[&completion.id]));
        prop_assert!(done.is_sorted_by_key(|completion| completion.at));
        prop_assert!(counts.busy_ns <= counts.elapsed_ns, "{:?}", counts);
        prop_assert_eq!(counts.in_queue, 0);
        prop_assert_eq!(&live(spec, level, &history, 0), &(done.clone(), submitted.clone(), counts.clone()));
        let sliced = live(spec, level, &history, step);
        prop_assert_eq!(&sliced.0, &done);
        prop_assert_eq!(sliced.1, submitted);
        prop_assert_eq!(sliced.2, counts);
    }

    #[test]
    fn a_flush_leaves_nothing_unwritten(
        history in prop::collection::vec(submission(), 1..60),
    ) {
        // Once a flush that came when all else was done is done too, an idle disk stays at rest.
        let mut station = Station::new(Models::standard().parse("hdd-7200/cache=1M").unwrap().build(7), 8);
        let (mut now, mut done) = (0, Vec::new());
        for (id, &(gap, request)) in (0..).zip(&history) {
            now += gap;
            station.submit(now, id, request);
        }
        station.submit(now, 1 << 32, DeviceRequest { kind: RequestKind::Flush, offset: 0, length: 0, stream: 0 });
        while done.len() <= history.len() {
            now = station.next_event().expect("requests are under way");
            station.advance(now, &mut done);
        }
        station.submit(now, 1 << 33, DeviceRequest { kind: RequestKind::Flush, offset: 0, length: 0, stream: 0 });
        while done.len() <= history.len() + 1 {
            now = station.next_event().expect("a flush is under way");
            station.advance(now, &mut done);
        }
        let then = station.counts(now).busy_ns;
        prop_assert_eq!(station.counts(now + 1_000_000_000).busy_ns, then);
    }
}
