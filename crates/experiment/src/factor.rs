//! What an experiment can vary: the lab's own factors, and those that something else declares.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use bakeoff_factor::{DEFAULT, Declared};

use crate::message::ExperimentProblem;

mod option;

pub use option::{Declarer, OptionFactor};

/// Something that an experiment varies. Two are the same where they have the same name.
///
/// The lab's own factors come before declared ones, in the order of [`Factor::OWN`]; declared ones
/// are ordered by their names.
#[derive(Clone, Copy, Debug)]
pub enum Factor {
    /// One of the lab's own.
    Own(&'static LabFactor),
    /// What a target or a workload adds.
    Declared(&'static Declared),
    /// What engines or disks add.
    Option(&'static OptionFactor),
}

/// A factor of the lab's own.
#[derive(Debug)]
pub struct LabFactor {
    /// Its name: a key in files, and a flag with two dashes before it.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// How its levels are written.
    pub syntax: &'static str,
    /// What `--help` says of its flag.
    pub help: &'static str,
    /// The level that it has when an experiment doesn't say; `None` when an experiment has to, or
    /// when it depends on the workload.
    pub default: Option<&'static str>,
    /// Which levels are valid.
    pub(crate) valid: Valid,
    /// Whether a level says by itself what it is a level of, as an engine's name does and a number
    /// does not.
    pub bare: bool,
}

/// Which levels of a factor are valid, and how they are brought into their canonical form.
pub(crate) enum Valid {
    /// Those that this function takes.
    Text(fn(&str) -> Result<String, ExperimentProblem>),
    /// The registered engines, and databases by their URLs.
    Engines,
    /// The registered devices, and those of the experiment's own.
    Disks,
    /// The closed loop, and rates with the registered arrival processes.
    Rates,
    /// The workload's scales.
    Scales,
}

impl Factor {
    /// The lab's own factors, in the order in which they are listed.
    pub const OWN: [Self; 10] = [
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
    ];

    /// Its name: a key in files; one of the lab's own is a flag, too, with two dashes before it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own(own) => own.name,
            Self::Declared(declared) => declared.name,
            Self::Option(option) => &option.name,
        }
    }

    /// One line on what it is.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Own(own) => own.summary,
            Self::Declared(declared) => declared.summary,
            Self::Option(option) => &option.summary,
        }
    }

    /// How its levels are written.
    pub fn syntax(self) -> &'static str {
        match self {
            Self::Own(own) => own.syntax,
            Self::Declared(declared) => declared.syntax,
            Self::Option(option) => &option.syntax,
        }
    }

    /// What `--help` says of it.
    pub fn flag_help(self) -> &'static str {
        match self {
            Self::Own(own) => own.help,
            Self::Declared(_) | Self::Option(_) => self.syntax(),
        }
    }

    /// The level that it has when an experiment doesn't say; `None` when an experiment has to, or
    /// when it depends on the workload.
    pub fn default_level(self) -> Option<&'static str> {
        match self {
            Self::Own(own) => own.default,
            Self::Declared(declared) => Some(declared.default),
            Self::Option(_) => Some(DEFAULT),
        }
    }

    /// A level in words: by itself where it says what it is a level of, else behind the factor's
    /// name.
    pub fn in_words(self, level: &str) -> String {
        match self {
            Self::Own(own) if own.bare => level.to_owned(),
            _ => format!("{self} {level}"),
        }
    }

    /// What it is ordered by: the place of one of the lab's own, and a name.
    fn place(self) -> (usize, &'static str) {
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
        self.place().cmp(&other.place())
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
