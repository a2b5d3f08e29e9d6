//! Faults of the machine under a whole run: each of its calls fails once, and it is killed at any
//! moment.
//!
//! A part of both is tried by default. The soaks make every call fail that is worth it, and kill 1,000
//! times: `BAKEOFF_FAULTS=500` makes so many fail, `BAKEOFF_FAULTS=text` those whose name holds the text;
//! `BAKEOFF_KILLS=200` kills so often. `BAKEOFF_WORKERS` says how many runs go on at once.

#![cfg(target_arch = "x86_64")]

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

/// Tries all on several threads: a run mostly waits.
fn each<T: Sync>(of: &[T], try_out: impl Fn(&T) + Sync) {
    let workers = setting("BAKEOFF_WORKERS").map_or(4, |it| it.parse().expect("a number"));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = of.get(number) else { break };
                    try_out(one);
                    if (number + 1).is_multiple_of(TELL) {
                        say(&format!("{} of {}", number + 1, of.len()));
                    }
                }
            });
        }
    });
}

/// The harness shows no print of a test that passes, but this.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "  {line}");
}

/// Whether this process may supervise another one's calls, and mount disks.
fn can_supervise() -> bool {
    needs_root("supervise what mounts a disk")
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
    if !can_supervise() {
        return;
    }
    let mut faults = sweep::faults(&sweep::record(), SEED);
    let all = faults.len();
    choose(&mut faults);
    let codes = Mutex::new(BTreeMap::<i32, u32>::new());
    let (not_reached, broken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    each(&faults, |fault| match sweep::try_out(fault) {
        Outcome::NotReached => {
            not_reached.fetch_add(1, Ordering::Relaxed);
        }
        Outcome::Held(code) => *codes.lock().unwrap().entry(code).or_default() += 1,
        Outcome::Broken(what, said) => {
            broken.fetch_add(1, Ordering::Relaxed);
            let (name, which) = fault;
            say(&format!("BROKEN {name} [{which}]: {}\n{said}", what.join("; ")));
        }
    });
    let (not_reached, broken) = (not_reached.into_inner(), broken.into_inner());
    let tried = faults.len() - not_reached;
    let codes = codes.into_inner().unwrap();
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
    if !can_supervise() {
        return;
    }
    let seeds: Vec<u64> = (0..u64::from(kills.div_ceil(KILLS_A_RUN))).collect();
    let (killed, broken) = (Mutex::new(0), Mutex::new(Vec::new()));
    each(&seeds, |seed| {
        // A run that ends before it was killed so often is followed by another one.
        let mut left = KILLS_A_RUN;
        for again in 0.. {
            let (times, what) = kills::kill_and_finish(seed + 1000 * again, left);
            *killed.lock().unwrap() += times;
            left -= times;
            broken.lock().unwrap().extend(what.iter().map(|what| format!("seed {seed}: {what}")));
            if left == 0 || !what.is_empty() {
                break;
            }
        }
    });
    let (killed, broken) = (killed.into_inner().unwrap(), broken.into_inner().unwrap());
    say(&format!("{killed} kills; broken: {}", broken.len()));
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(killed >= kills);
}
