//! The first screen: the answer and how sure it is, the chart, and the questions that come next.

use bakeoff_analysis::{Document, Warning, WarningKind};
use bakeoff_report::{Options, render};
use bakeoff_results::measure::{COMMITS, PAYLOAD, RETURNED};
use bakeoff_results::{AuditResult, FigureOfMerit, Levels, Scope};
use serde_json::json;

use crate::cuts::of_disks;
use crate::machines::shard;
use crate::reading::{between, of_width, read_json, section, text, words};
use crate::sample::broken::{broken, by_another, cuts_alone, every, kept, lost, on_both};
use crate::sample::conditions::looked_at;
use crate::sample::cut_off::{cut_off, cut_rates_off};
use crate::sample::machines::{apart, merged};
use crate::sample::rate::rate;
use crate::sample::{
    Sample, by_factor, changed, fail, files, limits, noise, on_a_disk, open, plausible, promises,
    single, three, with,
};
use crate::sections::small;
use crate::sentences::{judged, unlike_in_one};
use crate::snapshots::{Piece, set_out};

const QUESTION: &str = "What would decide it?";
const COMMAND: &str = "bakeoff run redmine --engine sqlite,lmdb --clients 1,4 --seed 42";

/// The first screen without its answer, which is among the sentences.
fn below(name: &str, format: &str, document: &Document) -> Piece {
    let options = Options { color: true, ..Options::default() };
    let text = section(document, format, "", &options);
    let name = format!("{name}: {format}");
    if format == "html" {
        let (facts, rest) = text.split_once("<div class=\"answer\">").expect("an answer");
        let (_, rest) = rest.split_once("</aside>\n</div>\n").unwrap_or(("", rest));
        return Piece::new(name, set_out(&format!("{facts}{rest}")));
    }
    let sure = ["Low", "Fair", "High"].map(|it| format!("{it} confidence: "));
    let is_sure = |line: &str| sure.iter().any(|it| line.contains(it.as_str()));
    let lines: Vec<&str> = text.lines().take_while(|line| !is_sure(line)).collect();
    Piece::new(name, lines.join("\n"))
}

/// What differs of it from that of two promises, in some formats.
fn unlike(name: &str, formats: &str, document: &Document) -> Vec<Piece> {
    let of = |format| below("", format, &promises().document()).to(below(name, format, document));
    formats.split(' ').map(of).collect()
}

