//! What is shown of trials over time.

use bakeoff_analysis::{CellView, Document, LinePiece, OperationSeries, SlotView, TrialSeries};
use bakeoff_report::{CsvRows, Options};
use bakeoff_results::{Debts, OwedSeries, PaymentSeries, TrialSummary};

use crate::formats::text;
use crate::sample::over_time::{RAN_S, over_time};
use crate::sample::{Sample, all, render};

const HOSTILE: &str = "<script>\"'&";

/// The page's section, and the charts in it.
fn section(document: &Document) -> String {
    let page = text(document, "html");
    let (_, rest) = page.split_once("<section id=\"over-time\">").expect("a section");
    rest.split("</section>").next().expect("its end").to_owned()
}

fn charts(section: &str) -> Vec<&str> {
    section.split("<svg role=\"img\"").skip(1).filter_map(|it| it.split("</svg>").next()).collect()
}

fn terminal(document: &Document, width: usize, unicode: bool) -> String {
    let options = Options { color: false, width, unicode, ..Options::default() };
    let text = render(document, "term", &options).expect("a report");
    let (_, rest) = text.split_once("Over time\n").expect("a section");
    rest.split("\n\nThe slowest operations").next().expect("its end").to_owned()
}

#[test]
fn a_setting_has_a_line_an_engine_and_a_chart_of_what_each_owed() {
    let section = section(&over_time(270));
    let charts = charts(&section);
    // Two settings; one of the three engines does not say what it owes.
    assert_eq!(charts.len(), 2 * 3);
    // Throughput never stops; the latency of two engines does, where nothing ended.
    for (style, lines) in [("c0", 1 + 7), ("c1", 1 + 1), ("c2", 1 + 2)] {
        let line = format!("<polyline class=\"course {style}\"");
        assert_eq!(charts[0].matches(&line).count(), lines, "{style}");
    }
    assert!(charts[0].contains("first, the second and the last third of the trial: sqlite 85.4"));
    assert_eq!(charts[1].matches("<line class=\"limit\"").count(), 2);
    assert_eq!(charts[1].matches("<line class=\"moment c0\"").count(), 8);
    assert!(charts[1].contains("checkpoint: 8 ended"));
    // A limit that is a thousand times as much would make a line of what is owed.
    assert_eq!(charts[2].matches("<line class=\"limit\"").count(), 1);
    assert!(charts[2].contains("its limit of 64.0 GB is far off"));
    assert!(section.contains("What sqlite owed, with no neighbours"));
    for bad in ["NaN", "inf", "min-width"] {
        assert!(charts.iter().all(|chart| !chart.contains(bad)), "{bad}");
    }
}

/// Where a line begins and ends on the page.
fn ends(stripe: &str) -> (f64, f64) {
    let of = |name: &str| -> f64 {
        stripe.split(name).nth(1).and_then(|it| it.split('"').next()).unwrap().parse().unwrap()
    };
    (of(" x=\""), of(" width=\""))
}

/// Three seconds of which one had no operation, among 900: neither the mean nor the line shows it.
#[test]
fn a_second_without_operations_is_seen() {
    let mut document = over_time(300);
    let even = |at: u32, least: f64| LinePiece {
        start_s: 3.0 * f64::from(at),
        end_s: 3.0 * f64::from(at) + 3.0,
        mean: Some(50.0),
        least: Some(least),
        most: Some(60.0),
    };
    for cell in &mut document.cells {
        let course = cell.over_time.as_mut().unwrap();
        (course.ran_s, course.window_s) = (900.0, None);
        course.per_second = (0..300).map(|at| even(at, 40.0)).collect();
    }
    let quiet = section(&document);
    assert!(
        !quiet.contains("seconds without any") && !terminal(&document, 80, true).contains("0█")
    );
    document.cells[1].over_time.as_mut().unwrap().per_second[200] = even(200, 0.0);
    let shown = section(&document);
    let stripes: Vec<&str> = shown.split("<rect class=\"ink c").skip(1).collect();
    let [stripe] = stripes[..] else { panic!("{} stripes", stripes.len()) };
    assert!(
        stripe.starts_with('1') && stripe.contains("lmdb: seconds without any, 600 s to 603 s")
    );
    let (at, width) = ends(stripe);
    assert!((84.0 + 660.0 * 600.0 / 900.0 - at).abs() < 0.2 && width > 2.0, "{at}, {width}");
    for (unicode, full) in [(true, '█'), (false, '#')] {
        let plots = terminal(&document, 80, unicode);
        let row = plots.lines().filter(|line| line.contains(&format!("{full}0{full}")));
        assert_eq!(row.count(), 1, "{plots}");
    }
}

