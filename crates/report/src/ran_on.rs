//! Which machine ran each block of a merged run.

use std::collections::BTreeMap;

use bakeoff_results::{Merged, Run, RunMember, TrialSummary};

/// Who ran each block, by the blocks' numbers; empty where the run was not merged.
pub struct RanOn<'a>(BTreeMap<u32, &'a RunMember>);

impl<'a> RanOn<'a> {
    /// Of a run.
    pub fn from_run(run: &'a Run) -> Self {
        Self(run.merged.as_ref().map(Merged::owners).unwrap_or_default())
    }

    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name of the machine that ran a trial and the shard that it belongs to, each empty where it is not
    /// known or there is none.
    pub fn fields(&self, trial: &TrialSummary) -> [String; 2] {
        let Some(member) = self.0.get(&trial.block) else { return Default::default() };
        let shard = member.shard.map_or_else(String::new, |shard| shard.to_string());
        [member.host.name.clone(), shard]
    }
}
