//! A run whose power was cut.

use bakeoff_analysis::{CutFindings, Document, OtherCuts, RuleView};
use bakeoff_results::{AuditResult, FileSystem};
use serde_json::json;

use super::{Sample, changed, with};

/// The sample run, its engines compared at strict, and one of them with a broken promise.
pub fn broken(keep: &str, example: &str) -> Document {
    broken_among(Sample::default(), keep, example)
}

/// The same of a sample with other engines: a cut of sqlite at strict found less than was promised, by one of two
/// rules.
pub fn broken_among(sample: Sample, keep: &str, example: &str) -> Document {
    let factors = vec![("durability", vec!["strict", "none"]), ("clients", vec!["1"])];
    let torn = AuditResult {
        lost: 2,
        oldest_lost_s: Some(0.25),
        torn: 1,
        recovery_s: Some(0.004),
        examples: vec![example.into()],
        ..AuditResult::default()
    };
    let rule = |keep: &str| RuleView { keep: keep.into(), cuts: 1, ..RuleView::default() };
    let torn_rule = RuleView {
        broken: 1,
        lost: CutFindings { cuts: 1, most: 2 },
        oldest_lost_s: Some(0.25),
        torn: CutFindings { cuts: 1, most: 1 },
        example: Some(example.into()),
        repeat: Some(3),
        ..rule(keep)
    };
    with(
        Sample { factors, ..sample }.document(),
        json!({
            "cuts": [{
                "engine": "sqlite", "durability": "strict", "file_system": "ext4", "promised": "everything",
                "clients": 4, "number": 3, "seed": 1, "moment": "within sync 2", "ran_s": 0.5, "acknowledged": 9,
                "failed": null,
                "judged": [
                    { "keep": "prefix", "again": null, "verdict": AuditResult::default(), "image": null },
                    { "keep": keep, "again": null, "verdict": torn, "image": null },
                ],
            }],
            "promises": [{
                "engine": "sqlite", "durability": "strict", "file_system": "ext4", "promised": "everything",
                "kept": false, "cuts": 1, "broken": 1, "failed": 0, "recovery_median_s": 0.004,
                "recovery_max_s": 0.004, "rules": [RuleView { intact: 1, ..rule("prefix") }, torn_rule],
            }],
            "run/cuts": {
                "planned": 1, "disk": "ssd-sata", "clients": 4, "file_systems": ["ext4"],
                "command": "bakeoff run power-cut --seed 1",
            },
        }),
    )
}

/// The same, found by another run's cuts.
pub fn by_another() -> Document {
    changed(broken("torn", "client 1: 3 is torn"), |it| {
        it.other_cuts = vec![OtherCuts {
            folder: "cuts-of-july".into(),
            plan: it.run.run.cuts.take(),
            promise: it.promises.remove(0),
            cuts: std::mem::take(&mut it.cuts),
            differences: vec!["cache is 1M there, and 2M here".into()],
        }];
    })
}

/// The same promise, which was kept, by one rule.
pub fn kept() -> Document {
    let mut document = broken("torn", "x");
    document.promises[0].rules.truncate(1);
    with(document, json!({ "promises/0/kept": true, "promises/0/broken": 0 }))
}

/// The same, in cuts of which clients committed 84 times a second and lost so many.
pub fn lost(most: u64) -> Document {
    with(
        kept(),
        json!({
            "cuts/0/acknowledged": 840, "cuts/0/ran_s": 10.0, "cuts/0/judged/*/verdict/torn": 0,
            "cuts/0/judged/1/verdict/lost": most,
        }),
    )
}

/// A run of power cuts in which nothing was timed.
pub fn cuts_alone(document: Document) -> Document {
    with(document, json!({ "trials": [], "cells": [], "comparisons": [], "run/planned": 0 }))
}

/// A document whose cut was one at every moment, and broke so many images.
pub fn every(document: Document, broken: u64) -> Document {
    let rule = |keep: &str, broken: u64| {
        let first = json!({ "moment": 812, "during": "inside a sync of db", "seed": 7 });
        json!({
            "keep": keep, "distinct": 15_000, "judged": 9_000, "lost": 4, "broken": broken,
            "first": Some(first).filter(|_| broken > 0),
        })
    };
    with(
        document,
        json!({ "cuts/0/every": {
        "writes": 3000, "syncs": 1000, "names": 1, "moments": 4500, "drawn": 58_500, "distinct": 31_234,
        "budget": 20_000, "judged": 20_000, "broken": broken, "unconfirmed": 2, "took_s": 90.0,
        "rules": [rule("prefix", 0), rule("torn", broken)],
    } }),
    )
}

/// The same promise tried on both file systems, and broken on posix alone.
pub fn on_both() -> Document {
    let mut document = broken("torn", "x");
    let mut sound = document.promises[0].clone();
    (sound.kept, sound.broken) = (Some(true), 0);
    for rule in &mut sound.rules {
        *rule = RuleView { intact: 1, cuts: 1, keep: rule.keep.clone(), ..RuleView::default() };
    }
    let mut whole = document.cuts[0].clone();
    whole.judged.iter_mut().for_each(|judged| judged.verdict = AuditResult::default());
    document.promises[0].file_system = FileSystem::Posix;
    document.cuts[0].file_system = FileSystem::Posix;
    document.promises.insert(0, sound);
    document.cuts.insert(0, whole);
    let plan = document.run.run.cuts.as_mut().unwrap();
    plan.file_systems = vec![FileSystem::Ext4, FileSystem::Posix];
    document
}
