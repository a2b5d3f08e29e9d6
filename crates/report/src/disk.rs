//! What a reader must know first of the disk: whether it is simulated, and what a flush of it costs.

use bakeoff_analysis::Document;
use bakeoff_results::{DiskFact, Run};

use crate::durability;
use crate::layout::DocumentLayout;
use crate::words;

/// The factor.
const FACTOR: &str = "disk";
/// The level of the machine's own disk.
const HOST: &str = "host";
/// So many simulated disks are named.
const NAMED: usize = 3;

/// "On a simulated SATA SSD (ssd-sata), 1.00 ms a flush; a small synced write takes 0.09 ms on this machine’s own disk.":
/// `None` where no disk of the run is simulated.
pub fn line(document: &Document) -> Option<String> {
    let run = &document.run.run;
    let (_, levels) = run.factors.iter().find(|(factor, _)| factor == FACTOR)?;
    let mut simulated: Vec<&str> = Vec::new();
    for level in levels {
        let plain = run.alias(FACTOR, level).unwrap_or(level);
        if plain != HOST && !simulated.contains(&plain) {
            simulated.push(plain);
        }
    }
    let has_own = levels.iter().any(|level| level == HOST);
    let on = match simulated.as_slice() {
        [] => return None,
        [only] => format!("a simulated {}", described(run, only)),
        several => {
            let first = several.iter().take(NAMED).map(|level| described(run, level));
            let more = several.len().saturating_sub(NAMED);
            let more = (more > 0).then(|| format!("{more} more"));
            let all: Vec<String> = first.chain(more).collect();
            format!("simulated disks: {}", words::list(&all))
        }
    };
    let beside = if has_own { ", and on this machine’s own disk" } else { "" };
    let own = own_sync_s(document).map_or_else(String::new, |seconds| {
        format!(
            "; a small synced write takes {} on this machine’s own disk",
            words::seconds(seconds)
        )
    });
    Some(format!("On {on}{beside}{own}."))
}

/// "SATA SSD (ssd-sata), 1.00 ms a flush"; of a record of an older bakeoff "disk, ssd-sata".
fn described(run: &Run, level: &str) -> String {
    let Some(fact) = run.disks.iter().find(|disk| disk.level == level) else {
        return format!("disk ({level})");
    };
    let DiskFact { simulates, flush_s, .. } = fact;
    match flush_s {
        Some(flush_s) => format!("{simulates} ({level}), {} a flush", words::seconds(*flush_s)),
        None => format!("{simulates} ({level})"),
    }
}

/// What an append of 4 KiB and its fdatasync took on the machine's own disk: the least of all looks at the machine
/// alone, since whoever else was at work can only have made it longer.
fn own_sync_s(document: &Document) -> Option<f64> {
    let all = document.canaries.iter().map(|canary| canary.sync_s);
    all.filter(|seconds| *seconds > 0.0).reduce(f64::min)
}

/// Where the order would turn with the time of a flush, a clause each: "with every commit kept, fjall would be ahead
/// of sqlite below 0.46 ms a flush (…)".
pub fn turns(layout: &DocumentLayout<'_>) -> Vec<String> {
    let turns = &layout.document.flush_turns;
    let clause = |(number, turn): (usize, &bakeoff_analysis::FlushTurn)| {
        let is_below = turn.turn_s < turn.flush_s;
        let lead = turn
            .levels
            .get(durability::FACTOR)
            .filter(|_| layout.varying.contains(&durability::FACTOR));
        let lead = lead.map_or_else(String::new, |it| format!("with {}, ", durability::told(it)));
        let [ahead, instead] =
            [&turn.ahead, &turn.instead].map(|level| words::contender(layout.compare, level));
        // Said once: it holds for all of them.
        let assumes = match number {
            0 => " (to first order: the one client waits for each flush, and nothing else changes)",
            _ => "",
        };
        format!(
            "{lead}{instead} would be ahead of {ahead} {} about {} a flush{assumes}",
            if is_below { "below" } else { "above" },
            words::seconds(to_two_digits(turn.turn_s))
        )
    };
    turns.iter().enumerate().map(clause).collect()
}

/// To two digits: the turn is a quotient of differences, and no surer.
fn to_two_digits(value: f64) -> f64 {
    let scale = 10.0_f64.powf(value.abs().log10().floor() - 1.0);
    (value / scale).round() * scale
}
