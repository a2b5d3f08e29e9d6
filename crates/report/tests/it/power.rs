//! What a run with power cuts says, in each format.

mod files;
mod table;
mod words;

use bakeoff_analysis::{Document, FoundInCuts, OtherCuts, RuleView};
use bakeoff_report::{CsvRows, Options, Reports, verdict};
use bakeoff_results::{AuditResult, Cut, FileSystem, LeftOut, Promised};

use crate::formats::parse_csv;
use crate::sample::{broken::broken, render};

fn text(document: &Document, format: &str) -> String {
    render(document, format, &Options { color: true, width: 120, ..Options::default() })
        .expect("a report")
}

#[test]
fn a_broken_promise_stands_in_every_report_with_the_command_that_repeats_it() {
    let document = broken("torn", "client 1: 3 is torn");
    let command = "bakeoff run power-cut --seed 1 --engine sqlite --durability strict --keep torn \
                   --cut-number 3";
    for format in ["html", "md", "term"] {
        let text = words::read(&document, format);
        for said in ["promise broken", "client 1: 3 is torn", command, "0 of 1", "more than once"] {
            assert!(text.contains(said), "{said} is not in {format:?}:\n{text}");
        }
    }
    let first = "sqlite broke its promise at strict in 1 of 1 power cut. ";
    assert!(verdict(&document).starts_with(first), "{}", verdict(&document));
}

/// That the cells of the broken promise are marked, and no other.
fn only_those_cells_are_marked(document: &Document) {
    let page = text(document, "md");
    let rows: Vec<&str> = page.lines().filter(|line| line.contains("(promise broken)")).collect();
    assert!(!rows.is_empty());
    assert!(rows.iter().all(|row| row.contains("strict") && row.contains("sqlite")), "{rows:?}");
}

#[test]
fn only_the_cells_of_the_broken_promise_are_marked() {
    only_those_cells_are_marked(&broken("torn", "x"));
}

/// The same, but for the run that cut the power.
fn broken_by_another() -> Document {
    let mut document = broken("torn", "client 1: 3 is torn");
    document.other_cuts = vec![OtherCuts {
        folder: "cuts-of-july".into(),
        plan: document.run.run.cuts.take(),
        promise: document.promises.remove(0),
        cuts: std::mem::take(&mut document.cuts),
        differences: vec!["cache is 1M there, and 2M here".into()],
    }];
    document
}

#[test]
fn what_another_run_found_broken_is_told_like_this_runs_own_and_says_whose_it_is() {
    let document = broken_by_another();
    only_those_cells_are_marked(&document);
    let command = "bakeoff run power-cut --seed 1 --engine sqlite --durability strict --keep torn \
                   --cut-number 3";
    for format in ["html", "md", "term"] {
        let text = words::read(&document, format);
        let whose = "Found by the run in cuts-of-july: cache is 1M there, and 2M here.";
        let made = "1 cut made by the run in cuts-of-july, on the disk ssd-sata";
        for said in ["promise broken", "client 1: 3 is torn", command, "0 of 1", whose, made] {
            assert!(text.contains(said), "{said} is not in {format:?}:\n{text}");
        }
    }
    let first =
        "sqlite broke its promise at strict in 1 of 1 power cut by the run in cuts-of-july. ";
    assert!(verdict(&document).starts_with(first), "{}", verdict(&document));
    assert!(text(&document, "html").contains(">sqlite, strict (cuts-of-july)</text>"));
    let json: Document = serde_json::from_str(&text(&document, "json")).unwrap();
    assert_eq!(json.other_cuts, document.other_cuts);
}

/// The rows of a run's power cuts, each a column's name and its text.
fn rows_of_cuts(document: &Document, rows: Option<CsvRows>) -> Vec<Vec<(String, String)>> {
    let options = Options { rows, ..Options::default() };
    let mut rows = parse_csv(&render(document, "csv", &options).expect("a report"));
    let header = rows.remove(0);
    rows.into_iter().map(|row| header.iter().cloned().zip(row).collect()).collect()
}

