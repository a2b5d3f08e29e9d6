//! The sentence of the whole run, case by case.

use bakeoff_analysis::document::Verdict;
use bakeoff_analysis::{Comparison, Document};
use bakeoff_report::verdict;
use bakeoff_results::{Levels, Status};

use crate::sample::{self, Sample};

/// One operation, no factor but the engine.
pub fn single(mean: fn(&str, &Levels) -> f64, half_width: f64) -> Sample {
    Sample {
        factors: vec![],
        operations: vec!["create_issue"],
        mean,
        half_width,
        ..Sample::default()
    }
}

pub fn twice(_: &str, levels: &Levels) -> f64 {
    if levels["engine"] == "lmdb" { 0.005 } else { 0.010 }
}

fn close(_: &str, levels: &Levels) -> f64 {
    if levels["engine"] == "lmdb" { 0.0098 } else { 0.010 }
}

#[test]
fn a_clear_winner_of_one_comparison() {
    assert_eq!(
        verdict(&single(twice, 0.1).document()),
        "lmdb is fastest: sqlite takes 2.0 times as long (1.8–2.2)."
    );
}

#[test]
fn the_baseline_can_win() {
    let mut sample = single(twice, 0.1);
    sample.engines = vec!["lmdb", "sqlite"];
    let told = "lmdb is fastest: sqlite takes 2.0 times as long (1.8–2.2).";
    assert_eq!(verdict(&sample.document()), told);
}

/// Their own pairs are nearer to each other than the ends of two intervals against a third.
#[test]
fn two_levels_that_are_not_the_baseline_go_by_their_own_pairs() {
    let mut sample = single(
        |_, levels| match levels["engine"].as_str() {
            "lmdb" => 0.004,
            "fjall" => 0.005,
            _ => 0.010,
        },
        0.1,
    );
    sample.engines = vec!["sqlite", "lmdb", "fjall"];
    let mut document = sample.document();
    assert_eq!(
        verdict(&document),
        "lmdb is fastest: fjall takes 1.3 times as long (1.1–1.4); sqlite is slower, too."
    );
    // The word is the comparison's, whatever its numbers look like.
    document.between[0].verdict = Verdict::Undecided;
    assert_eq!(
        verdict(&document),
        "lmdb or fjall was fastest, undecided which: fjall took 1.1–1.4 times as long as lmdb; sqlite took 2.5 \
         times as long as lmdb (2.2–2.8)."
    );
    // What is slower than the first may not be told from the second; and the word is that of their pair.
    let is_fjall = |it: &&mut Comparison| it.level == "fjall";
    for (word, told) in [
        (Verdict::Undecided, "; sqlite against fjall: undecided."),
        (Verdict::ShortOfProcessors, "; sqlite against fjall: short of processors."),
    ] {
        document.comparisons.iter_mut().filter(is_fjall).for_each(|it| it.verdict = word);
        assert!(verdict(&document).ends_with(told), "{}", verdict(&document));
        for format in ["html", "md"] {
            let told = format!("{} against fjall", word.word());
            let text = crate::first_screen::words(&document, format);
            assert!(text.contains(&told), "{told} is not in {format}: {text}");
        }
    }
    // Without a pair of theirs lmdb is ahead of sqlite alone, and that is not the fastest.
    document.between.clear();
    let sentence = verdict(&document);
    assert!(sentence.starts_with("Nothing is shown to be fastest: "), "{sentence}");
}

#[test]
fn a_winner_of_every_comparison_is_told_by_the_least_and_the_greatest_lead() {
    let sample = Sample {
        mean: |operation, levels| {
            let clients: f64 = levels["clients"].parse().unwrap();
            let slow = if operation == "create_issue" { 2.0 } else { 3.0 };
            if levels["engine"] == "lmdb" { 0.005 } else { 0.005 * slow * clients.sqrt() }
        },
        ..Sample::default()
    };
    assert_eq!(
        verdict(&sample.document()),
        "lmdb is fastest in all 8 comparisons: the next best takes 2.0 to 6.0 times as long (all 95 % \
         intervals lie within 1.8–6.6)."
    );
}

#[test]
fn a_winner_of_most_says_what_the_rest_is() {
    let sample = Sample {
        mean: |operation, levels| {
            let even = levels["clients"] == "4" && operation == "create_issue";
            if levels["engine"] == "lmdb" && !even { 0.005 } else { 0.010 }
        },
        ..Sample::default()
    };
    assert_eq!(
        verdict(&sample.document()),
        "lmdb is fastest in 6 of 8 comparisons (2 are undecided, all of create_issue with 4 clients): create_issue takes sqlite \
         2.00 times as long on average (95 % interval 1.82 to 2.20, 5 blocks) with 1 client and \
         no neighbours."
    );
}

