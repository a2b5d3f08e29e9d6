use std::time::Duration;

use bakeoff_experiment::{EngineState, ThreadPlacement};
use bakeoff_load::{ARRIVALS, DrivePlan, Pace};
use bakeoff_results::ENOUGH_OPERATIONS;
use serde::{Deserialize, Serialize};

use crate::TrialError;

/// The share of a window that is cut at its start.
const WARM_UP: f64 = 0.1;
/// The operations of each kind that a window waits for: as many as a verdict needs, and 25 in each
/// of the five rounds of a steady window.
const LEAST: u64 = ENOUGH_OPERATIONS;
const LEAST_STEADY: u64 = 25;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    pub clients: usize,
    pub state: EngineState,
    pub placement: ThreadPlacement,
    pub conditioning: Conditioning,
    /// Seconds that the window lasts at least, its warm-up included. Before a steady window the
    /// clients work as long again.
    pub seconds: f64,
    /// Operations of each kind that end the window earlier; not in a steady window, where deferred
    /// work comes back after a time.
    pub enough: Option<u64>,
    pub pacing: Pacing,
    /// The same for all trials of a block, so that its levels get the same work.
    pub seed: u64,
    pub check: CheckScope,
}

/// Checking everything may take longer than the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckScope {
    /// The cell was checked already, or another trial follows on the same open target.
    None,
    /// Only if they wrote something: the loaded data were checked before.
    Written,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Conditioning {
    None,
    Operations {
        count: u64,
        /// Operations after those, by all clients, whose disk requests are traced and priced; 0 for
        /// none.
        traced: u64,
        seed: u64,
    },
    /// Until every debt was run up and paid once. No client starts after it: it only learns the
    /// count.
    Calibrate {
        seed: u64,
        /// After this time a debt counts as one that never levels.
        longest: Duration,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pacing {
    Closed,
    Open { per_second: f64, arrivals: String, seed: u64 },
}

impl Pacing {
    pub fn to_pace(&self) -> Result<Pace, TrialError> {
        let Self::Open { per_second, arrivals, seed } = self else { return Ok(Pace::Closed) };
        let known = ARRIVALS.iter().find(|known| known.name == arrivals);
        let unknown =
            || TrialError::process_error(format!("there is no arrival process {arrivals}"));
        let arrivals = known.ok_or_else(unknown)?;
        Ok(Pace::Open { per_second: *per_second, arrivals, seed: *seed })
    }
}

impl Drive {
    pub fn to_plan(&self, drivers: usize, kinds: usize, pace: Pace) -> DrivePlan {
        let window = Duration::from_secs_f64(self.seconds);
        let (warm_up, duration, least) = match self.state {
            // Only the first operation after a restart counts.
            EngineState::Cold => (Duration::ZERO, window, LEAST),
            EngineState::Warm => (window.mul_f64(WARM_UP), window, LEAST),
            EngineState::Steady => (window, window * 2, LEAST_STEADY),
        };
        let enough = self.enough.filter(|_| self.state != EngineState::Steady);
        let plan = DrivePlan::closed_loop(self.clients, kinds, duration);
        DrivePlan { drivers, warm_up, least, enough, pace, seed: self.seed, ..plan }
    }

    pub fn planned_duration(&self) -> Duration {
        self.to_plan(1, 1, Pace::Closed).duration
    }

    pub fn longest_duration(&self) -> Duration {
        let plan = self.to_plan(1, 1, Pace::Closed);
        plan.cap + plan.patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(state: EngineState, pacing: Pacing) -> Drive {
        let conditioning = Conditioning::Operations { count: u64::MAX, traced: 9, seed: 1 };
        Drive {
            clients: 1,
            state,
            placement: ThreadPlacement::Free,
            conditioning,
            seconds: 1.5,
            enough: Some(100),
            pacing,
            seed: u64::MAX,
            check: CheckScope::All,
        }
    }

    #[test]
    fn a_pacing_survives_the_journey_and_its_arrivals_are_looked_up() {
        let (per_second, seed) = (0.5, u64::MAX);
        let open = |name: &str| Pacing::Open { per_second, arrivals: name.into(), seed };
        for pacing in [Pacing::Closed, open("poisson"), open("unheard-of")] {
            let drive = drive(EngineState::Steady, pacing);
            let json = serde_json::to_string(&drive).unwrap();
            assert_eq!(serde_json::from_str::<Drive>(&json).unwrap(), drive);
        }
        // What was waited for is enough for a verdict, in every state.
        for (state, enough) in [
            (EngineState::Cold, Some(100)),
            (EngineState::Warm, Some(100)),
            (EngineState::Steady, None),
        ] {
            let plan = drive(state, Pacing::Closed).to_plan(1, 1, Pace::Closed);
            assert_eq!((plan.least >= ENOUGH_OPERATIONS, plan.enough), (true, enough), "{state:?}");
        }
        let arrivals = &bakeoff_load::ArrivalProcess::POISSON;
        let pace = Pace::Open { per_second, arrivals, seed };
        assert_eq!(open("poisson").to_pace().ok(), Some(pace));
        let unknown = open("unheard-of").to_pace().unwrap_err().to_string();
        assert!(unknown.contains("there is no arrival process unheard-of"), "{unknown}");
    }
}
