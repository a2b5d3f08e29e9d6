//! What a reader is warned of: each trouble by its own warning, and clean trials by none.

use bakeoff_analysis::WarningKind::{self, *};
use bakeoff_analysis::{Document, Warning};
use bakeoff_results::measure::*;
use bakeoff_results::{Canary, Trial};
use bakeoff_testkit::synthetic::run;

use crate::known::{
    assert_has, blocks, constant, document, is, look, measured, read_with, set, take,
};

/// Eight clean blocks, of which one thing is changed: enough operations for a p99, at each trial's own mean. Whatever
/// was changed, no time is lost unless that was the change.
fn changed(change: impl Fn(&mut Trial)) -> Vec<Trial> {
    let mut trials = blocks(8);
    for trial in &mut trials {
        for operation in 0..2 {
            let mean_s = measured(trial).operations[operation].kept.mean() / 1e9;
            take(trial, operation, mean_s, 10_000);
        }
        change(trial);
        let measures = trial.measured.as_ref().map(|measured| &measured.measures);
        if measures.is_some_and(|it| it.get(&CONCURRENCY, &Scope::Clients).is_none()) {
            balance(trial, 1.0);
        }
    }
    trials
}

fn warnings(change: impl Fn(&mut Trial)) -> Vec<Warning> {
    document(&changed(change)).warnings
}

/// So much of the clients' time in latencies as Little's law says where none is lost.
fn balance(trial: &mut Trial, law: f64) {
    let measured = measured(trial);
    let sum = |it: &bakeoff_results::OperationRecord| it.kept.len() as f64 * it.kept.mean() / 1e9;
    let busy: f64 = measured.operations.iter().map(sum).sum();
    let window_s = measured.window_s.1 - measured.window_s.0;
    measured.measures.set(&CONCURRENCY, Scope::Clients, busy / window_s / law);
}

/// The line through the operations of 16 seconds.
fn slope(trial: &mut Trial, rise: f64, error: f64) {
    for (measure, value) in [(&RISE, rise), (&RISE_ERROR, error), (&RISE_SECONDS, 16.0)] {
        set(trial, measure, Scope::Trial, value);
    }
}

/// A change to one trial.
type Change = fn(&mut Trial);

/// What is changed about the trial of an engine in a block, what kinds are told of it, and with which words.
const OF_ONE_TRIAL: [(u32, &str, Change, WarningKind, &[&str]); 10] = [
    (
        // Counted for 100 s, of which the clients ran for 20: 70 of 200 processor seconds.
        2,
        "beta",
        |trial| {
            set(trial, &FOREIGN_CPU, Scope::Machine, 60.0);
            set(trial, &STEAL, Scope::Machine, 10.0);
            set(trial, &MACHINE_WATCHED, Scope::Machine, 100.0);
        },
        MachineShared,
        &["in 1 of 32 trials others used over 10 %", "at worst 35 %"],
    ),
    (
        // Of an earlier version, which did not say for how long: no more than all.
        2,
        "beta",
        |trial| set(trial, &FOREIGN_CPU, Scope::Machine, 600.0),
        MachineShared,
        &["at worst 100 %"],
    ),
    (
        3,
        "beta",
        |trial| (trial.measured, trial.reason) = (None, Some("it crashed".to_owned())),
        TrialsFailed,
        &["1 of 32 trials failed", "it crashed"],
    ),
    (
        3,
        "beta",
        |trial| set(trial, &ACHIEVED_LATENCY, Scope::Disk, 0.0145),
        DiskLate,
        &["in 1 of 32 trials the virtual disk", "16 %"],
    ),
    (
        3,
        "beta",
        |trial| {
            set(trial, &MODELLED_LATENCY, Scope::Disk, 80e-6);
            set(trial, &ACHIEVED_LATENCY, Scope::Disk, 120e-6);
        },
        DiskTooFast,
        &["in 1 of 32 trials", "took 1.5 times", "--disk host"],
    ),
    (
        3,
        "beta",
        |trial| set(trial, &HOST_WRITES, Scope::Disk, 1e9),
        DiskCalls,
        &["in 1 of 32 trials", "at worst 100 %", "--disk host"],
    ),
    (
        2,
        "gamma",
        |trial| set(trial, &CPU, Scope::Clients, 16.0),
        ClientsBusy,
        &["in 1 of 32 trials", "80 %"],
    ),
    (
        0,
        "beta",
        |trial| measured(trial).operations[1].errors = 7,
        Errors,
        &["7 operations ended in an error", "in 1 of 32 trials"],
    ),
    (
        0,
        "beta",
        |trial| measured(trial).operations[0].retries = 10_000,
        Retries,
        &["in 1 of 32 trials transactions", "a stale version", "0.50"],
    ),
    (
        3,
        "beta",
        |trial| measured(trial).operations[1].unfinished = 4,
        CutOff,
        &["1 of 32 trials was cut off", "most (4) at engine beta", "are bounds"],
    ),
];