#[test]
fn it_depends_on_one_factor() {
    let sample = Sample {
        mean: |_, levels| {
            let busy = levels["neighbours"] == "x2";
            if (levels["engine"] == "lmdb") == busy { 0.020 } else { 0.010 }
        },
        ..Sample::default()
    };
    assert_eq!(
        verdict(&sample.document()),
        "It depends on neighbours: lmdb is fastest with no neighbours, in all 4 comparisons \
         (sqlite takes 2.00 times as long, 95 % interval 1.82 to 2.20, 5 blocks); sqlite is \
         fastest with 2 neighbours, in all 4 comparisons (lmdb takes 2.00 times as long, 95 % \
         interval 1.82 to 2.20, 5 blocks)."
    );
}

/// A majority without a loss in each group is enough; what it was is told.
#[test]
fn it_depends_on_one_factor_in_most_comparisons() {
    let sample = Sample {
        mean: |operation, levels| {
            let busy = levels["neighbours"] == "x2";
            let even = operation == "create_issue" && levels["clients"] == "4";
            if even || (levels["engine"] == "lmdb") == busy { 0.020 } else { 0.010 }
        },
        ..Sample::default()
    };
    let sentence = verdict(&sample.document());
    for part in [
        "It depends on neighbours: lmdb is fastest with no neighbours, in 3 of 4 comparisons (",
        "; sqlite is fastest with 2 neighbours, in 3 of 4 comparisons (",
    ] {
        assert!(sentence.contains(part), "{part} is not in: {sentence}");
    }
}

/// With no neighbours one of four is decided: neighbours explain no more than clients do.
#[test]
fn a_few_wins_are_no_rule() {
    let sample = Sample {
        engines: vec!["sqlite", "fjall"],
        mean: |operation, levels| {
            let fjall = levels["engine"] == "fjall";
            match (operation, levels["clients"].as_str(), levels["neighbours"].as_str()) {
                ("create_issue", "1", "0") if fjall => 0.005,
                ("create_issue", "4", "x2") if fjall => 0.030,
                ("process_issues", "4", "x2") if fjall => 0.020,
                _ => 0.010,
            }
        },
        ..Sample::default()
    };
    assert_eq!(
        verdict(&sample.document()),
        "Neither wins throughout: sqlite is fastest in 2 of 8 comparisons (both with 4 clients and \
         2 neighbours), fjall in 1; 5 are undecided; sqlite’s clearest lead: create_issue takes \
         fjall 3.00 times as long on average (95 % interval 2.73 to 3.30, 5 blocks) with 4 clients \
         and 2 neighbours; fjall’s clearest lead: create_issue takes sqlite 2.00 times as long on \
         average (95 % interval 1.82 to 2.20, 5 blocks) with 1 client and no neighbours."
    );
}

/// Where cells are missing, two factors can explain the same wins: neither is named.
#[test]
fn two_factors_that_explain_the_same_are_no_rule() {
    let sample = Sample {
        operations: vec!["create_issue"],
        mean: |_, levels| {
            let busy = levels["neighbours"] == "x2";
            if (levels["engine"] == "lmdb") == busy { 0.020 } else { 0.010 }
        },
        ..Sample::default()
    };
    let mut document = sample.document();
    let kept = |levels: &Levels| (levels["clients"] == "4") == (levels["neighbours"] == "x2");
    document.trials.retain(|trial| kept(&trial.levels));
    document.cells.retain(|cell| kept(&cell.levels));
    document.comparisons.retain(|comparison| kept(&comparison.levels));
    let sentence = verdict(&document);
    assert!(
        sentence.starts_with(
            "Neither wins throughout: lmdb is fastest in 1 of 2 comparisons, sqlite in 1; "
        ),
        "{sentence}"
    );
}

#[test]
fn it_depends_on_the_operation() {
    let sample = Sample {
        factors: vec![],
        mean: |operation, levels| {
            let create = operation == "create_issue";
            if (levels["engine"] == "lmdb") == create { 0.010 } else { 0.020 }
        },
        ..Sample::default()
    };
    let sentence = verdict(&sample.document());
    assert!(
        sentence.starts_with(
            "It depends on the operation: lmdb is fastest for create_issue (sqlite takes \
             2.00 times as long, 95 %"
        ) && sentence.contains("; sqlite is fastest for process_issues (lmdb takes 2.00 times"),
        "{sentence}"
    );
}

