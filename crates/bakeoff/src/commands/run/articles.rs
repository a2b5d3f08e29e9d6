//! `bakeoff run articles`: every preset of an article, one after the other, and one page of them.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use bakeoff_analysis::Document;
use bakeoff_experiment::ARTICLES;
use bakeoff_report::ArticleRun;
use bakeoff_results::{Error, RunFolder};

use super::{REPORT, one};
use crate::Lab;
use crate::cli;
use crate::commands::report;
use crate::exit::{CommandFailure, Exit};
use crate::output::{print, say, write_here};
use crate::stop;

/// How the names of their presets begin.
const PREFIX: &str = "articles/";
/// Their page, in the folder that holds their runs' folders.
const PAGE: &str = "articles.html";
/// Why there is nothing of an article that was not begun any more.
const STOPPED: &str = "Not run: bakeoff was asked to stop before.";

/// What came of an article.
struct Ran {
    preset: &'static str,
    /// The name of its run's folder.
    folder: String,
    ended: Result<Exit, CommandFailure>,
    /// What was measured; `None` where nothing was.
    document: Option<Document>,
}

/// The presets that are to be run, if all articles are asked for and there is one.
pub fn asked_for(lab: &Lab, arguments: &cli::RunArguments) -> Option<Vec<&'static str>> {
    let all = arguments.experiment.as_deref() == Some(ARTICLES) && arguments.resume.is_none();
    let presets = lab.registry.presets();
    if !all || presets.iter().any(|preset| preset.name == ARTICLES) {
        return None;
    }
    let names = presets.iter().map(|preset| preset.name);
    let names: Vec<&str> = names.filter(|name| name.starts_with(PREFIX)).collect();
    Some(names).filter(|names| !names.is_empty())
}

/// Runs the presets. One that fails does not keep the next from being run; the first end that is not as
/// asked for is how all of them end.
pub fn run(
    lab: &Lab,
    arguments: &cli::RunArguments,
    presets: &[&'static str],
) -> Result<Exit, CommandFailure> {
    if arguments.dry_run {
        let taken = arguments.out.as_deref().and_then(|out| RunFolder::check_free(out).err());
        let taken = taken.map(CommandFailure::folder);
        taken.iter().for_each(|it| say(format_args!("it would not begin here: {}", it.message)));
        let plan = |preset: &&'static str| {
            announce(preset)?;
            let folder = arguments.out.as_ref().map(|out| out.join(folder_name(preset)));
            Ok(told(preset, one(lab, &alone(arguments, preset, folder)))
                .unwrap_or_else(|it| it.exit))
        };
        let ends: Result<Vec<Exit>, CommandFailure> = presets.iter().map(plan).collect();
        return Ok(first_other(taken.map(|it| it.exit).into_iter().chain(ends?)));
    }
    let stop = stop::flag()?;
    let dir = make_folder(arguments.out.as_deref())?;
    let mut all = Vec::new();
    for preset in presets {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        all.push(run_one(lab, arguments, preset, &dir)?);
    }
    finish(&dir, presets, &all)?;
    let stopped = (all.len() < presets.len()).then_some(Exit::Interrupted);
    let ends = all.iter().map(|ran| ran.ended.as_ref().map_or_else(|it| it.exit, |exit| *exit));
    Ok(first_other(ends.chain(stopped)))
}

fn run_one(
    lab: &Lab,
    arguments: &cli::RunArguments,
    preset: &'static str,
    dir: &Path,
) -> Result<Ran, CommandFailure> {
    announce(preset)?;
    let folder = folder_name(preset);
    let path = dir.join(&folder);
    let ended = told(preset, one(lab, &alone(arguments, preset, Some(path.clone()))));
    // What it found was told before: a folder that is not there, or can't be read, has nothing.
    let measured = |it: &Document| !it.trials.is_empty() || !it.cuts.is_empty();
    let document = report::document(&path).ok().filter(measured);
    Ok(Ran { preset, folder, ended, document })
}

