//! A row a trial and operation, or a power cut and rule, with every figure: RFC 4180, a header
//! first, numbers in plain decimals, nothing where there is no figure.

mod cuts;

use std::collections::BTreeSet;

use bakeoff_analysis::{CostView, Document};
use bakeoff_results::{Applied, OperationSummary, TrialSummary};

use crate::{Rows, layout};

const TRIAL: [&str; 7] =
    ["repetition", "block", "attempt", "order", "started_s", "valid", "reason"];

const OPERATION: [&str; 12] = [
    "operation",
    "count",
    "mean_s",
    "p50_s",
    "p95_s",
    "p99_s",
    "p999_s",
    "max_s",
    "untrimmed_mean_s",
    "per_second",
    "errors",
    "retries",
];

const FACTS: [&str; 44] = [
    "space_bytes",
    "cpu_client_s",
    "cpu_engine_s",
    "operations",
    "commits",
    "application_bytes",
    "device_bytes",
    "syncs",
    "syncs_counted_by",
    "write_amplification",
    "syncs_per_commit",
    "engine_cpu_per_operation_s",
    "settings",
    "read_call_bytes",
    "write_call_bytes",
    "read_bytes",
    "write_bytes",
    "drain_write_bytes",
    "device_read_bytes",
    "device_write_bytes",
    "drain_device_write_bytes",
    "neighbour_intended_per_second",
    "neighbour_per_second",
    "neighbour_mean_s",
    "disk_host_writes",
    "disk_host_write_bytes",
    "disk_reads",
    "disk_read_bytes",
    "disk_writes",
    "disk_write_bytes",
    "disk_drain_write_bytes",
    "disk_syncs",
    "disk_flushes",
    "disk_utilisation",
    "disk_modelled_mean_s",
    "disk_achieved_mean_s",
    "disk_error_median",
    "disk_error_p99",
    "memory_limit_bytes",
    "memory_peak_bytes",
    "memory_cached_bytes",
    "littles_law",
    "steady",
    "warnings",
];

/// The run as comma-separated values; unless it is said of what, of its trials, or of its power
/// cuts where it has no trial.
pub fn render(document: &Document, rows: Option<Rows>) -> String {
    let only_cuts = document.trials.is_empty() && !document.cuts.is_empty();
    match rows.unwrap_or(if only_cuts { Rows::Cuts } else { Rows::Trials }) {
        Rows::Trials => trials(document),
        Rows::Cuts => cuts::render(document),
    }
}

/// A row a trial and operation. The factors' columns come after the trial's, by their
/// names; the engines' own counters come last, as `counter.` and their names.
fn trials(document: &Document) -> String {
    let factors: Vec<&str> = document.run.run.factors.iter().map(|(f, _)| f.as_str()).collect();
    let counters: BTreeSet<&str> = document
        .trials
        .iter()
        .filter_map(|trial| trial.facts.as_ref())
        .flat_map(|facts| facts.counters.keys().map(String::as_str))
        .collect();
    let header = TRIAL.into_iter().chain(factors.iter().copied()).chain(OPERATION).chain(FACTS);
    let mut header: Vec<String> = header.map(str::to_owned).collect();
    header.extend(counters.iter().map(|name| format!("counter.{name}")));

    let mut out = String::new();
    line(&mut out, &header);
    for trial in &document.trials {
        let start = trial_fields(trial, &factors);
        let settings = layout::applied(document, &trial.levels).map_or_else(String::new, settings);
        let end = fact_fields(trial, settings, &counters);
        // A trial that failed has a row too.
        let operations: Vec<Vec<String>> = match trial.operations.as_slice() {
            [] => vec![vec![String::new(); OPERATION.len()]],
            operations => operations.iter().map(operation_fields).collect(),
        };
        for operation in operations {
            let fields: Vec<String> = start.iter().chain(&operation).chain(&end).cloned().collect();
            line(&mut out, &fields);
        }
    }
    out
}

fn trial_fields(trial: &TrialSummary, factors: &[&str]) -> Vec<String> {
    let mut fields = vec![
        trial.repetition.to_string(),
        trial.block.to_string(),
        trial.attempt.to_string(),
        trial.order.to_string(),
        trial.started_s.to_string(),
        trial.valid.to_string(),
        trial.reason.clone().unwrap_or_default(),
    ];
    fields.extend(factors.iter().map(|factor| layout::get(&trial.levels, factor).to_owned()));
    fields
}

