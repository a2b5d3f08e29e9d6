//! The words for comparisons, and what they rest on.

use crate::data::{TrialGenerator, run};
use bakeoff_analysis::{Comparison, Document, RatioIs, Verdict, WarningKind};
use bakeoff_results::measure::{
    CONCURRENCY, FAULTS, ROUNDS_ERROR, ROUNDS_RANGE, ROUNDS_RISE, RUN_DELAY, TRIALS_SINCE,
};
use bakeoff_results::{AnswerDifference, Answers, RunFolder, Scope, Trial};

/// Four blocks of one client, the levels as [`LEVELS`].
const BLOCKS: u32 = 4;
const LEVELS: [&str; 4] = ["alpha", "beta", "gamma", "alpha@again"];

/// Blocks in which each level takes so many milliseconds for the first operation, times what that
/// block gives, and so much for the second; a hundred of each.
fn blocks(clients: &str, first: u32, take: impl Fn(u32, &str) -> f64) -> Vec<Trial> {
    let mut generator = TrialGenerator::new(5, 10);
    let block = |block| generator.block(block, first + block, [clients, "0"]);
    let mut trials: Vec<Trial> = (0..BLOCKS).flat_map(block).collect();
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

fn document(trials: &[Trial]) -> Document {
    document_with(trials, &[])
}

/// The document of a run whose images were asked before.
fn document_with(trials: &[Trial], answers: &[Answers]) -> Document {
    let dir = crate::place();
    let path = dir.path().join("run");
    let mut folder = RunFolder::create(&path, &run(&["1", "4"], &["0"], 32), "").unwrap();
    answers.iter().for_each(|it| folder.note_answers(it).unwrap());
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    bakeoff_analysis::document(&folder).unwrap()
}

/// What an engine's image answered to the work of a scale.
fn answers(engine: &str, work: &str, digest: Option<&str>) -> Answers {
    Answers {
        image: format!("{work} {engine}"),
        engine: engine.to_owned(),
        levels: [("engine".to_owned(), engine.to_owned())].into(),
        work: work.to_owned(),
        operations: 20,
        statements: 5_000,
        digest: digest.map(str::to_owned),
        failed: digest.is_none().then(|| "its process was killed by signal 9".to_owned()),
        difference: None,
    }
}

fn told(document: &Document, kind: WarningKind) -> Option<String> {
    document.warnings.iter().find(|it| it.kind == kind).map(ToString::to_string)
}

#[test]
fn engines_that_do_not_answer_alike_have_no_verdict_against_each_other() {
    let trials = blocks("1", 0, plain);
    let of = |[alpha, beta, gamma]: [Option<&str>; 3]| {
        let all = [("alpha", alpha), ("beta", beta), ("gamma", gamma)];
        all.map(|(engine, digest)| answers(engine, "all", digest))
    };
    let words = |document: &Document| {
        let word = |pair: (&str, &str)| compared(document, pair.0, pair.1).verdict;
        [("alpha", "beta"), ("alpha", "gamma"), ("beta", "gamma")].map(word)
    };
    use Verdict::{Faster, Slower, Void};
    let alike = document_with(&trials, &of([Some("1"); 3]));
    assert_eq!(words(&alike), [Slower, Faster, Faster]);
    assert_eq!(told(&alike, WarningKind::AnswersDiffer), None);
    let mut all = of([Some("1"), Some("2"), Some("1")]);
    all[1].difference = Some(AnswerDifference {
        other: "alpha".into(),
        number: 3,
        operation: "create_issue".into(),
        statement: "issue by id".into(),
        answer: "2 rows: (5) (5)".into(),
        other_answer: "1 rows: (5)".into(),
    });
    let differ = document_with(&trials, &all);
    assert_eq!(words(&differ), [Void, Faster, Void]);
    let beta = compared(&differ, "alpha", "beta");
    // The interval is there, and the others pay nothing for a comparison that has no word.
    assert!(beta.low.is_some() && beta.p_adjusted.is_none());
    assert_eq!(compared(&differ, "alpha", "gamma").adjusted_over, 2);
    let text = told(&differ, WarningKind::AnswersDiffer).unwrap();
    let wanted = "operation 3 (create_issue), statement `issue by id`: beta answered 2 rows: (5) (5), \
                  and alpha 1 rows: (5)";
    assert!(text.contains(wanted), "{text}");
    assert_eq!(differ.warnings[0].kind, WarningKind::AnswersDiffer, "the worst comes first");
    let failed = document_with(&trials, &of([Some("1"), Some("1"), None]));
    assert_eq!(words(&failed), [Slower, Void, Void]);
    let text = told(&failed, WarningKind::AnswersDiffer).unwrap();
    assert!(text.contains("gamma answered nothing (its process was killed by signal 9)"), "{text}");
}

#[test]
fn answers_are_held_against_those_to_the_same_questions_alone() {
    let trials = blocks("1", 0, plain);
    let verdict = |all: &[Answers], baseline, level| {
        compared(&document_with(&trials, all), baseline, level).verdict
    };
    // Of an engine that was not asked nothing is known.
    let one = [answers("beta", "all", Some("2"))];
    assert_eq!(verdict(&one, "alpha", "beta"), Verdict::Slower);
    let two = [answers("alpha", "small", Some("1")), answers("beta", "large", Some("2"))];
    assert_eq!(verdict(&two, "alpha", "beta"), Verdict::Slower);
    // Of the images of an engine the one counts that has the cell's levels.
    let image = |engine, clients: &str, digest| {
        let mut image = answers(engine, clients, Some(digest));
        image.levels.insert("clients".into(), clients.into());
        image
    };
    let four = |digest| {
        [
            image("alpha", "1", "1"),
            image("beta", "1", digest),
            image("alpha", "4", "3"),
            image("beta", "4", "4"),
        ]
    };
    assert_eq!(verdict(&four("1"), "alpha", "beta"), Verdict::Slower);
    assert_eq!(verdict(&four("2"), "alpha", "beta"), Verdict::Void);
    // An alias has the same image.
    let again = verdict(&[answers("alpha", "all", None)], "alpha", "alpha@again");
    assert_eq!(again, Verdict::Void);
}

#[test]
fn what_was_broken_after_a_trial_voids_its_comparisons() {
    for faults in [0.0, 1.0] {
        let mut trials = blocks("1", 0, plain);
        let first = trials.iter_mut().find(|trial| trial.levels["engine"] == "beta").unwrap();
        let measured = first.measured.as_mut().unwrap();
        measured.measures.set(&FAULTS, Scope::Trial, faults);
        measured.warnings.push("the disk was late".into());
        measured.warnings.push(format!("{}index i: 2 rows differ", Answers::BROKEN));
        let document = document(&trials);
        let broken = faults > 0.0;
        let verdict = |baseline, level| compared(&document, baseline, level).verdict;
        assert_eq!(verdict("alpha", "beta") == Verdict::Void, broken);
        assert_eq!(verdict("beta", "gamma") == Verdict::Void, broken);
        assert_eq!(verdict("alpha", "gamma"), Verdict::Faster);
        let text = told(&document, WarningKind::CheckFailed);
        assert_eq!(text.is_some(), broken);
        assert!(text.is_none_or(
            |text| text.contains("engine beta") && text.contains(": index i: 2 rows differ;")
        ));
    }
}

/// The first operation's comparison of two levels.
fn compared<'a>(document: &'a Document, baseline: &str, level: &str) -> &'a Comparison {
    let all = [&document.comparisons, &document.between, &document.noise].into_iter().flatten();
    let mut all = all.filter(|it| it.operation == "create_issue" && it.levels["clients"] == "1");
    all.find(|it| it.baseline == baseline && it.level == level).expect("it is compared")
}

