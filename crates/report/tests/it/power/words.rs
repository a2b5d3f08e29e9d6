//! What a report says of a promise where an engine has much to say, or little.

use bakeoff_analysis::{Document, FoundInCuts, RuleView, Warning, WarningKind};
use bakeoff_report::verdict;
use bakeoff_results::{Cut, Promised, Status};

use super::{broken, text};

const SAID: &str = "mariadb can't be opened: MariaDB ended while it was starting (exit status: 1): \
                    wrong checksum in './a'; the last lines of its log:\n12:00 [ERROR] <checksum> of \
                    page 7\n12:01 [ERROR] Aborting";

/// A report on one line, without tags: what is read, and not how it is set.
pub fn read(document: &Document, format: &str) -> String {
    let text = text(document, format);
    let text = match format {
        "html" => {
            let parts = text.split('<').map(|part| part.split_once('>').map_or(part, |(_, t)| t));
            parts.collect::<String>()
        }
        _ => text,
    };
    let text = text.replace("&#x27;", "'").replace("&#x2f;", "/").replace("&lt;", "<");
    text.replace("&gt;", ">").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentence is whole in every format, and only the page has the log, folded.
fn the_log_is_folded(document: &Document, sentence: &str) {
    for format in ["html", "md", "term"] {
        let text = read(document, format);
        // Marks of Markdown are no words.
        let text = text.replace('\\', "");
        assert!(text.contains(sentence), "{sentence} is not in {format:?}:\n{text}");
        assert!(!text.contains("its log:"), "{format:?}:\n{text}");
        assert_eq!(text.contains("The last lines of its log"), format == "html", "{text}");
    }
    let page = text(document, "html");
    let folded = page.split("<summary>The last lines of its log</summary>").nth(1);
    let folded = folded.and_then(|rest| rest.split("</details>").next()).expect("a folded log");
    assert!(folded.contains("12:00 [ERROR] &lt;checksum&gt; of page 7\n12:01 [ERROR] Aborting"));
}

#[test]
fn a_log_stands_apart_from_the_sentence_on_a_broken_promise() {
    let document = broken("torn", SAID);
    the_log_is_folded(&document, "(exit status: 1): wrong checksum in './a'.");
}

#[test]
fn so_does_the_log_of_a_level_that_could_not_be_tried() {
    let mut document = broken("torn", "x");
    let promise = &mut document.promises[0];
    (promise.kept, promise.cuts, promise.broken, promise.failed) = (None, 0, 0, 1);
    promise.rules.clear();
    let failed = Cut { judged: Vec::new(), failed: Some(SAID.into()), ..document.cuts.remove(0) };
    document.cuts = vec![failed];
    the_log_is_folded(&document, "Not tried: mariadb can't be opened: MariaDB ended while ");
}

#[test]
fn what_announces_nothing_is_left_whole() {
    for (said, told) in [
        ("a; b", "a; b."),
        ("it failed.", "it failed."),
        ("it failed:", "it failed."),
        ("it failed; it said:", "it failed."),
    ] {
        let text = read(&broken("torn", said), "term");
        let told = format!("by the rule torn: {told} again: ");
        assert!(text.contains(&told), "{said}: {text}");
    }
}

/// No flag or level in a command that a person copies is broken after its hyphens.
#[test]
fn flags_and_levels_are_whole_words_on_the_page() {
    let mut document = broken("torn", "x");
    document.run.run.command = "bakeoff run redmine --disk hdd-7200 --clients 4 --seed <1>".into();
    let said = "too short (a longer trial, --seconds, would do)";
    document.warnings.push(Warning::new(WarningKind::WarmUp, said));
    let page = text(&document, "html");
    assert!(page.contains("<span class=\"whole\">--seconds,</span> would do)"), "{page}");
    for flag in ["hdd-7200", "--clients", "--seed", "--cut-number", "--durability"] {
        let whole = format!("<span class=\"whole\">{flag}</span> ");
        assert!(page.contains(&whole), "{flag}");
        assert_eq!(page.matches(flag).count(), page.matches(&whole).count(), "{flag}");
    }
    assert!(page.contains("--seed</span> &lt;1&gt;</code>"), "{page}");
    let repeated = "bakeoff run power-cut --seed 1 --engine sqlite --durability strict --keep torn \
                    --cut-number 3";
    assert!(read(&document, "html").contains(repeated), "it can be copied");
}

/// The rule that has left the most corrupt is named, and not the last one in the table.
#[test]
fn the_worst_rule_is_named_where_nothing_was_promised() {
    let mut document = broken("torn", "x");
    let promise = &mut document.promises[0];
    (promise.kept, promise.broken, promise.promised) = (None, 0, Promised::Nothing);
    let rule = |keep: &str, torn, corrupt| RuleView {
        keep: keep.into(),
        cuts: 20,
        torn: FoundInCuts { cuts: torn, most: 1 },
        corrupt,
        ..RuleView::default()
    };
    for (rules, told) in [
        ([rule("subset", 0, 3), rule("torn", 2, 1)], "; corrupt in 3 by the rule subset."),
        (
            [rule("subset", 2, 1), rule("torn", 1, 1)],
            "; torn in 2 and corrupt in 1 by the rule subset.",
        ),
        (
            [rule("subset", 1, 1), rule("torn", 2, 1)],
            "; torn in 2 and corrupt in 1 by the rule torn.",
        ),
    ] {
        document.promises[0].rules = rules.into();
        let text = read(&document, "term");
        assert!(text.contains(told), "{told} is not in {text}");
    }
}

/// One image of several says nothing; the others do.
#[test]
fn only_where_every_image_is_corrupt_nothing_could_be_counted() {
    let mut document = broken("torn", "x");
    let promise = &mut document.promises[0];
    (promise.kept, promise.broken, promise.promised) = (None, 0, Promised::Nothing);
    let rule = |corrupt| RuleView { keep: "torn".into(), cuts: 20, corrupt, ..RuleView::default() };
    for (corrupt, told, other) in [
        (20, "left nothing from which losses could be counted", "lost nothing"),
        (1, "lost nothing that could be counted", "left nothing"),
        (0, "cut lost nothing.", "counted"),
    ] {
        document.promises[0].rules = vec![rule(corrupt)];
        let text = read(&document, "term");
        assert!(text.contains(told) && !text.contains(other), "{corrupt}: {text}");
    }
}

/// The picture can't have a dot for an image whose losses can't be counted, and says so.
#[test]
fn the_picture_tells_of_corrupt_images_that_have_no_dot() {
    let mut document = broken("torn", "x");
    assert!(!text(&document, "html").contains("corrupt, no dot"));
    let judged = &mut document.cuts[0].judged;
    let mut gone = judged[0].clone();
    gone.verdict.corrupt = Some("it does not start".into());
    gone.keep = "torn".into();
    judged.push(gone.clone());
    let page = text(&document, "html");
    assert!(page.contains(">1 corrupt, no dot</text>"), "{page}");
    // What is corrupt and could be counted all the same has a dot.
    gone.verdict.oldest_lost_s = Some(0.01);
    document.cuts[0].judged[2] = gone;
    let page = text(&document, "html");
    assert!(!page.contains("corrupt, no dot") && page.contains("<title>torn: 10.0 ms</title>"));
}

#[test]
fn progress_is_told_of_what_was_planned_alone() {
    let mut document = broken("torn", "x");
    document.run.status = Status::Interrupted;
    document.run.run.cuts.as_mut().expect("a plan").planned = 20;
    let end = ". The run was interrupted after 20 of 20 trials and 1 of 20 power cuts.";
    assert!(verdict(&document).ends_with(end), "{}", verdict(&document));
    document.trials.clear();
    document.run.run.planned = 0;
    let end = ". The run was interrupted after 1 of 20 power cuts.";
    assert!(verdict(&document).ends_with(end), "{}", verdict(&document));
}
