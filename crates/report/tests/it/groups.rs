//! How groups of processes are shown.

use bakeoff_analysis::{Document, GroupView};
use bakeoff_report::Options;
use bakeoff_results::Scope;
use bakeoff_results::measure::{CPU, CPU_LIMIT, CPU_THROTTLED, MEMORY_PEAK, SYNCS};

use crate::sample::{Sample, render};

const SHOWN: [&str; 3] = ["html", "md", "term"];

fn text(document: &Document, format: &str) -> String {
    render(document, format, &Options { width: 200, ..Options::default() }).unwrap()
}

/// A group that nothing was measured of but its processor time.
fn group(name: &str, cpu_s: f64) -> GroupView {
    GroupView {
        name: name.into(),
        cpu_s: Some(cpu_s),
        drain_cpu_s: None,
        cpu_per_operation_s: Some(cpu_s / 1e3),
        cpu_limit: None,
        cpu_periods: None,
        cpu_throttled: None,
        cpu_waited_s: None,
        memory_limit_bytes: None,
        memory_peak_bytes: None,
        memory_cached_bytes: None,
        read_bytes: None,
        written_bytes: None,
        drain_written_bytes: None,
    }
}

fn with(groups: impl Fn() -> Vec<GroupView>) -> Document {
    let mut document = Sample::default().document();
    document.cells.iter_mut().for_each(|cell| cell.groups = groups());
    document
}

#[test]
fn several_groups_are_shown_by_their_names() {
    let document = with(|| {
        let web = GroupView {
            memory_peak_bytes: Some(77e6),
            written_bytes: Some(31e3),
            ..group("web", 6.25)
        };
        vec![group("database", 3.5), web]
    });
    for format in SHOWN {
        let text = text(&document, format);
        for part in ["group", "web", "6.25 s", "6.25 ms", "77.0 MB", "31.0 kB"] {
            assert!(text.contains(part), "{part} is not in {format}: {text}");
        }
        assert!(!text.contains("quota of a group"), "nothing is limited: {format}");
    }
}

/// A bar a cell, whose parts are the processes: the database first, bakeoff's own last.
#[test]
fn where_the_processor_went_is_a_bar_of_each_process() {
    let document = with(|| vec![group("database", 3.5), group("web", 6.25)]);
    let page = text(&document, "html");
    let chart = page.split("Where the processor went</title>").nth(1).expect("a chart");
    let chart = chart.split("</svg>").next().expect("its end");
    for part in ["sqlite, ", ", database: 3.50 ms, ", ", web: 6.25 ms, ", ", bakeoff’s clients: "]
    {
        assert!(chart.contains(part), "{part}: {chart}");
    }
    let names = ["database", "web", "bakeoff’s clients"];
    let places = names.map(|name| chart.find(&format!(">{name}</text>")).expect("a name"));
    assert!(places.is_sorted(), "{places:?}");
    // Two engines, four conditions.
    assert_eq!(chart.matches(", database: ").count(), 8);
    assert!(!text(&Sample::default().document(), "html").contains("Where the processor went"));
    let text = text(&document, "md");
    assert!(text.contains("6.25 ms") && text.contains("bakeoff’s clients"), "{text}");
}

#[test]
fn one_group_is_shown_as_the_engine_alone() {
    let without = Sample::default().document();
    let one = with(|| vec![group("database", 3.5)]);
    for format in SHOWN {
        assert_eq!(text(&one, format), text(&without, format), "{format}");
    }
}

#[test]
fn a_quota_of_processors_is_shown_with_how_far_it_held_back() {
    let document = with(|| {
        vec![GroupView {
            cpu_limit: Some(0.5),
            cpu_periods: Some(200.0),
            cpu_throttled: Some(50.0),
            cpu_waited_s: Some(1.25),
            ..group("database", 3.5)
        }]
    });
    for format in SHOWN {
        let text = text(&document, format);
        for part in ["used up", "25 %", "1.25 s"] {
            assert!(text.contains(part), "{part} is not in {format}: {text}");
        }
        assert!(!text.contains("3.50 s"), "it stands among the cells: {format}");
    }
}

#[test]
fn csv_has_columns_for_what_was_measured_of_groups() {
    let fields = |document: &Document| {
        let csv = text(document, "csv");
        let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned).collect());
        let head: Vec<String> = lines.next().unwrap();
        (head, lines.next().unwrap())
    };
    let mut document = Sample::default().document();
    let (before, _) = fields(&document);
    assert!(before.iter().all(|name| !name.starts_with("group.")), "{before:?}");
    let measures = &mut document.trials[0].measures;
    measures.set(&CPU, Scope::Processes("web".into()), 6.25);
    measures.set(&MEMORY_PEAK, Scope::Processes("web".into()), 77.0);
    measures.set(&CPU_LIMIT, Scope::DATABASE, 0.5);
    measures.set(&CPU_THROTTLED, Scope::DATABASE, 50.0);
    measures.set(&MEMORY_PEAK, Scope::DATABASE, 99.0);
    measures.set(&SYNCS, Scope::DATABASE, 3.0);
    measures.set(&CPU, Scope::DISK_DAEMON, 1.0);
    let (head, first): (_, Vec<String>) = fields(&document);
    let new: Vec<&str> = head[before.len()..].iter().map(String::as_str).collect();
    let columns =
        ["database.cpu_limit", "database.cpu_throttled", "web.cpu_s", "web.memory_peak_bytes"];
    assert_eq!(new, columns.map(|name| format!("group.{name}")));
    assert_eq!(first[before.len()..], ["0.5", "50", "6.25", "77"]);
    assert_eq!(head[..before.len()], before);
}
