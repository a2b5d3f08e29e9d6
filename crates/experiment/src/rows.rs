//! The source of a workload's rows.

use std::path::{Path, PathBuf};

use crate::layer::absolute_path;
use crate::message::{ExperimentProblem, find_nearest};
use crate::{Vocabulary, WorkloadNames};

pub const GENERATED: &str = "generated";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowOrigin {
    Generated,
    Collection(String),
    File(PathBuf),
}

impl RowOrigin {
    /// A relative path starts at `folder`.
    pub(crate) fn parse_rows_from(
        folder: &Path,
        said: &Path,
        vocabulary: &Vocabulary,
    ) -> Result<Self, ExperimentProblem> {
        if said.as_os_str().is_empty() {
            let help = format!(
                "give the path of a file of titles and texts, or one of: {}",
                reserved_words(vocabulary).join(", ")
            );
            return Err(ExperimentProblem::new("`rows_from` names no file").with_help(help));
        }
        if said.to_str().is_some_and(|said| said.contains("://")) {
            let help = "an application takes rows from a database, by the flag alone: `bakeoff run FOLDER \
                        --rows-from URL`";
            return Err(ExperimentProblem::new("`rows_from` names a database").with_help(help));
        }
        let Some(word) = said.to_str().filter(|word| reserved_words(vocabulary).contains(word))
        else {
            let path = absolute_path(folder, said, "file of rows")?;
            return match explain_misspelt(said, &path, vocabulary) {
                None => Ok(Self::File(path)),
                Some(problem) => Err(problem),
            };
        };
        Ok(if word == GENERATED { Self::Generated } else { Self::Collection(word.into()) })
    }

    /// `None` if the workload makes its rows itself.
    pub(crate) fn default(workload: &WorkloadNames, vocabulary: &Vocabulary) -> Option<Self> {
        if workload.takes_rows.is_empty() {
            return None;
        }
        let first = vocabulary.collections.iter().find(|it| it.is_installed());
        Some(first.map_or(Self::Generated, |it| Self::Collection(it.name.to_owned())))
    }

    pub fn to_text(&self) -> String {
        match self {
            Self::Generated => GENERATED.into(),
            Self::Collection(name) => name.clone(),
            Self::File(path) => path.to_string_lossy().into_owned(),
        }
    }
}

/// Used if there is no such file, and a known word was probably meant.
fn explain_misspelt(
    said: &Path,
    path: &Path,
    vocabulary: &Vocabulary,
) -> Option<ExperimentProblem> {
    let name = said.to_str().filter(|name| !name.contains(['/', '.']))?;
    let words = reserved_words(vocabulary);
    (find_nearest(name, &words).is_some() && !path.exists()).then(|| {
        ExperimentProblem::new(format!("there is no file of rows `{name}`"))
            .with_choices(name, &words)
    })
}

fn reserved_words(vocabulary: &Vocabulary) -> Vec<&'static str> {
    let collections = vocabulary.collections.iter().map(|it| it.name);
    collections.chain([GENERATED]).collect()
}
