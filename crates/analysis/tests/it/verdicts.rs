//! The words for comparisons, and what they rest on.

use bakeoff_analysis::{Comparison, Document, RatioBound, Verdict, WarningKind};
use bakeoff_results::measure::{
    CONCURRENCY, FAULTS, ROUNDS_ERROR, ROUNDS_RANGE, ROUNDS_RISE, RUN_DELAY, TRIALS_SINCE,
};
use bakeoff_results::{AnswerDifference, Answers, Scope, Trial};
use bakeoff_stats::family::Adjustment;
use bakeoff_testkit::synthetic::{answers, run};

use crate::known::{
    assert_has, blocks_that_take, compared, document, measured, of_engine, read_with, set, take,
    told,
};

/// The levels; four blocks of each are most of these runs.
const LEVELS: [&str; 4] = ["alpha", "beta", "gamma", "alpha@again"];

/// A little noise, never the same for two levels.
fn ripple(block: u32, level: &str) -> f64 {
    let at = LEVELS.iter().position(|it| *it == level).expect("a level");
    [[1.0, 1.01, 1.02, 1.0], [1.01, 1.0, 1.0, 1.02], [1.02, 1.02, 1.0, 1.01], [1.0, 1.0, 1.01, 1.0]]
        [block as usize % 4][at]
}

fn plain(block: u32, level: &str) -> f64 {
    let means = [10.0, 20.0, 5.0, 10.0];
    let at = LEVELS.iter().position(|it| *it == level).expect("a level");
    means[at] * ripple(block, level)
}

fn four() -> Vec<Trial> {
    blocks_that_take(4, plain)
}

fn verdict(document: &Document, baseline: &str, level: &str) -> Verdict {
    compared(document, baseline, level).verdict
}

/// The document of a run whose images were asked before.
fn asked(answers: &[Answers]) -> Document {
    read_with(&run(&["1", "4"], &["0"], 32), &four(), |folder| {
        answers.iter().for_each(|it| folder.note_answers(it).unwrap());
    })
}

#[test]
fn engines_that_do_not_answer_alike_have_no_verdict_against_each_other() {
    let of = |digests: [Option<&str>; 3]| {
        [0, 1, 2].map(|at: usize| answers(LEVELS[at], "all", digests[at]))
    };
    let words = |document: &Document| {
        [("alpha", "beta"), ("alpha", "gamma"), ("beta", "gamma")]
            .map(|(baseline, level)| verdict(document, baseline, level))
    };
    use Verdict::{Faster, Slower, Void};
    let alike = asked(&of([Some("1"); 3]));
    assert_eq!(words(&alike), [Slower, Faster, Faster]);
    assert_eq!(told(&alike, WarningKind::AnswersDiffer), "");
    let mut all = of([Some("1"), Some("2"), Some("1")]);
    all[1].difference = Some(AnswerDifference {
        other: "alpha".into(),
        number: 3,
        operation: "create_issue".into(),
        statement: "issue by id".into(),
        answer: "2 rows: (5) (5)".into(),
        other_answer: "1 rows: (5)".into(),
    });
    let differ = asked(&all);
    assert_eq!(words(&differ), [Void, Faster, Void]);
    let beta = compared(&differ, "alpha", "beta");
    // The interval is there, and the others pay nothing for a comparison that has no word.
    assert!(beta.low.is_some() && beta.p_adjusted.is_none());
    assert_eq!(compared(&differ, "alpha", "gamma").adjusted_over, 2);
    let wanted = "operation 3 (create_issue), statement `issue by id`: beta answered 2 rows: (5) (5), \
                  and alpha 1 rows: (5)";
    assert_has(&told(&differ, WarningKind::AnswersDiffer), &[wanted]);
    assert_eq!(differ.warnings[0].kind, WarningKind::AnswersDiffer, "the worst comes first");
    let failed = asked(&of([Some("1"), Some("1"), None]));
    assert_eq!(words(&failed), [Slower, Void, Void]);
    let nothing = "gamma answered nothing (its process was killed by signal 9)";
    assert_has(&told(&failed, WarningKind::AnswersDiffer), &[nothing]);
}