#[test]
fn it_depends_on_two_factors_together() {
    let sample = Sample {
        operations: vec!["create_issue"],
        mean: |_, levels| {
            let odd = (levels["neighbours"] == "x2") != (levels["clients"] == "4");
            if (levels["engine"] == "lmdb") == odd { 0.020 } else { 0.010 }
        },
        ..Sample::default()
    };
    let sentence = verdict(&sample.document());
    for part in [
        "Neither wins throughout: lmdb is fastest in 2 of 4 comparisons, sqlite in 2; ",
        "lmdb’s clearest lead: create_issue takes sqlite 2.00",
        "sqlite’s clearest lead: create_issue takes lmdb 2.00",
    ] {
        assert!(sentence.contains(part), "{part} is not in: {sentence}");
    }
}

#[test]
fn wide_intervals_leave_it_open() {
    assert_eq!(
        verdict(&single(close, 0.2).document()),
        "lmdb or sqlite was fastest, undecided which: sqlite took 0.85–1.3 times as long as lmdb."
    );
}

#[test]
fn narrow_intervals_make_even() {
    assert_eq!(
        verdict(&single(close, 0.01).document()),
        "sqlite and lmdb are equally fast within 5 % in the only comparison."
    );
}

#[test]
fn one_block_decides_nothing() {
    let mut sample = single(twice, 0.1);
    sample.blocks = 1;
    assert_eq!(
        verdict(&sample.document()),
        "Nothing is shown to be fastest: each was run in one block only, and an interval needs \
         two."
    );
}

#[test]
fn spiky_runs_decide_nothing() {
    let mut document = single(twice, 0.1).document();
    document.comparisons[0].verdict = Verdict::Spiky;
    assert_eq!(
        verdict(&document),
        "Nothing is shown to be fastest: single blocks differ too much from the rest for an \
         interval to be trusted."
    );
}

#[test]
fn a_difference_below_the_noise_is_none() {
    let mut document = single(twice, 0.1).document();
    document.comparisons[0].verdict = Verdict::WithinNoise;
    let sentence = verdict(&document);
    let start = "lmdb or sqlite was fastest, undecided which: sqlite took ";
    assert!(sentence.starts_with(start), "{sentence}");
    assert!(
        sentence.ends_with(
            ". 1 difference is no larger than what one level shows against itself, and counts \
             as undecided."
        ),
        "{sentence}"
    );
}

/// Its interval lies beyond the margin, so that more blocks would not decide it.
#[test]
fn what_waiting_for_processors_could_turn_is_not_called_undecided() {
    let mut document = single(twice, 0.1).document();
    document.comparisons[0].verdict = Verdict::ShortOfProcessors;
    assert_eq!(
        verdict(&document),
        "Nothing is shown to be fastest: threads waited for a processor for so long that the \
         verdict could be another without it."
    );
    for format in ["html", "md", "term"] {
        let text = crate::formats::text(&document, format);
        assert!(!text.contains("undecided ("), "{format}: {text}");
    }
    assert!(crate::formats::text(&document, "md").contains("| short of processors |"));
}

/// Where the table's interval and its verdict disagree, the row has a mark, and a line says why.
#[test]
fn a_verdict_that_goes_by_all_comparisons_is_marked_in_every_table() {
    let plain = Sample::default().document();
    let mut document = plain.clone();
    let held = &mut document.comparisons[0];
    (held.verdict, held.p_adjusted) = (Verdict::Undecided, Some(0.07));
    for format in ["html", "md", "term"] {
        let of = |document: &bakeoff_analysis::Document| crate::formats::text(document, format);
        assert!(!of(&plain).contains('†'), "{format}");
        let marked = of(&document);
        assert!(marked.contains("undecided †"), "{format}: {marked}");
        let told = marked.matches("† the interval alone would say faster or slower").count();
        assert_eq!(told, 1, "{format}: {marked}");
    }
}

/// An interval far from 1 that is undecided is no riddle.
#[test]
fn what_only_the_number_of_comparisons_leaves_open_is_told() {
    let mut document = Sample::default().document();
    for comparison in document.comparisons.iter_mut().take(3) {
        (comparison.verdict, comparison.p_adjusted) = (Verdict::Undecided, Some(0.07));
    }
    let sentence = verdict(&document);
    let end = ". 3 differences would be clear by themselves, and are not among 8 comparisons: more \
               repetitions may decide them.";
    assert!(sentence.ends_with(end), "{sentence}");
    // The harness is in no sentence.
    let harness = Sample { engines: vec!["sqlite", "lmdb", "null"], ..Sample::default() };
    let mut with_harness = harness.document();
    for comparison in with_harness.comparisons.iter_mut().filter(|it| it.level == "null") {
        (comparison.verdict, comparison.p_adjusted) = (Verdict::Undecided, Some(0.07));
        (comparison.low, comparison.high) = (Some(1e-4), Some(1e-3));
    }
    let sentence = verdict(&with_harness);
    assert!(!sentence.contains("itself") && !sentence.contains("themselves"), "{sentence}");
    // Undecided for another reason.
    document.comparisons.iter_mut().for_each(|it| it.p_adjusted = Some(0.01));
    assert!(!verdict(&document).contains("by themselves"), "{}", verdict(&document));
}

