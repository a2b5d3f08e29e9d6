//! How it is shown what the work took, and what the rows take on disk.

use bakeoff_analysis::{CostView, Document, Each, Lack, Unknown, WorkFigure};
use bakeoff_report::Options;
use bakeoff_results::measure::CPU;
use bakeoff_results::{FigureOfMerit, Scope};

use crate::formats::{parse_csv, three};
use crate::sample::files::files;
use crate::sample::rate::rate;
use crate::sample::{Sample, render};

const SHOWN: [&str; 3] = ["html", "md", "term"];
const TITLE: &str = "What the work took of cache, device and processor";

/// Each row took a quarter of a miss (but of lmdb's, which has no cache), an eighth of a read and 512 bytes,
/// and was 128 bytes long.
fn document() -> Document {
    let sample = Sample { factors: vec![("clients", vec!["1"])], ..three() };
    rate(sample.document(), FigureOfMerit::Rows)
}

fn text(document: &Document, format: &str) -> String {
    render(document, format, &Options { width: 250, ..Options::default() }).unwrap()
}

/// The cells of the first row of the table in Markdown that is of an engine, by their columns.
fn row(document: &Document, engine: &str) -> Vec<(String, String)> {
    let markdown = text(document, "md").replace('\\', "");
    let part = markdown.split(TITLE).nth(1).expect("the section");
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let table = || part.lines().filter(|line| line.starts_with('|')).map(cells);
    let head = table().next().expect("a heading");
    let found = table().find(|cells| cells[0] == engine).expect("a row");
    head.into_iter().zip(found).collect()
}

fn cell(document: &Document, engine: &str, column: &str) -> String {
    let row = row(document, engine);
    let found = row.iter().find(|(name, _)| name == column);
    found.unwrap_or_else(|| panic!("no {column} in {row:?}")).1.clone()
}

#[test]
fn beside_rows_a_second_stands_what_each_took() {
    let document = document();
    for (column, wanted) in [
        ("rows a second", "4000"),
        ("cache misses a row", "0.250"),
        ("device reads a row", "0.125"),
        ("device bytes read a row", "512 bytes"),
        ("read amplification", "4.00"),
        ("write amplification", "4.50"),
    ] {
        assert_eq!(cell(&document, "sqlite", column), wanted, "{column}");
    }
    // Each of the trials did 8000 operations with 40 rows each.
    let own = document.trials.iter().filter(|trial| trial.levels["engine"] == "sqlite");
    let own: Vec<_> = own.collect();
    for (column, scope) in
        [("engine CPU a row", Scope::DATABASE), ("clients’ CPU a row", Scope::Clients)]
    {
        let sum: f64 = own.iter().map(|it| it.measures.get(&CPU, &scope).unwrap()).sum();
        let microseconds = 1e6 * sum / (own.len() as f64 * 8000.0 * 40.0);
        let shown = cell(&document, "sqlite", column);
        let shown: f64 = shown.strip_suffix(" µs").expect("microseconds").parse().unwrap();
        assert!((shown / microseconds - 1.0).abs() < 0.01, "{column}: {shown} {microseconds}");
    }
    for format in SHOWN {
        let text = text(&document, format);
        for part in [TITLE, "0.250", "0.125", "512 bytes"] {
            assert!(text.contains(part), "{part} is not in {format}: {text}");
        }
    }
}

#[test]
fn what_is_not_known_is_a_dash_with_its_reason() {
    let mut document = document();
    assert_eq!(cell(&document, "lmdb", "cache misses a row"), "–");
    let because = "No cache misses of lmdb: no counter of the engine’s tells, since it has no cache of \
                   its own or keeps no count.";
    for format in SHOWN {
        let text = text(&document, format);
        assert!(text.contains(because), "{format}: {text}");
    }
    // Of all of them the column is not there, and the reason is.
    for cell in &mut document.cells {
        let work = cell.work.as_mut().unwrap();
        (work.device_reads, work.lacks) = (None, Vec::new());
        work.lacks.push(Lack { figure: WorkFigure::DeviceReads, why: Unknown::NoVirtualDisk });
    }
    let markdown = text(&document, "md");
    assert!(!markdown.contains("device reads a row"), "{markdown}");
    assert!(markdown.contains("No device reads: only a virtual disk counts them."), "{markdown}");
}

