//! Turns the keys of a job into levels of an experiment.

use super::FioProblem;
use super::lines::{FioKey, FioLines, SAME_SETTINGS, find_setting};
use super::values::{
    UnknownForm, explain_form, format_size, parse_bytes, parse_number, parse_seconds,
};

/// Further names of some are in [`SAME_SETTINGS`].
const KNOWN: [&str; 16] = [
    "rw",
    "rwmixread",
    "bs",
    "size",
    "nrfiles",
    "numjobs",
    "iodepth",
    "ioengine",
    "direct",
    "invalidate",
    "fsync",
    "fdatasync",
    "sync",
    "norandommap",
    "zero_buffers",
    "runtime",
];
/// Keys without effect here: reports, how workers are made, and what bakeoff always does.
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
const ELSEWHERE: [&str; 3] = ["filename", "directory", "filename_format"];
const COMMANDS: [&str; 3] = ["exec_prerun", "exec_postrun", "ioscheduler"];

pub struct FioJob {
    levels: Vec<(&'static str, String)>,
}

struct FioJobReader<'a, 'p> {
    lines: &'a FioLines<'a>,
    problems: &'p mut Vec<FioProblem>,
}

impl FioJob {
    pub fn read_job(lines: &FioLines<'_>, problems: &mut Vec<FioProblem>) -> Self {
        let mut reader = FioJobReader { lines, problems };
        reader.refuse_unknown();
        Self { levels: reader.read_levels() }
    }