#[test]
fn too_few_operations_are_no_finding() {
    let mut document = single(twice, 0.1).document();
    document.comparisons[0].verdict = Verdict::TooFew;
    assert_eq!(
        verdict(&document),
        "Nothing is shown to be fastest: it rests on trials with fewer than 20 operations, too few \
         for a verdict."
    );
    let mut document = Sample::default().document();
    for comparison in document.comparisons.iter_mut().take(3) {
        comparison.verdict = Verdict::TooFew;
    }
    let sentence = verdict(&document);
    let start =
        "lmdb is fastest in 5 of 8 comparisons (3 have too few operations, all of create_issue):";
    assert!(sentence.starts_with(start), "{sentence}");
}

#[test]
fn one_level_is_no_comparison() {
    let mut sample = single(twice, 0.1);
    sample.engines = vec!["sqlite"];
    assert_eq!(
        verdict(&sample.document()),
        "Nothing is compared: only sqlite was run; create_issue takes 10.0 ms on average."
    );
}

#[test]
fn the_harness_never_wins() {
    let null = |_: &str, levels: &Levels| match levels["engine"].as_str() {
        "null" => 0.000_001,
        "lmdb" => 0.005,
        _ => 0.010,
    };
    let mut sample = single(null, 0.1);
    sample.engines = vec!["sqlite", "null", "lmdb"];
    let without = verdict(&single(twice, 0.1).document());
    assert_eq!(verdict(&sample.document()), without);
    sample.engines = vec!["null", "sqlite"];
    let sentence = verdict(&sample.document());
    assert!(sentence.starts_with("Nothing is compared: only sqlite was run"), "{sentence}");
    sample.engines = vec!["null"];
    assert_eq!(
        verdict(&sample.document()),
        "Nothing is compared: only the harness itself was measured."
    );
}

#[test]
fn who_did_not_keep_up_is_told_with_the_finding() {
    let mut document = Sample::default().document();
    sample::open(&mut document, "sqlite");
    let sentence = verdict(&document);
    let caveat = ". Not kept up with the offered rate, so that response times only grow with the \
                  length of a trial: sqlite in 4 of 4 cells.";
    assert!(
        sentence.starts_with("lmdb is fastest in all 8") && sentence.ends_with(caveat),
        "{sentence}"
    );
    sample::open(&mut document, "nobody");
    assert!(!verdict(&document).contains("kept up"));
}

#[test]
fn an_alias_is_no_level() {
    let mut document = single(twice, 0.1).document();
    let mut again = document.trials[0].clone();
    again.levels.insert("engine".into(), "sqlite@again".into());
    document.trials.push(again);
    document.run.run.factors[0].1.push("sqlite@again".into());
    assert_eq!(verdict(&document), verdict(&single(twice, 0.1).document()));
}

#[test]
fn nothing_ended() {
    let mut document = single(twice, 0.1).document();
    document.trials.clear();
    document.cells.clear();
    document.comparisons.clear();
    document.run.status = Status::Interrupted;
    assert_eq!(
        verdict(&document),
        "Nothing was measured: no trial has ended. The run was interrupted after 0 of 10 trials."
    );
}

#[test]
fn an_interrupted_run_says_so() {
    let mut document = single(twice, 0.1).document();
    document.trials.truncate(7);
    document.run.status = Status::Interrupted;
    let sentence = verdict(&document);
    assert!(sentence.ends_with(". The run was interrupted after 7 of 10 trials."), "{sentence}");
    document.run.status = Status::Unfinished;
    assert!(verdict(&document).ends_with(". The run has not finished after 7 of 10 trials."));
}

/// What is said before the first error is told.
fn before_the_error(sentence: &str) -> String {
    let at = sentence.to_lowercase().find("the first error").expect("it is told");
    sentence[..at].trim_end_matches([' ', ';', '.']).to_owned() + "."
}

