//! What each format writes.

use bakeoff_analysis::{Document, Warning, WarningKind};
use bakeoff_report::{Options, Reports, verdict};
use bakeoff_results::measure::{RISE, RISE_ERROR, RISE_SECONDS};
use bakeoff_results::{Platform, Scope, Takeover};

use crate::sample::{self, Sample, noise, render};

const PLAIN: Options =
    Options { color: false, width: 80, unicode: true, rows: None, present: Vec::new() };
const HOSTILE: &str = "<script>alert(\"1\")</script> & 'quotes' | `ticks`, \"commas\"";

pub fn text(document: &Document, format: &str) -> String {
    render(document, format, &PLAIN).expect("a report")
}

pub fn three() -> Sample {
    Sample {
        engines: vec!["sqlite", "lmdb", "fjall"],
        mean: |_, levels| match levels["engine"].as_str() {
            "lmdb" => 0.005,
            "fjall" => 0.012,
            _ => 0.010,
        },
        ..Sample::default()
    }
}

/// Every text that comes from outside, as bad as it can be.
fn hostile() -> Document {
    let mut document = three().document();
    let run = &mut document.run.run;
    let [first, second, ..] = run.engines.as_mut_slice() else { panic!("two engines") };
    let setting = &mut run.applied[0].settings[0];
    for text in [
        &mut run.title,
        &mut run.name,
        &mut run.workload,
        &mut run.command,
        &mut run.version,
        &mut run.text,
        &mut run.machine.processor,
        &mut run.machine.device,
        &mut first.version,
        &mut second.settings[0].1,
        &mut setting.name,
        &mut setting.value,
        setting.reason.as_mut().expect("a reason"),
    ] {
        *text = HOSTILE.into();
    }
    run.machine.hardware = Some(HOSTILE.into());
    run.machine.mount_options = Some(HOSTILE.into());
    document.cells[0].counters.insert(HOSTILE.into(), 1);
    document.warnings.push(Warning::new(WarningKind::Errors, HOSTILE).remedy(HOSTILE));
    let operation = HOSTILE.to_owned();
    document.run.run.operations[0] = operation.clone();
    document.trials[0].reason = Some(HOSTILE.into());
    document.trials[0].valid = false;
    document.trials.iter_mut().for_each(|trial| trial.operations[0].name = operation.clone());
    document.cells.iter_mut().for_each(|cell| cell.operations[0].name = operation.clone());
    for comparison in document.comparisons.iter_mut().filter(|c| c.operation == "create_issue") {
        comparison.operation = operation.clone();
    }
    document
}

fn drifted() -> Warning {
    Warning::new(WarningKind::MachineDrifted, "the machine drifted").remedy("let it rest")
}

#[test]
fn formats_go_by_their_names_and_by_the_ends_of_files() {
    let reports = Reports::standard();
    assert_eq!(
        reports.formats().collect::<Vec<_>>(),
        ["html", "json", "csv", "md", "term", "text"]
    );
    assert_eq!((reports.format_of("HTML"), reports.format_of("pdf")), (Some("html"), None));
    assert_eq!(reports.format_of("txt"), Some("text"));
    let error = render(&three().document(), "pdf", &PLAIN).expect_err("no such format");
    assert!(
        error.to_string().ends_with("choose one of: html, json, csv, md, term, text"),
        "{error}"
    );
}

#[test]
fn json_reads_back_as_the_same_report() {
    let document = three().document();
    let read: Document = serde_json::from_str(&text(&document, "json")).expect("JSON");
    // Not the same to the last bit of every number, but to a reader.
    for format in ["html", "md", "term"] {
        assert_eq!(text(&read, format), text(&document, format));
    }
    assert_eq!(read.trials.len(), document.trials.len());
}

