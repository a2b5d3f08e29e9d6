//! Faults of the machine under a whole run: each of its calls fails once, and it is killed at any
//! moment.
//!
//! A part of both is tried by default. The soaks make every call fail that is worth it, and kill 1,000
//! times: `BAKEOFF_FAULTS=500` makes so many fail, `BAKEOFF_FAULTS=text` those whose name holds the text;
//! `BAKEOFF_KILLS=200` kills so often. `BAKEOFF_WORKERS` says how many runs go on at once.

mod calls;
mod kills;
mod place;
mod supervisor;
mod sweep;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bakeoff_testkit::needs_root;
use sweep::{Fault, Outcome};

/// What the parts that are tried by default are chosen by.
const SEED: u64 = 11;
/// How many faults are tried by default.
const FAULTS: usize = 12;
/// After so many it is told how far it is.
const TELL: usize = 100;
/// How many kills by default, and in a soak.
const KILLS: [u32; 2] = [10, 1_000];
/// How often one run is killed before it may finish.
const KILLS_A_RUN: u32 = 5;

fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Tries all on several threads, since a run mostly waits: what came of each, in no order.
fn try_each<T: Sync, R: Send>(all: &[T], try_out: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = setting("BAKEOFF_WORKERS").map_or(4, |it| it.parse().expect("a number"));
    let (next, tried) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = try_out(one);
            let mut tried = tried.lock().unwrap();
            tried.push(outcome);
            if tried.len().is_multiple_of(TELL) {
                say(&format!("{} of {}", tried.len(), all.len()));
            }
        }
    };
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    tried.into_inner().unwrap()
}

/// The harness shows no print of a test that passes, but this.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "  {line}");
}

#[test]
#[ignore = "slow: make test-slow"]
fn every_call_fails_once() {
    fail(|faults| faults.truncate(FAULTS));
}

#[test]
#[ignore = "soak: about 120 min"]
fn every_call_fails_once_soak() {
    fail(|faults| match setting("BAKEOFF_FAULTS").as_deref() {
        None | Some("all") => {}
        Some(number) if number.parse::<usize>().is_ok() => faults.truncate(number.parse().unwrap()),
        Some(text) => faults.retain(|(name, _)| name.contains(text)),
    });
}

/// Makes those calls fail that are chosen from all.
fn fail(choose: impl FnOnce(&mut Vec<Fault>)) {
    if !needs_root("supervise what mounts a disk") {
        return;
    }
    let mut faults = sweep::faults(&sweep::record(), SEED);
    let all = faults.len();
    choose(&mut faults);
    let outcomes = try_each(&faults, sweep::try_out);
    let (mut codes, mut not_reached, mut broken) = (BTreeMap::<i32, u32>::new(), 0, 0);
    for outcome in outcomes {
        match outcome {
            Outcome::NotReached => not_reached += 1,
            Outcome::Held(code) => *codes.entry(code).or_default() += 1,
            Outcome::Broken => broken += 1,
        }
    }
    let tried = faults.len() - not_reached;
    say(&format!(
        "{tried} of {all} places failed once, {not_reached} were not reached; ends by exit code: \
         {codes:?}; broken: {broken}"
    ));
    assert_eq!(broken, 0);
    assert!(tried * 2 > faults.len(), "most places are reached in each run");
}

#[test]
#[ignore = "slow: make test-slow"]
fn killed_at_any_moment() {
    kill(KILLS[0]);
}

#[test]
#[ignore = "soak: about 20 min"]
fn killed_at_any_moment_soak() {
    kill(setting("BAKEOFF_KILLS").map_or(KILLS[1], |it| it.parse().expect("a number")));
}

/// Kills so often, at moments that the seeds draw.
fn kill(kills: u32) {
    if !needs_root("supervise what mounts a disk") {
        return;
    }
    let seeds: Vec<u64> = (0..u64::from(kills.div_ceil(KILLS_A_RUN))).collect();
    let killed: u32 = try_each(&seeds, |seed| {
        // A run that ends before it was killed so often is followed by another one.
        let mut left = KILLS_A_RUN;
        for again in 0.. {
            left -= kills::kill_and_finish(seed + 1000 * again, left);
            if left == 0 {
                break;
            }
        }
        KILLS_A_RUN
    })
    .into_iter()
    .sum();
    say(&format!("{killed} kills"));
    assert!(killed >= kills);
}
