//! CSV by RFC 4180: a header, plain decimals, empty where there is no figure.
//!
//! A spreadsheet computes texts that look like formulas. An apostrophe before them prevents it.

mod cuts;
mod groups;
mod series;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bakeoff_analysis::{
    CostView, Document, Each, OpenLoopView, SpaceView, Steadiness, SyncCount, WorkCost, WorkView,
    layout, littles_law, steadiness,
};
use bakeoff_results::measure::*;
use bakeoff_results::{Applied, OperationSummary, TrialSummary};

use crate::block_machines::BlockMachines;
use crate::{CsvRows, Options, Result};

const TRIAL: [&str; 7] =
    ["repetition", "block", "attempt", "order", "started_s", "valid", "reason"];

const OPERATION: [&str; 13] = [
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
    "unfinished",
];

enum Says {
    Measure(&'static Measure, Scope),
    /// Computed from several measures.
    Follows(fn(&Facts) -> String),
}

struct Facts<'a> {
    trial: &'a TrialSummary,
    version: &'a str,
    cost: Option<CostView>,
    open_loop: Option<OpenLoopView>,
    work: Option<WorkView>,
    space: Option<SpaceView>,
    settings: String,
}

use Says::{Follows, Measure as Of};

static FACTS: [(&str, Says); 86] = [
    ("space_bytes", Of(&SPACE, Scope::Trial)),
    ("cpu_client_s", Of(&CPU, Scope::Clients)),
    ("cpu_engine_s", Of(&CPU, Scope::DATABASE)),
    ("operations", Of(&OPERATIONS, Scope::Clients)),
    ("done_per_second", Of(&DONE_RATE, Scope::Clients)),
    ("rows_per_second", Of(&ROWS_RATE, Scope::Clients)),
    ("bytes_per_second", Of(&BYTES_RATE, Scope::Clients)),
    ("commits", Of(&COMMITS, Scope::Clients)),
    ("application_bytes", Of(&PAYLOAD, Scope::Clients)),
    ("device_bytes", Of(&WORK_WRITTEN, Scope::Trial)),
    ("syncs", Follows(|of| format_optional(of.syncs().map(|syncs| syncs.count)))),
    (
        "syncs_counted_by",
        Follows(|of| format_optional(of.syncs().map(|syncs| syncs.counted_by.name()))),
    ),
    (
        "write_amplification",
        Follows(|of| format_optional(of.cost.and_then(|it| it.write_amplification))),
    ),
    ("syncs_per_commit", Follows(|of| format_optional(of.cost.and_then(|it| it.syncs_per_commit)))),
    (
        "engine_cpu_per_operation_s",
        Follows(|of| format_optional(of.cost.and_then(|it| it.engine_cpu_per_operation_s))),
    ),
    ("settings", Follows(|of| of.settings.clone())),
    ("read_call_bytes", Of(&READ_CALLS, Scope::DATABASE)),
    ("write_call_bytes", Of(&WRITE_CALLS, Scope::DATABASE)),
    ("read_bytes", Of(&READ, Scope::DATABASE)),
    ("write_bytes", Of(&WRITTEN, Scope::DATABASE)),
    ("drain_write_bytes", Of(&DRAIN_WRITTEN, Scope::DATABASE)),
    ("device_read_bytes", Of(&READ, Scope::Device)),
    ("device_write_bytes", Of(&WRITTEN, Scope::Device)),
    ("drain_device_write_bytes", Of(&DRAIN_WRITTEN, Scope::Device)),
    ("neighbour_intended_per_second", Of(&OFFERED, Scope::Neighbours)),
    ("neighbour_per_second", Of(&RATE, Scope::Neighbours)),
    ("neighbour_mean_s", Of(&MEAN_LATENCY, Scope::Neighbours)),
    ("disk_host_writes", Of(&HOST_WRITES, Scope::Disk)),
    ("disk_host_write_bytes", Of(&HOST_WRITTEN, Scope::Disk)),
    ("disk_reads", Of(&READS, Scope::Disk)),
    ("disk_read_bytes", Of(&READ, Scope::Disk)),
    ("disk_writes", Of(&WRITES, Scope::Disk)),
    ("disk_write_bytes", Of(&WRITTEN, Scope::Disk)),
    ("disk_drain_write_bytes", Of(&DRAIN_WRITTEN, Scope::Disk)),
    ("disk_syncs", Of(&SYNCS, Scope::Disk)),
    ("disk_flushes", Of(&FLUSHES, Scope::Disk)),
    ("disk_utilisation", Of(&UTILISATION, Scope::Disk)),
    ("disk_modelled_mean_s", Of(&MODELLED_LATENCY, Scope::Disk)),
    ("disk_achieved_mean_s", Of(&ACHIEVED_LATENCY, Scope::Disk)),
    ("disk_error_median", Of(&LATENCY_ERROR_MEDIAN, Scope::Disk)),
    ("disk_error_p99", Of(&LATENCY_ERROR_P99, Scope::Disk)),
    ("memory_limit_bytes", Of(&MEMORY_LIMIT, Scope::DATABASE)),
    ("memory_peak_bytes", Of(&MEMORY_PEAK, Scope::DATABASE)),
    ("memory_cached_bytes", Of(&MEMORY_CACHED, Scope::DATABASE)),
    ("littles_law", Follows(|of| format_optional(littles_law(of.trial)))),
    ("steady", Follows(|of| format_optional(steadiness(of.trial).map(name_steadiness)))),
    ("warnings", Follows(|of| of.trial.warnings.join(" "))),
    ("offered_per_second", Of(&OFFERED, Scope::Clients)),
    ("not_started", Of(&NOT_STARTED, Scope::Clients)),
    ("backlog", Of(&BACKLOG, Scope::Clients)),
    ("start_delay_p99_s", Of(&START_DELAY_P99, Scope::Clients)),
    ("kept_up", Follows(|of| format_optional(of.open_loop.map(|open| open.kept_up)))),
    ("drain_s", Of(&DRAIN, Scope::Trial)),
    ("drain_cut_off", Of(&DRAIN_CUT_OFF, Scope::Trial)),
    ("written_back", Of(&WRITTEN_BACK, Scope::Trial)),
    ("cpu_engine_drain_s", Of(&DRAIN_CPU, Scope::DATABASE)),
    ("cpu_disk_daemon_s", Of(&CPU, Scope::DISK_DAEMON)),
    ("cpu_neighbours_s", Of(&CPU, Scope::Neighbours)),
    ("run_delay_clients_s", Of(&RUN_DELAY, Scope::Clients)),
    ("run_delay_engine_s", Of(&RUN_DELAY, Scope::DATABASE)),
    ("run_delay_disk_daemon_s", Of(&RUN_DELAY, Scope::DISK_DAEMON)),
    ("mean_wait_clients_s", Of(&MEAN_WAIT, Scope::Clients)),
    ("mean_wait_engine_s", Of(&MEAN_WAIT, Scope::DATABASE)),
    ("migrations_clients", Of(&MIGRATIONS, Scope::Clients)),
    ("migrations_engine", Of(&MIGRATIONS, Scope::DATABASE)),
    ("together", Of(&TOGETHER, Scope::Trial)),
    ("client_processors", Of(&CLIENT_PROCESSORS, Scope::Trial)),
    ("server_processors", Of(&SERVER_PROCESSORS, Scope::Trial)),
    ("foreign_cpu_s", Of(&FOREIGN_CPU, Scope::Machine)),
    ("steal_s", Of(&STEAL, Scope::Machine)),
    ("pressure_cpu", Of(&PRESSURE_CPU, Scope::Machine)),
    ("pressure_io", Of(&PRESSURE_IO, Scope::Machine)),
    ("pressure_memory", Of(&PRESSURE_MEMORY, Scope::Machine)),
    ("work_rows", Of(&WORK_ROWS, Scope::Clients)),
    ("returned_bytes", Of(&RETURNED, Scope::Clients)),
    ("cache_misses", Of(&CACHE_MISSES, Scope::Trial)),
    ("loaded_bytes", Of(&LOADED, Scope::Trial)),
    ("cache_misses_per_row", Follows(|of| of.per_row(|work| work.cache_misses))),
    ("device_reads_per_row", Follows(|of| of.per_row(|work| work.device_reads))),
    ("device_read_bytes_per_row", Follows(|of| of.per_row(|work| work.device_read_bytes))),
    ("engine_cpu_per_row_s", Follows(|of| of.per_row(|work| work.engine_cpu_s))),
    ("client_cpu_per_row_s", Follows(|of| of.per_row(|work| work.client_cpu_s))),
    (
        "read_amplification",
        Follows(|of| format_optional(of.work.as_ref().and_then(|work| work.read_amplification))),
    ),
    (
        "space_amplification",
        Follows(|of| format_optional(of.space.map(|space| space.amplification))),
    ),
    ("image", Of(&IMAGE, Scope::Trial)),
    ("bakeoff_version", Follows(|of| of.version.to_owned())),
];

