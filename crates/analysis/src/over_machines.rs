use std::collections::BTreeMap;

use bakeoff_results::{Canary, Levels, Machine, Merged, Run, RunMember, RunState, TrialSummary};
use bakeoff_stats::family::Adjustment;
use bakeoff_stats::heterogeneity::{self, GroupSummary, Heterogeneity};
use bakeoff_stats::{CONFIDENCE, MARGIN};

use crate::compare;
use crate::comparison::{Comparison, RatioBound, Verdict};
use crate::machines::{
    Agreement, DiskView, MachineRatio, MachineView, MachinesView, RatioOverMachines,
};

/// `None` where the run was not merged. `rows` are all trials.
pub(crate) fn compare_machines(
    state: &RunState,
    rows: &[TrialSummary],
    counted: &[&TrialSummary],
    canaries: &[Canary],
) -> Option<MachinesView> {
    let run = &state.run;
    let members = settle_members(run, canaries, state.ended_s)?.members;
    let machines = group_members(&members);
    let owners = find_owners(&members, &machines);
    let looks = find_look_ranges(&members);
    let looks: Vec<&[Canary]> =
        looks.into_iter().map(|span| canaries.get(span).unwrap_or_default()).collect();
    let mut own_rows = vec![Vec::new(); machines.len()];
    for row in rows {
        if let Some(machine) = owners.get(&row.block) {
            own_rows[*machine].push(row);
        }
    }
    let mut own_counted = vec![Vec::new(); machines.len()];
    for row in counted.iter().copied() {
        if let Some(machine) = owners.get(&row.block) {
            own_counted[*machine].push(row);
        }
    }
    let views = machines.iter().zip(&own_counted).map(|(own, counted)| {
        let looks = own.iter().flat_map(|place| looks[*place]).collect();
        build_machine(own.iter().map(|place| &members[*place]).collect(), counted.len(), looks)
    });
    let mut views: Vec<MachineView> = views.collect();
    name_apart(&mut views);
    let found = own_rows.iter().zip(&own_counted);
    let found: Vec<Vec<Comparison>> =
        found.map(|(rows, counted)| compare_trials(run, rows, counted)).collect();
    Some(MachinesView { machines: views, ratios: collect_ratios(&found) })
}

fn find_owners(members: &[RunMember], machines: &[Vec<usize>]) -> BTreeMap<u32, usize> {
    let of = |(machine, own): (usize, &Vec<usize>)| {
        let blocks: Vec<u32> = own
            .iter()
            .flat_map(|place| &members[*place].blocks)
            .map(|(number, _)| *number)
            .collect();
        blocks.into_iter().map(move |number| (number, machine))
    };
    machines.iter().enumerate().flat_map(of).collect()
}

/// The looks at each machine alone; one group for a run that was not merged.
pub(crate) fn by_member<'a>(run: &Run, canaries: &'a [Canary]) -> Vec<&'a [Canary]> {
    let Some(merged) = settle_members(run, canaries, None) else { return vec![canaries] };
    find_look_ranges(&merged.members)
        .into_iter()
        .map(|span| canaries.get(span).unwrap_or_default())
        .collect()
}

/// The members with the looks and the end of each, also of the last, which may be going on;
/// `ended_s` is the run's end.
fn settle_members(run: &Run, canaries: &[Canary], ended_s: Option<f64>) -> Option<Merged> {
    let mut merged = run.merged.clone()?;
    merged.end_last(canaries.len() as u32, ended_s);
    Some(merged)
}

fn find_look_ranges(members: &[RunMember]) -> Vec<std::ops::Range<usize>> {
    let mut seen = 0;
    let span = |member: &RunMember| {
        let begin = seen;
        seen += member.canaries as usize;
        begin..seen
    };
    members.iter().map(span).collect()
}

fn group_members(members: &[RunMember]) -> Vec<Vec<usize>> {
    let mut machines: Vec<Vec<usize>> = Vec::new();
    for (place, member) in members.iter().enumerate() {
        let is_its =
            |own: &&mut Vec<usize>| is_same(own.iter().map(|place| &members[*place]), member);
        let known = machines.iter_mut().find(is_its);
        match known {
            Some(own) => own.push(place),
            None => machines.push(vec![place]),
        }
    }
    machines
}

