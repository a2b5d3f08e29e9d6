//! Reads fio's job files as experiments of the workload `fileio`. An unknown key is refused: a job
//! that runs differently than in fio is worse than none.
//!
//! Keys as in fio(1), version 3.33.

mod job;
mod lines;
mod values;

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use bakeoff_experiment::Preset;

use self::job::FioJob;
use self::lines::FioLines;

const MOST_BYTES: u64 = 1 << 20;

/// An error in a job file, with line and column, both from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FioProblem {
    line: usize,
    column: usize,
    what: String,
}

pub fn is_job_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "fio")
}

pub fn read_job_file(path: &str) -> Result<Preset, String> {
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text));
    read.map_err(|error| format!("can't read `{path}`: {error}"))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("`{path}` is over {MOST_BYTES} bytes long: it can't be a job file"));
    }
    let toml = translate_job(&text, &experiment_name(path)).map_err(|problems| {
        let line = |it: &FioProblem| format!("{path}:{}:{}: {}", it.line, it.column, it.what);
        problems.iter().map(line).collect::<Vec<_>>().join("\n")
    })?;
    // Names of presets live as long as the program, and a command reads one job file.
    Ok(Preset { name: path.to_owned().leak(), toml: toml.leak() })
}

fn experiment_name(path: &str) -> String {
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    let name: String = stem
        .chars()
        .map(
            |letter| {
                if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '-' }
            },
        )
        .take(100)
        .collect();
    if name.is_empty() { "job".to_owned() } else { name }
}

