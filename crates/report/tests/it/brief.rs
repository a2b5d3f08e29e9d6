//! The answer that a terminal shows: 25 lines with the report's path, whatever the run.

use std::collections::BTreeSet;

use bakeoff_analysis::Document;
use bakeoff_report::{Options, render, verdict};
use bakeoff_results::FigureOfMerit;
use serde_json::{Value, json};

use crate::sample::{
    Sample, broken, files, limits, machines, over_time, plausible, promises, rate, sweep, with,
};

/// The command adds one: where the report is.
const LINES: usize = 24;

fn documents() -> Vec<(&'static str, Document)> {
    let long = vec!["postgres://somebody@a-host-with-a-long-name.example/bench", "sqlite"];
    let many =
        vec!["sqlite", "lmdb", "fjall", "postgres", "mariadb:innodb", "mariadb:rocksdb", "a", "b"];
    let conditions = vec![
        ("durability", vec!["relaxed", "strict"]),
        ("clients", vec!["1", "2", "4", "8"]),
        ("neighbours", vec!["0", "25%", "x1", "x2", "x4"]),
    ];
    let nothing = json!({"trials/*/valid": false, "cells": [], "comparisons": [], "between": []});
    vec![
        ("plausible", plausible().document()),
        ("promises", promises().document()),
        ("cuts", broken::broken("torn", "client 1: 3 is torn")),
        ("files", files()),
        ("limits", limits::document()),
        ("machines", machines::merged()),
        ("sweep", sweep::crossing()),
        ("rate", rate::rate(plausible().document(), FigureOfMerit::Rows)),
        ("nine minutes", over_time::over_time(270)),
        ("long names", Sample { engines: long, ..plausible() }.document()),
        ("eight engines", Sample { engines: many, ..plausible() }.document()),
        ("conditions", Sample { factors: conditions, ..plausible() }.document()),
        ("nothing counts", with(plausible().document(), nothing)),
    ]
}

fn brief(document: &Document, width: usize, unicode: bool) -> String {
    let options = Options { width, unicode, ..Options::default() };
    render(document, "brief", &options).expect("an answer")
}

#[test]
fn an_answer_has_25_lines_at_most_and_no_line_is_too_wide() {
    for (name, document) in documents() {
        for (width, unicode) in [(80, true), (80, false), (40, true), (132, true)] {
            let text = brief(&document, width, unicode);
            let (lines, most) =
                (text.lines().count(), text.lines().map(|it| it.chars().count()).max());
            assert!((3..=LINES).contains(&lines), "{name} at {width}: {lines} lines\n{text}");
            assert!(most.is_some_and(|most| most <= width), "{name} at {width}: {most:?}\n{text}");
        }
    }
}

/// One long word may be broken at the width, so the first words are looked for.
#[test]
fn it_has_the_question_the_disk_the_verdict_and_how_sure_it_is() {
    for (name, document) in documents() {
        let text = brief(&document, 80, true).replace('\n', " ");
        let is_there = |what: &str| {
            let head: String = what.chars().take(40).collect();
            assert!(text.contains(&head), "{name} should say {what}\n{text}");
        };
        is_there(&document.run.run.title);
        if document.run.run.limit.is_none() && !document.comparisons.is_empty() {
            let on = bakeoff_report::render(&document, "json", &Options::default()).expect("JSON");
            let on: Value = serde_json::from_str(&on).expect("JSON");
            let sentence = on["answer"]["sentences"][0].as_str().unwrap_or_default();
            is_there(if sentence.is_empty() { "" } else { sentence });
            assert!(text.contains("confidence: "), "{name}: {text}");
        }
        assert!(!verdict(&document).is_empty(), "{name}");
    }
}

/// A finding as data says what its sentence says, and has the figures of the comparisons.
#[test]
fn findings_in_json_are_the_sentences_as_data() {
    let mut words = BTreeSet::new();
    let open = Sample { half_width: 0.9, ..plausible() }.document();
    for (name, document) in documents().into_iter().chain([("open", open)]) {
        let json = bakeoff_report::render(&document, "json", &Options::default()).expect("JSON");
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let list = |of: &Value| of.as_array().cloned().unwrap_or_default();
        let (findings, sentences) =
            (list(&json["answer"]["findings"]), list(&json["answer"]["sentences"]));
        if document.run.run.limit.is_some() {
            assert!(findings.is_empty(), "{name}");
            continue;
        }
        assert_eq!(findings.len(), sentences.len(), "{name}");
        for (finding, sentence) in findings.iter().zip(&sentences) {
            let sentence = sentence.as_str().unwrap();
            let word = finding["finding"].as_str().unwrap();
            words.insert(word.to_owned());
            for level in list(&finding["fastest"]) {
                assert!(sentence.contains(level.as_str().unwrap()), "{name}: {level}: {sentence}");
            }
            let won =
                |case: &Value| case["outcome"] == "won" && case["leader"] == finding["fastest"][0];
            let all_won = list(&finding["cases"]).iter().all(won);
            assert_eq!(all_won && word != "not-compared", word == "fastest", "{name}: {finding}");
            for case in list(&finding["cases"]) {
                let comparisons = [list(&json["comparisons"]), list(&json["between"])].concat();
                let ratio = case["ratio"].as_f64().unwrap();
                let is_it = |it: &Value| {
                    let ends = [&it["baseline"], &it["level"]];
                    let told = it["ratio"].as_f64().unwrap_or(f64::NAN);
                    let is_near = |told: f64| (told / ratio - 1.0).abs() < 1e-9;
                    it["operation"] == case["operation"]
                        && ends.contains(&&case["leader"])
                        && ends.contains(&&case["next"])
                        && (is_near(told) || is_near(1.0 / told))
                };
                assert!(comparisons.iter().any(is_it), "{name}: {case}");
                assert!(ratio >= 1.0 || case["outcome"] != "won", "{name}: {case}");
            }
        }
    }
    let seen = ["depends-on", "fastest", "not-compared", "undecided"];
    assert!(seen.iter().all(|word| words.contains(*word)), "{words:?}");
}

#[test]
fn it_ends_with_what_to_do_next() {
    let open = Sample { half_width: 0.9, ..plausible() }.document();
    let text = brief(&open, 80, true);
    assert!(text.contains("Next: More repetitions may decide it:\n  bakeoff run"), "{text}");
    let plain = brief(&plausible().document(), 80, true);
    assert!(plain.lines().last().is_some_and(|line| line.contains("--full")), "{plain}");
}

#[test]
fn without_unicode_it_has_none_but_what_names_have() {
    let text = brief(&plausible().document(), 80, false);
    assert!(!text.contains(['●', '■', '─', '…']), "{text}");
}
