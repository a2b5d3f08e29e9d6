use bakeoff_results::measure::*;
use bakeoff_results::{
    AnswerDifference, Answers, Applied, AppliedSetting, CutPlan, Debts, EngineFact, FigureOfMerit,
    FileSystem, Levels, Machine, OperationRecord, OwedSeries, PaymentSeries, PromiseFactors, Run,
    SlotRecord, Trial, TrialMeasurements, histogram,
};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// The levels of the compared factor, and how slow each is made: the last one is the first again.
pub const ENGINES: [(&str, f64); 4] =
    [("alpha", 1.0), ("beta", 2.0), ("gamma", 0.5), ("alpha@again", 1.0)];

/// The operations, and their mean latency in seconds on an engine of slowness 1.
const KINDS: [(&str, f64); 2] = [("create_issue", 0.004), ("process_issues", 0.010)];

/// Seconds that a trial's clients run, which is also its number of slots.
const SECONDS: u32 = 20;

/// Why recording can't fail.
const GROWS: &str = "a histogram that grows takes any value";

/// Seconds dropped at either end of a trial.
const DROPPED: u32 = 2;

/// A run over all engines and `clients` and `neighbours` levels.
pub fn run(clients: &[&str], neighbours: &[&str], planned: u32) -> Run {
    let names = |levels: &[&str]| levels.iter().map(|&level| level.to_owned()).collect();
    Run {
        name: "synthetic".to_owned(),
        title: "Synthetic test data: no engine was run".to_owned(),
        workload: "none".to_owned(),
        operations: names(&KINDS.map(|(name, _)| name)),
        figure_of_merit: FigureOfMerit::Time,
        compare: "engine".to_owned(),
        baseline: "alpha".to_owned(),
        factors: vec![
            ("engine".to_owned(), names(&ENGINES.map(|(name, _)| name))),
            ("durability".to_owned(), names(&["strict"])),
            ("clients".to_owned(), names(clients)),
            ("neighbours".to_owned(), names(neighbours)),
        ],
        seconds: f64::from(SECONDS),
        operations_each: Some(100),
        repetitions: planned / (ENGINES.len() * clients.len() * neighbours.len()) as u32,
        images: 1,
        seed: 1,
        planned,
        command: "none: synthetic test data".to_owned(),
        version: "0.0.0".to_owned(),
        program_sha256: None,
        takeovers: Vec::new(),
        started_s: 1.7e9,
        machine: Machine { system: "synthetic".to_owned(), processors: 2, ..Machine::default() },
        engines: vec![EngineFact {
            name: "alpha".to_owned(),
            version: "0".to_owned(),
            settings: vec![("strict".to_owned(), "sync = always".to_owned())],
            stores: true,
            transport: None,
            password_in_url: false,
        }],
        harness_s: 5e-8,
        debug_build: false,
        load: None,
        disks: Vec::new(),
        neighbour_alone_per_second: Some(800.0),
        text: "none".to_owned(),
        cuts: Some(CutPlan {
            planned: 2,
            promise: PromiseFactors::default(),
            disk: "ssd-sata".into(),
            clients: 4,
            file_systems: vec![FileSystem::Ext4],
            every: false,
            command: "bakeoff run power-cut".into(),
        }),
        estimated_s: Some(120.0),
        planner: Some("fixed".into()),
        left_out: Vec::new(),
        sequential: None,
        answers: vec![Answers {
            image: "synthetic delta".to_owned(),
            engine: "delta".to_owned(),
            levels: [("engine".to_owned(), "delta".to_owned())].into(),
            work: "synthetic".to_owned(),
            operations: 19,
            statements: 5_228,
            digest: Some("1687f731276d18a9".to_owned()),
            failed: None,
            difference: Some(AnswerDifference {
                other: "epsilon".to_owned(),
                number: 1,
                operation: "create_issue".to_owned(),
                statement: "issue by id".to_owned(),
                answer: "1 rows: (1)".to_owned(),
                other_answer: "0 rows:".to_owned(),
            }),
        }],
        published: None,
        limit: None,
        shard: None,
        merged: None,
        applied: vec![Applied {
            engine: "alpha".to_owned(),
            durability: "strict".to_owned(),
            memory: "unlimited".to_owned(),
            options: Levels::new(),
            settings: vec![AppliedSetting {
                name: "cache".to_owned(),
                value: "256M".to_owned(),
                reason: Some("its share of the memory".to_owned()),
            }],
        }],
    }
}

/// What an engine's image answered to some work; without a digest its process was killed.
pub fn answers(engine: &str, work: &str, digest: Option<&str>) -> Answers {
    Answers {
        image: format!("{work} {engine}"),
        engine: engine.to_owned(),
        levels: [("engine".to_owned(), engine.to_owned())].into(),
        work: work.to_owned(),
        operations: 20,
        statements: 5_000,
        digest: digest.map(str::to_owned),
        failed: digest.is_none().then(|| "its process was killed by signal 9".to_owned()),
        difference: None,
    }
}

/// Makes trials, the same for the same seed.
pub struct TrialGenerator {
    random: Xoshiro256PlusPlus,
    per_slot: u32,
}

impl TrialGenerator {
    /// Each slot gets `per_slot` operations of each kind.
    pub fn new(seed: u64, per_slot: u32) -> Self {
        Self { random: Xoshiro256PlusPlus::seed_from_u64(seed), per_slot }
    }

