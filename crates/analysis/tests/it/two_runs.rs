//! Two runs held against each other.

use crate::data::{TrialGenerator, run};
use bakeoff_analysis::{Document, GateVerdict, SharedCell, TwoRuns, Verdict, document, two_runs};
use bakeoff_results::measure::{DUE, NOT_STARTED, OFFERED};
use bakeoff_results::{
    Answers, Canary, HostIdentity, Machine, Merged, Run, RunFolder, RunMember, Scope, Trial,
};

/// How often each block is repeated.
const BLOCKS: u32 = 5;

/// The run of the synthetic data, of one client.
fn plain() -> Run {
    run(&["1"], &["0"], 4 * BLOCKS)
}

/// TrialGenerator in which each level takes so many milliseconds for both operations, a hundred of each.
fn trials(blocks: u32, clients: &str, take: impl Fn(u32, &str) -> f64) -> Vec<Trial> {
    let mut generator = TrialGenerator::new(5, 10);
    let block = |block| generator.block(block, block, [clients, "0"]);
    let mut trials: Vec<Trial> = (0..blocks).flat_map(block).collect();
    for trial in &mut trials {
        let seconds = take(trial.repetition, &trial.levels["engine"]) / 1e3;
        let measured = trial.measured.as_mut().expect("synthetic trials are measured");
        for operation in &mut measured.operations {
            operation.slots.truncate(2);
            operation.kept.clear();
            operation.kept.record_n((seconds * 1e9) as u64, 100).unwrap();
        }
    }
    trials
}

fn document_with(run: &Run, trials: &[Trial], note: impl Fn(&mut RunFolder)) -> Document {
    let dir = crate::place();
    let mut folder = RunFolder::create(&dir.path().join("run"), run, "").unwrap();
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    note(&mut folder);
    document(&folder).unwrap()
}

fn document_of(run: &Run, trials: &[Trial]) -> Document {
    document_with(run, trials, |_| ())
}

/// The same for all levels, but for some per cent from one block to the next.
fn even(block: u32, _: &str) -> f64 {
    5.0 + 0.05 * f64::from(block % 3)
}

fn of<'a>(found: &'a TwoRuns, engine: &str, operation: &str) -> &'a SharedCell {
    let is = |it: &&SharedCell| {
        it.comparison.levels["engine"] == engine && it.comparison.operation == operation
    };
    found.shared.iter().find(is).expect("a cell of both")
}