/// A little noise, never the same for two levels.
fn ripple(block: u32, level: &str) -> f64 {
    let at = LEVELS.iter().position(|it| *it == level).expect("a level");
    [[1.0, 1.01, 1.02, 1.0], [1.01, 1.0, 1.0, 1.02], [1.02, 1.02, 1.0, 1.01], [1.0, 1.0, 1.01, 1.0]]
        [block as usize][at]
}

fn plain(block: u32, level: &str) -> f64 {
    let means = [10.0, 20.0, 5.0, 10.0];
    let at = LEVELS.iter().position(|it| *it == level).expect("a level");
    means[at] * ripple(block, level)
}

fn with_count(trials: &mut [Trial], engine: &str, block: u32, count: u64) {
    for trial in trials.iter_mut().filter(|it| it.levels["engine"] == engine && it.block == block) {
        let operation = &mut trial.measured.as_mut().unwrap().operations[0];
        let mean = operation.kept.mean() as u64;
        operation.kept.clear();
        operation.kept.record_n(mean, count).unwrap();
    }
}

fn cut_off(trials: &mut [Trial], engine: &str) {
    for trial in trials.iter_mut().filter(|it| it.levels["engine"] == engine && it.block == 2) {
        trial.measured.as_mut().unwrap().operations[0].unfinished = 3;
    }
}

