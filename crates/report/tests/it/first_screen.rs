//! What the first screen says: a sentence for each promise, how sure it is, the chart, and the questions
//! that come next.

use bakeoff_analysis::{Document, Verdict, Warning, WarningKind};
use bakeoff_report::{Options, verdict};
use bakeoff_results::measure::{COMMITS, PAYLOAD, RETURNED};
use bakeoff_results::{Levels, Scope};

use crate::formats::text;
use crate::sample::broken::broken;
use crate::sample::{Sample, render};

/// sqlite is 1.4 times as fast with every commit kept, lmdb twice where the last second may be lost.
fn mean(_: &str, levels: &Levels) -> f64 {
    match (levels["engine"].as_str(), levels["durability"].as_str()) {
        ("sqlite", "strict") => 0.010,
        ("sqlite", _) => 0.0075,
        (_, "strict") => 0.014,
        _ => 0.004,
    }
}

pub fn promises() -> Sample {
    Sample {
        factors: vec![("durability", vec!["strict", "relaxed"])],
        operations: vec!["create_issue"],
        mean,
        ..Sample::default()
    }
}

/// A report without its markup, line breaks and escapes.
pub fn words(document: &Document, format: &str) -> String {
    let text = text(document, format).replace('\\', "").replace("**", "").replace('*', "");
    let mut out = String::new();
    let mut inside = false;
    for character in text.chars() {
        match character {
            '<' => inside = true,
            '>' if inside => inside = false,
            _ if inside => {}
            other => out.push(other),
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub const SENTENCES: [&str; 2] = [
    "With every commit kept, sqlite is fastest: lmdb takes 1.4 times as long (1.2–1.6).",
    "If the last second may be lost, lmdb is fastest: sqlite takes 1.9 times as long (1.7–2.1).",
];

#[test]
fn each_promise_has_a_sentence_in_every_format() {
    let document = promises().document();
    assert_eq!(verdict(&document), SENTENCES.join(" "));
    for format in ["html", "md", "term"] {
        let text = words(&document, format);
        let sure = "High confidence";
        for part in
            [SENTENCES[0], SENTENCES[1], sure, "5 trials of each. Good enough to decide by."]
        {
            assert!(text.contains(part), "{part} is not in {format}: {text}");
        }
    }
    let json: serde_json::Value = serde_json::from_str(&text(&document, "json")).unwrap();
    assert_eq!(json["answer"]["sentences"], serde_json::json!(SENTENCES));
    assert_eq!(json["answer"]["confidence"]["level"], "high");
}

/// The promise of a level that is the only one is told as well.
#[test]
fn a_promise_that_does_not_vary_is_told() {
    let factors = vec![("durability", vec!["strict"])];
    let document = Sample { factors, ..promises() }.document();
    assert_eq!(verdict(&document), SENTENCES[0]);
}

#[test]
fn a_lead_in_one_operation_of_two_is_told_by_its_name() {
    let mean = |operation: &str, levels: &Levels| {
        let more = if operation == "create_issue" { 1.5 } else { 1.0 };
        if levels["engine"] == "lmdb" { 0.005 } else { 0.010 * more }
    };
    let operations = vec!["create_issue", "process_issues"];
    let mut document = Sample { operations, mean, ..promises() }.document();
    let open = document.comparisons.iter_mut().filter(|it| it.operation == "create_issue");
    open.for_each(|it| it.verdict = Verdict::ShortOfProcessors);
    let told = "With every commit kept, lmdb was fastest in process_issues: sqlite took 2.0 times as long \
                (1.8–2.2); in create_issue it was short of processors (2.7–3.3×).";
    let said = verdict(&document);
    assert!(said.starts_with(told), "{said}");
    let open = document.comparisons.iter_mut().filter(|it| it.operation == "create_issue");
    open.for_each(|it| it.verdict = Verdict::Undecided);
    let said = verdict(&document);
    assert!(said.contains("; in create_issue it was undecided (2.7–3.3×)."), "{said}");
}

/// A figure that stands for several operations says so, in the sentence and in the chart.
#[test]
fn one_figure_of_several_operations_says_that_it_is_of_each() {
    let both = vec!["create_issue", "process_issues"];
    for (operations, in_all) in [
        (vec!["create_issue"], ""),
        (both.clone(), " in both operations"),
        ([both, vec!["sum"]].concat(), " in all 3 operations"),
    ] {
        let document = Sample { operations, ..promises() }.document();
        let told = format!("sqlite is fastest: lmdb takes 1.4 times as long{in_all} (1.2–1.6).");
        assert!(verdict(&document).contains(&told), "{told} is not in {}", verdict(&document));
        let page = words(&document, "html");
        assert!(page.contains(&format!("1.4× as long (1.2–1.6){in_all}")), "{page}");
    }
}

/// The first row has the best mean over all operations: where another has a better one in one of them, it says
/// so.
#[test]
fn the_best_mean_says_over_what_it_is_where_it_is_not_the_best_in_each() {
    let mean = |operation: &str, levels: &Levels| match (operation, levels["engine"].as_str()) {
        ("create_issue", "lmdb") => 0.0176,
        ("create_issue", _) => 0.0180,
        (_, "lmdb") => 0.033,
        _ => 0.032,
    };
    let both = vec!["create_issue", "process_issues"];
    let strict = vec![("durability", vec!["strict"])];
    for (operations, factors, told) in [
        (both, strict.clone(), "best mean over both operations, undecided"),
        (vec!["process_issues"], strict.clone(), "best mean, undecided"),
        // Every operation but the first has lmdb behind.
        (vec!["process_issues", "sum"], strict, "best mean, undecided"),
    ] {
        let document = Sample { operations, factors, mean, ..promises() }.document();
        for format in ["html", "md", "term"] {
            let text = words(&document, format);
            assert!(text.contains(told), "{told} is not in {format}: {text}");
        }
    }
}

/// What marks, brackets and words mean is read before the rows that have them.
#[test]
fn what_the_chart_means_stands_above_its_rows() {
    let mut document = promises().document();
    let brackets = "In brackets: the 95 % interval of the ratio";
    let undecided = "Undecided: this interval reaches to within 5 % of 1; trials may lie apart";
    let above = |document: &Document, format: &str| {
        let text = words(document, format);
        let legend = text.find(brackets).expect("what brackets are");
        // In a terminal rows of other charts come first.
        assert!(text[legend..].contains("Every commit kept"), "{format}: {text}");
        text
    };
    for format in ["html", "md", "term"] {
        assert!(!above(&document, format).contains("Undecided: "), "nothing is: {format}");
    }
    let page = words(&document, "html");
    let hollow = page.find("hollow mark: the same engine with less promised").expect("a legend");
    assert!(hollow < page.find("Every commit kept").unwrap(), "{page}");
    document.comparisons[0].verdict = Verdict::Undecided;
    for format in ["html", "md", "term"] {
        assert!(above(&document, format).contains(undecided), "{format}");
    }
    // By itself it would be clear, and among all it is not: another reason.
    document.comparisons[0].p_adjusted = Some(0.07);
    let held_back = ", or leaves 1 out by itself and not among all comparisons together;";
    assert!(above(&document, "md").contains(held_back));
    document.comparisons[0].verdict = Verdict::WithinNoise;
    assert!(above(&document, "md").contains(", or one level differs as much from itself;"));
}

/// A range says what it is of, and which way.
#[test]
fn a_range_that_leaves_it_open_is_one_of_times() {
    let mut document = promises().document();
    for comparison in &mut document.comparisons {
        comparison.verdict = Verdict::Undecided;
        (comparison.low, comparison.high) = (Some(0.97), Some(1.6));
    }
    let told = "With every commit kept, sqlite or lmdb was fastest, undecided which: lmdb took 0.97–1.6 times as \
                long as sqlite.";
    assert!(verdict(&document).starts_with(told), "{}", verdict(&document));
    for format in ["html", "md", "term"] {
        let text = words(&document, format);
        assert!(text.contains("undecided (0.97–1.6×)"), "{format}: {text}");
    }
}

#[test]
fn a_few_operations_are_told_one_by_one_and_more_from_the_least_to_the_most() {
    let mean = |operation: &str, levels: &Levels| {
        let more = if operation == "create_issue" { 1.5 } else { 1.0 };
        if levels["engine"] == "lmdb" { 0.005 } else { 0.010 * more }
    };
    for (operations, told, cell) in [
        (
            vec!["create_issue", "process_issues"],
            "With every commit kept, lmdb is fastest: sqlite takes 3.0 times as long in create_issue \
             (2.7–3.3) and 2.0 times in process_issues (1.8–2.2).",
            "3.0× and 2.0× as long <small>create_issue (2.7–3.3), process_issues (1.8–2.2)</small>",
        ),
        (
            vec!["create_issue", "process_issues", "sum", "transact"],
            "With every commit kept, lmdb is fastest: sqlite takes 2.0 to 3.0 times as long, depending \
             on the operation (all 95 % intervals lie within 1.8–3.3).",
            "2.0 to 3.0× as long <small>all 95 % intervals lie within 1.8–3.3</small>",
        ),
    ] {
        let document = Sample { operations, mean, ..promises() }.document();
        let said = verdict(&document);
        assert!(said.starts_with(told), "{said}");
        // In the chart the intervals stand below the ratios, and say whose they are.
        let page = text(&document, "html");
        assert!(page.contains(cell), "{page}");
    }
}

/// A ratio is told in one direction: the sentence says of the slower what the table says of it.
#[test]
fn the_sentence_and_the_table_say_the_same_of_the_slower() {
    for format in ["html", "md", "term"] {
        let text = words(&promises().document(), format);
        let (sentence, cell) = ("lmdb takes 1.4 times as long (1.2–1.6)", "1.4× as long (1.2–1.6)");
        assert!(text.contains(sentence) && text.contains(cell), "{format}: {text}");
        assert!(!text.contains("times as fast"), "{format}: {text}");
    }
}

#[test]
fn a_warning_that_voids_makes_the_answer_one_of_low_confidence() {
    let mut document = promises().document();
    document.warnings.push(Warning::new(
        WarningKind::ServersWaited,
        "in 3 of 20 trials servers waited, at worst 30 %, at engine lmdb: processors were short",
    ));
    let told = "With every commit kept, sqlite was fastest: lmdb took 1.4 times";
    assert!(verdict(&document).starts_with(told));
    for format in ["html", "md", "term"] {
        let told = "Too few processors. Don’t decide by this run alone.";
        assert!(words(&document, format).contains(told), "{format}");
    }
    let page = words(&document, "html");
    assert!(page.contains("Too few processors. In 3 of 20 trials servers waited."), "{page}");
    // On the first screen in short, and in full where all warnings are.
    assert_eq!(page.matches("at worst 30 %, at engine lmdb: processors were short").count(), 1);
}

#[test]
fn commits_that_lie_in_memory_make_the_confidence_low_and_it_says_why() {
    let mut document = promises().document();
    document.warnings.extend(bakeoff_analysis::in_memory(&["tmpfs"], 20, 20));
    let why = "Data in memory: no commit outlives a power cut.";
    for format in ["html", "md", "term"] {
        let text = words(&document, format);
        let told = format!("{why} Don’t decide by this run alone.");
        assert!(text.contains(&told), "{format}: {text}");
    }
    assert!(words(&document, "md").contains("Low confidence"));
    let page = words(&document, "html");
    let short =
        "Data in memory. In 20 of 20 trials that promise to keep commits the data lie in memory.";
    assert!(page.contains(short), "{page}");
}

#[test]
fn fewer_blocks_than_three_and_five_are_low_and_fair() {
    for (blocks, sure) in [(2, "Low confidence"), (4, "Fair confidence"), (5, "High confidence")] {
        let document = Sample { blocks, ..promises() }.document();
        assert!(words(&document, "md").contains(sure), "{blocks}");
    }
}

#[test]
fn what_keeping_every_commit_costs_and_that_the_order_turns() {
    let document = promises().document();
    for format in ["html", "md", "term"] {
        let text = words(&document, format);
        for part in [
            "What does keeping every commit cost?",
            "An operation takes, against last second at risk:",
            "sqlite: 1.3 times as long",
            "lmdb: 3.5 times as long",
            "So the order turns: lmdb is fastest only while the last second may be lost.",
        ] {
            assert!(text.contains(part), "{part} is not in {format}: {text}");
        }
    }
    let one = Sample { factors: vec![("durability", vec!["strict"])], ..promises() };
    assert!(!words(&one.document(), "html").contains("keeping every commit cost"));
}

/// A figure that has no interval does not look like a precise one; and that a step to the right is a
/// factor is said of each axis.
#[test]
fn what_has_no_interval_and_what_the_axis_is_are_told() {
    let one = Sample { blocks: 1, ..promises() }.document();
    let five = promises().document();
    for format in ["html", "md", "term"] {
        assert!(words(&one, format).contains("10.0 ms (1 trial)"), "{format}");
        assert!(!words(&five, format).contains("(1 trial)"), "{format}");
    }
    for format in ["html", "term"] {
        assert!(words(&five, format).contains("mean time, left is faster, log scale"), "{format}");
    }
    let bars = |document: &Document| {
        let page = text(document, "html");
        let chart = page.split("<table class=\"strips").nth(1).unwrap();
        chart.split("</table>").next().unwrap().matches("class=\"ci\"").count()
    };
    assert_eq!(
        (bars(&one), bars(&five)),
        (0, 0),
        "what is compared has the verdict’s interval alone"
    );
    let alone = Sample { engines: vec!["sqlite"], ..promises() }.document();
    assert_eq!(bars(&alone), 2 * 3, "a line and two ends for each interval");
    let own =
        |document: &Document| text(document, "html").matches("<small class=\"ends\">").count();
    assert_eq!((own(&one), own(&five)), (0, 4), "the cells’ own intervals are among all cells");
    for format in ["html", "md", "term"] {
        let brackets = "In brackets: the 95 % interval of the ratio";
        assert!(words(&five, format).contains(brackets), "{format}");
        assert!(!words(&one, format).contains(brackets), "{format}");
    }
}

/// Rows stand by promise, the fastest first; a strict one shows where the same is with less promised.
#[test]
fn the_chart_has_a_row_for_each_engine_under_each_promise() {
    let page = text(&promises().document(), "html");
    let chart =
        page.split("<table class=\"strips").nth(1).unwrap().split("</table>").next().unwrap();
    let mut at = 0;
    for part in [
        "Every commit kept",
        "data-name=\"sqlite\"",
        "10.0 ms",
        "fastest",
        "data-name=\"lmdb\"",
        "1.4× as long (1.2–1.6)",
        "Last second at risk",
        "data-name=\"lmdb\"",
        "data-name=\"sqlite\"",
        "1.9× as long (1.7–2.1)",
    ] {
        let found = chart[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part} is missing, or out of order: {chart}"));
    }
    assert_eq!(chart.matches("<g class=\"mark\">").count(), 4);
    assert_eq!(chart.matches("<g class=\"hollow\">").count(), 2);
    assert!(chart.contains(">3.5×</text>"), "{chart}");
    assert!(!chart.contains("lost at worst"), "no power was cut");
}

/// Of three engines a reader chooses what the others are held against: by their own pairs.
#[test]
fn each_row_stands_against_each_other_one() {
    let document = Sample { engines: vec!["sqlite", "lmdb", "fjall"], ..promises() }.document();
    let page = text(&document, "html");
    let row = page.split("data-name=\"sqlite\"").nth(1).unwrap().split("</tr>").next().unwrap();
    for part in [
        "data-against=\"sqlite\" hidden>what the others are held against",
        "data-against=\"lmdb\" hidden>1.4× as fast (1.2–1.6)",
        "data-against=\"fjall\" hidden>1.4× as fast (1.2–1.6)",
    ] {
        assert!(row.contains(part), "{part} is not in {row}");
    }
    assert!(
        !text(&promises().document(), "html").contains("data-against=\""),
        "two need no choice"
    );
}

#[test]
fn what_power_cuts_took_is_a_column_and_an_answer() {
    let document = broken("torn", "client 1: 3 is torn");
    for format in ["html", "md", "term"] {
        let text = words(&document, format);
        for part in ["What was lost when the power was cut?", "sqlite was damaged in 1 of "] {
            assert!(text.contains(part), "{part} is not in {format}: {text}");
        }
    }
    let page = words(&document, "html");
    assert!(
        page.contains("lost at worst when the power was cut") && page.contains("damaged, 1 of ")
    );
    assert!(page.contains("not tried"), "no cut was made of the others");
}

#[test]
fn each_change_is_told_from_what_is_in_use() {
    let document = promises().document();
    for format in ["html", "md", "term"] {
        let text = words(&document, format);
        for part in [
            "What each change buys",
            "From the present choice, sqlite, strict durability:",
            "durability: strict → relaxed",
            "1.3× as fast",
            "Two changes at once",
            "2.5× as fast",
        ] {
            assert!(text.contains(part), "{part} is not in {format}: {text}");
        }
    }
    let page = words(&document, "html");
    assert!(page.contains("engine: sqlite → lmdb, durability: strict → relaxed"), "{page}");
    for format in ["html", "term"] {
        let axis = "against the present choice: sqlite, strict durability; left is faster";
        assert!(words(&document, format).contains(axis), "{format}");
    }
    let present =
        vec![("engine".to_owned(), "lmdb".to_owned()), ("durability".into(), "relaxed".into())];
    let options = Options { present, ..Options::default() };
    let markdown = render(&document, "md", &options).unwrap();
    assert!(markdown.contains("From the present choice, *lmdb, relaxed durability*"), "{markdown}");
    assert!(markdown.contains("durability: relaxed → strict"), "{markdown}");
    let unknown = vec![("engine".to_owned(), "nobody".to_owned())];
    let options = Options { present: unknown, ..Options::default() };
    let from = "From the present choice, *sqlite, strict durability*";
    assert!(render(&document, "md", &options).unwrap().contains(from));
}

/// A page of constants is nobody's present choice, unless somebody says so.
#[test]
fn changes_are_told_from_a_cell_that_does_something() {
    let factors = vec![("durability", vec!["strict"]), ("step", vec!["constants", "reads"])];
    let mut document = Sample { factors, ..promises() }.document();
    let from = |document: &Document, step: &str| {
        let present = match step {
            "" => Vec::new(),
            step => vec![("step".to_owned(), step.to_owned())],
        };
        let options = Options { present, ..Options::default() };
        let markdown = render(document, "md", &options).unwrap();
        let (_, from) =
            markdown.split_once("From the present choice, *").expect("what each change buys");
        from.split_once('*').unwrap().0.to_owned()
    };
    assert_eq!(from(&document, ""), "sqlite, step constants");
    for trial in document.trials.iter_mut().filter(|it| it.levels["step"] == "constants") {
        trial.measures.set(&COMMITS, Scope::Clients, 0.0);
        trial.measures.set(&PAYLOAD, Scope::Clients, 0.0);
    }
    // What their clients read was not counted: they may have read something.
    assert_eq!(from(&document, ""), "sqlite, step constants");
    for trial in &mut document.trials {
        let returned = if trial.levels["step"] == "reads" { 4096.0 } else { 0.0 };
        trial.measures.set(&RETURNED, Scope::Clients, returned);
        trial.measures.set(&COMMITS, Scope::Clients, 0.0);
        trial.measures.set(&PAYLOAD, Scope::Clients, 0.0);
    }
    assert_eq!(from(&document, ""), "sqlite, step reads");
    assert_eq!(from(&document, "constants"), "sqlite, step constants");
}

/// Every change is from the present cell: so where that is of memory, each of them is.
#[test]
fn changes_from_or_to_a_cell_of_the_page_cache_are_marked() {
    let marks = |engine: &str| {
        let mut document = promises().document();
        for cell in &mut document.cells {
            let is_it = cell.levels["engine"] == engine && cell.levels["durability"] == "strict";
            cell.from_disk = Some(if is_it { 0.1 } else { 1.0 });
        }
        let page = text(&document, "html");
        let (_, changes) = page.split_once("From the present choice").expect("the changes");
        let (changes, _) = changes.split_once("</section>").expect("its end");
        changes.matches("✗ cache").count()
    };
    let (none, one, present) = (marks("nobody"), marks("lmdb"), marks("sqlite"));
    assert_eq!(none, 0);
    assert!(0 < one && one < present, "{one} {present}");
}

#[test]
fn a_terminal_of_any_width_has_the_chart_in_whole_words() {
    let document = promises().document();
    for width in [60, 80, 120, 200] {
        let options = Options { width, ..Options::default() };
        let report = render(&document, "term", &options).unwrap();
        assert!(report.lines().all(|line| line.chars().count() <= width), "{width}: {report}");
        for part in ["Every commit kept (strict)", "fastest", "●", "10.0 ms"] {
            assert!(report.contains(part), "{width}, {part}: {report}");
        }
        // A name that has no room on one line goes on below.
        let both = report.split("Two changes at once").nth(1).unwrap();
        let both = both.split("The slowest operations").next().unwrap();
        assert!(both.contains("engine: sqlite →") && both.contains("relaxed"), "{width}: {both}");
        assert!(!both.contains('…'), "{width}: {both}");
        let plain = Options { width, unicode: false, ..Options::default() };
        assert!(!render(&document, "term", &plain).unwrap().contains('●'));
    }
}

#[test]
fn a_page_of_a_thousand_trials_is_no_larger_than_a_megabyte() {
    let sample = Sample {
        engines: vec!["sqlite", "lmdb", "fjall", "postgres"],
        factors: vec![
            ("durability", vec!["strict", "relaxed"]),
            ("clients", vec!["1", "2", "4", "8", "16"]),
        ],
        operations: vec!["create_issue", "process_issues"],
        blocks: 25,
        ..promises()
    };
    let document = sample.document();
    assert_eq!(document.trials.len(), 1000);
    let page = text(&document, "html");
    assert!(page.len() <= 1_000_000, "{} bytes", page.len());
}