#[test]
fn csv_has_a_row_for_each_trial_and_operation() {
    let mut document = three().document();
    sample::fail(&mut document, "fjall", "it said \"no\",\nand left");
    let csv = text(&document, "csv");
    let rows = parse_csv(&csv);
    let header = &rows[0];
    assert!(rows.iter().all(|row| row.len() == header.len()));
    // 20 blocks of three: two engines with two operations, and a row for each failure.
    assert_eq!(rows.len(), 1 + 20 * 2 * 2 + 20);
    let column = |name: &str| header.iter().position(|h| h == name).expect("a column");
    let failed = rows.iter().find(|row| row[column("engine")] == "fjall").expect("a failure");
    assert_eq!(failed[column("reason")], "it said \"no\",\nand left");
    assert_eq!(failed[column("mean_s")], "");
    let first = &rows[1];
    assert_eq!(first[column("engine")], "sqlite");
    assert_eq!(first[column("operation")], "create_issue");
    assert_eq!(first[column("mean_s")], "0.01");
    assert_eq!(first[column("counter.pages")], "12");
}

#[test]
fn whether_a_trial_was_steady_has_three_answers() {
    let mut document = three().document();
    for (trial, (rise, error)) in [(0.3, 0.01), (0.3, 0.2), (0.01, 0.01)].into_iter().enumerate() {
        let measures = &mut document.trials[trial].measures;
        for (measure, value) in [(&RISE, rise), (&RISE_ERROR, error), (&RISE_SECONDS, 20.0)] {
            measures.set(measure, Scope::Trial, value);
        }
    }
    let page = text(&document, "html");
    assert_eq!(page.matches(">not steady<").count(), 1);
    assert_eq!(page.matches(">cannot tell whether it was steady<").count(), 1);
    let rows = parse_csv(&text(&document, "csv"));
    let column = rows[0].iter().position(|name| name == "steady").expect("a column");
    let found: Vec<&str> = rows[1..].iter().step_by(2).map(|row| row[column].as_str()).collect();
    assert_eq!(found[..4], ["false", "cannot tell", "true", "true"]);
}

/// RFC 4180, with nothing forgiven.
pub fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut characters = text.chars().peekable();
    let mut quoted = false;
    while let Some(character) = characters.next() {
        match (character, quoted) {
            ('"', true) if characters.peek() == Some(&'"') => field.extend(characters.next()),
            ('"', _) => quoted = !quoted,
            (',', false) => row.push(std::mem::take(&mut field)),
            ('\r', false) => {
                assert_eq!(characters.next(), Some('\n'));
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            ('\n', false) => panic!("a bare line break"),
            (other, _) => field.push(other),
        }
    }
    assert!(field.is_empty() && row.is_empty() && !quoted, "the last line is not ended");
    rows
}

#[test]
fn markdown_has_tables_of_even_width() {
    let markdown = text(&three().document(), "md");
    assert!(
        markdown.contains(
            "| 1 | 0 | lmdb | 5.00 ms | 0.50 | 0.45 to 0.55 | faster | 200 | 4.50 ms | 10.5 ms | 20.0 ms | 5 |"
        ),
        "{markdown}"
    );
    assert!(markdown.contains("## create\\_issue"));
    for table in markdown.split("\n\n").filter(|part| part.starts_with('|')) {
        let bars: Vec<usize> = table.lines().map(|line| line.matches('|').count()).collect();
        assert!(bars.windows(2).all(|pair| pair[0] == pair[1]), "{table}");
    }
    let hostile = text(&hostile(), "md");
    let outside_code = hostile.split("```").next().unwrap_or_default();
    assert!(!outside_code.replace("\\<", "").contains("<script>"));
}

#[test]
fn a_terminal_of_80_columns_is_enough() {
    let mut sample = three();
    sample.engines = vec!["sqlite", "lmdb", "fjall", "an_engine_with_a_long_name", "null"];
    sample.factors.push(("durability", vec!["relaxed", "strict"]));
    let document = sample.document();
    for width in [60, 80, 132] {
        let options = Options { color: false, width, ..Options::default() };
        let report = render(&document, "term", &options).expect("a report");
        for line in report.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(!report.contains('\x1b'));
    }
}

