//! What each format writes.

use bakeoff_analysis::{Document, Warning, WarningKind};
use bakeoff_report::{FORMATS, Options, format_of_ending, render, verdict};
use bakeoff_results::measure::{
    CPU, CPU_LIMIT, CPU_THROTTLED, MEMORY_PEAK, RISE, RISE_ERROR, SYNCS,
};
use bakeoff_results::{FigureOfMerit, Platform, Scope, Takeover};
use serde_json::{Value, json};

use crate::reading::{SHOWN, of_width, parse_csv, read_json, text, words};
use crate::sample::broken::broken;
use crate::sample::rate::rate;
use crate::sample::{Sample, changed, fail, open, promises, three, with};
use crate::sections::{one_group, small};
use crate::sentences::{cases, judged};
use crate::snapshots::Piece;

const HOSTILE: &str = "<script>alert(\"1\")</script> & 'quotes' | `ticks`, \"commas\"";

/// Where text comes from outside, in the run and in what it measured.
const OUTSIDE: &str = "title name workload command version text machine/processor machine/device machine/hardware \
    machine/mount_options engines/0/version engines/1/settings/0/1 applied/0/settings/0/name \
    applied/0/settings/0/value applied/0/settings/0/reason operations/0";
const MEASURED: &str = "trials/0/reason trials/*/operations/0/name cells/*/operations/0/name \
    comparisons/operation=create_issue/operation";

/// Every text that comes from outside, as bad as it can be.
fn hostile() -> Document {
    let paths = OUTSIDE.split_whitespace().map(|it| format!("run/{it}"));
    let paths = paths.chain(MEASURED.split_whitespace().map(str::to_owned));
    let document = with(three().document(), paths.map(|it| (it, HOSTILE)).collect());
    changed(document, |it| {
        it.cells[0].counters.insert(HOSTILE.into(), 1);
        it.warnings.push(Warning::new(WarningKind::Errors, HOSTILE).with_remedy(HOSTILE));
        it.trials[0].valid = false;
    })
}

/// A run with trials and power cuts. Its answer is kept among those of the first screen.
pub fn written() -> String {
    let sample = Sample { blocks: 2, operations: vec!["create_issue"], ..Sample::default() };
    let document = crate::sample::broken::broken_among(sample, "torn", "client 1: 3 is torn");
    let mut json = read_json(&document);
    assert!(json.as_object_mut().expect("an object").remove("answer").is_some());
    serde_json::to_string_pretty(&json).expect("JSON") + "\n"
}

/// Trials of all kinds: in an open loop, of rows, of groups of processes, and one that failed.
pub fn rows() -> String {
    let document = changed(rate(small().document(), FigureOfMerit::Rows), |it| {
        it.trials.truncate(4);
        let measures = &mut it.trials[0].measures;
        measures.set(&CPU, Scope::Processes("web".into()), 6.25);
        measures.set(&MEMORY_PEAK, Scope::Processes("web".into()), 77.0);
        measures.set(&CPU_LIMIT, Scope::DATABASE, 0.5);
        measures.set(&CPU_THROTTLED, Scope::DATABASE, 50.0);
        // Whose syncs they are depends on who counted them.
        measures.set(&SYNCS, Scope::DATABASE, 3.0);
        measures.set(&CPU, Scope::DISK_DAEMON, 1.0);
        measures.set(&RISE, Scope::Trial, 0.3);
        measures.set(&RISE_ERROR, Scope::Trial, 0.2);
        for (trial, rise) in [(1, 0.3), (2, 0.01)] {
            it.trials[trial].measures.set(&RISE, Scope::Trial, rise);
        }
        open(it, "lmdb");
        it.trials[3].operations.clear();
        it.trials[3].valid = false;
        it.trials[3].reason = Some("it said \"no\",\nand left".into());
        it.trials[2].warnings = vec!["=1+1".into(), "-5".into()];
    });
    text(&document, "csv")
}