fn operation_fields(operation: &OperationSummary) -> Vec<String> {
    vec![
        operation.name.clone(),
        operation.count.to_string(),
        maybe(operation.mean_s),
        maybe(operation.p50_s),
        maybe(operation.p95_s),
        maybe(operation.p99_s),
        maybe(operation.p999_s),
        maybe(operation.max_s),
        maybe(operation.untrimmed_mean_s),
        operation.per_second.to_string(),
        operation.errors.to_string(),
        operation.retries.to_string(),
    ]
}

fn fact_fields(trial: &TrialSummary, settings: String, counters: &BTreeSet<&str>) -> Vec<String> {
    let mut fields = vec![
        maybe(trial.space_bytes),
        maybe(trial.cpu_s.map(|cpu| cpu.client)),
        maybe(trial.cpu_s.map(|cpu| cpu.engine)),
    ];
    let cost = trial.facts.as_ref().and_then(|facts| facts.cost);
    fields.extend(cost_fields(cost.as_ref()));
    fields.push(settings);
    let Some(facts) = &trial.facts else {
        fields.resize(FACTS.len() + counters.len(), String::new());
        return fields;
    };
    let (io, neighbour) = (facts.io, facts.neighbour);
    fields.extend([
        io.read_call_bytes.to_string(),
        io.write_call_bytes.to_string(),
        io.read_bytes.to_string(),
        io.write_bytes.to_string(),
        io.drain_write_bytes.to_string(),
        maybe(io.device_read_bytes),
        maybe(io.device_write_bytes),
        maybe(io.drain_device_write_bytes),
        maybe(neighbour.intended_per_second),
        neighbour.achieved_per_second.to_string(),
        neighbour.mean_s.to_string(),
    ]);
    let disk = facts.disk.as_ref();
    fields.extend([
        maybe(disk.map(|disk| disk.host_writes)),
        maybe(disk.map(|disk| disk.host_write_bytes)),
        maybe(disk.map(|disk| disk.reads)),
        maybe(disk.map(|disk| disk.read_bytes)),
        maybe(disk.map(|disk| disk.writes)),
        maybe(disk.map(|disk| disk.write_bytes)),
        maybe(disk.and_then(|disk| disk.drain_write_bytes)),
        maybe(disk.and_then(|disk| disk.syncs)),
        maybe(disk.map(|disk| disk.flushes)),
        maybe(disk.map(|disk| disk.utilisation)),
        maybe(disk.and_then(|disk| disk.modelled_mean_s)),
        maybe(disk.and_then(|disk| disk.achieved_mean_s)),
        maybe(disk.and_then(|disk| disk.error_median)),
        maybe(disk.and_then(|disk| disk.error_p99)),
    ]);
    let memory = facts.memory.as_ref();
    fields.extend([
        maybe(memory.map(|memory| memory.limit_bytes)),
        maybe(memory.and_then(|memory| memory.peak_bytes)),
        maybe(memory.map(|memory| memory.cached_bytes)),
    ]);
    fields.extend([
        facts.littles_law.to_string(),
        facts.steady.map(|steady| steady.to_string()).unwrap_or_default(),
        facts.warnings.join(" "),
    ]);
    fields.extend(counters.iter().map(|name| maybe(facts.counters.get(*name))));
    fields
}

fn cost_fields(cost: Option<&CostView>) -> [String; 9] {
    let syncs = cost.and_then(|cost| cost.sums.syncs);
    [
        maybe(cost.map(|cost| cost.sums.operations)),
        maybe(cost.map(|cost| cost.sums.commits)),
        maybe(cost.map(|cost| cost.sums.application_bytes)),
        maybe(cost.and_then(|cost| cost.sums.device_bytes)),
        maybe(syncs.map(|syncs| syncs.count)),
        maybe(syncs.map(|syncs| syncs.counted_by.name())),
        maybe(cost.and_then(|cost| cost.write_amplification)),
        maybe(cost.and_then(|cost| cost.syncs_per_commit)),
        maybe(cost.and_then(|cost| cost.engine_cpu_per_operation_s)),
    ]
}

/// "name=value; name=value".
fn settings(applied: &Applied) -> String {
    let settings = applied.settings.iter();
    let texts: Vec<String> = settings.map(|s| format!("{}={}", s.name, s.value)).collect();
    texts.join("; ")
}

fn maybe<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn line(out: &mut String, fields: &[String]) {
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            out.push(',');
        }
        if field.contains(['"', ',', '\r', '\n']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(field);
        }
    }
    out.push_str("\r\n");
}
