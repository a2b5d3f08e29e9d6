use std::time::{Duration, Instant};

use bakeoff_experiment::ThreadPlacement;
use bakeoff_load::CLIENT_THREADS;
use bakeoff_load::cpu::ThreadScheduling;
use bakeoff_results::measure::{self, Measures, Scope};

use crate::TrialError;
use crate::machine::placement::{PlacementSamples, list_own_threads};
use crate::machine::processor_shares::ProcessorShares;
use crate::machine::run_delay::RunDelays;
use crate::targets::{Processes, RunningTarget};

const LOOK: Duration = Duration::from_secs(1);

/// How the threads of each group were scheduled, and whether they shared processors with clients.
/// Drivers report the rest themselves.
pub struct SchedulingDelays {
    groups: Vec<(&'static str, RunDelays)>,
    /// `None` until the clients work.
    last: Option<Instant>,
    clients: Vec<u32>,
    placement: PlacementSamples,
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
                Processes::Children { apart } => {
                    let delays = RunDelays::from_roots(vec![std::process::id()]).without_root();
                    Some((name, apart.into_iter().fold(delays, RunDelays::without_family)))
                }
            });
        let mut delays = Self {
            groups: families.collect(),
            last: None,
            clients: Vec::new(),
            placement: PlacementSamples::default(),
        };
        delays.look();
        delays
    }

    pub fn look(&mut self) {
        self.groups.iter_mut().for_each(|(_, delays)| delays.look());
    }

    /// When all clients are connected, and before they work.
    ///
    /// # Errors
    ///
    /// If this process may not choose processors, as in some containers.
    pub fn place_threads(&mut self, placement: ThreadPlacement) -> Result<(), TrialError> {
        let failed = |error| TrialError::place_error("no placement of its threads", error);
        let Some(shares) = ProcessorShares::from_placement(placement).map_err(failed)? else {
            return Ok(());
        };
        self.look();
        let servers = self.groups.iter().flat_map(|(_, delays)| delays.threads());
        shares.place(&list_own_threads(CLIENT_THREADS), servers).map_err(failed)
    }

    /// Several times a second, while the clients work. The wait of a thread that ends between two
    /// looks at all threads is lost.
    pub fn look_now_and_then(&mut self) {
        if self.groups.is_empty() {
            return;
        }
        if self.last.is_none() {
            self.clients = list_own_threads(CLIENT_THREADS);
        }
        if self.last.is_none_or(|last| last.elapsed() > LOOK) {
            self.look();
            self.last = Some(Instant::now());
        }
        let servers = self.groups.iter().flat_map(|(_, delays)| delays.threads());
        self.placement.look(&self.clients, servers);
    }

    pub fn put_into(&self, measures: &mut Measures) {
        let [clients, servers] = self.placement.count_processors();
        for (name, delays) in &self.groups {
            if let Some(total) = delays.total() {
                put_scheduling(measures, &Scope::Processes((*name).into()), total);
            }
        }
        let Some(together) = self.placement.share_together() else { return };
        measures.set(&measure::TOGETHER, Scope::Trial, together);
        measures.set(&measure::CLIENT_PROCESSORS, Scope::Trial, clients as f64);
        measures.set(&measure::SERVER_PROCESSORS, Scope::Trial, servers as f64);
    }
}

pub fn put_scheduling(measures: &mut Measures, scope: &Scope, total: ThreadScheduling) {
    let seconds = |time: Duration| time.as_secs_f64();
    measures.set(&measure::RUN_DELAY, scope.clone(), seconds(total.waited));
    measures.set_some(&measure::MEAN_WAIT, scope.clone(), total.mean_wait().map(seconds));
    let migrations = total.migrations.map(|count| count as f64);
    measures.set_some(&measure::MIGRATIONS, scope.clone(), migrations);
}
