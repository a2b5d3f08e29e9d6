//! Synthetic documents: every figure follows from a formula, and none was measured.

pub mod all;
pub mod broken;
pub mod cut_off;
pub mod files;
pub mod noise;
pub mod over_time;
pub mod rate;
pub mod sweep;

use std::collections::BTreeMap;

use bakeoff_analysis::document::Verdict;
use bakeoff_analysis::{
    CellView, Comparison, Cpu, DebtView, Document, OpenLoopView, RatioIs, SCHEMA, SyncCount,
    SyncObserver, WorkCost,
};
use bakeoff_report::{Options, Reports};
use bakeoff_results::measure::*;
use bakeoff_results::{
    Applied, AppliedSetting, EngineFact, FigureOfMerit, Levels, Machine, OperationSummary, Run,
    RunState, Status, TrialSummary,
};

/// A report with all that is built in.
pub fn render(
    document: &Document,
    format: &str,
    options: &Options,
) -> bakeoff_report::Result<String> {
    Reports::standard().render(document, format, options)
}

/// What a synthetic run consists of.
pub struct Sample {
    /// The compared engines, the baseline first.
    pub engines: Vec<&'static str>,
    /// The other factors.
    pub factors: Vec<(&'static str, Vec<&'static str>)>,
    /// The operations.
    pub operations: Vec<&'static str>,
    /// How many blocks each cell has.
    pub blocks: u32,
    /// Mean seconds of an operation in a cell.
    pub mean: fn(&str, &Levels) -> f64,
    /// The half-width of every interval, as a share.
    pub half_width: f64,
}

impl Default for Sample {
    fn default() -> Self {
        Self {
            engines: vec!["sqlite", "lmdb"],
            factors: vec![("clients", vec!["1", "4"]), ("neighbours", vec!["0", "x2"])],
            operations: vec!["create_issue", "process_issues"],
            blocks: 5,
            mean: |_, levels| if levels["engine"] == "lmdb" { 0.005 } else { 0.010 },
            half_width: 0.1,
        }
    }
}

impl Sample {
    /// The document of the run.
    pub fn document(&self) -> Document {
        let settings = self.settings();
        let trials = self.trials(&settings);
        let cells = self.cells(&settings);
        let comparisons = self.comparisons(&settings);
        let between = self.between(&settings);
        let mut document = Document {
            schema: SCHEMA,
            run: RunState {
                run: self.run(trials.len()),
                status: Status::Finished,
                ended_s: Some(1_760_003_600.0),
            },
            trials,
            series: Vec::new(),
            cells,
            comparisons,
            between,
            noise: Vec::new(),
            limits: Vec::new(),
            sweep: None,
            machines: None,
            conditions: Vec::new(),
            canaries: Vec::new(),
            cuts: Vec::new(),
            promises: Vec::new(),
            other_cuts: Vec::new(),
            applications: Vec::new(),
            published: None,
            flush_turns: Vec::new(),
            unreached: Vec::new(),
            warnings: Vec::new(),
        };
        document.sweep = bakeoff_analysis::sweep(&document);
        document
    }

    fn settings(&self) -> Vec<Levels> {
        let mut settings = vec![BTreeMap::new()];
        for (factor, levels) in &self.factors {
            settings = settings
                .into_iter()
                .flat_map(|setting: Levels| {
                    levels.iter().map(move |level| with(&setting, factor, level))
                })
                .collect();
        }
        settings
    }

    fn trials(&self, settings: &[Levels]) -> Vec<TrialSummary> {
        let mut trials = Vec::new();
        for repetition in 0..self.blocks {
            for (number, setting) in settings.iter().enumerate() {
                for (order, engine) in self.engines.iter().enumerate() {
                    let levels = with(setting, "engine", engine);
                    // A ripple, so that sorting has something to sort.
                    let ripple = 1.0 + 0.03 * f64::from((repetition * 7 + order as u32) % 5);
                    let cell = self.cell(&levels, ripple);
                    trials.push(TrialSummary {
                        repetition,
                        block: repetition * settings.len() as u32 + number as u32,
                        attempt: 0,
                        order: order as u32,
                        levels,
                        started_s: 1_760_000_000.0 + 12.0 * trials.len() as f64,
                        ran_s: Some(10.0),
                        window_s: Some((1.0, 9.0)),
                        measures: measures(&cell),
                        operations: cell.operations,
                        warnings: Vec::new(),
                        valid: true,
                        reason: None,
                    });
                }
            }
        }
        trials
    }

