//! Where the rows of a workload that takes them come from.

use std::path::{Path, PathBuf};

use crate::layer::absolute;
use crate::message::{ExperimentProblem, nearest};
use crate::{Vocabulary, WorkloadNames};

/// The word for rows that the workload makes itself, of made-up text.
pub const GENERATED: &str = "generated";

/// Where a workload's rows come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowsFrom {
    /// They are made up.
    Generated,
    /// A collection of text, by its name.
    Collection(String),
    /// A file, by its absolute path.
    File(PathBuf),
}

impl RowsFrom {
    /// Reads what was said: a word, or the path of a file; a relative one starts at `folder`.
    pub(crate) fn read(
        folder: &Path,
        said: &Path,
        vocabulary: &Vocabulary,
    ) -> Result<Self, ExperimentProblem> {
        if said.as_os_str().is_empty() {
            let help = format!(
                "give the path of a file of titles and texts, or one of: {}",
                words(vocabulary).join(", ")
            );
            return Err(ExperimentProblem::new("`rows_from` names no file").help(help));
        }
        let Some(word) = said.to_str().filter(|word| words(vocabulary).contains(word)) else {
            let path = absolute(folder, said, "file of rows")?;
            return match misspelt(said, &path, vocabulary) {
                None => Ok(Self::File(path)),
                Some(problem) => Err(problem),
            };
        };
        Ok(if word == GENERATED { Self::Generated } else { Self::Collection(word.into()) })
    }

    /// Where they come from if an experiment says nothing: none where the workload makes its rows itself.
    pub(crate) fn default(workload: &WorkloadNames, vocabulary: &Vocabulary) -> Option<Self> {
        if workload.takes_rows.is_empty() {
            return None;
        }
        let first = vocabulary.collections.iter().find(|it| it.installed);
        Some(first.map_or(Self::Generated, |it| Self::Collection(it.name.clone())))
    }

    /// As a file and a flag say it.
    pub fn written(&self) -> String {
        match self {
            Self::Generated => GENERATED.into(),
            Self::Collection(name) => name.clone(),
            Self::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}

/// What is wrong where no such file is there, and most likely a word was meant: what was said is a bare name.
fn misspelt(said: &Path, path: &Path, vocabulary: &Vocabulary) -> Option<ExperimentProblem> {
    let name = said.to_str().filter(|name| !name.contains(['/', '.']))?;
    let words = words(vocabulary);
    (nearest(name, &words).is_some() && !path.exists()).then(|| {
        ExperimentProblem::new(format!("there is no file of rows `{name}`")).choices(name, &words)
    })
}

/// The words that name no file.
fn words(vocabulary: &Vocabulary) -> Vec<&str> {
    let collections = vocabulary.collections.iter().map(|it| &*it.name);
    collections.chain([GENERATED]).collect()
}
