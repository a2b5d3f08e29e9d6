//! The claims of the article, and what the run has of the figures that say each.

use std::collections::BTreeMap;

use bakeoff_analysis::{Ours, PublishedStatement, RatioShape};

use super::{EIGHT, FILES, FOUR, NONE, ONE, PAGE, has};
use crate::kept::digits;

/// What says a claim.
struct Claim {
    /// Its number on the page.
    number: u32,
    memory: &'static str,
    pattern: &'static str,
    disks: &'static [&'static str],
    /// The factor of which the base has another level.
    over: &'static str,
    /// How many figures of the article there are.
    figures: usize,
    /// The disk's model assumes it, or it follows from what that assumes.
    is_modelled: bool,
}

const CACHED: &str = "unlimited";
const UNCACHED: &str = "25%";
const ARRAYS: &[&str] = &[FOUR, EIGHT];

const fn over_one_volume(
    number: u32,
    memory: &'static str,
    pattern: &'static str,
    disks: &'static [&'static str],
    figures: usize,
) -> Claim {
    Claim { number, memory, pattern, disks, over: "disk", figures, is_modelled: false }
}

const CLAIMS: [Claim; 6] = [
    over_one_volume(1, CACHED, "randread", ARRAYS, 10),
    over_one_volume(2, CACHED, "randwrite", ARRAYS, 10),
    Claim {
        number: 3,
        memory: UNCACHED,
        pattern: "randread",
        disks: &[ONE],
        over: "clients",
        figures: 4,
        is_modelled: true,
    },
    Claim { is_modelled: true, ..over_one_volume(4, UNCACHED, "randread", &[FOUR], 2) },
    Claim { is_modelled: true, ..over_one_volume(5, UNCACHED, "randread", &[EIGHT], 2) },
    over_one_volume(6, UNCACHED, "randwrite", ARRAYS, 10),
];

impl Claim {
    fn statements(&self) -> Vec<&'static PublishedStatement> {
        let published = FILES.published.as_ref().expect("the article's figures");
        let is_its = |it: &&PublishedStatement| {
            let at = |disk| [("memory", self.memory), ("pattern", self.pattern), ("disk", disk)];
            let is_there = self.disks.iter().any(|disk| has(&it.levels, &at(*disk)));
            is_there && it.base.contains_key(self.over)
        };
        published.statements.iter().filter(is_its).collect()
    }
}

/// What all figures of a claim come to. A model that assumes it confirms nothing.
fn verdict(statements: &[&PublishedStatement], is_modelled: bool) -> &'static str {
    let is_same = |it: &RatioShape| matches!(it, RatioShape::Same | RatioShape::SameByWords);
    let is_other = |it: &RatioShape| matches!(it, RatioShape::NotTheSame { .. });
    let has_direction = |it: &RatioShape| {
        is_same(it)
            || matches!(it, RatioShape::Stronger | RatioShape::Weaker | RatioShape::SizeOpen)
    };
    let all = |fits: &dyn Fn(&RatioShape) -> bool| statements.iter().all(|it| fits(&it.shape));
    if all(&is_same) && is_modelled {
        "reproduced by the model"
    } else if all(&is_same) {
        "confirmed"
    } else if all(&is_other) {
        "contradicted"
    } else if all(&has_direction) {
        "confirmed in its direction"
    } else if statements.iter().any(|it| is_other(&it.shape)) {
        "contradicted in part"
    } else {
        "open"
    }
}

/// How many figures are of each kind.
fn counts(statements: &[&PublishedStatement]) -> String {
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for it in statements {
        *kinds.entry(it.shape.words()).or_default() += 1;
    }
    let counts = kinds.iter().map(|(kind, count)| format!("{count} × {kind}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// The least and the most of our ratios, and the outermost ends of their intervals.
fn range(statements: &[&PublishedStatement]) -> String {
    let ours = || statements.iter().filter_map(|it| it.ours.as_ref());
    let ends = |least: fn(&Ours) -> Option<f64>, most: fn(&Ours) -> Option<f64>| {
        let least = ours().filter_map(least).reduce(f64::min)?;
        let most = ours().filter_map(most).reduce(f64::max)?;
        Some(format!("{} to {}", digits(least), digits(most)))
    };
    let ratio = |it: &Ours| Some(it.ratio);
    let ratios = ends(ratio, ratio).map(|ratios| format!("{ratios} times as many"));
    let intervals = ends(|it| it.low, |it| it.high).map(|ends| format!("intervals from {ends}"));
    let intervals = intervals.unwrap_or("no interval".into());
    format!("{}, {intervals}", ratios.unwrap_or(NONE.into()))
}

#[test]
fn each_claim_stands_as_the_run_has_it() {
    for claim in CLAIMS {
        let Claim { number, figures, is_modelled, .. } = claim;
        let statements = claim.statements();
        assert_eq!(statements.len(), figures, "claim {number}");
        let stands =
            format!(" | {}: {} | ", verdict(&statements, is_modelled), counts(&statements));
        let range = format!("{} |", range(&statements));
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| {number}. ")));
        let row = row.unwrap_or_else(|| panic!("docs/findings/fileio.md has no claim {number}"));
        assert!(row.contains(&stands), "claim {number} should stand as{stands}\n{row}");
        assert!(row.ends_with(&range), "claim {number} should end with {range}\n{row}");
    }
}
