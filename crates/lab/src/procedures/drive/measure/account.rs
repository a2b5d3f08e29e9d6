//! The resources that a trial uses: processor time, bytes, syncs, and its target's counters.

use std::collections::BTreeMap;
use std::time::Duration;

use bakeoff_load::DriveOutcome;
use bakeoff_results::measure::{self, DATABASE_GROUP, Measures, Scope};

use crate::machine::syncs;
use crate::machine::usage::Usage;
use crate::place::TargetPlace;
use crate::targets::{ClientTally, Processes, RunningTarget};
use crate::{MachineError, TrialError};

pub struct UsageSnapshot {
    own: Usage,
    groups: BTreeMap<&'static str, (Processes, Usage)>,
    device: Option<(u64, u64)>,
    syncs: Option<(Scope, u64)>,
    counters: Measures,
}

impl UsageSnapshot {
    pub fn take(
        running: &dyn RunningTarget,
        place: &TargetPlace,
        syncs: Option<&syncs::SyncCounter>,
    ) -> Result<Self, TrialError> {
        let failed = |error: std::io::Error| {
            TrialError::place_error("no account of what the engine uses", error)
        };
        let own = Usage::from_this_process().map_err(failed)?;
        let mut groups = BTreeMap::new();
        for (name, processes) in running.groups() {
            let usage = match processes {
                Processes::Own => own,
                Processes::Family(root) => Usage::of_family(root).map_err(failed)?,
                Processes::Without { root, apart } => {
                    Usage::of_family_without(root, apart).map_err(failed)?
                }
                Processes::Children { apart } => Usage::of_children(apart).map_err(failed)?,
            };
            if groups.insert(name, (processes, usage)).is_some() {
                let two = format!("two groups of processes are named `{name}`");
                return Err(TrialError::process_error(two));
            }
        }
        let device = place.block_device().map_err(|error| match &place.directory {
            Some(folder) => MachineError::from_folder(folder, &error).into(),
            None => failed(error),
        })?;
        // The engine's group, if there is one: it is what syncs.
        let engine = groups.keys().find(|name| **name == DATABASE_GROUP);
        let group = engine.or(groups.keys().next()).copied().unwrap_or_default();
        Ok(Self {
            own,
            device: device.and_then(|device| device.bytes_moved()),
            syncs: syncs.and_then(|counter| Some((counter.scope(group), counter.read_count()?))),
            counters: running.counters(),
            groups,
        })
    }
}

pub struct Used {
    pub before: UsageSnapshot,
    pub after: UsageSnapshot,
}

impl Used {
    pub fn put_into(
        &self,
        measures: &mut Measures,
        running: &dyn RunningTarget,
        outcome: &DriveOutcome,
        tally: Option<ClientTally>,
    ) {
        let Self { before, after } = self;
        let mut clients = (after.own - before.own).cpu;
        for (name, (processes, then)) in &before.groups {
            let Some((_, now)) = after.groups.get(name) else { continue };
            let used = *now - *then;
            let scope = || Scope::Processes((*name).into());
            let mut cpu = used.cpu;
            if *processes == Processes::Own {
                // The target works on the drivers' threads, and may have threads of its own.
                let threads: Duration = outcome.drivers.iter().map(|driver| driver.cpu).sum();
                let inside = tally.map_or(0.0, |tally| tally.inside);
                let outside = threads.mul_f64(1.0 - inside.clamp(0.0, 1.0));
                clients = (outside + outcome.collector_cpu).min(used.cpu);
                cpu = used.cpu - clients;
            }
            measures.set(&measure::CPU, scope(), cpu.as_secs_f64());
            let bytes = [
                (&measure::READ_CALLS, used.read_calls),
                (&measure::WRITE_CALLS, used.write_calls),
                (&measure::READ, used.read),
                (&measure::WRITTEN, used.write),
            ];
            bytes.into_iter().for_each(|(what, bytes)| measures.set(what, scope(), bytes as f64));
        }
        measures.set(&measure::CPU, Scope::Clients, clients.as_secs_f64());
        if let (Some(then), Some(now)) = (before.device, after.device) {
            let scope = || Scope::Device;
            measures.set(&measure::READ, scope(), (now.0 - then.0) as f64);
            measures.set(&measure::WRITTEN, scope(), (now.1 - then.1) as f64);
        }
        if let (Some((_, then)), Some((scope, now))) = (&before.syncs, &after.syncs) {
            measures.set(&measure::SYNCS, scope.clone(), (now - then) as f64);
        }
        // A counter that is missing here has begun since.
        let earlier: BTreeMap<&str, u64> = before.counters.counters().collect();
        let (mut written_back, mut cache_misses) = (None, None);
        for (name, count) in after.counters.counters() {
            let count = count.saturating_sub(earlier.get(name).copied().unwrap_or(0));
            if running.writes_back().contains(&name) {
                *written_back.get_or_insert(0.0) += count as f64;
            }
            if running.cache_misses().contains(&name) {
                *cache_misses.get_or_insert(0.0) += count as f64;
            }
            measures.set_counter(name.to_owned(), count);
        }
        measures.set_some(&measure::WRITTEN_BACK, Scope::Trial, written_back);
        measures.set_some(&measure::CACHE_MISSES, Scope::Trial, cache_misses);
    }

    pub fn put_drain(&self, measures: &mut Measures, end: &UsageSnapshot) {
        for (name, (_, then)) in &self.after.groups {
            let Some((_, now)) = end.groups.get(name) else { continue };
            let used = *now - *then;
            let scope = || Scope::Processes((*name).into());
            measures.set(&measure::DRAIN_CPU, scope(), used.cpu.as_secs_f64());
            measures.set(&measure::DRAIN_WRITTEN, scope(), used.write as f64);
        }
        if let (Some(then), Some(now)) = (self.after.device, end.device) {
            measures.set(&measure::DRAIN_WRITTEN, Scope::Device, (now.1 - then.1) as f64);
        }
    }
}
