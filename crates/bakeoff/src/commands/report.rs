//! `bakeoff report`: shows a run folder in a form for readers.

use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bakeoff_analysis::Document;
use bakeoff_report::{CsvRows, Options};
use bakeoff_results::{DATABASE, EXPERIMENT, RunFolder, escape_unseen};

use super::present;
use crate::cli;
use crate::exit::{CommandFailure, Exit};
use crate::output::{
    WIDTH, has_color, print, print_data, shows_unicode, terminal_width, write, write_here,
};

pub const REPORT: &str = "report.html";

pub fn run(arguments: &cli::ReportArguments) -> Result<Exit, CommandFailure> {
    let usage = |message| CommandFailure::new(Exit::Usage, message);
    let format = arguments.choose_format().map_err(usage)?;
    if arguments.rows.is_some() && format != "csv" {
        return Err(CommandFailure::new(Exit::Usage, "--rows needs --format csv"));
    }
    let folder = RunFolder::open(&arguments.dir).map_err(CommandFailure::from_folder_error)?;
    let mut document =
        bakeoff_analysis::read_document(&folder).map_err(CommandFailure::from_folder_error)?;
    take_cuts(&mut document, arguments)?;
    take_applications(&mut document, arguments)?;
    let rows = arguments.rows.map(CsvRows::from);
    if rows == Some(CsvRows::Series) {
        document.take_series(&folder).map_err(CommandFailure::from_folder_error)?;
    }
    let present = present::parse_present(arguments.present.as_deref(), &document.run.run.factors)?;
    let options = Options { rows, present, ..output_options(arguments.output.is_none()) };
    let text = render_document(&document, format, &options)?;
    match &arguments.output {
        Some(path) => {
            spare_records(path, arguments)?;
            write(path, &text)?;
        }
        None => print_report(&text, format)?,
    }
    Ok(Exit::Done)
}

/// Prints a report in this form.
pub fn print_report(text: &str, format: &str) -> Result<(), CommandFailure> {
    if bakeoff_report::is_for_terminal(format) { print(text) } else { print_data(text) }
}

/// For a run that has just ended: writes the HTML report and prints the answer, all tables, or only
/// the verdict.
pub fn show_run(
    arguments: &cli::RunArguments,
    folder: &RunFolder,
    document: &Document,
) -> Result<(), CommandFailure> {
    let path = folder.dir().join(REPORT);
    let present = present::parse_present(arguments.present.as_deref(), &document.run.run.factors)?;
    let page = Options { present: present.clone(), ..output_options(false) };
    write_here(&path, &render_document(document, "html", &page)?)?;
    if arguments.is_stage {
        return Ok(());
    }
    if arguments.quiet {
        let sentences = bakeoff_report::list_sentences(document);
        return print(&format!("{}\n", sentences.join("\n")));
    }
    let lines = Options { present, ..output_options(true) };
    let format = if arguments.full { "term" } else { "brief" };
    print(&render_document(document, format, &lines)?)?;
    print(&format!("The report: {}\n", path.display()))
}

/// Refuses to overwrite a record of the run that is read, under whatever name.
fn spare_records(output: &Path, arguments: &cli::ReportArguments) -> Result<(), CommandFailure> {
    let identity = |path: &Path| path.metadata().ok().map(|it| (it.dev(), it.ino()));
    let Some(target) = identity(output) else { return Ok(()) };
    let runs = arguments.cuts.iter().chain(&arguments.beside).chain([&arguments.dir]);
    let records = runs.flat_map(|dir| [DATABASE, EXPERIMENT].map(|name| dir.join(name)));
    match records.into_iter().find(|record| identity(record) == Some(target)) {
        Some(record) => Err(CommandFailure::new(
            Exit::Usage,
            format!("{} is the run's own record; name another file", record.display()),
        )),
        None => Ok(()),
    }
}

fn take_cuts(
    document: &mut Document,
    arguments: &cli::ReportArguments,
) -> Result<(), CommandFailure> {
    let usage = |message: String| Err(CommandFailure::new(Exit::Usage, message));
    for (number, dir) in arguments.cuts.iter().enumerate() {
        let (name, run) = (dir.display(), arguments.dir.display());
        let is_known = |it: &PathBuf| is_same(it, dir);
        if is_known(&arguments.dir) || arguments.cuts[..number].iter().any(is_known) {
            return usage(format!("{name} is named twice; each power cut counts once"));
        }
        let other = self::read_document(dir)?;
        if other.promises.is_empty() {
            return usage(format!(
                "the run in {name} has no power cuts; name one that has: bakeoff run power-cut"
            ));
        }
        if document.take_cuts(&escape_unseen(&name.to_string()), &other) == 0 {
            let cut = other.promises.iter().map(|it| format!("{} {}", it.engine, it.durability));
            let cut = cut.collect::<Vec<_>>().join(", ");
            return usage(format!(
                "the run in {name} cut the power of {cut}, and the run in {run} has none of these"
            ));
        }
    }
    Ok(())
}

fn take_applications(
    document: &mut Document,
    arguments: &cli::ReportArguments,
) -> Result<(), CommandFailure> {
    let usage = |message: String| CommandFailure::new(Exit::Usage, message);
    for (number, dir) in arguments.beside.iter().enumerate() {
        let name = dir.display();
        let mut known = [&arguments.dir].into_iter().chain(&arguments.beside[..number]);
        if known.any(|it| is_same(it, dir)) {
            return Err(usage(format!("{name} is named twice; name each run once")));
        }
        let other = self::read_document(dir)?;
        document.take_application(&escape_unseen(&name.to_string()), &other).map_err(usage)?;
    }
    Ok(())
}

impl From<cli::CsvRowKind> for CsvRows {
    fn from(rows: cli::CsvRowKind) -> Self {
        match rows {
            cli::CsvRowKind::Trials => CsvRows::Trials,
            cli::CsvRowKind::Cuts => CsvRows::Cuts,
            cli::CsvRowKind::Series => CsvRows::Series,
        }
    }
}

pub fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().is_some_and(|one| other.canonicalize().is_ok_and(|it| it == one))
}

pub fn read_document(dir: &Path) -> Result<Document, CommandFailure> {
    RunFolder::open(dir)
        .and_then(|folder| bakeoff_analysis::read_document(&folder))
        .map_err(CommandFailure::from_folder_error)
}

pub fn render_document(
    document: &Document,
    format: &str,
    options: &Options,
) -> Result<String, CommandFailure> {
    let rendered = bakeoff_report::render(document, format, options);
    rendered.map_err(|error| CommandFailure::new(Exit::Failed, error))
}

/// Options for text that goes to standard output, or to a file.
pub fn output_options(to_output: bool) -> Options {
    let variable = |name: &str| std::env::var(name).ok();
    Options {
        color: to_output && has_color(io::stdout().is_terminal(), variable),
        width: if to_output { terminal_width() } else { WIDTH },
        unicode: !to_output || shows_unicode(),
        ..Options::default()
    }
}
