//! The samples that are looked at, and held against their snapshots.

use bakeoff_analysis::{Document, Warning, WarningKind};
use bakeoff_results::{FigureOfMerit, Levels};

use super::{Sample, broken, cut_off, files, noise, over_time, rate};

/// Every sample that is small enough to be kept as text, and its name.
pub fn all() -> Vec<(&'static str, Document)> {
    vec![
        ("one", Sample { engines: vec!["sqlite"], ..plausible() }.document()),
        ("plain", plain()),
        ("pairs4", pairs4()),
        ("pairs15", pairs15()),
        ("durability", durability()),
        ("failed", failed()),
        ("open", open()),
        ("cut-off", cut_off()),
        ("extreme", extreme()),
        ("cuts", broken::broken("torn", "client 1: 3 is torn")),
        ("files", files::files()),
        ("over-time", over_time::over_time(20)),
        ("rate", rate::rate(pairs4(), FigureOfMerit::Rows)),
    ]
}

/// Figures of the order that embedded engines show.
pub fn plausible() -> Sample {
    let engines = vec!["sqlite", "lmdb", "fjall"];
    Sample { engines, blocks: 2, mean, half_width: 0.08, ..Sample::default() }
}

fn mean(operation: &str, levels: &Levels) -> f64 {
    let number = |factor: &str| -> f64 {
        let level = levels.get(factor).map_or("0", String::as_str);
        level.trim_start_matches('x').trim_end_matches('%').parse().unwrap_or(0.0)
    };
    let (engine, flash) = match levels["engine"].as_str() {
        "sqlite" => (1.0, 1.0),
        "lmdb" => (0.48, 1.35),
        "null" => (0.0002, 0.0),
        _ => (0.86, 0.7),
    };
    let work = if operation == "create_issue" { 0.0062 } else { 0.0117 };
    let neighbours = if levels.get("neighbours").is_some_and(|l| l == "25%") {
        0.3
    } else {
        number("neighbours")
    };
    let strict = levels.get("durability").is_some_and(|d| d == "strict");
    let commits = if strict { 5.5 * flash } else { 0.3 * flash };
    work * engine * number("clients").max(1.0).powf(0.85) * (1.0 + neighbours * commits)
}

fn plain() -> Document {
    Sample { factors: vec![], ..plausible() }.document()
}

fn pairs4() -> Document {
    let mut document =
        Sample { engines: vec!["sqlite", "lmdb", "fjall", "null"], ..plausible() }.document();
    document.noise = vec![noise::noise(&document, 1.01, 0.98, 1.04)];
    document
}

fn pairs15() -> Document {
    let factors =
        vec![("clients", vec!["1", "2", "4"]), ("neighbours", vec!["0", "25%", "x1", "x2", "x4"])];
    Sample { factors, ..plausible() }.document()
}

fn durability() -> Document {
    let factors = vec![
        ("durability", vec!["relaxed", "strict"]),
        ("clients", vec!["1", "4"]),
        ("neighbours", vec!["0", "x2"]),
    ];
    Sample { factors, ..plausible() }.document()
}

fn failed() -> Document {
    let mut document = pairs4();
    super::fail(
        &mut document,
        "fjall",
        "the engine's process ended with signal 9 <script>alert(1)</script>",
    );
    document.run.status = bakeoff_results::Status::Interrupted;
    document.trials.truncate(20);
    document.warnings = vec![
        Warning::new(
            WarningKind::MachineDrifted,
            "the machine itself changed during the run (synced append 9 % slower at its end); \
             comparisons inside blocks are still sound, figures of cells are not",
        ),
        Warning::new(
            WarningKind::Retries,
            "in 3 of 32 trials transactions were run again, at worst 0.03 for each operation, at \
             engine sqlite; the latencies include it",
        ),
    ];
    document
}

/// Operations that were due at a rate, and an engine that could not keep up with it.
fn open() -> Document {
    let mut document = pairs4();
    super::open(&mut document, "sqlite");
    document.warnings = vec![
        Warning::new(
            WarningKind::NotKeptUp,
            "4 of 16 cells did not keep up with the rate that was offered, at worst 30 % of what was \
             due had not started when the time was over, at engine sqlite, clients 1, neighbours 0: \
             response times there only grow with the length of the trial",
        )
        .remedy("offer a lower rate to learn what it can serve"),
    ];
    document
}

/// An engine whose operations were still running when its trials were cut off, and too few of them at
/// four clients.
fn cut_off() -> Document {
    let mut document = pairs4();
    cut_off::cut_off(&mut document, "fjall");
    let comparisons = document.comparisons.iter_mut().chain(&mut document.between);
    for it in comparisons.filter(|it| it.levels["clients"] == "4") {
        if it.level == "fjall" || it.baseline == "fjall" {
            (it.fewest_operations, it.verdict) = (Some(11), bakeoff_analysis::Verdict::TooFew);
        }
    }
    document
}

/// Long names, and values from nanoseconds to hours.
fn extreme() -> Document {
    let mean = |operation: &str, levels: &Levels| {
        let engine: f64 = match levels["engine"].as_str() {
            "an_engine_with_a_very_long_name_indeed" => 1.0,
            "tiny" => 1e-6,
            _ => 40.0,
        };
        engine * if operation == "x" { 3e-3 } else { 900.0 }
    };
    let engines = vec!["an_engine_with_a_very_long_name_indeed", "tiny", "huge"];
    let operations = vec!["x", "an_operation_whose_name_goes_on_and_on_and_on_and_on"];
    Sample { engines, operations, mean, half_width: 0.9, ..Sample::default() }.document()
}
