//! `bakeoff report`: a run folder, in a form that somebody reads.

use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use bakeoff_analysis::Document;
use bakeoff_report::{Options, Reports, Rows};
use bakeoff_results::{DATABASE, EXPERIMENT, RunFolder, visible};

use crate::Lab;
use crate::cli;
use crate::exit::{Exit, Failure};
use crate::output::{WIDTH, has_unicode, print, terminal_width, write};

/// Prints or writes the report.
pub fn run(lab: &Lab, arguments: &cli::Report) -> Result<Exit, Failure> {
    let usage = |message| Failure::new(Exit::Usage, message);
    let format = arguments.format(&lab.reports).map_err(usage)?;
    if arguments.rows.is_some() && format != "csv" {
        return Err(Failure::new(Exit::Usage, "--rows needs --format csv"));
    }
    let folder = RunFolder::open(&arguments.dir).map_err(Failure::folder)?;
    let mut document = bakeoff_analysis::document(&folder).map_err(Failure::folder)?;
    take_cuts(&mut document, arguments)?;
    let rows = arguments.rows.map(Rows::from);
    if rows == Some(Rows::Series) {
        document.take_series(&folder).map_err(Failure::folder)?;
    }
    let text = render(&lab.reports, &document, (format, rows), arguments.output.is_none())?;
    match &arguments.output {
        Some(path) => {
            spare_records(path, arguments)?;
            write(path, &text)?;
        }
        None => print(&text)?,
    }
    Ok(Exit::Done)
}

/// Refuses to write over what a run that is read has recorded, under whatever name.
fn spare_records(output: &Path, arguments: &cli::Report) -> Result<(), Failure> {
    let identity = |path: &Path| path.metadata().ok().map(|it| (it.dev(), it.ino()));
    let Some(target) = identity(output) else { return Ok(()) };
    let runs = arguments.cuts.iter().chain([&arguments.dir]);
    let records = runs.flat_map(|dir| [DATABASE, EXPERIMENT].map(|name| dir.join(name)));
    match records.into_iter().find(|record| identity(record) == Some(target)) {
        Some(record) => Err(Failure::new(
            Exit::Usage,
            format!("{} is the run's own record; name another file", record.display()),
        )),
        None => Ok(()),
    }
}

/// Takes the power cuts of the other runs that are named.
fn take_cuts(document: &mut Document, arguments: &cli::Report) -> Result<(), Failure> {
    let same = |one: &Path, other: &Path| {
        one.canonicalize().ok().is_some_and(|one| other.canonicalize().is_ok_and(|it| it == one))
    };
    let usage = |message: String| Err(Failure::new(Exit::Usage, message));
    for (number, dir) in arguments.cuts.iter().enumerate() {
        let (name, run) = (dir.display(), arguments.dir.display());
        if same(dir, &arguments.dir) || arguments.cuts[..number].iter().any(|it| same(it, dir)) {
            return usage(format!("{name} is named twice; each power cut counts once"));
        }
        let other = self::document(dir)?;
        if other.promises.is_empty() {
            return usage(format!(
                "the run in {name} has no power cuts; name one that has: bakeoff run power-cut"
            ));
        }
        if document.take_cuts(&visible(&name.to_string()), &other) == 0 {
            let cut = other.promises.iter().map(|it| format!("{} {}", it.engine, it.durability));
            let cut = cut.collect::<Vec<_>>().join(", ");
            return usage(format!(
                "the run in {name} cut the power of {cut}, and the run in {run} has none of these"
            ));
        }
    }
    Ok(())
}

impl From<cli::Rows> for Rows {
    fn from(rows: cli::Rows) -> Self {
        match rows {
            cli::Rows::Trials => Rows::Trials,
            cli::Rows::Cuts => Rows::Cuts,
            cli::Rows::Series => Rows::Series,
        }
    }
}

/// What a run folder holds.
pub fn document(dir: &Path) -> Result<Document, Failure> {
    RunFolder::open(dir)
        .and_then(|folder| bakeoff_analysis::document(&folder))
        .map_err(Failure::folder)
}

/// The document as text, in a format and with the rows that it is to have; `terminal`: it is going
/// to standard output.
pub fn render(
    reports: &Reports,
    document: &Document,
    (format, rows): (&str, Option<Rows>),
    terminal: bool,
) -> Result<String, Failure> {
    let color = terminal && io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let width = if terminal { terminal_width() } else { WIDTH };
    let unicode = !terminal || has_unicode(|name| std::env::var(name).ok());
    reports
        .render(document, format, &Options { color, width, unicode, rows, ..Options::default() })
        .map_err(|error| Failure::new(Exit::Failed, error))
}
