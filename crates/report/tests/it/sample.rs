//! Synthetic documents: every figure follows from a formula, and none was measured.

pub mod broken;
pub mod conditions;
pub mod cut_off;
pub mod limits;
pub mod machines;
pub mod over_time;
pub mod rate;
pub mod sweep;

use std::collections::BTreeMap;

use bakeoff_analysis::document::Verdict;
use bakeoff_analysis::{
    CellView, Comparison, Document, OpenLoopView, SCHEMA, SyncCount, SyncObserver, WorkCost,
};
use bakeoff_results::measure::*;
use bakeoff_results::{Levels, OperationSummary, TrialSummary};
use serde_json::{Value, json};

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
        let first = self.engines[0];
        let with_first: Vec<_> = self.engines[1..].iter().map(|&level| [first, level]).collect();
        // The engines but the first and the harness against each other.
        let others = self.engines.iter().skip(1).filter(|&&engine| engine != "null");
        let later = |(at, &one)| others.clone().skip(at + 1).map(move |&other| [one, other]);
        let pairs: Vec<[&str; 2]> = others.clone().enumerate().flat_map(later).collect();
        let comparisons = self.compare(&settings, &with_first);
        let between = self.compare(&settings, &pairs);
        let mut document: Document = read(json!({
            "schema": SCHEMA, "run": self.run(trials.len()), "trials": [], "cells": [], "comparisons": [],
            "warnings": [], "tails": [], "noise": [], "canaries": [],
        }));
        document.trials = trials;
        (document.cells, document.comparisons, document.between) = (cells, comparisons, between);
        document.sweep = bakeoff_analysis::build_sweep(&document);
        document
    }

    fn settings(&self) -> Vec<Levels> {
        self.factors.iter().fold(vec![BTreeMap::new()], |settings, (factor, levels)| {
            let all = |setting: &Levels| {
                levels.iter().map(|it| at_level(setting, factor, it)).collect::<Vec<_>>()
            };
            settings.iter().flat_map(all).collect()
        })
    }

    fn trials(&self, settings: &[Levels]) -> Vec<TrialSummary> {
        let mut trials = Vec::new();
        for repetition in 0..self.blocks {
            for (number, setting) in settings.iter().enumerate() {
                for (order, engine) in self.engines.iter().enumerate() {
                    let levels = at_level(setting, "engine", engine);
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
            .flat_map(|setting| self.engines.iter().map(move |e| at_level(setting, "engine", e)))
            .map(|levels| self.cell(&levels, 1.0))
            .collect()
    }

    fn cell(&self, levels: &Levels, ripple: f64) -> CellView {
        let clients: f64 = levels.get("clients").and_then(|c| c.parse().ok()).unwrap_or(1.0);
        let operations = self.operations.iter();
        let operations =
            operations.map(|name| figures(name, (self.mean)(name, levels) * ripple, clients));
        let busy = levels.get("neighbours").is_some_and(|level| level != "0");
        let engine = self.engines.iter().position(|e| *e == levels["engine"]).unwrap_or(0) as u64;
        CellView {
            operations: operations.collect(),
            cost: Some(cost(engine, clients).into()),
            ..read(json!({
                "levels": levels, "trials": self.blocks, "operations": [], "cost": null, "open_loop": null,
                "space_bytes": 48_000_000 + engine * 21_000_000 + 1_500_000 * clients as u64,
                "cpu_s": {
                    "client": 0.4, "engine": 3.1 * ripple, "engine_drain": 0.2, "disk_daemon": 1.2, "neighbours": null,
                },
                "harness_share": 0.02,
                "debt": {
                    "drain_s": 2.0 + engine as f64, "cut_off": u32::from(engine == 2), "bytes": 3e6, "cpu_s": 0.2,
                    "mean_s": 0.020, "mean_with_debt_s": 0.025, "fresh": false,
                },
                "neighbour_per_second": if busy { 1834.0 * ripple } else { 0.0 },
                "counters": { "pages": 12 * self.blocks },
            }))
        }
    }

    /// Each engine is opened with a cache that follows the memory, a level of syncing that follows
    /// the durability, and one setting of the user's own.
    fn applied(&self) -> Vec<Value> {
        let levels = |factor: &str, default: &'static str| {
            let known = self.factors.iter().find(|(name, _)| *name == factor);
            known.map_or(vec![default], |(_, levels)| levels.clone())
        };
        let mut all = Vec::new();
        for engine in &self.engines {
            for durability in levels("durability", "strict") {
                for memory in levels("memory", "unlimited") {
                    let settings = json!([
                        { "name": "cache_size", "value": memory, "reason": "its share of the memory" },
                        { "name": "synchronous", "value": durability, "reason": "gives the durability" },
                        { "name": "page_size", "value": "8192", "reason": null },
                    ]);
                    all.push(json!({
                        "engine": engine, "durability": durability, "memory": memory, "settings": settings,
                    }));
                }
            }
        }
        all
    }

    /// Levels against each other: the baseline, and the other.
    fn compare(&self, settings: &[Levels], pairs: &[[&str; 2]]) -> Vec<Comparison> {
        let mut all = Vec::new();
        for operation in &self.operations {
            for setting in settings {
                let mean = |engine| (self.mean)(operation, &at_level(setting, "engine", engine));
                all.extend(pairs.iter().map(|&[one, other]| {
                    self.comparison(operation, setting, [one, other], mean(other) / mean(one))
                }));
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
            verdict,
            ..read(json!({
                "operation": operation, "metric": "mean_s", "factor": "engine", "levels": levels,
                "baseline": baseline, "level": level, "ratio": ratio, "ratio_is": "exact",
                "low": interval.map(|(low, _)| low), "high": interval.map(|(_, high)| high),
                "blocks": self.blocks, "fewest_operations": 1600, "p_adjusted": interval.map(|_| 0.01),
                "adjusted_over": if interval.is_some() { 8 } else { 0 }, "verdict": "undecided",
            }))
        }
    }

    fn run(&self, planned: usize) -> Value {
        let mut factors = vec![("engine", self.engines.clone())];
        factors.extend(self.factors.iter().cloned());
        let engine = |engine: &&str| {
            json!({
                "name": engine, "version": "1.2.3", "stores": *engine != "null",
                "settings": [
                    ["none", "synchronous = OFF"],
                    ["relaxed", "journal_mode = WAL, synchronous = NORMAL"],
                    ["strict", "journal_mode = WAL, synchronous = FULL"],
                ],
            })
        };
        json!({
            "name": "redmine",
            "title": "Which embedded engine serves an issue tracker best? (synthetic sample)",
            "workload": "redmine", "operations": self.operations, "compare": "engine",
            "baseline": self.engines[0], "factors": factors, "seconds": 10.0, "repetitions": self.blocks,
            "seed": 42, "planned": planned, "status": "finished",
            "command": "bakeoff run redmine --engine sqlite,lmdb --clients 1,4 --seed 42",
            "version": "0.1.0 (0123abcde)", "program_sha256": "0123456789abcdef".repeat(4),
            "started_s": 1_760_000_000.0, "ended_s": 1_760_003_600.0,
            "machine": {
                "system": "Synthetic Linux 1", "kernel": "6.1.0", "processors": 2, "memory_bytes": 8_350_000_000_u64,
                "processor": "Imaginary Processor 9000 @ 3.00GHz", "file_system": "ext4",
                "device": "vda, virtual", "kernel_version": "#1 SMP Synthetic 6.1.0-1",
                "governor": "performance", "smt": false, "huge_pages": "madvise",
                "mount_options": "rw,relatime,errors=remount-ro", "virtualisation": "hypervisor",
            },
            "engines": self.engines.iter().map(engine).collect::<Vec<_>>(), "harness_s": 5e-8,
            "neighbour_alone_per_second": 7336.0, "text": "generated from seed 42", "applied": self.applied(),
        })
    }
}

/// What JSON says, in which anything is left out that an earlier version did not write.
pub fn read<T: serde::de::DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).expect("a part of a document")
}

