//! What the document says of known trials.

use crate::data::{Trials, run};
use bakeoff_analysis::document::Verdict;
use bakeoff_analysis::{Comparison, Document, Warning, WarningKind};
use bakeoff_results::measure::*;
use bakeoff_results::{Canary, Measured, RunFolder, Trial};

/// The document of `trials` and `canaries`, by way of a run folder.
fn document_with(trials: &[Trial], canaries: &[Canary]) -> Document {
    document_of(trials, canaries, &[])
}

/// As it is where attempts at blocks were disturbed.
fn document_of(trials: &[Trial], canaries: &[Canary], disturbed: &[(u32, u32)]) -> Document {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let run = run(&["1", "4"], &["0"], 32);
    let mut folder = RunFolder::create(&path, &run, "").unwrap();
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    canaries.iter().for_each(|canary| folder.commit_canary(canary).unwrap());
    for (block, attempt) in disturbed {
        folder.note_disturbed(*block, *attempt, "a random read takes 9 ms").unwrap();
    }
    bakeoff_analysis::document(&folder).unwrap()
}

fn document(trials: &[Trial]) -> Document {
    document_with(trials, &[])
}

/// Blocks of the cell of one client and no neighbour, of two slots for the sake of speed.
fn blocks(number: u32) -> Vec<Trial> {
    let mut generator = Trials::new(5, 10);
    let block = |block| generator.block(block, block, ["1", "0"]);
    let mut trials: Vec<Trial> = (0..number).flat_map(block).collect();
    for trial in &mut trials {
        measured(trial).operations.iter_mut().for_each(|operation| operation.slots.truncate(2));
    }
    trials
}

fn measured(trial: &mut Trial) -> &mut Measured {
    trial.measured.as_mut().expect("synthetic trials are measured")
}

fn set(trial: &mut Trial, measure: &'static Measure, scope: Scope, value: f64) {
    measured(trial).measures.set(measure, scope, value);
}

/// So much of the clients' time in latencies as Little's law says where none is lost.
fn balance(trial: &mut Trial, law: f64) {
    let measured = measured(trial);
    let sum = |operation: &bakeoff_results::Operation| {
        operation.kept.len() as f64 * operation.kept.mean() / 1e9
    };
    let busy: f64 = measured.operations.iter().map(sum).sum();
    let window_s = measured.window_s.1 - measured.window_s.0;
    measured.measures.set(&CONCURRENCY, Scope::Clients, busy / window_s / law);
}

/// Gives the trial `count` operations of the first kind that all took `seconds`.
fn constant(trial: &mut Trial, seconds: f64, count: u64) {
    let measured = measured(trial);
    let operation = &mut measured.operations[0];
    operation.kept.clear();
    operation.kept.record_n((seconds * 1e9) as u64, count).unwrap();
    operation.per_second = count as f64 / (measured.window_s.1 - measured.window_s.0);
}

fn comparison<'a>(document: &'a Document, operation: &str, level: &str) -> &'a Comparison {
    let fits = |c: &&Comparison| c.operation == operation && c.level == level;
    let mut found = document.comparisons.iter().chain(&document.noise).filter(fits);
    let first = found.next().expect("it is compared");
    assert!(found.next().is_none(), "one comparison only");
    first
}

/// As near as histograms of three digits bring it.
fn near(found: Option<f64>, expected: f64) {
    within(0.001, found, expected);
}

fn within(share: f64, found: Option<f64>, expected: f64) {
    let found = found.expect("there is a figure");
    assert!((found / expected - 1.0).abs() < share, "{found} instead of {expected}");
}

/// Two blocks, the baseline at 1 ms and 4 ms, the level at 2 ms and 12 ms: ratios 2 and 3, their
/// geometric mean √6, and t(0.975, 1) = 12.706 times the error of ln 2 and ln 3.
#[test]
fn a_ratio_by_hand() {
    let mut trials = blocks(2);
    for (at, seconds) in [(0, 0.001), (1, 0.002), (4, 0.004), (5, 0.012)] {
        constant(&mut trials[at], seconds, 50);
    }
    let document = document(&trials);
    let found = comparison(&document, "create_issue", "beta");
    near(found.ratio, 6f64.sqrt());
    let half = 12.706 * (3f64.ln() - 2f64.ln()) / 2.0;
    // The third digit of the means, times 12.7.
    within(0.005, found.low, 6f64.sqrt() * (-half).exp());
    within(0.005, found.high, 6f64.sqrt() * half.exp());
    assert_eq!((found.blocks, found.verdict), (2, Verdict::Undecided));
    assert_eq!((found.baseline.as_str(), found.factor.as_str()), ("alpha", "engine"));
    assert!(!found.levels.contains_key("engine") && found.levels["clients"] == "1");
}

