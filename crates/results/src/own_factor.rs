//! The lab's own factors, and a cell's levels of them: the one place that knows their names.

use std::fmt;

use crate::record::Levels;

/// A factor of the lab's own. All other factors are declared by what is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnFactor {
    Engine,
    Durability,
    Memory,
    Cpus,
    Disk,
    Neighbours,
    Clients,
    Rate,
    Scale,
    State,
    Placement,
}

impl OwnFactor {
    pub const ALL: [Self; 11] = [
        Self::Engine,
        Self::Durability,
        Self::Memory,
        Self::Cpus,
        Self::Disk,
        Self::Neighbours,
        Self::Clients,
        Self::Rate,
        Self::Scale,
        Self::State,
        Self::Placement,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Durability => "durability",
            Self::Memory => "memory",
            Self::Cpus => "cpus",
            Self::Disk => "disk",
            Self::Neighbours => "neighbours",
            Self::Clients => "clients",
            Self::Rate => "rate",
            Self::Scale => "scale",
            Self::State => "state",
            Self::Placement => "placement",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|factor| factor.as_str() == name)
    }
}

impl fmt::Display for OwnFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq<OwnFactor> for str {
    fn eq(&self, factor: &OwnFactor) -> bool {
        self == factor.as_str()
    }
}

impl PartialEq<OwnFactor> for &str {
    fn eq(&self, factor: &OwnFactor) -> bool {
        *self == factor.as_str()
    }
}

impl PartialEq<OwnFactor> for String {
    fn eq(&self, factor: &OwnFactor) -> bool {
        self == factor.as_str()
    }
}

/// A level of [`OwnFactor::Durability`], from the one that promises most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DurabilityLevel {
    Strict,
    Relaxed,
    None,
}

impl DurabilityLevel {
    pub const ALL: [Self; 3] = [Self::Strict, Self::Relaxed, Self::None];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Relaxed => "relaxed",
            Self::None => "none",
        }
    }

    /// `None` for an alias, too: [`Run::durability`](crate::Run::durability) resolves those.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

/// Reads a cell's levels, and makes others of them.
pub trait CellLevels {
    /// As the record has it, which may be an alias; `None` where the cell has no such factor.
    fn level(&self, factor: OwnFactor) -> Option<&str>;

    fn has(&self, factor: OwnFactor) -> bool {
        self.level(factor).is_some()
    }

    fn is_at(&self, factor: OwnFactor, level: &str) -> bool {
        self.level(factor) == Some(level)
    }

    fn clients(&self) -> Option<f64> {
        self.level(OwnFactor::Clients)?.parse().ok()
    }

    fn with_level(&self, factor: &str, level: &str) -> Levels;

    fn without_factor(&self, factor: &str) -> Levels;
}

impl CellLevels for Levels {
    fn level(&self, factor: OwnFactor) -> Option<&str> {
        self.get(factor.as_str()).map(String::as_str)
    }

    fn with_level(&self, factor: &str, level: &str) -> Levels {
        let mut levels = self.clone();
        levels.insert(factor.to_owned(), level.to_owned());
        levels
    }

    fn without_factor(&self, factor: &str) -> Levels {
        let mut levels = self.clone();
        levels.remove(factor);
        levels
    }
}