#[test]
fn a_terminal_that_has_only_ascii_is_shown_no_blocks() {
    let document = over_time(270);
    let plain = terminal(&document, 80, false);
    let blocks = |text: &str| text.chars().any(|sign| ('\u{2580}'..='\u{259f}').contains(&sign));
    assert!(!blocks(&plain) && plain.contains('#'), "{plain}");
    let full = terminal(&document, 80, true);
    assert!(blocks(&full));
    assert_eq!(plain.lines().count(), full.lines().count());
    // The one is near its limit, the other is not.
    assert!(full.contains(" 98 % full\n") && full.contains(" 54.9 MB\n"), "{full}");
    for (width, unicode) in [(40, true), (60, false), (200, true)] {
        let text = terminal(&document, width, unicode);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{width}: {widest:?}\n{text}");
    }
}

/// Both halves of a plot are as high as they should be: a row of a whole and one of nothing.
#[test]
fn plots_are_of_one_height_for_all_engines() {
    let plots = terminal(&over_time(270), 80, true);
    let (_, after) = plots.split_once("4 neighbours\noperations a second").expect("a setting");
    let rows: Vec<&str> = after.lines().skip(1).take(9).collect();
    let bars = |engine: usize, half: usize| {
        let rows = &rows[3 * engine..3 * engine + 3];
        let plot = rows.iter().map(|row| row.chars().skip(7).take(61).collect::<Vec<_>>());
        let sign = |sign: &&char| BLOCKS.contains(**sign);
        plot.map(|row| row.iter().skip(31 * half).take(30).filter(sign).count()).sum::<usize>()
    };
    for engine in 0..3 {
        assert!(bars(engine, 0) > 2 * bars(engine, 1), "{engine}:\n{}", rows.join("\n"));
    }
}

const BLOCKS: &str = "▁▂▃▄▅▆▇█";

#[test]
fn short_trials_have_no_section_over_time() {
    let document = Sample::default().document();
    for format in ["html", "md", "term"] {
        assert!(!text(&document, format).contains("Over time"), "{format}");
    }
}

/// The four settings that went least evenly are shown, in their order; a page has the others when they
/// are opened, and a table of all.
#[test]
fn many_settings_are_folded() {
    let neighbours = ["0", "25%", "x1", "x2", "x4", "x8"];
    let course = over_time(30).cells[0].over_time.clone();
    let factors = vec![("neighbours", neighbours.to_vec())];
    let mut document = Sample { factors, ..all::plausible() }.document();
    document.cells.iter_mut().for_each(|cell| cell.over_time = course.clone());
    let even = |cell: &&mut CellView| ["0", "x1"].contains(&cell.levels["neighbours"].as_str());
    for cell in document.cells.iter_mut().filter(even) {
        cell.over_time.as_mut().unwrap().thirds_per_second = [50.0, 40.0, 45.0];
    }
    let page = section(&document);
    let (shown, folded) = page.split_once("<details class=\"long\">").expect("details");
    let (folded, table) = folded.split_once("</details>").expect("its end");
    // A chart of all engines, and one of what each of three owed.
    assert_eq!((charts(shown).len(), charts(folded).len(), charts(table).len()), (16, 8, 0));
    assert!(folded.contains("2 settings over time, more even than those above"));
    let captions: Vec<&str> = page.split("<figcaption>").skip(1).collect();
    let captions: Vec<&str> = captions.iter().filter_map(|it| it.split('<').next()).collect();
    let settings: Vec<&str> = captions.into_iter().filter(|it| !it.starts_with("What")).collect();
    let order = ["Neighbours at 25 %", "2 neighbours", "4 neighbours", "8 neighbours"];
    assert_eq!(settings, [&order[..], &["No neighbours", "1 neighbour"]].concat());
    assert_eq!(table.matches("<th scope=\"row\">").count(), 6 * 3);
    let plots = terminal(&document, 80, true);
    assert_eq!(plots.matches("operations a second").count(), 4);
    let ids: Vec<&str> = page.split("aria-labelledby=\"").skip(1).collect();
    let ids: std::collections::BTreeSet<&str> =
        ids.iter().filter_map(|it| it.split('"').next()).collect();
    assert_eq!(ids.len(), 24, "every chart has a name of its own");
}

