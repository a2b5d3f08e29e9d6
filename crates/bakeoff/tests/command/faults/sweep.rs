//! Every call of the lab's processes fails once, as in SQLite's tests: nothing that was committed is
//! lost, nothing is left behind, a message is given, nothing panics, and the run can be finished.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rustix::io::Errno;

use super::calls;
use super::place::{FaultPlace, LIMIT};
use super::supervisor::Supervised;

/// Of calls that look alike, so many are made to fail, spread over all of them.
const ALIKE: u32 = 6;
/// Exit codes of docs/exit-codes.md that a failed call may lead to.
const CODES: [i32; 6] = [0, 1, 2, 3, 4, 5];

/// A call that is to fail: its name, and which of that name, from 1.
pub type Fault = (String, u32);

/// The names of a whole run's calls, and how many there are of each.
pub fn record() -> BTreeMap<String, u32> {
    let place = FaultPlace::new();
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
    /// Something does not hold, which was said.
    Broken,
}

/// Makes a call fail in a run of its own, and finishes that run.
pub fn try_out((name, which): &Fault) -> Outcome {
    let place = FaultPlace::new();
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
    broken.extend(place.finish().1);
    broken.extend(place.find_lost(&committed));
    match status.and_then(|status| status.code()) {
        Some(code) if broken.is_empty() => Outcome::Held(code),
        _ => {
            let what = broken.join("; ");
            let later = place.take_said();
            super::say(&format!("BROKEN {name} [{which}]: {what}\n{said}\n-- then --\n{later}"));
            Outcome::Broken
        }
    }
}

/// Runs the command, asking of each call whether it is to fail.
fn run(place: &FaultPlace, mut decide: impl FnMut(&str) -> Option<Errno>) -> Option<ExitStatus> {
    let program = FaultPlace::program();
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

fn judge(status: Option<ExitStatus>, said: &str, place: &FaultPlace) -> Vec<String> {
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
