//! Every call of the lab's processes fails once, as in SQLite's tests: nothing that was committed is
//! lost, nothing is left behind, a message is given, nothing panics, and the run can be finished.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rustix::io::Errno;

use crate::calls;
use crate::place::{CUTS, Place, TRIALS};
use crate::supervisor::Supervised;

/// How long a run may take in which a call fails: one that waits for ever takes longer. Whole, it takes about 3 s on a
/// quiet machine, and many times as long where each call waits for its supervisor and others are at work.
const LIMIT: Duration = Duration::from_secs(900);
/// Of calls that look alike, so many are made to fail, spread over all of them.
const ALIKE: u32 = 6;
/// Exit codes of docs/exit-codes.md that a failed call may lead to.
const CODES: [i32; 6] = [0, 1, 2, 3, 4, 5];

/// A call that is to fail: its name, and which of that name, from 1.
pub type Fault = (String, u32);

/// The names of a whole run's calls, and how many there are of each.
pub fn record() -> BTreeMap<String, u32> {
    let place = Place::new();
    let mut counts = BTreeMap::new();
    let status = run(&place, |name| {
        *counts.entry(name.to_owned()).or_default() += 1;
        None
    });
    assert_eq!(status.and_then(|it| it.code()), Some(0), "{}", place.take_said());
    counts
}

/// The calls that are to fail, in an order of the seed's.
pub fn faults(counts: &BTreeMap<String, u32>, seed: u64) -> Vec<Fault> {
    let spread = |(name, count): (&String, &u32)| {
        let each = (*count).min(ALIKE);
        let at = move |number: u32| match each {
            1 => 1,
            each => 1 + number * (count - 1) / (each - 1),
        };
        let name = name.clone();
        (0..each).map(at).map(|at| (name.clone(), at)).collect::<Vec<_>>()
    };
    let mut faults: Vec<Fault> = counts.iter().flat_map(spread).collect();
    faults.shuffle(&mut StdRng::seed_from_u64(seed));
    faults
}

/// What came of a fault.
pub enum Outcome {
    /// The run made fewer such calls this time.
    NotReached,
    /// All that must hold does; the run ended with this code.
    Held(i32),
    /// What does not hold, and what was said.
    Broken(Vec<String>, String),
}

/// Makes a call fail in a run of its own, and finishes that run.
pub fn try_out((name, which): &Fault) -> Outcome {
    let place = Place::new();
    let (mut seen, mut failed) = (0, false);
    let status = run(&place, |call| {
        seen += u32::from(call == name);
        let now = !failed && seen == *which;
        failed |= now;
        now.then(|| error_of(name, *which))
    });
    if !failed {
        return Outcome::NotReached;
    }
    let said = place.take_said();
    let mut broken = judge(status, &said, &place);
    let committed = place.committed();
    broken.extend(place.left().into_iter().map(|it| format!("left behind: {it}")));
    broken.extend(finish(&place));
    let after = place.committed();
    let lost = committed.iter().filter(|(what, row)| after.get(*what) != Some(row));
    broken.extend(lost.map(|(what, _)| format!("{what}, which was committed, is lost")));
    match status.and_then(|status| status.code()) {
        Some(code) if broken.is_empty() => Outcome::Held(code),
        _ => Outcome::Broken(broken, format!("{said}\n-- then --\n{}", place.take_said())),
    }
}

/// Runs the command, asking of each call whether it is to fail.
fn run(place: &Place, mut decide: impl FnMut(&str) -> Option<Errno>) -> Option<ExitStatus> {
    let program = Place::program();
    let supervised = Supervised::start(place.begin_or_resume()).unwrap();
    let ended = supervised.watch(LIMIT, |call| {
        calls::name(call, &program, place.path()).and_then(|name| decide(&name))
    });
    ended.unwrap()
}

/// What such a call fails with where a machine is short of something or broken.
fn error_of(name: &str, which: u32) -> Errno {
    let (_, call) = name.split_once(": ").expect("a role and a call");
    match call.split(' ').next() {
        Some("open") if which % 2 == 1 => Errno::MFILE,
        Some("write") if which % 2 == 1 => Errno::NOSPC,
        Some("open" | "write" | "fsync") => Errno::IO,
        Some("fork") => Errno::AGAIN,
        _ => Errno::PERM,
    }
}

fn judge(status: Option<ExitStatus>, said: &str, place: &Place) -> Vec<String> {
    let mut broken = Vec::new();
    match status {
        None => broken.push("it did not end".to_owned()),
        Some(status) => {
            let code = status.code();
            if let Some(signal) = status.signal() {
                broken.push(format!("signal {signal} ended it"));
            }
            if code.is_some_and(|code| !CODES.contains(&code)) {
                broken.push(format!("it ended with {status}"));
            }
            let told = said.contains("error") || said.contains("failed");
            if code != Some(0) && !told {
                broken.push("it gave no message".to_owned());
            }
        }
    }
    let reasons = place.reasons();
    let all = reasons.iter().map(String::as_str).chain([said]);
    broken.extend(all.filter(|text| text.contains("panicked")).map(|_| "it panicked".into()));
    broken
}

/// Goes on with the run, with no call failing. A trial that has failed stays so: its failure is what
/// was measured.
fn finish(place: &Place) -> Vec<String> {
    let Some(status) = place.finish(LIMIT) else {
        return vec!["going on with it did not end".into()];
    };
    let mut broken = Vec::new();
    let trials = if status.code().is_some() { place.trials() } else { Vec::new() };
    let cuts = if trials.is_empty() { [CUTS, CUTS, 0] } else { place.cuts() };
    let failed = trials.contains(&(0, 1)) || cuts[2] > 0;
    if status.code() != Some(if failed { 5 } else { 0 }) {
        broken.push(format!("going on with it ended with {status}"));
    }
    if trials.len() != TRIALS || trials.iter().any(|trial| trial.0 + trial.1 != 1) {
        broken.push(format!("trials that count and that failed: {trials:?}"));
    }
    if cuts[..2] != [CUTS; 2] {
        broken.push(format!("cuts that were made, different ones, and failed ones: {cuts:?}"));
    }
    broken.extend(place.left().into_iter().map(|it| format!("left behind at the end: {it}")));
    broken
}
