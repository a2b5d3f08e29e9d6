use std::fmt;

use crate::device::model::WrongSize;
use crate::device::raid::WrongArray;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(pub Vec<SpecProblem>);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentences: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&sentences.join("; "))
    }
}

impl std::error::Error for SpecError {}

impl From<SpecProblem> for SpecError {
    fn from(problem: SpecProblem) -> Self {
        Self(vec![problem])
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecProblem {
    #[error("there is no disk model `{name}`{hint}; there are {}", names.join(", "))]
    Model { name: String, hint: Hint, names: Vec<String> },
    #[error("{model} has no parameter `{key}`{hint}; it has {}", keys.join(", "))]
    Key { model: String, key: String, hint: Hint, keys: Vec<String> },
    #[error("{key} is `{value}`, and must be {wanted}")]
    Value { key: String, value: String, wanted: &'static str },
    #[error("{0} is given twice")]
    Twice(String),
    #[error("this {model} is not possible: {reason}")]
    Absurd { model: String, key: String, reason: String },
    #[error("the used fraction is for hard disks, and {0} is not one: leave it out")]
    NoStroke(String),
    #[error(transparent)]
    Size(#[from] WrongSize),
    #[error(transparent)]
    Array(#[from] WrongArray),
    #[error("a disk's table needs `model`, the name of the model that it is based on")]
    NoModel,
}

impl SpecProblem {
    pub fn parameter(&self) -> Option<&str> {
        match self {
            Self::Key { key, .. }
            | Self::Value { key, .. }
            | Self::Twice(key)
            | Self::Absurd { key, .. } => Some(key),
            _ => None,
        }
    }
}

/// The name that was most likely meant, as the end of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint(Option<String>);

impl Hint {
    /// The name that differs from the written one in at most a third of its letters.
    pub(crate) fn find_nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Self {
        let distances = names.map(|name| (strsim::osa_distance(written, name), name));
        let near = distances.filter(|&(distance, name)| distance <= name.len().max(3) / 3);
        Self(near.min().map(|(_, name)| name.to_owned()))
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|name| write!(f, ", perhaps `{name}` was meant"))
    }
}