    pub fn generate_block(&mut self, repetition: u32, block: u32, cell: [&str; 2]) -> Vec<Trial> {
        let common = self.draw_spread(0.05);
        let trial = |(order, (engine, slowness)): (usize, (&str, f64))| {
            let levels = [("engine", engine), ("durability", "strict")].into_iter();
            let levels: Levels = levels
                .chain([("clients", cell[0]), ("neighbours", cell[1])])
                .map(|(factor, level)| (factor.to_owned(), level.to_owned()))
                .collect();
            let slowness = slowness * common * self.draw_spread(0.01);
            Trial {
                repetition,
                block,
                attempt: 0,
                order: order as u32,
                levels,
                started_s: 1.7e9 + f64::from(block),
                valid: true,
                reason: None,
                measured: Some(self.generate_measurements(slowness)),
            }
        };
        ENGINES.into_iter().enumerate().map(trial).collect()
    }

    fn generate_measurements(&mut self, slowness: f64) -> TrialMeasurements {
        TrialMeasurements {
            ran_s: f64::from(SECONDS),
            window_s: (f64::from(DROPPED), f64::from(SECONDS - DROPPED)),
            operations: KINDS
                .map(|(name, mean_s)| self.generate_operation(name, mean_s * slowness))
                .into(),
            measures: sample_measures(),
            debts: sample_debts(slowness),
            warnings: Vec::new(),
        }
    }

    fn generate_operation(&mut self, name: &str, mean_s: f64) -> OperationRecord {
        let mut kept = histogram::new_histogram();
        let slots = (0..SECONDS).map(|second| {
            let mut histogram = histogram::new_histogram();
            for _ in 0..self.per_slot {
                let nanoseconds = (mean_s * self.draw_spread(0.3) * 1e9) as u64;
                histogram.record(nanoseconds).expect(GROWS);
                if (DROPPED..SECONDS - DROPPED).contains(&second) {
                    kept.record(nanoseconds).expect(GROWS);
                }
            }
            SlotRecord { start_s: f64::from(second), end_s: f64::from(second + 1), histogram }
        });
        let slots = slots.collect();
        let per_second = kept.len() as f64 / f64::from(SECONDS - 2 * DROPPED);
        OperationRecord {
            name: name.to_owned(),
            kept,
            unfinished: 0,
            per_second,
            service: None,
            slots,
            errors: 0,
            retries: 3,
        }
    }

    /// Around 1, log-normal but for the far tails: twelve uniform numbers are as good as normal.
    fn draw_spread(&mut self, sigma: f64) -> f64 {
        let normal = (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0;
        (sigma * normal).exp()
    }
}

/// A log that fills at the clients' speed until a checkpoint empties it, and rows that are never
/// vacuumed.
fn sample_debts(slowness: f64) -> Debts {
    const LIMIT: u64 = 8_000_000;
    let (mut log, mut logs, mut checkpoints) = (0, Vec::new(), Vec::new());
    for second in 1..=SECONDS {
        let at_s = f64::from(second) - 0.25;
        log += (1_200_000.0 / slowness) as u64;
        if log > LIMIT {
            checkpoints.push((at_s, log / LIMIT));
            log %= LIMIT;
        }
        logs.push((at_s, log));
    }
    let rows = (1..=SECONDS).map(|second| (f64::from(second), u64::from(second) * 40)).collect();
    let owed = |name: &str, unit: &str, limit, points| OwedSeries {
        name: name.to_owned(),
        unit: unit.to_owned(),
        limit,
        points,
    };
    Debts {
        owed: vec![
            owed("log since the checkpoint", "bytes", Some(LIMIT), logs),
            owed("dead rows", "rows", None, rows),
        ],
        payments: vec![PaymentSeries { name: "checkpoint".to_owned(), ended: checkpoints }],
    }
}

fn sample_measures() -> Measures {
    let mut measures = Measures::default();
    for (measure, scope, value) in [
        (&SPACE, Scope::Trial, 50e6),
        (&WORK_WRITTEN, Scope::Trial, f64::from(1 << 30)),
        (&OPERATIONS, Scope::Clients, 400.0),
        (&COMMITS, Scope::Clients, 10e3),
        (&PAYLOAD, Scope::Clients, f64::from(1 << 29)),
        (&CPU, Scope::Clients, 1.5),
        (&CPU, Scope::DATABASE, 9.25),
        (&WRITTEN, Scope::DATABASE, f64::from(1 << 30)),
        (&WRITTEN, Scope::Device, f64::from(3 << 29)),
        (&RATE, Scope::Neighbours, 700.0),
        (&MEAN_LATENCY, Scope::Neighbours, 0.001),
        (&HOST_WRITES, Scope::Disk, 900.0),
        (&WRITES, Scope::Disk, 500.0),
        (&DRAIN_WRITTEN, Scope::Disk, f64::from(1 << 20)),
        (&SYNCS, Scope::Disk, 12e3),
        (&MODELLED_LATENCY, Scope::Disk, 0.0125),
        (&ACHIEVED_LATENCY, Scope::Disk, 0.0126),
        (&MEMORY_LIMIT, Scope::DATABASE, f64::from(1 << 29)),
        (&MEMORY_PEAK, Scope::DATABASE, f64::from(1 << 29)),
        (&MEMORY_CACHED, Scope::DATABASE, f64::from(1 << 28)),
    ] {
        measures.set(measure, scope, value);
    }
    measures.set_counter("commits", 12_345);
    measures
}