/// What a page consists of, and what is around its sections.
pub fn page() -> Vec<Piece> {
    let outline = |name: &str, document: &Document| {
        let page = text(document, "html");
        let parts = page.split('<').filter_map(|part| {
            let (tag, text) = part.split_once('>')?;
            let name = tag.split(' ').next()?;
            let is_part =
                ["a", "h1", "h2", "h3", "caption", "summary", "figcaption"].contains(&name);
            (is_part && !text.trim().is_empty()).then(|| format!("{tag}: {}", text.trim()))
        });
        Piece::new(format!("outline of {name}"), parts.collect::<Vec<_>>().join("\n"))
    };
    let page = text(&Sample { factors: vec![], ..small() }.document(), "html");
    let (head, rest) = page.split_once("<h1").expect("a title");
    let (_, foot) = rest.split_once("</main>").expect("its end");
    let files = [
        ("templates/report.css", include_str!("../../templates/report.css")),
        ("templates/report.js", include_str!("../../templates/report.js")),
    ];
    let around = files.iter().fold(format!("{head}(the page){foot}"), |around, (file, text)| {
        assert_eq!(around.matches(text).count(), 1, "a page carries {file} once, and all of it");
        around.replace(text, &format!("({file})\n"))
    });
    let lines = around.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>();
    vec![
        outline("a plain run", &Sample::default().document()),
        outline("promises and power cuts", &broken("torn", "x")),
        Piece::new("around the sections", lines.join("\n")),
    ]
}

#[test]
fn formats_go_by_their_names_and_by_the_ends_of_files() {
    let names = FORMATS.each_ref().map(|format| format.name);
    assert_eq!(names, ["html", "json", "csv", "md", "brief", "term", "text"]);
    assert_eq!((format_of_ending("HTML"), format_of_ending("pdf")), (Some("html"), None));
    assert_eq!(format_of_ending("txt"), Some("text"));
    let error =
        render(&three().document(), "pdf", &Options::default()).expect_err("no such format");
    assert!(
        error.to_string().ends_with("choose one of: html, json, csv, md, brief, term, text"),
        "{error}"
    );
}

#[test]
fn json_reads_back_as_the_same_report() {
    for document in [three().document(), broken("torn", "x")] {
        let read: Document = serde_json::from_str(&text(&document, "json")).expect("JSON");
        // Not the same to the last bit of every number, but to a reader.
        for format in SHOWN {
            assert_eq!(text(&read, format), text(&document, format));
        }
        assert_eq!(read.trials.len(), document.trials.len());
        assert_eq!((read.cuts, read.other_cuts), (document.cuts, document.other_cuts));
    }
}

/// The JSON has the answer that the others show, and figures that they round or leave out.
#[test]
fn json_has_the_answer_and_what_is_too_wide_to_be_shown() {
    let document = changed(promises().document(), |it| {
        (it.comparisons[0].low, it.comparisons[0].high) = (Some(7.5e-5), Some(7.3e5));
    });
    let sentences = &read_json(&document)["answer"]["sentences"];
    let all: Vec<&str> = sentences.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(all.join(" "), verdict(&document));
    assert!(text(&document, "json").contains("730000"));
    for format in SHOWN {
        assert!(!text(&document, format).contains("7.3e5"), "{format}");
    }
}

