use std::time::{Duration, Instant};

use bakeoff_results::measure::{self, Measures, Scope};

use crate::machine::run_delay::RunDelays;
use crate::targets::{Processes, RunningTarget};

const LOOK: Duration = Duration::from_secs(1);

/// How long the threads of each group waited for a processor. Drivers report this themselves.
pub struct SchedulingDelays {
    groups: Vec<(&'static str, RunDelays)>,
    last: Instant,
}

impl SchedulingDelays {
    pub fn from_running(running: &dyn RunningTarget) -> Self {
        let families =
            running.groups().into_iter().filter_map(|(name, processes)| match processes {
                Processes::Own => None,
                Processes::Family(root) => Some((name, RunDelays::from_roots(vec![root]))),
                Processes::Without { root, apart } => {
                    Some((name, RunDelays::from_roots(vec![root]).without_family(apart)))
                }
            });
        let mut delays = Self { groups: families.collect(), last: Instant::now() };
        delays.look();
        delays
    }

    pub fn look(&mut self) {
        self.groups.iter_mut().for_each(|(_, delays)| delays.look());
        self.last = Instant::now();
    }

    /// The wait of a thread that ends between two looks is lost.
    pub fn look_now_and_then(&mut self) {
        if self.last.elapsed() > LOOK {
            self.look();
        }
    }

    pub fn put_into(&self, measures: &mut Measures) {
        for (name, delays) in &self.groups {
            let total = delays.total_wait().map(|total| total.as_secs_f64());
            measures.set_some(&measure::RUN_DELAY, Scope::Processes((*name).into()), total);
        }
    }
}