/// A trial of two seconds, in the second of which nothing ended, with a look and a payment.
fn series(seconds: u64) -> TrialSeries {
    let slot = |at: u64| SlotView {
        start_s: at as f64,
        end_s: at as f64 + 1.0,
        count: seconds - 1 - at,
        latency_s: (at + 1 < seconds).then_some([0.25, 0.5, 2.0]),
    };
    let name = "create_issue".to_owned();
    let operations = vec![OperationSeries { name, slots: (0..seconds).map(slot).collect() }];
    let owed = OwedSeries {
        name: "log since the checkpoint".to_owned(),
        unit: "bytes".to_owned(),
        limit: Some(84_000_000),
        points: vec![(0.5, 18), (1.5, 36)],
    };
    let payment = PaymentSeries { name: "checkpoint".to_owned(), ended: vec![(1.5, 3)] };
    let debts = Debts { owed: vec![owed], payments: vec![payment] };
    TrialSeries { operations, debts }
}

/// The trials that are in no figure are in the series, too; a trial that failed has no row.
#[test]
fn every_second_of_every_trial_is_a_row_of_the_series() {
    let mut document = Sample::default().document();
    (document.trials[1].valid, document.trials[1].attempt) = (false, 7);
    document.trials[2].operations.clear();
    let lengths = (0..document.trials.len() as u64).map(|at| 2 + at);
    document.series = lengths.clone().map(series).collect();
    document.series[2] = TrialSeries::default();
    let options = Options { rows: Some(CsvRows::Series), ..Options::default() };
    let csv = render(&document, "csv", &options).expect("a table");
    let lines: Vec<&str> = csv.split("\r\n").filter(|line| !line.is_empty()).collect();
    let rows = lengths.map(|seconds| seconds + 3).sum::<u64>() - (2 + 2 + 3);
    assert_eq!(lines.len() as u64, 1 + rows);
    let first = &document.trials[0];
    let start = |at: usize| {
        let trial = &document.trials[at];
        let levels: Vec<&str> =
            document.run.run.factors.iter().map(|(f, _)| &*trial.levels[f]).collect();
        let TrialSummary { block, attempt, order, .. } = trial;
        format!("{},{block},{attempt},{order}", levels.join(","))
    };
    let factors: Vec<&str> = document.run.run.factors.iter().map(|(f, _)| &**f).collect();
    let head = format!(
        "{},block,attempt,order,valid,kind,name,start_s,end_s,count,mean_s,least_s,most_s,amount,unit,\
         limit",
        factors.join(",")
    );
    assert_eq!(lines[0], head);
    assert!(first.valid);
    let (start, aside) = (start(0), start(1));
    let of_the_first = [
        format!("{start},true,operation,create_issue,0,1,1,0.5,0.25,2,,,"),
        format!("{start},true,operation,create_issue,1,2,0,,,,,,"),
        format!("{start},true,owed,log since the checkpoint,0.5,0.5,,,,,18,bytes,84000000"),
        format!("{start},true,owed,log since the checkpoint,1.5,1.5,,,,,36,bytes,84000000"),
        format!("{start},true,payment,checkpoint,1.5,1.5,3,,,,,,"),
    ];
    assert_eq!(lines[1..6], of_the_first);
    assert!(lines[6].starts_with(&format!("{aside},false,operation,")), "{}", lines[6]);
}

/// A debt of nothing with a limit of nothing, a trial without an operation.
#[test]
fn nothing_is_no_reason_for_nonsense() {
    let mut document = over_time(30);
    let course = document.cells[0].over_time.as_mut().unwrap();
    course.owed[0].limit = Some(0);
    let lines = [&mut course.per_second, &mut course.owed[0].pieces];
    for piece in lines.into_iter().flatten() {
        (piece.mean, piece.least, piece.most) = (Some(0.0), Some(0.0), Some(0.0));
    }
    course.latency_s.clear();
    course.thirds_per_second = [0.0; 3];
    for text in [section(&document), terminal(&document, 80, true), text(&document, "md")] {
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}

#[test]
fn names_of_others_are_escaped_in_charts() {
    let mut document = over_time(30);
    let course = document.cells[0].over_time.as_mut().unwrap();
    course.owed[0].name = HOSTILE.into();
    course.payments[0].name = HOSTILE.into();
    course.ran_s = RAN_S * 1e300;
    let section = section(&document);
    assert!(!section.contains(HOSTILE) && section.contains("&lt;script&gt;&quot;&#x27;&amp;"));
    assert!(!section.contains("NaN") && !section.contains("inf"), "{section}");
}
