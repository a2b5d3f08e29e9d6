//! `bakeoff run articles`: runs the presets of all articles one after the other, and makes one
//! page.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use bakeoff_analysis::Document;
use bakeoff_experiment::ARTICLES;
use bakeoff_report::ArticleRun;
use bakeoff_results::RunFolder;

use super::run_one;
use crate::Lab;
use crate::cli;
use crate::commands::numbered_folder::make_numbered_folder;
use crate::commands::report::{self, REPORT};
use crate::exit::{CommandFailure, Exit};
use crate::output::{print, say, write_here};
use crate::stop;

const PREFIX: &str = "articles/";
const PAGE: &str = "articles.html";
const STOPPED: &str = "Not run: bakeoff was asked to stop before.";

struct PresetOutcome {
    preset: &'static str,
    folder: String,
    ended: Result<Exit, CommandFailure>,
    document: Option<Document>,
}

/// The presets to run, if all articles are asked for and there is one.
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

/// A failed preset does not stop the next one. Returns the first end that is not `Done`.
pub fn run(
    lab: &Lab,
    arguments: &cli::RunArguments,
    presets: &[&'static str],
) -> Result<Exit, CommandFailure> {
    let dry_run = arguments.dry_run;
    let stop = if dry_run { None } else { Some(stop::stop_flag()?) };
    let taken =
        arguments.out.as_deref().filter(|_| dry_run).and_then(|out| {
            RunFolder::check_free(out).err().map(CommandFailure::from_folder_error)
        });
    taken.iter().for_each(|it| say(format_args!("it would not begin here: {}", it.message)));
    let dir = match dry_run {
        true => arguments.out.clone(),
        false => Some(make_numbered_folder(
            ARTICLES,
            arguments.out.as_deref(),
            "or go on with one of the runs in it: bakeoff run --resume {}/ARTICLE",
        )?),
    };
    let mut all = Vec::new();
    for preset in presets {
        if stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            break;
        }
        all.push(run_preset(lab, arguments, preset, dir.as_deref())?);
    }
    if let Some(dir) = dir.filter(|_| !dry_run) {
        write_page(&dir, presets, &all)?;
    }
    let stopped = (all.len() < presets.len()).then_some(Exit::Interrupted);
    let ends = all.iter().map(|ran| ran.ended.as_ref().map_or_else(|it| it.exit, |exit| *exit));
    Ok(first_other(taken.map(|it| it.exit).into_iter().chain(ends).chain(stopped)))
}

fn run_preset(
    lab: &Lab,
    arguments: &cli::RunArguments,
    preset: &'static str,
    dir: Option<&Path>,
) -> Result<PresetOutcome, CommandFailure> {
    announce_preset(preset)?;
    let folder = folder_name(preset);
    let path = dir.map(|dir| dir.join(&folder));
    let ended = report_failure(
        preset,
        run_one(lab, &arguments_for_preset(arguments, preset, path.clone())),
    );
    // Problems were reported before: a folder that is missing or can't be read has no trials.
    let measured = |it: &Document| !it.trials.is_empty() || !it.cuts.is_empty();
    let path = path.filter(|_| !arguments.dry_run);
    let document = path.and_then(|path| report::read_document(&path).ok()).filter(measured);
    Ok(PresetOutcome { preset, folder, ended, document })
}

fn arguments_for_preset(
    arguments: &cli::RunArguments,
    preset: &str,
    out: Option<PathBuf>,
) -> cli::RunArguments {
    cli::RunArguments { experiment: Some(preset.to_owned()), out, ..arguments.clone() }
}

fn announce_preset(preset: &str) -> Result<(), CommandFailure> {
    print(&format!("\n{preset}\n\n"))
}

fn report_failure(
    preset: &str,
    ended: Result<Exit, CommandFailure>,
) -> Result<Exit, CommandFailure> {
    ended.inspect_err(|failure| say(format_args!("{preset}: {failure}")))
}

fn first_other(ends: impl IntoIterator<Item = Exit>) -> Exit {
    ends.into_iter().find(|exit| *exit != Exit::Done).unwrap_or(Exit::Done)
}

fn folder_name(preset: &str) -> String {
    let name = preset.strip_prefix(PREFIX).unwrap_or(preset);
    name.replace(|c: char| !c.is_alphanumeric() && !"-_.".contains(c), "-")
}

/// Writes the page, if anything was measured; removes an empty folder.
fn write_page(
    dir: &Path,
    presets: &[&'static str],
    all: &[PresetOutcome],
) -> Result<(), CommandFailure> {
    if all.iter().all(|ran| ran.document.is_none()) {
        // Fails for a folder with contents, which stays.
        let _ = std::fs::remove_dir(dir);
        return Ok(());
    }
    let whys: Vec<String> = all.iter().map(|ran| describe_missing(&ran.ended)).collect();
    let reports: Vec<String> = all.iter().map(|ran| format!("{}/{REPORT}", ran.folder)).collect();
    let ran = all.iter().zip(&whys).zip(&reports).map(|((ran, why), report)| ArticleRun {
        name: ran.preset,
        found: ran.document.as_ref().ok_or(why),
        report: dir.join(report).exists().then_some(report),
    });
    let stopped = presets[all.len()..].iter();
    let stopped = stopped.map(|name| ArticleRun { name, found: Err(STOPPED), report: None });
    let articles: Vec<ArticleRun<'_>> = ran.chain(stopped).collect();
    let page = bakeoff_report::write_articles(&articles);
    let page = page.map_err(|error| CommandFailure::new(Exit::Failed, error))?;
    let path = dir.join(PAGE);
    write_here(&path, &page)?;
    print(&format!("\nThe page of all articles: {}\n", path.display()))
}

fn describe_missing(ended: &Result<Exit, CommandFailure>) -> String {
    match ended {
        Ok(_) => "Nothing was measured.".to_owned(),
        Err(failure) => {
            // The place and the remedy were reported when it happened.
            let text = failure.to_string();
            let text = text.lines().next().unwrap_or_default();
            format!("Not run: {}", text.strip_prefix("error: ").unwrap_or(text))
        }
    }
}
