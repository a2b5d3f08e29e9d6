//! What a job's keys mean as levels of an experiment.

use super::FioProblem;
use super::lines::{FioKey, FioLines};
use super::values::{bytes, number, seconds, size};

/// Keys that say what a job does.
const KNOWN: [&str; 20] = [
    "rw",
    "readwrite",
    "rwmixread",
    "rwmixwrite",
    "bs",
    "blocksize",
    "size",
    "nrfiles",
    "numjobs",
    "iodepth",
    "ioengine",
    "direct",
    "buffered",
    "invalidate",
    "fsync",
    "fdatasync",
    "sync",
    "norandommap",
    "zero_buffers",
    "runtime",
];
/// Others that are read, and others that change nothing here: how fio reports, how it makes its workers, and
/// what bakeoff does anyway.
const ALSO_KNOWN: [&str; 2] = ["rate_iops", "randseed"];
const IDLE: [&str; 8] = [
    "name",
    "description",
    "group_reporting",
    "thread",
    "time_based",
    "end_fsync",
    "refill_buffers",
    "stonewall",
];
/// Keys that name files, and keys that run commands.
const ELSEWHERE: [&str; 3] = ["filename", "directory", "filename_format"];
const COMMANDS: [&str; 3] = ["exec_prerun", "exec_postrun", "ioscheduler"];

/// A job.
pub struct FioJob {
    levels: Vec<(&'static str, String)>,
}

/// The keys of a job while they are read.
struct FioJobReader<'a, 'p> {
    lines: &'a FioLines<'a>,
    problems: &'p mut Vec<FioProblem>,
}

impl FioJob {
    /// Reads it; notes what is wrong.
    pub fn read(lines: &FioLines<'_>, problems: &mut Vec<FioProblem>) -> Self {
        let mut reader = FioJobReader { lines, problems };
        reader.refuse_unknown();
        Self { levels: reader.levels() }
    }

