//! What a reader is warned of: each trouble by its own warning, and clean trials by none.

use crate::known::{
    balance, blocks, constant, document, document_of, document_with, measured, set,
};
use bakeoff_analysis::{Warning, WarningKind};
use bakeoff_results::measure::*;
use bakeoff_results::{Canary, Trial};

/// Changes one thing about eight clean blocks and returns the warnings that come of it.
fn warnings(change: impl Fn(&mut Trial)) -> Vec<Warning> {
    let mut trials = blocks(8);
    trials.iter_mut().for_each(constant_ten_thousand);
    trials.iter_mut().for_each(change);
    // Whatever was changed, no time is lost unless that was the change.
    let lost = |trial: &Trial| {
        let measures = trial.measured.as_ref().map(|measured| &measured.measures);
        measures.is_none_or(|measures| measures.get(&CONCURRENCY, &Scope::Clients).is_some())
    };
    trials.iter_mut().filter(|trial| !lost(trial)).for_each(|trial| balance(trial, 1.0));
    document(&trials).warnings
}

/// Enough operations for a p99, at the trial's own mean, in the window and in the whole.
fn constant_ten_thousand(trial: &mut Trial) {
    for operation in &mut measured(trial).operations {
        let mean = operation.kept.mean() as u64;
        operation.kept.clear();
        operation.kept.record_n(mean, 10_000).unwrap();
        operation.slots.iter_mut().for_each(|slot| slot.histogram.clear());
        operation.slots[0].histogram.record_n(mean, 10_000).unwrap();
    }
}

/// The line through the operations of 16 seconds.
fn slope(trial: &mut Trial, rise: f64, error: f64) {
    for (measure, value) in [(&RISE, rise), (&RISE_ERROR, error), (&RISE_SECONDS, 16.0)] {
        set(trial, measure, Scope::Trial, value);
    }
}

fn is(trial: &Trial, block: u32, engine: &str) -> bool {
    trial.block == block && trial.levels["engine"] == engine
}

#[test]
fn clean_trials_bring_no_warning() {
    assert_eq!(warnings(|_| ()), []);
}