#[test]
fn nineteen_operations_in_one_trial_are_too_few_for_a_word() {
    for (count, verdict) in [(20, Verdict::Slower), (19, Verdict::TooFew)] {
        let mut trials = blocks("1", 0, plain);
        with_count(&mut trials, "beta", 3, count);
        let document = document(&trials);
        let beta = compared(&document, "alpha", "beta");
        assert_eq!((beta.fewest_operations, beta.verdict), (Some(count), verdict));
        assert!(beta.low.is_some(), "the interval is there all the same");
        assert_eq!(compared(&document, "beta", "gamma").verdict == Verdict::TooFew, count == 19);
        // The others have enough.
        assert_eq!(compared(&document, "alpha", "gamma").verdict, Verdict::Faster);
    }
    // Same is a word like any other, and what has too few of it takes nothing from the others.
    let mut trials =
        blocks("1", 0, |block, level| if level == "beta" { 10.0 } else { plain(block, level) });
    trials.retain(|trial| trial.levels["engine"] != "alpha@again");
    assert_eq!(compared(&document(&trials), "alpha", "beta").verdict, Verdict::Same);
    with_count(&mut trials, "beta", 0, 19);
    let document = document(&trials);
    let beta = compared(&document, "alpha", "beta");
    assert_eq!((beta.verdict, beta.p_adjusted, beta.adjusted_over), (Verdict::TooFew, None, 0));
    assert_eq!(compared(&document, "alpha", "gamma").adjusted_over, 4);
}

fn with_rounds(trials: &mut [Trial], engine: &str, block: u32, (range, error): (f64, f64)) {
    for trial in trials.iter_mut().filter(|it| it.levels["engine"] == engine && it.block == block) {
        let measures = &mut trial.measured.as_mut().unwrap().measures;
        measures.set(&ROUNDS_RANGE, Scope::Trial, range);
        measures.set(&ROUNDS_RISE, Scope::Trial, 0.0);
        measures.set(&ROUNDS_ERROR, Scope::Trial, error);
    }
}

#[test]
fn one_trial_that_was_never_steady_keeps_its_comparisons_open() {
    for (rounds, verdict) in [
        ((0.19, 0.01), Verdict::Slower),
        // It may be noise, which is told in a warning.
        ((0.40, 0.10), Verdict::Slower),
        ((0.40, 0.01), Verdict::NeverSteady),
    ] {
        let mut trials = blocks("1", 0, plain);
        with_rounds(&mut trials, "beta", 2, rounds);
        let document = document(&trials);
        let beta = compared(&document, "alpha", "beta");
        assert_eq!(beta.verdict, verdict, "{rounds:?}");
        assert_eq!(beta.p_adjusted.is_none(), verdict == Verdict::NeverSteady);
        assert!(beta.low.is_some(), "the interval is there all the same");
        assert_eq!(compared(&document, "alpha", "gamma").verdict, Verdict::Faster);
        let told = document.warnings.iter().any(|it| it.kind == WarningKind::NeverSteady);
        assert_eq!(told, verdict == Verdict::NeverSteady);
    }
    // Too few operations make no difference: what comes later may be anything.
    let mut trials = blocks("1", 0, plain);
    with_rounds(&mut trials, "beta", 2, (0.4, 0.01));
    with_count(&mut trials, "beta", 3, 19);
    assert_eq!(compared(&document(&trials), "alpha", "beta").verdict, Verdict::NeverSteady);
}

#[test]
fn a_trial_that_was_conditioned_anew_is_told_of() {
    let mut trials = blocks("1", 0, plain);
    let mut since = |engine: &str, block: u32, others: f64| {
        let mut of = trials.iter_mut().filter(|it| it.block == block);
        let trial = of.find(|it| it.levels["engine"] == engine).unwrap();
        let measures = &mut trial.measured.as_mut().unwrap().measures;
        measures.set(&TRIALS_SINCE, Scope::Trial, others);
        document(&trials)
            .warnings
            .iter()
            .find(|it| it.kind == WarningKind::ConditionedAnew)
            .cloned()
    };
    for engine in ["alpha", "beta", "gamma"] {
        assert_eq!(since(engine, 1, 0.0), None, "all of them");
    }
    assert_eq!((since("alpha", 2, 1.0), since("beta", 2, 1.0)), (None, None));
    let told = since("gamma", 2, 0.0).expect("a warning");
    assert!(told.text.contains("1 of ") && told.text.contains("gamma"), "{told}");
}

