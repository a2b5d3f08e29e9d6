//! Disks of levels `like:PATH`: timed before the run, and their flush once more after it.

use std::path::Path;

use bakeoff_experiment::{Experiment, LIKE, model_table};
use bakeoff_lab::disk_likeness::DiskLikeness;
use bakeoff_lab::disk_timing::{TimingPlan, check_disk, time_disk, time_flush};
use bakeoff_results::{RunFolder, TimedDisk};

use super::path::{self, existing_ancestor};
use super::request::RunRequest;
use super::usage_failure;
use crate::exit::{CommandFailure, Exit};
use crate::output::say;

/// Levels, each with what their disk took.
pub type TimedLevels = Vec<(String, TimedDisk)>;

/// Refuses to share a plan whose disks each machine would time for itself.
pub fn refuse_shared(experiment: &Experiment) -> Result<(), CommandFailure> {
    let Some(level) = experiment.untimed_disks().into_iter().next() else { return Ok(()) };
    let path = find_path(level).display();
    Err(usage_failure(format!(
        "each machine would time a disk {level} of its own, and measure on another model: name the model in \
         its place, which `bakeoff doctor {path}` prints"
    )))
}

/// What a plan says of the disks that a run would time.
pub fn describe_untimed(experiment: &Experiment) -> Vec<String> {
    let line = |level: &str| {
        format!(
            "disk {level}: it is timed before the run, which takes 20 s, and its flush after the run, which takes \
             4 s; nothing is timed for a plan"
        )
    };
    experiment.untimed_disks().into_iter().map(line).collect()
}

/// Why disks can't be timed.
pub fn find_untimeable(experiment: &Experiment) -> Vec<CommandFailure> {
    let levels = experiment.untimed_disks().into_iter();
    levels.filter_map(|level| check_disk(find_path(level)).err()).map(folder_failure).collect()
}

/// Times each disk that has no model yet, and puts its model into the experiment.
pub fn time_disks(
    RunRequest { registry, arguments, .. }: &RunRequest<'_>,
    experiment: &mut Experiment,
) -> Result<TimedLevels, CommandFailure> {
    let levels: Vec<String> = experiment.untimed_disks().into_iter().map(str::to_owned).collect();
    if levels.is_empty() {
        return Ok(Vec::new());
    }
    // What takes 20 s comes after what may be refused at once.
    let run_in = existing_ancestor(arguments.out.as_deref().unwrap_or(Path::new(".")));
    let unfit = path::find_unfit_folder(arguments, run_in).into_iter();
    let unfit = unfit.map(CommandFailure::from_folder_error);
    unfit.chain(find_untimeable(experiment)).next().map_or(Ok(()), Err)?;
    let tell = |level: &str, what: &str| {
        if !arguments.quiet {
            say(format_args!("disk {level}: {what}"));
        }
    };
    let mut timed = Vec::new();
    for level in levels {
        tell(&level, "it is timed, which takes 20 s");
        let before = time_disk(find_path(&level), &TimingPlan::WHOLE).map_err(folder_failure)?;
        let likeness = DiskLikeness::find(registry.models(), &before);
        let likeness = likeness.map_err(|error| usage_failure(format!("disk {level}: {error}")))?;
        let model = likeness.model.to_string();
        tell(&level, &format!("{}; it is modelled as {model}", likeness.describe()));
        before.doubts.iter().for_each(|doubt| tell(&level, doubt));
        experiment.disks.insert(level.clone(), model_table(&model));
        timed.push((level, TimedDisk { model, before, after: None }));
    }
    Ok(timed)
}

/// Times the flush of each disk that was timed before the run, and notes it. A disk that can't be timed
/// any more makes no run worthless.
pub fn time_again(folder: &mut RunFolder) -> Result<(), CommandFailure> {
    let run = folder.run().map_err(CommandFailure::from_folder_error)?;
    let open = |timed: &TimedDisk| timed.after.is_none();
    for disk in run.disks.iter().filter(|disk| disk.timed.as_ref().is_some_and(open)) {
        match time_flush(find_path(&disk.level), &TimingPlan::FLUSH) {
            Ok(after) => folder
                .note_timed_after(&disk.level, &after)
                .map_err(CommandFailure::from_folder_error)?,
            Err(error) => say(format_args!(
                "disk {}: whether it is as fast as before the run is not known: {error}",
                disk.level
            )),
        }
    }
    Ok(())
}

fn find_path(level: &str) -> &Path {
    Path::new(level.strip_prefix(LIKE).unwrap_or(level))
}

fn folder_failure(error: bakeoff_lab::disk_timing::TimingError) -> CommandFailure {
    CommandFailure::new(Exit::Folder, error)
}
