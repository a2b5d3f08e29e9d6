//! The answer of a run, case by case: what each says is kept among the pieces of the first screen.

use bakeoff_analysis::{Comparison, Document};
use bakeoff_report::verdict;
use bakeoff_results::{FigureOfMerit, Levels};
use serde_json::{Value, json};

use crate::sample::broken::{broken, broken_among, by_another, cuts_alone, every, kept, on_both};
use crate::sample::conditions::looked_at;
use crate::sample::cut_off::{cut_off, cut_rates_off};
use crate::sample::limits;
use crate::sample::machines::{alone, apart, merged};
use crate::sample::rate::rate;
use crate::sample::{
    Sample, by_factor, changed, fail, files, on_a_disk, open, plausible, promises, single, sweep,
    three, with,
};
use crate::snapshots::Piece;

type Case = (&'static str, Document);

/// Each case and its sentence.
pub fn pieces() -> Vec<Piece> {
    cases().iter().map(|(name, document)| Piece::new(*name, verdict(document))).collect()
}

/// Runs of all kinds, each of which is told in words of its own.
pub fn cases() -> Vec<Case> {
    let all = [one_comparison(), several(), dependences(), other_factors(), by_promise()];
    let others = [nothing(), bounds(), caveats(), failures(), conditions(), rates(), searches()];
    let rest = [machines(), disks(), power_cuts(), losses()];
    all.into_iter().chain(others).chain(rest).flatten().collect()
}

/// The one comparison with another word.
pub fn judged(verdict: &str) -> Document {
    with(single().document(), json!({ "comparisons/0/verdict": verdict }))
}

fn one_comparison() -> Vec<Case> {
    let single_of = |engines| Sample { engines, ..single() }.document();
    let close = |half_width| {
        let mean =
            |_: &str, levels: &Levels| if levels["engine"] == "lmdb" { 0.0098 } else { 0.010 };
        Sample { mean, half_width, ..single() }.document()
    };
    let alias = changed(single().document(), |it| {
        let mut again = it.trials[0].clone();
        again.levels.insert("engine".into(), "sqlite@again".into());
        it.trials.push(again);
        it.run.run.factors[0].1.push("sqlite@again".into());
    });
    let wide = json!({ "comparisons/0/low": 7.5e-5, "comparisons/0/high": 7.3e5 });
    let all = vec![
        ("a clear winner", single().document()),
        ("the baseline wins", single_of(vec!["lmdb", "sqlite"])),
        ("an alias is no level", alias),
        ("the harness never wins", single_of(vec!["sqlite", "null", "lmdb"])),
        ("one engine beside the harness", single_of(vec!["null", "sqlite"])),
        ("the harness alone", single_of(vec!["null"])),
        ("wide intervals", close(0.2)),
        ("narrow intervals", close(0.01)),
        ("one block", Sample { blocks: 1, ..single() }.document()),
    ];
    let words = ["spiky", "within-noise", "short-of-processors", "too-few", "never-steady", "void"];
    let words = words.map(|word| (word, judged(word)));
    let wide = ("an interval that is too wide to be told", with(judged("undecided"), wide));
    all.into_iter().chain(words).chain([wide]).collect()
}

fn several() -> Vec<Case> {
    let winner = Sample {
        mean: |operation, levels| {
            let clients: f64 = levels["clients"].parse().unwrap();
            let slow = if operation == "create_issue" { 2.0 } else { 3.0 };
            if levels["engine"] == "lmdb" { 0.005 } else { 0.005 * slow * clients.sqrt() }
        },
        ..Sample::default()
    };
    let most = Sample {
        mean: |operation, levels| {
            let even = levels["clients"] == "4" && operation == "create_issue";
            if levels["engine"] == "lmdb" && !even { 0.005 } else { 0.010 }
        },
        ..Sample::default()
    };
    // Of the first three.
    let some = |word: &str| with(winner.document(), json!({ "comparisons/..3/verdict": word }));
    // The words of the faster two, and of fjall against the baseline.
    let of_three = |between: &str, against: &str| {
        let mean = |_: &str, levels: &Levels| match levels["engine"].as_str() {
            "lmdb" => 0.004,
            "fjall" => 0.005,
            _ => 0.010,
        };
        let sample = Sample { engines: vec!["sqlite", "lmdb", "fjall"], mean, ..single() };
        let words =
            json!({ "between/0/verdict": between, "comparisons/level=fjall/verdict": against });
        with(sample.document(), words)
    };
    let no_pair = with(of_three("undecided", "slower"), json!({ "between": [] }));
    let many = Sample { engines: vec!["sqlite", "lmdb", "fjall", "a", "b", "c", "d"], ..single() };
    vec![
        ("two others go by their own pairs", of_three("slower", "slower")),
        ("two others undecided", of_three("undecided", "faster")),
        ("a third that may be the second", of_three("undecided", "undecided")),
        ("a third short of processors", of_three("undecided", "short-of-processors")),
        ("two others without a pair", no_pair),
        ("more than three others", many.document()),
        ("the least and the greatest lead", winner.document()),
        ("a winner of most", most.document()),
        ("some are spiky", some("spiky")),
        ("some have too few operations", some("too-few")),
        ("some were never steady", some("never-steady")),
        ("some are void", some("void")),
        ("some are even", some("same")),
        ("some are short of processors", some("short-of-processors")),
        ("all are void", with(winner.document(), json!({ "comparisons/*/verdict": "void" }))),
    ]
}

/// Slow where this is so for lmdb, and where it is not for the others.
fn turned(operations: &[&'static str], mean: fn(&str, &Levels) -> f64) -> Document {
    Sample { operations: operations.to_vec(), mean, ..Sample::default() }.document()
}

fn dependences() -> Vec<Case> {
    let on_neighbours = |_: &str, levels: &Levels| {
        let busy = levels["neighbours"] == "x2";
        if (levels["engine"] == "lmdb") == busy { 0.020 } else { 0.010 }
    };
    let in_most = |operation: &str, levels: &Levels| {
        let busy = levels["neighbours"] == "x2";
        let even = operation == "create_issue" && levels["clients"] == "4";
        if even || (levels["engine"] == "lmdb") == busy { 0.020 } else { 0.010 }
    };
    let few_wins = |operation: &str, levels: &Levels| {
        let lmdb = levels["engine"] == "lmdb";
        match (operation, levels["clients"].as_str(), levels["neighbours"].as_str()) {
            ("create_issue", "1", "0") if lmdb => 0.005,
            ("create_issue", "4", "x2") if lmdb => 0.030,
            ("process_issues", "4", "x2") if lmdb => 0.020,
            _ => 0.010,
        }
    };
    let on_operation = |operation: &str, levels: &Levels| {
        let create = operation == "create_issue";
        if (levels["engine"] == "lmdb") == create { 0.010 } else { 0.020 }
    };
    let on_both = |_: &str, levels: &Levels| {
        let odd = (levels["neighbours"] == "x2") != (levels["clients"] == "4");
        if (levels["engine"] == "lmdb") == odd { 0.020 } else { 0.010 }
    };
    let [both, create] = [&["create_issue", "process_issues"][..], &["create_issue"]];
    // Where cells are missing, two factors can explain the same wins.
    let either = changed(turned(create, on_neighbours), |it| {
        let kept = |levels: &Levels| (levels["clients"] == "4") == (levels["neighbours"] == "x2");
        it.trials.retain(|trial| kept(&trial.levels));
        it.cells.retain(|cell| kept(&cell.levels));
        it.comparisons.retain(|comparison| kept(&comparison.levels));
    });
    vec![
        ("it depends on a factor", turned(both, on_neighbours)),
        ("it depends on a factor in most comparisons", turned(both, in_most)),
        ("a few wins are no rule", turned(both, few_wins)),
        ("two factors that explain the same are no rule", either),
        ("it depends on the operation", turned(both, on_operation)),
        ("it depends on two factors together", turned(create, on_both)),
        ("it depends on a numeric factor", sweep::crossing()),
        ("a numeric factor with what was not run", sweep::eventful()),
    ]
}

fn other_factors() -> Vec<Case> {
    let steps = |engines, half_width, mean| {
        let factors = vec![("clients", vec!["1", "4"])];
        let sample = Sample {
            engines,
            factors,
            operations: vec!["page"],
            mean,
            half_width,
            ..Sample::default()
        };
        by_factor(sample.document(), "step", &[])
    };
    let faster =
        |_: &str, levels: &Levels| match (levels["engine"].as_str(), levels["clients"].as_str()) {
            ("read", "1") => 0.010 / 1.02,
            ("read", _) => 0.010 / 2.0,
            ("stub", "1") => 0.010 / 4.0,
            ("stub", _) => 0.010 / 8.0,
            _ => 0.010,
        };
    let round = |_: &str, levels: &Levels| {
        if (levels["engine"] == "big") == (levels["clients"] == "4") { 0.010 } else { 0.020 }
    };
    let slower = |_: &str, levels: &Levels| if levels["engine"] == "big" { 0.03 } else { 0.02 };
    let of = |factor, names: &[(&str, &str)]| by_factor(single().document(), factor, names);
    vec![
        ("each level against the first", steps(vec!["whole", "read", "stub"], 0.1, faster)),
        ("a factor turns a level round", steps(vec!["small", "big"], 0.1, round)),
        ("a slower level, and an even one", steps(vec!["small", "big", "huge"], 0.01, slower)),
        ("levels of durability", of("durability", &[("sqlite", "strict"), ("lmdb", "relaxed")])),
        ("disks", of("disk", &[("sqlite", "hdd-7200"), ("lmdb", "host")])),
        ("disks under files", files()),
    ]
}

/// lmdb is faster, in one operation by more.
pub fn unlike_in_one(operation: &str, levels: &Levels) -> f64 {
    let more = if operation == "create_issue" { 1.5 } else { 1.0 };
    if levels["engine"] == "lmdb" { 0.005 } else { 0.010 * more }
}

/// What keeping every commit means, in one operation or several.
fn by_promise() -> Vec<Case> {
    let strict = vec![("durability", vec!["strict"])];
    let of = |operations: &[&'static str]| Sample { operations: operations.to_vec(), ..promises() };
    let unlike_of = |operations| Sample { mean: unlike_in_one, ..of(operations) }.document();
    let both = ["create_issue", "process_issues"];
    let partly = |word: &str| {
        with(unlike_of(&both), json!({ "comparisons/operation=create_issue/verdict": word }))
    };
    let open = json!({
        "comparisons/*/verdict": "undecided", "comparisons/*/low": 0.97, "comparisons/*/high": 1.6,
    });
    vec![
        ("a sentence for each promise", promises().document()),
        ("a promise that does not vary", Sample { factors: strict, ..promises() }.document()),
        ("a lead in one operation, the other short of processors", partly("short-of-processors")),
        ("a lead in one operation, the other undecided", partly("undecided")),
        ("one figure of two operations", of(&both).document()),
        (
            "one figure of three operations",
            of(&["create_issue", "process_issues", "sum"]).document(),
        ),
        ("two operations one by one", unlike_of(&both)),
        (
            "from the least to the most",
            unlike_of(&["create_issue", "process_issues", "sum", "transact"]),
        ),
        ("a range of times leaves it open", with(promises().document(), open)),
    ]
}

/// Nothing to compare.
fn nothing() -> Vec<Case> {
    let none = |document, and: Value| {
        with(with(document, json!({ "comparisons": [], "between": [] })), and)
    };
    let not_ended = json!({ "trials": [], "cells": [], "run/status": "interrupted" });
    let failed = |engines: &[&str]| {
        changed(single().document(), |it| {
            engines.iter().for_each(|engine| fail(it, engine, "it crashed"));
        })
    };
    let other_work = Sample { operations: vec!["read", "write"], ..single() }.document();
    let other_work = changed(none(other_work, json!({})), |it| {
        let own = |levels: &Levels| if levels["engine"] == "lmdb" { "read" } else { "write" };
        it.cells
            .iter_mut()
            .for_each(|cell| cell.operations.retain(|it| it.name == own(&cell.levels)));
    });
    let behind = changed(none(single().document(), json!({})), |it| open(it, "sqlite"));
    vec![
        ("no trial has ended", none(single().document(), not_ended)),
        ("no trial counts", failed(&["sqlite", "lmdb"])),
        ("one level was run", Sample { engines: vec!["sqlite"], ..single() }.document()),
        ("one level has trials that count", failed(&["sqlite"])),
        ("no operation in common", other_work),
        ("no trials in the same block", none(single().document(), json!({}))),
        ("no two levels kept up", behind),
    ]
}

/// Operations were still running when their trials were cut off.
fn bounds() -> Vec<Case> {
    let cut = |sample: Sample, engine: &str| changed(sample.document(), |it| cut_off(it, engine));
    let sample = Sample {
        mean: |_, levels| {
            let slow = if levels["clients"] == "4" { 5.0 } else { 2.0 };
            if levels["engine"] == "lmdb" { 0.005 } else { 0.005 * slow }
        },
        ..Sample::default()
    };
    let few = |document| with(document, json!({ "comparisons/*/verdict": "too-few" }));
    let many = Sample { engines: vec!["sqlite", "lmdb", "fjall", "null"], ..plausible() };
    let many = changed(cut(many, "fjall"), |it| {
        let has_fjall = |it: &&mut Comparison| it.level == "fjall" || it.baseline == "fjall";
        let of_four = it.comparisons.iter_mut().chain(&mut it.between).filter(has_fjall);
        for it in of_four.filter(|it| it.levels["clients"] == "4") {
            (it.fewest_operations, it.verdict) = (Some(11), bakeoff_analysis::Verdict::TooFew);
        }
    });
    vec![
        ("a bound loses", cut(single(), "sqlite")),
        ("a bound of too few operations", few(cut(single(), "sqlite"))),
        ("the slowest of several bounds", few(cut(sample, "sqlite"))),
        ("bounds on both sides", changed(cut(single(), "sqlite"), |it| cut_off(it, "lmdb"))),
        (
            "a bound of one level alone",
            cut(Sample { engines: vec!["sqlite"], ..single() }, "sqlite"),
        ),
        ("bounds of one among many", many),
    ]
}

/// What the comparisons would be if other trials counted.
pub fn otherwise(ratio: f64, verdict: &str) -> Value {
    json!({ "ratio": ratio, "low": null, "high": null, "pairs": 5, "verdict": verdict })
}

fn caveats() -> Vec<Case> {
    let of = |changes| with(Sample::default().document(), changes);
    let held_back = |number: usize, p: f64| {
        let [verdict, p_adjusted] =
            ["verdict", "p_adjusted"].map(|it| format!("comparisons/..{number}/{it}"));
        of(json!({ verdict: "undecided", p_adjusted: p }))
    };
    let null = Sample { engines: vec!["sqlite", "lmdb", "null"], ..Sample::default() };
    let null = with(
        null.document(),
        json!({
            "comparisons/level=null/verdict": "undecided", "comparisons/level=null/p_adjusted": 0.07,
            "comparisons/level=null/low": 1e-4, "comparisons/level=null/high": 1e-3,
        }),
    );
    let fresh = Sample { factors: vec![("durability", vec!["relaxed", "strict"])], ..three() };
    let fresh = with(
        fresh.document(),
        json!({
            "cells/engine=sqlite/debt/fresh": true, "cells/1/debt/fresh": true, "cells/engine=fjall/debt/fresh": null,
        }),
    );
    let warm = |ratio, word| {
        with(single().document(), json!({ "comparisons/0/with_warm_up": otherwise(ratio, word) }))
    };
    let aside = of(json!({ "comparisons/*/with_set_aside": otherwise(0.1, "faster") }));
    let behind = |level: &str| changed(Sample::default().document(), |it| open(it, level));
    // A limit of each kind that no trial came near.
    let unreached = json!([
        { "limit": "memory", "level": "64M", "peaks": { "sqlite": 52e6 }, "scale": null },
        { "limit": "memory", "level": "1G", "peaks": { "": 52e6 }, "scale": "giant" },
        { "limit": "disk-reads", "level": "ssd-sata" },
        { "limit": "disk-reads", "level": "hdd-7200" },
        { "limit": "neighbours", "level": "x4" },
        { "limit": "rate", "level": "50/s" },
        { "limit": "one-client-on-array", "level": "raid10:8×hdd-7200" },
    ]);
    vec![
        ("one difference is held back", held_back(1, 0.07)),
        ("three differences are held back", held_back(3, 0.07)),
        ("those of the harness are in no sentence", null),
        ("undecided for another reason", held_back(3, 0.01)),
        ("differences below the noise", of(json!({ "comparisons/..2/verdict": "within-noise" }))),
        ("who did not keep up", behind("sqlite")),
        ("all kept up", behind("nobody")),
        ("figures of a fresh database", fresh),
        ("the warm-up would change a ratio", warm(0.2, "faster")),
        ("the warm-up would change a word", warm(0.5, "undecided")),
        ("trials that were set aside would change ratios", aside),
        (
            "limits that were never reached",
            with(single().document(), json!({ "unreached": unreached })),
        ),
    ]
}

/// Trials and operations that failed, and runs that did not end.
fn failures() -> Vec<Case> {
    let of = |change: &dyn Fn(&mut Document)| changed(single().document(), change);
    let set_aside = |it: &mut Document| {
        let mut aside = it.trials[0].clone();
        (aside.valid, aside.reason) = (false, Some("the run was interrupted".into()));
        it.trials.iter_mut().filter(|it| it.block == 0).for_each(|trial| trial.attempt = 1);
        it.trials.insert(0, aside);
    };
    let missing = with(of(&set_aside), json!({ "trials/1/valid": false }));
    let said = bakeoff_results::operations_failed(
        2,
        "create_issue",
        "Input/output error (os error 5)\nmore",
    );
    let error = with(
        single().document(),
        json!({
            "trials/3/operations/0/errors": 2, "trials/3/warnings": ["2 of something else", said],
        }),
    );
    let again = changed(error.clone(), |it| {
        let again = it.trials[2..4].to_vec();
        it.trials[2..4].iter_mut().for_each(|trial| trial.valid = false);
        it.trials.extend(again);
        it.trials[10..]
            .iter_mut()
            .for_each(|trial| (trial.attempt, trial.warnings) = (1, Vec::new()));
    });
    let stopped = |status: &str| {
        let document = of(&|it| it.trials.truncate(7));
        with(document, json!({ "run/status": status }))
    };
    let failed = Sample { engines: vec!["sqlite", "lmdb", "fjall"], ..single() }.document();
    vec![
        ("failed trials", changed(failed, |it| fail(it, "fjall", "it crashed"))),
        ("an operation that failed", error),
        ("a block that was run again", again),
        ("a trial that was set aside", of(&set_aside)),
        ("one that is missing all the same", missing),
        ("an error that says much", of(&|it| fail(it, "sqlite", &"it crashed. ".repeat(40)))),
        ("interrupted", stopped("interrupted")),
        ("not finished", stopped("unfinished")),
    ]
}

/// Runs that go on until each condition is decided.
fn conditions() -> Vec<Case> {
    let ended = |first: &str, second: &str| {
        with(looked_at(), json!({ "conditions/0/state": first, "conditions/1/state": second }))
    };
    let more = changed(ended("max-time", "decided"), |it| {
        it.conditions.extend([0; 3].map(|_| it.conditions[0].clone()));
    });
    let one_pair = changed(looked_at(), |it| {
        let is_it =
            |it: &&mut Comparison| it.levels["durability"] == "strict" && it.level == "lmdb";
        let pair = it.comparisons.iter_mut().filter(is_it);
        pair.for_each(|it| it.verdict = bakeoff_analysis::Verdict::Undecided);
    });
    let interrupted = with(ended("decided", "decided"), json!({ "run/status": "interrupted" }));
    vec![
        ("the time of one condition was over", looked_at()),
        ("one pair of it is open", one_pair),
        ("two conditions for two reasons", ended("out-of-reach", "max-time")),
        ("all for one reason", ended("max-time", "max-time")),
        ("the most repetitions", ended("decided", "max-repetitions")),
        ("more conditions than are named", more),
        ("interrupted between looks", interrupted),
    ]
}

fn rates() -> Vec<Case> {
    use FigureOfMerit::{Megabytes, Operations, Requests, Rows};
    let one = || Sample { factors: vec![("clients", vec!["1"])], ..three() }.document();
    let open_loop =
        changed(with(one(), json!({ "run/figure_of_merit": "rows" })), |it| open(it, "fjall"));
    let mut nothing = json!({ "cells/*/total/typical/rows_per_second": null });
    for list in ["comparisons", "between"] {
        for key in ["ratio", "ratio_is", "low", "high"] {
            nothing[format!("{list}/*/{key}")] = Value::Null;
        }
        nothing[format!("{list}/*/blocks")] = 0.into();
        nothing[format!("{list}/*/verdict")] = "undecided".into();
    }
    let single_of = |merit, changes| with(rate(single().document(), merit), changes);
    let alone = Sample { engines: vec!["sqlite"], ..single() }.document();
    let crossing = changed(rate(sweep::crossing(), Rows), |it| {
        it.sweep = bakeoff_analysis::build_sweep(it);
    });
    // Of a rate the JSON tells how many times as many.
    let warm = json!({ "comparisons/0/with_warm_up": otherwise(5.0, "faster") });
    vec![
        ("rows a second", rate(one(), Rows)),
        ("megabytes a second, cut off", cut_rates_off(rate(one(), Megabytes), "fjall")),
        (
            "a rate that is undecided",
            single_of(Operations, json!({ "comparisons/0/verdict": "undecided" })),
        ),
        ("a rate of one level", rate(alone, Requests)),
        ("a rate in several cells", rate(Sample::default().document(), Rows)),
        ("rates of three engines in many cells", rate(plausible().document(), Rows)),
        ("a rate that depends on a numeric factor", crossing),
        ("the warm-up would change a rate", single_of(Rows, warm)),
        ("an open loop is compared by times", open_loop),
        ("rates that were not counted", with(rate(one(), Rows), nothing)),
    ]
}

fn searches() -> Vec<Case> {
    let found = |rates: &[f64]| {
        changed(limits::document(), |it| {
            let each = rates.iter().map(|rate| {
                let mut found = it.limits[0].clone();
                found.keeps_per_second = Some(*rate);
                found
            });
            it.limits = each.collect();
        })
    };
    let open = json!({ "limits/1/outcome": "not-over", "limits/2/outcome": "not-over" });
    vec![
        ("one of two searches found a rate", limits::document()),
        ("two rates", found(&[20.0, 700.0])),
        ("more rates than are told", found(&[3_000.0, 20.0, 700.0, 150.0, 41.0])),
        ("two of three searches are not over", with(found(&[20.0, 30.0, 40.0]), open)),
        (
            "no search found a rate",
            with(limits::document(), json!({ "limits/*/outcome": "no-rate" })),
        ),
    ]
}

fn machines() -> Vec<Case> {
    let of_rows = rate(single().document(), FigureOfMerit::Rows);
    let one_machine = changed(merged(), |it| {
        let ratios = &mut it.machines.as_mut().expect("machines").ratios;
        ratios.iter_mut().for_each(|ratio| ratio.on.truncate(1));
    });
    vec![
        ("machines disagree", alone(&[0.5, 0.2, 1.25], true)),
        ("machines lie far apart", alone(&[0.5, 0.2, 1.25], false)),
        ("machines lie near each other", alone(&[0.5, 0.45, 0.55], false)),
        ("machines disagree on a rate", apart(of_rows, &[0.5, 0.2, 1.25], true)),
        ("machines disagree on one of several", merged()),
        ("one machine alone has a ratio", one_machine),
    ]
}

/// Runs on simulated disks, on one of which the order turns.
fn disks() -> Vec<Case> {
    let on = |disks: Vec<&'static str>| {
        let factors = vec![("disk", disks), ("clients", vec!["1"])];
        Sample { factors, ..Sample::default() }.document()
    };
    vec![
        ("a simulated disk", on_a_disk()),
        ("its order turns above", with(on_a_disk(), json!({ "flush_turns/0/turn_s": 0.0345 }))),
        ("one that an older bakeoff recorded", on(vec!["ssd-sata"])),
        ("this machine’s own disk", on(vec!["host"])),
        ("more disks than are named", on(vec!["host", "a", "b", "c", "d"])),
    ]
}

fn power_cuts() -> Vec<Case> {
    // The fastest one broke its promise.
    let sample = Sample { engines: vec!["sqlite", "lmdb", "fjall"], ..Sample::default() };
    let fastest = with(
        broken_among(sample, "torn", "x"),
        json!({
            "promises/0/engine": "lmdb", "cuts/0/engine": "lmdb",
        }),
    );
    let fastest = changed(fastest, Document::judge_promises);
    let one_kept_it =
        json!({ "cells/1/broken_promise": "not-synced", "cells/2/broken_promise": "not-synced" });
    let one_kept_it = changed(with(fastest.clone(), one_kept_it), Document::judge_promises);
    let torn = || broken("torn", "x");
    let two = changed(torn(), |it| {
        it.cuts.push(it.cuts[0].clone());
        it.promises.push(it.promises[0].clone());
    });
    let two = with(two, json!({ "cuts/1/durability": "none", "promises/1/durability": "none" }));
    let left_out = json!({ "run/left_out": [{
        "levels": { "engine": "tarantool:memtx", "durability": "strict" },
        "why": "it can't be had", "trials": 5, "cuts": 0,
    }] });
    let stopped = with(torn(), json!({ "run/status": "interrupted", "run/cuts/planned": 20 }));
    vec![
        ("a broken promise", torn()),
        ("broken by another run’s cuts", by_another()),
        ("broken on one of two file systems", on_both()),
        ("broken at two levels", two),
        ("broken in images of every moment", every(torn(), 3)),
        ("the fastest broke its promise", fastest),
        ("one alone kept its promise", one_kept_it),
        ("an engine that does not give the level", with(torn(), left_out)),
        ("interrupted while the power was cut", stopped.clone()),
        ("power cuts alone", cuts_alone(torn())),
        ("power cuts alone, interrupted", cuts_alone(stopped)),
    ]
}

/// What was lost within promises, which were kept.
fn losses() -> Vec<Case> {
    let relaxed = || {
        let whole = json!({ "whole": { "window_s": 1.5, "most_lost": null } });
        with(kept(), json!({ "promises/0/durability": "relaxed", "promises/0/promised": whole }))
    };
    let lost = |most: u64| {
        let changes = json!({
            "promises/0/rules/0/lost": { "cuts": 1, "most": most }, "promises/0/rules/0/oldest_lost_s": 0.97,
        });
        with(relaxed(), changes)
    };
    let two = |document, changes| {
        with(
            changed(document, |it: &mut Document| it.promises.push(it.promises[0].clone())),
            changes,
        )
    };
    let other = json!({
        "promises/1/engine": "lmdb", "promises/1/rules/0/lost/most": 7, "promises/1/rules/0/oldest_lost_s": 0.99,
    });
    let not_tried = json!({
        "promises/1/durability": "none", "promises/1/kept": null, "promises/1/cuts": 0, "promises/1/failed": 1,
    });
    let of_every = |lost: u64| {
        let changes = json!({ "cuts/0/durability": "relaxed", "cuts/0/every/rules/*/lost": lost });
        with(every(relaxed(), 0), changes)
    };
    vec![
        ("a kept promise", kept()),
        ("a kept promise on posix", with(kept(), json!({ "promises/0/file_system": "posix" }))),
        ("a level that could not be tried", two(kept(), not_tried)),
        ("nothing was lost", relaxed()),
        ("one engine lost some", lost(81)),
        ("one commit was lost", lost(1)),
        ("one of two lost the most", two(lost(81), other)),
        ("two promises of one engine", two(lost(81), json!({ "promises/1/durability": "strict" }))),
        ("every moment lost some", of_every(4)),
        ("every moment lost nothing", of_every(0)),
    ]
}
