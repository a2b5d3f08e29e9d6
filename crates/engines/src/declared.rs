//! A factor as it is declared by what is registered: its name, how its levels are written, and the
//! level that it has where nobody names one.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// An engine or a disk without the option has what it has by itself.
pub const DEFAULT: &str = "default";

/// A factor that a target, a workload or an engine adds to the lab's own.
pub struct Declared {
    /// A key in files: letters, digits, `_` and `-`. It must differ from the lab's own factors and
    /// from all other keys.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// How its levels are written.
    pub syntax: &'static str,
    /// The canonical level that an experiment has where it names none; [`DEFAULT`] for an engine's
    /// option without a value.
    pub default: &'static str,
    /// Brings a level into its canonical form, which has no comma and no `@` and is its own
    /// canonical form. An error says what is wrong in its first line and how to mend it in the
    /// others.
    pub canonical: &'static LevelForm,
}

/// Brings a level into its canonical form.
pub type LevelForm = dyn Fn(&str) -> Result<String, String> + Sync;

impl fmt::Debug for Declared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Declared").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The canonical levels, by the factors' names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredLevels(BTreeMap<String, String>);

impl DeclaredLevels {
    /// The level of a factor, or its default.
    pub fn level_of(&self, factor: &Declared) -> &str {
        self.0.get(factor.name).map_or(factor.default, String::as_str)
    }

    /// In the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, level)| (name.as_str(), level.as_str()))
    }
}

impl FromIterator<(String, String)> for DeclaredLevels {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(levels: T) -> Self {
        Self(levels.into_iter().collect())
    }
}
