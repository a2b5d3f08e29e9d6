//! `bakeoff compare`: two runs held against each other, and an exit code that a script can go by.

use bakeoff_analysis::{GateVerdict, TwoRuns};
use bakeoff_report::Side;
use bakeoff_results::{in_words, visible};

use super::report::{self, is_same};
use crate::cli;
use crate::exit::{CommandFailure, Exit};
use crate::output::print;

/// Prints how the second run stands against the first.
///
/// # Errors
/// What keeps the two from being compared. It ends with [`Exit::Usage`], or with [`Exit::Full`] where
/// standard output is full: other codes say how the runs stand.
pub fn run(arguments: &cli::Compare) -> Result<Exit, CommandFailure> {
    compared(arguments).map_err(|failure| match failure.exit {
        Exit::Full => failure,
        _ => CommandFailure { exit: Exit::Usage, ..failure },
    })
}

fn compared(arguments: &cli::Compare) -> Result<Exit, CommandFailure> {
    let paths = [&arguments.before, &arguments.after].map(|path| path.as_path());
    if is_same(paths[0], paths[1]) {
        let path = paths[0].display();
        return Err(usage(format!("{path} is named twice; name two runs")));
    }
    let [before, after] = [report::document(paths[0])?, report::document(paths[1])?];
    let names = paths.map(|path| visible(&path.display().to_string()).into_owned());
    let runs = [
        Side { folder: &names[0], document: &before },
        Side { folder: &names[1], document: &after },
    ];
    alike(runs)?;
    let found = bakeoff_analysis::two_runs(&before, &after);
    if !found.have_cells_in_common() {
        return Err(usage(nothing_in_common(runs, &found)));
    }
    let options = report::options(true);
    let text =
        bakeoff_report::two_runs(runs, &found, arguments.fail_above, &arguments.format, &options)
            .map_err(|error| CommandFailure::new(Exit::Failed, error))?;
    print(&text)?;
    Ok(match arguments.fail_above.map(|limit| found.gate(limit)) {
        None | Some(GateVerdict::Passed) => Exit::Done,
        Some(GateVerdict::Worse) => Exit::Worse,
        Some(GateVerdict::Undecided) => Exit::Undecided,
    })
}

fn usage(message: String) -> CommandFailure {
    CommandFailure::new(Exit::Usage, message)
}

/// Refuses runs of different work: no ratio of their times says anything.
fn alike(runs: [Side<'_>; 2]) -> Result<(), CommandFailure> {
    let [one, other] = runs.map(|side| &side.document.run.run);
    let [before, after] = runs.map(|side| side.folder);
    if one.workload != other.workload {
        return Err(usage(format!(
            "{before} is a run of the workload `{}`, and {after} one of `{}`; compare runs of one \
             workload",
            one.workload, other.workload
        )));
    }
    if one.figure_of_merit != other.figure_of_merit {
        return Err(usage(format!(
            "{before} is judged by its {}, and {after} by its {}; run both with one bakeoff",
            one.figure_of_merit.words(),
            other.figure_of_merit.words()
        )));
    }
    Ok(())
}

/// Why there is nothing to compare, and what to do.
fn nothing_in_common(runs: [Side<'_>; 2], found: &TwoRuns) -> String {
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