#[track_caller]
fn holds(row: &[(String, String)], expected: &[(&str, &str)]) {
    for (name, text) in expected {
        let found = row.iter().find(|(column, _)| column == name);
        assert_eq!(found.map(|(_, text)| text.as_str()), Some(*text), "{name}");
    }
}

#[test]
fn a_power_cut_and_rule_is_a_row() {
    let mut document = broken("torn", "x");
    let torn = &mut document.cuts[0].judged[1];
    torn.verdict.corrupt = Some("page 3 is \"torn\",\nand page 4".into());
    torn.image = Some("images/1".into());
    let failed = Cut {
        number: 4,
        judged: Vec::new(),
        failed: Some("no room".into()),
        promised: Promised::Whole { window_s: Some(1.5), most_lost: Some(1) },
        ..document.cuts[0].clone()
    };
    document.cuts.push(failed);
    let rows = rows_of_cuts(&document, Some(CsvRows::Cuts));
    let [prefix, torn, failed] = rows.as_slice() else { panic!("{rows:?}") };
    let cut = [
        ("folder", ""),
        ("engine", "sqlite"),
        ("durability", "strict"),
        ("promised", "everything"),
        ("number", "3"),
        ("seed", "1"),
        ("moment", "within sync 2"),
        ("clients", "4"),
        ("ran_s", "0.5"),
        ("acknowledged", "9"),
        ("failed", ""),
    ];
    holds(prefix, &cut);
    holds(prefix, &[("keep", "prefix"), ("broken", "false"), ("lost", "0"), ("oldest_lost_s", "")]);
    holds(prefix, &[("corrupt", "false"), ("corrupt_why", ""), ("recovery_s", ""), ("image", "")]);
    holds(torn, &cut);
    holds(torn, &[("keep", "torn"), ("broken", "true"), ("lost", "2"), ("oldest_lost_s", "0.25")]);
    holds(torn, &[("torn", "1"), ("phantom", "0"), ("hole", "0"), ("index_broken", "0")]);
    holds(torn, &[("corrupt", "true"), ("corrupt_why", "page 3 is \"torn\",\nand page 4")]);
    holds(torn, &[("recovery_s", "0.004"), ("image", "images/1")]);
    holds(failed, &[("number", "4"), ("failed", "no room"), ("keep", ""), ("broken", "")]);
    holds(failed, &[("promised", "whole"), ("window_s", "1.5"), ("most_lost", "1")]);
}

#[test]
fn rows_are_of_trials_unless_there_is_none() {
    let mut document = broken("torn", "x");
    let trials = rows_of_cuts(&document, None);
    assert_eq!(trials, rows_of_cuts(&document, Some(CsvRows::Trials)));
    assert_eq!(trials.len(), 2 * document.trials.len(), "two operations");
    document.trials.clear();
    assert_eq!(rows_of_cuts(&document, None), rows_of_cuts(&document, Some(CsvRows::Cuts)));
    assert!(rows_of_cuts(&document, Some(CsvRows::Trials)).is_empty());
}

#[test]
fn rows_of_another_runs_cuts_name_its_folder() {
    let rows = rows_of_cuts(&broken_by_another(), Some(CsvRows::Cuts));
    assert_eq!(rows.len(), 2);
    rows.iter().for_each(|row| holds(row, &[("folder", "cuts-of-july"), ("engine", "sqlite")]));
}

