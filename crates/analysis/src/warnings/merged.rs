use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::{Machine, Merged, Run, RunMember, TrialSummary};

use super::part_of;
use crate::warning::{Warning, WarningKind};

/// Impossible times: the clock of a part's machine, or that of the merging one, is wrong or was set
/// meanwhile.
pub(super) fn warn_of_clocks(run: &Run, trials: &[TrialSummary]) -> Option<Warning> {
    let merged = run.merged.as_ref()?;
    let first = first_starts(merged, trials);
    let parts = merged.members.iter().zip(first).filter_map(|(member, first_s)| {
        let is_back = [member.ended_s, first_s].iter().flatten().any(|at| *at < member.started_s);
        match member.ahead_s {
            Some(ahead_s) => Some(format!(
                "{} has times {} after it was merged",
                name_member(member),
                format_span(ahead_s)
            )),
            None if is_back => {
                Some(format!("{} has times before its own start", name_member(member)))
            }
            None => None,
        }
    });
    let parts: Vec<String> = parts.collect();
    let (number, of) = (parts.len(), merged.members.len());
    let told = parts.first()?;
    let text = format!(
        "by the clocks of their machines {number} of {of} parts of the run have times that can't \
         be ({told}): dates may be wrong; ratios are not, since a trial is timed by a clock that \
         nobody sets"
    );
    let remedy = "compare the clocks of the machines (timedatectl), and have NTP set them before the next run";
    Some(Warning::new(WarningKind::ClocksDiffer, text).with_remedy(remedy))
}

/// `None` for a machine that went on, which may have blocks that a shard had begun.
fn first_starts(merged: &Merged, trials: &[TrialSummary]) -> Vec<Option<f64>> {
    let mut of_blocks: BTreeMap<u32, f64> = BTreeMap::new();
    for trial in trials {
        let first_s = of_blocks.entry(trial.block).or_insert(trial.started_s);
        *first_s = first_s.min(trial.started_s);
    }
    let first = |member: &RunMember| {
        let blocks = member.blocks.iter().filter_map(|(number, _)| of_blocks.get(number));
        member.shard.and(blocks.copied().reduce(f64::min))
    };
    merged.members.iter().map(first).collect()
}

/// A shard on another file system than most, or a machine that went on where no shard lay.
pub(super) fn warn_of_other_disks(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let merged = run.merged.as_ref()?;
    let usual = usual_file_system(merged)?;
    let (rest, apart): (Vec<&RunMember>, Vec<&RunMember>) =
        merged.members.iter().partition(|member| is_usual(merged, usual, member));
    let there: BTreeSet<u32> = counted.iter().map(|trial| trial.block).collect();
    let has_trials =
        |member: &&&RunMember| member.blocks.iter().any(|(number, _)| there.contains(number));
    let (first, other) = apart.iter().find(has_trials).zip(rest.first())?;
    let blocks = apart.iter().flat_map(|member| &member.blocks).map(|(number, _)| *number);
    let blocks: BTreeSet<u32> = blocks.collect();
    let number = counted.iter().filter(|trial| blocks.contains(&trial.block)).count();
    let text = format!(
        "{} stand on another disk than the rest ({}: {}; {}: {}): no pair crosses disks, but \
         figures of cells mix them",
        part_of(number, counted.len(), "trial"),
        name_member(first),
        describe_disk(&first.machine),
        name_member(other),
        describe_disk(&other.machine)
    );
    let remedy = "go on with a merged run on a disk like that of its shards (--path DIR), or with each shard where \
                  it began";
    Some(Warning::new(WarningKind::DisksDiffer, text).with_remedy(remedy))
}

fn usual_file_system(merged: &Merged) -> Option<&str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for member in merged.members.iter().filter(|it| it.shard.is_some()) {
        *counts.entry(&member.machine.file_system).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(file_system, _)| file_system)
}

/// Machines name their devices as they like, so for shards only the file systems are compared.
fn is_usual(merged: &Merged, usual: &str, member: &RunMember) -> bool {
    let mut shards = merged.members.iter().filter(|it| it.shard.is_some());
    match member.shard {
        Some(_) => member.machine.file_system == usual,
        None => shards.any(|it| is_one_disk(&it.machine, &member.machine)),
    }
}

/// Two disks of one name count as one, too.
fn is_one_disk(one: &Machine, other: &Machine) -> bool {
    let is_named_alike = one.device == other.device || (has_no_device(one) && has_no_device(other));
    one.file_system == other.file_system && is_named_alike
}

/// Memory or a network: there is no device, but a number that differs with each mount.
fn has_no_device(machine: &Machine) -> bool {
    machine.device.starts_with("0:")
}

fn describe_disk(machine: &Machine) -> String {
    let Machine { device, file_system, .. } = machine;
    if has_no_device(machine) { file_system.clone() } else { format!("{file_system} on {device}") }
}

fn name_member(member: &RunMember) -> String {
    let on = match member.host.name.as_str() {
        "" => String::new(),
        host => format!(" on {host}"),
    };
    match member.shard {
        Some(shard) => format!("shard {shard}{on}"),
        None => format!("what --resume ran{on}"),
    }
}

/// For a minute or more: "3 h".
fn format_span(seconds: f64) -> String {
    if seconds < 7200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else if seconds < 172_800.0 {
        format!("{:.0} h", seconds / 3600.0)
    } else {
        format!("{:.0} days", seconds / 86_400.0)
    }
}

#[cfg(test)]
mod tests {
    use super::format_span;

    #[test]
    fn a_span_is_told_in_the_largest_unit_of_which_there_are_two() {
        let told = [61.0, 7199.0, 7200.0, 90_000.0, 1e6].map(format_span);
        assert_eq!(told, ["1 min", "120 min", "2 h", "25 h", "12 days"]);
    }
}
