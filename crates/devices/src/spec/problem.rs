//! What is wrong with a device's description.

use std::fmt;

use crate::device::model::WrongSize;
use crate::device::raid::WrongArray;

/// All that is wrong with a device's description.
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

/// One thing that is wrong with a device's description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecProblem {
    /// No such model.
    #[error("there is no disk model `{name}`{hint}; there are {}", names.join(", "))]
    Model {
        /// What was written.
        name: String,
        /// The nearest one.
        hint: Hint,
        /// Those that there are.
        names: Vec<String>,
    },
    /// A model without such a parameter.
    #[error("{model} has no parameter `{key}`{hint}; it has {}", keys.join(", "))]
    Key {
        /// The model.
        model: String,
        /// What was written.
        key: String,
        /// The nearest one.
        hint: Hint,
        /// Those it has.
        keys: Vec<String>,
    },
    /// A parameter whose value can't be read.
    #[error("{key} is `{value}`, and must be {wanted}")]
    Value {
        /// The parameter.
        key: String,
        /// What was written.
        value: String,
        /// What can be.
        wanted: &'static str,
    },
    /// A parameter that was given before.
    #[error("{0} is given twice")]
    Twice(String),
    /// A device that can't be.
    #[error("this {model} is not possible: {reason}")]
    Absurd {
        /// The model.
        model: String,
        /// The changed parameter that keeps it from being.
        key: String,
        /// Why, as a sentence.
        reason: String,
    },
    /// A part of the stroke of a device that has none.
    #[error("the used fraction is for hard disks, and {0} is not one: leave it out")]
    NoStroke(String),
    /// A family's model without a size of it.
    #[error(transparent)]
    Size(#[from] WrongSize),
    /// An array that can't be.
    #[error(transparent)]
    Array(#[from] WrongArray),
    /// A table without `model`.
    #[error("a disk's table needs `model`, the name of the model that it is based on")]
    NoModel,
}

impl SpecProblem {
    /// The parameter that is wrong, if it is one.
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
    /// The name that differs from the written one in at most a third of its letters, if any.
    pub(crate) fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Self {
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