const MACHINE: [&str; 2] = ["machine.name", "machine.shard"];

const SERVICE: [&str; 2] = ["service_mean_s", "service_p99_s"];

impl<'a> Facts<'a> {
    fn from_trial(document: &'a Document, place: usize, trial: &'a TrialSummary) -> Self {
        let cost = WorkCost::from_measures(&trial.measures).map(CostView::from);
        Self {
            trial,
            version: document.run.run.version_of_trial(place),
            work: WorkView::from_trials(&[trial], cost.as_ref()),
            space: SpaceView::from_trials(&[trial]),
            cost,
            open_loop: OpenLoopView::from_trial(trial),
            settings: layout::find_applied(document, &trial.levels)
                .map_or_else(String::new, format_settings),
        }
    }

    /// Empty where rows were not counted.
    fn per_row(&self, figure: fn(&WorkView) -> Option<f64>) -> String {
        let of_rows = self.work.as_ref().filter(|work| work.each == Each::Row);
        format_optional(of_rows.and_then(figure))
    }

    fn syncs(&self) -> Option<SyncCount> {
        self.cost.and_then(|cost| cost.sums.syncs)
    }

    fn say(&self, says: &Says) -> String {
        match says {
            Of(measure, scope) => format_optional(self.trial.measures.get(measure, scope)),
            Follows(from) => from(self),
        }
    }
}