    /// The keys of an experiment, each with its value as TOML writes it.
    pub fn levels(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.levels.iter().map(|(key, value)| (*key, &**value))
    }
}

/// A string as TOML writes it, of letters that need no escape.
fn quoted(text: impl std::fmt::Display) -> String {
    format!("\"{text}\"")
}

impl<'a> FioJobReader<'a, '_> {
    /// The first key of these names.
    fn key(&self, names: &[&str]) -> Option<FioKey<'a>> {
        self.lines.keys.iter().find(|key| names.contains(&key.name)).copied()
    }

    /// What a key says, by a function that reads it; what it has where the job does not say. A value that
    /// can't be read is noted with what is valid.
    fn read<T>(
        &mut self,
        names: &[&str],
        default: T,
        valid: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> T {
        let Some(key) = self.key(names) else { return default };
        // A key alone turns something on.
        let value = key.value.unwrap_or("1");
        match read(value) {
            Some(value) => value,
            None => {
                let what = if value.contains('$') {
                    "bakeoff puts nothing from the environment into a job: write the value"
                        .to_owned()
                } else {
                    format!("`{}={value}` can't be had; valid: {valid}", key.name)
                };
                self.problems.push(key.problem_of_value(what));
                default
            }
        }
    }

    fn switch(&mut self, name: &str, default: bool) -> bool {
        self.read(&[name], default, "0 or 1", |text| match text {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    fn number(&mut self, name: &str, default: u64, most: u64) -> u64 {
        let valid = format!("1 to {most}");
        self.read(&[name], default, &valid, |text| number(text, 1..=most))
    }

    /// Notes that a job lacks a key.
    fn needs(&mut self, names: &[&str], why: &str) {
        if self.key(names).is_none() {
            let what = format!("the job has no `{}`: {why}", names[0]);
            self.problems.push(FioProblem { line: self.lines.job, column: 1, what });
        }
    }

    fn refuse_unknown(&mut self) {
        for key in &self.lines.keys {
            let name = key.name;
            let known = || KNOWN.iter().chain(&ALSO_KNOWN).chain(&IDLE);
            if known().any(|known| *known == name) {
                continue;
            }
            let what = if ELSEWHERE.contains(&name) {
                format!(
                    "bakeoff makes the files itself and touches no others and no device: leave `{name}` \
                     out, and choose the disk by --path DIR or --out DIR"
                )
            } else if COMMANDS.contains(&name) {
                format!(
                    "`{name}` runs a command or changes the system, which bakeoff does not: leave it out"
                )
            } else {
                let all: Vec<&str> = known().copied().collect();
                format!("`{name}` is not a key that bakeoff knows; valid: {}", all.join(", "))
            };
            self.problems.push(key.problem(what));
        }
    }

    fn levels(&mut self) -> Vec<(&'static str, String)> {
        let jobs = self.number("numjobs", 1, 1024);
        let files = self.number("nrfiles", 1, 1024 / jobs);
        self.needs(&["size"], "say how large its files are, as size=1g");
        let valid = "bytes, as 64m or 16g, a multiple of 4k; of all jobs together 1m to 64t";
        let each = self.read(&["size"], 1 << 20, valid, |text| {
            let all =
                |each: u64| if each.is_multiple_of(4096) { each.checked_mul(jobs) } else { None };
            bytes(text)
                .filter(|each| all(*each).is_some_and(|it| (1_u64 << 20..=64 << 40).contains(&it)))
        });
        let block = self.read(&["bs", "blocksize"], 4096, "4k to 16m, a multiple of 4k", |text| {
            let valid = |it: &u64| it.is_multiple_of(4096) && (4096..=16 << 20).contains(it);
            bytes(text).filter(valid)
        });
        self.needs(
            &["runtime"],
            "bakeoff measures for a time, as runtime=30, and not for a number of bytes",
        );
        let seconds = self.read(&["runtime"], 10, "1 second to a day", |text| {
            seconds(text).filter(|seconds| (1..=86_400).contains(seconds))
        });
        let (pattern, is_mixed, in_order) = self.pattern();
        let (calls, depth) = self.engine();
        let is_direct = self.is_direct();
        let zeros = self.switch("zero_buffers", false);
        // By itself fio asks for each block once.
        let once = !self.switch("norandommap", false) && !in_order;
        let is_cold = self.switch("invalidate", true) && !is_direct;
        let seed = self.number("randseed", 1, i64::MAX as u64);
        let mut levels = vec![
            ("pattern", quoted(pattern)),
            ("block", quoted(size(block))),
            ("size", quoted(size(each * jobs))),
            ("files", quoted(files * jobs)),
            ("clients", jobs.to_string()),
            ("depth", quoted(depth)),
            ("calls", quoted(calls)),
            ("access", quoted(if is_direct { "direct" } else { "buffered" })),
            ("state", quoted(if is_cold { "cold" } else { "warm" })),
            ("sync", quoted(self.sync())),
            ("offsets", quoted(if once { "once" } else { "uniform" })),
            ("data", quoted(if zeros { "zeros" } else { "random" })),
            ("seconds", seconds.to_string()),
            ("seed", seed.to_string()),
        ];
        levels.extend(self.rate(jobs, is_mixed).map(|rate| ("rate", quoted(rate))));
        levels
    }

    /// What is asked for; whether that is a mix, and whether it is in order.
    fn pattern(&mut self) -> (String, bool, bool) {
        self.needs(&["rw", "readwrite"], "say what it does, as rw=randread");
        let valid = "read, write, rw, randread, randwrite, randrw";
        let pattern = self.read(&["rw", "readwrite"], "randread", valid, |text| match text {
            "read" => Some("seqread"),
            "write" => Some("seqwrite"),
            "rw" | "readwrite" => Some("seqrw"),
            "randread" => Some("randread"),
            "randwrite" => Some("randwrite"),
            "randrw" => Some("randrw"),
            _ => None,
        });
        let share = |text: &str| number(text, 1..=99);
        let writes = self.read(&["rwmixwrite"], 50, "1 to 99", share);
        let reads = self.read(&["rwmixread"], 100 - writes, "1 to 99", share);
        let is_mixed = pattern.ends_with("rw");
        let name = if is_mixed { format!("{pattern}:{reads}") } else { pattern.to_owned() };
        (name, is_mixed, pattern.starts_with("seq"))
    }

    /// The calls, and the requests in flight: more than one are io_uring's alone.
    fn engine(&mut self) -> (&'static str, u64) {
        let valid = "sync, psync, io_uring";
        let calls = self.read(&["ioengine"], "plain", valid, |text| match text {
            "sync" | "psync" => Some("plain"),
            "io_uring" => Some("io_uring"),
            _ => None,
        });
        let depth = self.number("iodepth", 1, 1024);
        (calls, if calls == "plain" { 1 } else { depth })
    }

    fn is_direct(&mut self) -> bool {
        let is_direct = self.switch("direct", false);
        match self.key(&["buffered"]) {
            Some(key) if self.key(&["direct"]).is_some() => {
                self.problems.push(key.problem("`direct` says it already: leave one out"));
                is_direct
            }
            Some(_) => !self.switch("buffered", true),
            None => is_direct,
        }
    }

    fn sync(&mut self) -> String {
        let writes = |text: &str| number(text, 0..=1_000_000);
        let valid = "0 to 1000000 writes";
        let rules = [
            ("fsync", self.read(&["fsync"], 0, valid, writes)),
            ("fdatasync", self.read(&["fdatasync"], 0, valid, writes)),
        ];
        let dsync = self.read(&["sync"], false, "none, dsync", |text| match text {
            "0" | "none" => Some(false),
            "dsync" => Some(true),
            _ => None,
        });
        let mut given = rules.iter().filter(|(_, writes)| *writes > 0);
        let first = given.next();
        if let Some((name, _)) = given.next().or(first.filter(|_| dsync))
            && let Some(key) = self.key(&[*name])
        {
            let what = "`fsync`, `fdatasync` and `sync=dsync` exclude each other: leave one";
            self.problems.push(key.problem(what));
        }
        match first {
            Some((name, writes)) => format!("{name}:{writes}"),
            None if dsync => "dsync".into(),
            None => "never".into(),
        }
    }

    /// Requests a second of all jobs together.
    fn rate(&mut self, jobs: u64, is_mixed: bool) -> Option<String> {
        let key = self.key(&["rate_iops"])?;
        if is_mixed {
            let what = "fio limits each kind of a mix by itself, and bakeoff all requests together: leave \
                        `rate_iops` out, and give --rate";
            self.problems.push(key.problem(what));
            return None;
        }
        let rate = self.number("rate_iops", 1, 1_000_000);
        Some(format!("{}/s", rate * jobs))
    }
}
