//! Limits that were not reached, in words: what the run says nothing of, and what would.

use bakeoff_analysis::{Document, Unreached};

use crate::words;

/// The scale with the most rows that workloads of bakeoff have.
const LARGEST_SCALE: &str = "giant";

/// A clause for each limit that was not reached.
pub fn clauses(document: &Document) -> Vec<String> {
    document.unreached.iter().map(clause).collect()
}

fn clause(unreached: &Unreached) -> String {
    match unreached {
        Unreached::Memory { level, peaks, scale } => {
            let peak = |(engine, bytes): (&String, &f64)| {
                let used = words::bytes(*bytes as u64);
                if engine.is_empty() { used } else { format!("{engine} {used}") }
            };
            let used: Vec<String> = peaks.iter().map(peak).collect();
            let is_named =
                scale.as_deref().is_some_and(|it| ["small", "medium", "large"].contains(&it));
            let larger =
                if is_named { format!("--scale {LARGEST_SCALE}") } else { "more rows".to_owned() };
            format!(
                "the memory limit of {level} was never reached ({}): this run says nothing about memory, \
                 {larger} would",
                used.join(", ")
            )
        }
        Unreached::DiskReads { level } => format!(
            "disk {level} was asked for no reads: this run says nothing about its reads, more rows or \
             less memory would"
        ),
        Unreached::Neighbours { level } => format!(
            "the clients’ work never went to the disk that neighbours {level} kept busy: this run says \
             nothing about neighbours, more rows, less memory or strict durability would"
        ),
        Unreached::Rate { level } => format!(
            "all kept up with {level}: this run says nothing about how much they can serve, a higher \
             --rate or --find-limit would"
        ),
        Unreached::OneClientOnArray { level } => format!(
            "one client has one operation at the disk at a time: this run says nothing about what the \
             other disks of {level} bring, more --clients would"
        ),
    }
}
