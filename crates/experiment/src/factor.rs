//! The factors that an experiment can vary: the lab's own ones, and declared ones.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use bakeoff_engines::{DEFAULT, Declared};

use crate::message::ExperimentProblem;

mod option;

pub use option::{Declarer, OptionFactor};

/// Two are the same if they have the same name. The lab's own come first, in the order of
/// [`Factor::OWN`], then declared ones by name.
#[derive(Clone, Copy, Debug)]
pub enum Factor {
    Own(&'static LabFactor),
    Declared(&'static Declared),
    Option(&'static OptionFactor),
}

#[derive(Debug)]
pub struct LabFactor {
    pub name: &'static str,
    pub summary: &'static str,
    pub syntax: &'static str,
    pub help: &'static str,
    /// `None` if an experiment has to name one, or if it depends on the workload.
    pub default: Option<&'static str>,
    pub(crate) valid: Valid,
    /// Whether a level shows by itself which factor it belongs to: an engine's name does, a number
    /// doesn't.
    pub bare: bool,
}

pub(crate) enum Valid {
    Text(fn(&str) -> Result<String, ExperimentProblem>),
    Engines,
    Disks,
    Rates,
    Scales,
}

impl Factor {
    pub const OWN: [Self; 11] = [
        Self::ENGINE,
        Self::DURABILITY,
        Self::MEMORY,
        Self::CPUS,
        Self::DISK,
        Self::NEIGHBOURS,
        Self::CLIENTS,
        Self::RATE,
        Self::SCALE,
        Self::STATE,
        Self::PLACEMENT,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Own(own) => own.name,
            Self::Declared(declared) => declared.name,
            Self::Option(option) => &option.name,
        }
    }

    pub fn summary(self) -> &'static str {
        match self {
            Self::Own(own) => own.summary,
            Self::Declared(declared) => declared.summary,
            Self::Option(option) => &option.summary,
        }
    }

    pub fn syntax(self) -> &'static str {
        match self {
            Self::Own(own) => own.syntax,
            Self::Declared(declared) => declared.syntax,
            Self::Option(option) => &option.syntax,
        }
    }

    pub fn flag_help(self) -> &'static str {
        match self {
            Self::Own(own) => own.help,
            Self::Declared(_) | Self::Option(_) => self.syntax(),
        }
    }

    pub fn default_level(self) -> Option<&'static str> {
        match self {
            Self::Own(own) => own.default,
            Self::Declared(declared) => Some(declared.default),
            Self::Option(_) => Some(DEFAULT),
        }
    }

    /// Puts the factor's name before the level, unless the level needs none.
    pub fn in_words(self, level: &str) -> String {
        match self {
            Self::Own(own) if own.bare => level.to_owned(),
            _ => format!("{self} {level}"),
        }
    }

    fn sort_key(self) -> (usize, &'static str) {
        let place = match self {
            Self::Own(own) => Self::OWN.iter().position(|other| other.name() == own.name),
            Self::Declared(_) | Self::Option(_) => None,
        };
        (place.unwrap_or(Self::OWN.len()), self.name())
    }
}

impl PartialEq for Factor {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Factor {}

impl PartialOrd for Factor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Factor {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sort_key().cmp(&other.sort_key())
    }
}

impl Hash for Factor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Valid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "Text",
            Self::Engines => "Engines",
            Self::Disks => "Disks",
            Self::Rates => "Rates",
            Self::Scales => "Scales",
        })
    }
}
