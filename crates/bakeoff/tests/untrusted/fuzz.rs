//! Changes made at random from a seed, for a bounded time.
//!
//! `BAKEOFF_FUZZ_SECONDS` says for how long (20 s unless it is said); `BAKEOFF_FUZZ_SEED` repeats one
//! case. Each case has a seed of its own. What breaks on one is mended, and its seed is kept in
//! `seeds/`, a file for each, which are tried first ever after.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt, SeedableRng};

/// What changes are drawn from.
pub type Random = Xoshiro256PlusPlus;

/// How long a case may take: a sound one takes some hundredths of a second.
const A_CASE: Duration = Duration::from_secs(20);

/// How much memory the process of the cases may ask for.
const MEMORY: u64 = 3 << 30;

/// Set in the process that tries the cases.
const CHILD: &str = "BAKEOFF_TEST_FUZZ";

/// Tries `case` with one seed after the other. It is done in a process of its own, the test of the
/// name `test` once more, so that what aborts, asks for all memory or never ends is an answer, too.
pub fn run(test: &str, mut case: impl FnMut(&mut Random, &Path) -> &'static str) {
    if std::env::var_os(CHILD).is_some() {
        return child(test, &mut case);
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
             cargo test -p bakeoff --test untrusted {test} -- --ignored; once it is mended, keep the seed: \
             touch crates/bakeoff/tests/untrusted/seeds/{}-{seed}",
            kind(test)
        );
    }
}

fn kind(test: &str) -> &str {
    test.split("::").next().unwrap_or(test)
}

fn child(test: &str, case: &mut dyn FnMut(&mut Random, &Path) -> &'static str) {
    let folder = PathBuf::from(std::env::var_os(CHILD).unwrap());
    let limit = rustix::process::Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    rustix::process::setrlimit(rustix::process::Resource::As, limit).unwrap();
    let cases = Arc::new(AtomicU64::new(0));
    watch(Arc::clone(&cases));
    let began = Instant::now();
    let mut outcomes = std::collections::BTreeMap::<&str, u64>::new();
    let mut slowest = Duration::ZERO;
    for seed in seeds(kind(test), began) {
        fs::write(folder.join("seed"), seed.to_string()).unwrap();
        let at = Instant::now();
        let outcome = case(&mut Random::seed_from_u64(seed), &folder);
        slowest = slowest.max(at.elapsed());
        *outcomes.entry(outcome).or_default() += 1;
        cases.fetch_add(1, Ordering::Relaxed);
    }
    let all = cases.load(Ordering::Relaxed);
    let took = began.elapsed().as_secs_f64();
    println!("{test}: {all} cases in {took:.0} s, the slowest {slowest:.1?}: {outcomes:?}");
}

/// The first seed where no search was asked for.
const FIRST: u64 = 1_000_000;

/// The seeds that are kept, then new ones until the time is over.
fn seeds(kind: &str, began: Instant) -> Box<dyn Iterator<Item = u64>> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    if let Some(seed) = number("BAKEOFF_FUZZ_SEED") {
        return Box::new(std::iter::once(seed));
    }
    let asked = number("BAKEOFF_FUZZ_SECONDS");
    let seconds = Duration::from_secs(asked.unwrap_or(20));
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/untrusted/seeds");
    let mut kept: Vec<u64> = fs::read_dir(kept)
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.strip_prefix(kind)?.strip_prefix('-')?.parse().ok()
        })
        .collect();
    kept.sort_unstable();
    // A change is tested by the same cases as the one before it; who searches has new ones.
    let first = match asked {
        None => FIRST,
        Some(_) => rand::rngs::Xoshiro256PlusPlus::seed_from_u64(
            std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64,
        )
        .next_u64(),
    };
    println!("{kind}: the kept seeds, then from {first}");
    let new = (0..).map(move |number| first.wrapping_add(number));
    Box::new(kept.into_iter().chain(new.take_while(move |_| began.elapsed() < seconds)))
}

/// Ends the process where one case takes too long.
fn watch(cases: Arc<AtomicU64>) {
    std::thread::spawn(move || {
        let (mut seen, mut since) = (0, Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(200));
            let now = cases.load(Ordering::Relaxed);
            if now != seen {
                (seen, since) = (now, Instant::now());
            } else if since.elapsed() > A_CASE {
                let _ = writeln!(std::io::stderr(), "a case takes more than {A_CASE:?}");
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