#[test]
fn levels_are_held_against_the_baseline_and_aliases_against_themselves() {
    let document = document(&blocks(8));
    let verdict = |level| comparison(&document, "process_issues", level).verdict;
    assert_eq!((verdict("beta"), verdict("gamma")), (Verdict::Slower, Verdict::Faster));
    assert_eq!(verdict("alpha@again"), Verdict::Same);
    let levels = |comparisons: &[Comparison]| -> Vec<String> {
        comparisons.iter().map(|c| format!("{} {}/{}", c.operation, c.level, c.baseline)).collect()
    };
    assert_eq!(
        levels(&document.comparisons),
        [
            "create_issue beta/alpha",
            "create_issue gamma/alpha",
            "process_issues beta/alpha",
            "process_issues gamma/alpha"
        ]
    );
    assert_eq!(
        levels(&document.noise),
        ["create_issue alpha@again/alpha", "process_issues alpha@again/alpha"]
    );
}

/// A run that has only just begun: its alias has run, and what it is an alias of has not.
#[test]
fn an_alias_is_one_before_its_base_has_run() {
    let document = document(&blocks(1)[3..]);
    assert!(document.comparisons.is_empty(), "{:?}", document.comparisons);
    assert_eq!((document.noise.len(), document.noise[0].ratio), (2, None));
}

/// What slows a whole block down says nothing of the levels.
#[test]
fn what_a_block_has_in_common_cancels() {
    let mut trials = blocks(3);
    for (block, slow) in [1.0, 10.0, 100.0].into_iter().enumerate() {
        for (level, seconds) in [0.001, 0.002, 0.0005, 0.001].into_iter().enumerate() {
            constant(&mut trials[4 * block + level], slow * seconds, 50);
        }
    }
    let document = document(&trials);
    let found = comparison(&document, "create_issue", "beta");
    within(0.005, found.low, 2.0);
    within(0.005, found.high, 2.0);
    assert_eq!(found.verdict, Verdict::Slower);
}

#[test]
fn only_trials_of_the_same_attempt_stand_against_each_other() {
    let mut trials = blocks(3);
    // Block 2 was run twice: first beta failed, then alpha.
    let mut again: Vec<Trial> = trials[8..].to_vec();
    (trials[9].valid, again[0].valid) = (false, false);
    again.iter_mut().for_each(|trial| trial.attempt = 1);
    // Block 1 was disturbed as a whole and run again, three times as slow each.
    let mut repeated: Vec<Trial> = trials[4..8].to_vec();
    for (level, trial) in repeated.iter_mut().enumerate() {
        trial.attempt = 1;
        constant(trial, [0.003, 0.006, 0.0015, 0.003][level], 50);
    }
    trials[4..8].iter_mut().for_each(|trial| trial.valid = false);
    constant(&mut trials[0], 0.001, 50);
    constant(&mut trials[1], 0.002, 50);
    let all = [trials, again, repeated].concat();
    let document = document(&all);
    let found = comparison(&document, "create_issue", "beta");
    assert_eq!(found.blocks, 2, "block 2 has no attempt with both");
    near(found.ratio, 2.0);
    // Alpha counts in blocks 0 and 1, beta in all three.
    let trials = |engine| {
        let cell = document.cells.iter().find(|cell| cell.levels["engine"] == engine);
        cell.expect("it has trials").trials
    };
    assert_eq!((trials("alpha"), trials("beta")), (2, 3));
    assert_eq!(document.trials.len(), all.len(), "and all are listed");
}

#[test]
fn one_pair_is_no_evidence_and_none_is_no_ratio() {
    let mut trials = blocks(1);
    trials[2].measured = None;
    let document = document(&trials);
    let beta = comparison(&document, "create_issue", "beta");
    assert!(beta.ratio.is_some() && beta.low.is_none() && beta.high.is_none());
    assert_eq!((beta.blocks, beta.verdict), (1, Verdict::Undecided));
    let gamma = comparison(&document, "create_issue", "gamma");
    assert_eq!((gamma.ratio, gamma.blocks, gamma.verdict), (None, 0, Verdict::Undecided));
    assert_eq!(document.cells.len(), 3);
}

