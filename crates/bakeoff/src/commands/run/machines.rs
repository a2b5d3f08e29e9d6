//! A machine that goes on with a run which several machines have made.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_experiment::Experiment;
use bakeoff_lab::planner::{Fixed, Planner};
use bakeoff_lab::{Possible, machine};
use bakeoff_results::{Error, Machine, Run, RunFolder, RunMember};

use crate::exit::CommandFailure;

/// Notes that what is left of a merged run is this machine's part; of any other run, nothing. `now` is what
/// is known of the run where it goes on.
pub fn go_on(
    folder: &mut RunFolder,
    began: Run,
    now: &Run,
    experiment: &Experiment,
    possible: &Possible,
) -> Result<(), CommandFailure> {
    let Some(mut merged) = began.merged else { return Ok(()) };
    let left = left(folder, experiment, possible).map_err(CommandFailure::folder)?;
    if left.blocks.is_empty() && left.cuts.is_empty() {
        return Ok(());
    }
    let canaries = folder.canaries().map_err(CommandFailure::folder)?.len() as u32;
    merged.end_last(canaries, folder.state().map_err(CommandFailure::folder)?.ended_s);
    for member in &mut merged.members {
        member.blocks.retain(|(number, _)| !left.blocks.contains_key(number));
        member.cuts.retain(|cell| !left.cuts.contains(cell));
    }
    let host = machine::host();
    let lies = |it: &Machine| (it.device.clone(), it.file_system.clone());
    // On another disk it is another part: what is told of a part holds for all its trials.
    let is_own = |it: &&mut RunMember| {
        it.shard.is_none() && it.host == host && lies(&it.machine) == lies(&now.machine)
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
        .note_machines(&merged, possible.planned_cuts(experiment) as u32)
        .map_err(CommandFailure::folder)
}

/// What a run lacks of its plan.
struct UnfinishedPlan {
    /// Blocks, by their numbers, and how many trials each has.
    blocks: BTreeMap<u32, u32>,
    /// Engines and levels of durability.
    cuts: BTreeSet<(String, String)>,
}

fn left(
    folder: &mut RunFolder,
    experiment: &Experiment,
    possible: &Possible,
) -> Result<UnfinishedPlan, Error> {
    let fixed = Fixed::new(&possible.plan, folder)?;
    let blocks = fixed.left().into_iter().map(|due| &due.block);
    let blocks = blocks.map(|block| (block.number, block.trials.len() as u32)).collect();
    let each = possible.planned_cuts(experiment) / possible.cuts.len().max(1);
    let made = folder.cuts()?;
    let lacks = |(engine, level): &&(String, String)| {
        let of = made.iter().filter(|cut| cut.engine == *engine && cut.durability == *level);
        of.filter(|cut| cut.failed.is_none()).count() < each
    };
    Ok(UnfinishedPlan { blocks, cuts: possible.cuts.iter().filter(lacks).cloned().collect() })
}