/// One operation, no factor but the engine: lmdb takes half of sqlite's time.
pub fn single() -> Sample {
    Sample { factors: vec![], operations: vec!["create_issue"], ..Sample::default() }
}

/// Three engines, the second the fastest.
pub fn three() -> Sample {
    Sample {
        engines: vec!["sqlite", "lmdb", "fjall"],
        mean: |_, levels| match levels["engine"].as_str() {
            "lmdb" => 0.005,
            "fjall" => 0.012,
            _ => 0.010,
        },
        ..Sample::default()
    }
}

/// sqlite is 1.4 times as fast with every commit kept, lmdb twice where the last second may be lost.
pub fn promises() -> Sample {
    Sample {
        factors: vec![("durability", vec!["strict", "relaxed"])],
        operations: vec!["create_issue"],
        mean: |_, levels| match (levels["engine"].as_str(), levels["durability"].as_str()) {
            ("sqlite", "strict") => 0.010,
            ("sqlite", _) => 0.0075,
            (_, "strict") => 0.014,
            _ => 0.004,
        },
        ..Sample::default()
    }
}

/// Figures of the order that embedded engines show.
pub fn plausible() -> Sample {
    Sample {
        engines: vec!["sqlite", "lmdb", "fjall"],
        blocks: 2,
        half_width: 0.08,
        mean: |operation, levels| {
            let number = |factor: &str| -> f64 {
                levels
                    .get(factor)
                    .map_or(0.0, |it| it.trim_matches(['x', '%']).parse().expect("a number"))
            };
            let engine = match levels["engine"].as_str() {
                "sqlite" => 1.0,
                "lmdb" => 0.48,
                "null" => 0.0002,
                _ => 0.86,
            };
            let work = if operation == "create_issue" { 0.0062 } else { 0.0117 };
            work * engine * number("clients").max(1.0).powf(0.85) * (1.0 + number("neighbours"))
        },
        ..Sample::default()
    }
}

