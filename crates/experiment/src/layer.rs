//! What is right in itself, whatever else is said: levels, and the values of keys that are no factors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bakeoff_factor::MOST_REPETITIONS;

use crate::factors::clients;
use crate::message::{ExperimentProblem, LocatedValue};
use crate::{Factor, Vocabulary, level};

/// Settings of a server, by name, as it takes them.
pub type ServerSettings = BTreeMap<String, String>;

/// Levels in the order in which they were given, each in its canonical form.
pub(crate) type GivenLevels = Vec<LocatedValue<String>>;

/// Brings the levels of a factor into their canonical form, and notes what is wrong with them.
pub(crate) fn levels(
    factor: Factor,
    raw: impl IntoIterator<Item = Result<LocatedValue<String>, ExperimentProblem>>,
    vocabulary: &Vocabulary,
    problems: &mut Vec<ExperimentProblem>,
) -> GivenLevels {
    let mut levels = GivenLevels::new();
    for given in raw {
        let all = given.map(|given| written_out(factor, given));
        let all = all.map_err(|problem| problems.push(problem)).unwrap_or_default();
        for given in all {
            match canonical(factor, given, &levels, vocabulary) {
                Ok(level) => levels.push(level),
                Err(problem) => problems.push(problem),
            }
        }
    }
    levels
}

/// The levels that one of a list stands for: a range of clients stands for several.
fn written_out(factor: Factor, given: LocatedValue<String>) -> Vec<LocatedValue<String>> {
    let doubled = if factor == Factor::CLIENTS { clients::doubled(&given.value) } else { None };
    let Some(all) = doubled else { return vec![given] };
    all.into_iter().map(|value| LocatedValue { value, place: given.place.clone() }).collect()
}

fn canonical(
    factor: Factor,
    given: LocatedValue<String>,
    others: &GivenLevels,
    vocabulary: &Vocabulary,
) -> Result<LocatedValue<String>, ExperimentProblem> {
    let LocatedValue { value, place } = given;
    let value = level::canonical(factor, &value, vocabulary).map_err(|p| p.at(&place))?;
    if others.iter().all(|other| other.value != value) {
        return Ok(LocatedValue { value, place });
    }
    Err(ExperimentProblem::new(format!("`{value}` is twice among the levels of `{factor}`"))
        .at(&place)
        .help("leave one out"))
}

pub(crate) fn seconds(seconds: f64) -> Result<f64, ExperimentProblem> {
    if (0.5..=86_400.0).contains(&seconds) {
        return Ok(seconds);
    }
    Err(ExperimentProblem::new(format!("a trial can't last {seconds} seconds"))
        .help("valid: 0.5 to 86400, which is a day"))
}

/// How many operations of each kind end a trial: a verdict needs twenty of each.
pub(crate) fn operations(operations: u64) -> Result<u32, ExperimentProblem> {
    match u32::try_from(operations) {
        Ok(operations @ 20..=1_000_000) => Ok(operations),
        _ => Err(ExperimentProblem::new(format!(
            "a trial can't end after {operations} operations of each kind"
        ))
        .help("valid: 20 to 1000000")),
    }
}

pub(crate) fn repetitions(repetitions: u64) -> Result<u32, ExperimentProblem> {
    match u32::try_from(repetitions) {
        Ok(repetitions @ 0..=MOST_REPETITIONS) => Ok(repetitions),
        _ => Err(ExperimentProblem::new(format!("blocks can't be repeated {repetitions} times"))
            .help(format!("valid: 1 to {MOST_REPETITIONS}"))),
    }
}

/// A seed has to fit into TOML's integers, which end at 2^63 - 1.
pub(crate) fn seed(seed: u64) -> Result<u64, ExperimentProblem> {
    if i64::try_from(seed).is_ok() {
        return Ok(seed);
    }
    Err(ExperimentProblem::new(format!("{seed} is too large for a seed"))
        .help(format!("valid: 0 to {}", i64::MAX)))
}

/// A name may become part of a folder's.
pub(crate) fn run_name(name: &str) -> Result<String, ExperimentProblem> {
    let valid = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if !name.is_empty() && !name.starts_with('.') && name.len() <= 100 && name.chars().all(valid) {
        return Ok(name.to_owned());
    }
    Err(ExperimentProblem::new(format!("`{name}` can't be an experiment's name")).help(
        "a name is made of letters, digits, `-`, `_` and `.`, at most 100 bytes long, and \
               doesn't begin with a point",
    ))
}

pub(crate) fn one_line(title: String) -> Result<String, ExperimentProblem> {
    if title.is_empty() || title.contains(char::is_control) {
        return Err(ExperimentProblem::new("a title is one line of text"));
    }
    Ok(title)
}

/// The absolute path of a text file; `folder` is where a relative path starts.
pub(crate) fn text(folder: &Path, path: &Path) -> Result<PathBuf, ExperimentProblem> {
    if path.as_os_str().is_empty() {
        return Err(ExperimentProblem::new("`text` names no file")
            .help("give the path of a text file, or leave it out for text that is made up"));
    }
    absolute(folder, path, "text file")
}

/// The absolute path of a file; `folder` is where a relative one starts.
pub(crate) fn absolute(
    folder: &Path,
    path: &Path,
    what: &str,
) -> Result<PathBuf, ExperimentProblem> {
    let path = std::path::absolute(folder.join(path)).map_err(|error| {
        ExperimentProblem::new(format!("can't tell where the file is: {error}"))
    })?;
    if path.to_str().is_none() {
        return Err(ExperimentProblem::new(format!("the path of the {what} is not UTF-8")).help(
            "the run folder keeps the path in TOML, which has to be UTF-8: rename the file or the \
             folder above it",
        ));
    }
    Ok(path)
}