/// Whether a member ran on the machine of `known`: since the same start of its kernel; or under the
/// same name with the same processor, and not at the same time. Machines of one kind may share a
/// default name, and what ran at one time since two starts was on two.
fn is_same<'a>(mut known: impl Iterator<Item = &'a RunMember> + Clone, member: &RunMember) -> bool {
    let boot = |one: &RunMember| !one.host.boot.is_empty() && one.host.boot == member.host.boot;
    let before = |one: &RunMember, other: &RunMember| {
        one.ended_s.is_some_and(|ended_s| ended_s <= other.started_s)
    };
    let alike = |one: &RunMember| {
        let is_known = !one.host.boot.is_empty() && !member.host.boot.is_empty();
        !one.host.name.is_empty()
            && one.host.name == member.host.name
            && one.machine.processor == member.machine.processor
            && (!is_known || before(one, member) || before(member, one))
    };
    known.clone().any(boot) || known.all(alike)
}

fn build_machine(members: Vec<&RunMember>, trials: usize, looks: Vec<&Canary>) -> MachineView {
    let all = || members.iter().copied();
    let first = members[0];
    MachineView {
        name: first.host.name.clone(),
        machine: first.machine.clone(),
        shards: all().filter_map(|it| it.shard).collect(),
        shared: ran_at_once(all()),
        started_s: all().map(|it| it.started_s).fold(f64::INFINITY, f64::min),
        ended_s: all().try_fold(f64::NEG_INFINITY, |last, it| Some(last.max(it.ended_s?))),
        disks: collect_disks(all()),
        harness_s: all().map(|it| it.harness_s).fold(0.0, f64::max),
        load: all().filter_map(|it| it.load).reduce(f64::max),
        neighbour_alone_per_second: all().find_map(|it| it.neighbour_alone_per_second),
        blocks: all().map(|it| it.blocks.len() as u32).sum(),
        trials: trials as u32,
        canaries: looks.len() as u32,
        canaries_off: looks.iter().filter(|look| look.off.is_some()).count() as u32,
    }
}

fn collect_disks<'a>(members: impl Iterator<Item = &'a RunMember>) -> Vec<DiskView> {
    let mut disks: Vec<DiskView> = Vec::new();
    for member in members {
        let Machine { device, file_system, .. } = &member.machine;
        let blocks = member.blocks.len() as u32;
        let is_it = |it: &&mut DiskView| it.device == *device && it.file_system == *file_system;
        match disks.iter_mut().find(is_it) {
            Some(known) => known.blocks = known.blocks.saturating_add(blocks),
            None => {
                let (device, file_system) = (device.clone(), file_system.clone());
                disks.push(DiskView { device, file_system, blocks });
            }
        }
    }
    disks
}

fn ran_at_once<'a>(members: impl Iterator<Item = &'a RunMember>) -> bool {
    let times = members.filter_map(|it| Some((it.started_s, it.ended_s?)));
    let mut times: Vec<(f64, f64)> = times.collect();
    times.sort_by(|one, other| one.0.total_cmp(&other.0));
    times.windows(2).any(|pair| pair[1].0 < pair[0].1)
}

fn name_apart(machines: &mut [MachineView]) {
    let names: Vec<String> = machines.iter().map(|it| it.name.clone()).collect();
    for (place, machine) in machines.iter_mut().enumerate() {
        let alike = names.iter().filter(|name| **name == machine.name).count();
        if machine.name.is_empty() {
            machine.name = format!("machine {}", place + 1);
        } else if alike > 1 {
            machine.name = format!("{} ({})", machine.name, place + 1);
        }
    }
}

