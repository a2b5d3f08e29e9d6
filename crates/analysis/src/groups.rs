//! What each group of processes of a cell's trials used, and what it was held to.

use std::collections::BTreeSet;

use bakeoff_results::measure::{
    CPU, CPU_LIMIT, CPU_PERIODS, CPU_THROTTLED, CPU_WAITED, DISK_GROUP, DRAIN_CPU, DRAIN_WRITTEN,
    MEMORY_CACHED, MEMORY_LIMIT, MEMORY_PEAK, OPERATIONS, READ, WRITTEN,
};
use bakeoff_results::{Measure, Measures, Scope, TrialSummary};
use serde::{Deserialize, Serialize};

/// A group of processes, by its name, or a limit that several groups share. Each figure is a mean over
/// the trials that measured it, and `None` where none did. The client's and the virtual disk's own
/// processes are not among the groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupView {
    /// Its name, as `database`.
    pub name: String,
    /// Processor seconds while the clients ran.
    pub cpu_s: Option<f64>,
    /// Processor seconds in the drain.
    pub drain_cpu_s: Option<f64>,
    /// Processor seconds for each operation, all trials together, while the clients ran.
    pub cpu_per_operation_s: Option<f64>,
    /// The processors that it may use.
    pub cpu_limit: Option<f64>,
    /// Periods of 100 ms in which it had something to do while the clients ran.
    pub cpu_periods: Option<f64>,
    /// Those of them in which it had used its quota of processors up.
    pub cpu_throttled: Option<f64>,
    /// How long it waited so, in seconds, summed over the processors that it waited on.
    pub cpu_waited_s: Option<f64>,
    /// The most bytes of memory that it may use, its page cache included.
    pub memory_limit_bytes: Option<f64>,
    /// The most bytes that it used at once.
    pub memory_peak_bytes: Option<f64>,
    /// Bytes of its files in the page cache when the clients stopped.
    pub memory_cached_bytes: Option<f64>,
    /// Bytes that it read from storage while the clients ran.
    pub read_bytes: Option<f64>,
    /// Bytes that it sent to storage while the clients ran.
    pub written_bytes: Option<f64>,
    /// Bytes that it sent to storage in the drain.
    pub drain_written_bytes: Option<f64>,
}

impl GroupView {
    /// The groups of a cell's trials, by their names.
    pub(crate) fn of_cell(trials: &[&TrialSummary]) -> Vec<Self> {
        let names: BTreeSet<&str> =
            trials.iter().flat_map(|trial| groups(&trial.measures)).collect();
        names.into_iter().map(|name| Self::from_trials(name, trials)).collect()
    }

    fn from_trials(name: &str, trials: &[&TrialSummary]) -> Self {
        let scope = Scope::Processes(name.to_owned().into());
        let mean = |measure: &Measure| {
            let each = trials.iter().filter_map(|trial| trial.measures.get(measure, &scope));
            let each: Vec<f64> = each.collect();
            (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
        };
        Self {
            name: name.to_owned(),
            cpu_s: mean(&CPU),
            drain_cpu_s: mean(&DRAIN_CPU),
            cpu_per_operation_s: per_operation(trials, &scope),
            cpu_limit: mean(&CPU_LIMIT),
            cpu_periods: mean(&CPU_PERIODS),
            cpu_throttled: mean(&CPU_THROTTLED),
            cpu_waited_s: mean(&CPU_WAITED),
            memory_limit_bytes: mean(&MEMORY_LIMIT),
            memory_peak_bytes: mean(&MEMORY_PEAK),
            memory_cached_bytes: mean(&MEMORY_CACHED),
            read_bytes: mean(&READ),
            written_bytes: mean(&WRITTEN),
            drain_written_bytes: mean(&DRAIN_WRITTEN),
        }
    }
}

/// Whose processes used how much processor time for an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessView {
    /// Whose: [`ProcessView::CLIENTS`], or the name of a group of processes.
    pub name: String,
    /// Processor seconds for each operation, all trials together, while the clients ran.
    pub cpu_per_operation_s: f64,
}

impl ProcessView {
    /// The name of the clients' own.
    pub const CLIENTS: &'static str = "clients";

    /// The clients and then the groups of a cell's trials, by their names; none where fewer than two groups
    /// worked for the clients.
    pub(crate) fn of_cell(trials: &[&TrialSummary]) -> Vec<Self> {
        let names: BTreeSet<&str> =
            trials.iter().flat_map(|trial| groups(&trial.measures)).collect();
        let view = |name: &str, scope: &Scope| {
            let cpu_per_operation_s = per_operation(trials, scope)?;
            Some(Self { name: name.to_owned(), cpu_per_operation_s })
        };
        let group = |name: &str| view(name, &Scope::Processes(name.to_owned().into()));
        let of_groups: Vec<Self> = names.into_iter().filter_map(group).collect();
        if of_groups.len() < 2 {
            return Vec::new();
        }
        view(Self::CLIENTS, &Scope::Clients).into_iter().chain(of_groups).collect()
    }
}

/// The groups of processes that a trial measured, the virtual disk's own left out.
pub(crate) fn groups(measures: &Measures) -> BTreeSet<&str> {
    measures.iter().filter_map(|reading| group(&reading.scope)).collect()
}

/// The group of processes that a reading is of; `None` for any other scope, and for the virtual disk's own.
fn group(scope: &Scope) -> Option<&str> {
    match scope {
        Scope::Processes(name) if name != DISK_GROUP => Some(name),
        _ => None,
    }
}

/// What all groups of processes of a trial come to; `None` where no group measured it.
pub(crate) fn sum(measures: &Measures, measure: &Measure) -> Option<f64> {
    let of = |name: &str| measures.get(measure, &Scope::Processes(name.to_owned().into()));
    groups(measures).into_iter().filter_map(of).reduce(|sum, value| sum + value)
}

/// Processor seconds for each operation, over those trials that counted both.
fn per_operation(trials: &[&TrialSummary], scope: &Scope) -> Option<f64> {
    let both = |trial: &&TrialSummary| {
        let operations = trial.measures.get(&OPERATIONS, &Scope::Clients)?;
        Some((trial.measures.get(&CPU, scope)?, operations))
    };
    let both = trials.iter().filter_map(both);
    let (cpu, operations) = both.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    (operations > 0.0).then(|| cpu / operations)
}