    fn cells(&self, settings: &[Levels]) -> Vec<CellView> {
        settings
            .iter()
            .flat_map(|setting| self.engines.iter().map(move |e| with(setting, "engine", e)))
            .map(|levels| self.cell(&levels, 1.0))
            .collect()
    }

    fn cell(&self, levels: &Levels, ripple: f64) -> CellView {
        let clients: f64 = levels.get("clients").and_then(|c| c.parse().ok()).unwrap_or(1.0);
        let operations: Vec<OperationSummary> = self
            .operations
            .iter()
            .map(|name| figures(name, (self.mean)(name, levels) * ripple, clients))
            .collect();
        let busy = levels.get("neighbours").is_some_and(|level| level != "0");
        let engine = self.engines.iter().position(|e| *e == levels["engine"]).unwrap_or(0) as u64;
        CellView {
            levels: levels.clone(),
            trials: self.blocks,
            operations,
            total: None,
            space_bytes: Some(48_000_000 + engine * 21_000_000 + 1_500_000 * clients as u64),
            space: None,
            cpu_s: Cpu {
                client: 0.4,
                engine: 3.1 * ripple,
                engine_drain: Some(0.2),
                disk_daemon: Some(1.2),
                neighbours: None,
            },
            harness_share: Some(0.02),
            over_time: None,
            restart: None,
            steady: None,
            debt: Some(DebtView {
                drain_s: 2.0 + engine as f64,
                cut_off: u32::from(engine == 2),
                bytes: Some(3e6),
                cpu_s: Some(0.2),
                mean_s: Some(0.020),
                mean_with_debt_s: Some(0.025),
                fresh: Some(false),
            }),
            priced: None,
            neighbour_per_second: if busy { 1834.0 * ripple } else { 0.0 },
            open_loop: None,
            cost: Some(cost(engine, clients).into()),
            work: None,
            from_disk: None,
            to_disk: None,
            groups: Vec::new(),
            processes: Vec::new(),
            broken_promise: None,
            counters: BTreeMap::from([("pages".to_owned(), 12 * u64::from(self.blocks))]),
        }
    }