#[test]
fn answers_are_held_against_those_to_the_same_questions_alone() {
    // Of the images of an engine the one counts that has the cell's levels.
    let image = |engine, clients: &str, digest| {
        let mut image = answers(engine, clients, Some(digest));
        image.levels.insert("clients".into(), clients.into());
        image
    };
    let four = |digest| {
        vec![
            image("alpha", "1", "1"),
            image("beta", "1", digest),
            image("alpha", "4", "3"),
            image("beta", "4", "4"),
        ]
    };
    let elsewhere = [("alpha", "small", "1"), ("beta", "large", "2")];
    for (all, expected) in [
        // Of an engine that was not asked nothing is known.
        (vec![answers("beta", "all", Some("2"))], Verdict::Slower),
        (
            elsewhere.map(|(engine, work, it)| answers(engine, work, Some(it))).into(),
            Verdict::Slower,
        ),
        (four("1"), Verdict::Slower),
        (four("2"), Verdict::Void),
    ] {
        assert_eq!(verdict(&asked(&all), "alpha", "beta"), expected, "{all:?}");
    }
    // An alias has the same image.
    let again = asked(&[answers("alpha", "all", None)]);
    assert_eq!(verdict(&again, "alpha", "alpha@again"), Verdict::Void);
}

#[test]
fn what_was_broken_after_a_trial_voids_its_comparisons() {
    for faults in [0.0, 1.0] {
        let mut trials = four();
        let first = measured(of_engine(&mut trials, "beta").next().unwrap());
        first.measures.set(&FAULTS, Scope::Trial, faults);
        first.warnings.push("the disk was late".into());
        first.warnings.push(format!("{}index i: 2 rows differ", Answers::BROKEN));
        let document = document(&trials);
        let broken = faults > 0.0;
        assert_eq!(verdict(&document, "alpha", "beta") == Verdict::Void, broken);
        assert_eq!(verdict(&document, "beta", "gamma") == Verdict::Void, broken);
        assert_eq!(verdict(&document, "alpha", "gamma"), Verdict::Faster);
        let text = told(&document, WarningKind::CheckFailed);
        assert_eq!(!text.is_empty(), broken);
        if broken {
            assert_has(&text, &["engine beta", ": index i: 2 rows differ;"]);
        }
    }
}

/// Gives beta so many operations in a block.
fn with_count(trials: &mut [Trial], block: u32, count: u64) {
    let trial = of_engine(trials, "beta").find(|it| it.block == block).unwrap();
    let mean_s = measured(trial).operations[0].kept.mean() / 1e9;
    take(trial, 0, mean_s, count);
}

/// What is cut off in a block.
fn cut_off(trials: &mut [Trial], engine: &str) {
    let trial = of_engine(trials, engine).find(|it| it.block == 2).unwrap();
    measured(trial).operations[0].unfinished = 3;
}

#[test]
fn nineteen_operations_in_one_trial_are_too_few_for_a_word() {
    for (count, word) in [(20, Verdict::Slower), (19, Verdict::TooFew)] {
        let mut trials = four();
        with_count(&mut trials, 3, count);
        let document = document(&trials);
        let beta = compared(&document, "alpha", "beta");
        assert_eq!((beta.fewest_operations, beta.verdict), (Some(count), word));
        assert!(beta.low.is_some(), "the interval is there all the same");
        assert_eq!(verdict(&document, "beta", "gamma") == Verdict::TooFew, count == 19);
        assert_eq!(verdict(&document, "alpha", "gamma"), Verdict::Faster, "it has enough");
    }
    // Same is a word like any other, and what has too few of it takes nothing from the others.
    let alike = |block, level: &str| if level == "beta" { 10.0 } else { plain(block, level) };
    let mut trials = blocks_that_take(4, alike);
    trials.retain(|trial| trial.levels["engine"] != "alpha@again");
    assert_eq!(verdict(&document(&trials), "alpha", "beta"), Verdict::Same);
    with_count(&mut trials, 0, 19);
    let document = document(&trials);
    let beta = compared(&document, "alpha", "beta");
    assert_eq!((beta.verdict, beta.p_adjusted, beta.adjusted_over), (Verdict::TooFew, None, 0));
    assert_eq!(compared(&document, "alpha", "gamma").adjusted_over, 4);
}

#[test]
fn one_trial_that_was_never_steady_keeps_its_comparisons_open() {
    let rounds = |range: f64, error: f64| {
        let mut trials = four();
        let trial = of_engine(&mut trials, "beta").find(|it| it.block == 2).unwrap();
        for (measure, value) in
            [(&ROUNDS_RANGE, range), (&ROUNDS_RISE, 0.0), (&ROUNDS_ERROR, error)]
        {
            set(trial, measure, Scope::Trial, value);
        }
        trials
    };
    for (range, error, word) in [
        (0.19, 0.01, Verdict::Slower),
        // It may be noise, which is told in a warning.
        (0.40, 0.10, Verdict::Slower),
        (0.40, 0.01, Verdict::NeverSteady),
    ] {
        let document = document(&rounds(range, error));
        let beta = compared(&document, "alpha", "beta");
        assert_eq!(beta.verdict, word, "{range} {error}");
        assert_eq!(beta.p_adjusted.is_none(), word == Verdict::NeverSteady);
        assert!(beta.low.is_some(), "the interval is there all the same");
        assert_eq!(verdict(&document, "alpha", "gamma"), Verdict::Faster);
        let text = told(&document, WarningKind::NeverSteady);
        assert_eq!(!text.is_empty(), word == Verdict::NeverSteady);
    }
    // Too few operations make no difference: what comes later may be anything.
    let mut trials = rounds(0.4, 0.01);
    with_count(&mut trials, 3, 19);
    assert_eq!(verdict(&document(&trials), "alpha", "beta"), Verdict::NeverSteady);
}