fn translate_job(text: &str, name: &str) -> Result<String, Vec<FioProblem>> {
    let mut problems = Vec::new();
    let lines = FioLines::read_lines(text, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let job = FioJob::read_job(&lines, &mut problems);
    if !problems.is_empty() {
        problems.sort();
        return Err(problems);
    }
    let mut toml = format!("name = \"{name}\"\nworkload = \"fileio\"\n");
    for (key, value) in job.to_levels() {
        let _ = writeln!(toml, "{key} = {value}");
    }
    Ok(toml)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of an experiment that a job becomes.
    fn keys(text: &str) -> toml::Table {
        let toml = translate_job(text, "job").unwrap_or_else(|problems| panic!("{problems:?}"));
        toml.parse().unwrap()
    }

    fn has(text: &str, expected: &[(&str, &str)]) {
        let keys = keys(text);
        for (key, value) in expected {
            let found = keys.get(*key).map(|it| it.as_str().map_or(it.to_string(), Into::into));
            assert_eq!(found.as_deref(), Some(*value), "{key} of {text}");
        }
    }

    /// Where something is wrong, and words of what is said of it.
    fn wrong(text: &str, line: usize, column: usize, words: &str) {
        let problems = translate_job(text, "job").expect_err(text);
        let is_it =
            |it: &FioProblem| (it.line, it.column) == (line, column) && it.what.contains(words);
        assert!(problems.iter().any(is_it), "{text}: {problems:?}");
    }

    const DATABASE: &str = "\
; pages of a database
[global]
ioengine=io_uring
direct=1
runtime=1m
time_based

[pages]
rw=randrw
rwmixread=70
bs=16k
size=1g
numjobs=4
iodepth=8
fdatasync=1
norandommap
";

    #[test]
    fn a_job_becomes_the_same_requests_by_as_many_clients() {
        has(
            DATABASE,
            &[
                ("workload", "fileio"),
                ("pattern", "randrw:70"),
                ("block", "16K"),
                // Each of fio's jobs has a file of its own.
                ("size", "4G"),
                ("files", "4"),
                ("clients", "4"),
                ("depth", "8"),
                ("calls", "io_uring"),
                ("access", "direct"),
                ("sync", "fdatasync:1"),
                ("offsets", "uniform"),
                ("seconds", "60"),
                ("data", "random"),
            ],
        );
    }

    #[test]
    fn what_a_job_does_not_say_is_as_fio_has_it() {
        let least = "[job]\nrw=randread\nsize=64m\nruntime=30\n";
        let expected = [
            ("block", "4K"),
            ("calls", "plain"),
            ("depth", "1"),
            ("clients", "1"),
            // Through the page cache, which is emptied first, each block once.
            ("access", "buffered"),
            ("state", "cold"),
            ("offsets", "once"),
            ("sync", "never"),
        ];
        has(least, &expected);
        has("[job]\nrw=read\nsize=64m\nruntime=30\ninvalidate=0\n", &[("state", "warm")]);
        has(
            "[job]\nrw=write\nsize=64m\nruntime=30\nrate_iops=50\nnumjobs=2\n",
            &[("rate", "100/s")],
        );
        // A plain call is one request in flight, whatever the depth says.
        has("[job]\nrw=read\nsize=64m\nruntime=30\niodepth=16\n", &[("depth", "1")]);
    }

    #[test]
    fn keys_that_are_not_known_are_refused_by_name_at_their_place() {
        let job = |more: &str| format!("[job]\nrw=randread\nsize=64m\nruntime=30\n{more}\n");
        wrong(&job("  verify=crc32c"), 5, 3, "`verify` is not a key that bakeoff knows");
        wrong(&job("rwmixreed=70"), 5, 1, "rwmixread, rwmixwrite");
        wrong(&job("ioengine=mmap"), 5, 10, "psync");
        wrong(&job("rw=trim"), 5, 1, "`rw` stands in line 2 already");
        wrong(&job("bs=5k"), 5, 4, "a multiple of 4k");
        wrong(&job("bs=4ki"), 5, 4, "4k");
        wrong(&job("numjobs=0"), 5, 9, "1 to 1024");
        wrong(&job("fsync=1\nfdatasync=1"), 6, 1, "`fsync`");
        wrong(&job("sync=1"), 5, 6, "dsync");
        wrong(&job("rate_iops=1,2"), 5, 11, "rate_iops");
        wrong("[job]\nrw=trim\nsize=64m\nruntime=30\n", 2, 4, "randread");
        wrong("[job]\nrw=randrw\nsize=64m\nruntime=30\nrate_iops=10\n", 5, 1, "each kind");
    }

    #[test]
    fn files_elsewhere_devices_includes_and_shells_are_refused_with_what_to_do() {
        let job = |more: &str| format!("[job]\nrw=randread\nsize=64m\nruntime=30\n{more}\n");
        wrong(&job("filename=/dev/sdb"), 5, 1, "--out");
        wrong(&job("directory=/mnt"), 5, 1, "--out");
        wrong(&job("include other.fio"), 5, 1, "includes");
        wrong(&job("exec_prerun=rm -rf /"), 5, 1, "a command");
        wrong(&job("bs=${BLOCK}"), 5, 4, "environment");
        wrong("size=1m\n[job]\nrw=read\n", 1, 1, "before the first section");
        wrong("[one]\nrw=read\n[two]\nrw=read\n", 3, 1, "one job");
        wrong("[job\nrw=read\n", 1, 1, "`]`");
        wrong("[global]\nrw=read\n", 1, 1, "no job");
        wrong("", 1, 1, "no job");
    }

    #[test]
    fn a_job_says_how_large_and_how_long() {
        wrong("[job]\nrw=read\nruntime=3\n", 1, 1, "no `size`");
        wrong("[job]\nrw=read\nsize=64k\nruntime=3\n", 3, 6, "1m to 64t");
        wrong("[job]\nrw=read\nsize=1g\nruntime=3\nnumjobs=32\nnrfiles=64\n", 6, 9, "1 to 32");
        wrong("[job]\nrw=read\nsize=1m\n", 1, 1, "no `runtime`");
        wrong("[job]\nsize=1m\nruntime=3\n", 1, 1, "no `rw`");
    }

    #[test]
    fn names_are_made_of_the_files() {
        assert_eq!(experiment_name("/tmp/my job.fio"), "my-job");
        assert_eq!(experiment_name("x.fio"), "x");
        assert!(is_job_file("a/b.fio") && !is_job_file("fio") && !is_job_file("b.fio.toml"));
    }

    #[test]
    fn any_text_is_an_experiment_or_told_what_is_wrong_with() {
        let pieces =
            ["[job]", "[", "]", "rw", "=", "randread", "\n", ";", "size=1m", "\u{e9}", "$", " "];
        let mut random = bakeoff_experiment::random::SplitMix64::new(4);
        for _ in 0..20_000 {
            let text: String =
                (0..random.below(12)).map(|_| pieces[random.below(pieces.len())]).collect();
            let done = translate_job(&text, "job");
            assert!(done.is_ok() || done.is_err_and(|problems| !problems.is_empty()));
        }
    }
}
