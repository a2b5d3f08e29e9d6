//! Notes a machine that continues a run of several machines.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_lab::planner::{Fixed, Planner};
use bakeoff_lab::{Plan, machine};
use bakeoff_results::{Error, Run, RunFolder, RunMember};

use crate::exit::CommandFailure;

/// Only for a merged run.
pub fn go_on(
    folder: &mut RunFolder,
    began: Run,
    now: &Run,
    plan: &Plan<'_>,
) -> Result<(), CommandFailure> {
    let Some(mut merged) = began.merged else { return Ok(()) };
    let left = find_unfinished(folder, plan).map_err(CommandFailure::from_folder_error)?;
    if left.blocks.is_empty() && left.cuts.is_empty() {
        return Ok(());
    }
    let canaries = folder.read_canaries().map_err(CommandFailure::from_folder_error)?.len() as u32;
    merged.end_last(
        canaries,
        folder.read_state().map_err(CommandFailure::from_folder_error)?.ended_s,
    );
    for member in &mut merged.members {
        member.blocks.retain(|(number, _)| !left.blocks.contains_key(number));
        member.cuts.retain(|cell| !left.cuts.contains(cell));
    }
    let host = machine::identify_host();
    // On another disk it is a new part: a part's description holds for all its trials.
    let is_own = |it: &&mut RunMember| {
        it.shard.is_none() && it.host == host && it.machine.has_disk_of(&now.machine)
    };
    let own = merged.members.last_mut().filter(is_own);
    match own {
        Some(own) => {
            own.blocks.extend(left.blocks);
            own.cuts.extend(left.cuts);
            own.ended_s = None;
        }
        None => merged.members.push(RunMember {
            shard: None,
            host,
            machine: now.machine.clone(),
            harness_s: now.harness_s,
            load: now.load,
            neighbour_alone_per_second: None,
            started_s: now.started_s,
            ended_s: None,
            ahead_s: None,
            canaries: 0,
            blocks: left.blocks.into_iter().collect(),
            cuts: left.cuts.into_iter().collect(),
        }),
    }
    folder
        .note_machines(&merged, plan.planned_cuts() as u32)
        .map_err(CommandFailure::from_folder_error)
}

struct UnfinishedPlan {
    blocks: BTreeMap<u32, u32>,
    cuts: BTreeSet<(String, String)>,
}

fn find_unfinished(folder: &mut RunFolder, plan: &Plan<'_>) -> Result<UnfinishedPlan, Error> {
    let fixed = Fixed::new(&plan.trials, folder)?;
    let blocks = fixed.blocks_left().into_iter().map(|due| &due.block);
    let blocks = blocks.map(|block| (block.number, block.trials.len() as u32)).collect();
    let each = plan.planned_cuts() / plan.cuts.len().max(1);
    let made = folder.read_cuts()?;
    let lacks = |(engine, level): &(String, String)| {
        let of = made.iter().filter(|cut| cut.engine == *engine && cut.durability == *level);
        of.filter(|cut| cut.failed.is_none()).count() < each
    };
    Ok(UnfinishedPlan { blocks, cuts: plan.cut_names().into_iter().filter(lacks).collect() })
}
