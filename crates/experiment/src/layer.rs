//! Checks of single values, independent of all others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bakeoff_results::MOST_REPETITIONS;

use crate::factors::clients;
use crate::message::{ExperimentProblem, LocatedValue};
use crate::{Factor, Vocabulary, level};

/// Settings of a server, by name, as it takes them.
pub type ServerSettings = BTreeMap<String, String>;

pub(crate) type LocatedLevels = Vec<LocatedValue<String>>;

/// Each is compared with all others.
const MOST_LEVELS: usize = 1_000;

pub(crate) fn read_levels(
    factor: Factor,
    raw: impl IntoIterator<Item = Result<LocatedValue<String>, ExperimentProblem>>,
    vocabulary: &Vocabulary,
    problems: &mut Vec<ExperimentProblem>,
) -> LocatedLevels {
    let mut levels = LocatedLevels::new();
    for (number, given) in raw.into_iter().enumerate() {
        if number == MOST_LEVELS {
            let many = format!("`{factor}` has more than {MOST_LEVELS} levels");
            let problem = ExperimentProblem::new(many).with_help("name fewer levels");
            let place = given.as_ref().ok().map(|given| &given.place);
            problems.push(place.into_iter().fold(problem, ExperimentProblem::at_place));
            break;
        }
        let all = given.map(|given| written_out(factor, given));
        let all = all.map_err(|problem| problems.push(problem)).unwrap_or_default();
        for given in all {
            match canonical_level(factor, given, &levels, vocabulary) {
                Ok(level) => levels.push(level),
                Err(problem) => problems.push(problem),
            }
        }
    }
    levels
}

/// A range of clients stands for several levels.
fn written_out(factor: Factor, given: LocatedValue<String>) -> Vec<LocatedValue<String>> {
    let doubled =
        if factor == Factor::CLIENTS { clients::double_range(&given.value) } else { None };
    let Some(all) = doubled else { return vec![given] };
    all.into_iter().map(|value| LocatedValue { value, place: given.place.clone() }).collect()
}

fn canonical_level(
    factor: Factor,
    given: LocatedValue<String>,
    others: &LocatedLevels,
    vocabulary: &Vocabulary,
) -> Result<LocatedValue<String>, ExperimentProblem> {
    let LocatedValue { value, place } = given;
    let value =
        level::canonical_level(factor, &value, vocabulary).map_err(|p| p.at_place(&place))?;
    if others.iter().all(|other| other.value != value) {
        return Ok(LocatedValue { value, place });
    }
    Err(ExperimentProblem::new(format!("`{value}` is twice among the levels of `{factor}`"))
        .at_place(&place)
        .with_help("leave one out"))
}

pub(crate) fn check_seconds(seconds: f64) -> Result<f64, ExperimentProblem> {
    if (0.5..=86_400.0).contains(&seconds) {
        return Ok(seconds);
    }
    Err(ExperimentProblem::new(format!("a trial can't last {seconds} seconds"))
        .with_help("valid: 0.5 to 86400, which is a day"))
}

/// A verdict needs twenty operations of each kind.
pub(crate) fn check_operations(operations: u64) -> Result<u32, ExperimentProblem> {
    match u32::try_from(operations) {
        Ok(operations @ 20..=1_000_000) => Ok(operations),
        _ => Err(ExperimentProblem::new(format!(
            "a trial can't end after {operations} operations of each kind"
        ))
        .with_help("valid: 20 to 1000000")),
    }
}

pub(crate) fn check_repetitions(repetitions: u64) -> Result<u32, ExperimentProblem> {
    match u32::try_from(repetitions) {
        Ok(repetitions @ 0..=MOST_REPETITIONS) => Ok(repetitions),
        _ => Err(ExperimentProblem::new(format!("blocks can't be repeated {repetitions} times"))
            .with_help(format!("valid: 1 to {MOST_REPETITIONS}"))),
    }
}

/// TOML's integers end at 2^63 - 1.
pub(crate) fn check_seed(seed: u64) -> Result<u64, ExperimentProblem> {
    if i64::try_from(seed).is_ok() {
        return Ok(seed);
    }
    Err(ExperimentProblem::new(format!("{seed} is too large for a seed"))
        .with_help(format!("valid: 0 to {}", i64::MAX)))
}

/// A name may become part of a folder's.
pub(crate) fn run_name(name: &str) -> Result<String, ExperimentProblem> {
    let valid = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if !name.is_empty() && !name.starts_with('.') && name.len() <= 100 && name.chars().all(valid) {
        return Ok(name.to_owned());
    }
    Err(ExperimentProblem::new(format!("`{name}` can't be an experiment's name")).with_help(
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

pub(crate) fn absolute_text_path(folder: &Path, path: &Path) -> Result<PathBuf, ExperimentProblem> {
    if path.as_os_str().is_empty() {
        return Err(ExperimentProblem::new("`text` names no file")
            .with_help("give the path of a text file, or leave it out for text that is made up"));
    }
    absolute_path(folder, path, "text file")
}

pub(crate) fn absolute_path(
    folder: &Path,
    path: &Path,
    what: &str,
) -> Result<PathBuf, ExperimentProblem> {
    let path = std::path::absolute(folder.join(path)).map_err(|error| {
        ExperimentProblem::new(format!("can't tell where the file is: {error}"))
    })?;
    if path.to_str().is_none() {
        return Err(ExperimentProblem::new(format!("the path of the {what} is not UTF-8")).with_help(
            "the run folder keeps the path in TOML, which has to be UTF-8: rename the file or the \
             folder above it",
        ));
    }
    Ok(path)
}
