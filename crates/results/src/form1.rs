//! Run folders of form 1, which bakeoff wrote before a measure was a reading of a name and a scope:
//! they are read, and never written.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde::Deserialize;

use crate::measure::*;
use crate::run::Run;
use crate::text::visible_json;

/// The form of these tables.
pub(crate) const FORM: i64 = 1;

/// The engine of that time that stored nothing; its description did not say so.
const STORES_NOTHING: &str = "null";

/// Shows the tables of form 1 to one connection as those of today. What `measures` shows is for
/// [`measured`] to read.
const VIEWS: &str = "
    CREATE TEMP VIEW trial AS SELECT *, facts AS measures, NULL AS warnings FROM main.trial;
    CREATE TEMP VIEW operation AS
        SELECT *, NULL AS service, NULL AS service_mean_s, NULL AS service_p99_s,
            0 AS unfinished
        FROM main.operation;";

/// Makes the tables of this form of those of form 2.
pub(crate) const BACK: &str = "
    DROP TABLE disturbed;
    ALTER TABLE trial RENAME COLUMN measures TO facts;
    ALTER TABLE trial DROP COLUMN warnings;
    ALTER TABLE operation DROP COLUMN service_mean_s;
    ALTER TABLE operation DROP COLUMN service_p99_s;
    ALTER TABLE operation DROP COLUMN service;";

/// The first bakeoffs made no power cuts.
const NO_CUTS: &str = "CREATE TEMP VIEW cut AS SELECT 1 AS id, NULL AS facts WHERE 0;";

/// Makes a connection to tables of form 1 read like one to tables of today.
///
/// # Errors
/// Where they are not what they should be.
pub(crate) fn show(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(VIEWS)?;
    let table = "SELECT count(*) FROM main.sqlite_schema WHERE type = 'table' AND name = 'cut'";
    let tables: i64 = connection.query_row(table, [], |row| row.get(0))?;
    if tables == 0 { connection.execute_batch(NO_CUTS) } else { Ok(()) }
}

/// Adds to a run's description what form 1 did not say.
pub(crate) fn complete(run: &mut Run) {
    for engine in &mut run.engines {
        engine.stores = engine.name != STORES_NOTHING;
    }
}

/// The measures and the warnings of a trial, from its facts.
///
/// # Errors
/// Where the text is no facts.
pub(crate) fn measured(facts: &str) -> serde_json::Result<(Measures, Vec<String>)> {
    let facts: Facts = serde_json::from_str(&visible_json(facts))?;
    let mut measures = Measures::default();
    let bytes = facts.space_bytes.map(|bytes| bytes as f64);
    measures.set_some(&SPACE, Scope::Trial, bytes);
    let settled = facts.steady.map(|steady| f64::from(u8::from(steady)));
    measures.set_some(&SETTLED, Scope::Trial, settled);
    facts.add_processes(&mut measures);
    facts.neighbour.add(&mut measures);
    if let Some(disk) = &facts.disk {
        disk.add(&mut measures);
    }
    if let Some(memory) = &facts.memory {
        memory.add(&mut measures);
    }
    if let Some(cost) = &facts.cost {
        cost.add(&mut measures);
    }
    for (name, count) in facts.counters {
        measures.count(name, count);
    }
    Ok((measures, facts.warnings))
}

