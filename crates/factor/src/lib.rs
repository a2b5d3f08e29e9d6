//! A factor as it is declared by what is registered: its name, how its levels are written, and the
//! level that it has where nobody names one; the figure of merit that is declared beside it; what a
//! figure is that somebody published for levels of factors; limits on response times; and how often a
//! block is repeated at most.
//!
//! It must never know who declares a factor, what a level of it does, or how an experiment is read.

pub mod limit;
pub mod published;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod merit;

pub use merit::{ALL_OPERATIONS, FigureOfMerit, OperationCounts};

/// The level of an option that is not given: an engine or a disk then has what it has by itself.
pub const DEFAULT: &str = "default";

/// How often each block of a run may be repeated at most.
pub const MOST_REPETITIONS: u32 = 1000;

/// A factor that a target, a workload or an engine adds to the lab's own.
#[derive(Debug)]
pub struct Declared {
    /// Its name: a key in files, so letters, digits, `_` and `-`, and neither a factor of the lab's
    /// own nor another key.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// How its levels are written.
    pub syntax: &'static str,
    /// The level that it has when an experiment doesn't say, in its canonical form; [`DEFAULT`] for an
    /// engine's option that has no value then.
    pub default: &'static str,
    /// Brings a level into its canonical form, which stays as it is when it goes through here once
    /// more and has no comma and no `@`. Else says what is wrong in a line, and how to mend it in
    /// the lines after that.
    pub canonical: fn(&str) -> Result<String, String>,
}

/// Levels of declared factors, by the factors' names, each in its canonical form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredLevels(BTreeMap<String, String>);

impl DeclaredLevels {
    /// The level of a factor; its default where there is none here.
    pub fn level_of(&self, factor: &Declared) -> &str {
        self.0.get(factor.name).map_or(factor.default, String::as_str)
    }

    /// The levels with the factors' names, in the order of these.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, level)| (name.as_str(), level.as_str()))
    }
}

impl FromIterator<(String, String)> for DeclaredLevels {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(levels: T) -> Self {
        Self(levels.into_iter().collect())
    }
}
