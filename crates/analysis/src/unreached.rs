//! Limits that a run set and never reached: it says nothing of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A limit that was not reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "limit", rename_all = "kebab-case")]
pub enum Unreached {
    /// No group of processes used nine tenths of its memory.
    Memory {
        /// The level of the factor `memory`.
        level: String,
        /// The most bytes that a group of each engine used, by the engines' names.
        peaks: BTreeMap<String, f64>,
        /// The level of the factor `scale`; `None` where there are several or none.
        scale: Option<String>,
    },
    /// A disk was asked for no reads: what it shows is of writes and syncs alone.
    DiskReads {
        /// The level of the factor `disk`.
        level: String,
    },
    /// The clients' work never went to the disk that neighbours kept busy.
    Neighbours {
        /// The level of the factor `neighbours`.
        level: String,
    },
    /// Every level kept up with the rate that was offered: which of them can serve more is open.
    Rate {
        /// The level of the factor `rate`.
        level: String,
    },
    /// One client in a closed loop keeps one disk of an array busy at a time.
    OneClientOnArray {
        /// The level of the factor `disk`.
        level: String,
    },
}

impl Unreached {
    /// The factor whose levels it says nothing of.
    pub fn factor(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "memory",
            Self::DiskReads { .. } | Self::OneClientOnArray { .. } => "disk",
            Self::Neighbours { .. } => "neighbours",
            Self::Rate { .. } => "rate",
        }
    }

    /// The level that it says nothing of.
    pub fn level(&self) -> &str {
        match self {
            Self::Memory { level, .. }
            | Self::DiskReads { level }
            | Self::Neighbours { level }
            | Self::Rate { level }
            | Self::OneClientOnArray { level } => level,
        }
    }
}
