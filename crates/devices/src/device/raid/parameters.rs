//! The parameters of an array.

use serde::{Deserialize, Serialize};
use toml::Table;

use crate::device::ParameterProblem;

/// What a chunk can be: from md's smallest, a page, to more than anybody takes.
const CHUNKS: std::ops::RangeInclusive<u64> = 4 << 10..=64 << 20;

/// Where the two copies of a chunk lie (md(4), "RAID10").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RaidLayout {
    /// At the same place of two disks next to each other: with an even number of disks a stripe over mirrors
    /// lies alike.
    #[default]
    Near,
    /// The first copies are a stripe over the first half of all disks, the second ones over the second
    /// half, a disk further.
    Far,
}

/// How an array is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// Every disk works.
    #[default]
    Healthy,
    /// One disk has failed and is not replaced.
    Degraded,
    /// A new disk is in its place and is being filled from the others; until then nothing is read from it.
    Rebuilding,
}

/// An array. Without anything said, that which mdadm(8) makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaidParameters {
    /// How it is.
    pub array: Health,
    /// Bytes of a chunk.
    pub chunk: u64,
    /// Where the copies lie.
    pub layout: RaidLayout,
}

impl Default for RaidParameters {
    fn default() -> Self {
        Self { array: Health::default(), chunk: super::CHUNK, layout: RaidLayout::default() }
    }
}

impl RaidParameters {
    /// The defaults, by the parameters' names.
    pub(crate) fn table() -> Table {
        Table::try_from(Self::default()).expect("words and numbers by name")
    }

    /// All that keeps such an array from being.
    pub(crate) fn check(&self) -> Vec<ParameterProblem> {
        if self.chunk.is_power_of_two() && CHUNKS.contains(&self.chunk) {
            return Vec::new();
        }
        let why = format!(
            "chunk is {}, and must be a power of two from {} to {}",
            self.chunk,
            CHUNKS.start(),
            CHUNKS.end()
        );
        vec![ParameterProblem { parameters: vec!["chunk".to_owned()], why }]
    }
}