#[test]
fn what_a_promise_allows_is_told_as_time_or_number() {
    let told = |window_s, most_lost| {
        let mut document = broken("torn", "x");
        let promise = &mut document.promises[0];
        (promise.kept, promise.promised) = (Some(true), Promised::Whole { window_s, most_lost });
        promise.rules.truncate(1);
        promise.rules[0].lost = FoundInCuts { cuts: 1, most: 1 };
        promise.rules[0].oldest_lost_s = Some(0.004);
        text(&document, "md")
    };
    let lost = "Kept: 1 cut lost 1 commit at most, acknowledged up to 4.00 ms before the cut; ";
    for (window_s, most_lost, limit) in [
        (Some(1.5), None, "allowed: those of the last 1.50 s."),
        (None, Some(1), "allowed: 1 commit."),
        (Some(0.6), Some(3), "allowed: 3 commits and only those of the last 600 ms."),
        (None, None, "no limit is documented."),
    ] {
        let page = told(window_s, most_lost);
        assert!(page.contains(&format!("{lost}{limit}")), "{limit} is not in\n{page}");
    }
}

#[test]
fn a_kept_promise_is_told_and_nothing_is_marked() {
    let mut document = broken("torn", "x");
    let promise = &mut document.promises[0];
    promise.kept = Some(true);
    promise.rules.truncate(1);
    assert!(
        verdict(&document)
            .contains("The promise of sqlite at strict was not broken in 1 power cut (at most 95 in 100 break it)."),
        "{}",
        verdict(&document)
    );
    for format in ["html", "md", "term"] {
        assert!(!text(&document, format).contains("promise broken"), "{format:?}");
    }
}

/// That no promise was broken alone would be read as "nothing was lost".
#[test]
fn what_was_lost_within_a_promise_is_told_with_it() {
    let mut document = broken("torn", "x");
    let promise = &mut document.promises[0];
    promise.kept = Some(true);
    promise.durability = "relaxed".into();
    promise.promised = Promised::Whole { window_s: Some(1.5), most_lost: None };
    promise.rules.truncate(1);
    let said = verdict(&document);
    let nothing = "was not broken in 1 power cut (at most 95 in 100 break it). With the last second at risk nothing was lost.";
    assert!(said.contains(nothing), "{said}");
    document.promises[0].rules[0].lost = FoundInCuts { cuts: 1, most: 81 };
    document.promises[0].rules[0].oldest_lost_s = Some(0.97);
    let said = verdict(&document);
    let some = "The promise of sqlite at relaxed was not broken in 1 power cut (at most 95 in 100 break it). With the last second at risk sqlite \
                lost up to 81 commits, none older than 970 ms, which its promise allows.";
    assert!(said.contains(some), "{said}");
    // Of several who lost the most is named; another one lost what was older.
    let mut other = document.promises[0].clone();
    other.engine = "lmdb".into();
    (other.rules[0].lost.most, other.rules[0].oldest_lost_s) = (7, Some(0.99));
    document.promises.push(other);
    let said = verdict(&document);
    let most = "No promise was broken in 2 power cuts (1 of each: at most 95 in 100 break it). With the last second at risk sqlite lost the most, 81 \
                commits, and no engine lost any older than 990 ms, which their promises allow.";
    assert!(said.contains(most), "{said}");
}