#[test]
fn a_cell_takes_the_typical_mean_and_the_middle_of_its_trials_quantiles() {
    let mut trials = blocks(2);
    constant(&mut trials[0], 0.001, 3_000);
    constant(&mut trials[4], 0.100, 1_000);
    measured(&mut trials[0]).operations[0].errors = 2;
    measured(&mut trials[4]).operations[0].errors = 5;
    set(&mut trials[0], &SPACE, Scope::Trial, 100.0);
    set(&mut trials[4], &SPACE, Scope::Trial, 300.0);
    let document = document(&trials);
    let cell = &document.cells[0];
    let found = &cell.operations[0];
    assert_eq!(
        (found.count, found.errors, cell.trials, cell.space_bytes),
        (4_000, 7, 2, Some(200))
    );
    near(found.mean_s, 0.01); // the geometric mean; not 0.02575, the mean of all operations
    near(found.p50_s, 0.0505); // not 0.001, the median of all operations together
    near(found.p95_s, 0.0505);
    near(found.p99_s, 0.0505);
    near(found.max_s, 0.100);
    // Neither trial has 10 operations beyond it.
    assert_eq!((found.p999_s, found.untrimmed_mean_s), (None, None));
    near(Some(found.per_second), 125.0); // 2,000 in a window of 16 s
}

#[test]
fn a_quantile_needs_ten_operations_beyond_it() {
    for (count, backed) in [
        (19, [false, false, false, false]),
        (20, [true, false, false, false]),
        (199, [true, false, false, false]),
        (200, [true, true, false, false]),
        (999, [true, true, false, false]),
        (1_000, [true, true, true, false]),
        (9_999, [true, true, true, false]),
        (10_000, [true, true, true, true]),
    ] {
        let mut trials = blocks(1);
        constant(&mut trials[0], 0.001, count);
        let document = document(&trials[..1]);
        let found = &document.trials[0].operations[0];
        let quantiles = [found.p50_s, found.p95_s, found.p99_s, found.p999_s];
        assert_eq!(quantiles.map(|q| q.is_some()), backed, "{count}");
        near(found.mean_s, 0.001);
    }
}

#[test]
fn an_operation_that_never_ended_has_no_figures() {
    let mut trials = blocks(2);
    constant(&mut trials[0], 0.001, 0);
    let document = document(&trials);
    let found = &document.trials[0].operations[0];
    assert_eq!((found.count, found.mean_s, found.max_s, found.per_second), (0, None, None, 0.0));
    assert_eq!(comparison(&document, "create_issue", "beta").blocks, 1);
}

#[test]
fn the_whole_trial_is_kept_beside_the_window() {
    let mut trials = blocks(1);
    let operation = &mut measured(&mut trials[0]).operations[0];
    for (slot, (seconds, count)) in operation.slots.iter_mut().zip([(1.0, 10), (4.0, 20)]) {
        slot.histogram.clear();
        slot.histogram.record_n((seconds * 1e9) as u64, count).unwrap();
    }
    near(document(&trials).trials[0].operations[0].untrimmed_mean_s, 3.0);
}

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
                "the p99 is left out for 8 of 64",
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

/// Bars and ratios can't contradict each other.
#[test]
fn the_ratio_of_two_cells_is_the_ratio_of_their_pairs() {
    let mut trials = blocks(5);
    // Beta is a little faster in four blocks, and slow in the fifth: its arithmetic mean is above
    // alpha's.
    for (block, beta) in [0.0009, 0.0009, 0.0009, 0.0009, 0.00145].into_iter().enumerate() {
        constant(&mut trials[4 * block], 0.001, 50);
        constant(&mut trials[4 * block + 1], beta, 50);
    }
    let document = document(&trials);
    let mean = |engine| {
        let cell = document.cells.iter().find(|cell| cell.levels["engine"] == engine).unwrap();
        cell.operations[0].mean_s.unwrap()
    };
    let ratio = comparison(&document, "create_issue", "beta").ratio.unwrap();
    assert!((mean("beta") / mean("alpha") / ratio - 1.0).abs() < 1e-9, "{ratio}");
    assert!(ratio < 1.0);
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
    for word in ["1 of 4 verdicts", "create_issue", "beta", "faster instead of slower"] {
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
