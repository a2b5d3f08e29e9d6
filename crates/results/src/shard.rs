//! What is recorded where several machines share a plan: which part of it a run is, and of a merged run which
//! machine ran which part.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::machine::{HostIdentity, Machine};

/// Which part of a plan a run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanShard {
    /// Tells the plan from others: only shards of one plan make one run.
    pub plan: String,
    /// The SHA-256 of bakeoff's program, in hexadecimal digits: only shards of one program make one run;
    /// `None` in records of an older bakeoff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_sha256: Option<String>,
    /// Which part, from 1.
    pub index: u32,
    /// How many parts there are.
    pub count: u32,
    /// How many trials the whole plan has.
    pub trials: u32,
    /// The machine that runs it.
    pub host: HostIdentity,
    /// Its blocks, by their numbers, and how many trials each has.
    pub blocks: Vec<(u32, u32)>,
    /// The engines and levels of durability whose power it cuts.
    pub cuts: Vec<(String, String)>,
}

/// The machines of a merged run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Merged {
    /// Tells the plan from others.
    pub plan: String,
    /// The SHA-256 of bakeoff's program, in hexadecimal digits: only shards of one program make one run;
    /// `None` in records of an older bakeoff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_sha256: Option<String>,
    /// How many parts the plan has.
    pub count: u32,
    /// Who ran which part: those of shards first, by their indices.
    pub members: Vec<RunMember>,
}

/// What one machine has of a merged run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunMember {
    /// Which part it ran, from 1; `None` where it went on with the merged run.
    pub shard: Option<u32>,
    /// Tells it from machines of its kind.
    pub host: HostIdentity,
    /// The machine.
    pub machine: Machine,
    /// What timing and recording an operation costs bakeoff there, in seconds of processor time.
    pub harness_s: f64,
    /// How many processes wanted a processor in the minute before it began; `None` where the system does
    /// not tell.
    pub load: Option<f64>,
    /// Requests a second that one neighbour stream reached alone, where it was measured.
    pub neighbour_alone_per_second: Option<f64>,
    /// When it began, in seconds since 1970 by its own clock.
    pub started_s: f64,
    /// When it ended; `None` where it was killed, or had not ended.
    pub ended_s: Option<f64>,
    /// How long after the moment of the merge the last of its times is, in seconds by the clock of the machine
    /// that merged it; `None` where its times lie before that, and where it went on after the merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead_s: Option<f64>,
    /// How many looks at the machine alone are its own: they stand in the order of the members.
    pub canaries: u32,
    /// Its blocks, by their numbers, and how many trials each has.
    pub blocks: Vec<(u32, u32)>,
    /// The engines and levels of durability whose power it cuts.
    pub cuts: Vec<(String, String)>,
}

impl Merged {
    /// The shards that are not among its members.
    pub fn missing(&self) -> Vec<u32> {
        let there: BTreeSet<u32> = self.members.iter().filter_map(|member| member.shard).collect();
        (1..=self.count).filter(|index| !there.contains(index)).collect()
    }

    /// The machine that went on last; `None` where none did.
    pub fn went_on_last(&self) -> Option<&RunMember> {
        self.members.last().filter(|last| last.shard.is_none())
    }

    /// The same, to note something of it.
    pub(crate) fn went_on_last_mut(&mut self) -> Option<&mut RunMember> {
        self.members.last_mut().filter(|last| last.shard.is_none())
    }

    /// Gives the machine that went on last what the others don't have of all looks at a machine alone, and the
    /// run's end, in seconds since 1970, where it has none.
    pub fn end_last(&mut self, canaries: u32, ended_s: Option<f64>) {
        let own = self.looks_of_last(canaries as usize).len() as u32;
        if let Some(last) = self.went_on_last_mut() {
            last.canaries = own;
            last.ended_s = last.ended_s.or(ended_s);
        }
    }

    /// Which of so many looks at a machine alone are those of the machine that went on last; none where none
    /// did.
    pub fn looks_of_last(&self, canaries: usize) -> Range<usize> {
        let Some((last, others)) = self.members.split_last() else { return canaries..canaries };
        if last.shard.is_some() {
            return canaries..canaries;
        }
        let known = others.iter().map(|it| it.canaries as usize).fold(0, usize::saturating_add);
        known.min(canaries)..canaries
    }

    /// How many trials the blocks of all its members have.
    pub fn trials(&self) -> u32 {
        let blocks = self.members.iter().flat_map(|member| &member.blocks);
        blocks.map(|(_, trials)| *trials).fold(0, u32::saturating_add)
    }

    /// Who ran each block, by the blocks' numbers.
    pub fn owners(&self) -> BTreeMap<u32, &RunMember> {
        let mut owners = BTreeMap::new();
        for member in &self.members {
            owners.extend(member.blocks.iter().map(|(number, _)| (*number, member)));
        }
        owners
    }
}