/// The command line of one of them.
fn alone(arguments: &cli::RunArguments, preset: &str, out: Option<PathBuf>) -> cli::RunArguments {
    cli::RunArguments { experiment: Some(preset.to_owned()), out, ..arguments.clone() }
}

fn announce(preset: &str) -> Result<(), CommandFailure> {
    print(&format!("\n{preset}\n\n"))
}

/// Says why a preset could not be run, if it could not.
fn told(preset: &str, ended: Result<Exit, CommandFailure>) -> Result<Exit, CommandFailure> {
    ended.inspect_err(|failure| say(format_args!("{preset}: {failure}")))
}

/// How all of them end.
fn first_other(ends: impl IntoIterator<Item = Exit>) -> Exit {
    ends.into_iter().find(|exit| *exit != Exit::Done).unwrap_or(Exit::Done)
}

/// The name of the folder of a preset's run.
fn folder_name(preset: &str) -> String {
    let name = preset.strip_prefix(PREFIX).unwrap_or(preset);
    name.replace(|c: char| !c.is_alphanumeric() && !"-_.".contains(c), "-")
}

/// Makes the folder that holds the runs' folders and their page: `bakeoff-articles-1`, or the next number
/// that is free, where none is named.
fn make_folder(out: Option<&Path>) -> Result<PathBuf, CommandFailure> {
    let make = |dir: &Path| -> Result<bool, Error> {
        let held = bakeoff_trust::make(dir)?;
        Ok(held.was_made() || dir.read_dir().is_ok_and(|mut it| it.next().is_none()))
    };
    if let Some(dir) = out {
        if make(dir).map_err(CommandFailure::folder)? {
            return Ok(dir.to_owned());
        }
        let text = format!(
            "{} exists and is not empty; name another folder with --out, or go on with one of the runs \
             in it: bakeoff run --resume {}/ARTICLE",
            dir.display(),
            dir.display()
        );
        return Err(CommandFailure::new(Exit::Folder, text));
    }
    for number in 1.. {
        let dir = PathBuf::from(format!("bakeoff-{ARTICLES}-{number}"));
        if make(&dir).map_err(CommandFailure::folder)? {
            return Ok(dir);
        }
    }
    unreachable!("numbers do not run out")
}

/// Writes the page, if anything was measured; a folder that nothing was left in is taken away.
fn finish(dir: &Path, presets: &[&'static str], all: &[Ran]) -> Result<(), CommandFailure> {
    if all.iter().all(|ran| ran.document.is_none()) {
        // One that holds something stays.
        let _ = std::fs::remove_dir(dir);
        return Ok(());
    }
    let whys: Vec<String> = all.iter().map(|ran| why(&ran.ended)).collect();
    let reports: Vec<String> = all.iter().map(|ran| format!("{}/{REPORT}", ran.folder)).collect();
    let ran = all.iter().zip(&whys).zip(&reports).map(|((ran, why), report)| ArticleRun {
        name: ran.preset,
        found: ran.document.as_ref().ok_or(why),
        report: dir.join(report).exists().then_some(report),
    });
    let stopped = presets[all.len()..].iter();
    let stopped = stopped.map(|name| ArticleRun { name, found: Err(STOPPED), report: None });
    let articles: Vec<ArticleRun<'_>> = ran.chain(stopped).collect();
    let page = bakeoff_report::articles(&articles);
    let page = page.map_err(|error| CommandFailure::new(Exit::Failed, error))?;
    let path = dir.join(PAGE);
    write_here(&path, &page)?;
    print(&format!("\nThe page of all articles: {}\n", path.display()))
}

/// Why nothing was measured.
fn why(ended: &Result<Exit, CommandFailure>) -> String {
    match ended {
        Ok(_) => "Nothing was measured.".to_owned(),
        Err(failure) => {
            // Where it was wrong, and how to mend it, was told when it happened.
            let text = failure.to_string();
            let text = text.lines().next().unwrap_or_default();
            format!("Not run: {}", text.strip_prefix("error: ").unwrap_or(text))
        }
    }
}