/// Text for a file is no wider and no more colourful because the terminal is.
#[test]
fn text_is_what_a_plain_terminal_of_80_columns_shows() {
    let document = three().document();
    let options = Options { color: true, width: 200, ..Options::default() };
    let written = render(&document, "text", &options).expect("a report");
    assert_eq!(written, text(&document, "term"));
    assert_ne!(written, render(&document, "term", &options).expect("a report"));
}

#[test]
fn a_terminal_shows_what_differs_and_ends_with_the_verdict() {
    let mut document = three().document();
    document.warnings.push(drifted());
    let report = text(&document, "term");
    assert!(report.contains("5.00 ms faster") && report.contains("12.0 ms slower"), "{report}");
    assert!(report.contains("0.50 (0.45–0.55)"), "{report}");
    assert!(report.contains("warning: The machine drifted. Let it rest."));
    let joined = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = verdict(&document).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.ends_with(&sentence), "{report}");
    assert!(!text(&Sample { factors: vec![], ..three() }.document(), "term").contains("clients"));
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
fn a_page_is_well_formed_and_loads_nothing() {
    let mut failed = three().document();
    sample::fail(&mut failed, "sqlite", "no");
    let mut empty = three().document();
    empty.trials.clear();
    empty.cells.clear();
    empty.comparisons.clear();
    let one = Sample { engines: vec!["sqlite"], factors: vec![], ..three() }.document();
    for document in [three().document(), one, failed, empty, hostile()] {
        let page = text(&document, "html");
        assert_closed(&page);
        // A link leads to another part of the page alone.
        let page = page.replace("href=\"#", "");
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
fn a_page_escapes_what_comes_from_outside() {
    let page = text(&hostile(), "html");
    assert_eq!(page.matches("<script>").count(), 1, "its own script alone");
    assert!(!page.contains("alert(\""));
    assert!(page.contains("&lt;script&gt;"));
}

/// A figure is worth little without what measured it.
#[test]
fn every_format_names_the_version_that_measured() {
    let mut document = three().document();
    document.run.run.version = "0.7.9 (0123abcde)".into();
    for format in Reports::standard().formats() {
        let text = text(&document, format).replace('\\', "");
        assert!(text.contains("0.7.9 (0123abcde)"), "{format}: {text}");
    }
    let rows = text(&document, "csv");
    let with = rows.lines().filter(|line| line.contains("0.7.9 (0123abcde)"));
    assert_eq!(with.count(), document.trials.len() * document.run.run.operations.len());
}

/// What a document of a version says of its program.
fn provenance(version: &str) -> String {
    let mut document = three().document();
    document.run.run.version = version.into();
    let page = text(&document, "md").replace('\\', "");
    let (_, method) = page.split_once("## How it was measured").expect("the section");
    method.trim_start().lines().next().unwrap_or_default().to_owned()
}

#[test]
fn the_method_begins_with_the_program_and_says_whether_others_can_build_it() {
    let clean = provenance("0.1.0 (0123abcde)");
    assert!(clean.starts_with("Measured by bakeoff 0.1.0 (0123abcde). "), "{clean}");
    assert!(
        clean.contains(&format!("SHA-256 of its program is {}.", "0123456789abcdef".repeat(4)))
    );
    assert!(!clean.contains("uncommitted") && !clean.contains("not known"), "{clean}");
    let dirty = provenance("0.1.0 (0123abcde-dirty)");
    let said =
        "This program was built from a tree with uncommitted changes: nobody else can build it.";
    assert!(dirty.contains(said), "{dirty}");
    let unknown = provenance("0.1.0");
    assert!(
        unknown.contains("The source revision that it was built from is not known."),
        "{unknown}"
    );
}

#[test]
fn what_went_on_with_a_run_stands_in_the_method_and_in_each_row_of_its_trials() {
    let mut document = three().document();
    let by = Platform {
        version: "0.2.0 (456789abc)".into(),
        program_sha256: Some("f".repeat(64)),
        kernel: "6.12.9".into(),
        kernel_version: None,
    };
    let of_first = document.trials.len() - 4;
    document.run.run.takeovers = vec![Takeover { by, trials: of_first as u32, cuts: 0 }];
    let page = text(&document, "md").replace('\\', "");
    let said = format!(
        "After {of_first} trials bakeoff 0.2.0 (456789abc), SHA-256 {}, went on with the run, under the kernel \
         6.12.9.",
        "f".repeat(64)
    );
    assert!(page.contains(&said), "{page}");
    let rows = text(&document, "csv");
    let count = |version: &str| rows.lines().filter(|line| line.contains(version)).count();
    let operations = document.run.run.operations.len();
    assert_eq!(count("0.2.0 (456789abc)"), 4 * operations);
    assert_eq!(count("0.1.0 (0123abcde)"), of_first * operations);
}

#[test]
fn the_machine_is_told_with_what_its_system_tells_and_nothing_else() {
    let page = text(&three().document(), "md").replace('\\', "");
    for fact in ["CPU frequency governor", "SMT", "transparent huge pages", "mount options"] {
        assert!(page.contains(fact), "{fact}");
    }
    assert!(page.contains("rw,relatime,errors=remount-ro") && !page.contains("hardware"), "{page}");
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

#[test]
fn a_page_has_its_parts_in_order() {
    let mut document = three().document();
    document.noise = vec![noise::noise(&document, 1.0, 0.97, 1.03)];
    document.warnings.push(drifted());
    let page = text(&document, "html");
    let mut at = 0;
    for part in [
        "<h1 dir=\"auto\">Which embedded engine",
        "Imaginary Processor",
        "2025-10-09",
        "60, 5 of each; each 10 s<",
        "3.0 %",
        "lmdb is fastest in all 8 comparisons",
        "Fair confidence",
        "Machine drifted. Good enough to rule a choice out.",
        "<table class=\"strips",
        "against the fastest",
        "<h2>What could mislead?</h2>",
        "<em>Machine drifted.</em> The machine drifted.",
        "<h2>All cells</h2>",
        "<h2>The slowest operations</h2>",
        "<h2>create_issue</h2>",
        "<caption>create_issue: every cell</caption>",
        "<h2>process_issues</h2>",
        "<h2>What it cost</h2>",
        "What the engines counted of themselves",
        "<h2>Space on disk</h2>",
        "<h2>What each engine was set to</h2>",
        "synchronous = FULL",
        "Settings that differ from the default, and why",
        "<h2>What the background I&#x2f;O did</h2>",
        "<h2>Every trial</h2>",
        "<h2>What could mislead</h2>",
        "The machine drifted. Let it rest.",
        "<h2>How it was measured</h2>",
        "<h3>The machine</h3>",
        "<h2>Run it again</h2>",
        "<pre><code>bakeoff run redmine",
    ] {
        let found = page[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part} is missing, or out of order"));
    }
}

#[test]
fn costs_stand_in_every_format() {
    let mut document = three().document();
    let markdown = text(&document, "md");
    let row = "| 1 | 0 | lmdb | 6.50 | 1.07 | 70.5 MB | 388 µs |";
    assert!(markdown.contains(row), "{markdown}");
    let term = text(&document, "term");
    assert!(term.contains("What it cost") && term.contains("388 µs"), "{term}");
    let page = text(&document, "html");
    assert!(page.contains("<td class=\"n\">6.50</td><td class=\"n\">1.07</td>"));
    assert!(page.contains("Syncs as seen by the virtual disk: each fsync"));
    let rows = parse_csv(&text(&document, "csv"));
    let column = |name: &str| rows[0].iter().position(|n| n == name).expect(name);
    let lmdb = rows.iter().find(|row| row[column("engine")] == "lmdb").expect("a row");
    for (name, value) in [
        ("application_bytes", "1000000"),
        ("device_bytes", "6500000"),
        ("syncs", "2140"),
        ("syncs_counted_by", "disk"),
        ("write_amplification", "6.5"),
        ("syncs_per_commit", "1.07"),
        ("settings", "cache_size=unlimited; synchronous=strict; page_size=8192"),
    ] {
        assert_eq!(lmdb[column(name)], value, "{name}");
    }

    // Flushes of the device are not the engine's alone; and an older run counted nothing.
    for cell in &mut document.cells {
        let cost = cell.cost.as_mut().expect("a cost");
        cost.sums.syncs.as_mut().expect("syncs").counted_by =
            bakeoff_analysis::SyncObserver::Device;
    }
    assert!(text(&document, "md").contains("| 1.07 (device) |"));
    document.cells.iter_mut().for_each(|cell| cell.cost = None);
    for format in ["html", "md", "term"] {
        assert!(!text(&document, format).to_lowercase().contains("what it cost"));
    }
}

#[test]
fn settings_say_where_they_hold_and_why() {
    let factors =
        vec![("durability", vec!["relaxed", "strict"]), ("memory", vec!["256M", "unlimited"])];
    let markdown = text(&Sample { factors, ..three() }.document(), "md");
    for row in [
        "| lmdb | cache\\_size | 256M | 256M memory | its share of the memory |",
        "| lmdb | synchronous | strict | strict | gives the durability |",
        "| lmdb | page\\_size | 8192 |  | yours |",
    ] {
        assert!(markdown.contains(row), "{row} is not in {markdown}");
    }
    let plain = text(&three().document(), "md");
    assert!(plain.contains("| lmdb | synchronous | strict |  | gives the durability |"), "{plain}");
}

#[test]
fn a_failed_cell_says_so_and_has_no_mark() {
    let mut document = three().document();
    sample::fail(&mut document, "fjall", "the disk was full");
    let page = text(&document, "html");
    assert!(page.contains("no trial") && page.contains(">no trial that counts</text>"));
    assert!(page.contains("does not count: the disk was full"));
}

#[test]
fn columns_with_a_figure_are_shown() {
    // 4 clients at 5 ms back a p99, and one client of sqlite does not.
    let markdown = text(&three().document(), "md");
    let head = "| engine | mean | ratio | 95 % interval | verdict | per second | p50 | p95 | p99 | trials |";
    assert!(markdown.contains(head), "{markdown}");
    let page = text(&three().document(), "html");
    assert!(page.contains(">p95<") && page.contains(">p99<"));
    let one = Sample { engines: vec!["sqlite"], ..three() }.document();
    assert!(!text(&one, "md").contains("| ratio |"));
}

#[test]
fn what_is_too_wide_is_not_spelled_out() {
    let mut document = three().document();
    for comparison in &mut document.comparisons {
        (comparison.low, comparison.high) = (Some(7.5e-5), Some(7.3e5));
    }
    document.noise = vec![noise::noise(&document, 1.0, 1e-3, 1e3)];
    for format in ["html", "md", "term"] {
        let report = text(&document, format);
        let noise = "too few repetitions of sqlite, which was entered twice";
        assert!(report.contains(noise), "{report}");
        assert!(report.contains("wide") && !report.contains("7.3e5"), "{report}");
    }
    assert!(text(&document, "json").contains("730000"));
}

#[test]
fn a_trial_that_was_set_aside_says_so() {
    let mut document = three().document();
    let mut again = document.trials[0].clone();
    (document.trials[0].valid, again.attempt) = (false, 1);
    document.trials[0].reason = Some("the run was interrupted".into());
    document.trials.push(again);
    let page = text(&document, "html");
    assert!(page.contains(">set aside: the run was interrupted<"));
    assert!(!page.contains("does not count:"));
}
