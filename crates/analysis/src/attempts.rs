use std::collections::BTreeMap;

use bakeoff_results::TrialSummary;

pub struct Attempts(BTreeMap<u32, u32>);

impl Attempts {
    pub fn from_trials<'a>(trials: impl IntoIterator<Item = &'a TrialSummary>) -> Self {
        let mut latest = BTreeMap::new();
        for trial in trials {
            let attempt = latest.entry(trial.block).or_insert(trial.attempt);
            *attempt = trial.attempt.max(*attempt);
        }
        Self(latest)
    }

    /// A trial is set aside if it doesn't count and its block was run again later. That is no
    /// failure.
    pub fn set_aside(&self, trial: &TrialSummary) -> bool {
        !trial.valid && !self.is_latest(trial)
    }

    pub(crate) fn is_latest(&self, trial: &TrialSummary) -> bool {
        self.0.get(&trial.block) == Some(&trial.attempt)
    }
}
