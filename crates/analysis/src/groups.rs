use std::collections::BTreeSet;

use bakeoff_results::measure::{
    CPU, CPU_LIMIT, CPU_PERIODS, CPU_THROTTLED, CPU_WAITED, DISK_GROUP, DRAIN_CPU, DRAIN_WRITTEN,
    MEMORY_CACHED, MEMORY_LIMIT, MEMORY_PEAK, OPERATIONS, READ, WRITTEN,
};
use bakeoff_results::{Measure, Measures, Scope, TrialSummary};
use serde::{Deserialize, Serialize};

use crate::total;

/// A group of processes, or a limit that several groups share. Each figure is a mean over the
/// trials that measured it. The client's and the virtual disk's own processes are in no group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupView {
    pub name: String,
    pub cpu_s: Option<f64>,
    pub drain_cpu_s: Option<f64>,
    pub cpu_per_operation_s: Option<f64>,
    pub cpu_limit: Option<f64>,
    /// Periods of 100 ms in which it had something to do while the clients ran.
    pub cpu_periods: Option<f64>,
    /// Periods in which it had used up its quota of processors.
    pub cpu_throttled: Option<f64>,
    /// Seconds, summed over the processors that it waited on.
    pub cpu_waited_s: Option<f64>,
    pub memory_limit_bytes: Option<f64>,
    pub memory_peak_bytes: Option<f64>,
    /// When the clients stopped.
    pub memory_cached_bytes: Option<f64>,
    pub read_bytes: Option<f64>,
    pub written_bytes: Option<f64>,
    pub drain_written_bytes: Option<f64>,
}

impl GroupView {
    pub(crate) fn of_cell(trials: &[&TrialSummary]) -> Vec<Self> {
        let names: BTreeSet<&str> =
            trials.iter().flat_map(|trial| list_groups(&trial.measures)).collect();
        names.into_iter().map(|name| Self::from_trials(name, trials)).collect()
    }

    fn from_trials(name: &str, trials: &[&TrialSummary]) -> Self {
        let scope = Scope::Processes(name.to_owned().into());
        let mean = |measure: &Measure| {
            let each = trials.iter().filter_map(|trial| trial.measures.get(measure, &scope));
            let each: Vec<f64> = each.collect();
            total::mean(&each)
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessView {
    pub name: String,
    pub cpu_per_operation_s: f64,
}

impl ProcessView {
    pub const CLIENTS: &'static str = "clients";

    /// None where fewer than two groups worked for the clients.
    pub(crate) fn of_cell(trials: &[&TrialSummary]) -> Vec<Self> {
        let names: BTreeSet<&str> =
            trials.iter().flat_map(|trial| list_groups(&trial.measures)).collect();
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

pub(crate) fn list_groups(measures: &Measures) -> BTreeSet<&str> {
    measures.iter().filter_map(|reading| find_group(&reading.scope)).collect()
}

fn find_group(scope: &Scope) -> Option<&str> {
    match scope {
        Scope::Processes(name) if name != DISK_GROUP => Some(name),
        _ => None,
    }
}

pub(crate) fn sum_groups(measures: &Measures, measure: &Measure) -> Option<f64> {
    let of = |name: &str| measures.get(measure, &Scope::Processes(name.to_owned().into()));
    list_groups(measures).into_iter().filter_map(of).reduce(|sum, value| sum + value)
}

fn per_operation(trials: &[&TrialSummary], scope: &Scope) -> Option<f64> {
    let both = |trial: &&TrialSummary| {
        let operations = trial.measures.get(&OPERATIONS, &Scope::Clients)?;
        Some((trial.measures.get(&CPU, scope)?, operations))
    };
    let both = trials.iter().filter_map(both);
    let (cpu, operations) = both.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    (operations > 0.0).then(|| cpu / operations)
}
