//! Notices to the user before a run begins.

use bakeoff_experiment::{Experiment, Factor};
use bakeoff_folders::trust::TrustedFolder;
use bakeoff_lab::plan::describe_left_out;
use bakeoff_lab::{Plan, Registry};
use bakeoff_results::RunFolder;

use super::path::DataLocation;
use super::{durability, memory, path};
use crate::commands::past_noise::PastNoise;
use crate::commands::{external, plan, strength};
use crate::exit::CommandFailure;
use crate::output::say;

/// Warns of keys in the file that are not used, and of traffic to servers that others may read.
pub fn warn_of_experiment(registry: &Registry, experiment: &Experiment) {
    let engines = experiment.run_levels(Factor::ENGINE);
    for engine in experiment.settings.keys() {
        if engines.iter().all(|level| bakeoff_experiment::engine_name(level) != engine) {
            say(format_args!("the settings of {engine} are not used, since it is not run"));
        }
    }
    for warning in external::find_unprotected(registry, experiment) {
        say(format_args!("{warning}"));
    }
}

pub fn tell_of_plan(plan: &Plan<'_>, past: Option<&PastNoise>, quiet: bool) {
    // Even with --quiet: left-out cells are missing from the verdict.
    plan.left_out.iter().for_each(|it| say(format_args!("{}", describe_left_out(it))));
    if !quiet {
        durability::advise_level(plan).into_iter().for_each(say);
        strength::describe_strength(plan, past).into_iter().for_each(say);
        plan::clients_within(plan).into_iter().for_each(say);
        plan::collect_remarks(plan).into_iter().for_each(say);
    }
}

pub fn tell_of_data(
    plan: &Plan<'_>,
    folder: &RunFolder,
    data: Option<&DataLocation>,
    quiet: bool,
) -> Result<(), CommandFailure> {
    // Even with --quiet: the contents of a raw device are lost.
    let data = data.filter(|data| !quiet || data.device().is_some());
    if let Some(data) = data {
        say(format_args!("{}", data.describe_location()?));
        let folder = data.folder().map(TrustedFolder::path);
        folder
            .map(path::find_left_folders)
            .unwrap_or_default()
            .iter()
            .for_each(|it| say(format_args!("{it}")));
    }
    let began_on = folder.run().map_err(CommandFailure::from_folder_error)?;
    let in_memory = memory::find_warning(plan, began_on.machine_now());
    in_memory.filter(|_| !quiet).into_iter().for_each(say);
    Ok(())
}