/// Without an answer in words nothing is drawn that is no number, no tag is left open and no line is too long:
/// in none of all kinds of runs, however little or odd they measured.
#[test]
fn every_run_has_a_report_that_is_whole() {
    let odd = odd();
    for (name, document) in cases().iter().chain(&odd) {
        let page = text(document, "html");
        assert_closed(&page);
        let body = page.split("<script>").next().expect("all but the script");
        for none in ["NaN", "inf%", "infms", "undefined"] {
            assert!(!body.contains(none), "{none} is in the page of {name}");
        }
        let said = verdict(document);
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for format in SHOWN {
            let shown = words(document, format);
            let first = said.split(". ").next().unwrap_or_default();
            assert!(shown.contains(&flat(first)), "{name}, {format}: {first} is not in {shown}");
        }
        let term = text(document, "term");
        for line in term.lines().filter(|line| !line.starts_with("  again: ")) {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        for table in text(document, "md").split("\n\n").filter(|part| part.starts_with('|')) {
            let bars = table.lines().map(|line| line.replace("\\|", "").matches('|').count());
            let bars: Vec<usize> = bars.collect();
            assert!(bars.windows(2).all(|pair| pair[0] == pair[1]), "{name}: {table}");
        }
    }
}

/// Runs that have little to show, or what nobody expects.
fn odd() -> Vec<(&'static str, Document)> {
    let of = |sample: Sample| sample.document();
    let long = "an_engine_with_a_name_of_sixty_letters_that_no_column_can_hold";
    let operation = "an_operation_whose_name_goes_on_and_on_and_on_and_on";
    let far = Sample {
        mean: |_, levels| if levels["engine"] == "lmdb" { 1e-6 } else { 14_400.0 },
        ..promises()
    };
    let nothing = with(of(far), json!({ "cells/0/operations/0/mean_s": 0.0 }));
    let no_figure = json!({
        "cells/*/operations/0/mean_s": null, "trials/*/operations/0/mean_s": null, "comparisons": [], "between": [],
    });
    let no_cells = changed(three().document(), |it| it.cells.clear());
    let seven = Sample {
        engines: vec!["sqlite", "lmdb", "fjall", "postgres", "innodb", "myrocks", "memtx"],
        factors: vec![("durability", vec!["strict", "relaxed"]), ("clients", vec!["1", "4", "16"])],
        operations: ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"].into(),
        ..promises()
    };
    vec![
        ("latencies of hours and of nothing", nothing),
        ("no figure", with(of(promises()), no_figure)),
        (
            "a name of sixty letters",
            of(Sample {
                engines: vec!["sqlite", long],
                operations: vec![operation, "x"],
                ..promises()
            }),
        ),
        (
            "text from right to left",
            changed(of(promises()), |it| it.run.run.title = "איזה מנוע הכי מהיר".into()),
        ),
        ("seven engines and ten operations", of(seven)),
        ("no cells", no_cells),
        ("an earlier version", of_an_earlier_version()),
        ("hostile", hostile()),
    ]
}

/// Its JSON has no key for what an earlier version did not write.
fn of_an_earlier_version() -> Document {
    let mut json = serde_json::to_value(promises().document()).expect("JSON");
    let without = |object: &mut Value, keys: &str| {
        let object = object.as_object_mut().expect("an object");
        keys.split(' ').for_each(|key| assert!(object.remove(key).is_some(), "{key}"));
    };
    without(&mut json, "between conditions cuts promises other_cuts");
    for cell in json["cells"].as_array_mut().expect("cells") {
        without(cell, "total cost harness_share debt restart steady over_time");
        let operations = cell["operations"].as_array_mut().expect("operations");
        operations.iter_mut().for_each(|it| without(it, "max_s"));
    }
    for it in json["comparisons"].as_array_mut().expect("comparisons") {
        without(it, "ratio_is fewest_operations p_adjusted adjusted_over fresh noise_floor");
    }
    serde_json::from_value(json).expect("a document")
}

#[test]
fn a_thousand_cells_have_a_report() {
    let levels = |prefix: &str, number: usize| -> Vec<&'static str> {
        (0..number).map(|it| &*Box::leak(format!("{prefix}{it}").into_boxed_str())).collect()
    };
    let sample = Sample {
        factors: vec![("memory", levels("m", 20)), ("disk", levels("d", 25))],
        operations: vec!["create_issue"],
        blocks: 2,
        ..Sample::default()
    };
    let document = sample.document();
    assert_eq!(document.cells.len(), 1000);
    for format in SHOWN {
        assert!(
            words(&document, format).contains("12 of 500 conditions are in this chart"),
            "{format}"
        );
    }
    let said = verdict(&document);
    assert!(said.contains(". lmdb is fastest in all 500 comparisons"), "{said}");
}

