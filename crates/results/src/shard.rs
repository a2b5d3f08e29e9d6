//! Parts of a plan that several machines share, and the machine of each part in a merged run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::machine::{HostIdentity, Machine};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanShard {
    /// Only shards of one plan make one run.
    pub plan: String,
    /// Only shards of one program make one run; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_sha256: Option<String>,
    /// From 1.
    pub index: u32,
    pub count: u32,
    /// The number of trials in the whole plan.
    pub trials: u32,
    pub host: HostIdentity,
    /// With numbers of trials.
    pub blocks: Vec<(u32, u32)>,
    /// By engine and durability.
    pub cuts: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merged {
    pub plan: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_sha256: Option<String>,
    pub count: u32,
    /// Shards first, by index.
    pub members: Vec<RunMember>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunMember {
    /// From 1; `None` for a machine that went on with the merged run.
    pub shard: Option<u32>,
    /// Tells it from machines of its kind.
    pub host: HostIdentity,
    pub machine: Machine,
    /// Processor time for timing and recording an operation there, in seconds.
    pub harness_s: f64,
    /// Runnable processes in the minute before; `None` if unknown.
    pub load: Option<f64>,
    /// Requests a second of one neighbour stream alone.
    pub neighbour_alone_per_second: Option<f64>,
    /// By its own clock.
    pub started_s: f64,
    /// `None` after a kill, or before its end.
    pub ended_s: Option<f64>,
    /// How far its last time is ahead of the merging machine's clock; `None` if it is not, or if it
    /// went on after the merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead_s: Option<f64>,
    /// They follow the order of members.
    pub canaries: u32,
    /// With numbers of trials.
    pub blocks: Vec<(u32, u32)>,
    pub cuts: Vec<(String, String)>,
}

impl Merged {
    pub fn list_missing(&self) -> Vec<u32> {
        let there: BTreeSet<u32> = self.members.iter().filter_map(|member| member.shard).collect();
        (1..=self.count).filter(|index| !there.contains(index)).collect()
    }

    pub fn went_on_last(&self) -> Option<&RunMember> {
        self.members.last().filter(|last| last.shard.is_none())
    }

    pub(crate) fn went_on_last_mut(&mut self) -> Option<&mut RunMember> {
        self.members.last_mut().filter(|last| last.shard.is_none())
    }

    /// Gives the last machine the canaries that no other has, and the run's end if it has none.
    pub fn end_last(&mut self, canaries: u32, ended_s: Option<f64>) {
        let own = self.looks_of_last(canaries as usize).len() as u32;
        if let Some(last) = self.went_on_last_mut() {
            last.canaries = own;
            last.ended_s = last.ended_s.or(ended_s);
        }
    }

    /// Positions among all canaries; empty if no machine went on.
    pub fn looks_of_last(&self, canaries: usize) -> Range<usize> {
        let Some((last, others)) = self.members.split_last() else { return canaries..canaries };
        if last.shard.is_some() {
            return canaries..canaries;
        }
        let known = others.iter().map(|it| it.canaries as usize).fold(0, usize::saturating_add);
        known.min(canaries)..canaries
    }

    pub fn count_trials(&self) -> u32 {
        let blocks = self.members.iter().flat_map(|member| &member.blocks);
        blocks.map(|(_, trials)| *trials).fold(0, u32::saturating_add)
    }

    pub fn map_owners(&self) -> BTreeMap<u32, &RunMember> {
        let mut owners = BTreeMap::new();
        for member in &self.members {
            owners.extend(member.blocks.iter().map(|(number, _)| (*number, member)));
        }
        owners
    }
}
