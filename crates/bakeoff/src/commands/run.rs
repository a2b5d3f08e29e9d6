//! `bakeoff run`: an experiment, from its file to its report.

mod articles;
mod asked;
mod durability;
mod fio;
mod machines;
mod memory;
mod path;
mod record;
mod scheduler;
mod shard;
mod takeover;
mod time;

use std::path::Path;

use bakeoff_analysis::{Attempts, Document};
use bakeoff_disk::mount::Launcher;
use bakeoff_experiment::{Experiment, Factor, Shard};
use bakeoff_lab::place::device::HeldDevice;
use bakeoff_lab::possible::line;
use bakeoff_lab::{Ending, LabError, Possible, Preflight, Runner, now_s};
use bakeoff_report::Options;
use bakeoff_results::{RunFolder, Status, visible};
use bakeoff_trust::TrustedFolder;

use self::asked::RunInvocation;
pub use self::asked::text;
pub use self::durability::instead;
pub use self::fio::is_job_file;
use self::path::DataLocation;
pub use self::scheduler::SHARDS;
pub use self::shard::plan_is_known;
use super::{disk_daemon, external, plan, present, report, trial};
use crate::Lab;
use crate::cli;
use crate::exit::{CommandFailure, Exit};
use crate::find_limit;
use crate::output::{by_own_name, print, say, write_here};
use crate::progress::ProgressDisplay;
use crate::stop;

/// The page of a run, in its folder.
pub const REPORT: &str = "report.html";

/// Runs an experiment or the articles, or goes on with a run.
pub fn run(lab: &Lab, arguments: &cli::RunArguments) -> Result<Exit, CommandFailure> {
    match articles::asked_for(lab, arguments) {
        Some(presets) => articles::run(lab, arguments, &presets),
        None => one(lab, arguments),
    }
}

