//! Two runs held against each other.

use bakeoff_analysis::{Document, GateVerdict, RunComparison, SharedCell, Verdict, two_runs};
use bakeoff_results::measure::{DUE, NOT_STARTED, OFFERED};
use bakeoff_results::{Levels, Merged, Run, RunFolder, Scope};
use bakeoff_testkit::synthetic::{self, answers};

use crate::known::{blocks_that_take, look, measured, of_engine, plain_run, read, read_with, set};
use crate::machines::member;

/// How often each block is repeated.
const BLOCKS: u32 = 5;

/// The run of the synthetic data, of one client.
fn plain() -> Run {
    plain_run(4 * BLOCKS)
}

/// The document of a run in which each level takes so many milliseconds.
fn that_takes(take_ms: impl Fn(u32, &str) -> f64) -> Document {
    read(&plain(), &blocks_that_take(BLOCKS, take_ms))
}

/// The same for all levels, but for some per cent from one block to the next.
fn even(block: u32, _: &str) -> f64 {
    5.0 + 0.05 * f64::from(block % 3)
}

fn of<'a>(found: &'a RunComparison, engine: &str, operation: &str) -> &'a SharedCell {
    let is = |it: &&SharedCell| {
        it.comparison.levels["engine"] == engine && it.comparison.operation == operation
    };
    found.shared.iter().find(is).expect("a cell of both")
}

/// The engines of some cells.
fn engines(cells: &[Levels]) -> Vec<&str> {
    cells.iter().map(|cell| cell["engine"].as_str()).collect()
}

#[test]
fn a_level_that_became_slower_by_a_third_is_caught_and_no_other() {
    let before = that_takes(even);
    // In another order of blocks than before.
    let after = that_takes(|block, engine| {
        even(block + 1, engine) * if engine == "beta" { 4.0 / 3.0 } else { 1.0 }
    });
    let found = two_runs(&before, &after);
    let all: Vec<&str> = found.shared.iter().map(|it| &*it.comparison.levels["engine"]).collect();
    assert_eq!(all, ["alpha", "beta", "gamma", "alpha", "beta", "gamma"], "no alias");
    let beta = of(&found, "beta", "process_issues");
    let ratio = beta.comparison.ratio.unwrap();
    assert!((1.3..1.37).contains(&ratio), "{ratio}");
    assert!((0.0050..0.0052).contains(&beta.before), "{} s", beta.before);
    assert!((beta.after / beta.before - ratio).abs() < 1e-9);
    assert_eq!((beta.comparison.verdict, beta.trials), (Verdict::Slower, [5, 5]));
    assert_eq!(beta.comparison.adjusted_over, 6, "one family");
    assert_eq!(of(&found, "alpha", "create_issue").comparison.verdict, Verdict::Same);
    let gates = [0.1, 0.3, 0.5].map(|limit| found.gate(limit));
    assert_eq!(gates, [GateVerdict::Worse, GateVerdict::Worse, GateVerdict::Passed]);
    // The other way round it is faster, which no limit forbids.
    let back = two_runs(&after, &before);
    assert_eq!(of(&back, "beta", "create_issue").comparison.verdict, Verdict::Faster);
    assert_eq!(back.gate(0.0), GateVerdict::Passed);
}

/// Each block takes longer than the one before, in both runs: pairs of equal numbers would differ by
/// 12 % each, without any spread. But no trial of the one run has anything to do with one of the other.
#[test]
fn trials_of_two_runs_are_no_pairs_and_a_single_one_decides_nothing() {
    let drift = |block: u32, _: &str| 5.0 + f64::from(block);
    let found =
        two_runs(&that_takes(drift), &that_takes(|block, engine| 1.12 * drift(block, engine)));
    let alpha = &of(&found, "alpha", "create_issue").comparison;
    assert!((alpha.ratio.unwrap() - 1.12).abs() < 0.01, "{alpha:?}");
    assert!(alpha.low.unwrap() < 1.0 && alpha.high.unwrap() > 1.2, "{alpha:?}");
    assert_eq!((alpha.verdict, found.gate(0.1)), (Verdict::Undecided, GateVerdict::Undecided));
    // Whether it is slower stays open; that it is within a wider limit does not.
    let highest = found.shared.iter().filter_map(|it| it.comparison.high).reduce(f64::min).unwrap();
    assert_eq!(found.gate(highest - 1.0 + 0.01), GateVerdict::Passed);
    assert_eq!(found.gate(highest - 1.0 - 0.01), GateVerdict::Undecided);
    let one = read(&plain(), &blocks_that_take(1, even));
    let found = two_runs(&one, &that_takes(|block, engine| 9.0 * even(block, engine)));
    let alpha = of(&found, "alpha", "create_issue");
    assert_eq!((alpha.comparison.low, alpha.trials), (None, [1, 5]));
    assert_eq!(found.gate(0.1), GateVerdict::Undecided);
}

