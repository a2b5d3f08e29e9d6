//! Limits that were not reached, in words: what the run says nothing of, and what would.

use std::mem::discriminant;

use bakeoff_analysis::{Document, Unreached};

use crate::words;

/// The scale with the most rows that workloads of bakeoff have.
const LARGEST_SCALE: &str = "giant";

/// A clause for each limit that was not reached; of several disks of which the same is said, one.
pub fn clauses(document: &Document) -> Vec<String> {
    let mut kinds: Vec<(Unreached, Vec<&str>)> = Vec::new();
    for unreached in &document.unreached {
        let is_same = |known: &Unreached| {
            discriminant(known) == discriminant(unreached) && known.factor() == "disk"
        };
        match kinds.iter_mut().find(|(known, _)| is_same(known)) {
            Some((_, levels)) => levels.push(unreached.level()),
            None => kinds.push((unreached.clone(), vec![unreached.level()])),
        }
    }
    kinds.iter().map(|(kind, levels)| clause(kind, &words::list(levels))).collect()
}

/// What is said of a limit; `disks` are all the disks of which it is.
fn clause(unreached: &Unreached, disks: &str) -> String {
    match unreached {
        Unreached::Memory { level, peaks, scale } => {
            let peak = |(engine, bytes): (&String, &f64)| {
                let used = words::bytes(*bytes as u64);
                if engine.is_empty() { used } else { format!("{engine} {used}") }
            };
            let used: Vec<String> = peaks.iter().map(peak).collect();
            let most = peaks.values().copied().fold(0.0, f64::max);
            let is_largest = scale.as_deref() == Some(LARGEST_SCALE);
            let larger = if is_largest { "" } else { " or a larger --scale" };
            format!(
                "the memory limit of {level} was never reached ({}): this run says nothing about memory, a \
                 limit below {}{larger} would",
                used.join(", "),
                words::bytes(most as u64)
            )
        }
        Unreached::DiskReads { .. } => format!(
            "no reads reached {disks}: this run says nothing about reads there, work that reads \
             more than memory holds would"
        ),
        Unreached::Neighbours { level } => format!(
            "the clients’ work never went to the disk that neighbours {level} kept busy: this run says \
             nothing about neighbours, more rows, less memory or strict durability would"
        ),
        Unreached::Rate { level } => format!(
            "all kept up with {level}: this run says nothing about how much they can serve, a higher \
             --rate or --find-limit would"
        ),
        Unreached::OneClientOnArray { .. } => format!(
            "one client waits for each durable operation, so that {disks} serves one at a time: this run \
             says nothing about what an array brings to several, more --clients would"
        ),
    }
}
