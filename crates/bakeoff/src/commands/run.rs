//! `bakeoff run`: runs an experiment, from its file to its report.

mod articles;
mod conclusion;
mod dry_run;
mod durability;
mod fio;
mod machines;
mod memory;
mod notices;
mod path;
mod record;
mod request;
mod scheduler;
mod shard;
mod takeover;
mod terms;
mod time_limit;
mod timed_disks;

use bakeoff_lab::targets::page::check_header;
use bakeoff_lab::{RunOutcome, Runner};

pub use self::durability::find_substitute;
pub use self::fio::is_job_file;
use self::path::DataLocation;
use self::record::OpenRun;
use self::request::RunRequest;
pub use self::request::{check_keep_images, describe_text};
pub use self::scheduler::SHARDS;
pub use self::shard::plan_is_known;
pub use self::timed_disks::refuse_shared;
use super::baseline::BaselineName;
use super::{disk_daemon, trial};
use crate::Lab;
use crate::cli;
use crate::exit::{CommandFailure, Exit};
use crate::progress::ProgressDisplay;
use crate::stop;

pub fn run(lab: &Lab, arguments: &cli::RunArguments) -> Result<Exit, CommandFailure> {
    path::check_places(arguments)?;
    arguments.save_baseline.as_ref().map_or(Ok(()), BaselineName::check_place)?;
    check_headers(arguments)?;
    match articles::asked_for(lab, arguments) {
        Some(presets) => articles::run(lab, arguments, &presets),
        None => run_one(lab, arguments),
    }
}

/// Before a message shows the level: a secret would be in it.
fn check_headers(arguments: &cli::RunArguments) -> Result<(), CommandFailure> {
    let mut checked = arguments.header.iter().map(|line| check_header(line));
    checked
        .find_map(Result::err)
        .map_or(Ok(()), |why| Err(usage_failure(format!("--header: {why}"))))
}

fn run_one(lab: &Lab, arguments: &cli::RunArguments) -> Result<Exit, CommandFailure> {
    let request = RunRequest::new(lab, arguments)?;
    let (experiment, resumed, mut terms) = request.read()?;
    let launcher = if arguments.dry_run { None } else { Some(disk_daemon::own_launcher()?) };
    let mut experiment = request.on_disks_that_work(experiment, launcher.as_ref())?;
    terms.shard.map_or(Ok(()), |_| refuse_shared(&experiment))?;
    let planned = experiment.with_stand_ins();
    let plan = request.plan(&planned, &terms)?;
    let past = path::find_past_noise(arguments, &planned, terms.data.as_ref());
    let past = past.as_ref();
    let Some(launcher) = launcher else {
        return dry_run::show(arguments, &plan, &terms, &experiment, past);
    };
    terms.timed = timed_disks::time_disks(&request, &mut experiment)?;
    let plan = if terms.timed.is_empty() { plan } else { request.plan(&experiment, &terms)? };
    let program = trial::own_program()?;
    let _alone = shard::hold_machine(&terms)?;
    notices::tell_of_plan(&plan, past, arguments.quiet);
    let OpenRun { mut folder, before } = record::open_folder(arguments, resumed, &plan, &terms)?;
    let stop = stop::stop_flag()?;
    let data = terms.data.as_ref();
    notices::tell_of_data(&plan, &folder, data, arguments.quiet)?;
    let mut progress = ProgressDisplay::new(arguments.quiet, &experiment, &plan.trials);
    if before.is_some() {
        progress.resume(&folder.read_trials().map_err(CommandFailure::from_folder_error)?);
    }
    let runner = Runner {
        plan: &plan,
        program: &program,
        launcher: &launcher,
        folder: &mut folder,
        data_in: data.and_then(DataLocation::folder),
        device: data.and_then(DataLocation::device),
        stop: &stop,
        reuse: arguments.reuse,
        keep_images: arguments.keep_images,
    };
    let ended = runner.run(&mut progress);
    progress.finish();
    if matches!(ended, Ok(RunOutcome::Finished { .. })) {
        timed_disks::time_again(&mut folder)?;
    }
    conclusion::conclude(&request, &plan, OpenRun { folder, before }, ended)
}

fn usage_failure(error: impl std::fmt::Display) -> CommandFailure {
    CommandFailure::new(Exit::Usage, error)
}