    pub fn to_levels(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.levels.iter().map(|(key, value)| (*key, &**value))
    }
}

fn quote_toml(text: impl std::fmt::Display) -> String {
    format!("\"{text}\"")
}

/// Says why a value can't be had, and what could be; `takes` says whether another could.
fn explain_value(value: &str, valid: &str, takes: impl Fn(&str) -> bool) -> String {
    if value.contains('$') {
        return "bakeoff puts nothing from the environment into a job: write the value".into();
    }
    match explain_form(value) {
        None => format!("valid: {valid}"),
        Some(UnknownForm { instead: Some(other), why }) if takes(&other) => {
            format!("write {other}; {why}")
        }
        Some(UnknownForm { why, .. }) => format!("{why}; valid: {valid}"),
    }
}

impl<'a> FioJobReader<'a, '_> {
    fn find_key(&self, setting: &str) -> Option<FioKey<'a>> {
        self.lines.keys.iter().find(|key| find_setting(key.name) == setting).copied()
    }

    /// Returns the default if the key is absent; notes a value that can't be read.
    fn read_key<T>(
        &mut self,
        setting: &str,
        default: T,
        valid: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> T {
        let Some(key) = self.find_key(setting) else { return default };
        // A key without a value turns something on.
        let value = key.value.unwrap_or("1");
        match read(value) {
            Some(value) => value,
            None => {
                let takes = |other: &str| read(other).is_some();
                let why = explain_value(value, valid, takes);
                let what = format!("`{}={value}` can't be had; {why}", key.name);
                self.problems.push(key.problem_of_value(what));
                default
            }
        }
    }

    fn read_switch(&mut self, name: &str, default: bool) -> bool {
        self.read_key(name, default, "0 or 1", |text| match text {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    fn read_number(&mut self, name: &str, default: u64, most: u64) -> u64 {
        let valid = format!("1 to {most}");
        self.read_key(name, default, &valid, |text| parse_number(text, 1..=most))
    }

    fn require_key(&mut self, setting: &str, why: &str) {
        if self.find_key(setting).is_none() {
            let what = format!("the job has no `{setting}`: {why}");
            self.problems.push(FioProblem { line: self.lines.job, column: 1, what });
        }
    }

    fn refuse_unknown(&mut self) {
        for key in &self.lines.keys {
            let name = key.name;
            let further = SAME_SETTINGS.iter().map(|names| &names[1]);
            let known = || KNOWN.iter().chain(&ALSO_KNOWN).chain(&IDLE).chain(further.clone());
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
            self.problems.push(key.name_problem(what));
        }
    }

    fn read_levels(&mut self) -> Vec<(&'static str, String)> {
        let known = self.problems.len();
        let jobs = self.read_number("numjobs", 1, 1024);
        // Limits of all jobs together say nothing while their number is not known.
        let counted = (self.problems.len() == known).then_some(jobs);
        let files = self.read_files(counted);
        self.require_key("size", "say how large its files are, as size=1g");
        let each = self.read_size(counted);
        let block = self.read_key("bs", 4096, "4k to 16m, a multiple of 4k", |text| {
            let valid = |it: &u64| it.is_multiple_of(4096) && (4096..=16 << 20).contains(it);
            parse_bytes(text).filter(valid)
        });
        self.require_key(
            "runtime",
            "bakeoff measures for a time, as runtime=30, and not for a number of bytes",
        );
        let valid = "whole seconds, 1 second to a day, as 30, 30s, 5m or 1h";
        let seconds = self.read_key("runtime", 10, valid, |text| {
            parse_seconds(text).filter(|seconds| (1..=86_400).contains(seconds))
        });
        let (pattern, is_mixed, in_order) = self.read_pattern();
        let (calls, depth) = self.read_engine();
        let is_direct = self.is_direct();
        let zeros = self.read_switch("zero_buffers", false);
        // By default fio asks for each block once.
        let once = !self.read_switch("norandommap", false) && !in_order;
        let is_cold = self.read_switch("invalidate", true) && !is_direct;
        let seed = self.read_number("randseed", 1, i64::MAX as u64);
        let mut levels = vec![
            ("pattern", quote_toml(pattern)),
            ("block", quote_toml(format_size(block))),
            ("size", quote_toml(format_size(each * jobs))),
            ("files", quote_toml(files * jobs)),
            ("clients", jobs.to_string()),
            ("depth", quote_toml(depth)),
            ("calls", quote_toml(calls)),
            ("access", quote_toml(if is_direct { "direct" } else { "buffered" })),
            ("state", quote_toml(if is_cold { "cold" } else { "warm" })),
            ("sync", quote_toml(self.read_sync())),
            ("offsets", quote_toml(if once { "once" } else { "uniform" })),
            ("data", quote_toml(if zeros { "zeros" } else { "random" })),
            ("seconds", seconds.to_string()),
            ("seed", seed.to_string()),
        ];
        levels.extend(self.read_rate(jobs, is_mixed).map(|rate| ("rate", quote_toml(rate))));
        levels
    }

    /// Returns the files of each job.
    fn read_files(&mut self, jobs: Option<u64>) -> u64 {
        let most = 1024 / jobs.unwrap_or(1);
        let valid = match jobs {
            Some(jobs @ 2..) => format!("1 to {most}: the {jobs} jobs have 1024 files at most"),
            _ => format!("1 to {most}"),
        };
        self.read_key("nrfiles", 1, &valid, |text| parse_number(text, 1..=most))
    }

    /// Returns the bytes of each job's files.
    fn read_size(&mut self, jobs: Option<u64>) -> u64 {
        let valid = "bytes, as 64m or 16g, a multiple of 4k; of all jobs together 1m to 64t";
        let fits = |each: &u64| {
            let all = jobs.is_none_or(|jobs| {
                each.checked_mul(jobs).is_some_and(|all| (1_u64 << 20..=64 << 40).contains(&all))
            });
            all && each.is_multiple_of(4096)
        };
        self.read_key("size", 1 << 20, valid, |text| parse_bytes(text).filter(fits))
    }

    /// Returns the pattern, whether it is a mix, and whether it is in order.
    fn read_pattern(&mut self) -> (String, bool, bool) {
        self.require_key("rw", "say what it does, as rw=randread");
        let valid = "read, write, rw, randread, randwrite, randrw";
        let pattern = self.read_key("rw", "randread", valid, |text| match text {
            "read" => Some("seqread"),
            "write" => Some("seqwrite"),
            "rw" | "readwrite" => Some("seqrw"),
            "randread" => Some("randread"),
            "randwrite" => Some("randwrite"),
            "randrw" => Some("randrw"),
            _ => None,
        });
        let share = |text: &str| parse_number(text, 1..=99);
        let is_of_writes = self.find_key("rwmixread").is_some_and(|it| it.name == "rwmixwrite");
        let share = self.read_key("rwmixread", 50, "1 to 99", share);
        let reads = if is_of_writes { 100 - share } else { share };
        let is_mixed = pattern.ends_with("rw");
        let name = if is_mixed { format!("{pattern}:{reads}") } else { pattern.to_owned() };
        (name, is_mixed, pattern.starts_with("seq"))
    }

    /// Returns the system calls and the requests in flight: only io_uring has more than one.
    fn read_engine(&mut self) -> (&'static str, u64) {
        let valid = "sync, psync, io_uring";
        let calls = self.read_key("ioengine", "plain", valid, |text| match text {
            "sync" | "psync" => Some("plain"),
            "io_uring" => Some("io_uring"),
            _ => None,
        });
        let depth = self.read_number("iodepth", 1, 1024);
        (calls, if calls == "plain" { 1 } else { depth })
    }

    fn is_direct(&mut self) -> bool {
        let is_negated = self.find_key("direct").is_some_and(|key| key.name == "buffered");
        self.read_switch("direct", is_negated) != is_negated
    }

    fn read_sync(&mut self) -> String {
        let writes = |text: &str| parse_number(text, 0..=1_000_000);
        let valid = "0 to 1000000 writes";
        let rules = [
            ("fsync", self.read_key("fsync", 0, valid, writes)),
            ("fdatasync", self.read_key("fdatasync", 0, valid, writes)),
        ];
        let dsync = self.read_key("sync", false, "none, dsync", |text| match text {
            "0" | "none" => Some(false),
            "dsync" => Some(true),
            _ => None,
        });
        let mut given = rules.iter().filter(|(_, writes)| *writes > 0);
        let first = given.next();
        if let Some((name, _)) = given.next().or(first.filter(|_| dsync))
            && let Some(key) = self.find_key(name)
        {
            let what = "`fsync`, `fdatasync` and `sync=dsync` exclude each other: leave one";
            self.problems.push(key.name_problem(what));
        }
        match first {
            Some((name, writes)) => format!("{name}:{writes}"),
            None if dsync => "dsync".into(),
            None => "never".into(),
        }
    }

    fn read_rate(&mut self, jobs: u64, is_mixed: bool) -> Option<String> {
        let key = self.find_key("rate_iops")?;
        if is_mixed {
            let what = "fio limits each kind of a mix by itself, and bakeoff all requests together: leave \
                        `rate_iops` out, and give --rate";
            self.problems.push(key.name_problem(what));
            return None;
        }
        let rate = self.read_number("rate_iops", 1, 1_000_000);
        Some(format!("{}/s", rate * jobs))
    }
}
