//! What an experiment can vary: the lab's own factors, and those that something else declares.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Something that an experiment varies.
///
/// The lab's own factors come before declared ones, in the order of [`Factor::OWN`]; declared ones
/// are told apart, and ordered, by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Factor {
    /// What stores the data.
    Engine,
    /// What a commit promises.
    Durability,
    /// How much memory an engine has.
    Memory,
    /// The device under the data.
    Disk,
    /// Other load on the same disk.
    Neighbours,
    /// How many clients work at once.
    Clients,
    /// When operations start.
    Rate,
    /// How much data there is.
    Scale,
    /// What a target, a workload, an engine or a device adds.
    Declared(&'static Declared),
}

/// A factor that is not the lab's own: what is registered describes it.
#[derive(Debug)]
pub struct Declared {
    /// Its name: a key in files, so letters, digits, `_` and `-`, and neither a factor of the lab's
    /// own nor another key.
    pub name: &'static str,
    /// One line on what it is.
    pub summary: &'static str,
    /// How its levels are written.
    pub syntax: &'static str,
    /// The level that it has when an experiment doesn't say, in its canonical form.
    pub default: &'static str,
    /// Brings a level into its canonical form, which stays as it is when it goes through here once
    /// more and has no comma and no `@`. Else says what is wrong in a line, and how to mend it in
    /// the lines after that.
    pub canonical: fn(&str) -> Result<String, String>,
}

impl PartialEq for Declared {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Declared {}

impl PartialOrd for Declared {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Declared {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(other.name)
    }
}

impl Hash for Declared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Factor {
    /// The lab's own factors, in the order in which they are listed.
    pub const OWN: [Self; 8] = [
        Self::Engine,
        Self::Durability,
        Self::Memory,
        Self::Disk,
        Self::Neighbours,
        Self::Clients,
        Self::Rate,
        Self::Scale,
    ];

    /// Its name: a key in files; one of the lab's own is a flag, too, with two dashes before it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Durability => "durability",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Neighbours => "neighbours",
            Self::Clients => "clients",
            Self::Rate => "rate",
            Self::Scale => "scale",
            Self::Declared(declared) => declared.name,
        }
    }

    /// One line on what it is.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Engine => "what stores the data",
            Self::Durability => "what a commit promises",
            Self::Memory => "how much memory an engine has, its page cache included",
            Self::Disk => "the device under the data",
            Self::Neighbours => "other load on the same disk: random 16 KiB reads and writes",
            Self::Clients => "how many clients work at once",
            Self::Rate => {
                "when operations start: each client's next when its last has ended, or at a rate of \
                 all clients together"
            }
            Self::Scale => "how much data there is",
            Self::Declared(declared) => declared.summary,
        }
    }

    /// How its levels are written.
    pub fn syntax(self) -> &'static str {
        match self {
            Self::Engine => {
                "an engine's name, which options may follow, as NAME/option=value (see `bakeoff list \
                 engines`), or a database's URL: mysql://… or postgres://…"
            }
            Self::Durability => "none, relaxed or strict",
            Self::Memory => {
                "unlimited; a size, as 512M or 2G; 1% to 1000% of the bytes that are loaded"
            }
            Self::Disk => "host, a model (see `bakeoff list disks`), or a name under [disks]",
            Self::Neighbours => {
                "0; 1% to 100% of what one stream reaches alone; x1 to x64, so many streams"
            }
            Self::Clients => "1 to 1024",
            Self::Rate => {
                "closed; or an open loop, as 200/s in even gaps or poisson:200/s in random ones: \
                 0.001/s to 1000000/s"
            }
            Self::Scale => "a scale of the workload (see `bakeoff list workloads`)",
            Self::Declared(declared) => declared.syntax,
        }
    }

    /// The level that it has when an experiment doesn't say; `None` when an experiment has to, or
    /// when it depends on the workload.
    pub fn default_level(self) -> Option<&'static str> {
        match self {
            Self::Engine | Self::Scale => None,
            Self::Durability => Some("strict"),
            Self::Memory => Some("unlimited"),
            Self::Disk => Some("host"),
            Self::Neighbours => Some("0"),
            Self::Clients => Some("1"),
            Self::Rate => Some("closed"),
            Self::Declared(declared) => Some(declared.default),
        }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
