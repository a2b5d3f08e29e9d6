//! Finds which machine ran each block of a merged run.

use std::collections::BTreeMap;

use bakeoff_results::{Merged, Run, RunMember, TrialSummary};

/// By block number; empty where the run was not merged.
pub struct BlockMachines<'a>(BTreeMap<u32, &'a RunMember>);

impl<'a> BlockMachines<'a> {
    pub fn from_run(run: &'a Run) -> Self {
        Self(run.merged.as_ref().map(Merged::map_owners).unwrap_or_default())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn machine_fields(&self, trial: &TrialSummary) -> [String; 2] {
        let Some(member) = self.0.get(&trial.block) else { return Default::default() };
        let shard = member.shard.map_or_else(String::new, |shard| shard.to_string());
        [member.host.name.clone(), shard]
    }
}
