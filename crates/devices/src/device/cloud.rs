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

use super::agenda::Agenda;
use super::model::{self, DeviceModel};
use super::{
    Completion, Device, DeviceRequest, Nanos, ParameterProblem, RequestKind, ordered, within,
    wrongs,
};

/// The previous generation's magnetic volume.
pub(crate) const MAGNETIC: DeviceModel = DeviceModel::new(
    "ebs-magnetic",
    "magnetic cloud volume: about 100 operations a second",
    || Box::new(CloudParameters::magnetic()),
);
/// General purpose volumes, whose rate comes with their size.
pub(crate) const GP2: DeviceModel = DeviceModel::of_size(
    "ebs-gp2",
    "cloud volume, 3 operations a GiB and second, with a burst bucket",
    1..=16 << 10,
    |gib| Box::new(CloudParameters::gp2(gib as f64)),
);
/// The general purpose volume whose rate does not depend on its size.
pub(crate) const GP3: DeviceModel =
    DeviceModel::new("ebs-gp3", "cloud volume, 3,000 operations a second and 125 MiB/s", || {
        Box::new(CloudParameters::gp3())
    });

/// What a cloud volume is like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CloudParameters {
    /// I/O operations a second that it always serves, and I/O credits it earns a second.
    pub iops: f64,
    /// Operations a second while there are credits.
    pub burst_iops: f64,
    /// I/O credits at the start, and the most it can save.
    pub credits: f64,
    /// MiB/s.
    pub throughput_mib_s: f64,
    /// Milliseconds that an operation takes on its own, before its bytes.
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
    /// The general purpose volume gp2 of so many GiB.
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

    /// The general purpose volume gp3 as it comes.
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

    /// The previous generation's magnetic volume: one operation at a time, 10 ms each. One may be
    /// 1 MiB, as on the provider's other magnetic volumes. Its burst "to hundreds" is no bucket:
    /// operations that happen to be quick.
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

impl model::DeviceParameters for CloudParameters {
    fn check(&self) -> Vec<ParameterProblem> {
        wrongs([
            within("iops", self.iops, 0.001..=1e9),
            within("burst_iops", self.burst_iops, 0.001..=1e9),
            ordered(("iops", self.iops), ("burst_iops", self.burst_iops)),
            within("credits", self.credits, 0.0..=1e18),
            within("throughput_mib_s", self.throughput_mib_s, 0.001..=1e9),
            within("latency_ms", self.latency_ms, 0.0..=60_000.0),
            within("jitter", self.jitter, 0.0..=1.0),
            within("at_once", self.at_once.into(), 1.0..=65_536.0),
            within("operation", self.operation as f64, 512.0..=1e12),
        ])
    }

    fn build(&self, seed: u64) -> Box<dyn Device> {
        Box::new(Cloud::new(self.clone(), seed))
    }

    fn cache(&self) -> u64 {
        // A volume keeps what it acknowledged.
        0
    }
}

/// The operation that a request which goes on from the last one may still join.
#[derive(Clone, Copy, Default)]
struct MergeableOperation {
    kind: Option<RequestKind>,
    stream: u32,
    end: u64,
    /// Bytes that still fit into it.
    room: u64,
    /// When the last request in it is done: what comes later is not merged.
    until: Nanos,
}

/// A cloud volume.
pub struct Cloud {
    parameters: CloudParameters,
    seed: u64,
    rng: Xoshiro256PlusPlus,
    agenda: Agenda,
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
    /// A volume whose bucket is full.
    pub fn new(parameters: CloudParameters, seed: u64) -> Self {
        Self {
            seed,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            agenda: Agenda::default(),
            slots: vec![0.0; parameters.at_once as usize],
            bucket: CreditBucket { credits: parameters.credits.max(1.0), counted: 0.0, next: 0.0 },
            bytes_free: 0.0,
            run: MergeableOperation::default(),
            parameters,
        }
    }

    /// Operations that a request adds: none if it fits into one that is in flight.
    fn operations(&mut self, now: Nanos, request: &DeviceRequest) -> u64 {
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

    /// When the last of some operations is let through: each spends a credit, waits for one if
    /// there is none, and keeps the burst rate's distance from the one before.
    fn pass(&mut self, at: f64, operations: u64) -> f64 {
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

    fn latency(&mut self) -> f64 {
        let CloudParameters { latency_ms, jitter, .. } = self.parameters;
        // The sum of two uniform numbers: a triangle around the mean, without a far tail.
        let stray = self.rng.random::<f64>() + self.rng.random::<f64>() - 1.0;
        latency_ms * 1e6 * (1.0 + jitter * stray)
    }

    /// When a read or write that comes now is done.
    fn serve(&mut self, now: Nanos, request: &DeviceRequest) -> Nanos {
        let operations = self.operations(now, request);
        let passed = self.pass(now as f64, operations);
        // A request that was merged is part of an operation whose latency is already paid.
        let latency = if operations > 0 { self.latency() } else { 0.0 };
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

impl Device for Cloud {
    fn set_span(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest) {
        self.agenda.enter(now);
        let at = match request.kind {
            // What was acknowledged is durable: the volume has no cache to flush.
            RequestKind::Flush => now,
            RequestKind::Read | RequestKind::Write => self.serve(now, &request),
        };
        self.agenda.end(at, Some(id));
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.agenda.next()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.agenda.settle(now);
        self.agenda.take(done);
    }

    fn busy(&self) -> Nanos {
        self.agenda.busy()
    }

    fn unused(&self) -> Box<dyn Device> {
        Box::new(Self::new(self.parameters.clone(), self.seed))
    }
}
