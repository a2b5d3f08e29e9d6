//! Cloud volumes: a rate limit on operations and one on bytes in front of storage with a latency.
//!
//! After the provider's documentation, "Amazon EBS volume types" and "Amazon EBS I/O
//! characteristics and monitoring" (docs.aws.amazon.com/ebs): an operation is at most 256 KiB,
//! larger ones count as several, ones that follow each other are merged; gp2 earns 3 I/O credits a
//! GiB and second, starts with 5.4 million and spends them at up to 3,000 operations a second; gp3
//! has 3,000 operations a second and 125 MiB/s; the magnetic kind "about 100 IOPS on average" and
//! 40–90 MiB/s. The documentation promises single-digit milliseconds for gp2 and gp3; 0.8 ms is
//! ours, from within that range.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt as _, SeedableRng as _};
use serde::{Deserialize, Serialize};

use super::model::DeviceParameters;
use super::timed::{FinishTimes, TimedDevice};
use super::{
    Device, DeviceRequest, Nanos, ParameterProblem, RequestKind, check_bounds, check_order,
    collect_problems,
};

/// What a cloud volume is like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CloudParameters {
    /// I/O operations a second that it always serves, and I/O credits that it earns a second.
    pub iops: f64,
    /// Operations a second while there are credits.
    pub burst_iops: f64,
    /// I/O credits at the start, and the most it can save.
    pub credits: f64,
    /// MiB/s.
    pub throughput_mib_s: f64,
    /// Milliseconds of an operation without its bytes.
    pub latency_ms: f64,
    /// How far the latency strays from its mean: 0.2 is up to 20 % to either side.
    pub jitter: f64,
    /// How many operations are in service at once; others wait.
    pub at_once: u32,
    /// Bytes of the largest operation: a larger request counts as several.
    pub operation: u64,
}

const GP2_CREDITS: f64 = 5.4e6;
const GP2_BURST: f64 = 3000.0;

impl CloudParameters {
    /// The volume gp2 of this size.
    pub fn gp2(gib: f64) -> Self {
        let iops = (3.0 * gib).clamp(100.0, 16_000.0);
        Self {
            iops,
            burst_iops: iops.max(GP2_BURST),
            credits: GP2_CREDITS,
            // 128 MiB/s up to 170 GiB, 250 MiB/s from there on.
            throughput_mib_s: if gib <= 170.0 { 128.0 } else { 250.0 },
            ..Self::gp3()
        }
    }

    /// The volume gp3 without extra rate.
    pub fn gp3() -> Self {
        Self {
            iops: 3000.0,
            burst_iops: 3000.0,
            credits: 0.0,
            throughput_mib_s: 125.0,
            latency_ms: 0.8,
            jitter: 0.2,
            at_once: 64,
            operation: 256 << 10,
        }
    }

    /// The magnetic volume: one operation at a time, 10 ms each, up to 1 MiB as on the provider's
    /// other magnetic volumes. Its burst "to hundreds" are quick operations, no bucket.
    pub fn magnetic() -> Self {
        Self {
            iops: 400.0,
            burst_iops: 400.0,
            credits: 0.0,
            throughput_mib_s: 90.0,
            latency_ms: 10.0,
            jitter: 0.5,
            at_once: 1,
            operation: 1 << 20,
        }
    }
}

impl DeviceParameters for CloudParameters {
    fn check(&self) -> Vec<ParameterProblem> {
        collect_problems([
            check_bounds("iops", self.iops, 0.001..=1e9),
            check_bounds("burst_iops", self.burst_iops, 0.001..=1e9),
            check_order(("iops", self.iops), ("burst_iops", self.burst_iops)),
            check_bounds("credits", self.credits, 0.0..=1e18),
            check_bounds("throughput_mib_s", self.throughput_mib_s, 0.001..=1e9),
            check_bounds("latency_ms", self.latency_ms, 0.0..=60_000.0),
            check_bounds("jitter", self.jitter, 0.0..=1.0),
            check_bounds("at_once", self.at_once.into(), 1.0..=65_536.0),
            check_bounds("operation", self.operation as f64, 512.0..=1e12),
        ])
    }

    fn build(&self, seed: u64) -> Box<dyn Device> {
        Box::new(TimedDevice::new(Cloud::new(self.clone(), seed)))
    }