/// What is changed about all trials.
const OF_ALL: [(Change, &[WarningKind], &[&str]); 8] = [
    (
        |trial| {
            trial.valid = trial.block != 5;
            trial.reason = (trial.block == 5).then(|| "the canary was off".to_owned());
        },
        &[TrialsNotCounted],
        &["4 of 32 trials do not count", "the canary was off"],
    ),
    (
        |trial| slope(trial, if is(trial, 1, "gamma") { -0.3 } else { 0.01 }, 0.04),
        &[NotSettled],
        &["1 of 32 trials had not settled when it ended", "engine gamma"],
    ),
    (
        |trial| slope(trial, 0.3, if is(trial, 1, "gamma") { 0.2 } else { 0.01 }),
        &[NotSettled, CannotTellSettled],
        &["31 of 32 trials had not settled", "of 1 of 32 trials it cannot be told whether it"],
    ),
    (
        |trial| {
            let law = match () {
                () if is(trial, 2, "beta") => 0.8,
                () if is(trial, 4, "gamma") => 1.15,
                () => 0.91,
            };
            balance(trial, law);
        },
        &[TimeMissing],
        &["in 2 of 32 trials", "add up", "20 %", "engine beta"],
    ),
    (
        |trial| {
            let short = if is(trial, 6, "gamma") { 0.5 } else { 0.85 };
            set(trial, &RATE, Scope::Neighbours, 700.0 * short);
        },
        &[NeighboursStarved],
        &["in 1 of 32 trials the background I/O", "41 %", "engine gamma"],
    ),
    (
        |trial| few(trial, 12),
        &[TooFewOperations, QuantileLeftOut],
        &[
            "in 8 of 32 trials there are fewer than 20 operations of a kind",
            "so that the verdict is “too few”",
            "fewest (12) at engine beta",
            "--seconds 34 would bring 20 of each there",
            "a p99 that some cells have is left out of others, for 8 of 64",
            "--seconds 1667",
        ],
    ),
    (
        |trial| few(trial, 40),
        &[FewOperations, QuantileLeftOut],
        &[
            "in 8 of 32 trials there are fewer than 100 operations of a kind",
            "their mean is rough",
            "fewest (40) at engine beta",
            "--seconds 50 would bring 100 of each there",
        ],
    ),
    (
        |trial| few(trial, 3),
        &[TooFewOperations, QuantileLeftOut],
        &["fewest (3) at engine beta", "longer trials (--seconds) show how many there are"],
    ),
];

/// Gives beta so few operations of the first kind.
fn few(trial: &mut Trial, count: u64) {
    if trial.levels["engine"] == "beta" {
        constant(trial, 0.008, count);
    }
}

#[test]
fn clean_trials_bring_no_warning() {
    assert_eq!(warnings(|_| ()), []);
}

