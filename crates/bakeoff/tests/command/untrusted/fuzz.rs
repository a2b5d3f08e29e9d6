//! Changes made at random from a seed, each case from one of its own: of so many seeds, the same in each
//! run, or in a soak of new ones for a time.
//!
//! `BAKEOFF_FUZZ_SECONDS` says for how long (10 min unless it is said); `BAKEOFF_FUZZ_SEED` repeats one
//! case. What breaks on one is mended, and its seed is kept in `seeds/`, a file for each, which are tried
//! first ever after.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bakeoff_testkit::{PATIENCE, Since};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// What changes are drawn from.
pub type Random = Xoshiro256PlusPlus;

/// How much memory the process of the cases may ask for.
const MEMORY: u64 = 3 << 30;

/// Set in the process that tries the cases.
const CHILD: &str = "BAKEOFF_TEST_FUZZ";

/// Which seeds are tried after those that are kept.
#[derive(Clone, Copy)]
pub enum Extent {
    /// So many, the same in each run: a change is tested by the same cases as the one before it.
    Seeds(u64),
    /// New ones, for as long as the environment says.
    Soak,
}

/// How long a soak is unless the environment says it.
const SOAK_SECONDS: u64 = 600;

/// Tries `case` with one seed after the other. It is done in a process of its own, the test of the
/// name `test` once more, so that what aborts, asks for all memory or never ends is an answer, too.
pub fn run(test: &str, extent: Extent, mut case: impl FnMut(&mut Random, &Path) -> &'static str) {
    if std::env::var_os(CHILD).is_some() {
        return child(test, extent, &mut case);
    }
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--include-ignored", "--exact", test, "--nocapture"])
        .env(CHILD, folder.path())
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let ended = child.wait().unwrap();
    assert!(folder.path().join("seed").exists(), "no case was tried ({ended})");
    if !ended.success() {
        let seed = fs::read_to_string(folder.path().join("seed")).unwrap_or_default();
        panic!(
            "the case of the seed {seed} broke ({ended}); to repeat it: BAKEOFF_FUZZ_SEED={seed} \
             cargo test -p bakeoff --test command -- --ignored --exact {test}; once it is mended, keep \
             the seed: touch crates/bakeoff/tests/command/untrusted/seeds/{}-{seed}",
            kind(test)
        );
    }
}

fn kind(test: &str) -> &str {
    test.rsplit("::").nth(1).unwrap_or(test)
}

fn child(test: &str, extent: Extent, case: &mut dyn FnMut(&mut Random, &Path) -> &'static str) {
    let folder = PathBuf::from(std::env::var_os(CHILD).unwrap());
    let limit = rustix::process::Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    rustix::process::setrlimit(rustix::process::Resource::As, limit).unwrap();
    let cases = Arc::new(AtomicU64::new(0));
    watch(Arc::clone(&cases));
    let mut outcomes = std::collections::BTreeMap::<&str, u64>::new();
    for seed in seeds(kind(test), extent) {
        fs::write(folder.join("seed"), seed.to_string()).unwrap();
        let outcome = case(&mut Random::seed_from_u64(seed), &folder);
        *outcomes.entry(outcome).or_default() += 1;
        cases.fetch_add(1, Ordering::Relaxed);
    }
    println!("{test}: {} cases: {outcomes:?}", cases.load(Ordering::Relaxed));
}

/// The first seed that is the same in each run.
const FIRST: u64 = 1_000_000;

/// The seeds that are kept, then the others.
fn seeds(kind: &str, extent: Extent) -> Box<dyn Iterator<Item = u64>> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    if let Some(seed) = number("BAKEOFF_FUZZ_SEED") {
        return Box::new(std::iter::once(seed));
    }
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command/untrusted/seeds");
    let mut kept: Vec<u64> = fs::read_dir(kept)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_prefix(kind)?.strip_prefix('-')?.parse().ok()
        })
        .collect();
    kept.sort_unstable();
    match extent {
        Extent::Seeds(many) => Box::new(kept.into_iter().chain(FIRST..FIRST + many)),
        Extent::Soak => {
            let seconds = number("BAKEOFF_FUZZ_SECONDS").unwrap_or(SOAK_SECONDS);
            let (first, since) = (RandomState::new().build_hasher().finish(), Since::now());
            println!("{kind}: the kept seeds, then from {first}");
            let new = (0..).map(move |number| first.wrapping_add(number));
            let over = move |_: &u64| since.at_least(Duration::from_secs(seconds));
            Box::new(kept.into_iter().chain(new.take_while(move |seed| !over(seed))))
        }
    }
}

/// Ends the process where one case does not end: a sound one takes some hundredths of a second.
fn watch(cases: Arc<AtomicU64>) {
    std::thread::spawn(move || {
        let (mut seen, mut since) = (0, Since::now());
        loop {
            std::thread::sleep(Duration::from_millis(200));
            let now = cases.load(Ordering::Relaxed);
            if now != seen {
                (seen, since) = (now, Since::now());
            } else if since.at_least(PATIENCE) {
                let _ = writeln!(std::io::stderr(), "a case takes more than {PATIENCE:?}");
                std::process::abort();
            }
        }
    });
}

/// One of several.
pub fn one<T: Clone>(random: &mut Random, of: &[T]) -> T {
    of[random.random_range(0..of.len())].clone()
}

/// Text that does harm where it is believed.
pub const TEXTS: &[&str] = &[
    "",
    " ",
    "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m",
    "\u{202e}desrever\u{2066}\u{200b}\u{feff}",
    "\r\n\r\n\u{8}\u{7f}\0",
    "=cmd|' /C calc'!A0",
    "@SUM(1)\t+1",
    "![x](http://127.0.0.1/x.png)<img src=x onerror=alert(1)>|`a`",
    "javascript:alert(1)\"'></title></style></script><script>alert(1)</script>",
    "ﷺ漢字🙂👩‍👩‍👧e\u{301}\u{301}\u{301}",
    "sqlite@again@again",
    "-9223372036854775808",
    "NaN",
    "{{ 7 * 7 }}{% for x in y %}",
    "%s%n/../../etc/passwd",
];

/// Numbers at the edges.
pub const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "255",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e300",
    "-1e300",
    "1e-300",
    "5e-324",
    "0.0",
    "-0.0",
    "1.7976931348623157e308",
    "1e999",
    "-1e999",
    "0.5",
    "100000",
];