/// Two operations and three pairs of levels make a family of six; a second setting doubles it, and
/// what alone would just be believed no longer is.
#[test]
fn all_that_the_sentence_counts_is_one_family() {
    let barely = |block: u32, level: &str| match level {
        "beta" => 10.0 * [1.15, 1.3, 1.45, 1.3][block as usize],
        _ => plain(block, level),
    };
    let mut trials = blocks("1", 0, barely);
    let one = document(&trials);
    let alone = compared(&one, "alpha", "beta");
    assert_eq!((alone.adjusted_over, alone.verdict), (6, Verdict::Slower));
    // Elsewhere nothing differs.
    let equal = |block: u32, level: &str| {
        10.0 * (1.0
            + 0.3
                * (f64::from(block) - 1.5)
                * if level == "alpha" {
                    1.0
                } else if level == "beta" {
                    -1.0
                } else {
                    0.5
                })
    };
    trials.extend(blocks("4", BLOCKS, equal));
    let two = document(&trials);
    let among = compared(&two, "alpha", "beta");
    assert_eq!((among.ratio, among.low, among.adjusted_over), (alone.ratio, alone.low, 12));
    assert!(among.p_adjusted.unwrap() > 1.5 * alone.p_adjusted.unwrap(), "{among:?}");
    assert_eq!((among.verdict, among.is_held_back()), (Verdict::Undecided, true), "{among:?}");
    assert!(!alone.is_held_back());
    let both: Vec<u32> =
        two.comparisons.iter().chain(&two.between).map(|it| it.adjusted_over).collect();
    assert_eq!(both, [12; 12]);
    // What a level is against itself is no part of it.
    assert!(two.noise.iter().all(|it| it.adjusted_over == 1), "{:?}", two.noise);
}

/// Beta and gamma go up and down together, and alpha does not: against alpha both are undecided, and
/// against each other they are as clear as can be.
#[test]
fn two_levels_that_are_not_the_baseline_are_paired_directly() {
    let together = |block: u32, level: &str| match level {
        "beta" => [10.0, 30.0, 90.0, 5.0][block as usize],
        "gamma" => [20.2, 60.0, 181.0, 10.0][block as usize],
        _ => 10.0 * ripple(block, level),
    };
    let document = document(&blocks("1", 0, together));
    for level in ["beta", "gamma"] {
        let wide = compared(&document, "alpha", level);
        assert!(wide.high.unwrap() / wide.low.unwrap() > 10.0, "{wide:?}");
    }
    let direct = compared(&document, "beta", "gamma");
    assert_eq!((direct.verdict, direct.blocks), (Verdict::Slower, BLOCKS));
    assert!(direct.low.unwrap() > 1.95 && direct.high.unwrap() < 2.05, "{direct:?}");
    // One pair of levels, two operations; none with the alias.
    assert_eq!(document.between.len(), 2);
}

#[test]
fn what_was_cut_off_is_a_bound() {
    let mut trials = blocks("1", 0, plain);
    cut_off(&mut trials, "beta");
    let document = document(&trials);
    let slow = compared(&document, "alpha", "beta");
    assert_eq!(
        (slow.ratio_is, slow.high, slow.verdict),
        (Some(RatioIs::AtLeast), None, Verdict::Slower)
    );
    assert!(slow.low.unwrap() > 1.9 && slow.ratio.unwrap() > 1.9, "{slow:?}");
    // The other way round it is an upper bound.
    let fast = compared(&document, "beta", "gamma");
    assert_eq!(
        (fast.ratio_is, fast.low, fast.verdict),
        (Some(RatioIs::AtMost), None, Verdict::Faster)
    );
    assert_eq!(fast.swapped().ratio_is, Some(RatioIs::AtLeast));
    // What whole trials say is inverted twice, which rounds.
    let without = |it: &Comparison| Comparison { with_warm_up: None, ..it.clone() };
    assert_eq!(without(&fast.swapped().swapped()), without(fast));
    // The other operation was followed to its end.
    assert_eq!(document.comparisons[2].ratio_is, Some(RatioIs::Exact));
}