#[test]
fn each_trouble_brings_its_warning_alone() {
    let text = |found: &[Warning]| found.iter().map(ToString::to_string).collect::<String>();
    for (block, engine, change, kind, words) in OF_ONE_TRIAL {
        let found = warnings(|trial| {
            if is(trial, block, engine) {
                change(trial);
            }
        });
        let kinds: Vec<WarningKind> =
            found.iter().map(|it| it.kind).filter(|it| *it != WarmUpDecides).collect();
        assert_eq!(kinds, [kind]);
        assert_has(&text(&found), words);
        assert_has(&text(&found), &[&format!("engine {engine}")]);
    }
    for (change, kinds, words) in OF_ALL {
        let found = warnings(change);
        // With so few operations the verdict may follow; the rest stands alone.
        let all = found.iter().map(|it| it.kind).filter(|kind| *kind != WarmUpDecides);
        assert_eq!(all.collect::<Vec<_>>(), kinds);
        assert_has(&text(&found), words);
    }
}

/// A gap beside other figures is news; where no cell has any of that operation, the gaps say it themselves.
#[test]
fn a_p99_that_no_cell_has_is_no_warning() {
    let is_told = |change: Change| warnings(change).iter().any(|it| it.kind == QuantileLeftOut);
    assert!(!is_told(|trial| constant(trial, 0.001, 500)));
    assert!(is_told(|trial| few(trial, 500)));
}

/// The text of the only warning that comes of a change.
fn only(change: impl Fn(&mut Trial)) -> String {
    let found = warnings(change);
    let [warning] = &found[..] else { panic!("{found:?}") };
    warning.to_string()
}

/// A run of web pages has no engine.
#[test]
fn a_request_that_was_sent_again_is_no_transaction() {
    let again = changed(|trial| {
        measured(trial).operations[0].retries = if is(trial, 0, "beta") { 10_000 } else { 0 };
        let level = trial.levels.remove("engine").expect("an engine");
        trial.levels.insert("url".into(), level);
    });
    let mut of_pages = run(&["1", "4"], &["0"], 32);
    of_pages.factors.iter_mut().filter(|it| it.0 == "engine").for_each(|it| it.0 = "url".into());
    of_pages.compare = "url".into();
    let told = crate::known::told(&read_with(&of_pages, &again, |_| ()), Retries);
    assert_has(&told, &["requests were sent once more", "closed their kept connection"]);
}

#[test]
fn what_differs_from_itself_or_by_the_trimming_is_told() {
    // One of eight trials takes four times as long: the cell's mean is 4^(1/8) times the others', and that trial
    // 4^(7/8) = 3.4 times the cell's.
    let slow = |trial: &mut Trial, operation: usize, times: f64| {
        let mean_s = measured(trial).operations[operation].kept.mean() / 1e9;
        take(trial, operation, times * mean_s, 10_000);
    };
    let stalled = only(|trial| {
        if is(trial, 3, "gamma") {
            slow(trial, 1, 4.0);
        }
    });
    assert_has(&stalled, &["In 1 of 4 cells", "a factor of 3.", "engine gamma"]);
    let noise = only(|trial| {
        if trial.levels["engine"] == "alpha@again" {
            slow(trial, 0, 1.5);
        }
    });
    assert_has(&noise, &["1 of 2 comparisons"]);
    let trimmed = only(|trial| {
        if trial.levels["engine"] == "beta" {
            let slot = &mut measured(trial).operations[0].slots[1].histogram;
            slot.record_n(1_000, 30_000).unwrap();
        }
    });
    let words = ["1 of 4 ratios", "create_issue", "engine beta, clients 1 to alpha: 0.51", "2.03"];
    assert_has(&trimmed, &words);
}

/// Sold-out seats: one engine comes sooner to where nothing is left to sell.
#[test]
fn engines_whose_operations_take_other_paths_did_unequal_work() {
    let found = |ended: f64, share: f64| {
        let found = warnings(|trial| {
            let share = if trial.levels["engine"] == "beta" { share } else { 0.03 };
            let scope = || Scope::Operation("create_issue".into());
            set(trial, &ENDED, scope(), ended);
            set(trial, &ROLLED_BACK, scope(), ended * share);
            set(trial, &BEGUN_AGAIN, scope(), 2.0);
        });
        let of_paths = |it: &Warning| matches!(it.kind, UnequalWork | PathsTaken);
        found.into_iter().filter(of_paths).map(|it| it.to_string()).collect::<Vec<String>>()
    };
    let unequal = found(10_000.0, 0.4);
    let words = [
        "3 % of the operations create_issue were rolled back by the script on alpha",
        "40 % on beta",
    ];
    assert_has(&unequal[0], &words);
    let words = ["of create_issue 12 % were rolled back by the script", "64 times one began again"];
    assert_has(&unequal[1], &words);
    assert_eq!(found(10_000.0, 0.05).len(), 1, "two points are no few");
    assert_eq!(found(10.0, 0.1).len(), 1, "of 80 operations that may be chance");
}