#[test]
fn without_rows_it_is_told_of_operations_and_without_either_not_at_all() {
    let mut document = document();
    let each = |document: &mut Document, each| {
        for cell in &mut document.cells {
            cell.work.as_mut().unwrap().each = each;
        }
    };
    each(&mut document, Each::Operation);
    assert_eq!(cell(&document, "sqlite", "operations a second"), "100");
    assert_eq!(cell(&document, "sqlite", "device reads an operation"), "0.125");
    document.cells.iter_mut().for_each(|cell| cell.work = None);
    for format in SHOWN {
        assert!(!text(&document, format).contains(TITLE), "{format}");
    }
}

#[test]
fn the_write_amplification_is_the_cost_s() {
    let mut document = document();
    for cell in &mut document.cells {
        let cost = cell.cost.as_mut().unwrap();
        cost.sums.device_bytes = Some(7_250_000);
        *cost = CostView::from(cost.sums);
    }
    assert_eq!(cell(&document, "sqlite", "write amplification"), "7.25");
}

/// 20 MB were loaded, and sqlite takes 49.5 MB of the disk.
#[test]
fn the_space_stands_beside_the_bytes_of_the_rows() {
    let document = document();
    for format in SHOWN {
        let text = text(&document, format);
        for part in ["49.5 MB", "2.48"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    for part in ["space per byte of the rows", "median per byte of the rows"] {
        assert!(text(&document, "html").contains(part), "{part}");
    }
    let without = Sample::default().document();
    for format in SHOWN {
        let text = text(&without, format);
        assert!(!text.contains("er byte of the rows"), "{format}: {text}");
    }
}

#[test]
fn csv_and_json_have_it_of_every_trial_and_cell() {
    let document = document();
    let csv = parse_csv(&text(&document, "csv"));
    let column = |name: &str| csv[0].iter().position(|it| it == name).expect(name);
    let engine = |row: &&Vec<String>, name: &str| row[column("engine")] == name;
    let sqlite = csv.iter().find(|row| engine(row, "sqlite")).unwrap();
    let lmdb = csv.iter().find(|row| engine(row, "lmdb")).unwrap();
    for (name, wanted) in [
        ("work_rows", "320000"),
        ("returned_bytes", "40960000"),
        ("loaded_bytes", "20000000"),
        ("cache_misses", "80000"),
        ("cache_misses_per_row", "0.25"),
        ("device_reads_per_row", "0.125"),
        ("device_read_bytes_per_row", "512"),
        ("read_amplification", "4"),
        ("space_amplification", "2.475"),
    ] {
        assert_eq!(sqlite[column(name)], wanted, "{name}");
    }
    assert_eq!(lmdb[column("cache_misses_per_row")], "");
    let json: serde_json::Value = serde_json::from_str(&text(&document, "json")).unwrap();
    let cell = |at: usize, path: &str| json["cells"][at].pointer(path).expect(path).clone();
    assert_eq!(cell(0, "/work/cache_misses"), 0.25);
    assert!(cell(1, "/work/cache_misses").is_null());
    assert_eq!(cell(1, "/work/lacks/0/why"), "no-counter");
    assert_eq!(cell(0, "/space/amplification"), 2.475);
}

/// Without engines there is no cost, but errors by their kinds are among the counters.
#[test]
fn what_a_target_without_engines_counted_of_itself_is_shown() {
    let mut document = files();
    let title = "What the target counted of itself";
    assert!(!text(&document, "html").contains(title), "it counted nothing");
    for cell in &mut document.cells {
        let counted = [("page.wrong_status", 6), ("page.closed", 0)];
        cell.counters = counted.map(|(name, count)| (name.to_owned(), count)).into();
    }
    for format in ["html", "md"] {
        let shown = text(&document, format).replace('\\', "");
        assert!(shown.contains(title) && shown.contains("page.wrong_status"), "{format}");
        assert!(!shown.contains("page.closed"), "{format}: it never happened");
        assert!(!shown.contains("What the engines counted"), "{format}");
    }
}
