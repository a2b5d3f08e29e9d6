//! Names limits that were not reached, and what would reach them.

use std::mem::discriminant;

use bakeoff_analysis::{Document, UnreachedLimit};
use bakeoff_results::OwnFactor;

use crate::words;

const LARGEST_SCALE: &str = "giant";

/// One clause for several disks with the same limit.
pub fn list_clauses(document: &Document) -> Vec<String> {
    let mut kinds: Vec<(UnreachedLimit, Vec<&str>)> = Vec::new();
    for unreached in &document.unreached {
        let is_same = |known: &UnreachedLimit| {
            discriminant(known) == discriminant(unreached) && known.factor() == OwnFactor::Disk
        };
        match kinds.iter_mut().find(|(known, _)| is_same(known)) {
            Some((_, levels)) => levels.push(unreached.level()),
            None => kinds.push((unreached.clone(), vec![unreached.level()])),
        }
    }
    kinds.iter().map(|(kind, levels)| describe_limit(kind, &words::join_list(levels))).collect()
}

/// A clause about one limit; `disks` names those that share it.
pub fn describe_limit(unreached: &UnreachedLimit, disks: &str) -> String {
    match unreached {
        UnreachedLimit::Memory { level, peaks, scale } => {
            let peak = |(engine, bytes): (&String, &f64)| {
                let used = words::format_bytes(*bytes as u64);
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
                words::format_bytes(most as u64)
            )
        }
        UnreachedLimit::DiskReads { .. } => format!(
            "no reads reached {disks}: this run says nothing about reads there, work that reads \
             more than memory holds would"
        ),
        UnreachedLimit::Neighbours { level } => format!(
            "the clients’ work never went to the disk that neighbours {level} kept busy: this run says \
             nothing about neighbours, more rows, less memory or strict durability would"
        ),
        UnreachedLimit::Rate { level } => format!(
            "all kept up with {level}: this run says nothing about how much they can serve, a higher \
             --rate or --find-limit would"
        ),
        UnreachedLimit::OneClientOnArray { .. } => format!(
            "one client waits for each durable operation, so that {disks} serves one at a time: this run \
             says nothing about what an array brings to several, more --clients would"
        ),
    }
}
