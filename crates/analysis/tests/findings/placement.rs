//! docs/findings/placement.md: what it matters on which processors clients and their server run.

use bakeoff_analysis::{Document, select_counted};
use bakeoff_results::TrialSummary;
use bakeoff_stats::paired::{self, CONFIDENCE};

use crate::figures::digits;
use crate::kept::{self, has, levels_of};
use crate::page::{check_file, check_page, csv, table};

const WORKLOADS: [&str; 2] = ["redmine", "oltp"];
const PLACEMENTS: [&str; 3] = ["free", "apart", "together"];

/// The logarithm of the mean time of a trial's operations, in seconds, by its block.
fn logs(trials: &[&TrialSummary], at: &kept::Place<'_>) -> Vec<(u32, f64)> {
    let log = |trial: &&TrialSummary| {
        let logs = trial.operations.iter().map(|it| it.mean_s.map(f64::ln));
        let logs: Vec<f64> = logs.collect::<Option<_>>()?;
        Some((trial.block, logs.iter().sum::<f64>() / logs.len() as f64))
    };
    trials.iter().filter(|trial| has(&trial.levels, at)).filter_map(log).collect()
}

/// The geometric mean in milliseconds, and the standard deviation of its trials in per cent.
fn mean_and_spread(logs: &[(u32, f64)]) -> String {
    let count = logs.len() as f64;
    let mean = logs.iter().map(|(_, log)| log).sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|(_, log)| (log - mean).powi(2)).sum();
    let spread = (squares / (count - 1.0)).sqrt();
    format!("{} | {:.1}", digits(mean.exp() * 1e3), spread.exp_m1() * 100.0)
}

/// How many times as long operations take at the first level, by pairs of a repetition.
fn times(logs: &[(u32, f64)], baseline: &[(u32, f64)]) -> String {
    let pairs = logs.iter().zip(baseline).map(|(one, other)| (other.1.exp(), one.1.exp()));
    let it = paired::estimate_ratio(&pairs.collect::<Vec<_>>(), CONFIDENCE).expect("pairs");
    let [low, high] = [it.low, it.high].map(|end| digits(end.expect("an interval")));
    format!("{} ({low}–{high})", digits(it.ratio))
}

/// The logarithms of a cell's trials at each placement.
fn logs_of(trials: &[&TrialSummary], engine: &str, clients: &str) -> [Vec<(u32, f64)>; 3] {
    PLACEMENTS.map(|placement| {
        logs(trials, &[("engine", engine), ("clients", clients), ("placement", placement)])
    })
}

/// A row of ratios for each engine, and a row of all figures for each cell.
fn rows(workload: &str, document: &Document) -> [Vec<String>; 2] {
    let counted = select_counted(&document.trials);
    let (mut ratios, mut all) = (Vec::new(), Vec::new());
    for engine in levels_of(document, "engine") {
        let mut of_engine = format!("{workload} | {engine}");
        for clients in levels_of(document, "clients") {
            let cells = logs_of(&counted, engine, clients);
            let figures = cells.iter().map(|cell| mean_and_spread(cell)).collect::<Vec<_>>();
            all.push(format!("{workload} | {engine} | {clients} | {}", figures.join(" | ")));
            of_engine += &format!(" | {}", times(&cells[2], &cells[0]));
        }
        ratios.push(of_engine);
    }
    [ratios, all]
}

#[test]
fn the_page_is_of_the_runs() {
    let of = |workload| rows(workload, &kept::read(&format!("findings/placement/{workload}")));
    let [redmine, oltp] = WORKLOADS.map(of);
    let [ratios, all] = [0, 1].map(|part| [&redmine[part][..], &oltp[part]].concat());
    let columns = "workload | engine | 1 client | 4 clients";
    check_page("docs/findings/placement.md", &[("placements", table(columns, ratios))]);
    let columns = PLACEMENTS.map(|it| format!("{it}_ms | {it}_sd_percent")).join(" | ");
    let columns = format!("workload | engine | clients | {columns}");
    check_file("docs/findings/placement/all.csv", &csv(&columns, all));
}
