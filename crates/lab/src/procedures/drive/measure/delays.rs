//! How long the threads of servers wait for a processor while clients work.

use std::time::{Duration, Instant};

use bakeoff_results::measure::{self, Measures, Scope};

use crate::machine::run_delay::RunDelays;
use crate::targets::{Processes, RunningTarget};

/// How often the threads of servers are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// How long the threads of each group of processes had to wait for a processor. Those of a driver
/// tell it themselves.
pub struct Delays {
    groups: Vec<(&'static str, RunDelays)>,
    last: Instant,
}

impl Delays {
    /// Of the groups of a target; it looks at once.
    pub fn from_running(running: &dyn RunningTarget) -> Self {
        let families =
            running.groups().into_iter().filter_map(|(name, processes)| match processes {
                Processes::Own => None,
                Processes::Family(root) => Some((name, RunDelays::from_roots(vec![root]))),
                Processes::Without { root, apart } => {
                    Some((name, RunDelays::from_roots(vec![root]).without(apart)))
                }
            });
        let mut delays = Self { groups: families.collect(), last: Instant::now() };
        delays.look();
        delays
    }

    /// Looks at what each has waited by now.
    pub fn look(&mut self) {
        self.groups.iter_mut().for_each(|(_, delays)| delays.look());
        self.last = Instant::now();
    }

    /// A thread that ends between two looks takes what it has waited since with it.
    pub fn look_now_and_then(&mut self) {
        if self.last.elapsed() > LOOK {
            self.look();
        }
    }

    /// Puts what each has waited.
    pub fn put(&self, measures: &mut Measures) {
        for (name, delays) in &self.groups {
            let total = delays.total().map(|total| total.as_secs_f64());
            measures.set_some(&measure::RUN_DELAY, Scope::Processes((*name).into()), total);
        }
    }
}
