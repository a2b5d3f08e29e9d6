//! `bakeoff compare`: compares two runs, and exits with a code for scripts.

use std::path::PathBuf;

use bakeoff_analysis::{GateVerdict, RunComparison};
use bakeoff_report::ComparedRun;
use bakeoff_results::{escape_unseen, in_words};

use super::report::{self, is_same};
use crate::cli;
use crate::exit::{CommandFailure, Exit};

pub fn run(arguments: &cli::Compare) -> Result<Exit, CommandFailure> {
    compare_runs(arguments).map_err(|failure| match failure.exit {
        Exit::Full => failure,
        _ => CommandFailure { exit: Exit::Usage, ..failure },
    })
}

fn compare_runs(arguments: &cli::Compare) -> Result<Exit, CommandFailure> {
    let paths = find_runs(arguments)?;
    let paths = [&paths[0], &paths[1]].map(|path| path.as_path());
    if is_same(paths[0], paths[1]) {
        let path = paths[0].display();
        return Err(usage_failure(format!("{path} is named twice; name two runs")));
    }
    let [before, after] = [report::read_document(paths[0])?, report::read_document(paths[1])?];
    let names = paths.map(|path| escape_unseen(&path.display().to_string()).into_owned());
    let runs = [
        ComparedRun { folder: &names[0], document: &before },
        ComparedRun { folder: &names[1], document: &after },
    ];
    check_alike(runs)?;
    let found = bakeoff_analysis::two_runs(&before, &after);
    if !found.have_cells_in_common() {
        return Err(usage_failure(nothing_in_common(runs, &found)));
    }
    let options = report::output_options(true);
    let text =
        bakeoff_report::two_runs(runs, &found, arguments.fail_above, &arguments.format, &options)
            .map_err(|error| CommandFailure::new(Exit::Failed, error))?;
    report::print_report(&text, &arguments.format)?;
    Ok(match arguments.fail_above.map(|limit| found.gate(limit)) {
        None | Some(GateVerdict::Passed) => Exit::Done,
        Some(GateVerdict::Worse) => Exit::Worse,
        Some(GateVerdict::Undecided) => Exit::Undecided,
    })
}

/// The run before, and the one after.
fn find_runs(arguments: &cli::Compare) -> Result<[PathBuf; 2], CommandFailure> {
    match (arguments.runs.as_slice(), &arguments.baseline) {
        ([before, after], None) => Ok([before.clone(), after.clone()]),
        ([after], Some(baseline)) => Ok([baseline.find_folder()?, after.clone()]),
        ([_], None) => Err(usage_failure(
            "name two runs, BEFORE and AFTER, or one with --baseline NAME".into(),
        )),
        _ => Err(usage_failure("with --baseline, name one run".into())),
    }
}

fn usage_failure(message: String) -> CommandFailure {
    CommandFailure::new(Exit::Usage, message)
}

/// Refuses runs of different work: a ratio of their times would mean nothing.
fn check_alike(runs: [ComparedRun<'_>; 2]) -> Result<(), CommandFailure> {
    let [one, other] = runs.map(|side| &side.document.run.run);
    let [before, after] = runs.map(|side| side.folder);
    if one.workload != other.workload {
        return Err(usage_failure(format!(
            "{before} is a run of the workload `{}`, and {after} one of `{}`; compare runs of one \
             workload",
            one.workload, other.workload
        )));
    }
    if one.figure_of_merit != other.figure_of_merit {
        return Err(usage_failure(format!(
            "{before} is judged by its {}, and {after} by its {}; run both with one bakeoff",
            one.figure_of_merit.in_words(),
            other.figure_of_merit.in_words()
        )));
    }
    Ok(())
}

fn nothing_in_common(runs: [ComparedRun<'_>; 2], found: &RunComparison) -> String {
    let cells = [&found.only_before, &found.only_after];
    for (side, cells) in runs.iter().zip(cells) {
        if cells.is_empty() {
            let folder = side.folder;
            return format!(
                "no trial counts in {folder} of an engine that stores something; see what went wrong: \
                 bakeoff report {folder}"
            );
        }
    }
    let first = |at: usize| format!("{} has {}", runs[at].folder, in_words(&cells[at][0]));
    format!(
        "the two runs have no cell in common: {}, and {}. Run both with the same levels. Two versions \
         of one server go into one run, side by side: --engine postgres,postgres/path=DIR",
        first(0),
        first(1)
    )
}