/// A trial that was run again with its block neither failed nor is missing.
#[test]
fn a_trial_that_was_set_aside_is_no_failure() {
    let mut trials = changed(|_| ());
    let mut aside = trials[28..30].to_vec();
    for trial in &mut aside {
        (trial.valid, trial.reason) = (false, Some("the run was interrupted".to_owned()));
    }
    trials[28..].iter_mut().for_each(|trial| trial.attempt = 1);
    let run = run(&["1", "4"], &["0"], 32);
    let told = |trials: &[Trial], disturbed: &[(u32, u32)]| -> Vec<String> {
        let document: Document = read_with(&run, trials, |folder| {
            for (block, attempt) in disturbed {
                folder.note_disturbed(*block, *attempt, "a random read takes 9 ms").unwrap();
            }
        });
        document.warnings.iter().map(ToString::to_string).collect()
    };
    let one = [&aside[..1], &trials].concat();
    for (disturbed, why) in [
        (&[][..], "when the run was interrupted"),
        (&[(7, 0)], "because the machine was disturbed"),
    ] {
        let wanted = format!("1 trial was set aside {why}; its block was run again.");
        assert_eq!(told(&one, disturbed), [wanted]);
    }
    // The second attempt was no better, and counts.
    let twice = told(&one, &[(7, 0), (7, 1)]);
    assert_eq!(twice.len(), 2, "{twice:?}");
    let measured = "1 of 8 blocks were measured while the machine was disturbed";
    assert_has(&twice[0], &[measured, "first block 7 (a random read"]);
    aside[1].measured = None;
    let two = "2 trials were set aside when the run was interrupted; their block was run again.";
    assert_eq!(told(&[&aside[..], &trials].concat(), &[]), [two]);
    // Nothing replaced it.
    trials[28].valid = false;
    let found = told(&[&aside[..1], &trials].concat(), &[]);
    assert_has(&found[0], &["1 of 32 trials does not count, though it ended"]);
}

#[test]
fn a_machine_that_drifts_is_told() {
    let look = |at: u32| {
        let at = f64::from(at);
        Canary { at_s: 1.7e9 + at, ..look(0.1 * (1.0 + 0.01 * at)) }
    };
    let found = read_with(&run(&["1", "4"], &["0"], 32), &changed(|_| ()), |folder| {
        (0..20).for_each(|at| folder.commit_canary(&look(at)).unwrap());
    });
    let [warning] = &found.warnings[..] else { panic!("{:?}", found.warnings) };
    let text = warning.to_string();
    assert!(text.contains("arithmetic 17 % slower"), "{text}");
    assert!(!text.contains("memory") && !text.contains("append"), "{text}");
}

/// A fifth more for being first is told, whichever level it was, and nothing where it costs nothing.
#[test]
fn a_first_place_that_costs_something_is_told() {
    let first = |penalty: f64| {
        let trials = changed(|trial| {
            trial.order = (trial.order + trial.block) % 4;
            let late = if trial.order == 0 { penalty } else { 1.0 };
            for operation in 0..2 {
                let mean_s = measured(trial).operations[operation].kept.mean() / 1e9;
                take(trial, operation, mean_s * late, 10_000);
            }
        });
        crate::known::told(&document(&trials), FirstPlace)
    };
    assert_has(
        &first(1.2),
        &["the first trial of a block took", "longer", "comes first equally often"],
    );
    assert_has(&first(0.8), &["less long"]);
    assert_eq!(first(1.0), "");
}