    /// Each engine is opened with a cache that follows the memory, a level of syncing that follows
    /// the durability, and one setting of the user's own.
    fn applied(&self) -> Vec<Applied> {
        let levels = |factor: &str, default: &'static str| {
            let known = self.factors.iter().find(|(name, _)| *name == factor);
            known.map_or(vec![default], |(_, levels)| levels.clone())
        };
        let setting = |name: &str, value: &str, reason: Option<&str>| AppliedSetting {
            name: name.into(),
            value: value.into(),
            reason: reason.map(Into::into),
        };
        let mut all = Vec::new();
        for engine in &self.engines {
            for durability in levels("durability", "strict") {
                for memory in levels("memory", "unlimited") {
                    all.push(Applied {
                        engine: (*engine).into(),
                        durability: durability.into(),
                        memory: memory.into(),
                        options: Levels::new(),
                        settings: vec![
                            setting("cache_size", memory, Some("its share of the memory")),
                            setting("synchronous", durability, Some("gives the durability")),
                            setting("page_size", "8192", None),
                        ],
                    });
                }
            }
        }
        all
    }

    fn comparisons(&self, settings: &[Levels]) -> Vec<Comparison> {
        let mut all = Vec::new();
        for operation in &self.operations {
            for setting in settings {
                for level in &self.engines[1..] {
                    let mean = |engine| (self.mean)(operation, &with(setting, "engine", engine));
                    let ratio = mean(level) / mean(self.engines[0]);
                    all.push(self.comparison(operation, setting, [self.engines[0], level], ratio));
                }
            }
        }
        all
    }

    /// The engines but the first and the harness against each other.
    fn between(&self, settings: &[Levels]) -> Vec<Comparison> {
        let others: Vec<&str> =
            self.engines[1..].iter().copied().filter(|engine| *engine != "null").collect();
        let mut all = Vec::new();
        for operation in &self.operations {
            for setting in settings {
                let mean = |engine| (self.mean)(operation, &with(setting, "engine", engine));
                for (at, one) in others.iter().enumerate() {
                    for other in &others[at + 1..] {
                        let ratio = mean(other) / mean(one);
                        all.push(self.comparison(operation, setting, [one, other], ratio));
                    }
                }
            }
        }
        all
    }

    fn comparison(
        &self,
        operation: &str,
        levels: &Levels,
        [baseline, level]: [&str; 2],
        ratio: f64,
    ) -> Comparison {
        let interval = (self.blocks > 1)
            .then_some((ratio / (1.0 + self.half_width), ratio * (1.0 + self.half_width)));
        let verdict = match interval {
            Some((low, _)) if low > 1.05 => Verdict::Slower,
            Some((_, high)) if high < 1.0 / 1.05 => Verdict::Faster,
            Some((low, high)) if low >= 1.0 / 1.05 && high <= 1.05 => Verdict::Same,
            _ => Verdict::Undecided,
        };
        Comparison {
            operation: operation.into(),
            metric: "mean_s".into(),
            factor: "engine".into(),
            levels: levels.clone(),
            baseline: baseline.into(),
            level: level.into(),
            ratio: Some(ratio),
            ratio_is: Some(RatioIs::Exact),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            blocks: self.blocks,
            fewest_operations: Some(1600),
            p_adjusted: interval.map(|_| 0.01),
            adjusted_over: if interval.is_some() { 8 } else { 0 },
            fresh: Vec::new(),
            engine_only_ratio: None,
            noise_floor: None,
            with_warm_up: None,
            with_set_aside: None,
            verdict,
        }
    }

    fn run(&self, planned: usize) -> Run {
        let engines = self.engines.iter().map(|e| (*e).to_owned()).collect();
        let mut factors = vec![("engine".to_owned(), engines)];
        for (factor, levels) in &self.factors {
            let levels = levels.iter().map(|level| (*level).to_owned()).collect();
            factors.push(((*factor).into(), levels));
        }
        Run {
            name: "redmine".into(),
            title: "Which embedded engine serves an issue tracker best? (synthetic sample)".into(),
            workload: "redmine".into(),
            operations: self.operations.iter().map(|name| (*name).into()).collect(),
            figure_of_merit: FigureOfMerit::Time,
            compare: "engine".into(),
            baseline: self.engines[0].into(),
            factors,
            seconds: 10.0,
            operations_each: None,
            repetitions: self.blocks,
            seed: 42,
            planned: planned as u32,
            command: "bakeoff run redmine --engine sqlite,lmdb --clients 1,4 --seed 42".into(),
            version: "0.1.0 (0123abcde)".into(),
            program_sha256: Some("0123456789abcdef".repeat(4)),
            takeovers: Vec::new(),
            started_s: 1_760_000_000.0,
            machine: machine(),
            engines: self.engines.iter().map(|engine| settings_of(engine)).collect(),
            harness_s: 5e-8,
            debug_build: false,
            load: None,
            disks: Vec::new(),
            neighbour_alone_per_second: Some(7336.0),
            text: "generated from seed 42".into(),
            estimated_s: None,
            planner: None,
            left_out: Vec::new(),
            sequential: None,
            answers: Vec::new(),
            published: None,
            limit: None,
            shard: None,
            merged: None,
            applied: self.applied(),
            cuts: None,
        }
    }
}

/// Turns an engine's trials into failures, as if none of them had measured anything.
pub fn fail(document: &mut Document, engine: &str, reason: &str) {
    for trial in document.trials.iter_mut().filter(|t| t.levels["engine"] == engine) {
        trial.operations.clear();
        (trial.ran_s, trial.window_s, trial.measures) = (None, None, Measures::default());
        (trial.valid, trial.reason) = (false, Some(reason.into()));
    }
    document.cells.retain(|cell| cell.levels["engine"] != engine);
    for comparison in document.comparisons.iter_mut().chain(&mut document.between) {
        if comparison.level == engine || comparison.baseline == engine {
            (comparison.ratio, comparison.low, comparison.high) = (None, None, None);
            (comparison.blocks, comparison.verdict) = (0, Verdict::Undecided);
        }
    }
}

fn with(setting: &Levels, factor: &str, level: &str) -> Levels {
    let mut levels = setting.clone();
    levels.insert(factor.into(), level.into());
    levels
}

fn figures(name: &str, mean: f64, clients: f64) -> OperationSummary {
    let count = (8.0 * clients / mean) as u64;
    let backed = |q: f64, value: f64| (count as f64 * (1.0 - q) >= 10.0).then_some(value);
    OperationSummary {
        name: name.into(),
        count,
        unfinished: 0,
        mean_s: Some(mean),
        p50_s: backed(0.5, mean * 0.9),
        p95_s: backed(0.95, mean * 2.1),
        p99_s: backed(0.99, mean * 4.0),
        p999_s: backed(0.999, mean * 9.0),
        max_s: Some(mean * 21.0),
        service_mean_s: None,
        service_p99_s: None,
        untrimmed_mean_s: Some(mean * 1.02),
        per_second: clients / mean,
        errors: 0,
        retries: 3,
    }
}