#[test]
fn each_trouble_brings_its_warning_alone() {
    use WarningKind::*;
    type Change = fn(&mut Trial);
    let cases: [(Change, &[WarningKind], &[&str]); 17] = [
        (
            // Counted for 100 s, of which the clients ran for 20: 70 of 200 processor seconds.
            |trial| {
                if is(trial, 2, "beta") {
                    set(trial, &FOREIGN_CPU, Scope::Machine, 60.0);
                    set(trial, &STEAL, Scope::Machine, 10.0);
                    set(trial, &MACHINE_WATCHED, Scope::Machine, 100.0);
                }
            },
            &[MachineShared],
            &["in 1 of 32 trials others used over 10 %", "at worst 35 %", "engine beta"],
        ),
        (
            // Of an earlier version, which did not say for how long: no more than all.
            |trial| {
                if is(trial, 2, "beta") {
                    set(trial, &FOREIGN_CPU, Scope::Machine, 600.0);
                }
            },
            &[MachineShared],
            &["at worst 100 %", "engine beta"],
        ),
        (
            |trial| {
                if is(trial, 3, "beta") {
                    trial.measured = None;
                    trial.reason = Some("it crashed".to_owned());
                }
            },
            &[TrialsFailed],
            &["1 of 32 trials failed", "engine beta", "it crashed"],
        ),
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
                if is(trial, 3, "beta") {
                    set(trial, &ACHIEVED_LATENCY, Scope::Disk, 0.0145);
                }
            },
            &[DiskLate],
            &["in 1 of 32 trials the virtual disk", "16 %", "engine beta"],
        ),
        (
            |trial| {
                if is(trial, 3, "beta") {
                    set(trial, &MODELLED_LATENCY, Scope::Disk, 80e-6);
                    set(trial, &ACHIEVED_LATENCY, Scope::Disk, 120e-6);
                }
            },
            &[DiskTooFast],
            &["in 1 of 32 trials", "took 1.5 times", "engine beta", "--disk host"],
        ),
        (
            |trial| {
                if is(trial, 2, "gamma") {
                    set(trial, &CPU, Scope::Clients, 16.0);
                }
            },
            &[ClientsBusy],
            &["in 1 of 32 trials", "80 %", "engine gamma"],
        ),
        (
            |trial| {
                if is(trial, 0, "beta") {
                    measured(trial).operations[1].errors = 7;
                }
            },
            &[Errors],
            &["7 operations ended in an error", "in 1 of 32 trials", "engine beta"],
        ),
        (
            |trial| {
                if is(trial, 0, "beta") {
                    measured(trial).operations[0].retries = 10_000;
                }
            },
            &[Retries],
            &["in 1 of 32 trials transactions", "a stale version", "0.50", "engine beta"],
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
            |trial| {
                if trial.levels["engine"] == "beta" {
                    constant(trial, 0.008, 12);
                }
            },
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
            |trial| {
                if trial.levels["engine"] == "beta" {
                    constant(trial, 0.008, 40);
                }
            },
            &[FewOperations, QuantileLeftOut],
            &[
                "in 8 of 32 trials there are fewer than 100 operations of a kind",
                "their mean is rough",
                "fewest (40) at engine beta",
                "--seconds 50 would bring 100 of each there",
            ],
        ),
        (
            |trial| {
                if is(trial, 3, "beta") {
                    measured(trial).operations[1].unfinished = 4;
                }
            },
            &[CutOff],
            &["1 of 32 trials was cut off", "most (4) at engine beta", "are bounds"],
        ),
        (
            |trial| {
                if trial.levels["engine"] == "beta" {
                    constant(trial, 0.008, 3);
                }
            },
            &[TooFewOperations, QuantileLeftOut],
            &["fewest (3) at engine beta", "longer trials (--seconds) show how many there are"],
        ),
    ];
    for (number, (change, kinds, words)) in cases.into_iter().enumerate() {
        let found = warnings(change);
        // With so few operations the verdict may follow; the rest stands alone.
        let of = |warning: &Warning| Some(warning.kind).filter(|kind| *kind != WarmUpDecides);
        assert_eq!(found.iter().filter_map(of).collect::<Vec<_>>(), kinds, "case {number}");
        assert!(found.len() == kinds.len() || number >= 10, "case {number}: {found:?}");
        let told = found.iter().map(ToString::to_string).collect::<String>().to_lowercase();
        for word in words {
            assert!(told.contains(&word.to_lowercase()), "case {number}: {word} not in {told}");
        }
    }
}

/// A gap beside other figures is news; where no cell has any of that operation, the gaps say it themselves.
#[test]
fn a_p99_that_no_cell_has_is_no_warning() {
    let is_told = |change: fn(&mut Trial)| {
        warnings(change).iter().any(|it| it.kind == WarningKind::QuantileLeftOut)
    };
    assert!(!is_told(|trial| constant(trial, 0.001, 500)));
    assert!(is_told(|trial| {
        if trial.levels["engine"] == "beta" {
            constant(trial, 0.001, 500);
        }
    }));
}

/// One of eight trials takes four times as long: the cell's mean is 4^(1/8) times the others', and
/// that trial 4^(7/8) = 3.4 times the cell's.
#[test]
fn a_stalled_trial_is_told() {
    let found = warnings(|trial| {
        if is(trial, 3, "gamma") {
            let mean = measured(trial).operations[1].kept.mean() / 1e9;
            let operation = &mut measured(trial).operations[1];
            for histogram in [&mut operation.kept, &mut operation.slots[0].histogram] {
                histogram.clear();
                histogram.record_n((4e9 * mean) as u64, 10_000).unwrap();
            }
        }
    });
    assert_eq!(found.len(), 1, "{found:?}");
    for word in ["In 1 of 4 cells", "a factor of 3.", "engine gamma"] {
        assert!(found[0].to_string().contains(word), "{word}: {found:?}");
    }
}

