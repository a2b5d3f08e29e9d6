use serde::{Deserialize, Serialize};
use toml::Table;

use crate::device::ParameterProblem;

/// The sizes of a chunk: from md's smallest, a page, to more than users choose.
const CHUNKS: std::ops::RangeInclusive<u64> = 4 << 10..=64 << 20;

/// Where the two copies of a chunk lie (md(4), "RAID10").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RaidLayout {
    /// Both at the same place of two neighbouring disks.
    #[default]
    Near,
    /// First copies are striped over the first half of all disks, second copies over the second
    /// half, one disk further.
    Far,
}

/// The state of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// Every disk works.
    #[default]
    Healthy,
    /// One disk has failed and is not replaced.
    Degraded,
    /// A new disk is filled from the others; nothing is read from it until then.
    Rebuilding,
}

/// An array; by default as mdadm(8) makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaidParameters {
    /// The state of the array.
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
    pub(crate) fn default_table() -> Table {
        Table::try_from(Self::default()).expect("words and numbers by name")
    }

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