#[test]
fn failed_trials_are_told() {
    let mut sample = single(twice, 0.1);
    sample.engines = vec!["sqlite", "lmdb", "fjall"];
    let mut document: Document = sample.document();
    sample::fail(&mut document, "fjall", "it crashed");
    let whole = verdict(&document);
    assert!(whole.ends_with("he first error was in block 0 with fjall: it crashed."), "{whole}");
    let verdict = |document: &Document| before_the_error(&verdict(document));
    assert_eq!(
        verdict(&document),
        "lmdb is fastest: sqlite takes 2.0 times as long (1.8–2.2). fjall has no trial that counts. 5 of 15 trials \
         failed or were disturbed and do not count."
    );
}

/// A disk that fails is told by what the kernel said, and by the trial in which it did.
#[test]
fn an_operation_that_ended_in_an_error_is_told_with_its_trial() {
    let mut document = single(twice, 0.1).document();
    let without = verdict(&document);
    let error = "Input/output error (os error 5)";
    let name = document.trials[3].operations[0].name.clone();
    let trial = &mut document.trials[3];
    trial.operations[0].errors = 2;
    trial.warnings = vec![
        "2 of something else".into(),
        bakeoff_results::operations_failed(2, &name, &format!("{error}\nmore")),
    ];
    let (block, engine) = (trial.block, trial.levels["engine"].clone());
    assert_eq!(
        verdict(&document),
        format!(
            "{without} The first error was in block {block} with {engine}: 2 {name} operations failed, the first: \
             {error}."
        )
    );
    // It was set aside, and its block was run again.
    let mut again =
        document.trials.iter().filter(|it| it.block == block).cloned().collect::<Vec<_>>();
    for trial in &mut again {
        trial.attempt = 1;
        trial.warnings.clear();
    }
    document.trials.iter_mut().filter(|it| it.block == block).for_each(|it| it.valid = false);
    document.trials.extend(again);
    assert_eq!(verdict(&document), without);
}

#[test]
fn a_trial_that_was_set_aside_is_not_told() {
    let mut document = single(twice, 0.1).document();
    let without = verdict(&document);
    let mut aside = document.trials[0].clone();
    (aside.valid, aside.reason) = (false, Some("the run was interrupted".into()));
    document.trials.iter_mut().filter(|t| t.block == 0).for_each(|trial| trial.attempt = 1);
    document.trials.insert(0, aside);
    assert_eq!(verdict(&document), without);
    // It failed, and so did what replaced it: one is missing.
    document.trials[1].valid = false;
    assert!(
        verdict(&document)
            .ends_with(". 1 of 10 trials failed or was disturbed and does not count."),
        "{}",
        verdict(&document)
    );
}

#[test]
fn a_wide_interval_is_no_number() {
    let mut document = single(twice, 0.1).document();
    let comparison = &mut document.comparisons[0];
    (comparison.low, comparison.high) = (Some(7.5e-5), Some(7.3e5));
    comparison.verdict = Verdict::Undecided;
    assert_eq!(verdict(&document), "lmdb or sqlite was fastest: undecided which (wide interval).");
}

#[test]
fn a_failed_baseline_leaves_nothing_to_compare_with() {
    let mut document = single(twice, 0.1).document();
    sample::fail(&mut document, "sqlite", "it crashed");
    let whole = verdict(&document);
    assert!(whole.ends_with("he first error was in block 0 with sqlite: it crashed."), "{whole}");
    let verdict = |document: &Document| before_the_error(&verdict(document));
    assert_eq!(
        verdict(&document),
        "Nothing is compared: only lmdb has trials that count. 5 of 10 trials failed or were \
         disturbed and do not count."
    );
}

#[test]
fn another_factor_is_compared_by_its_name() {
    let mut document = single(twice, 0.1).document();
    document.run.run.compare = "durability".into();
    document.run.run.baseline = "strict".into();
    document.run.run.factors[0] = ("durability".into(), vec!["strict".into(), "relaxed".into()]);
    let rename = |levels: &mut Levels| {
        let engine = levels.remove("engine").unwrap();
        let level = if engine == "sqlite" { "strict" } else { "relaxed" };
        levels.insert("durability".into(), level.into());
    };
    document.trials.iter_mut().for_each(|trial| rename(&mut trial.levels));
    document.cells.iter_mut().for_each(|cell| rename(&mut cell.levels));
    for comparison in &mut document.comparisons {
        comparison.factor = "durability".into();
        (comparison.baseline, comparison.level) = ("strict".into(), "relaxed".into());
    }
    assert!(
        verdict(&document).starts_with(
            "Durability relaxed is fastest: durability strict takes 2.0 times as long (1.8–2.2)."
        ),
        "{}",
        verdict(&document)
    );
}