#[test]
fn a_level_that_became_slower_by_a_third_is_caught_and_no_other() {
    let slower = |block: u32, engine: &str| {
        // In another order of blocks than before.
        even(block + 1, engine) * if engine == "beta" { 4.0 / 3.0 } else { 1.0 }
    };
    let before = document_of(&plain(), &trials(BLOCKS, "1", even));
    let after = document_of(&plain(), &trials(BLOCKS, "1", slower));
    let found = two_runs(&before, &after);
    let engines: Vec<&str> =
        found.shared.iter().map(|it| it.comparison.levels["engine"].as_str()).collect();
    assert_eq!(engines, ["alpha", "beta", "gamma", "alpha", "beta", "gamma"], "no alias");
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
fn trials_of_two_runs_are_no_pairs() {
    let drift = |block: u32, _: &str| 5.0 + f64::from(block);
    let before = document_of(&plain(), &trials(BLOCKS, "1", drift));
    let after =
        document_of(&plain(), &trials(BLOCKS, "1", |block, engine| 1.12 * drift(block, engine)));
    let found = two_runs(&before, &after);
    let alpha = &of(&found, "alpha", "create_issue").comparison;
    assert!((alpha.ratio.unwrap() - 1.12).abs() < 0.01, "{alpha:?}");
    assert!(alpha.low.unwrap() < 1.0 && alpha.high.unwrap() > 1.2, "{alpha:?}");
    assert_eq!((alpha.verdict, found.gate(0.1)), (Verdict::Undecided, GateVerdict::Undecided));
}

#[test]
fn a_single_trial_decides_nothing() {
    let before = document_of(&plain(), &trials(1, "1", even));
    let after =
        document_of(&plain(), &trials(BLOCKS, "1", |block, engine| 9.0 * even(block, engine)));
    let found = two_runs(&before, &after);
    let alpha = of(&found, "alpha", "create_issue");
    assert_eq!((alpha.comparison.low, alpha.trials), (None, [1, 5]));
    assert_eq!(found.gate(0.1), GateVerdict::Undecided);
}

#[test]
fn cells_of_one_run_alone_are_told() {
    let before = document_of(&plain(), &trials(BLOCKS, "1", even));
    let after = document_of(&run(&["4"], &["0"], 4 * BLOCKS), &trials(BLOCKS, "4", even));
    let found = two_runs(&before, &after);
    assert!(!found.have_cells_in_common());
    let clients = |cells: &[bakeoff_results::Levels]| -> Vec<String> {
        cells.iter().map(|cell| format!("{} {}", cell["engine"], cell["clients"])).collect()
    };
    assert_eq!(clients(&found.only_before), ["alpha 1", "beta 1", "gamma 1"]);
    assert_eq!(clients(&found.only_after), ["alpha 4", "beta 4", "gamma 4"]);
    assert_eq!(found.gate(0.1), GateVerdict::Undecided);
    assert!(two_runs(&before, &before).have_cells_in_common());
}

/// An open loop in which so many of 2,000 operations had not started at the end, by the repetition.
fn offered(late: impl Fn(u32) -> f64) -> Vec<Trial> {
    let mut trials = trials(BLOCKS, "1", even);
    for trial in &mut trials {
        let late = late(trial.repetition);
        let measures = &mut trial.measured.as_mut().expect("it is measured").measures;
        for (measure, value) in [(&OFFERED, 100.0), (&DUE, 2000.0), (&NOT_STARTED, late)] {
            measures.set(measure, Scope::Clients, value);
        }
    }
    trials
}

#[test]
fn a_cell_that_no_longer_keeps_up_is_worse_without_a_ratio() {
    let [kept, behind] = [0.0, 1000.0].map(|late| document_of(&plain(), &offered(|_| late)));
    let found = two_runs(&kept, &behind);
    assert_eq!((found.shared.len(), found.fell_behind.len()), (0, 3));
    assert_eq!(found.gate(10.0), GateVerdict::Worse);
    let back = two_runs(&behind, &kept);
    assert_eq!((back.fell_behind.len(), back.not_compared.len()), (0, 3));
    assert_eq!(back.gate(0.1), GateVerdict::Undecided);
}

/// What happens once is no regression.
#[test]
fn a_cell_falls_behind_where_most_of_its_trials_do() {
    let late = |trials: u32| {
        let late = move |repetition: u32| if repetition < trials { 1000.0 } else { 0.0 };
        document_of(&plain(), &offered(late))
    };
    let kept = late(0);
    for (trials, gate) in
        [(1, GateVerdict::Undecided), (2, GateVerdict::Undecided), (3, GateVerdict::Worse)]
    {
        let found = two_runs(&kept, &late(trials));
        let fell_behind = if gate == GateVerdict::Worse { 3 } else { 0 };
        assert_eq!(found.fell_behind.len(), fell_behind, "{trials} of {BLOCKS}");
        assert_eq!(found.not_compared.len(), 3 - fell_behind, "{trials} of {BLOCKS}");
        assert_eq!((found.shared.len(), found.gate(0.1)), (0, gate));
    }
}

/// TrialGenerator in which an engine has no figure of `create_issue`; so many of the others were still running when
/// they were cut off.
fn without_figures(engine: &str, unfinished: u64) -> Vec<Trial> {
    let mut trials = trials(BLOCKS, "1", even);
    for trial in trials.iter_mut().filter(|trial| trial.levels["engine"] == engine) {
        let measured = trial.measured.as_mut().expect("synthetic trials are measured");
        for operation in &mut measured.operations {
            match operation.name.as_str() {
                "create_issue" => operation.kept.reset(),
                _ => operation.unfinished = unfinished,
            }
        }
    }
    trials
}

#[test]
fn a_run_that_hangs_does_not_pass() {
    let before = document_of(&plain(), &trials(BLOCKS, "1", even));
    let [gone, hung] =
        [0, 1].map(|unfinished| document_of(&plain(), &without_figures("beta", unfinished)));
    let engines = |cells: &[bakeoff_results::Levels]| -> Vec<String> {
        cells.iter().map(|cell| cell["engine"].clone()).collect()
    };
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

#[test]
fn set_up_of_a_merged_run_is_that_of_all_its_machines() {
    let member = |shard: u32, kernel: &str| RunMember {
        shard: Some(shard),
        host: HostIdentity { name: format!("host {shard}"), boot: format!("boot {shard}") },
        machine: Machine { kernel: kernel.into(), ..plain().machine },
        harness_s: 4e-8,
        load: None,
        neighbour_alone_per_second: None,
        started_s: 1.7e9,
        ended_s: Some(1.7e9 + 5.0),
        ahead_s: None,
        canaries: 1,
        blocks: vec![(shard - 1, 4)],
        cuts: Vec::new(),
    };
    let run = |kernels: [&str; 2]| {
        let members = vec![member(1, kernels[0]), member(2, kernels[1])];
        let plan = "17".into();
        let merged = Merged { plan, program_sha256: None, count: 2, members };
        Run { merged: Some(merged), ..plain() }
    };
    let looks = |cpu_s| {
        let canary =
            Canary { at_s: 0.0, cpu_s, memory_s: 0.01, sync_s: 0.001, read_s: None, off: None };
        move |folder: &mut RunFolder| {
            folder.commit_canary(&canary).unwrap();
            folder.commit_canary(&canary).unwrap();
        }
    };
    let trials = trials(2, "1", even);
    let [same, newer] = [(["6.12", "6.1"], 0.1), (["6.1", "7.0"], 0.2)]
        .map(|(kernels, cpu_s)| document_with(&run(kernels), &trials, looks(cpu_s)));
    let told = |one: &Document, other: &Document| -> Vec<String> {
        let text = |it: &Option<String>| it.clone().unwrap_or_default();
        let all = two_runs(one, other).set_up.into_iter();
        all.map(|it| format!("{}: {} {}", it.what, text(&it.before), text(&it.after))).collect()
    };
    let wanted = [
        "kernel: 6.1; 6.12 6.1; 7.0",
        "median of each run’s machines alone, arithmetic: 100.000 ms 200.000 ms",
    ];
    assert_eq!(told(&same, &newer), wanted);
    assert!(told(&document_of(&plain(), &trials), &same).contains(&"machines: 1 2".to_owned()));
}

#[test]
fn what_differs_in_set_up_is_told_and_nothing_else() {
    let canary = |cpu_s| {
        let canary =
            Canary { at_s: 0.0, cpu_s, memory_s: 0.01, sync_s: 0.001, read_s: None, off: None };
        move |folder: &mut RunFolder| folder.commit_canary(&canary).unwrap()
    };
    let trials = trials(1, "1", even);
    let before = document_with(&plain(), &trials, canary(0.1));
    assert!(two_runs(&before, &before).set_up.is_empty());
    let mut other = plain();
    other.version = "0.1.0".into();
    other.machine.kernel = "6.12".into();
    other.engines[0].version = "1".into();
    other.applied[0].settings[0].value = "128M".into();
    let after = document_with(&other, &trials, canary(0.15));
    let text = |it: &Option<String>| it.clone().unwrap_or_else(|| "nothing".into());
    let differences = two_runs(&before, &after).set_up;
    let told: Vec<[String; 3]> =
        differences.iter().map(|it| [it.what.clone(), text(&it.before), text(&it.after)]).collect();
    let wanted = [
        ["bakeoff", "0.0.0", "0.1.0"],
        ["kernel", "", "6.12"],
        ["alpha, version", "0", "1"],
        ["alpha, cache (strict, unlimited memory)", "256M", "128M"],
        ["the machine alone, arithmetic", "100.000 ms", "150.000 ms"],
    ];
    assert_eq!(told, wanted);
}

#[test]
fn what_only_one_of_two_machines_tells_is_no_difference() {
    let trials = trials(1, "1", even);
    let of = |sum: Option<&str>, governor: Option<&str>, smt| {
        let mut run = plain();
        run.program_sha256 = sum.map(|digit| digit.repeat(64));
        run.machine.governor = governor.map(str::to_owned);
        run.machine.smt = smt;
        document_of(&run, &trials)
    };
    let told = |one: &Document, other: &Document| -> Vec<String> {
        let text = |it: &Option<String>| it.clone().unwrap_or_else(|| "nothing".into());
        let all = two_runs(one, other).set_up.into_iter();
        all.map(|it| format!("{}: {} {}", it.what, text(&it.before), text(&it.after))).collect()
    };
    let before = of(Some("a"), Some("powersave"), Some(true));
    let wanted = [
        "bakeoff’s SHA-256: aaaaaaaaaaaa bbbbbbbbbbbb",
        "CPU frequency governor: powersave performance",
        "SMT: on off",
    ];
    assert_eq!(told(&before, &of(Some("b"), Some("performance"), Some(false))), wanted);
    assert_eq!(told(&before, &of(None, None, None)), [""; 0], "an older bakeoff recorded none");
    assert_eq!(told(&of(None, None, None), &before), [""; 0]);
}

#[test]
fn other_answers_to_the_same_questions_void_a_comparison() {
    let answers = |digest: &str| {
        let answers = Answers {
            image: "all alpha".to_owned(),
            engine: "alpha".to_owned(),
            levels: [("engine".to_owned(), "alpha".to_owned())].into(),
            work: "all".to_owned(),
            operations: 20,
            statements: 5_000,
            digest: Some(digest.to_owned()),
            failed: None,
            difference: None,
        };
        move |folder: &mut RunFolder| folder.note_answers(&answers).unwrap()
    };
    let trials = trials(BLOCKS, "1", even);
    let before = document_with(&plain(), &trials, answers("1"));
    let verdict = |run: &Run, digest: &str| {
        let after = document_with(run, &trials, answers(digest));
        of(&two_runs(&before, &after), "alpha", "create_issue").comparison.verdict
    };
    assert_eq!(verdict(&plain(), "1"), Verdict::Same);
    assert_eq!(verdict(&plain(), "2"), Verdict::Void);
    // Other data have other answers.
    let seeded = Run { seed: 2, ..plain() };
    assert_eq!(verdict(&seeded, "2"), Verdict::Same);
}