pub fn pieces() -> Vec<Piece> {
    let document = promises().document();
    let json = serde_json::to_string_pretty(&read_json(&document)["answer"]).expect("JSON");
    let whole = |format| Piece::section("whole", "", format, &document);
    [
        vec![whole("term"), whole("html"), whole("md"), Piece::new("whole: json", json)],
        crate::sentences::pieces(),
        answers(),
        charts(),
        facts(),
        losses(),
        questions(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The badge and the sentences as they are set.
fn answers() -> Vec<Piece> {
    let answer = |name: &str, document: &Document| {
        let page = text(document, "html");
        let answer = between(&page, "<div class=\"answer\">", "</aside>");
        Piece::new(format!("as it is set: {name}"), set_out(answer))
    };
    let of = |changes| with(promises().document(), changes);
    let trials = |blocks| Sample { blocks, ..promises() }.document();
    let warned = |kind| {
        let said = "in 3 of 20 trials servers waited, at worst 30 %, at engine lmdb: so";
        changed(promises().document(), |it| it.warnings.push(Warning::new(kind, said)))
    };
    let in_memory = changed(promises().document(), |it| {
        it.warnings.extend(bakeoff_analysis::in_memory(&["tmpfs"], 20, 20));
    });
    let memory =
        by_factor(single().document(), "memory", &[("sqlite", "64M"), ("lmdb", "unlimited")]);
    let unreached =
        json!([{ "limit": "memory", "level": "64M", "peaks": { "": 52e6 }, "scale": null }]);
    let open = |number: usize| {
        let path = format!("comparisons/..{number}/verdict");
        with(Sample::default().document(), json!({ path: "undecided" }))
    };
    vec![
        answer("two trials of each", &trials(2)),
        answer("four trials of each", &trials(4)),
        answer("wide intervals", &Sample { half_width: 0.3, ..promises() }.document()),
        answer("a warning that voids", &warned(WarningKind::ServersWaited)),
        answer("a warning that weakens", &warned(WarningKind::MachineDrifted)),
        answer("a warning that notes", &warned(WarningKind::Retries)),
        answer("data in memory", &in_memory),
        answer("nobody has paid", &of(json!({ "cells/*/debt/fresh": true }))),
        answer("a limit that was never reached", &with(memory, json!({ "unreached": unreached }))),
        answer("a lead is undecided", &judged("undecided")),
        answer("not every lead is decided", &open(1)),
        answer("most leads are undecided", &open(5)),
        answer("a broken promise on the page", &broken("torn", "x")),
        answer("a simulated disk on the page", &on_a_disk()),
        Piece::section("nothing was timed", "", "term", &cuts_alone(broken("torn", "x"))),
        Piece::section("a simulated disk", "", "md", &on_a_disk()),
    ]
}

fn charts() -> Vec<Piece> {
    let several = Sample { engines: vec!["sqlite", "lmdb", "fjall", "null"], ..plausible() };
    let factors =
        vec![("neighbours", vec!["0", "25%", "x1", "x2", "x4"]), ("clients", vec!["1", "4", "8"])];
    let many = Sample { factors, operations: vec!["a", "b", "c", "d", "e"], ..plausible() };
    let unlike_means = |operation: &str, levels: &Levels| match (operation, &*levels["engine"]) {
        ("create_issue", "lmdb") => 0.0176,
        ("create_issue", _) => 0.0180,
        (_, "lmdb") => 0.033,
        _ => 0.032,
    };
    let both = vec!["create_issue", "process_issues"];
    let best_mean = Sample { operations: both.clone(), mean: unlike_means, ..single() };
    let word = |word: &str, p: f64| {
        let changes = json!({ "comparisons/0/verdict": word, "comparisons/0/p_adjusted": p });
        with(promises().document(), changes)
    };
    let partly = |operations| Sample { operations, mean: unlike_in_one, ..promises() }.document();
    let bounds = changed(promises().document(), |it| cut_off(it, "lmdb"));
    let one = Sample { factors: vec![("clients", vec!["1"])], ..three() };
    let [rows, megabytes] =
        [FigureOfMerit::Rows, FigureOfMerit::Megabytes].map(|it| rate(one.document(), it));
    let levels = [("sqlite", "strict"), ("lmdb", "relaxed")];
    let ascii = Options { unicode: false, ..Options::default() };
    let far = |_: &str, levels: &Levels| if levels["engine"] == "lmdb" { 1e-6 } else { 14_400.0 };
    let far = Sample { mean: far, ..promises() };
    let close = Sample { mean: |_, _| 0.010, half_width: 0.01, ..promises() };
    let of_three = |between: &str| {
        let sample = Sample { factors: vec![], operations: vec!["create_issue"], ..three() };
        let words = json!({ "between/0/verdict": between, "comparisons/1/verdict": "undecided" });
        with(sample.document(), words)
    };
    let found = changed(limits::document(), |it| it.limits = vec![it.limits[0].clone(); 5]);
    let found = with(
        found,
        json!({
            "limits/1/outcome": "not-confirmed", "limits/2/outcome": "not-known", "limits/3/outcome": "not-over",
            "limits/4/outcome": "no-rate", "limits/4/keeps_per_second": null,
        }),
    );
    let searches = changed(limits::document(), |it| it.limits = vec![it.limits[0].clone(); 30]);
    let failed = changed(promises().document(), |it| fail(it, "lmdb", "it crashed"));
    let trials = |blocks| Sample { blocks, ..promises() }.document();
    let engines = |engines| Sample { engines, ..promises() }.document();
    let words = ["within-noise", "short-of-processors", "too-few", "spiky", "void"];
    let words = words.map(|it| unlike(&it.replace('-', " "), "term", &word(it, 0.01)));
    vec![
        unlike("one trial of each", "html term", &trials(1)),
        unlike("one engine", "html", &engines(vec!["sqlite"])),
        unlike("three engines", "html", &engines(vec!["sqlite", "lmdb", "fjall"])),
        vec![below("four engines, one of which is the harness", "term", &several.document())],
        unlike("more than there is room for", "term", &many.document()),
        unlike("the best mean over both operations", "md", &best_mean.document()),
        unlike("undecided", "term", &word("undecided", 0.01)),
        unlike("held back", "term", &word("undecided", 0.07)),
        words.concat(),
        unlike("even", "term", &close.document()),
        unlike("one by one", "html", &partly(both)),
        unlike("from the least to the most", "md", &partly(vec!["a", "create_issue", "b", "c"])),
        unlike("undecided against the second", "md", &of_three("slower")),
        unlike("undecided, all three", "md", &of_three("undecided")),
        unlike("cut off", "html md", &bounds),
        unlike("a rate", "html term", &rows),
        unlike("a rate that was cut off", "html", &cut_rates_off(megabytes, "fjall")),
        unlike("failed", "html", &failed),
        unlike("at a rate", "term", &changed(promises().document(), |it| open(it, "sqlite"))),
        unlike(
            "levels of durability",
            "html",
            &by_factor(single().document(), "durability", &levels),
        ),
        unlike("of disks", "term", &files()),
        unlike("of hours and microseconds", "html", &far.document()),
        vec![Piece::new("in ASCII: term", section(&promises().document(), "term", "", &ascii))],
        unlike("of interim analyses", "term", &looked_at()),
        unlike("searches", "html", &limits::document()),
        unlike("searches", "term", &found),
        unlike("more searches than there is room for", "md", &searches),
    ]
    .concat()
}

/// The facts above the answer.
fn facts() -> Vec<Piece> {
    let facts = |name: &str, document: &Document| {
        let page = text(document, "html");
        let facts = between(&page, "<dl class=\"facts\">\n", "\n</dl>");
        Piece::new(format!("facts: {name}"), facts.replace("<div>", "").replace("</div>", ""))
    };
    let fixed = "durability=strict clients=2 neighbours=0 disk=hdd-7200 rate=closed cpus=1";
    let fixed = fixed.split(' ').filter_map(|it| it.split_once('='));
    let fixed = fixed.map(|(factor, level)| (factor, vec![level])).collect();
    let one = |change: &dyn Fn(&mut Document)| changed(single().document(), change);
    let trials = |changes| with(looked_at(), changes);
    let three = changed(broken("torn", "x"), |it| it.cuts = vec![it.cuts[0].clone(); 3]);
    let three = with(
        three,
        json!({ "cuts/1/engine": "lmdb", "cuts/2/engine": "lmdb", "run/cuts/planned": 3 }),
    );
    let cuts = |changes| with(three.clone(), changes);
    let two = changed(three.clone(), |it| it.cuts.truncate(2));
    vec![
        facts("fixed levels", &Sample { factors: fixed, ..small() }.document()),
        facts("one cell", &Sample { engines: vec!["sqlite"], ..single() }.document()),
        facts("a rate", &rate(single().document(), FigureOfMerit::Rows)),
        facts("a shard", &one(&|it| it.run.run.shard = Some(shard()))),
        facts("machines", &merged()),
        facts("noise", &one(&|it| it.noise = vec![noise(it, 1.01, 0.97, 1.04)])),
        facts("too wide a noise", &one(&|it| it.noise = vec![noise(it, 1.0, 1e-3, 1e3)])),
        facts("as many of each", &looked_at()),
        facts(
            "ended by operations",
            &trials(json!({ "run/operations_each": 100, "run/seconds": 3.0 })),
        ),
        facts("not as many of each", &trials(json!({ "cells/0/trials": 4 }))),
        facts(
            "a plan of as many",
            &trials(json!({ "cells/0/trials": 4, "run/sequential": null, "run/planned": 30 })),
        ),
        facts(
            "interrupted",
            &trials(json!({ "run/sequential": null, "run/status": "interrupted" })),
        ),
        facts("power cuts of each", &with(two.clone(), json!({ "run/cuts/planned": 2 }))),
        facts("fewer power cuts than planned", &two),
        facts("power cuts", &three),
        facts("power cuts that are not alike", &cuts(json!({ "cuts/2/judged": [] }))),
        facts("images of every moment", &every(three.clone(), 0)),
        facts("a power cut that failed", &cuts(json!({ "cuts/2/failed": "no room" }))),
        facts("power cuts alone", &cuts_alone(broken("torn", "x"))),
        facts("power cuts of disks alone", &cuts_alone(of_disks())),
    ]
}

/// The column and the question of what was lost.
fn losses() -> Vec<Piece> {
    let nothing = changed(kept(), |it| {
        it.cuts[0].judged.iter_mut().for_each(|it| it.verdict = AuditResult::default());
    });
    let two = changed(nothing.clone(), |it| {
        it.promises.push(it.promises[0].clone());
        it.cuts.push(it.cuts[0].clone());
    });
    let two = with(two, json!({ "promises/1/engine": "lmdb", "cuts/1/engine": "lmdb" }));
    let missing = json!({ "run/left_out": [{
        "levels": { "engine": "tarantool:memtx", "durability": "strict" },
        "why": "it can't be had", "trials": 5, "cuts": 0,
    }] });
    let untorn = |document| with(document, json!({ "cuts/0/judged/*/verdict/torn": 0 }));
    let corrupt = json!({
        "promises/0/kept": null, "promises/0/promised": "nothing", "cuts/0/judged/1/verdict/corrupt": "gone",
        "cuts/0/judged/1/verdict/oldest_lost_s": null,
    });
    let torn = || broken("torn", "x");
    let base = below("", "html", &torn());
    let change = |name: &str, it: &Document| base.clone().to(below(name, "html", it));
    let damaged = unlike("damaged", "html", &torn()).remove(0);
    let all = [
        below("damaged", "term", &torn()),
        damaged,
        change("lost at a rate", &lost(2)),
        change("one lost", &lost(1)),
        change("nothing lost", &nothing),
        change("nothing lost by two", &two),
        change("less than was promised", &untorn(torn())),
        change("nothing could be counted", &with(torn(), corrupt)),
        change("images of every moment", &with(every(kept(), 0), json!({ "cuts/0/judged": [] }))),
        change("by another run", &by_another()),
        change("on two file systems", &on_both()),
        change("a level that an engine does not give", &with(torn(), missing)),
    ];
    [all.into(), unlike("blocks of disks", "md", &untorn(of_disks()))].concat()
}

/// The questions about warnings, and what would decide what is open.
fn questions() -> Vec<Piece> {
    let question = |name: &str, document: &Document| {
        let text = of_width(document, 80);
        let (_, answer) = text.split_once(QUESTION).unwrap_or(("", "(it is not asked)"));
        let answer = answer.split(" confidence: ").next().unwrap_or_default();
        Piece::new(format!("decide: {name}"), answer.trim())
    };
    let undecided = |changes| with(judged("undecided"), changes);
    let ended = |state: &str| {
        let looks = json!({ "looks": [3, 5], "confidence": 0.99, "comparisons": 1, "max_time_s": 60.0, "used_s": 61.0 });
        let condition = json!({ "levels": {}, "blocks": 5, "judged_at": 5, "state": state });
        undecided(json!({ "run/sequential": looks, "conditions": [condition] }))
    };
    let of_several = json!({ "run/merged": { "plan": "17", "count": 4, "program_sha256": null, "members": [] } });
    let machines = |disagree| apart(undecided(of_several.clone()), &[0.5, 0.2, 1.25], disagree);
    let several =
        with(with(merged(), of_several.clone()), json!({ "comparisons/*/verdict": "undecided" }));
    let warnings = changed(promises().document(), |it| {
        use WarningKind::*;
        let kinds = [ServersWaited, ClientsWaited, MachineDrifted, Retries, Disturbed, CutOff];
        let said = "in 3 of 20 trials it was so, at worst 30 %, at engine lmdb: why";
        it.warnings = kinds.map(|kind| Warning::new(kind, said)).into();
    });
    let command = |more: &str| undecided(json!({ "run/command": format!("{COMMAND}{more}") }));
    let part = changed(judged("undecided"), |it| it.run.run.shard = Some(shard()));
    vec![
        question("nothing", &judged("faster")),
        question("what is void", &judged("void")),
        question("undecided", &judged("undecided")),
        question("of counted repetitions", &command(" --out mine --repetitions 5")),
        question("of another folder", &command(" --out=mine")),
        question("of another planner", &undecided(json!({ "run/planner": "find-limit" }))),
        question("short of processors", &judged("short-of-processors")),
        question("too few operations", &judged("too-few")),
        question(
            "too few operations of a merged run",
            &with(judged("too-few"), of_several.clone()),
        ),
        question("the most repetitions", &ended("max-repetitions")),
        question("the time was over", &ended("max-time")),
        question("out of reach", &ended("out-of-reach")),
        question("interrupted", &undecided(json!({ "run/status": "interrupted" }))),
        question("a shard", &part),
        question("a merged run", &undecided(of_several.clone())),
        question("machines disagree", &machines(true)),
        question("machines lie apart", &machines(false)),
        question("machines disagree on one", &several),
        unlike("warnings", "html", &warnings).remove(0),
    ]
}

/// A shell takes what is broken for one command, and no line is wider than the terminal.
#[test]
fn a_command_that_is_wider_than_a_terminal_can_be_copied() {
    let report = of_width(&judged("undecided"), 40);
    let (_, answer) = report.split_once(QUESTION).expect("the question");
    let command = "  bakeoff run redmine \\\n    --engine sqlite,lmdb --clients 1,4 \\\n    --seed 42 --until-decided\n";
    assert!(answer.contains(command), "{answer}");
    assert!(answer.lines().all(|line| line.chars().count() <= 40), "{answer}");
}

/// On the first screen a warning is short, and it stands in full where all warnings are.
#[test]
fn a_warning_is_told_in_full_once() {
    let document = changed(promises().document(), |it| {
        let said = "in 3 of 20 trials servers waited, at worst 30 %, at engine lmdb: processors were short";
        it.warnings.push(Warning::new(WarningKind::ServersWaited, said));
    });
    let page = words(&document, "html");
    assert_eq!(page.matches("at worst 30 %, at engine lmdb: processors were short").count(), 1);
}

/// What the present choice is, by what was done in each step.
#[test]
fn changes_are_told_from_a_cell_that_does_something() {
    let from = |document: &Document, present: &[(&str, &str)]| {
        let own = |(factor, level): &(&str, &str)| ((*factor).to_owned(), (*level).to_owned());
        let options = Options { present: present.iter().map(own).collect(), ..Options::default() };
        let markdown = render(document, "md", &options).expect("a report");
        between(&markdown, "From the present choice, *", "*").to_owned()
    };
    let document = promises().document();
    for (present, said) in [
        (&[("engine", "lmdb"), ("durability", "relaxed")][..], "lmdb, relaxed durability"),
        (&[("engine", "nobody")], "sqlite, strict durability"),
    ] {
        assert_eq!(from(&document, present), said);
    }
    let factors = vec![("durability", vec!["strict"]), ("step", vec!["constants", "reads"])];
    let mut document = Sample { factors, ..promises() }.document();
    assert_eq!(from(&document, &[]), "sqlite, step constants");
    // Nothing was written in the first step; what was read was not counted, and then was.
    for (returned, from_step) in [(None, "constants"), (Some(4096.0), "reads")] {
        for trial in &mut document.trials {
            let is_constant = trial.levels["step"] == "constants";
            trial.measures.set(&COMMITS, Scope::Clients, 0.0);
            trial.measures.set(&PAYLOAD, Scope::Clients, 0.0);
            let returned = returned.map(|bytes| if is_constant { 0.0 } else { bytes });
            trial.measures.set_some(&RETURNED, Scope::Clients, returned);
        }
        assert_eq!(from(&document, &[]), format!("sqlite, step {from_step}"));
    }
    assert_eq!(from(&document, &[("step", "constants")]), "sqlite, step constants");
}

#[test]
fn a_terminal_of_any_width_has_the_chart_in_whole_words() {
    let document = promises().document();
    for width in [60, 80, 120, 200] {
        let report = of_width(&document, width);
        assert!(report.lines().all(|line| line.chars().count() <= width), "{width}: {report}");
        for part in ["Every commit kept (strict)", "fastest", "●", "10.0 ms"] {
            assert!(report.contains(part), "{width}, {part}: {report}");
        }
        // A name that has no room on one line goes on below.
        let both = between(&report, "Two changes at once", "The slowest operations");
        assert!(both.contains("engine: sqlite →") && both.contains("relaxed"), "{width}: {both}");
        assert!(!both.contains('…'), "{width}: {both}");
        let plain = Options { width, unicode: false, ..Options::default() };
        assert!(!render(&document, "term", &plain).unwrap().contains('●'));
    }
}