/// By default rows are trials, or power cuts where the run has no trial.
pub fn write(document: &Document, options: &Options) -> Result<String> {
    let only_cuts = document.trials.is_empty() && !document.cuts.is_empty();
    let default = if only_cuts { CsvRows::Cuts } else { CsvRows::Trials };
    Ok(match options.rows.unwrap_or(default) {
        CsvRows::Trials => write_trials(document),
        CsvRows::Cuts => cuts::write_cuts(document),
        CsvRows::Series => series::write_series(document),
    })
}

/// Columns: the trial's, factors, operations, facts, counters as `counter.NAME`, groups of
/// processes, and in a merged run the machine.
fn write_trials(document: &Document) -> String {
    let factors: Vec<&str> = document.run.run.factors.iter().map(|(f, _)| f.as_str()).collect();
    let counters = document.trials.iter().flat_map(|trial| trial.measures.counters());
    let counters: BTreeSet<&str> = counters.map(|(name, _)| name).collect();
    let facts = FACTS.iter().map(|(name, _)| *name);
    let mut header: Vec<String> = TRIAL.map(str::to_owned).into();
    header.extend(factors.iter().map(|factor| name_column(factor, &TRIAL)));
    header.extend(OPERATION.into_iter().chain(facts).chain(SERVICE).map(str::to_owned));
    header.extend(counters.iter().map(|name| format!("counter.{name}")));
    let groups = groups::GroupColumns::from_document(document);
    header.extend(groups.names());
    let ran_on = BlockMachines::from_run(&document.run.run);
    if !ran_on.is_empty() {
        header.extend(MACHINE.map(str::to_owned));
    }

    let mut out = String::new();
    write_line(&mut out, &header);
    for (place, trial) in document.trials.iter().enumerate() {
        let start = trial_fields(trial, &factors);
        let facts = Facts::from_trial(document, place, trial);
        let facts: Vec<String> = FACTS.iter().map(|(_, says)| facts.say(says)).collect();
        let counted: BTreeMap<&str, u64> = trial.measures.counters().collect();
        let counted: Vec<String> =
            counters.iter().map(|name| format_optional(counted.get(name))).collect();
        // A trial that failed has a row too.
        let operations: Vec<Option<&OperationSummary>> = match trial.operations.as_slice() {
            [] => vec![None],
            operations => operations.iter().map(Some).collect(),
        };
        for operation in operations {
            let (figures, service) = operation_fields(operation);
            let groups = groups.fields(trial);
            let mut fields = [&start[..], &figures, &facts, &service, &counted, &groups].concat();
            if !ran_on.is_empty() {
                fields.extend(ran_on.machine_fields(trial));
            }
            write_line(&mut out, &fields);
        }
    }
    out
}