#[test]
fn cells_of_one_run_alone_are_told() {
    let before = that_takes(even);
    let mut trials = blocks_that_take(BLOCKS, even);
    trials.iter_mut().for_each(|it| drop(it.levels.insert("clients".into(), "4".into())));
    let after = read(&synthetic::run(&["4"], &["0"], 4 * BLOCKS), &trials);
    let found = two_runs(&before, &after);
    assert!(!found.have_cells_in_common());
    for (cells, clients) in [(&found.only_before, "1"), (&found.only_after, "4")] {
        assert_eq!(engines(cells), ["alpha", "beta", "gamma"]);
        assert!(cells.iter().all(|cell| cell["clients"] == clients), "{cells:?}");
    }
    assert_eq!(found.gate(0.1), GateVerdict::Undecided);
    assert!(two_runs(&before, &before).have_cells_in_common());
}

/// What happens once is no regression; a cell falls behind where most of its trials do, and has no ratio then.
#[test]
fn a_cell_that_no_longer_keeps_up_is_worse_without_a_ratio() {
    // An open loop in which half of 2,000 operations had not started at the end, in so many trials.
    let behind = |repetitions: u32| {
        let mut trials = blocks_that_take(BLOCKS, even);
        for trial in &mut trials {
            let late = if trial.repetition < repetitions { 1000.0 } else { 0.0 };
            for (measure, value) in [(&OFFERED, 100.0), (&DUE, 2000.0), (&NOT_STARTED, late)] {
                set(trial, measure, Scope::Clients, value);
            }
        }
        read(&plain(), &trials)
    };
    let kept = behind(0);
    for (trials, fell_behind, gate) in [
        (1, 0, GateVerdict::Undecided),
        (2, 0, GateVerdict::Undecided),
        (3, 3, GateVerdict::Worse),
        (BLOCKS, 3, GateVerdict::Worse),
    ] {
        let found = two_runs(&kept, &behind(trials));
        assert_eq!(found.fell_behind.len(), fell_behind, "{trials} of {BLOCKS}");
        assert_eq!(found.not_compared.len(), 3 - fell_behind, "{trials} of {BLOCKS}");
        assert_eq!((found.shared.len(), found.gate(0.1)), (0, gate));
        assert!(gate == GateVerdict::Undecided || found.gate(10.0) == gate);
    }
    let back = two_runs(&behind(BLOCKS), &kept);
    assert_eq!((back.fell_behind.len(), back.not_compared.len()), (0, 3));
    assert_eq!(back.gate(0.1), GateVerdict::Undecided);
}

#[test]
fn a_run_that_hangs_does_not_pass() {
    let before = that_takes(even);
    // Beta has no figure of `create_issue`; so many of the others were still running when they were cut off.
    let [gone, hung] = [0, 1].map(|unfinished| {
        let mut trials = blocks_that_take(BLOCKS, even);
        for trial in of_engine(&mut trials, "beta") {
            let operations = &mut measured(trial).operations;
            operations[0].kept.reset();
            operations[1].unfinished = unfinished;
        }
        read(&plain(), &trials)
    });
    let found = two_runs(&before, &hung);
    assert_eq!(engines(&found.hung), ["beta"]);
    assert!(found.without_figures.is_empty(), "{found:?}");
    assert_eq!(of(&found, "alpha", "create_issue").comparison.verdict, Verdict::Same);
    assert_eq!(found.gate(0.1), GateVerdict::Worse);
    // Without a word on a hang it is told, and so it is the other way round.
    for found in [two_runs(&before, &gone), two_runs(&gone, &before), two_runs(&hung, &before)] {
        assert_eq!(engines(&found.without_figures), ["beta"]);
        assert!(found.hung.is_empty() && found.have_cells_in_common(), "{found:?}");
        assert_eq!(found.gate(0.1), GateVerdict::Passed);
    }
}