/// Runs an experiment, or goes on with one.
fn one(lab: &Lab, arguments: &cli::RunArguments) -> Result<Exit, CommandFailure> {
    let registry = &lab.registry;
    let asked = RunInvocation { registry, reports: &lab.reports, arguments };
    let (experiment, resumed) = match &arguments.resume {
        Some(dir) => {
            // A plan changes nothing.
            let open = if arguments.dry_run { RunFolder::open } else { RunFolder::resume };
            let folder = open(dir).map_err(CommandFailure::folder)?;
            // Nor is it of a text that was never run.
            folder.check_experiment().map_err(CommandFailure::folder)?;
            (asked.resumed_experiment(dir)?, Some(folder))
        }
        None => (asked.new_experiment()?, None),
    };
    asked.check_keep_images(&experiment)?;
    let destroys = arguments.i_know_this_destroys_data;
    let held = |path| path::held(path, destroys);
    let data = arguments.path.as_deref().map(held).transpose()?;
    let began = resumed.as_ref().map(RunFolder::run).transpose().map_err(CommandFailure::folder)?;
    let shard = shard::asked(arguments, began.as_ref())?;
    // Refused before anything runs.
    present::read(arguments.present.as_deref(), &present::factors(&experiment))?;
    if !arguments.quiet {
        name_unused_settings(&experiment);
        for warning in external::unprotected(registry, &experiment) {
            say(format_args!("{warning}"));
        }
    }
    if arguments.dry_run {
        // Nothing is mounted to find out more.
        let mountable = || bakeoff_disk::daemon::can_mount().map_err(|error| error.to_string());
        return dry_run(
            asked,
            &asked.on_disks_that_work(experiment, mountable)?,
            shard,
            data.as_ref(),
        );
    }
    let (program, launcher) = (trial::program()?, disk_daemon::launcher()?);
    let experiment = asked.on_disks_that_work(experiment, || mounts(&launcher))?;
    let possible = Possible::from_experiment(registry, &experiment);
    durability::suffices(registry, &experiment, &possible)?;
    let possible = shard::part(&experiment, possible, shard)?;
    let _alone = shard::alone(arguments, shard)?;
    // Also for those who want the verdict alone: what is not run is not in it.
    possible.left_out.iter().for_each(|it| say(format_args!("{}", line(it))));
    let advice = durability::advice(registry, &experiment, &possible);
    advice.filter(|_| !arguments.quiet).into_iter().for_each(say);
    if let Some(clients) = plan::clients_within(registry, &possible).filter(|_| !arguments.quiet) {
        say(format_args!("{clients}"));
    }
    let remarks = plan::remarks(registry, &experiment, &possible).into_iter();
    remarks.filter(|_| !arguments.quiet).for_each(|remark| say(format_args!("{remark}")));
    let goes_on = resumed.is_some();
    let mut folder = match resumed.zip(began) {
        Some((mut folder, began)) => {
            external::check_passwords(&folder, &began.engines)?;
            let now =
                record::check_terms(asked, &folder, &began, &experiment, &possible, data.as_ref())?;
            let by = takeover::check(&folder, &began, &now, arguments.another_binary)?;
            by.map_or(Ok(()), |by| folder.note_platform(by)).map_err(CommandFailure::folder)?;
            machines::go_on(&mut folder, began, &now, &experiment, &possible)?;
            folder.set_status(Status::Unfinished, None).map_err(CommandFailure::folder)?;
            folder
        }
        None => {
            let short =
                time::check(registry, &experiment, &possible, DataLocation::medium(data.as_ref()))?;
            short.filter(|_| !arguments.quiet).inspect(|short| say(format_args!("{short}")));
            record::create_folder(asked, &experiment, &possible, shard, data.as_ref())?
        }
    };
    let before = goes_on.then(|| how_much(&folder)).transpose()?;
    let stop = stop::flag()?;
    // What is lost is said to everybody.
    let told = data.as_ref().filter(|data| !arguments.quiet || data.device().is_some());
    if let Some(data) = told {
        say(format_args!("{}", data.described()?));
        let folder = data.folder().map(TrustedFolder::path);
        folder.map(path::left).unwrap_or_default().iter().for_each(|it| say(format_args!("{it}")));
    }
    let began_on = folder.run().map_err(CommandFailure::folder)?;
    let in_memory = memory::warning(registry, &possible, began_on.machine_now());
    in_memory.filter(|_| !arguments.quiet).into_iter().for_each(say);
    let mut progress = ProgressDisplay::new(arguments.quiet, &experiment, &possible.plan);
    if goes_on {
        progress.resume(&folder.trials().map_err(CommandFailure::folder)?);
    }
    let ended = Runner {
        registry,
        program: &program,
        launcher: &launcher,
        experiment: &experiment,
        possible: &possible,
        folder: &mut folder,
        data_in: data.as_ref().and_then(DataLocation::folder),
        device: data.as_ref().and_then(DataLocation::device),
        stop: &stop,
        reuse: arguments.reuse,
        keep_images: arguments.keep_images,
    }
    .run(&mut progress);
    progress.finish();
    let empty = folder.done().is_ok_and(|done| done.is_empty())
        && folder.cuts().is_ok_and(|cuts| cuts.is_empty());
    if ended.is_err() && arguments.resume.is_none() && empty {
        // Nothing was measured: the same command, mended, must find its place free.
        folder.remove().map_err(CommandFailure::folder)?;
        return Err(CommandFailure::lab(ended.expect_err("it was looked at"), None));
    }
    if matches!(ended, Ok(Ending::Finished { .. })) && before == Some(how_much(&folder)?) {
        let dir = folder.dir().display();
        say(format_args!("nothing is left to run: the run in {dir} had finished"));
    }
    let exit = conclude(asked, &mut folder, ended)?;
    let answers = find_limit::answers(&experiment, &possible.plan, &mut folder);
    let answers: String =
        answers.map_err(CommandFailure::folder)?.iter().map(|it| format!("{it}\n")).collect();
    print(&visible(&answers))?;
    Ok(exit)
}

