//! The rate that a device serves by its model alone: without file system, page cache and syncs.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use crate::device::{DeviceRequest, Nanos, RequestKind};
use crate::neighbour::NeighbourLevel;
use crate::spec::Spec;
use crate::station::Station;

/// The most requests served: a fast device has long shown its rate by then.
const MOST: u64 = 100_000;
/// The most events simulated: many neighbours would leave the clients few of them.
const MOST_EVENTS: u64 = 10 * MOST;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLoad {
    pub clients: u64,
    pub depth: u64,
    /// Percent of the requests; the others write.
    pub reads: u8,
    /// Whether each client goes from block to block in a part of its own.
    pub in_order: bool,
    pub block: u64,
    /// Bytes that all requests fall into.
    pub span: u64,
}

/// Requests a second that a device serves of a load beside neighbours, over `time` nanoseconds of
/// its own. `None` for a device that takes no time, and for a load without requests.
pub fn simulate_rate(
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

struct ClientRequests<'a> {
    load: &'a ClientLoad,
    blocks: u64,
    next: Vec<u64>,
    due: u32,
    random: Xoshiro256PlusPlus,
}

impl<'a> ClientRequests<'a> {
    /// `None` if not one block fits.
    fn from_load(load: &'a ClientLoad, seed: u64) -> Option<Self> {
        let blocks = load.span.checked_div(load.block).filter(|blocks| *blocks > 0)?;
        let next =
            (0..load.clients).map(|client| Self::first_block(client, load, blocks)).collect();
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        Some(Self { load, blocks, next, due: 0, random })
    }

    fn first_block(client: u64, load: &ClientLoad, blocks: u64) -> u64 {
        (u128::from(blocks) * u128::from(client) / u128::from(load.clients)) as u64
    }

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

    fn in_order(&mut self, client: u64) -> u64 {
        let start = Self::first_block(client, self.load, self.blocks);
        let end = Self::first_block(client + 1, self.load, self.blocks).max(start + 1);
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

    #[test]
    fn a_device_that_takes_no_time_and_clients_that_ask_for_nothing_have_no_limit() {
        let null = Models::standard().parse("null").unwrap();
        assert_eq!(simulate_rate(&null, 1, NeighbourLevel::None, &READS, SECOND), None);
        let disk = Models::standard().parse("hdd-7200").unwrap();
        for load in [
            ClientLoad { clients: 0, ..READS },
            ClientLoad { depth: 0, ..READS },
            ClientLoad { block: 0, ..READS },
            ClientLoad { span: 4095, ..READS },
        ] {
            assert_eq!(
                simulate_rate(&disk, 1, NeighbourLevel::None, &load, SECOND),
                None,
                "{load:?}"
            );
        }
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