/// A number of lost commits says as much of the clients as of the engine.
#[test]
fn how_fast_the_clients_of_cuts_committed_stands_beside_what_was_lost() {
    let mut document = broken("torn", "x");
    let cut = &mut document.cuts[0];
    cut.judged.iter_mut().for_each(|it| it.verdict.torn = 0);
    (cut.acknowledged, cut.ran_s) = (840, 10.0);
    document.promises[0].kept = Some(true);
    let page = words::read(&document, "html");
    for part in [
        "2 commits at 84.0 a second",
        "up to 2 commits were lost (sqlite, at 84.0 a second), none older than 250 ms",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let lost = "Lost: in cuts whose clients do nothing but commit, at the rate below the number.";
    for format in ["html", "md"] {
        assert_eq!(words::read(&document, format).matches(lost).count(), 1, "{format}");
    }
    document.cuts[0].judged[1].verdict.lost = 1;
    let one = words::read(&document, "html");
    assert!(one.contains("1 commit was lost (sqlite)"), "{one}");
    assert!(one.contains("1 commit at 84.0 a second"), "{one}");
}

/// Of cuts that are not alike nothing is said of each.
#[test]
fn a_page_begins_with_how_many_power_cuts_there_were_and_how_they_were_judged() {
    let mut document = broken("torn", "x");
    let says = |document: &Document, wanted: &str| {
        let page = text(document, "md");
        assert!(page.contains(&format!("- power cuts: {wanted}\n")), "{wanted} is not in {page}");
    };
    says(&document, "1, judged by 2 rules of what a disk may lose");
    let other = Cut { engine: "lmdb".into(), ..document.cuts[0].clone() };
    document.cuts.push(other.clone());
    says(&document, "2 of 1 planned, 1 of each, each judged by 2 rules of what a disk may lose");
    document.run.run.cuts.as_mut().expect("a plan").planned = 3;
    document.cuts.push(Cut { number: 4, ..other });
    says(&document, "3, each judged by 2 rules of what a disk may lose");
    document.cuts[2].judged.truncate(1);
    says(&document, "3 (5 images of the disk judged)");
}

/// An engine that is missing under a promise is not forgotten.
#[test]
fn an_engine_that_does_not_give_a_level_is_named_where_that_is_told() {
    let mut document = broken("torn", "x");
    document.run.run.left_out = vec![LeftOut {
        levels: [("engine", "tarantool:memtx"), ("durability", "strict")]
            .map(|(factor, level)| (factor.to_owned(), level.to_owned()))
            .into(),
        why: "it can't be had".into(),
        trials: 5,
        cuts: 0,
    }];
    let said = verdict(&document);
    let missing = "tarantool:memtx does not give this level (strict).";
    assert_eq!(said.matches(missing).count(), 1, "{said}");
    let page = words::read(&document, "html");
    assert!(page.contains("; tarantool:memtx does not give this level (strict)."), "{page}");
}

/// The run compares two engines, and the power of one was cut.
#[test]
fn promises_that_were_kept_are_those_of_the_engines_that_were_tried() {
    let mut document = broken("torn", "x");
    document.promises[0].kept = Some(true);
    let mut weaker = document.promises[0].clone();
    weaker.durability = "relaxed".into();
    document.promises.push(weaker);
    let some = "No promise of sqlite (the others were not tried) was broken in 2 power cuts";
    assert!(verdict(&document).contains(some), "{}", verdict(&document));
    document.promises[1].engine = "lmdb".into();
    let all = "No promise was broken in 2 power cuts";
    assert!(verdict(&document).contains(all), "{}", verdict(&document));
}

#[test]
fn a_run_of_cuts_alone_has_every_report() {
    let mut document = broken("torn", "x");
    document.trials.clear();
    document.cells.clear();
    document.comparisons.clear();
    document.run.run.planned = 0;
    for format in Reports::standard().formats() {
        assert!(!text(&document, format).is_empty());
    }
    let sentence = "sqlite broke its promise at strict in 1 of 1 power cut.";
    assert_eq!(verdict(&document), sentence);
    // Nothing was timed, so that there is nothing to say of operations and trials.
    for format in ["html", "md", "term"] {
        let text = text(&document, format);
        for empty in ["create_issue", "entered twice", "Every trial", "trials: "] {
            assert!(!text.contains(empty), "{empty} is in {format:?}:\n{text}");
        }
    }
}

/// What the clients of cuts do is work of their own: the levels that trials would have had are not theirs.
#[test]
fn cuts_alone_are_told_by_what_they_were_made_at() {
    let mut document = broken("torn", "x");
    document.run.run.factors.push(("pattern".into(), vec!["randread".into()]));
    assert!(text(&document, "md").contains("- all else equal: 1 client, pattern randread\n"));
    document.trials.clear();
    document.cells.clear();
    document.comparisons.clear();
    document.run.run.planned = 0;
    let page = text(&document, "md");
    assert!(page.contains("- all else equal: disk ssd-sata, 4 clients\n"), "{page}");
}

#[test]
fn only_what_is_broken_is_red() {
    let document = broken("torn", "x");
    let first = "sqlite broke its promise at strict in 1 of 1 power cut.";
    let page = text(&document, "html");
    assert!(page.contains(&format!("<p class=\"verdict broken\">{first}</p>")), "{page}");
    assert!(text(&document, "term").contains(&format!("\x1b[31m{first}\x1b[0m")));
}

#[test]
fn where_nothing_can_be_read_nobody_says_that_nothing_is_lost() {
    let mut document = broken("torn", "x");
    let (promise, cut) = (&mut document.promises[0], &mut document.cuts[0]);
    (promise.kept, promise.promised, cut.promised) = (None, Promised::Nothing, Promised::Nothing);
    for rule in &mut promise.rules {
        *rule = RuleView { corrupt: 1, cuts: 1, keep: rule.keep.clone(), ..RuleView::default() };
    }
    for judged in &mut cut.judged {
        judged.verdict = AuditResult { corrupt: Some("gone".into()), ..AuditResult::default() };
    }
    // Another one, so that there is a picture.
    let mut other = broken("torn", "x");
    document.promises.append(&mut other.promises);
    document.promises[1].durability = "none".into();
    document.cuts.push(Cut { durability: "none".into(), ..other.cuts.remove(0) });
    let page = text(&document, "html");
    assert!(page.contains("nothing could be counted"), "{page}");
    assert!(page.contains("1 cut left nothing from which losses could be counted"), "{page}");
    assert!(!page.contains("nothing lost") && !page.contains("lost nothing"), "{page}");
}

/// The same promise tried on both file systems, and broken on posix alone.
fn on_both() -> Document {
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

#[test]
fn each_format_says_which_file_system_broke_a_promise() {
    let document = on_both();
    let said = verdict(&document);
    assert!(said.contains("sqlite broke its promise at strict on posix in 1 of 1"), "{said}");
    assert!(
        said.contains("No other promise was broken in 1 power cut (at most 95 in 100 break it)."),
        "{said}"
    );
    for format in ["term", "md", "html"] {
        let text = text(&document, format).replace('\n', " ");
        for part in ["strict on ext4", "strict on posix", "promise broken on posix"] {
            let plain = text.replace("\x1b[31m", "").replace("\x1b[0m", "");
            assert!(plain.contains(part), "{format:?}, {part}: {plain}");
        }
        let again = "--durability strict --file-system posix --keep torn --cut-number 3";
        let plain = text.replace("<span class=\"whole\">", "").replace("</span>", "");
        let joined = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(joined.contains(again), "{format:?}: {joined}");
    }
    let csv =
        render(&document, "csv", &Options { rows: Some(CsvRows::Cuts), ..Options::default() });
    let rows = parse_csv(&csv.unwrap());
    let column = |name: &str| rows[0].iter().position(|head| head == name).unwrap();
    let broken: Vec<(&str, &str)> = rows[1..]
        .iter()
        .map(|row| (&*row[column("file_system")], &*row[column("broken")]))
        .collect();
    let expected = [("ext4", "false"), ("ext4", "false"), ("posix", "false"), ("posix", "true")];
    assert_eq!(broken, expected);
    let json: serde_json::Value = serde_json::from_str(&text(&document, "json")).unwrap();
    assert_eq!(json["promises"][1]["file_system"], "posix");
    assert_eq!(json["cuts"][0]["file_system"], "ext4");
}

#[test]
fn what_engines_say_is_escaped() {
    let page = text(&broken("<script>1", "<script>2"), "html");
    assert!(!page.contains("<script>1") && !page.contains("<script>2"));
}