fn cost(engine: u64, clients: f64) -> WorkCost {
    WorkCost {
        operations: 8000,
        commits: Some(2000),
        application_bytes: Some(1_000_000),
        device_bytes: Some(4_500_000 + 2_000_000 * engine),
        engine_cpu_s: Some(3.1),
        syncs: Some(SyncCount {
            counted_by: SyncObserver::Disk,
            count: (2100.0 / clients) as u64 + 40 * engine,
        }),
    }
}

/// What a trial measured besides latencies, so that it comes to what its cell says.
fn measures(cell: &CellView) -> Measures {
    let mut measures = Measures::default();
    let cost = cell.cost.expect("a cost").sums;
    let space = cell.space_bytes.map(|bytes| bytes as f64);
    measures.set_some(&SPACE, Scope::Trial, space);
    for (measure, value) in [(&RISE, 0.01), (&RISE_ERROR, 0.01), (&RISE_SECONDS, 20.0)] {
        measures.set(measure, Scope::Trial, value);
    }
    measures.set(&CPU, Scope::Clients, cell.cpu_s.client);
    measures.set(&CPU, Scope::DATABASE, cell.cpu_s.engine);
    measures.set(&RATE, Scope::Neighbours, cell.neighbour_per_second);
    measures.set(&MEAN_LATENCY, Scope::Neighbours, 0.0011);
    for (measure, scope, sum) in [
        (&OPERATIONS, Scope::Clients, Some(cost.operations)),
        (&COMMITS, Scope::Clients, cost.commits),
        (&PAYLOAD, Scope::Clients, cost.application_bytes),
        (&WORK_WRITTEN, Scope::Trial, cost.device_bytes),
        (&SYNCS, Scope::Disk, cost.syncs.map(|syncs| syncs.count)),
    ] {
        measures.set_some(measure, scope, sum.map(|sum| sum as f64));
    }
    measures.count("pages", 12);
    measures
}

/// Makes every trial one in an open loop: service takes half of the response time, and the level
/// that is named is offered 1.3 times of what it gets done.
pub fn open(document: &mut Document, behind: &str) {
    let serve = |operation: &mut OperationSummary| {
        operation.service_mean_s = operation.mean_s.map(|mean| mean / 2.0);
        operation.service_p99_s = operation.p99_s.map(|p99| p99 / 2.0);
    };
    let mut started = Vec::new();
    for trial in &mut document.trials {
        let cell = document.cells.iter().find(|cell| cell.levels == trial.levels);
        let operations = &cell.expect("no cell is missing").operations;
        let done: f64 = operations.iter().map(|operation| operation.per_second).sum();
        let (offered, not_started) = match trial.levels.values().any(|level| level == behind) {
            true => (1.3 * done, (0.3 * done * 10.0).round()),
            false => (done, 2.0),
        };
        for (measure, value) in [
            (&OFFERED, offered),
            (&NOT_STARTED, not_started),
            (&BACKLOG, not_started + 8.0),
            (&START_DELAY_P99, not_started / offered),
        ] {
            trial.measures.set(measure, Scope::Clients, value);
        }
        trial.operations.iter_mut().for_each(serve);
        started.extend(OpenLoopView::from_trial(trial).map(|open| (trial.levels.clone(), open)));
    }
    for cell in &mut document.cells {
        let mut own = started.iter().filter(|(levels, _)| *levels == cell.levels);
        cell.open_loop = own.next().map(|(_, open)| *open);
        cell.operations.iter_mut().for_each(serve);
    }
}

fn machine() -> Machine {
    Machine {
        system: "Synthetic Linux 1".into(),
        kernel: "6.1.0".into(),
        processor: "Imaginary Processor 9000 @ 3.00GHz".into(),
        processors: 2,
        memory_bytes: 8_350_000_000,
        file_system: "ext4".into(),
        device: "vda, virtual".into(),
        kernel_version: Some("#1 SMP Synthetic 6.1.0-1".into()),
        governor: Some("performance".into()),
        smt: Some(false),
        huge_pages: Some("madvise".into()),
        mount_options: Some("rw,relatime,errors=remount-ro".into()),
        hardware: None,
        virtualisation: Some("hypervisor".into()),
    }
}

fn settings_of(engine: &str) -> EngineFact {
    let settings = [
        ("none", "synchronous = OFF"),
        ("relaxed", "journal_mode = WAL, synchronous = NORMAL"),
        ("strict", "journal_mode = WAL, synchronous = FULL"),
    ];
    EngineFact {
        name: engine.into(),
        version: "1.2.3".into(),
        settings: settings.iter().map(|(d, s)| ((*d).into(), (*s).into())).collect(),
        stores: engine != "null",
        transport: None,
        password_in_url: false,
    }
}
