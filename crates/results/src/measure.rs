//! The measures of a trial besides latencies: readings with a name, a unit and a scope.
//!
//! A measure is defined here, once. Its [`Reading`] travels unchanged to the database and the JSON;
//! other crates say what it means.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MeasureUnit {
    #[serde(rename = "s")]
    Seconds,
    #[serde(rename = "B")]
    Bytes,
    #[serde(rename = "1")]
    Count,
    #[serde(rename = "1/s")]
    PerSecond,
    #[serde(rename = "share")]
    Share,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    Trial,
    Clients,
    /// A group, as `database`.
    Processes(Cow<'static, str>),
    /// As an engine's own counters.
    Target,
    Disk,
    /// The machine's own, including use by other processes.
    Device,
    Neighbours,
    Machine,
    Operation(Cow<'static, str>),
}

/// The group of processes that serve a virtual disk.
pub const DISK_GROUP: &str = "disk-daemon";
/// The group of processes that do an engine's work.
pub const DATABASE_GROUP: &str = "database";

/// What operations count of the paths that they took.
pub static PATHS: [&Measure; 4] = [&ROLLED_BACK, &SKIPPED, &UNMATCHED, &BEGUN_AGAIN];

impl Scope {
    pub const DATABASE: Self = Self::Processes(Cow::Borrowed(DATABASE_GROUP));
    pub const DISK_DAEMON: Self = Self::Processes(Cow::Borrowed(DISK_GROUP));
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trial => "trial",
            Self::Clients => "clients",
            Self::Processes(group) => group,
            Self::Target => "target",
            Self::Disk => "disk",
            Self::Device => "device",
            Self::Neighbours => "neighbours",
            Self::Machine => "machine",
            Self::Operation(name) => name,
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Measure {
    pub name: &'static str,
    pub unit: MeasureUnit,
    /// `database` stands for any group of processes, `operation` for any operation.
    pub scopes: &'static [Scope],
    pub about: &'static str,
}

macro_rules! scope {
    (Database) => {
        Scope::DATABASE
    };
    (DiskDaemon) => {
        Scope::DISK_DAEMON
    };
    (Operation) => {
        Scope::Operation(Cow::Borrowed("operation"))
    };
    ($scope:ident) => {
        Scope::$scope
    };
}

macro_rules! measures {
    ($($constant:ident = $name:literal, $unit:ident, [$($scope:ident),*], $about:literal;)*) => {
        $(#[doc = $about] pub static $constant: Measure = Measure {
            name: $name,
            unit: MeasureUnit::$unit,
            scopes: &[$(scope!($scope)),*],
            about: $about,
        };)*
        pub static MEASURES: &[&Measure] = &[$(&$constant),*];
    };
}

measures! {
    IMAGE = "image", Count, [Trial],
        "which image of its data it had, from 1; only where data were loaded more than once";
    OPERATIONS = "operations", Count, [Clients],
        "operations that ended in the whole trial, failed ones too";
    DONE_RATE = "done-rate", PerSecond, [Clients],
        "operations a second that succeeded, all kinds together: those that ended in the window over its \
         length, as the next two";
    ROWS_RATE = "rows-rate", PerSecond, [Clients],
        "rows a second that these returned or wrote, where the workload counts them";
    BYTES_RATE = "bytes-rate", PerSecond, [Clients],
        "bytes a second that these read or wrote, where the workload counts them";
    ROWS = "rows", Count, [Operation],
        "rows that operations of a kind that ended in the window returned or wrote";
    BYTES = "bytes", Bytes, [Operation],
        "bytes that operations of a kind that ended in the window read or wrote";
    ENDED = "ended", Count, [Operation],
        "operations of a kind that ended in the window and did not fail: rates count these; a run without it \
         has rates by Little's law";
    ROLLED_BACK = "rolled-back", Count, [Operation],
        "of `ended`, those whose script rolled a transaction back";
    SKIPPED = "skipped", Count, [Operation],
        "of `ended`, those that `\\on_duplicate skip` ended";
    UNMATCHED = "unmatched", Count, [Operation],
        "of `ended`, those of which a `\\gset optional` found no row";
    BEGUN_AGAIN = "begun-again", Count, [Operation],
        "how often those of `ended` began again by `\\again` or `\\on_duplicate again`; no retries after a conflict";
    LITTLE_RATE = "little-rate", PerSecond, [Clients],
        "`done-rate` by Little's law, as a check in a closed loop; an upper bound where an operation was cut off";
    LEAST_OPERATIONS = "least-operations", Count, [Clients],
        "operations of each kind that a verdict needs of a trial, where more than 20: five rounds of syncs of \
         buffered writes";
    STARVED = "starved", Count, [Clients],
        "operations that lasted at least as long as the window";
    WORK_ROWS = "work-rows", Count, [Clients],
        "rows that all operations returned or wrote that did not fail, in the window or not";
    RETURNED = "returned", Bytes, [Clients],
        "bytes of the rows that statements returned in the whole trial, an integer being 8; of files, bytes \
         that clients read";
    COMMITS = "commits", Count, [Clients],
        "transactions that changed a row and were committed; of files, syncs and durable writes";
    PAYLOAD = "payload", Bytes, [Clients],
        "bytes that these wrote as the application sees them: the parameters of their statements, an integer \
         being 8; of files, bytes that clients wrote";
    CONCURRENCY = "concurrency", Count, [Clients],
        "operations that can be in flight at once: clients times queue depth";
    IN_FLIGHT = "in-flight", Count, [Clients],
        "operations that count and were in flight when the window ended";
    OFFERED = "offered", PerSecond, [Clients, Neighbours],
        "operations a second that were to start in an open loop";
    DUE = "due", Count, [Clients], "operations that were due in an open loop until the window ended";
    NOT_STARTED = "not-started", Count, [Clients],
        "operations that were due in an open loop and had not started when the window ended";
    BACKLOG = "backlog", Count, [Clients], "the most operations at once that were due and had not started";
    START_DELAY_P99 = "start-delay-p99", Seconds, [Clients],
        "99th percentile of the time between an operation's intended start and its start";
    RATE = "rate", PerSecond, [Neighbours], "requests a second that neighbours got done";
    MEAN_LATENCY = "mean-latency", Seconds, [Neighbours], "mean latency of a neighbour's request";
    DRIVERS = "drivers", Count, [Clients], "threads that the clients ran on";
    CPU = "cpu", Seconds, [Clients, Database, DiskDaemon, Neighbours],
        "processor seconds; neighbours on a virtual disk are the daemon's";
    DRAIN_CPU = "drain-cpu", Seconds, [Database], "processor seconds in the drain";
    DRAIN = "drain", Seconds, [Trial],
        "seconds that the engine took, after the clients had stopped, to write back what it had put off; not \
         of a trial that another one followed after the same preconditioning";
    DRAIN_CUT_OFF = "drain-cut-off", Count, [Trial],
        "1 where the drain was cut off, so that `drain` is a lower bound";
    WRITTEN_BACK = "written-back", Count, [Trial],
        "deferred work that the engine did, in pages, bytes or tables of its own counters";
    CACHE_MISSES = "cache-misses", Count, [Trial],
        "what the engine did not find in its own cache, in pages or blocks of its own \
         counters";
    WARM_UP = "warm-up", Seconds, [Trial],
        "seconds at the start that are unlike the rest by MSER-5, where it can tell";
    RUN_DELAY = "run-delay", Seconds, [Clients, Database, DiskDaemon],
        "seconds that threads were ready to run and had no processor, or none of their quota, all together";
    MEAN_WAIT = "mean-wait", Seconds, [Clients, Database],
        "`run-delay` over how often these threads got a processor: how long it took to run once woken";
    MIGRATIONS = "migrations", Count, [Clients, Database],
        "how often these threads went from one processor to another, where the kernel tells";
    TOGETHER = "together", Share, [Trial],
        "how likely moments of the clients' and of their server's processor time are on the same processor, by \
         five samples a second: 1 for two threads on one, 0 apart, 0.5 for many on two";
    CLIENT_PROCESSORS = "client-processors", Count, [Trial],
        "how many processors the clients' threads were seen on in these samples";
    SERVER_PROCESSORS = "server-processors", Count, [Trial], "the same of their server's";
    BATCH_REFUSED = "batch-refused", Count, [Clients],
        "1 where the system did not let their threads be scheduled as batch work (SCHED_BATCH)";
    FOREIGN_CPU = "foreign-cpu", Seconds, [Machine],
        "processor seconds that processes other than bakeoff's used";
    STEAL = "steal", Seconds, [Machine],
        "processor seconds that other virtual machines had instead of this one";
    MACHINE_WATCHED = "machine-watched", Seconds, [Machine],
        "seconds over which `foreign-cpu` and `steal` were counted";
    PRESSURE_CPU = "pressure-cpu", Share, [Machine],
        "the part of the time that something was ready to run and had no processor";
    PRESSURE_IO = "pressure-io", Share, [Machine],
        "the part of the time that something waited for storage";
    PRESSURE_MEMORY = "pressure-memory", Share, [Machine],
        "the part of the time that something waited for memory";
    READ_CALLS = "read-calls", Bytes, [Database], "bytes asked for in read calls";
    WRITE_CALLS = "write-calls", Bytes, [Database], "bytes given in write calls";
    READ = "read", Bytes, [Database, Disk, Device], "bytes read from storage";
    WRITTEN = "written", Bytes, [Database, Disk, Device],
        "bytes sent to storage; of processes, bytes that the kernel sent or \
         will send for them";
    DRAIN_WRITTEN = "drain-written", Bytes, [Database, Disk, Device], "bytes sent to storage in the drain, as `written`";
    WORK_WRITTEN = "work-written", Bytes, [Trial],
        "bytes that went to the device for the clients' work and the drain; on the machine's own disk the \
         lesser of what the engine's processes wrote and what anybody wrote to the device";
    HOST_WRITES = "host-writes", Count, [Disk], "writes to files that reached the virtual disk: the kernel gathers a trial's small ones";
    HOST_WRITTEN = "host-written", Bytes, [Disk], "bytes of these";
    WAITED_WRITES = "waited-writes", Count, [Disk],
        "those of them that the program waited for one by one: the kernel did not gather them";
    READS = "reads", Count, [Disk], "reads that reached the device, without the neighbours'";
    WRITES = "writes", Count, [Disk],
        "writes that reached the device, the journal's among them, without the neighbours'";
    SYNCS = "syncs", Count, [Disk, Database, Device],
        "fsync, fdatasync and msync of a file, and writes by O_SYNC or O_DSYNC, as the virtual disk or the \
         kernel counts them; of the device flushes, whoever asked";
    FLUSHES = "flushes", Count, [Disk], "flushes of the device's cache";
    DEVICE_LIMIT = "device-limit", PerSecond, [Disk],
        "requests a second that the modelled device serves of what clients ask files for, by its model alone, \
         in a closed loop";
    UTILISATION = "utilisation", Share, [Disk],
        "the part of the time that the device was busy, with the neighbours' requests";
    MODELLED_LATENCY = "modelled-latency", Seconds, [Disk],
        "mean time that the virtual disk's answers took by the model";
    ACHIEVED_LATENCY = "achieved-latency", Seconds, [Disk], "mean time that they took in fact";
    LATENCY_ERROR_MEDIAN = "latency-error-median", Share, [Disk],
        "median of |achieved - modelled| / modelled, of answers that took 1 ms or more by the model";
    LATENCY_ERROR_P99 = "latency-error-p99", Share, [Disk], "its 99th percentile";
    MEMORY_LIMIT = "memory-limit", Bytes, [Database], "the most memory that a group may use, page cache included";
    MEMORY_PEAK = "memory-peak", Bytes, [Database], "the most that it used at once";
    MEMORY_CACHED = "memory-cached", Bytes, [Database], "its files in the page cache when the clients stopped";
    CPU_LIMIT = "cpu-limit", Count, [Database],
        "the processors that a group may use; of a built-in engine the clients' time is in it";
    CPU_PERIODS = "cpu-periods", Count, [Database],
        "periods of 100 ms in which it had something to do";
    CPU_THROTTLED = "cpu-throttled", Count, [Database],
        "those of them in which it had used its quota up";
    CPU_WAITED = "cpu-waited", Seconds, [Database],
        "how long it waited so, summed over processors";
    FAULTS = "faults", Count, [Trial],
        "what the engine's own check and its workload found wrong after the drain: once an image, and once a \
         cell whose clients wrote";
    LOADED = "loaded", Bytes, [Trial],
        "bytes of the rows or the file that were loaded: of all columns, an integer being 8 and a null none";
    SPACE = "space", Bytes, [Trial], "size on disk after the drain";
    SPACE_AT_START = "space-at-start", Bytes, [Trial], "size on disk when the clients started";
    OPENING = "opening", Seconds, [Trial],
        "seconds that the engine took to open after a restart, its caches empty; in the state `cold` alone";
    FIRST_10 = "first-10", Seconds, [Clients],
        "mean latency of the first 10 operations that ended; in the state `cold` alone";
    FIRST_100 = "first-100", Seconds, [Clients], "the same of the first 100";
    FIRST_1000 = "first-1000", Seconds, [Clients], "the same of the first 1,000";
    CONDITIONED = "conditioned", Count, [Clients],
        "operations of the preconditioning; in the state `steady` alone, as the next three";
    CONDITIONING = "conditioning", Seconds, [Trial], "seconds that these took, the disk taking no time";
    TURNED_OVER = "turned-over", Count, [Trial],
        "1 where each kind of deferred work had been through one cycle by then";
    TRIALS_SINCE = "trials-since-conditioning", Count, [Trial],
        "trials that were measured between the preconditioning and this one";
    TRACED_COMMITS = "traced-commits", Count, [Clients],
        "transactions that changed a row and were committed while the disk's requests were traced, as the \
         next eight";
    TRACED_TURNS = "traced-turns", Count, [Trial],
        "how many cycles the slowest kind of deferred work went through meanwhile";
    TRACE = "trace", Bytes, [Disk], "size of the trace";
    PRICED = "priced", Seconds, [Disk],
        "device-seconds a commit by the device's model: all traced requests one after the other, over the commits";
    PRICED_LOG = "priced-log", Seconds, [Disk], "of `priced`: writes and syncs of the engine's log";
    PRICED_READS = "priced-reads", Seconds, [Disk],
        "of `priced`: reads, those of compactions among them";
    PRICED_PUT_OFF = "priced-put-off", Seconds, [Disk],
        "of `priced`: all else, which is deferred work and what the system wrote back";
    PRICED_RATE = "priced-rate", PerSecond, [Disk],
        "commits a second that the device can serve by its model beside its neighbours, one request after the other";
    PRICED_RATE_MOST = "priced-rate-most", PerSecond, [Disk],
        "the same with up to 31 requests that are put off beside each of the log";
    ROUNDS_RANGE = "rounds-range", Share, [Trial],
        "of the rates of five rounds of the window: the highest less the lowest, over their mean; in the \
         state `steady` alone, as the next two";
    ROUNDS_RISE = "rounds-rise", Share, [Trial],
        "by how much the line through these rises, over their mean";
    ROUNDS_ERROR = "rounds-error", Share, [Trial],
        "the standard error of a round's rate, over their mean";
    RISE = "rise", Share, [Trial],
        "by how much the line through the operations a second rises over the window, over their mean; where \
         that has ten full seconds";
    RISE_ERROR = "rise-error", Share, [Trial], "the standard error of the rise";
    RISE_SECONDS = "rise-seconds", Count, [Trial], "the full seconds that the line goes through";
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// A [`Measure`]'s name, or the target's own name of a counter.
    pub name: Cow<'static, str>,
    pub unit: MeasureUnit,
    pub scope: Scope,
    pub value: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Measures(Vec<Reading>);

impl Measures {
    pub fn set(&mut self, measure: &'static Measure, scope: Scope, value: f64) {
        self.put(Reading { name: measure.name.into(), unit: measure.unit, scope, value });
    }

    pub fn set_some(&mut self, measure: &'static Measure, scope: Scope, value: Option<f64>) {
        if let Some(value) = value {
            self.set(measure, scope, value);
        }
    }

    pub fn set_counter(&mut self, name: impl Into<Cow<'static, str>>, value: u64) {
        let (name, unit, scope) = (name.into(), MeasureUnit::Count, Scope::Target);
        self.put(Reading { name, unit, scope, value: value as f64 });
    }

    pub fn put(&mut self, reading: Reading) {
        let same =
            |known: &&mut Reading| (&known.name, &known.scope) == (&reading.name, &reading.scope);
        match self.0.iter_mut().find(same) {
            Some(known) => *known = reading,
            None => self.0.push(reading),
        }
    }

    /// In the measure's unit.
    pub fn get(&self, measure: &Measure, scope: &Scope) -> Option<f64> {
        let same = |known: &&Reading| known.name == measure.name && known.scope == *scope;
        self.0.iter().find(same).map(|reading| reading.value)
    }

    /// [`Measures::get`] of the engine's processes.
    pub fn of_database(&self, measure: &Measure) -> Option<f64> {
        self.get(measure, &Scope::DATABASE)
    }

    /// The share of processors that others had: other processes (`foreign-cpu`) or virtual machines
    /// (`steal`). Old runs do not tell how long these were counted; then `ran_s`, the clients'
    /// time, is used.
    pub fn share_of_others(&self, measure: &Measure, ran_s: f64, processors: u32) -> Option<f64> {
        let of = |measure: &Measure| self.get(measure, &Scope::Machine);
        let watched_s = of(&MACHINE_WATCHED).unwrap_or(ran_s);
        let share = of(measure)? / (watched_s * f64::from(processors.max(1)));
        // The kernel counts in whole ticks.
        Some(share.clamp(0.0, 1.0))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Reading> {
        self.0.iter()
    }

    pub fn counters(&self) -> impl Iterator<Item = (&str, u64)> {
        let own = self.0.iter().filter(|reading| reading.scope == Scope::Target);
        own.map(|reading| (&*reading.name, reading.value as u64))
    }

    /// If both have a reading, the other's is kept.
    pub fn extend(&mut self, other: Self) {
        other.0.into_iter().for_each(|reading| self.put(reading));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_there_once_for_each_scope_and_survives_the_journey() {
        let mut measures = Measures::default();
        measures.set(&CPU, Scope::Clients, 1.0);
        measures.set(&CPU, Scope::DATABASE, 2.0);
        measures.set(&CPU, Scope::Clients, 3.0);
        measures.set_counter("pages flushed", 1 << 52);
        let json = serde_json::to_string(&measures).unwrap();
        let back: Measures = serde_json::from_str(&json).unwrap();
        assert_eq!(back, measures);
        assert_eq!(back.get(&CPU, &Scope::Clients), Some(3.0));
        assert_eq!(back.of_database(&CPU), Some(2.0));
        assert_eq!(back.get(&SPACE, &Scope::Trial), None);
        assert_eq!(back.counters().collect::<Vec<_>>(), [("pages flushed", 1 << 52)]);
        assert_eq!(back.iter().count(), 3);
    }

    #[test]
    fn others_have_at_most_all_processors() {
        let mut measures = Measures::default();
        assert_eq!(measures.share_of_others(&STEAL, 10.0, 2), None);
        measures.set(&FOREIGN_CPU, Scope::Machine, 30.0);
        // Of an earlier version: 30 processor seconds in 10 s can't be.
        assert_eq!(measures.share_of_others(&FOREIGN_CPU, 10.0, 2), Some(1.0));
        assert_eq!(measures.share_of_others(&FOREIGN_CPU, 30.0, 2), Some(0.5));
        measures.set(&MACHINE_WATCHED, Scope::Machine, 20.0);
        assert_eq!(measures.share_of_others(&FOREIGN_CPU, 10.0, 2), Some(0.75));
    }

    #[test]
    fn no_two_measures_share_a_name() {
        let names: std::collections::BTreeSet<_> = MEASURES.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), MEASURES.len());
    }
}
