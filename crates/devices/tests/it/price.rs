//! Prices of traces whose price can be told by hand.

use bakeoff_devices::device::{DeviceRequest, RequestKind};
use bakeoff_devices::ext4::DeviceWork;
use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::price::{Cause, Depth, Price, PriceParameters, price_trace};
use bakeoff_devices::trace::{Trace, Tracer, Waits};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

const PAGE: u64 = 4096;
const SPAN: u64 = 4 << 30;
/// The files of the traces: a log, then data.
const LOG: u64 = 70;
const DATA: u64 = 71;

fn request(kind: RequestKind, offset: u64, length: u64) -> DeviceRequest {
    DeviceRequest { kind, offset, length, stream: 0 }
}

fn flush() -> Vec<DeviceRequest> {
    vec![request(RequestKind::Flush, 0, 0)]
}

/// A trace of works in the order given, each of a file that is waited for by a writer, or by a reader
/// where it reads.
fn trace(works: impl IntoIterator<Item = (Option<u64>, Vec<Vec<DeviceRequest>>)>) -> Vec<u8> {
    let mut tracer = Tracer::default();
    // So that the log is the first file.
    let name = |file: u64| move || if file == LOG { b"log".to_vec() } else { b"data".to_vec() };
    for (at, (file, steps)) in works.into_iter().enumerate() {
        let reads = steps.iter().flatten().any(|request| request.kind == RequestKind::Read);
        let waits = match (file, reads) {
            (None, _) => Waits::Nobody,
            (_, true) => Waits::Reader,
            (_, false) => Waits::Writer,
        };
        let work = DeviceWork { steps, ..DeviceWork::default() };
        tracer.add_work(at as u64, waits, file, name(file.unwrap_or_default()), &work);
    }
    tracer.end(SPAN);
    tracer.take_bytes()
}

fn priced(bytes: &[u8], disk: &str, neighbours: NeighbourLevel, depth: Depth) -> Price {
    let trace = Trace::read(bytes).unwrap();
    let spec = Models::standard().parse(disk).unwrap();
    let is_log = |file: usize| trace.files[file] == b"log";
    price_trace(&trace, &spec, PriceParameters { neighbours, seed: 7, depth }, &is_log)
}

fn alone(bytes: &[u8], disk: &str) -> Price {
    priced(bytes, disk, NeighbourLevel::None, Depth::One)
}

fn random_writes(count: u64) -> Vec<u8> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut place = move || rng.random_range(0..SPAN / PAGE) * PAGE;
    trace((0..count).map(|_| (Some(DATA), vec![vec![request(RequestKind::Write, place(), PAGE)]])))
}

#[test]
fn each_cause_is_charged_its_own_and_all_add_up() {
    let commit = || (Some(LOG), vec![vec![request(RequestKind::Write, 0, PAGE)], flush()]);
    let read = || (Some(DATA), vec![vec![request(RequestKind::Read, 9 * PAGE, PAGE)]]);
    let checkpoint = || (Some(DATA), vec![vec![request(RequestKind::Write, PAGE, PAGE)], flush()]);
    let by_age = || (None, vec![vec![], vec![request(RequestKind::Write, 5 * PAGE, PAGE)]]);
    let bytes = trace([commit(), read(), checkpoint(), by_age(), commit()]);
    let price = alone(&bytes, "ssd-sata");
    assert_eq!(price.log, 2 * 878_000);
    assert_eq!(price.read, 77_000);
    assert_eq!(price.put_off, 878_000 + 28_000);
    assert_eq!(price.elapsed, price.log + price.read + price.put_off);
    let trace = Trace::read(&bytes).unwrap();
    let causes: Vec<Cause> =
        trace.works().map(|work| Cause::from_work(&work, &|file| file == 0)).collect();
    use Cause::{Log, PutOff, Read};
    assert_eq!(causes, [Log, Read, PutOff, PutOff, Log]);
}

#[test]
fn what_is_put_off_is_done_beside_the_log_where_there_is_room() {
    let commit = || (Some(LOG), vec![vec![request(RequestKind::Write, 0, PAGE)], flush()]);
    let page = || (Some(DATA), vec![vec![request(RequestKind::Write, PAGE, PAGE)]]);
    let checkpoint = || (Some(DATA), vec![vec![request(RequestKind::Write, PAGE, PAGE)], flush()]);
    let deep = |bytes: &[u8], depth| priced(bytes, "ssd-sata", NeighbourLevel::None, depth).elapsed;
    // 28 µs for a write and 0.85 ms for the flush behind it.
    let pages = trace((0..50).flat_map(|_| [commit(), page()]));
    assert_eq!(alone(&pages, "ssd-sata").elapsed, 50 * (878_000 + 28_000));
    // A write may wait for one beside it, 28 µs / 2.4.
    let beside = deep(&pages, Depth::Beside(1));
    assert!((50 * 878_000..50 * 895_000).contains(&beside), "{beside}");
    // One flush runs at a time: of two that take turns, none is shared.
    let bytes = trace((0..50).flat_map(|_| [commit(), checkpoint()]));
    assert_eq!(alone(&bytes, "ssd-sata").elapsed, 100 * 878_000);
    let turns = deep(&bytes, Depth::Beside(1));
    assert!((95 * 850_000..100 * 878_000).contains(&turns), "{turns}");
    // Those of eight beside the log are.
    let shared = deep(&bytes, Depth::Beside(8));
    assert!(shared < 110 * 850_000 && shared < turns, "{shared} of {turns}");
    // One log is never written twice at once.
    let log = trace((0..100).map(|_| commit()));
    assert_eq!(deep(&log, Depth::Beside(31)), 100 * 878_000);
}

#[test]
fn four_neighbours_leave_a_fifth_of_a_hard_disk() {
    let bytes = random_writes(500);
    let one = alone(&bytes, "hdd-7200").elapsed as f64;
    let shared = priced(&bytes, "hdd-7200", NeighbourLevel::Streams(4), Depth::One).elapsed as f64;
    assert!((4.5..5.5).contains(&(shared / one)), "{}", shared / one);
    // With more at once the disk goes the shortest way, but takes turns with its neighbours.
    let deep = |level| priced(&bytes, "hdd-7200", level, Depth::Beside(31)).elapsed as f64;
    assert!(deep(NeighbourLevel::None) < 0.7 * one, "{} of {one}", deep(NeighbourLevel::None));
    assert!((0.9 * shared..shared).contains(&deep(NeighbourLevel::Streams(4))), "{shared}");
}

#[test]
fn nothing_costs_nothing_and_a_device_that_takes_no_time_neither() {
    assert_eq!(alone(&trace([]), "hdd-7200"), Price::default());
    assert_eq!(
        priced(&random_writes(100), "null", NeighbourLevel::None, Depth::Beside(3)).elapsed,
        0
    );
    // The same terms, the same price.
    let bytes = random_writes(100);
    let deep = || priced(&bytes, "hdd-7200", NeighbourLevel::Share(0.25), Depth::Beside(8));
    assert_eq!(deep(), deep());
}
