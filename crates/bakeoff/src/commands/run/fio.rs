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

use bakeoff_experiment::{MOST_SHOWN, Preset, explain_unshown};
use bakeoff_workloads::FileKind;

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
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("can't read `{path}`: {error}"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("`{path}` is over {MOST_BYTES} bytes long: it can't be a job file"));
    }
    if let Some(kind) = FileKind::from_head(&bytes) {
        return Err(format!("`{path}` is {}", kind.in_words("")));
    }
    // Comments can be in any encoding; no key is more than ASCII.
    let text = String::from_utf8_lossy(&bytes);
    let toml = translate_job(text.trim_start_matches('\u{feff}'), &experiment_name(path))
        .map_err(|problems| format_problems(path, &problems))?;
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

fn format_problems(path: &str, problems: &[FioProblem]) -> String {
    let line = |it: &FioProblem| format!("{path}:{}:{}: {}", it.line, it.column, it.what);
    let shown = problems.iter().take(MOST_SHOWN).map(line);
    shown.chain(explain_unshown(problems.len())).collect::<Vec<_>>().join("\n")
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
    fn of_many_mistakes_the_first_are_shown() {
        let keys: String = (0..4_000).map(|number| format!("key{number}=1\n")).collect();
        let problems = translate_job(&format!("[j]\n{keys}"), "job").expect_err("no key is known");
        let said = format_problems("j.fio", &problems);
        assert!(said.lines().count() == 21 && said.contains("`key0`"), "{said}");
        assert!(said.ends_with(&format!("{} mistakes more are not shown", problems.len() - 20)));
    }

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
        wrong(&job("rwmixreed=70"), 5, 1, "rwmixread, bs");
        wrong(&job("ioengine=mmap"), 5, 10, "psync");
        // The later line holds.
        wrong(&job("rw=trim"), 5, 4, "valid: read, write");
        wrong(&job("bs=5k"), 5, 4, "a multiple of 4k");
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
    }

    #[test]
    fn a_setting_that_is_given_twice_has_the_later_value_whatever_its_name() {
        let has = |lines: &str, key: &str, value: &str| {
            has(&format!("{lines}\nsize=64m\nruntime=30\n"), &[(key, value)]);
        };
        for (lines, pattern) in [
            ("[j]\nrw=randrw\nrwmixread=70\nrwmixwrite=70", "randrw:30"),
            ("[j]\nrw=randrw\nrwmixwrite=70\nrwmixread=70", "randrw:70"),
            ("[global]\nrwmixread=70\n[j]\nrw=randrw\nrwmixwrite=40", "randrw:60"),
            ("[global]\nrwmixwrite=40\n[j]\nrw=randrw\nrwmixread=90", "randrw:90"),
            ("[j]\nrw=randread\nrw=write", "seqwrite"),
            ("[global]\nreadwrite=read\n[j]\nrw=randwrite", "randwrite"),
            ("[global]\nrw=read\n[global2]\nreadwrite=randread\n[j]", "randread"),
        ] {
            has(lines, "pattern", pattern);
        }
        for (more, key, value) in [
            ("bs=4k\nblocksize=64k", "block", "64K"),
            ("direct=1\nbuffered=1", "access", "buffered"),
            ("buffered=1\ndirect=1", "access", "direct"),
            ("direct=1\nbuffered=0", "access", "direct"),
            ("nrfiles=2\nnr_files=3", "files", "3"),
            ("runtime=9\ntimeout=1M", "seconds", "30"),
            ("iodepth=1\niodepth=1k\nioengine=io_uring", "depth", "1024"),
            // A [global] is for the jobs below it.
            ("bs=8k\n[global]\nbs=64k\nverify=md5\n[j]", "block", "8K"),
        ] {
            let lines = match more.strip_suffix("\n[j]") {
                Some(more) => format!("[j]\nrw=read\nsize=64m\nruntime=30\n{more}"),
                None => {
                    format!("[global]\n{}\n[j]\nrw=read", more.replacen('\n', "\n[global]\n", 1))
                }
            };
            has(&lines, key, value);
        }
    }

    #[test]
    fn comments_behind_values_and_sections_are_dropped() {
        let lines = "[j] ; name\nrw=randread ; why\nbs=8k # pages\nsize=64m;\nruntime=30#s\n";
        has(lines, &[("pattern", "randread"), ("block", "8K"), ("size", "64M"), ("seconds", "30")]);
    }

    /// The one thing that is said of a text.
    fn only(text: &str) -> String {
        match &translate_job(text, "job").expect_err(text)[..] {
            [one] => format!("{}:{}: {}", one.line, one.column, one.what),
            all => panic!("{text}: {all:?}"),
        }
    }

    #[test]
    fn one_cause_is_told_once() {
        let two = |more: &str, second: &str| {
            let each = "ioengine=psync\nrw=read\nbs=1m\nverify=md5\n";
            only(&format!("[global]\nsize=64m\n{more}[r]\n{each}[w]\n{each}{second}"))
        };
        for (said, how) in [
            (two("", ""), "at once"),
            (two("", "stonewall=0"), "at once"),
            (two("", "stonewall"), "one after the other"),
            (two("wait_for_previous\n", ""), "one after the other"),
        ] {
            assert!(said.starts_with("8:1: ") || said.starts_with("9:1: "), "{said}");
            assert!(said.contains(&format!("runs the 2 jobs of this file {how}")), "{said}");
        }
        for (text, said) in [
            ("size=1m\nrw=read\n[job]\nrw=read\n", "1:1: a key stands before the first section"),
            ("size=1m\nrw=read\n", "1:1: a key stands before the first section"),
            ("[job\nrw=read\n", "1:1: a section ends with `]`"),
            ("[global\nbs=4k\n[job]\nrw=read\n", "1:1: a section ends with `]`"),
            ("[global]\nrw=read\n", "1:1: there is no job"),
            ("", "1:1: there is no job"),
            // The size of all jobs is not known without their number.
            ("[j]\nrw=read\nruntime=1\nsize=512k\nnumjobs=0x4\nnrfiles=9\n", "5:9: `numjobs=0x4`"),
        ] {
            assert!(only(text).starts_with(said), "{text}: {}", only(text));
        }
    }

    #[test]
    fn a_form_that_bakeoff_does_not_take_is_told_with_what_fio_means_by_it() {
        for (line, said) in [
            ("size=64MiB", "write 64m; fio itself takes MiB for 10^6 bytes"),
            ("size=64Mi", "write 64m; fio takes Mi for 2^20 bytes, as it does m"),
            ("bs=4KiB", "write 4k; fio itself takes KiB for 10^3 bytes"),
            ("bs=0x1000", "write 4096; fio takes what begins with 0x for hexadecimal"),
            ("bs=0x1001", "bakeoff does not; valid: 4k to 16m"),
            ("bs=4k,8k", "write 4k; bakeoff has one value for reads and writes"),
            ("rate_iops=100,50", "write 100; bakeoff has one value"),
            ("runtime=1500ms", "write 2; bakeoff takes whole seconds"),
            ("runtime=1.5", "fio drops what follows the point"),
            ("size=1.5g", "write a whole number; valid: bytes, as 64m"),
            ("size=80%", "bakeoff takes no percentage; valid: bytes"),
            ("iodepth=0x8", "write 8; fio takes"),
            ("bs=5k", "valid: 4k to 16m, a multiple of 4k"),
        ] {
            let said_of = only(&format!("[j]\nrw=read\nsize=64m\nruntime=3\n{line}\n"));
            assert!(said_of.starts_with("5:") && said_of.contains(said), "{said_of}");
        }
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
        let pieces = [
            "[job]",
            "[",
            "]",
            "rw",
            "=",
            "randread",
            "\n",
            ";",
            "size=1m",
            "\u{e9}",
            "$",
            " ",
            "[global]",
            "rwmixread=7",
            "rwmixwrite=0x7",
            "buffered",
            "direct=1",
            "#",
            "\nstonewall",
            "4KiB",
            "4k,8k",
            "runtime=15\u{e9}ms",
            "0x",
        ];
        let mut random = bakeoff_experiment::random::SplitMix64::new(4);
        for _ in 0..20_000 {
            let text: String =
                (0..random.below(12)).map(|_| pieces[random.below(pieces.len())]).collect();
            let done = translate_job(&text, "job");
            assert!(done.is_ok() || done.is_err_and(|problems| !problems.is_empty()));
        }
    }
}
