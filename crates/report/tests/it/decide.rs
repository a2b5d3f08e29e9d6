//! What is said where a run leaves it open who is fastest.

use bakeoff_analysis::document::Verdict;
use bakeoff_analysis::{ConditionState, ConditionView, Document};
use bakeoff_report::Options;
use bakeoff_results::{HostIdentity, Merged, PlanShard, Sequential, Status};

use crate::first_screen::words;
use crate::machines;
use crate::sample::render;
use crate::verdict::{single, twice};

const QUESTION: &str = "What would decide it?";
const COMMAND: &str = "bakeoff run redmine --engine sqlite,lmdb --clients 1,4 --seed 42";

/// A run whose one comparison has this verdict.
fn with(verdict: Verdict) -> Document {
    let mut document = single(twice, 0.1).document();
    document.comparisons[0].verdict = verdict;
    document
}

/// A run that was judged at several looks, and ended undecided for this reason.
fn ended(state: ConditionState) -> Document {
    let mut document = with(Verdict::Undecided);
    document.run.run.sequential = Some(Sequential {
        looks: vec![3, 5],
        confidence: 0.99,
        comparisons: 1,
        max_time_s: Some(60.0),
        used_s: 61.0,
    });
    let levels = document.comparisons[0].levels.clone();
    document.conditions = vec![ConditionView { levels, blocks: 5, judged_at: 5, state }];
    document
}

/// That every format asks the question, and has this command in its answer.
fn is_told(document: &Document, command: &str) {
    for format in ["html", "md", "term"] {
        let text = words(document, format).replace("```", "");
        // Marks of Markdown are no words.
        let text: Vec<&str> = text.split_whitespace().filter(|word| *word != "-").collect();
        let text = text.join(" ");
        let (_, answer) = text.split_once(QUESTION).unwrap_or_else(|| panic!("{format}: {text}"));
        assert!(answer.contains(command), "{command} is not in {format}: {text}");
    }
}

#[test]
fn an_undecided_answer_ends_in_what_would_decide_it_and_when_that_does_not_matter() {
    let document = with(Verdict::Undecided);
    is_told(&document, &format!("{COMMAND} --until-decided It does not matter where neither end"));
    let mut counted = document;
    counted.run.run.command += " --out mine --repetitions 5";
    is_told(&counted, &format!("{COMMAND} --repetitions 10 "));
}

#[test]
fn a_run_that_was_to_be_decided_is_given_what_it_lacked() {
    let more = format!("{COMMAND} --max-repetitions 10 --max-time 180s It does");
    is_told(&ended(ConditionState::MaxRepetitions), &more);
    is_told(&ended(ConditionState::MaxTime), &format!("{COMMAND} --max-time 180s It does"));
    is_told(&ended(ConditionState::OutOfReach), &format!("{COMMAND} --seconds 20 "));
}

#[test]
fn a_run_that_has_not_ended_goes_on() {
    let mut document = with(Verdict::Undecided);
    document.run.status = Status::Interrupted;
    is_told(&document, "bakeoff run --resume DIR ");
}

#[test]
fn what_more_blocks_do_not_help_has_no_such_command() {
    for format in ["html", "md", "term"] {
        for decided in [Verdict::Faster, Verdict::Same, Verdict::Void] {
            assert!(!words(&with(decided), format).contains(QUESTION), "{format}, {decided:?}");
        }
        let short = words(&with(Verdict::ShortOfProcessors), format);
        assert!(short.contains("fewer clients, or a machine with more processors"), "{format}");
        assert!(!short.contains("--until-decided"), "{format}: {short}");
    }
    is_told(&with(Verdict::TooFew), &format!("{COMMAND} --seconds 20"));
}

/// `--until-decided` is refused beside `--shard`, and one machine is not what a merged run was of.
#[test]
fn a_shard_and_a_merged_run_are_given_no_command_of_one_machine() {
    let mut shard = with(Verdict::Undecided);
    shard.run.run.command += " --shard 1/4";
    let mut merged = shard.clone();
    shard.run.run.shard = Some(PlanShard {
        program_sha256: None,
        plan: "17".into(),
        index: 1,
        count: 4,
        trials: 10,
        host: HostIdentity::default(),
        blocks: Vec::new(),
        cuts: Vec::new(),
    });
    merged.run.run.merged =
        Some(Merged { plan: "17".into(), count: 4, program_sha256: None, members: Vec::new() });
    for (document, said) in [
        (shard, "the run that bakeoff merge makes of all parts"),
        (merged, "more repetitions, dealt"),
    ] {
        is_told(&document, said);
        for format in ["html", "md", "term"] {
            let text = words(&document, format);
            let (_, answer) = text.split_once(QUESTION).expect("the question");
            assert!(!answer.contains("--until-decided"), "{format}: {answer}");
        }
    }
}

/// What is answered in each format.
fn answers(document: &Document) -> [String; 3] {
    ["html", "md", "term"].map(|format| {
        let text = words(document, format);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, answer) = text.split_once(QUESTION).unwrap_or_else(|| panic!("{format}: {text}"));
        answer.to_owned()
    })
}

/// More blocks narrow an interval that is of none of the machines.
#[test]
fn where_machines_disagree_other_machines_decide_it_and_more_blocks_do_not() {
    const OTHERS: &str =
        "Measure on the machine that will be used, or on more machines of its kind.";
    const BLOCKS: &str = "More blocks may decide it";
    const NO_MATTER: &str = "It does not matter where neither end";
    let of_several = |mut document: Document| {
        let (plan, members) = ("17".into(), Vec::new());
        document.run.run.merged = Some(Merged { plan, count: 4, program_sha256: None, members });
        document
    };
    let of_one = |disagree| {
        machines::found(of_several(with(Verdict::Undecided)), &[0.5, 0.2, 1.25], disagree)
    };
    for answer in answers(&of_one(true)) {
        assert!(answer.contains(OTHERS), "{answer}");
        assert!(!answer.contains(BLOCKS) && !answer.contains(NO_MATTER), "{answer}");
    }
    for answer in answers(&of_one(false)) {
        assert!(!answer.contains(OTHERS), "{answer}");
        assert!(answer.contains(BLOCKS) && answer.contains(NO_MATTER), "{answer}");
    }
    // They disagree on one of several comparisons that are open.
    let mut several = of_several(machines::merged());
    several.comparisons.iter_mut().for_each(|it| it.verdict = Verdict::Undecided);
    for answer in answers(&several) {
        let both = answer.find(BLOCKS).zip(answer.find(OTHERS));
        assert!(both.is_some_and(|(blocks, others)| blocks < others), "{answer}");
    }
}

/// A shell takes what is broken for one command, and no line is wider than the terminal.
#[test]
fn a_command_that_is_wider_than_a_terminal_can_be_copied() {
    let options = Options { width: 40, ..Options::default() };
    let report = render(&with(Verdict::Undecided), "term", &options).unwrap();
    let (_, answer) = report.split_once(QUESTION).expect("the question");
    let command = "  bakeoff run redmine \\\n    --engine sqlite,lmdb --clients 1,4 \\\n    --seed 42 --until-decided\n";
    assert!(answer.contains(command), "{answer}");
    assert!(answer.lines().all(|line| line.chars().count() <= 40), "{answer}");
}
