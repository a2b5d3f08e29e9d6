//! `bakeoff run --shard`: runs a part of a plan that several machines share.

use std::fs::File;

use bakeoff_experiment::{Experiment, Shard};
use bakeoff_lab::planner::PLANNERS;
use bakeoff_lab::{Plan, machine};
use bakeoff_results::{PlanShard, Run};

use super::terms::RunTerms;
use super::{scheduler, usage_failure};
use crate::cli;
use crate::exit::{CommandFailure, Exit};

/// From the flag, the scheduler, or the resumed run. `None` for the whole plan.
pub fn choose_shard(
    arguments: &cli::RunArguments,
    began: Option<&Run>,
) -> Result<Option<Shard>, CommandFailure> {
    let variable = |name: &str| std::env::var(name).ok();
    let given = check_flag(arguments.shards.shard, &variable).map_err(usage_failure)?;
    let shard = match began {
        None => given,
        Some(run) => {
            let own = run.shard.as_ref().map(|own| Shard::new(own.index, own.count)).transpose();
            let own = own.map_err(|why| CommandFailure::new(Exit::Folder, why))?;
            if given.is_some() && given != own {
                let is = own.map_or_else(|| "the whole plan".into(), |own| format!("shard {own}"));
                return Err(usage_failure(format!(
                    "--resume goes on with {is}, as the run began: leave out --shard"
                )));
            }
            own
        }
    };
    if arguments.shards.same_machine && shard.is_none() {
        return Err(usage_failure(
            "--same-machine is for parts of a plan: add --shard, or leave it out",
        ));
    }
    Ok(shard)
}

/// A scheduler's variables may not contradict the flag.
fn check_flag(
    flag: Option<cli::Which>,
    variables: scheduler::Variables<'_>,
) -> Result<Option<Shard>, String> {
    let Some(flag) = flag else { return Ok(None) };
    let scheduled = scheduler::find_shard(variables);
    match flag {
        cli::Which::Auto => match scheduled? {
            Some(shard) => Ok(Some(shard)),
            None => Err(format!(
                "--shard auto asks the scheduler, and none says anything: it is for tasks of an array of \
                 Slurm's (SLURM_ARRAY_TASK_ID) and pods of an Indexed Job of Kubernetes' \
                 (JOB_COMPLETION_INDEX, and {} beside it). Elsewhere give it in numbers: --shard 2/8",
                scheduler::SHARDS
            )),
        },
        cli::Which::This(shard) => match scheduled {
            Ok(Some(other)) if other != shard => Err(format!(
                "--shard is {shard}, and the scheduler's variables say {other}: leave one of them out, or take \
                 --shard auto"
            )),
            _ => match scheduler::read_count(variables)? {
                Some(count) if count != shard.count() => Err(format!(
                    "--shard is {shard}, and {} is {count}: leave one of them out, or have both name as many \
                     shards",
                    scheduler::SHARDS
                )),
                _ => Ok(Some(shard)),
            },
        },
    }
}

pub fn take_part<'a>(plan: Plan<'a>, shard: Option<Shard>) -> Result<Plan<'a>, CommandFailure> {
    let Some(shard) = shard else { return Ok(plan) };
    plan_is_known(plan.experiment)?;
    plan.shard(shard).map_err(usage_failure)
}

/// Refuses to share a plan that isn't known before its first block.
pub fn plan_is_known(experiment: &Experiment) -> Result<(), CommandFailure> {
    let planner = &experiment.planner;
    match *planner == PLANNERS[0].name {
        true => Ok(()),
        false => Err(usage_failure(format!(
            "--shard deals a plan that is known before its first block, and the planner {planner} decides on \
             the way, by what all blocks found: a machine would see its own part alone. Leave out --shard, or \
             what chooses that planner (--until-decided, --find-limit, --planner)"
        ))),
    }
}

/// `text` describes the texts or rows.
pub fn record_shard(
    plan: &Plan<'_>,
    text: &str,
    shard: Option<Shard>,
    program: Option<String>,
) -> Option<PlanShard> {
    let shard = shard?;
    let experiment = plan.experiment;
    let left_out: u32 = plan.left_out.iter().map(|it| it.trials).sum();
    let blocks = plan.trials.blocks.iter();
    Some(PlanShard {
        plan: experiment.plan_id(env!("BAKEOFF_VERSION"), text),
        program_sha256: program,
        index: shard.index(),
        count: shard.count(),
        trials: (experiment.plan().count_trials() as u32).saturating_sub(left_out),
        host: machine::identify_host(),
        blocks: blocks.map(|block| (block.number, block.trials.len() as u32)).collect(),
        cuts: plan.cut_names(),
    })
}

pub fn describe_part(plan: &Plan<'_>, shard: Shard) -> String {
    let whole = plan.experiment.plan();
    let (blocks, all) = (plan.trials.blocks.len(), whole.blocks.len());
    // Power cuts alone have no blocks, and a single combination is all here.
    let combinations = match shard.count_combinations(&whole) {
        Ok((_, 0 | 1)) | Err(_) => String::new(),
        Ok((own, all)) if own == all => format!(", of all {all} combinations of levels"),
        Ok((own, all)) => {
            format!(", of {own} of {all} combinations of levels; the rest is in other shards")
        }
    };
    let (index, count) = (shard.index(), shard.count());
    format!("shard {index} of {count}: {blocks} of {all} blocks{combinations}")
}

/// Keeps the machine for one shard as long as the returned file lives.
pub fn hold_machine(terms: &RunTerms) -> Result<Option<File>, CommandFailure> {
    if terms.shard.is_none() {
        return Ok(None);
    }
    let held = machine::hold_machine().map_err(|error| CommandFailure::new(Exit::Failed, error))?;
    if held.is_some() || terms.same_machine {
        return Ok(held);
    }
    Err(CommandFailure::new(
        Exit::Failed,
        "another shard runs on this machine, and the two would disturb each other: wait for its end, have the \
         scheduler give each a whole machine, or take --same-machine if that doesn't matter",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(flag: &str, variables: &[(&str, &str)]) -> Result<Option<Shard>, String> {
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        };
        check_flag(Some(flag.parse().unwrap()), &find)
    }

    #[test]
    fn a_flag_and_the_scheduler_say_the_same_or_it_is_refused() {
        let task = [
            ("SLURM_ARRAY_TASK_ID", "3"),
            ("SLURM_ARRAY_TASK_MIN", "1"),
            ("SLURM_ARRAY_TASK_COUNT", "8"),
        ];
        let third = Shard::new(3, 8).ok();
        assert_eq!(of("auto", &task), Ok(third));
        assert_eq!(of("3/8", &task), Ok(third));
        assert_eq!(of("3/8", &[]), Ok(third));
        let contradicted = of("2/8", &task).unwrap_err();
        assert!(contradicted.contains("2/8") && contradicted.contains("3/8"), "{contradicted}");
        assert!(of("auto", &[]).unwrap_err().contains("SLURM_ARRAY_TASK_ID"));
        // How many there are is said without a scheduler, too.
        let other_count = of("1/4", &[("BAKEOFF_SHARDS", "8")]).unwrap_err();
        assert!(other_count.contains("1/4, and BAKEOFF_SHARDS is 8"), "{other_count}");
        assert_eq!(of("3/8", &[("BAKEOFF_SHARDS", "8")]), Ok(third));
        assert!(of("3/8", &[("BAKEOFF_SHARDS", "many")]).unwrap_err().contains("`many`"));
        // A job that is no array says nothing of shards.
        assert_eq!(of("3/8", &[("SLURM_JOB_ID", "17")]), Ok(third));
    }
}