#[test]
fn a_terminal_of_many_widths_is_enough() {
    let mut sample = three();
    sample.engines = vec!["sqlite", "lmdb", "fjall", "an_engine_with_a_long_name", "null"];
    sample.factors.push(("durability", vec!["relaxed", "strict"]));
    let document = sample.document();
    for width in [60, 80, 132] {
        let report = of_width(&document, width);
        for line in report.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(!report.contains('\x1b'));
    }
}

/// Text for a file is no wider and no more colourful because the terminal is; and what it ends in is the verdict.
#[test]
fn text_is_what_a_plain_terminal_of_80_columns_shows() {
    let document = three().document();
    let options = Options { color: true, width: 200, ..Options::default() };
    let written = render(&document, "text", &options).expect("a report");
    assert_eq!(written, text(&document, "term"));
    assert_ne!(written, render(&document, "term", &options).expect("a report"));
    let joined = written.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.ends_with(&verdict(&document)), "{written}");
}

#[test]
fn colours_change_no_letter() {
    let document = three().document();
    let options = Options { color: true, width: 80, ..Options::default() };
    let coloured = render(&document, "term", &options).expect("a report");
    assert!(coloured.contains("\x1b[32mfaster\x1b[0m") && coloured.contains("\x1b[31mslower"));
    let mut plain = coloured;
    for code in ["0", "1", "31", "32", "33"] {
        plain = plain.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(plain, text(&document, "term"));
}

#[test]
fn a_page_loads_nothing() {
    for document in [three().document(), broken("torn", "x"), hostile()] {
        // A link leads to another part of the page alone.
        let page = text(&document, "html").replace("href=\"#", "");
        // The hash of the page's script may have any letter of base64.
        let (before, policy) = page.split_once("sha256-").expect("a hash");
        let page = format!("{before}{}", policy.split_once('\'').expect("its end").1);
        for load in ["http://", "https://", "src=", "href=", "@import", "//"] {
            let hits = page.match_indices(load).filter(|(at, _)| !in_comment(&page, *at));
            assert_eq!(hits.count(), 0, "the page says {load}");
        }
    }
}

/// Whether the place is in a comment of the page's own script.
fn in_comment(page: &str, at: usize) -> bool {
    let start = page[..at].rfind('\n').map_or(0, |line| line + 1);
    page[start..at + 2].trim_start().starts_with("//")
}

/// Fails unless every tag is closed in the right order, and no attribute breaks out of one.
pub fn assert_closed(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag's end");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('!') || tag.ends_with('/') {
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "quotes in <{tag}>");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closed at …{}", &rest[..rest.len().min(80)]);
            continue;
        }
        let name = tag.split_whitespace().next().expect("a tag's name");
        match name {
            "meta" => {}
            "style" | "script" => {
                let closing = format!("</{name}>");
                let body = rest.find(&closing).expect("an end");
                rest = &rest[body + closing.len()..];
            }
            _ => open.push(name),
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

#[test]
fn what_comes_from_outside_is_escaped() {
    let page = text(&hostile(), "html");
    assert_eq!(page.matches("<script>").count(), 1, "its own script alone");
    assert!(!page.contains("alert(\""));
    assert!(page.contains("&lt;script&gt;"));
    let markdown = text(&hostile(), "md");
    let outside_code = markdown.split("```").next().unwrap_or_default();
    assert!(!outside_code.replace("\\<", "").contains("<script>"));
    let said = text(&broken("<script>1", "<script>2"), "html");
    assert!(!said.contains("<script>1") && !said.contains("<script>2"));
}

/// A figure is worth little without what measured it.
#[test]
fn every_format_names_the_version_that_measured() {
    let mut document = three().document();
    document.run.run.version = "0.7.9 (0123abcde)".into();
    for format in FORMATS.iter().map(|format| format.name) {
        let text = text(&document, format).replace('\\', "");
        assert!(text.contains("0.7.9 (0123abcde)"), "{format}: {text}");
    }
    let rows = text(&document, "csv");
    let with = rows.lines().filter(|line| line.contains("0.7.9 (0123abcde)"));
    assert_eq!(with.count(), document.trials.len() * document.run.run.operations.len());
}

#[test]
fn rows_of_trials_have_the_version_that_went_on_with_the_run() {
    let mut document = three().document();
    let by = Platform {
        version: "0.2.0 (456789abc)".into(),
        program_sha256: Some("f".repeat(64)),
        kernel: "6.12.9".into(),
        kernel_version: None,
    };
    let of_first = document.trials.len() - 4;
    document.run.run.takeovers = vec![Takeover { by, trials: of_first as u32, cuts: 0 }];
    let rows = text(&document, "csv");
    let count = |version: &str| rows.lines().filter(|line| line.contains(version)).count();
    let operations = document.run.run.operations.len();
    assert_eq!(count("0.2.0 (456789abc)"), 4 * operations);
    assert_eq!(count("0.1.0 (0123abcde)"), of_first * operations);
}

#[test]
fn a_reason_of_several_lines_is_told_without_the_words_that_announce_the_others() {
    let mut document = three().document();
    fail(&mut document, "fjall", "it could not start (exit status: 1); it said:\nKilled");
    let verdict = bakeoff_report::verdict(&document).replace('\n', " ");
    assert!(verdict.contains("fjall: it could not start (exit status: 1)."), "{verdict}");
}

#[test]
fn csv_has_a_row_for_each_trial_and_operation() {
    let mut document = three().document();
    fail(&mut document, "fjall", "it said \"no\",\nand left");
    let rows = parse_csv(&text(&document, "csv"));
    let header = &rows[0];
    assert!(rows.iter().all(|row| row.len() == header.len()));
    // 20 blocks of three: two engines with two operations, and a row for each failure.
    assert_eq!(rows.len(), 1 + 20 * 2 * 2 + 20);
    let column = |name: &str| header.iter().position(|h| h == name).expect("a column");
    let failed = rows.iter().find(|row| row[column("engine")] == "fjall").expect("a failure");
    assert_eq!(failed[column("reason")], "it said \"no\",\nand left");
    assert_eq!(failed[column("mean_s")], "");
    assert!(rows[1][column("littles_law")].parse::<f64>().unwrap() > 0.5, "a closed loop");
}

/// Two engines need no choice of what the others are held against, and one group of processes is the engine.
#[test]
fn what_would_say_the_same_is_left_out() {
    assert!(!text(&promises().document(), "html").contains("data-against=\""));
    let one = one_group();
    for format in SHOWN {
        assert_eq!(text(&one, format), text(&small().document(), format), "{format}");
    }
    let void = judged("void");
    assert!(!text(&void, "md").contains("is fastest"));
}

/// The links at its top have room beside its name: they say less than the headings that they lead to.
#[test]
fn a_page_links_to_its_sections_by_short_names() {
    let factors = vec![("durability", vec!["strict", "relaxed"])];
    let page = text(&Sample { factors, ..three() }.document(), "html");
    let (_, links) = page.split_once("<nav aria-label=\"sections\">").expect("links");
    let (links, _) = links.split_once("</nav>").expect("their end");
    let links: Vec<&str> = links.split("</a>").filter(|link| !link.is_empty()).collect();
    assert!(links.len() > 6, "{links:?}");
    for link in &links {
        let (place, name) = link.split_once("\">").expect("a link and its name");
        let place = place.trim_start_matches("<a href=\"#");
        assert!(!name.is_empty() && name.len() <= 20, "{link}");
        assert!(page.contains(&format!("<section id=\"{place}\">")), "{place} is not there");
    }
    assert!(links.contains(&"<a href=\"#changes\">Changes"), "{links:?}");
}