/// It took 10 ms or more: as long as the baseline, or a hundred times.
#[test]
fn a_bound_is_never_the_same_and_never_on_the_other_side() {
    for (ms, engine) in [(10.0, "beta"), (2.0, "beta"), (50.0, "alpha")] {
        let mut trials = blocks("1", 0, |block, level| match level {
            "alpha" if engine == "alpha" => ms,
            "beta" if engine == "beta" => ms,
            _ => 10.0 * (1.0 + 0.001 * (f64::from(block))),
        });
        cut_off(&mut trials, engine);
        let document = document(&trials);
        let found = compared(&document, "alpha", "beta");
        let expected = if ms > 10.0 { Verdict::Faster } else { Verdict::Undecided };
        assert_eq!(found.verdict, expected, "{ms} ms: {found:?}");
        assert_eq!(found.p_adjusted.is_some(), ms > 10.0, "{found:?}");
    }
}

#[test]
fn a_bound_on_either_side_is_no_ratio() {
    let mut trials = blocks("1", 0, plain);
    cut_off(&mut trials, "beta");
    cut_off(&mut trials, "alpha");
    let document = document(&trials);
    let found = compared(&document, "alpha", "beta");
    assert_eq!((found.ratio, found.ratio_is, found.blocks), (None, None, BLOCKS));
    assert_eq!((found.verdict, found.adjusted_over), (Verdict::Undecided, 0));
}

/// Alpha seems to be 1.3 times as slow as alpha.
#[test]
fn a_difference_below_the_noise_floor_has_a_word_of_its_own() {
    let noisy = |slow: f64| {
        move |block: u32, level: &str| match level {
            "alpha@again" => 13.0 * ripple(block, "alpha"),
            "beta" => slow * ripple(block, level),
            _ => plain(block, level),
        }
    };
    for (slow, verdict) in [
        (12.5, Verdict::WithinNoise),
        (14.0, Verdict::Slower),
        (8.0, Verdict::WithinNoise),
        (7.4, Verdict::Faster),
    ] {
        let eight = [blocks("1", 0, noisy(slow)), blocks("1", BLOCKS, noisy(slow))].concat();
        let document = document(&eight);
        let beta = compared(&document, "alpha", "beta");
        assert!((beta.noise_floor.unwrap() - 0.3).abs() < 0.01, "{beta:?}");
        assert_eq!(beta.verdict, verdict, "{slow}");
        // How uneven alpha is says nothing of two others.
        let pair = document.between.iter().find(|it| it.level == "gamma").expect("a pair");
        assert_eq!((pair.baseline.as_str(), pair.noise_floor), ("beta", None));
        // Of fewer than five blocks it is a check, and takes no verdict away.
        let few = self::document(&eight[..eight.len() / 2]);
        assert_eq!(compared(&few, "alpha", "beta").noise_floor, None);
    }
}

/// Alpha seems to be 1.3 times as slow as alpha, and beta's server waited for 2.4 of 20 s: without that beta
/// may have taken 0.88 times as long.
#[test]
fn a_verdict_that_waiting_may_have_lifted_above_the_noise_floor_is_withheld() {
    let eight = |slow: f64, waited_s: f64| {
        let take = move |block: u32, level: &str| match level {
            "alpha@again" => 13.0 * ripple(block, "alpha"),
            "beta" => slow * ripple(block, level),
            _ => plain(block, level),
        };
        let mut trials = [blocks("1", 0, take), blocks("1", BLOCKS, take)].concat();
        for trial in &mut trials {
            let is_beta = trial.levels["engine"] == "beta";
            let measures = &mut trial.measured.as_mut().expect("measured").measures;
            measures.set(&CONCURRENCY, Scope::Clients, 1.0);
            measures.set(&RUN_DELAY, Scope::DATABASE, if is_beta { waited_s } else { 0.0 });
        }
        trials
    };
    let verdict = |trials: &[Trial]| compared(&document(trials), "alpha", "beta").verdict;
    for (slow, waited_s, expected) in [
        (14.0, 0.0, Verdict::Slower),
        // 1.4 times 0.88 is still slower by the interval, and no longer beyond 1.3.
        (14.0, 2.4, Verdict::ShortOfProcessors),
        (16.0, 2.4, Verdict::Slower),
        // Whatever beta has waited, it is no further from alpha than alpha itself.
        (12.5, 2.4, Verdict::WithinNoise),
    ] {
        let trials = eight(slow, waited_s);
        assert_eq!(verdict(&trials[..]), expected, "{slow} ms, {waited_s} s");
        let without_floor = verdict(&trials[..trials.len() / 2]);
        assert_eq!(without_floor, Verdict::Slower, "{slow} ms, {waited_s} s");
    }
}
