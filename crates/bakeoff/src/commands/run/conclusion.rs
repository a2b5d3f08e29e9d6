//! The end of a run: reports how it ended, what it found, and how to resume.

use std::path::Path;

use bakeoff_analysis::{Attempts, ConditionBreach, Document, FailCondition};
use bakeoff_lab::{LabError, Plan, RunOutcome, now_s};
use bakeoff_results::{Levels, RunFolder, Status, escape_unseen, in_words};

use super::path;
use super::record::{OpenRun, count_ended};
use super::request::RunRequest;
use crate::commands::baseline::BaselineName;
use crate::commands::{external, report};
use crate::exit::{CommandFailure, Exit};
use crate::find_limit;
use crate::output::{print, say};

pub fn conclude(
    request: &RunRequest<'_>,
    plan: &Plan<'_>,
    OpenRun { mut folder, before }: OpenRun,
    ended: Result<RunOutcome, LabError>,
) -> Result<Exit, CommandFailure> {
    let after = count_ended(&folder);
    let ended = match ended {
        Err(error) if before.is_none() && after.as_ref().is_ok_and(|after| *after == (0, 0)) => {
            // Nothing was measured: the corrected command must find the place free.
            folder.remove().map_err(CommandFailure::from_folder_error)?;
            return Err(CommandFailure::from_lab_error(error, None));
        }
        ended => ended,
    };
    if matches!(ended, Ok(RunOutcome::Finished { .. })) && before == Some(after?) {
        let dir = folder.dir().display();
        say(format_args!("nothing is left to run: the run in {dir} had finished"));
    }
    let status = match &ended {
        Ok(RunOutcome::Finished { .. }) => Status::Finished,
        Ok(RunOutcome::Interrupted) => Status::Interrupted,
        Err(_) => Status::Unfinished,
    };
    let noted = folder.set_status(status, Some(now_s())).map_err(CommandFailure::from_folder_error);
    let again = command_to_resume(request, &folder);
    let ending = ended.map_err(|error| {
        // Why it stopped matters more than that the folder can't be read.
        CommandFailure::from_lab_error(error, again.as_deref().ok())
    })?;
    noted?;
    let document =
        bakeoff_analysis::read_document(&folder).map_err(CommandFailure::from_folder_error)?;
    if !document.trials.is_empty() || !document.cuts.is_empty() {
        let RunRequest { arguments, .. } = request;
        report::show_run(arguments, &folder, &document)?;
    }
    let is_finished = matches!(ending, RunOutcome::Finished { .. });
    let is_beyond = is_finished && tell_breaches(&request.arguments.fail_if, &document);
    let exit = match ending {
        RunOutcome::Finished { .. } if any_broken(&document) => Exit::Promise,
        RunOutcome::Finished { .. } if is_beyond => Exit::Limit,
        RunOutcome::Finished { .. } if any_failed(&document) => Exit::Trials,
        RunOutcome::Finished { .. } => Exit::Done,
        RunOutcome::Interrupted => {
            say(format_args!("interrupted; to go on: {}", again?));
            Exit::Interrupted
        }
    };
    let answers = find_limit::find_answers(plan.experiment, &plan.trials, &mut folder);
    let answers: String = answers
        .map_err(CommandFailure::from_folder_error)?
        .iter()
        .map(|it| format!("{it}\n"))
        .collect();
    print(&escape_unseen(&answers))?;
    let dir = folder.dir().to_owned();
    // It leaves one plain file, which can be copied.
    drop(folder);
    if let Some(baseline) = &request.arguments.save_baseline {
        keep_baseline(baseline, &dir, exit)?;
    }
    Ok(exit)
}

/// A run that failed would let later ones pass.
fn keep_baseline(baseline: &BaselineName, dir: &Path, exit: Exit) -> Result<(), CommandFailure> {
    match exit {
        Exit::Done => {
            let kept = baseline.save(dir)?;
            say(format_args!("kept as a baseline: {}", kept.display()));
        }
        _ => say(format_args!("not kept as a baseline: the run ends with {}", exit.to_code())),
    }
    Ok(())
}

/// The command that resumes a run, with all flags that the run folder does not keep.
fn command_to_resume(
    request: &RunRequest<'_>,
    folder: &RunFolder,
) -> Result<String, CommandFailure> {
    let (path, run) =
        (folder.dir().display(), folder.run().map_err(CommandFailure::from_folder_error)?);
    let external = external::resume_flags(&run, &request.registry.vocabulary());
    let RunRequest { arguments, .. } = request;
    let data = path::resume_flags(arguments.path.as_deref(), arguments.i_know_this_destroys_data);
    let owns = if arguments.i_run_this_server { " --i-run-this-server" } else { "" };
    Ok(format!("bakeoff run --resume {path}{data}{owns}{external}"))
}

/// Says what each condition found; whether any found something.
fn tell_breaches(conditions: &[FailCondition], document: &Document) -> bool {
    let mut found_some = false;
    for condition in conditions {
        for breach in condition.find_breaches(document) {
            let ConditionBreach { levels, operation, found, .. } = breach;
            let found = match found {
                Some(found) => condition.format_figure(found),
                None => "not known: too few operations, or no trial counts".to_owned(),
            };
            let at = describe_varied(document, levels);
            say(format_args!("failed: {condition}{at}, {operation}: {found}"));
            found_some = true;
        }
    }
    found_some
}

/// The levels of factors that have several: " at sqlite × clients 8".
fn describe_varied(document: &Document, mut levels: Levels) -> String {
    levels.retain(|factor, _| document.run.run.levels_of(factor).len() > 1);
    if levels.is_empty() { String::new() } else { format!(" at {}", in_words(&levels)) }
}

fn any_broken(document: &Document) -> bool {
    document.promises.iter().any(|promise| promise.kept == Some(false))
}

/// Whether a power cut failed, or a trial that was not set aside and run again.
fn any_failed(document: &Document) -> bool {
    let attempts = Attempts::from_trials(&document.trials);
    document.trials.iter().any(|trial| !trial.valid && !attempts.set_aside(trial))
        || document.promises.iter().any(|promise| promise.failed > 0)
}
