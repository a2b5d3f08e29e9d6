//! A run that is watched for nine minutes.

use bakeoff_analysis::{Document, LinePiece, OverTime, OwedOverTime};
use bakeoff_results::{Levels, PaymentSeries};

use super::{Sample, plausible};

/// How long its trials run, in seconds.
pub const RAN_S: f64 = 540.0;

/// Cells whose lines have so many pieces: one engine stalls after a minute, one slows down after three,
/// one goes down slowly and does not say what it owes.
pub fn over_time(pieces: u32) -> Document {
    let factors = vec![("neighbours", vec!["0", "x4"])];
    let mut document = Sample { factors, ..plausible() }.document();
    document.run.run.seconds = RAN_S;
    for cell in &mut document.cells {
        cell.over_time = Some(course(&cell.levels, pieces));
    }
    document
}

/// Operations a second at a moment, of an engine at a setting.
fn rate(levels: &Levels, at_s: f64) -> f64 {
    let ripple = 1.0 + 0.12 * (at_s / 7.0).sin() + 0.05 * (at_s / 2.3).cos();
    let busy = if levels["neighbours"] == "0" { 3.0 } else { 1.0 };
    let alone = match levels["engine"].as_str() {
        "sqlite" if at_s < 62.0 => 80.0,
        "sqlite" if (250.0..330.0).contains(&at_s) => 9.0,
        "sqlite" if ((at_s / 40.0) as u32).is_multiple_of(2) => 0.0,
        "sqlite" => 0.6,
        "lmdb" if at_s < 215.0 => 60.0,
        "lmdb" if at_s < 270.0 => 20.0,
        "lmdb" => 5.0,
        _ if (238.0..256.0).contains(&at_s) => 0.0,
        _ => 6.0 + 110.0 * (-at_s / 90.0).exp(),
    };
    alone * busy * ripple
}

fn course(levels: &Levels, number: u32) -> OverTime {
    let length = RAN_S / f64::from(number);
    let starts = || (0..number).map(move |at| f64::from(at) * length);
    let per_second = starts().map(|start_s| {
        let mean = rate(levels, start_s);
        // Where the rate is low there are seconds without any.
        let least = if mean < 8.0 { 0.0 } else { mean * 0.8 };
        piece(start_s, length, Some(mean), [least, mean * 1.25])
    });
    let latency_s = starts().map(|start_s| {
        let mean = Some(4.0 / rate(levels, start_s)).filter(|mean| mean.is_finite());
        piece(start_s, length, mean, [mean.unwrap_or(0.0) * 0.7, mean.unwrap_or(0.0) * 1.9])
    });
    let third = |from: f64| {
        let seconds = (0..180).map(|second| rate(levels, from + f64::from(second)));
        seconds.sum::<f64>() / 180.0
    };
    let idle_s = (0..540).filter(|second| rate(levels, f64::from(*second)) == 0.0).count() as f64;
    OverTime {
        block: 1,
        attempt: 0,
        ran_s: RAN_S,
        window_s: Some((27.0, RAN_S)),
        thirds_per_second: [third(0.0), third(180.0), third(360.0)],
        idle_s,
        longest_idle_s: idle_s.min(40.0),
        per_second: per_second.collect(),
        latency_s: latency_s.collect(),
        owed: owed(levels, starts(), length),
        payments: payments(levels),
    }
}

fn piece(start_s: f64, length: f64, mean: Option<f64>, ends: [f64; 2]) -> LinePiece {
    let [least, most] = ends.map(|end| mean.map(|_| end));
    LinePiece { start_s, end_s: start_s + length, mean, least, most }
}

fn owed(
    levels: &Levels,
    starts: impl Iterator<Item = f64> + Clone,
    length: f64,
) -> Vec<OwedOverTime> {
    let series = |name: &str, unit: &str, limit, amount: &dyn Fn(f64) -> f64| OwedOverTime {
        name: name.into(),
        unit: unit.into(),
        limit,
        pieces: starts
            .clone()
            .map(|at| {
                piece(at, length * 0.9, Some(amount(at)), [amount(at) * 0.97, amount(at) * 1.02])
            })
            .collect(),
    };
    match levels["engine"].as_str() {
        "sqlite" => vec![
            series("log since the checkpoint", "bytes", Some(84_000_000), &|at| {
                if at < 60.0 { 1.35e6 * at } else { 81e6 - 2e6 * (at / 11.0).sin() }
            }),
            series("dirty pages", "pages", Some(29_000), &|at| {
                20_000.0 * (1.0 - (-at / 50.0).exp())
            }),
        ],
        "lmdb" => vec![
            series("memtables", "bytes", Some(64_000_000), &|at| (at % 90.0) * 7e5),
            series("files in level 0", "files", None, &|at| (at / 90.0).floor() % 4.0),
            series("pending compaction", "bytes", Some(64_000_000_000), &|at| 1e5 * at),
        ],
        _ => Vec::new(),
    }
}

fn payments(levels: &Levels) -> Vec<PaymentSeries> {
    let series = |name: &str, every: f64| PaymentSeries {
        name: name.into(),
        ended: (1..).map(|n| (f64::from(n) * every, 1)).take_while(|(at, _)| *at < RAN_S).collect(),
    };
    match levels["engine"].as_str() {
        "sqlite" => vec![series("checkpoint", 61.0)],
        "lmdb" => vec![series("flush", 90.0), series("compaction", 350.0)],
        _ => Vec::new(),
    }
}