#[test]
fn a_trial_that_was_conditioned_anew_is_told_of() {
    let mut trials = four();
    let mut since = |engine: &str, block: u32, others: f64| {
        let trial = of_engine(&mut trials, engine).find(|it| it.block == block).unwrap();
        set(trial, &TRIALS_SINCE, Scope::Trial, others);
        told(&document(&trials), WarningKind::ConditionedAnew)
    };
    for engine in ["alpha", "beta", "gamma"] {
        assert_eq!(since(engine, 1, 0.0), "", "all of them");
    }
    assert_eq!([since("alpha", 2, 1.0), since("beta", 2, 1.0)], [""; 2]);
    assert_has(&since("gamma", 2, 0.0), &["1 of ", "gamma"]);
}

/// Two operations and three pairs of levels make a family of six; a second setting doubles it, and what alone would
/// just be believed no longer is.
#[test]
fn all_that_the_sentence_counts_is_one_family() {
    let mut trials = blocks_that_take(4, |block, level| match level {
        "beta" => 10.0 * [1.15, 1.3, 1.45, 1.3][block as usize],
        _ => plain(block, level),
    });
    let one = document(&trials);
    let alone = compared(&one, "alpha", "beta");
    assert_eq!((alone.adjusted_over, alone.verdict), (6, Verdict::Slower));
    // Elsewhere nothing differs.
    let mut equal = blocks_that_take(4, |block, level| {
        let sign = [1.0, -1.0, 0.5, 0.5][LEVELS.iter().position(|it| *it == level).unwrap()];
        10.0 * (1.0 + 0.3 * (f64::from(block) - 1.5) * sign)
    });
    for trial in &mut equal {
        trial.block += 4;
        trial.levels.insert("clients".into(), "4".into());
    }
    trials.extend(equal);
    let two = document(&trials);
    let among = compared(&two, "alpha", "beta");
    assert_eq!((among.ratio, among.adjusted_over), (alone.ratio, 12));
    let rules = [alone, among].map(|it| it.adjusted_by.unwrap());
    assert_eq!(rules, [Adjustment::Holm, Adjustment::FalseDiscovery]);
    assert!(among.p_adjusted.unwrap() > 1.5 * alone.p_adjusted.unwrap(), "{among:?}");
    assert_eq!((among.verdict, among.is_held_back()), (Verdict::Undecided, true), "{among:?}");
    assert!(!alone.is_held_back());
    let both = two.comparisons.iter().chain(&two.between).map(|it| it.adjusted_over);
    assert_eq!(both.collect::<Vec<_>>(), [12; 12]);
    // What a level is against itself is no part of it.
    assert!(two.noise.iter().all(|it| it.adjusted_over == 1), "{:?}", two.noise);
}

/// Beta and gamma go up and down together, and alpha does not: against alpha both are undecided, and
/// against each other they are as clear as can be.
#[test]
fn two_levels_that_are_not_the_baseline_are_paired_directly() {
    let document = document(&blocks_that_take(4, |block, level| match level {
        "beta" => [10.0, 30.0, 90.0, 5.0][block as usize],
        "gamma" => [20.2, 60.0, 181.0, 10.0][block as usize],
        _ => 10.0 * ripple(block, level),
    }));
    for level in ["beta", "gamma"] {
        let wide = compared(&document, "alpha", level);
        assert!(wide.high.unwrap() / wide.low.unwrap() > 10.0, "{wide:?}");
    }
    let direct = compared(&document, "beta", "gamma");
    assert_eq!((direct.verdict, direct.blocks), (Verdict::Slower, 4));
    assert!(direct.low.unwrap() > 1.95 && direct.high.unwrap() < 2.05, "{direct:?}");
    // One pair of levels, two operations; none with the alias.
    assert_eq!(document.between.len(), 2);
}