#[derive(Deserialize)]
struct Facts {
    space_bytes: Option<u64>,
    cpu_s: Cpu,
    io: Io,
    neighbour: Neighbour,
    #[serde(default)]
    disk: Option<Disk>,
    #[serde(default)]
    memory: Option<Memory>,
    steady: Option<bool>,
    #[serde(default)]
    cost: Option<Cost>,
    counters: BTreeMap<String, u64>,
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Cpu {
    client: f64,
    engine: f64,
}

#[derive(Deserialize)]
struct Io {
    read_call_bytes: u64,
    write_call_bytes: u64,
    read_bytes: u64,
    write_bytes: u64,
    drain_write_bytes: u64,
    drain_device_write_bytes: Option<u64>,
    device_read_bytes: Option<u64>,
    device_write_bytes: Option<u64>,
}

#[derive(Deserialize)]
struct Neighbour {
    intended_per_second: Option<f64>,
    achieved_per_second: f64,
    mean_s: f64,
}

#[derive(Deserialize)]
struct Disk {
    host_writes: u64,
    host_write_bytes: u64,
    reads: u64,
    read_bytes: u64,
    writes: u64,
    write_bytes: u64,
    #[serde(default)]
    drain_write_bytes: Option<u64>,
    #[serde(default)]
    syncs: Option<u64>,
    flushes: u64,
    utilisation: f64,
    modelled_mean_s: Option<f64>,
    achieved_mean_s: Option<f64>,
    error_median: Option<f64>,
    error_p99: Option<f64>,
}

#[derive(Deserialize)]
struct Memory {
    limit_bytes: u64,
    peak_bytes: Option<u64>,
    cached_bytes: u64,
}

#[derive(Deserialize)]
struct Cost {
    operations: u64,
    commits: u64,
    application_bytes: u64,
    device_bytes: Option<u64>,
    engine_cpu_s: Option<f64>,
    syncs: Option<Syncs>,
}

#[derive(Deserialize)]
struct Syncs {
    counted_by: Counter,
    count: u64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Counter {
    Disk,
    Kernel,
    Device,
}

fn number(count: Option<u64>) -> Option<f64> {
    count.map(|count| count as f64)
}

impl Facts {
    /// Of an engine that was somebody else's server nothing was known: what stands in its place is
    /// 0 seconds, and the bytes of bakeoff's own process.
    fn add_processes(&self, to: &mut Measures) {
        let here = self.cost.as_ref().is_none_or(|cost| cost.engine_cpu_s.is_some());
        let io = &self.io;
        to.set(&CPU, Scope::Clients, self.cpu_s.client);
        if here {
            to.set(&CPU, Scope::DATABASE, self.cpu_s.engine);
            for (measure, bytes) in [
                (&READ_CALLS, io.read_call_bytes),
                (&WRITE_CALLS, io.write_call_bytes),
                (&READ, io.read_bytes),
                (&WRITTEN, io.write_bytes),
                (&DRAIN_WRITTEN, io.drain_write_bytes),
            ] {
                to.set(measure, Scope::DATABASE, bytes as f64);
            }
        }
        to.set_some(&READ, Scope::Device, number(io.device_read_bytes));
        to.set_some(&WRITTEN, Scope::Device, number(io.device_write_bytes));
        to.set_some(&DRAIN_WRITTEN, Scope::Device, number(io.drain_device_write_bytes));
    }
}

impl Neighbour {
    fn add(&self, to: &mut Measures) {
        to.set_some(&OFFERED, Scope::Neighbours, self.intended_per_second);
        to.set(&RATE, Scope::Neighbours, self.achieved_per_second);
        to.set(&MEAN_LATENCY, Scope::Neighbours, self.mean_s);
    }
}

impl Disk {
    fn add(&self, to: &mut Measures) {
        for (measure, value) in [
            (&HOST_WRITES, Some(self.host_writes as f64)),
            (&HOST_WRITTEN, Some(self.host_write_bytes as f64)),
            (&READS, Some(self.reads as f64)),
            (&READ, Some(self.read_bytes as f64)),
            (&WRITES, Some(self.writes as f64)),
            (&WRITTEN, Some(self.write_bytes as f64)),
            (&DRAIN_WRITTEN, number(self.drain_write_bytes)),
            (&SYNCS, number(self.syncs)),
            (&FLUSHES, Some(self.flushes as f64)),
            (&UTILISATION, Some(self.utilisation)),
            (&MODELLED_LATENCY, self.modelled_mean_s),
            (&ACHIEVED_LATENCY, self.achieved_mean_s),
            (&LATENCY_ERROR_MEDIAN, self.error_median),
            (&LATENCY_ERROR_P99, self.error_p99),
        ] {
            to.set_some(measure, Scope::Disk, value);
        }
    }
}

impl Memory {
    fn add(&self, to: &mut Measures) {
        to.set(&MEMORY_LIMIT, Scope::DATABASE, self.limit_bytes as f64);
        to.set_some(&MEMORY_PEAK, Scope::DATABASE, number(self.peak_bytes));
        to.set(&MEMORY_CACHED, Scope::DATABASE, self.cached_bytes as f64);
    }
}

impl Cost {
    fn add(&self, to: &mut Measures) {
        to.set(&OPERATIONS, Scope::Clients, self.operations as f64);
        to.set(&COMMITS, Scope::Clients, self.commits as f64);
        to.set(&PAYLOAD, Scope::Clients, self.application_bytes as f64);
        to.set_some(&WORK_WRITTEN, Scope::Trial, number(self.device_bytes));
        to.set_some(&CPU, Scope::DATABASE, self.engine_cpu_s);
        if let Some(Syncs { counted_by, count }) = self.syncs {
            let scope = match counted_by {
                Counter::Disk => Scope::Disk,
                Counter::Kernel => Scope::DATABASE,
                Counter::Device => Scope::Device,
            };
            to.set(&SYNCS, scope, count as f64);
        }
    }
}
