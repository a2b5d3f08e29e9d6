//! What the parts of a merged run do not have in common.

use std::collections::BTreeMap;

use bakeoff_results::{Member, Merged, Run, TrialSummary};

use crate::warning::{Warning, WarningKind};

/// Parts of a merged run with times that can't be: the clock of their machine, or that of the machine that
/// merged them, is wrong, or was set meanwhile.
pub(super) fn clocks(run: &Run, trials: &[TrialSummary]) -> Option<Warning> {
    let merged = run.merged.as_ref()?;
    let first = first_starts(merged, trials);
    let parts = merged.members.iter().zip(first).filter_map(|(member, first_s)| {
        let is_back = [member.ended_s, first_s].iter().flatten().any(|at| *at < member.started_s);
        match member.ahead_s {
            Some(ahead_s) => {
                Some(format!("{} has times {} after it was merged", part(member), span(ahead_s)))
            }
            None if is_back => Some(format!("{} has times before its own start", part(member))),
            None => None,
        }
    });
    let parts: Vec<String> = parts.collect();
    let (number, of) = (parts.len(), merged.members.len());
    let told = parts.first()?;
    let text = format!(
        "by the clocks of their machines {number} of {of} parts of the run have times that can't be ({told}): \
         dates may be wrong; ratios are not, since a trial is timed by a clock that nobody sets"
    );
    let remedy = "compare the clocks of the machines (timedatectl), and have NTP set them before the next run";
    Some(Warning::new(WarningKind::ClocksDiffer, text).remedy(remedy))
}

/// When the first trial of each shard began; `None` of who went on, who may have blocks that a shard had begun.
fn first_starts(merged: &Merged, trials: &[TrialSummary]) -> Vec<Option<f64>> {
    let mut of_blocks: BTreeMap<u32, f64> = BTreeMap::new();
    for trial in trials {
        let first_s = of_blocks.entry(trial.block).or_insert(trial.started_s);
        *first_s = first_s.min(trial.started_s);
    }
    let first = |member: &Member| {
        let blocks = member.blocks.iter().filter_map(|(number, _)| of_blocks.get(number));
        member.shard.and(blocks.copied().reduce(f64::min))
    };
    merged.members.iter().map(first).collect()
}

/// A part of a run: the shard, or that it went on, and its machine.
fn part(member: &Member) -> String {
    let what = match member.shard {
        Some(shard) => format!("shard {shard}"),
        None => "what went on".to_owned(),
    };
    match member.host.name.as_str() {
        "" => what,
        host => format!("{what} on {host}"),
    }
}

/// A span of a minute or more in words: "3 h".
fn span(seconds: f64) -> String {
    match seconds {
        _ if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        _ if seconds < 172_800.0 => format!("{:.0} h", seconds / 3600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn a_span_is_told_in_the_largest_unit_of_which_there_are_two() {
        let told = [61.0, 7199.0, 7200.0, 90_000.0, 1e6].map(span);
        assert_eq!(told, ["1 min", "120 min", "2 h", "25 h", "12 days"]);
    }
}
