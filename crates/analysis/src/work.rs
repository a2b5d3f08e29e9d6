//! The cost of each row of the clients' work in cache, device and processors: it shows why one
//! engine slows down where another does not. If a workload counts no rows, the cost of each
//! operation.

use bakeoff_results::measure::{CACHE_MISSES, CPU, OPERATIONS, READ, READS, RETURNED, WORK_ROWS};
use bakeoff_results::{Measure, Measures, Scope, TrialSummary};
use serde::{Deserialize, Serialize};

use crate::cost::CostView;
use crate::groups;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Each {
    Row,
    /// With those that ended in an error; for a workload that counts no rows.
    Operation,
}

/// While the clients ran, without the drain. Over all trials of a cell together, and `None` where
/// one of them does not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkView {
    pub each: Each,
    pub units: u64,
    pub cache_misses: Option<f64>,
    pub device_reads: Option<f64>,
    /// By the virtual disk's device, or as the kernel counted for the processes of all groups.
    pub device_read_bytes: Option<f64>,
    pub engine_cpu_s: Option<f64>,
    pub client_cpu_s: Option<f64>,
    /// Bytes that were read from storage for each byte of the rows that were returned.
    pub read_amplification: Option<f64>,
    /// Which of these, and of the write amplification, are unknown, and why.
    pub lacks: Vec<MissingFigure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingFigure {
    pub figure: WorkFigure,
    pub why: Unknown,
}

/// Named as in the JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkFigure {
    CacheMisses,
    DeviceReads,
    DeviceReadBytes,
    EngineCpuS,
    ClientCpuS,
    WriteAmplification,
    ReadAmplification,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// None of the engine's counters shows it: it has no cache of its own, or keeps no count.
    NoCounter,
    NoVirtualDisk,
    /// The engine's processes and files belong to others, or could not be read.
    Elsewhere,
    NothingChanged,
    NothingReturned,
    NotCounted,
}

#[derive(Clone, Copy)]
struct Sums {
    each: Each,
    units: f64,
    cache_misses: Option<f64>,
    device_reads: Option<f64>,
    device_read_bytes: Option<f64>,
    engine_cpu_s: Option<f64>,
    client_cpu_s: Option<f64>,
    returned_bytes: Option<f64>,
}

impl Sums {
    fn from_trial(trial: &TrialSummary, each: Each) -> Option<Self> {
        let measures = &trial.measures;
        let units = match each {
            Each::Row => measures.get(&WORK_ROWS, &Scope::Clients),
            Each::Operation => measures.get(&OPERATIONS, &Scope::Clients),
        };
        Some(Self {
            each,
            units: units?,
            cache_misses: measures.get(&CACHE_MISSES, &Scope::Trial),
            device_reads: measures.get(&READS, &Scope::Disk),
            device_read_bytes: of_device(measures, &READ),
            engine_cpu_s: measures.of_database(&CPU),
            client_cpu_s: measures.get(&CPU, &Scope::Clients),
            returned_bytes: measures.get(&RETURNED, &Scope::Clients),
        })
    }

    fn plus(self, other: Self) -> Self {
        let sum = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
        Self {
            each: self.each,
            units: self.units + other.units,
            cache_misses: sum(self.cache_misses, other.cache_misses),
            device_reads: sum(self.device_reads, other.device_reads),
            device_read_bytes: sum(self.device_read_bytes, other.device_read_bytes),
            engine_cpu_s: sum(self.engine_cpu_s, other.engine_cpu_s),
            client_cpu_s: sum(self.client_cpu_s, other.client_cpu_s),
            returned_bytes: sum(self.returned_bytes, other.returned_bytes),
        }
    }

    fn read_amplification(&self) -> Option<f64> {
        let returned = self.returned_bytes.filter(|bytes| *bytes > 0.0)?;
        Some(self.device_read_bytes? / returned)
    }

    fn list_lacks(&self, cost: Option<&CostView>) -> Vec<MissingFigure> {
        let counted = |known: Option<f64>, why| known.is_none().then_some(why);
        let write = match cost.map(|cost| (cost.write_amplification, cost.sums)) {
            Some((Some(_), _)) => None,
            Some((None, sums)) if sums.application_bytes == Some(0) => {
                Some(Unknown::NothingChanged)
            }
            Some((None, sums)) if sums.application_bytes.is_none() => Some(Unknown::NotCounted),
            Some((None, _)) => Some(Unknown::Elsewhere),
            None => Some(Unknown::NotCounted),
        };
        let read = match (self.returned_bytes, self.device_read_bytes) {
            (None, _) => Some(Unknown::NotCounted),
            (Some(0.0), _) => Some(Unknown::NothingReturned),
            (Some(_), None) => Some(Unknown::Elsewhere),
            (Some(_), Some(_)) => None,
        };
        let all = [
            (WorkFigure::CacheMisses, counted(self.cache_misses, Unknown::NoCounter)),
            (WorkFigure::DeviceReads, counted(self.device_reads, Unknown::NoVirtualDisk)),
            (WorkFigure::DeviceReadBytes, counted(self.device_read_bytes, Unknown::Elsewhere)),
            (WorkFigure::EngineCpuS, counted(self.engine_cpu_s, Unknown::Elsewhere)),
            (WorkFigure::ClientCpuS, counted(self.client_cpu_s, Unknown::NotCounted)),
            (WorkFigure::WriteAmplification, write),
            (WorkFigure::ReadAmplification, read),
        ];
        all.into_iter()
            .filter_map(|(figure, why)| Some(MissingFigure { figure, why: why? }))
            .collect()
    }
}

impl WorkView {
    pub fn from_trials(trials: &[&TrialSummary], cost: Option<&CostView>) -> Option<Self> {
        let all = |each| {
            let sums: Option<Vec<Sums>> =
                trials.iter().map(|trial| Sums::from_trial(trial, each)).collect();
            sums?.into_iter().reduce(Sums::plus).filter(|sums| sums.units > 0.0)
        };
        let modelled = |sums: &Sums| sums.device_reads.is_some();
        let sums = all(Each::Row).or_else(|| all(Each::Operation).filter(modelled))?;
        let each = |sum: Option<f64>| sum.map(|sum| sum / sums.units);
        Some(Self {
            each: sums.each,
            units: sums.units as u64,
            cache_misses: each(sums.cache_misses),
            device_reads: each(sums.device_reads),
            device_read_bytes: each(sums.device_read_bytes),
            engine_cpu_s: each(sums.engine_cpu_s),
            client_cpu_s: each(sums.client_cpu_s),
            read_amplification: sums.read_amplification(),
            lacks: sums.list_lacks(cost),
        })
    }

    pub fn why_not(&self, figure: WorkFigure) -> Option<Unknown> {
        self.lacks.iter().find(|lack| lack.figure == figure).map(|lack| lack.why)
    }
}

/// By the virtual disk, or as the kernel counted for the processes of all groups.
fn of_device(measures: &Measures, measure: &Measure) -> Option<f64> {
    measures.get(measure, &Scope::Disk).or_else(|| groups::sum_groups(measures, measure))
}
