//! What an experiment can vary.

use std::fmt;

/// Something that an experiment varies.
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
    /// How much data there is.
    Scale,
}

impl Factor {
    /// Every factor, in the order in which they are listed.
    pub const ALL: [Self; 7] = [
        Self::Engine,
        Self::Durability,
        Self::Memory,
        Self::Disk,
        Self::Neighbours,
        Self::Clients,
        Self::Scale,
    ];

    /// Its name: a key in files, a flag with two dashes before it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Durability => "durability",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Neighbours => "neighbours",
            Self::Clients => "clients",
            Self::Scale => "scale",
        }
    }

    /// The factor of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|factor| factor.name() == name)
    }

    /// One line on what it is.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Engine => "what stores the data",
            Self::Durability => "what a commit promises",
            Self::Memory => "how much memory an engine has, its page cache included",
            Self::Disk => "the device under the data",
            Self::Neighbours => "other load on the same disk: random 16 KiB reads and writes",
            Self::Clients => "how many clients work at once, a thread each",
            Self::Scale => "how much data there is",
        }
    }

    /// How its levels are written.
    pub fn syntax(self) -> &'static str {
        match self {
            Self::Engine => {
                "an engine's name (see `bakeoff list engines`), or a database's URL: mysql://… or \
                 postgres://…"
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
            Self::Scale => "a scale of the workload (see `bakeoff list workloads`)",
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
        }
    }
}

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
