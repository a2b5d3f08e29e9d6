//! Runs over a numeric factor.

use bakeoff_analysis::{Document, RatioBound};

use super::Sample;

/// An engine with one writer is fastest with a client, another with several.
pub fn crossing() -> Document {
    sample().document()
}

fn sample() -> Sample {
    Sample {
        engines: vec!["sqlite", "lmdb", "fjall"],
        factors: vec![("clients", vec!["1", "2", "4", "8"])],
        mean: |operation, levels| {
            let clients: f64 = levels["clients"].parse().expect("a number");
            let work = if operation == "create_issue" { 0.010 } else { 0.019 };
            work * match levels["engine"].as_str() {
                "sqlite" => clients * clients.powf(0.15),
                "lmdb" => 2.0 * clients.powf(0.1),
                _ => 2.4 * clients.powf(0.4),
            } / if clients > 1.0 && levels["engine"] == "lmdb" { 1.4 } else { 1.0 }
        },
        half_width: 0.04,
        ..Sample::default()
    }
}

/// The one with one writer is fastest up to two clients.
pub fn turning_late() -> Document {
    let mean = |_: &str, levels: &bakeoff_results::Levels| {
        let clients: f64 = levels["clients"].parse().expect("a number");
        if levels["engine"] == "sqlite" { 0.010 * clients } else { 0.030 }
    };
    Sample { engines: vec!["sqlite", "lmdb"], mean, ..sample() }.document()
}

/// The same with a cell that was not run, one that is set aside, one that has no figure, and a bound.
pub fn eventful() -> Document {
    let mut document = sample().document();
    let is = |levels: &bakeoff_results::Levels, engine: &str, clients: &str| {
        levels["engine"] == engine && levels["clients"] == clients
    };
    document.trials.retain(|trial| !is(&trial.levels, "fjall", "4"));
    for trial in &mut document.trials {
        if is(&trial.levels, "lmdb", "2") || is(&trial.levels, "fjall", "2") {
            (trial.valid, trial.reason) = (false, Some("the disk was slow".into()));
        }
        if is(&trial.levels, "fjall", "2") {
            trial.operations.clear();
        }
        if is(&trial.levels, "sqlite", "8") {
            trial.operations[0].unfinished = 3;
        }
    }
    document.cells.retain(|cell| {
        !is(&cell.levels, "fjall", "4")
            && !is(&cell.levels, "lmdb", "2")
            && !is(&cell.levels, "fjall", "2")
    });
    let gone = |it: &bakeoff_analysis::Comparison| {
        let has = |engine: &str| it.level == engine || it.baseline == engine;
        let clients = it.levels["clients"].as_str();
        (has("fjall") && ["2", "4"].contains(&clients)) || (has("lmdb") && clients == "2")
    };
    document.comparisons.retain(|it| !gone(it));
    document.between.retain(|it| !gone(it));
    for it in &mut document.comparisons {
        if it.levels["clients"] == "8" && it.operation == "create_issue" {
            (it.ratio_is, it.low) = (Some(RatioBound::AtMost), None);
        }
    }
    document.sweep = bakeoff_analysis::build_sweep(&document);
    document
}