/// `factor.NAME` where another column has the name.
fn name_column(factor: &str, own: &[&str]) -> String {
    if own.contains(&factor) { format!("factor.{factor}") } else { factor.to_owned() }
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
    fields.extend(
        factors.iter().map(|factor| layout::level_or_empty(&trial.levels, factor).to_owned()),
    );
    fields
}

fn operation_fields(
    operation: Option<&OperationSummary>,
) -> ([String; OPERATION.len()], [String; SERVICE.len()]) {
    let Some(operation) = operation else { return Default::default() };
    let figures = [
        operation.name.clone(),
        operation.count.to_string(),
        format_optional(operation.mean_s),
        format_optional(operation.p50_s),
        format_optional(operation.p95_s),
        format_optional(operation.p99_s),
        format_optional(operation.p999_s),
        format_optional(operation.max_s),
        format_optional(operation.untrimmed_mean_s),
        operation.per_second.to_string(),
        operation.errors.to_string(),
        operation.retries.to_string(),
        operation.unfinished.to_string(),
    ];
    (figures, [format_optional(operation.service_mean_s), format_optional(operation.service_p99_s)])
}

fn name_steadiness(answer: Steadiness) -> &'static str {
    match answer {
        Steadiness::Steady => "true",
        Steadiness::NotSteady => "false",
        Steadiness::CannotTell => "cannot tell",
    }
}

/// "name=value; name=value".
fn format_settings(applied: &Applied) -> String {
    let settings = applied.settings.iter();
    let texts: Vec<String> = settings.map(|s| format!("{}={}", s.name, s.value)).collect();
    texts.join("; ")
}

fn format_optional<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn write_line(out: &mut String, fields: &[String]) {
    for (number, field) in fields.iter().enumerate() {
        if number > 0 {
            out.push(',');
        }
        let field = disarm_formula(field);
        if field.contains(['"', ',', '\r', '\n', '\t']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&field);
        }
    }
    out.push_str("\r\n");
}

/// No spreadsheet computes it, as the OWASP advises. A number stays a number.
fn disarm_formula(field: &str) -> Cow<'_, str> {
    let formula = field.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let number = || field.parse::<f64>().is_ok_and(f64::is_finite);
    match formula && !number() {
        true => format!("'{field}").into(),
        false => field.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_has_no_column_of_a_name_that_another_has() {
        assert_eq!(
            [name_column("block", &TRIAL), name_column("depth", &TRIAL)],
            ["factor.block", "depth"]
        );
    }
}