/// A document with a change.
pub fn changed(mut document: Document, change: impl FnOnce(&mut Document)) -> Document {
    change(&mut document);
    document
}

/// A document with other values, each by its path: in a list `*` is every element, `..3` are the first three,
/// `engine=lmdb` are those of a level, and `+` is one more.
pub fn with(document: Document, changes: Value) -> Document {
    let mut json = serde_json::to_value(&document).expect("JSON");
    for (path, value) in changes.as_object().expect("values by their paths") {
        put(&mut json, path, value);
    }
    serde_json::from_value(json).unwrap_or_else(|error| panic!("{changes}: {error}"))
}

fn put(at: &mut Value, path: &str, value: &Value) {
    let (key, rest) = path.split_once('/').map_or((path, None), |(key, rest)| (key, Some(rest)));
    let inner = |it: &mut Value| match rest {
        Some(rest) => put(it, rest, value),
        None => *it = value.clone(),
    };
    let Some(list) = at.as_array_mut() else { return inner(&mut at[key]) };
    let is = |number: usize, it: &Value| match (key, key.split_once('='), key.strip_prefix("..")) {
        ("*", ..) => true,
        (_, Some((name, level)), _) => it["levels"][name] == level || it[name] == level,
        (.., Some(most)) => number < most.parse().expect("a number"),
        _ => Some(number) == key.parse().ok(),
    };
    if key == "+" {
        return list.push(value.clone());
    }
    let chosen: Vec<&mut Value> =
        list.iter_mut().enumerate().filter(|(number, it)| is(*number, it)).map(|it| it.1).collect();
    assert!(!chosen.is_empty(), "{key} is in no list");
    chosen.into_iter().for_each(inner);
}