/// How many trials and power cuts have ended.
fn how_much(folder: &RunFolder) -> Result<(usize, usize), CommandFailure> {
    let done = folder.done().map_err(CommandFailure::folder)?;
    Ok((done.len(), folder.cuts().map_err(CommandFailure::folder)?.len()))
}

/// Shows the plan, and what would keep the run from beginning on this machine: it ends as that run would. Nothing
/// is mounted, and nothing is changed on any server, to find out.
fn dry_run(
    asked: RunInvocation<'_>,
    experiment: &Experiment,
    shard: Option<Shard>,
    data: Option<&DataLocation>,
) -> Result<Exit, CommandFailure> {
    let RunInvocation { registry, arguments, .. } = asked;
    let possible = Possible::from_experiment(registry, experiment);
    // Where nothing can be run there is no plan.
    durability::suffices(registry, experiment, &possible)?;
    let possible = &shard::part(experiment, possible, shard)?;
    if let Some(shard) = shard {
        print(&format!("{}\n", shard::line(experiment, possible, shard)))?;
    }
    let medium = DataLocation::medium(data);
    print(&visible(&by_own_name(&plan::describe(registry, experiment, possible, medium))))?;
    durability::advice(registry, experiment, possible).into_iter().for_each(say);
    // In the order in which the run would meet them.
    let mut refusals = Vec::new();
    match time::check(registry, experiment, possible, medium) {
        Err(refusal) => refusals.push(refusal),
        Ok(short) => short.into_iter().for_each(|short| say(format_args!("{short}"))),
    }
    let out = arguments.out.as_deref().or(arguments.resume.as_deref());
    let folder = above(out.unwrap_or(Path::new(".")));
    refusals.extend(unfit(arguments, folder).into_iter().map(CommandFailure::folder));
    let device = data.and_then(DataLocation::device).map(HeldDevice::device);
    if let Some(data) = data.filter(|_| device.is_some()) {
        print(&format!("{}\n", visible(&data.described()?)))?;
    }
    let results = data.and_then(DataLocation::folder).map(|_| folder);
    let folder = data.and_then(DataLocation::folder).map_or(folder, TrustedFolder::path);
    let machine = path::machine(data, folder).ok();
    let in_memory = machine.and_then(|machine| memory::warning(registry, possible, &machine));
    in_memory.into_iter().for_each(say);
    let (launcher, reuse) = (None, arguments.reuse);
    let preflight =
        Preflight { registry, experiment, possible, folder, results, device, launcher, reuse };
    let problems = preflight.check(possible.plan.blocks.iter()).err();
    refusals.extend(problems.map(|it| CommandFailure::lab(LabError::Preflight(it), None)));
    for refusal in &refusals {
        say(format_args!("it would not begin here: {}", refusal.message));
    }
    Ok(refusals.first().map_or(Exit::Done, |refusal| refusal.exit))
}

/// Why the run folder could not be made in the folder that is there, or be gone on with.
fn unfit(arguments: &cli::RunArguments, folder: &Path) -> Vec<bakeoff_results::Error> {
    let taken = arguments.out.as_deref().and_then(|out| RunFolder::check_free(out).err());
    let out = arguments.out.as_deref().or(arguments.resume.as_deref());
    let open = if out == Some(folder) { bakeoff_trust::folder } else { bakeoff_trust::holder };
    taken.into_iter().chain(open(folder).err().map(Into::into)).collect()
}

