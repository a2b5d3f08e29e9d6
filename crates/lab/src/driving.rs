//! How the clients of a trial are driven.

use std::time::Duration;

use bakeoff_experiment::EngineState;
use bakeoff_load::{DrivePlan, Pace};
use bakeoff_results::ENOUGH_OPERATIONS;
use serde::{Deserialize, Serialize};

use crate::{Registry, TrialError};

/// The share of its seconds that a window leaves out at the start.
const WARM_UP: f64 = 0.1;
/// How many operations of each kind a window waits for: as many as a verdict needs. Where rounds are made of
/// them, so many in each of five.
const LEAST: u64 = ENOUGH_OPERATIONS;
const LEAST_STEADY: u64 = 25;

/// How the clients of a trial are driven.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drive {
    /// How many there are.
    pub clients: usize,
    /// What the target has behind it.
    pub state: EngineState,
    /// What brings it there.
    pub conditioning: Conditioning,
    /// How long the window is at least, with what it leaves out at its start, in seconds. Before a
    /// steady one the clients work as long again, so that the disk's time tells first.
    pub seconds: f64,
    /// How many operations of each kind end the window before that; `None` where none do. A steady one
    /// always lasts its seconds: deferred work comes back after a time.
    pub enough: Option<u64>,
    /// When their operations start.
    pub pacing: Pacing,
    /// Seeds what they do: the same for all trials of a block, so that its levels serve the same
    /// work, and another one for the next.
    pub seed: u64,
    /// Whether what they leave is checked after the drain.
    pub check: CheckScope,
}

/// Whether what a trial's clients leave is checked. A check of all of it may take longer than the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckScope {
    /// It is not: its cell was checked, or another trial follows on the same opening.
    None,
    /// Where they have written something: otherwise it is what was loaded, which was checked.
    Written,
    /// Whatever they have done.
    All,
}

/// The work that is done before the clients start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Conditioning {
    /// None.
    None,
    /// So many operations.
    Operations {
        /// How many.
        count: u64,
        /// How many more are done after them, by all clients, so that the disk's requests can be
        /// traced and priced; 0 for none.
        traced: u64,
        /// Seeds what they do.
        seed: u64,
    },
    /// As many as it takes until every debt was run up and paid once; to learn that, no client
    /// starts after them.
    Calibrate {
        /// Seeds what they do.
        seed: u64,
        /// How long that may take: after it a debt is taken for one that never levels.
        longest: Duration,
    },
}

/// When the operations of a trial start, on its way to another process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pacing {
    /// In a closed loop.
    Closed,
    /// In an open loop.
    Open {
        /// How many are due a second.
        per_second: f64,
        /// The name of their arrival process.
        arrivals: String,
        /// Seeds it.
        seed: u64,
    },
}

impl Pacing {
    /// The pace, with the arrival process of that name.
    ///
    /// # Errors
    /// When none is registered by it.
    pub fn pace(&self, registry: &Registry) -> Result<Pace, TrialError> {
        let Self::Open { per_second, arrivals, seed } = self else { return Ok(Pace::Closed) };
        let known = registry.arrivals().iter().find(|known| known.name == arrivals);
        let unknown = || TrialError::process(format!("there is no arrival process {arrivals}"));
        let arrivals = known.ok_or_else(unknown)?;
        Ok(Pace::Open { per_second: *per_second, arrivals, seed: *seed })
    }
}

impl Drive {
    /// How its drivers are driven, at a pace.
    pub fn plan(&self, drivers: usize, kinds: usize, pace: Pace) -> DrivePlan {
        let window = Duration::from_secs_f64(self.seconds);
        let (warm_up, duration, least) = match self.state {
            // The first operation after a restart is what it is about.
            EngineState::Cold => (Duration::ZERO, window, LEAST),
            EngineState::Warm => (window.mul_f64(WARM_UP), window, LEAST),
            EngineState::Steady => (window, window * 2, LEAST_STEADY),
        };
        let enough = self.enough.filter(|_| self.state != EngineState::Steady);
        let plan = DrivePlan::closed(self.clients, kinds, duration);
        DrivePlan { drivers, warm_up, least, enough, pace, seed: self.seed, ..plan }
    }

    /// How long its clients run where no operation is slow.
    pub fn duration(&self) -> Duration {
        self.plan(1, 1, Pace::Closed).duration
    }

    /// How long its clients run at most.
    pub fn cap(&self) -> Duration {
        let plan = self.plan(1, 1, Pace::Closed);
        plan.cap + plan.patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pacing_survives_the_journey_and_its_arrivals_are_looked_up() {
        let open = |arrivals: &str| Pacing::Open {
            per_second: 0.5,
            arrivals: arrivals.into(),
            seed: u64::MAX,
        };
        for pacing in [Pacing::Closed, open("poisson"), open("unheard-of")] {
            let conditioning = Conditioning::Operations { count: u64::MAX, traced: 9, seed: 1 };
            let drive = Drive {
                clients: 1,
                state: EngineState::Steady,
                conditioning,
                seconds: 1.5,
                enough: Some(100),
                pacing,
                seed: u64::MAX,
                check: CheckScope::All,
            };
            let json = serde_json::to_string(&drive).unwrap();
            assert_eq!(serde_json::from_str::<Drive>(&json).unwrap(), drive);
        }
        let registry = Registry::standard();
        let drive = |state| Drive {
            clients: 1,
            state,
            conditioning: Conditioning::None,
            seconds: 1.5,
            enough: Some(100),
            pacing: Pacing::Closed,
            seed: 1,
            check: CheckScope::None,
        };
        // What was waited for is enough for a verdict, in every state.
        for state in [EngineState::Cold, EngineState::Warm, EngineState::Steady] {
            assert!(drive(state).plan(1, 1, Pace::Closed).least >= ENOUGH_OPERATIONS, "{state:?}");
        }
        let enough = |state| drive(state).plan(1, 1, Pace::Closed).enough;
        let states = [EngineState::Cold, EngineState::Warm, EngineState::Steady].map(enough);
        assert_eq!(states, [Some(100), Some(100), None]);
        let arrivals = &bakeoff_load::ArrivalProcess::POISSON;
        let pace = Pace::Open { per_second: 0.5, arrivals, seed: u64::MAX };
        assert_eq!(open("poisson").pace(&registry).ok(), Some(pace));
        let unknown = open("unheard-of").pace(&registry).unwrap_err().to_string();
        assert!(unknown.contains("there is no arrival process unheard-of"), "{unknown}");
    }
}
