//! Limits that a run set and never reached: it can't judge them.

use std::collections::BTreeMap;

use bakeoff_results::OwnFactor;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "limit", rename_all = "kebab-case")]
pub enum UnreachedLimit {
    /// No group of processes used nine tenths of its memory.
    Memory {
        level: String,
        /// The most bytes that a group of each engine used, by engine.
        peaks: BTreeMap<String, f64>,
        /// `None` where there are several.
        scale: Option<String>,
    },
    /// A disk was asked for no reads: it only shows writes and syncs.
    DiskReads { level: String },
    /// The clients' work never went to the disk that neighbours kept busy.
    Neighbours { level: String },
    /// Every level kept up with the offered rate: which of them can serve more is open.
    Rate { level: String },
    /// One client in a closed loop keeps one disk of an array busy at a time.
    OneClientOnArray { level: String },
}

impl UnreachedLimit {
    pub fn factor(&self) -> OwnFactor {
        match self {
            Self::Memory { .. } => OwnFactor::Memory,
            Self::DiskReads { .. } | Self::OneClientOnArray { .. } => OwnFactor::Disk,
            Self::Neighbours { .. } => OwnFactor::Neighbours,
            Self::Rate { .. } => OwnFactor::Rate,
        }
    }

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