fn compare_trials<'a>(
    run: &Run,
    rows: &[&'a TrialSummary],
    counted: &[&'a TrialSummary],
) -> Vec<Comparison> {
    let mut all = compare::compare_all(run, rows.iter().copied(), counted).with_baseline;
    let contend = |it: &Comparison| !run.is_harness(&it.level) && !run.is_harness(&it.baseline);
    // A comparison without its own verdict is no evidence of a machine either.
    let has_word = |it: &Comparison| {
        !matches!(it.verdict, Verdict::TooFew | Verdict::NeverSteady | Verdict::Void)
    };
    all.retain(|it| contend(it) && has_word(it) && it.ratio_is == Some(RatioBound::Exact));
    all
}

type Of<'a> = (&'a str, &'a Levels, &'a str, &'a str);

fn comparison_key(it: &Comparison) -> Of<'_> {
    (&it.operation, &it.levels, &it.baseline, &it.level)
}

type MachineComparison<'a> = (usize, &'a Comparison);

/// A machine that lacks the first of them may have others.
fn collect_ratios(found: &[Vec<Comparison>]) -> Vec<RatioOverMachines> {
    let mut places: BTreeMap<Of<'_>, usize> = BTreeMap::new();
    let mut known: Vec<Vec<MachineComparison<'_>>> = Vec::new();
    for (machine, comparisons) in found.iter().enumerate() {
        for comparison in comparisons {
            let place = *places.entry(comparison_key(comparison)).or_insert(known.len());
            if place == known.len() {
                known.push(Vec::new());
            }
            known[place].push((machine, comparison));
        }
    }
    let mut ratios: Vec<(RatioOverMachines, Option<Heterogeneity>)> =
        known.iter().filter_map(|made| build_ratio(made)).collect();
    let p: Vec<Option<f64>> = ratios.iter().map(|(_, it)| it.map(|it| it.p)).collect();
    for ((ratio, heterogeneity), p) in ratios.iter_mut().zip(Adjustment::Holm.adjust_p_values(&p)) {
        let Some((it, p_adjusted)) = heterogeneity.zip(p) else { continue };
        let values = || ratio.on.iter().map(|on| on.ratio);
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        ratio.disagree = p_adjusted <= 1.0 - CONFIDENCE && most / least > 1.0 + MARGIN;
        ratio.agreement = Some(Agreement {
            q: it.q,
            expected_q: it.expected,
            p_adjusted,
            i_squared: it.i_squared,
            ratio: it.mean.exp(),
            low: it.interval.map(|(low, _)| low.exp()),
            high: it.interval.map(|(_, high)| high.exp()),
        });
    }
    ratios.into_iter().map(|(ratio, _)| ratio).collect()
}

fn build_ratio(
    made: &[MachineComparison<'_>],
) -> Option<(RatioOverMachines, Option<Heterogeneity>)> {
    let (_, first) = made.first()?;
    let mut on = Vec::new();
    let mut groups = Vec::new();
    for (machine, it) in made {
        let Some(ratio) = it.ratio else { continue };
        groups.push(summarize_interval(it, ratio));
        let (low, high, blocks) = (it.low, it.high, it.blocks);
        on.push(MachineRatio { machine: *machine as u32, ratio, low, high, blocks });
    }
    let groups: Option<Vec<GroupSummary>> = groups.into_iter().collect();
    let heterogeneity = groups.and_then(|groups| heterogeneity::of_groups(&groups, CONFIDENCE));
    // An overflow, which is no logarithm any more, is no figure.
    let heterogeneity = heterogeneity.filter(|it| {
        let (low, high) = it.interval.unwrap_or((it.mean, it.mean));
        [low, it.mean, high].iter().all(|end| end.exp().is_finite() && end.exp() > 0.0)
    });
    let ratio = RatioOverMachines {
        operation: first.operation.clone(),
        levels: first.levels.clone(),
        baseline: first.baseline.clone(),
        level: first.level.clone(),
        on,
        agreement: None,
        disagree: false,
    };
    (ratio.on.len() > 1).then_some((ratio, heterogeneity))
}

/// In logarithms, from its interval.
fn summarize_interval(it: &Comparison, ratio: f64) -> Option<GroupSummary> {
    let mean = ratio.ln();
    match (it.low, it.high) {
        (Some(low), Some(high)) => {
            let half = (high / low).ln() / 2.0;
            GroupSummary::of_interval(mean, half, it.freedom?, it.blocks as usize)
        }
        _ if it.blocks < 2 => Some(GroupSummary { mean, deviation: 0.0, values: 1 }),
        _ => None,
    }
}