/// The same run, in which another factor than the engine is compared: its levels by the engines' names.
pub fn by_factor(mut document: Document, factor: &str, names: &[(&str, &str)]) -> Document {
    let named = |level: &str| -> String {
        names.iter().find(|(engine, _)| *engine == level).map_or(level, |(_, name)| name).into()
    };
    let rename = |levels: &mut Levels| {
        let engine = levels.remove("engine").expect("the sample compares engines");
        levels.insert(factor.into(), named(&engine));
    };
    let run = &mut document.run.run;
    (run.compare, run.baseline) = (factor.into(), named(&run.baseline));
    let levels = run.factors[0].1.iter().map(|level| named(level)).collect();
    run.factors[0] = (factor.into(), levels);
    document.trials.iter_mut().for_each(|trial| rename(&mut trial.levels));
    document.cells.iter_mut().for_each(|cell| rename(&mut cell.levels));
    for it in document.comparisons.iter_mut().chain(&mut document.between) {
        it.factor = factor.into();
        (it.baseline, it.level) = (named(&it.baseline), named(&it.level));
    }
    document
}

/// What a level that was entered twice shows against itself.
pub fn noise(document: &Document, ratio: f64, low: f64, high: f64) -> Comparison {
    let mut noise = document.comparisons[0].clone();
    noise.level = format!("{}@again", noise.baseline);
    (noise.ratio, noise.low, noise.high) = (Some(ratio), Some(low), Some(high));
    noise
}

/// A run of files on disks: no engine, no durability, no commits.
pub fn files() -> Document {
    const KEPT: [&str; 6] =
        ["operations", "work-written", "space", "rise", "rise-error", "rise-seconds"];
    let mut sample = Sample { engines: vec!["host", "hdd-7200"], ..Sample::default() };
    sample.factors = vec![("depth", vec!["1", "64"]), ("scale", vec!["small"])];
    sample.operations = vec!["write"];
    sample.mean = |_, levels| if levels["engine"] == "host" { 0.001 } else { 0.012 };
    let mut document = by_factor(sample.document(), "disk", &[]);
    let run = &mut document.run.run;
    (run.workload, run.engines, run.applied) = ("fileio".into(), Vec::new(), Vec::new());
    for trial in &mut document.trials {
        let kept = trial.measures.iter().filter(|it| KEPT.contains(&&*it.name)).cloned();
        let mut measures = Measures::default();
        kept.for_each(|it| measures.put(it));
        trial.measures = measures;
    }
    for cell in &mut document.cells {
        cell.cost = WorkCost::from_measures(&document.trials[0].measures).map(Into::into);
        cell.counters.clear();
    }
    document
}

/// A run on a simulated disk, whose order turns where a flush takes less.
pub fn on_a_disk() -> Document {
    let factors = vec![("disk", vec!["ssd-sata"]), ("clients", vec!["1"])];
    let canary =
        |sync_s: f64| json!({ "at_s": 0.0, "cpu_s": 0.01, "memory_s": 0.01, "sync_s": sync_s });
    let turn = |instead: &str, turn_s: f64| {
        let levels = json!({ "disk": "ssd-sata", "clients": "1" });
        json!({ "levels": levels, "ahead": "lmdb", "instead": instead, "flush_s": 0.001, "turn_s": turn_s })
    };
    with(
        Sample { factors, ..Sample::default() }.document(),
        json!({
            "run/disks": [{ "level": "ssd-sata", "simulates": "SATA SSD", "flush_s": 0.001 }],
            "canaries": [canary(0.000_09), canary(0.004), canary(0.000_08)],
            "flush_turns": [turn("fjall", 0.000_456), turn("sqlite", 0.000_2)],
        }),
    )
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

fn at_level(setting: &Levels, factor: &str, level: &str) -> Levels {
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
    measures.set_counter("pages", 12);
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
