//! README.md and docs/findings/README.md say of each kept run what it has: every figure there is made from a run.

use bakeoff_report::{Options, Reports};

use super::fileio::headlines as fileio;
use super::{break_tarantool, kept, nine_minutes, power_cut, scarce_memory, vote};

const README: &str = include_str!("../../../../README.md");
const INDEX: &str = include_str!("../../../../docs/findings/README.md");

/// Names that have a figure in them.
const NAMES: [&str; 2] = ["RAID-10", "ext4"];

/// A text in one line, without the targets of its links.
fn prose(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once(')').map_or(part, |(_, rest)| rest));
    let all = rest.fold(first, |all, part| all + "]" + part);
    all.replace(['[', ']'], "").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// That a text has each of these words, and no figure beside them.
#[track_caller]
fn assert_has_no_other_figure(what: &str, text: &str, words: &[String]) {
    let mut left = prose(text);
    // A figure may stand in the words of two: the longer ones first.
    let mut words: Vec<&String> = words.iter().collect();
    words.sort_by_key(|it| std::cmp::Reverse(it.len()));
    for it in words {
        assert!(left.contains(it.as_str()), "{what} should say: {it}\n{left}");
        left = left.replace(it.as_str(), "…");
    }
    let named = NAMES.iter().fold(left, |left, name| left.replace(name, "…"));
    // Code is what a level is called.
    let plain: String = named.split('`').step_by(2).collect();
    let figure = plain.find(|letter: char| letter.is_ascii_digit());
    let place = figure.map(|at| plain[at..].chars().take(60).collect::<String>());
    assert_eq!(place, None, "{what} has a figure that no run is asked for");
}

/// From a heading to the next one.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, rest) = text.split_once(heading).unwrap_or_else(|| panic!("no {heading}"));
    rest.split("\n## ").next().unwrap_or(rest)
}

/// The points of a list, each with the lines that it goes on for.
fn points(section: &str) -> String {
    let mut is_point = false;
    let lines = section.lines().filter(|line| {
        is_point = line.starts_with("- ") || is_point && line.starts_with("  ");
        is_point
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn readme_says_what_the_kept_runs_have() {
    let all = [
        nine_minutes::in_short(),
        scarce_memory::in_short(),
        vote::in_short(),
        fileio::in_short(),
        break_tarantool::in_short(),
    ];
    let found = points(section(README, "\n## What it has found\n"));
    assert_has_no_other_figure("README.md", &found, &all.concat());
}

#[test]
fn each_headline_says_what_the_kept_runs_have() {
    for (heading, words) in [
        ("## InnoDB or MyRocks for an issue tracker", nine_minutes::in_index()),
        ("## What does a power cut leave of seven", power_cut::in_index()),
        ("## What does a power cut leave of Tarantool", break_tarantool::in_index()),
        ("## Rows of text, and memory", scarce_memory::in_index()),
        ("## What does each step of a voting page", vote::in_index()),
        ("## Which disks for a database", fileio::in_index()),
    ] {
        let found = points(section(INDEX, heading));
        assert_has_no_other_figure(heading, &found, &words);
    }
}

/// What stands in the code block after these words.
fn block<'a>(text: &'a str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(after).unwrap_or_else(|| panic!("no {after}"));
    rest.split("```").nth(1).expect("a code block")
}

/// README leaves lines out, and the ends of some.
#[test]
fn the_demos_answer_is_what_its_run_is_reported_with() {
    let document = kept::read("../demo", |folder| bakeoff_analysis::document(folder).unwrap());
    let options = Options { width: 200, ..Options::default() };
    let report = Reports::standard().render(&document, "text", &options).unwrap();
    let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let bare = |text: &str| text.replace(['○', '┄'], " ");
    let report = squeeze(&bare(&report));
    let lines: Vec<&str> = block(README, "This is the demo's").lines().skip(1).collect();
    assert!(lines.len() >= 4, "{lines:?}");
    for line in lines {
        let told = squeeze(&bare(line.trim_end_matches(" ...")));
        assert!(report.contains(&told), "the demo's report should have: {told}\n{report}");
    }
}