/// What is told to differ in the set-up of two runs.
fn differences(one: &Document, other: &Document) -> Vec<String> {
    let text = |it: &Option<String>| it.clone().unwrap_or_else(|| "nothing".into());
    let all = two_runs(one, other).set_up.into_iter();
    all.map(|it| format!("{}: {} / {}", it.what, text(&it.before), text(&it.after))).collect()
}

/// A run of one block that looked at its machine once.
fn looked(run: &Run, cpu_s: f64) -> Document {
    read_with(run, &blocks_that_take(1, even), |folder| folder.commit_canary(&look(cpu_s)).unwrap())
}

#[test]
fn what_differs_in_set_up_is_told_and_nothing_else() {
    let before = looked(&plain(), 0.1);
    assert_eq!(differences(&before, &before), [""; 0]);
    let mut other = plain();
    other.version = "0.1.0".into();
    other.machine.kernel = "6.12".into();
    other.engines[0].version = "1".into();
    other.applied[0].settings[0].value = "128M".into();
    let wanted = [
        "bakeoff: 0.0.0 / 0.1.0",
        "kernel:  / 6.12",
        "alpha, version: 0 / 1",
        "alpha, cache (strict, unlimited memory): 256M / 128M",
        "the machine alone, arithmetic: 100.000 ms / 150.000 ms",
    ];
    assert_eq!(differences(&before, &looked(&other, 0.15)), wanted);
}

#[test]
fn set_up_of_a_merged_run_is_that_of_all_its_machines() {
    let merged = |kernels: [&str; 2], cpu_s| {
        let mut members = vec![member(1, "a", 0), member(2, "b", 4)];
        for (member, kernel) in members.iter_mut().zip(kernels) {
            member.machine.clone_from(&plain().machine);
            member.machine.kernel = kernel.into();
        }
        let plan = "17".into();
        let merged = Merged { plan, program_sha256: None, count: 2, members };
        looked(&Run { merged: Some(merged), ..plain() }, cpu_s)
    };
    let same = merged(["6.12", "6.1"], 0.1);
    let wanted = [
        "kernel: 6.1; 6.12 / 6.1; 7.0",
        "median of each run’s machines alone, arithmetic: 100.000 ms / 200.000 ms",
    ];
    assert_eq!(differences(&same, &merged(["6.1", "7.0"], 0.2)), wanted);
    let alone = differences(&looked(&plain(), 0.1), &same);
    assert!(alone.contains(&"machines: 1 / 2".to_owned()), "{alone:?}");
}

#[test]
fn what_only_one_of_two_machines_tells_is_no_difference() {
    let of = |sum: Option<&str>, governor: Option<&str>, smt| {
        let mut run = plain();
        run.program_sha256 = sum.map(|digit| digit.repeat(64));
        run.machine.governor = governor.map(str::to_owned);
        run.machine.smt = smt;
        looked(&run, 0.1)
    };
    let before = of(Some("a"), Some("powersave"), Some(true));
    let wanted = [
        "bakeoff’s SHA-256: aaaaaaaaaaaa / bbbbbbbbbbbb",
        "CPU frequency governor: powersave / performance",
        "SMT: on / off",
    ];
    assert_eq!(differences(&before, &of(Some("b"), Some("performance"), Some(false))), wanted);
    // An older bakeoff recorded none.
    let older = of(None, None, None);
    assert_eq!([differences(&before, &older), differences(&older, &before)], [[""; 0]; 2]);
}

#[test]
fn other_answers_to_the_same_questions_void_a_comparison() {
    let document = |run: &Run, digest: &str| {
        let note = |folder: &mut RunFolder| {
            folder.note_answers(&answers("alpha", "all", Some(digest))).unwrap()
        };
        read_with(run, &blocks_that_take(BLOCKS, even), note)
    };
    let before = document(&plain(), "1");
    // Other data have other answers.
    let seeded = Run { seed: 2, ..plain() };
    for (run, digest, verdict) in
        [(plain(), "1", Verdict::Same), (plain(), "2", Verdict::Void), (seeded, "2", Verdict::Same)]
    {
        let found = two_runs(&before, &document(&run, digest));
        assert_eq!(of(&found, "alpha", "create_issue").comparison.verdict, verdict);
    }
}
