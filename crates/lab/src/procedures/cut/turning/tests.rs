//! A target that owes what it is told to, and what is said of it.

use std::cell::Cell;
use std::sync::Mutex;

use bakeoff_engines::DebtTurn;
use bakeoff_load::{DriveProgress, Observer as _};

use super::*;
use crate::tests::IdleTarget;

/// What is said at each of these looks, where so much of 10 has turned over, and how often it was ready by then.
fn said(longest: Duration, looks: &[Option<u64>]) -> (Vec<Message>, Vec<u32>) {
    let (owed, ready, mut sent) = (Mutex::new(None), Cell::new(0), Vec::new());
    let debt = |done| Debt {
        turns: vec![DebtTurn { name: "log written", done, whole: 10 }],
        ..Debt::default()
    };
    let owing =
        IdleTarget { debt: Box::new(|| owed.lock().unwrap().map(debt)), ..IdleTarget::default() };
    let output = MessageOutput::new(&mut sent);
    let mut go = || {
        ready.set(ready.get() + 1);
        Ok(())
    };
    let mut turning = TurnoverWatch { longest, ..TurnoverWatch::new(&owing, &output, &mut go) };
    turning.start_ready().unwrap();
    let mut counts = Vec::new();
    for (operations, done) in (1..).zip(looks) {
        *owed.lock().unwrap() = *done;
        let elapsed = Duration::from_secs(operations);
        let progress = DriveProgress { elapsed, operations, per_second: 1.0, mean_s: None };
        turning.show_progress(&progress);
        counts.push(ready.get());
    }
    let lines = String::from_utf8(sent).unwrap();
    (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), counts)
}

#[test]
fn the_lab_hears_once_that_all_debts_have_turned_over() {
    let looks = [Some(1), Some(9), Some(12), Some(13), Some(40)];
    let (messages, ready) = said(LONGEST, &looks);
    assert_eq!(ready, [0, 0, 1, 1, 1]);
    let [
        Message::Conditioning { done: 1, of: None },
        Message::Conditioning { done: 2, of: None },
        Message::Conditioned(Conditioned { operations: 3, turns, .. }),
    ] = &messages[..]
    else {
        panic!("{messages:?}");
    };
    assert_eq!(*turns, [DebtTurnover { name: "log written".into(), done: 12, whole: 10 }]);
}

#[test]
fn a_debt_that_never_turns_over_is_a_failure_with_its_remedy() {
    for (longest, look, says) in [
        (Duration::ZERO, Some(3), "log written: 3 of 10"),
        (LONGEST, None, "nobody knows what it owes"),
    ] {
        let (messages, ready) = said(longest, &[look, look]);
        assert_eq!(ready, [0, 0]);
        let failures = messages.iter().filter_map(|message| match message {
            Message::Failed(reason) => Some(reason.to_string()),
            _ => None,
        });
        let failures: Vec<String> = failures.collect();
        let [failure] = &failures[..] else { panic!("{messages:?}") };
        assert!(failure.contains(says) && failure.contains("--state warm"), "{failure}");
    }
}
