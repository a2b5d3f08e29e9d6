//! `--dry-run`: prints the plan, and what would keep the run from starting here. Mounts and changes
//! nothing.

use std::path::Path;

use bakeoff_experiment::Experiment;
use bakeoff_folders::trust::TrustedFolder;
use bakeoff_lab::place::device::HeldDevice;
use bakeoff_lab::{LabError, Plan, Preflight};
use bakeoff_results::escape_unseen;

use super::path::{self, DataLocation, existing_ancestor};
use super::terms::RunTerms;
use super::{durability, memory, shard, time_limit, timed_disks};
use crate::cli;
use crate::commands::past_noise::PastNoise;
use crate::commands::plan;
use crate::exit::{CommandFailure, Exit};
use crate::output::{by_own_name, print, say};

/// `experiment` may have disks that were not timed; the plan has a model in the place of each.
pub fn show(
    arguments: &cli::RunArguments,
    plan: &Plan<'_>,
    terms: &RunTerms,
    experiment: &Experiment,
    past: Option<&PastNoise>,
) -> Result<Exit, CommandFailure> {
    let data = terms.data.as_ref();
    let medium = DataLocation::medium(data);
    let part =
        terms.shard.map_or_else(String::new, |shard| shard::describe_part(plan, shard) + "\n");
    print(&(part + &escape_unseen(&by_own_name(&plan::describe_plan(plan, medium, past)))))?;
    let untimed = timed_disks::describe_untimed(experiment);
    untimed.iter().try_for_each(|line| print(&format!("{}\n", escape_unseen(line))))?;
    durability::advise_level(plan).into_iter().for_each(say);
    let out = arguments.out.as_deref().or(arguments.resume.as_deref());
    let run_in = existing_ancestor(out.unwrap_or(Path::new(".")));
    let data_in = data.and_then(DataLocation::folder).map(TrustedFolder::path);
    let (folder, results) = (data_in.unwrap_or(run_in), data_in.map(|_| run_in));
    let unfit = path::find_unfit_folder(arguments, run_in);
    let machine = path::describe_data_machine(data, folder).ok();
    // In the order in which a run would meet them.
    let mut refusals = Vec::new();
    match time_limit::check_time(plan, medium) {
        Err(refusal) => refusals.push(refusal),
        Ok(short) => short.into_iter().for_each(say),
    }
    refusals.extend(timed_disks::find_untimeable(experiment));
    refusals.extend(unfit.into_iter().map(CommandFailure::from_folder_error));
    let device = data.and_then(DataLocation::device).map(HeldDevice::device);
    if let Some(data) = data.filter(|_| device.is_some()) {
        print(&format!("{}\n", escape_unseen(&data.describe_location()?)))?;
    }
    machine.and_then(|machine| memory::find_warning(plan, &machine)).into_iter().for_each(say);
    let (launcher, reuse) = (None, arguments.reuse);
    let preflight = Preflight { plan, folder, results, device, launcher, reuse };
    let problems = preflight.check(plan.resolved()).err();
    refusals
        .extend(problems.map(|it| CommandFailure::from_lab_error(LabError::Preflight(it), None)));
    for refusal in &refusals {
        say(format_args!("it would not begin here: {}", refusal.message));
    }
    Ok(refusals.first().map_or(Exit::Done, |refusal| refusal.exit))
}
