//! The most important facts about the disk: whether it is simulated, and the cost of a flush.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{Document, FLUSH_US};
use bakeoff_results::{CellLevels, DiskFact, OwnFactor, Run};

use crate::durability;
use crate::words;

const HOST: &str = "host";
const NAMED: usize = 3;

/// "On a simulated SATA SSD (ssd-sata), 0.85 ms a flush; a small synced write takes 0.09 ms on this
/// machine’s own disk."
pub fn describe_disks(document: &Document) -> Option<String> {
    let on = describe_simulated(document)?;
    let own = own_sync_s(document).map_or_else(String::new, |seconds| {
        format!(
            "; a small synced write takes {} on this machine’s own disk",
            words::format_seconds(seconds)
        )
    });
    Some(format!("On {on}{own}."))
}

/// The disks in one sentence, this machine's own one, too.
pub fn name_disks(document: &Document) -> String {
    let run = &document.run.run;
    let has_disk = run.factors.iter().any(|(name, _)| *name == OwnFactor::Disk);
    match describe_simulated(document) {
        Some(on) => format!("On {on}."),
        None if has_disk => "On this machine’s own disk.".into(),
        None => String::new(),
    }
}

fn describe_simulated(document: &Document) -> Option<String> {
    let run = &document.run.run;
    let disk = OwnFactor::Disk.as_str();
    let levels = run.levels_of(disk);
    let mut simulated: Vec<&str> = Vec::new();
    for level in levels {
        let plain = run.resolve_alias(disk, level).unwrap_or(level);
        if plain != HOST && !simulated.contains(&plain) {
            simulated.push(plain);
        }
    }
    let has_own = levels.iter().any(|level| level == HOST);
    let on = match simulated.as_slice() {
        [] => return None,
        [only] => format!("a simulated {}", describe_disk(run, only)),
        several => {
            let first = several.iter().take(NAMED).map(|level| describe_disk(run, level));
            let more = several.len().saturating_sub(NAMED);
            let more = (more > 0).then(|| format!("{more} more"));
            let all: Vec<String> = first.chain(more).collect();
            format!("simulated disks: {}", words::join_list(&all))
        }
    };
    let beside = if has_own { ", and on this machine’s own disk" } else { "" };
    Some(format!("{on}{beside}"))
}

/// "SATA SSD (ssd-sata), 1.00 ms a flush"; in records of an older bakeoff "disk, ssd-sata".
fn describe_disk(run: &Run, level: &str) -> String {
    let Some(fact) = run.disks.iter().find(|disk| disk.level == level) else {
        return format!("disk ({level})");
    };
    let DiskFact { simulates, flush_s, .. } = fact;
    let is_varied = run.factors.iter().any(|(name, _)| name == FLUSH_US);
    match flush_s.filter(|_| !is_varied) {
        Some(0.0) => format!("{simulates} ({level}), a flush costs nothing"),
        Some(flush_s) => {
            format!("{simulates} ({level}), {} a flush", words::format_seconds(flush_s))
        }
        None => format!("{simulates} ({level})"),
    }
}

/// Time of a 4 KiB append and its fdatasync. The least of all measurements, since other load only
/// adds to it.
fn own_sync_s(document: &Document) -> Option<f64> {
    let all = document.canaries.iter().map(|canary| canary.sync_s);
    all.filter(|seconds| *seconds > 0.0).reduce(f64::min)
}

/// The flush time at which the order would turn: "with every commit kept, fjall would be ahead of
/// sqlite below 0.46 ms a flush (…)".
pub fn describe_turns(layout: &DocumentLayout<'_>) -> Vec<String> {
    let turns = &layout.document.flush_turns;
    let clause = |(number, turn): (usize, &bakeoff_analysis::FlushTurn)| {
        let is_below = turn.turn_s < turn.flush_s;
        let lead = turn
            .levels
            .level(OwnFactor::Durability)
            .filter(|_| layout.varying.contains(&OwnFactor::Durability.as_str()));
        let lead = lead
            .map_or_else(String::new, |it| format!("with {}, ", durability::describe_level(it)));
        let on = turn
            .levels
            .level(OwnFactor::Disk)
            .filter(|_| layout.varying.contains(&OwnFactor::Disk.as_str()));
        let on = on.map_or_else(String::new, |it| format!("on {it}, "));
        let [ahead, instead] =
            [&turn.ahead, &turn.instead].map(|level| words::name_contender(layout.compare, level));
        // Printed once: it holds for all of them.
        let assumes = match number {
            0 => " (to first order: the one client waits for each flush, and nothing else changes)",
            _ => "",
        };
        format!(
            "{lead}{on}{instead} would be ahead of {ahead} {} about {} a flush{assumes}",
            if is_below { "below" } else { "above" },
            words::format_seconds(to_two_digits(turn.turn_s))
        )
    };
    turns.iter().enumerate().map(clause).collect()
}

/// The turn is a quotient of differences: more digits would be false precision.
fn to_two_digits(value: f64) -> f64 {
    let scale = 10.0_f64.powf(value.abs().log10().floor() - 1.0);
    (value / scale).round() * scale
}