/// The warnings as they are read.
fn told(warnings: &[Warning]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}

/// A trial that was run again with its block neither failed nor is missing.
#[test]
fn a_trial_that_was_set_aside_is_no_failure() {
    let mut trials = blocks(8);
    trials.iter_mut().for_each(constant_ten_thousand);
    trials.iter_mut().for_each(|trial| balance(trial, 1.0));
    let mut aside = trials[28..30].to_vec();
    for trial in &mut aside {
        (trial.valid, trial.reason) = (false, Some("the run was interrupted".to_owned()));
    }
    trials[28..].iter_mut().for_each(|trial| trial.attempt = 1);
    let found = document(&[&aside[..1], &trials].concat()).warnings;
    assert_eq!(
        told(&found),
        ["1 trial was set aside when the run was interrupted; its block was run again."]
    );
    aside[1].measured = None;
    let found = document(&[&aside[..], &trials].concat()).warnings;
    assert_eq!(
        told(&found),
        ["2 trials were set aside when the run was interrupted; their block was run again."]
    );
    let found = document_of(&[&aside[..1], &trials].concat(), &[], &[(7, 0)]).warnings;
    assert_eq!(
        told(&found),
        ["1 trial was set aside because the machine was disturbed; its block was run again."]
    );
    // The second attempt was no better, and counts.
    let found = document_of(&[&aside[..1], &trials].concat(), &[], &[(7, 0), (7, 1)]).warnings;
    let first =
        "1 of 8 blocks were measured while the machine was disturbed, first block 7 (a random read";
    assert!(found.len() == 2 && found[0].text.starts_with(first), "{found:?}");
    // Nothing replaced it.
    trials[28].valid = false;
    let found = document(&[&aside[..1], &trials].concat()).warnings;
    assert!(
        found[0].text.starts_with("1 of 32 trials does not count, though it ended"),
        "{found:?}"
    );
}

#[test]
fn a_level_that_differs_from_itself_is_noise() {
    let found = warnings(|trial| {
        if trial.levels["engine"] == "alpha@again" {
            let operation = &mut measured(trial).operations[0];
            let mean = (operation.kept.mean() * 1.5) as u64;
            operation.kept.clear();
            operation.kept.record_n(mean, 10_000).unwrap();
            operation.slots[0].histogram.clear();
            operation.slots[0].histogram.record_n(mean, 10_000).unwrap();
        }
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].to_string().contains("1 of 2 comparisons"), "{found:?}");
}

#[test]
fn a_verdict_that_hangs_on_the_trimming_is_told() {
    let found = warnings(|trial| {
        if trial.levels["engine"] == "beta" {
            let slow = &mut measured(trial).operations[0].slots[1].histogram;
            slow.record_n(1_000, 30_000).unwrap();
        }
    });
    assert_eq!(found.len(), 1, "{found:?}");
    for word in ["1 of 4 ratios", "create_issue", "engine beta, clients 1 to alpha: 0.50", "2.02"] {
        assert!(found[0].to_string().contains(word), "{word}: {found:?}");
    }
}

#[test]
fn a_machine_that_drifts_is_told() {
    let canaries: Vec<Canary> = (0..20)
        .map(|at| {
            let slower = 1.0 + 0.01 * f64::from(at);
            let at_s = 1.7e9 + f64::from(at);
            Canary {
                at_s,
                cpu_s: 0.1 * slower,
                memory_s: 0.1,
                sync_s: 0.01,
                read_s: None,
                off: None,
            }
        })
        .collect();
    let mut trials = blocks(8);
    trials.iter_mut().for_each(constant_ten_thousand);
    trials.iter_mut().for_each(|trial| balance(trial, 1.0));
    let found = document_with(&trials, &canaries).warnings;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].to_string().contains("arithmetic 17 % slower"), "{found:?}");
    assert!(
        !found[0].to_string().contains("memory") && !found[0].to_string().contains("append"),
        "{found:?}"
    );
}