#[test]
fn what_was_cut_off_is_a_bound() {
    let mut trials = four();
    cut_off(&mut trials, "beta");
    let whole = document(&trials);
    let slow = compared(&whole, "alpha", "beta");
    assert_eq!(
        (slow.ratio_is, slow.high, slow.verdict),
        (Some(RatioBound::AtLeast), None, Verdict::Slower)
    );
    assert!(slow.low.unwrap() > 1.9 && slow.ratio.unwrap() > 1.9, "{slow:?}");
    // The other way round it is an upper bound.
    let fast = compared(&whole, "beta", "gamma");
    assert_eq!(
        (fast.ratio_is, fast.low, fast.verdict),
        (Some(RatioBound::AtMost), None, Verdict::Faster)
    );
    assert_eq!(fast.swapped().ratio_is, Some(RatioBound::AtLeast));
    // What whole trials say is inverted twice, which rounds.
    let without = |it: &Comparison| Comparison { with_warm_up: None, ..it.clone() };
    assert_eq!(without(&fast.swapped().swapped()), without(fast));
    // The other operation was followed to its end.
    assert_eq!(whole.comparisons[2].ratio_is, Some(RatioBound::Exact));
    // A bound on either side is no ratio.
    cut_off(&mut trials, "alpha");
    let document = document(&trials);
    let found = compared(&document, "alpha", "beta");
    assert_eq!((found.ratio, found.ratio_is, found.blocks), (None, None, 4));
    assert_eq!((found.verdict, found.adjusted_over), (Verdict::Undecided, 0));
}

/// It took 10 ms or more: as long as the baseline, or a hundred times.
#[test]
fn a_bound_is_never_the_same_and_never_on_the_other_side() {
    for (ms, engine) in [(10.0, "beta"), (2.0, "beta"), (50.0, "alpha")] {
        let mut trials = blocks_that_take(4, |block, level| {
            if level == engine { ms } else { 10.0 * (1.0 + 0.001 * f64::from(block)) }
        });
        cut_off(&mut trials, engine);
        let document = document(&trials);
        let found = compared(&document, "alpha", "beta");
        let expected = if ms > 10.0 { Verdict::Faster } else { Verdict::Undecided };
        assert_eq!(found.verdict, expected, "{ms} ms: {found:?}");
        assert_eq!(found.p_adjusted.is_some(), ms > 10.0, "{found:?}");
    }
}

/// Eight blocks in which alpha seems to be 1.3 times as slow as alpha.
fn noisy(slow: f64) -> Vec<Trial> {
    blocks_that_take(8, move |block, level| match level {
        "alpha@again" => 13.0 * ripple(block, "alpha"),
        "beta" => slow * ripple(block, level),
        _ => plain(block, level),
    })
}

#[test]
fn a_difference_below_the_noise_floor_has_a_word_of_its_own() {
    for (slow, word) in [
        (12.5, Verdict::WithinNoise),
        (14.0, Verdict::Slower),
        (8.0, Verdict::WithinNoise),
        (7.4, Verdict::Faster),
    ] {
        let trials = noisy(slow);
        let all = document(&trials);
        let beta = compared(&all, "alpha", "beta");
        assert!((beta.noise_floor.unwrap() - 0.3).abs() < 0.01, "{beta:?}");
        assert_eq!(beta.verdict, word, "{slow}");
        // How uneven alpha is says nothing of two others.
        assert_eq!(compared(&all, "beta", "gamma").noise_floor, None);
        // Of fewer than five blocks it is a check, and takes no verdict away.
        let few = document(&trials[..trials.len() / 2]);
        assert_eq!(compared(&few, "alpha", "beta").noise_floor, None);
    }
}

/// Beta's server waited for 2.4 of 20 s: without that beta may have taken 0.88 times as long.
#[test]
fn a_verdict_that_waiting_may_have_lifted_above_the_noise_floor_is_withheld() {
    for (slow, waited_s, expected) in [
        (14.0, 0.0, Verdict::Slower),
        // 1.4 times 0.88 is still slower by the interval, and no longer beyond 1.3.
        (14.0, 2.4, Verdict::ShortOfProcessors),
        (16.0, 2.4, Verdict::Slower),
        // Whatever beta has waited, it is no further from alpha than alpha itself.
        (12.5, 2.4, Verdict::WithinNoise),
    ] {
        let mut trials = noisy(slow);
        for trial in &mut trials {
            let waited_s = if trial.levels["engine"] == "beta" { waited_s } else { 0.0 };
            set(trial, &CONCURRENCY, Scope::Clients, 1.0);
            set(trial, &RUN_DELAY, Scope::DATABASE, waited_s);
        }
        let word = |trials: &[Trial]| verdict(&document(trials), "alpha", "beta");
        assert_eq!(word(&trials), expected, "{slow} ms, {waited_s} s");
        // Without a noise floor.
        assert_eq!(word(&trials[..trials.len() / 2]), Verdict::Slower, "{slow} ms, {waited_s} s");
    }
}
