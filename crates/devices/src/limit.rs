//! What a device serves of some clients' requests by its model alone: no file system, no page cache and no
//! sync is between them.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use crate::device::{DeviceRequest, Nanos, RequestKind};
use crate::neighbour::NeighbourLevel;
use crate::spec::Spec;
use crate::station::Station;

/// So many requests are served at most: a fast device has long shown its rate by then.
const MOST: u64 = 100_000;
/// So many events are simulated at most, those of neighbours among them: beside many of these the clients' own
/// requests are few.
const MOST_EVENTS: u64 = 10 * MOST;

/// Requests of clients of which each asks for the next as soon as one has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLoad {
    /// How many clients there are.
    pub clients: u64,
    /// Requests that each has in flight.
    pub depth: u64,
    /// Percent of the requests that read; the others write.
    pub reads: u8,
    /// Whether each client goes from one block to the next, in a part of its own.
    pub in_order: bool,
    /// Bytes of a request.
    pub block: u64,
    /// Bytes that the requests are for, all together.
    pub span: u64,
}

/// Requests a second that a device serves of a load beside neighbours, over `time` of its own, in
/// nanoseconds. `None` of a device that takes no time, and of a load without a request.
pub fn rate(
    spec: &Spec,
    seed: u64,
    neighbours: NeighbourLevel,
    load: &ClientLoad,
    time: Nanos,
) -> Option<f64> {
    let in_flight = load.clients * load.depth;
    let mut asked =
        ClientRequests::from_load(load, seed).filter(|_| in_flight > 0 && !spec.is_null())?;
    let mut station = Station::new(spec.build(seed), seed);
    station.set_span(load.span);
    station.set_neighbours(0, neighbours);
    for id in 0..in_flight {
        station.submit(0, id, asked.next(id / load.depth));
    }
    let (mut done, mut served, mut now) = (Vec::new(), 0_u64, 0);
    for _ in 0..MOST_EVENTS {
        if served >= MOST || now >= time {
            break;
        }
        now = station.next_event()?;
        station.advance(now, &mut done);
        for completion in done.drain(..) {
            served += 1;
            let next = asked.next(completion.id / load.depth);
            station.submit(completion.at, completion.id, next);
        }
    }
    (now > 0).then(|| served as f64 * 1e9 / now as f64)
}

/// What the clients ask for.
struct ClientRequests<'a> {
    load: &'a ClientLoad,
    /// How many blocks there are.
    blocks: u64,
    /// Of each client in order: the block that is next.
    next: Vec<u64>,
    /// Reads that are due, in percent of one.
    due: u32,
    random: Xoshiro256PlusPlus,
}

impl<'a> ClientRequests<'a> {
    /// `None` where no block is whole.
    fn from_load(load: &'a ClientLoad, seed: u64) -> Option<Self> {
        let blocks = load.span.checked_div(load.block).filter(|blocks| *blocks > 0)?;
        let next = (0..load.clients).map(|client| Self::first(client, load, blocks)).collect();
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Some(Self { load, blocks, next, due: 0, random })
    }

    /// The first block of a client's part.
    fn first(client: u64, load: &ClientLoad, blocks: u64) -> u64 {
        (u128::from(blocks) * u128::from(client) / u128::from(load.clients)) as u64
    }

    /// A client's next request.
    fn next(&mut self, client: u64) -> DeviceRequest {
        let block = match self.load.in_order {
            true => self.in_order(client),
            false => self.random.random_range(0..self.blocks),
        };
        self.due += u32::from(self.load.reads);
        let kind = if self.due >= 100 { RequestKind::Read } else { RequestKind::Write };
        if kind == RequestKind::Read {
            self.due -= 100;
        }
        let length = self.load.block;
        DeviceRequest { kind, offset: block * length, length, stream: 0 }
    }

    /// The next block of a client that goes round its part.
    fn in_order(&mut self, client: u64) -> u64 {
        let start = Self::first(client, self.load, self.blocks);
        let end = Self::first(client + 1, self.load, self.blocks).max(start + 1);
        let next = &mut self.next[client as usize];
        let block = *next;
        *next = if block + 1 < end { block + 1 } else { start };
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Models;

    const SECOND: Nanos = 1_000_000_000;
    const READS: ClientLoad = ClientLoad {
        clients: 1,
        depth: 1,
        reads: 100,
        in_order: false,
        block: 4096,
        span: 1 << 30,
    };

    /// What a device serves in a minute of its own.
    fn served(model: &str, load: ClientLoad) -> f64 {
        let spec = Models::standard().parse(model).unwrap();
        rate(&spec, 1, NeighbourLevel::None, &load, 60 * SECOND).unwrap()
    }

    #[test]
    fn a_device_that_takes_no_time_and_clients_that_ask_for_nothing_have_no_limit() {
        let null = Models::standard().parse("null").unwrap();
        assert_eq!(rate(&null, 1, NeighbourLevel::None, &READS, SECOND), None);
        let disk = Models::standard().parse("hdd-7200").unwrap();
        for load in [
            ClientLoad { clients: 0, ..READS },
            ClientLoad { depth: 0, ..READS },
            ClientLoad { block: 0, ..READS },
            ClientLoad { span: 4095, ..READS },
        ] {
            assert_eq!(rate(&disk, 1, NeighbourLevel::None, &load, SECOND), None, "{load:?}");
        }
    }

    /// As the model is made: 75 to 80 random reads a second one at a time, 125 to 130 with 32 in flight.
    #[test]
    fn a_hard_disk_serves_more_from_a_deeper_queue_and_an_array_more_than_one() {
        let one = served("hdd-7200", READS);
        assert!((70.0..85.0).contains(&one), "{one}");
        let deep = served("hdd-7200", ClientLoad { depth: 32, ..READS });
        assert!((115.0..140.0).contains(&deep), "{deep}");
        let clients = served("hdd-7200", ClientLoad { clients: 32, ..READS });
        assert!((clients / deep - 1.0).abs() < 0.05, "32 clients are as 32 in flight: {clients}");
        let array = served("raid10:8×hdd-7200", ClientLoad { depth: 32, ..READS });
        assert!(array > 3.0 * deep, "{array} of eight, {deep} of one");
    }

    #[test]
    fn what_is_in_order_is_faster_and_neighbours_take_their_share() {
        let in_order = served("hdd-7200", ClientLoad { in_order: true, ..READS });
        assert!(in_order > served("hdd-7200", READS), "{in_order}");
        let disk = Models::standard().parse("hdd-7200").unwrap();
        let beside = rate(&disk, 1, NeighbourLevel::Streams(4), &READS, 60 * SECOND).unwrap();
        assert!(beside < 0.5 * served("hdd-7200", READS), "{beside}");
    }

    #[test]
    fn clients_in_order_go_round_parts_of_their_own_and_mixes_have_their_share() {
        let load = ClientLoad { clients: 3, in_order: true, reads: 70, span: 40_960, ..READS };
        let mut asked = ClientRequests::from_load(&load, 1).unwrap();
        let mut blocks =
            |client| -> Vec<u64> { (0..5).map(|_| asked.next(client).offset / 4096).collect() };
        assert_eq!(blocks(0), [0, 1, 2, 0, 1]);
        assert_eq!(blocks(1), [3, 4, 5, 3, 4]);
        assert_eq!(blocks(2), [6, 7, 8, 9, 6]);
        let mut asked = ClientRequests::from_load(&load, 1).unwrap();
        let reads = (0..100).filter(|_| asked.next(0).kind == RequestKind::Read).count();
        assert_eq!(reads, 70);
    }
}