    fn cache_bytes(&self) -> u64 {
        0
    }
}

/// An operation that the next sequential request may still join.
#[derive(Clone, Copy, Default)]
struct MergeableOperation {
    kind: Option<RequestKind>,
    stream: u32,
    end: u64,
    room: u64,
    until: Nanos,
}

struct Cloud {
    parameters: CloudParameters,
    seed: u64,
    rng: Xoshiro256PlusPlus,
    /// When each place in service is free.
    slots: Vec<f64>,
    bucket: CreditBucket,
    /// When the bytes asked for so far have passed the limit on bytes.
    bytes_free: f64,
    run: MergeableOperation,
}

/// I/O credits; moments and spans in nanoseconds.
struct CreditBucket {
    credits: f64,
    counted: f64,
    next: f64,
}

impl Cloud {
    fn new(parameters: CloudParameters, seed: u64) -> Self {
        Self {
            seed,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            slots: vec![0.0; parameters.at_once as usize],
            bucket: CreditBucket { credits: parameters.credits.max(1.0), counted: 0.0, next: 0.0 },
            bytes_free: 0.0,
            run: MergeableOperation::default(),
            parameters,
        }
    }

    fn count_operations(&mut self, now: Nanos, request: &DeviceRequest) -> u64 {
        let MergeableOperation { kind, stream, end, room, until } = self.run;
        let follows = (kind, stream, end) == (Some(request.kind), request.stream, request.offset);
        let room = if follows && now < until { room } else { 0 };
        let over = request.length.saturating_sub(room);
        let operations = over.div_ceil(self.parameters.operation);
        self.run = MergeableOperation {
            kind: Some(request.kind),
            stream: request.stream,
            end: request.offset.saturating_add(request.length),
            room: room.saturating_sub(request.length)
                + (operations * self.parameters.operation - over),
            until,
        };
        operations
    }

    /// When the last of some operations passes. Each spends a credit or waits for one, and keeps
    /// the burst rate's distance from the one before.
    fn spend_credits(&mut self, at: f64, operations: u64) -> f64 {
        let CloudParameters { iops, burst_iops, credits, .. } = self.parameters;
        let bucket = &mut self.bucket;
        let mut last = at;
        for _ in 0..operations {
            last = at.max(bucket.next);
            let earned = (last - bucket.counted) * iops / 1e9;
            bucket.credits = (bucket.credits + earned).min(credits.max(1.0));
            let missing = (1.0 - bucket.credits).max(0.0);
            last += missing * 1e9 / iops;
            bucket.credits += missing - 1.0;
            bucket.counted = last;
            bucket.next = last + 1e9 / burst_iops;
        }
        last
    }

    fn draw_latency(&mut self) -> f64 {
        let CloudParameters { latency_ms, jitter, .. } = self.parameters;
        // The sum of two uniform numbers: a triangle around the mean, without a far tail.
        let stray = self.rng.random::<f64>() + self.rng.random::<f64>() - 1.0;
        latency_ms * 1e6 * (1.0 + jitter * stray)
    }

    fn serve_request(&mut self, now: Nanos, request: &DeviceRequest) -> Nanos {
        let operations = self.count_operations(now, request);
        let passed = self.spend_credits(now as f64, operations);
        // A merged request is part of an operation whose latency is already paid.
        let latency = if operations > 0 { self.draw_latency() } else { 0.0 };
        let slots = self.slots.iter_mut();
        let slot = slots.min_by(|a, b| a.total_cmp(b)).expect("at least one place in service");
        let start = passed.max(*slot);
        let per_second = self.parameters.throughput_mib_s * f64::from(1 << 20);
        self.bytes_free = self.bytes_free.max(start) + request.length as f64 * 1e9 / per_second;
        *slot = self.bytes_free + latency;
        let done = (slot.round() as Nanos).max(now);
        self.run.until = done;
        done
    }
}

impl FinishTimes for Cloud {
    fn finish_time(&mut self, now: Nanos, request: &DeviceRequest) -> Nanos {
        match request.kind {
            RequestKind::Flush => now,
            _ => self.serve_request(now, request),
        }
    }

    fn fresh(&self) -> Self {
        Self::new(self.parameters.clone(), self.seed)
    }
}
