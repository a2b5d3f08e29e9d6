//! The words of verdicts in the guide.

use bakeoff_analysis::document::Verdict;

use crate::reading::text;
use crate::sample::single;

/// The verdict that is declared after this one: a new one has to be named here, too.
fn after(verdict: Verdict) -> Option<Verdict> {
    match verdict {
        Verdict::Faster => Some(Verdict::Slower),
        Verdict::Slower => Some(Verdict::Same),
        Verdict::Same => Some(Verdict::Undecided),
        Verdict::Undecided => Some(Verdict::Spiky),
        Verdict::Spiky => Some(Verdict::TooFew),
        Verdict::TooFew => Some(Verdict::WithinNoise),
        Verdict::WithinNoise => Some(Verdict::ShortOfProcessors),
        Verdict::ShortOfProcessors => Some(Verdict::NeverSteady),
        Verdict::NeverSteady => Some(Verdict::Void),
        Verdict::Void => None,
    }
}

/// What the guide explains in its tables of words, the first cell of each row.
fn explained() -> Vec<&'static str> {
    let rows = include_str!("../../../../docs/method.md").lines();
    let first = |row: &'static str| row.strip_prefix("| ")?.split(" |").next();
    rows.filter_map(first).collect()
}

/// Every word that a verdict has, and every form in which the first chart tells it, is explained in the guide.
#[test]
fn the_guide_explains_every_word_of_a_verdict() {
    let explained = explained();
    let is_explained = |word: &str| {
        let is_it = |row: &&str| *row == word || row.starts_with(&format!("{word} ("));
        explained.iter().any(is_it)
    };
    for verdict in std::iter::successors(Some(Verdict::Faster), |it| after(*it)) {
        assert!(is_explained(verdict.word()), "{} is not in docs/method.md", verdict.word());
        let mut document = single().document();
        document.comparisons[0].verdict = verdict;
        let markdown = text(&document, "md");
        let chart = markdown.split("\n## ").next().unwrap_or_default();
        let cells = chart.lines().filter(|line| line.matches(" | ").count() == 2);
        let cells: Vec<&str> = cells
            .filter(|line| ["| lmdb | 5", "| sqlite | 1"].iter().any(|it| line.starts_with(it)))
            .filter_map(|line| line.trim_end_matches(" |").rsplit(" | ").next())
            .collect();
        assert_eq!(cells.len(), 2, "{verdict:?}: {markdown}");
        for cell in cells {
            let word = cell.strip_prefix("best mean, ").unwrap_or(cell);
            let word = word.split(" (").next().unwrap_or(word);
            let word = word.split(": ").next().unwrap_or(word);
            assert!(word.contains('×') || is_explained(word), "{cell} is not in docs/method.md");
        }
    }
}