/// Notes how the run ended, and shows what it found.
fn conclude(
    asked: RunInvocation<'_>,
    folder: &mut RunFolder,
    ended: Result<Ending, LabError>,
) -> Result<Exit, CommandFailure> {
    let status = match &ended {
        Ok(Ending::Finished { .. }) => Status::Finished,
        Ok(Ending::Interrupted) => Status::Interrupted,
        Err(_) => Status::Unfinished,
    };
    let noted = folder.set_status(status, Some(now_s())).map_err(CommandFailure::folder);
    let ending = ended.map_err(|error| {
        // Why it stopped is more than that the folder can't be read.
        CommandFailure::lab(error, to_go_on(asked, folder).ok().as_deref())
    })?;
    noted?;
    let document = bakeoff_analysis::document(folder).map_err(CommandFailure::folder)?;
    if !document.trials.is_empty() || !document.cuts.is_empty() {
        show(asked, folder, &document)?;
    }
    match ending {
        Ending::Finished { .. } if any_broken(&document) => Ok(Exit::Promise),
        Ending::Finished { .. } if any_failed(&document) => Ok(Exit::Trials),
        Ending::Finished { .. } => Ok(Exit::Done),
        Ending::Interrupted => {
            say(format_args!("interrupted; to go on: {}", to_go_on(asked, folder)?));
            Ok(Exit::Interrupted)
        }
    }
}

/// The command that goes on with a run, with all that no run folder says by itself.
fn to_go_on(asked: RunInvocation<'_>, folder: &RunFolder) -> Result<String, CommandFailure> {
    let (path, run) = (folder.dir().display(), folder.run().map_err(CommandFailure::folder)?);
    let external = external::again(&run, &asked.registry.vocabulary());
    let RunInvocation { arguments, .. } = asked;
    let data = path::again(arguments.path.as_deref(), arguments.i_know_this_destroys_data);
    let owns = if arguments.i_run_this_server { " --i-run-this-server" } else { "" };
    Ok(format!("bakeoff run --resume {path}{data}{owns}{external}"))
}

/// Whether a power cut has shown a broken promise.
fn any_broken(document: &Document) -> bool {
    document.promises.iter().any(|promise| promise.kept == Some(false))
}

/// Whether a trial failed, rather than being set aside and run again, or a power cut did.
fn any_failed(document: &Document) -> bool {
    let attempts = Attempts::from_trials(&document.trials);
    document.trials.iter().any(|trial| !trial.valid && !attempts.set_aside(trial))
        || document.promises.iter().any(|promise| promise.failed > 0)
}

/// Writes the HTML report and prints the tables, or only the verdict.
fn show(
    asked: RunInvocation<'_>,
    folder: &RunFolder,
    document: &Document,
) -> Result<(), CommandFailure> {
    let RunInvocation { reports, arguments, .. } = asked;
    let path = folder.dir().join(REPORT);
    let present = present::read(arguments.present.as_deref(), &document.run.run.factors)?;
    let page = Options { present: present.clone(), ..report::options(false) };
    write_here(&path, &report::render(reports, document, "html", &page)?)?;
    if arguments.quiet {
        return print(&format!("{}\n", bakeoff_report::verdict(document)));
    }
    let lines = Options { present, ..report::options(true) };
    print(&report::render(reports, document, "term", &lines)?)?;
    print(&format!("\nThe report: {}\n", path.display()))
}

/// What there is of a folder that is still to be made.
fn above(dir: &Path) -> &Path {
    let there = |path: &&Path| !path.as_os_str().is_empty() && path.exists();
    dir.ancestors().find(there).unwrap_or(Path::new("."))
}

/// Whether a virtual disk can be mounted, found out by doing it.
fn mounts(launcher: &Launcher) -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    bakeoff_lab::try_virtual_disk(launcher, place.path())
}

/// Says which settings in the file are of engines that are not run.
fn name_unused_settings(experiment: &Experiment) {
    let engines = experiment.levels(Factor::ENGINE);
    for engine in experiment.settings.keys() {
        if engines.iter().all(|level| bakeoff_experiment::engine(level) != engine) {
            say(format_args!("the settings of {engine} are not used, since it is not run"));
        }
    }
}

fn usage(error: impl std::fmt::Display) -> CommandFailure {
    CommandFailure::new(Exit::Usage, error)
}
