//! Neighbours in virtual time: random requests of 16 KiB, half of them reads, half writes.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};

use super::FIRST_NEIGHBOUR;
use crate::device::{Device, DeviceRequest, Nanos, RequestKind};
use crate::neighbour::NeighbourLevel;

pub(super) const BLOCK: u64 = 16 << 10;

/// Where requests go before the span is known: over all of a device of the default size, so that an
/// earlier share is a share of the rate over the whole stroke.
const UNTOLD_SPAN: u64 = 1 << 30;

/// Requests from which a device's own rate is measured: its standard error is then about 1 % on a
/// hard disk.
const PROBES: u64 = 2000;

/// Closed streams are streams 1 and above; Poisson arrivals are all stream 1.
pub(super) struct SimulatedNeighbours {
    level: NeighbourLevel,
    pub span: u64,
    rng: Xoshiro256PlusPlus,
    /// How often the level was set: requests of an earlier level are not followed.
    generation: u32,
    arrivals: u32,
    /// When the next arrival is due; fractions of nanoseconds are kept.
    arrival: f64,
    gap: f64,
}

impl SimulatedNeighbours {
    pub fn new(seed: u64) -> Self {
        Self {
            level: NeighbourLevel::None,
            span: UNTOLD_SPAN,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            generation: 0,
            arrivals: 0,
            arrival: 0.0,
            gap: 0.0,
        }
    }

    /// A device that takes no time has no neighbours: there is no share to take.
    pub fn set_level(&mut self, now: Nanos, level: NeighbourLevel, device: &dyn Device) {
        self.generation = (self.generation + 1) & (u32::MAX >> 1);
        self.level = NeighbourLevel::None;
        if level == NeighbourLevel::None {
            return;
        }
        let alone = self.time_alone(device);
        if alone == 0.0 {
            return;
        }
        self.level = level;
        if let NeighbourLevel::Share(share) = self.level {
            self.gap = alone / share;
            self.arrival = now as f64;
            self.set_next_arrival();
        }
    }

    pub fn first_requests(&mut self) -> Vec<(u64, DeviceRequest)> {
        let NeighbourLevel::Streams(streams) = self.level else { return Vec::new() };
        (1..=streams).map(|stream| (self.request_id(stream), self.draw_request(stream))).collect()
    }

    pub fn follow_up(&mut self, id: u64) -> Option<(u64, DeviceRequest)> {
        let stream = id as u32;
        let is_closed =
            matches!(self.level, NeighbourLevel::Streams(_)) && id == self.request_id(stream);
        is_closed.then(|| (id, self.draw_request(stream)))
    }

    pub fn next_arrival(&self) -> Option<Nanos> {
        matches!(self.level, NeighbourLevel::Share(_)).then_some(self.arrival as Nanos)
    }

    pub fn take_arrival(&mut self, now: Nanos) -> Option<(u64, DeviceRequest)> {
        self.next_arrival().filter(|&at| at <= now)?;
        self.arrivals = self.arrivals.wrapping_add(1);
        self.set_next_arrival();
        Some((self.request_id(self.arrivals), self.draw_request(1)))
    }

    fn set_next_arrival(&mut self) {
        self.arrival += self.gap * draw_exponential(&mut self.rng);
    }

    fn request_id(&self, number: u32) -> u64 {
        FIRST_NEIGHBOUR | u64::from(self.generation) << 32 | u64::from(number)
    }

    fn draw_request(&mut self, stream: u32) -> DeviceRequest {
        let kind = if self.rng.random() { RequestKind::Read } else { RequestKind::Write };
        let offset = self.rng.random_range(0..(self.span / BLOCK).max(1)) * BLOCK;
        DeviceRequest { kind, offset, length: BLOCK, stream }
    }

    /// Mean nanoseconds of such a request alone, measured on an unused copy of the device.
    fn time_alone(&mut self, device: &dyn Device) -> f64 {
        let mut device = device.fresh_copy();
        let (mut now, mut done) = (0, Vec::new());
        for id in 0..PROBES {
            let request = self.draw_request(1);
            device.submit(now, id, request);
            while done.is_empty() {
                now = device.next_completion().expect("a request is under way");
                device.advance(now, &mut done);
            }
            done.clear();
        }
        now as f64 / PROBES as f64
    }
}

/// An exponential number of mean 1 by comparisons alone (von Neumann, "Various techniques used in
/// connection with random digits", 1951): a logarithm may differ in its last digit from machine to
/// machine.
fn draw_exponential(rng: &mut Xoshiro256PlusPlus) -> f64 {
    let mut whole = 0.0;
    loop {
        let first: f64 = rng.random();
        let (mut last, mut falling) = (first, 1);
        loop {
            let next = rng.random();
            if next >= last {
                break;
            }
            (last, falling) = (next, falling + 1);
        }
        if falling % 2 == 1 {
            return whole + first;
        }
        whole += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let gaps: Vec<f64> = (0..200_000).map(|_| draw_exponential(&mut rng)).collect();
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        let square = gaps.iter().map(|gap| gap * gap).sum::<f64>() / count;
        let above_two = gaps.iter().filter(|&&gap| gap > 2.0).count() as f64 / count;
        // Standard errors are 0.002, 0.01 and 0.0008.
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!((square - 2.0).abs() < 0.05, "{square}");
        assert!((above_two - (-2.0_f64).exp()).abs() < 0.004, "{above_two}");
    }
}
