//! The drain after the clients have stopped. Combines what a trial's process and its disk measured.

use std::time::{Duration, Instant};

use bakeoff_results::TrialMeasurements;
use bakeoff_results::measure::{self as measures, Measures, Scope};

use crate::place::disk::DiskObservations;

const HOST_DRAIN: Duration = Duration::from_secs(120);

#[derive(Default)]
pub struct DrainTimer {
    pub clients: Option<Instant>,
    /// When they had stopped, and how long they had run.
    began: Option<(Instant, Duration)>,
    pub early: Option<Box<TrialMeasurements>>,
    pub cut_off: Option<Duration>,
    pub is_over: bool,
}

impl DrainTimer {
    pub fn begin(&mut self, early: Option<Box<TrialMeasurements>>) {
        let ran = self.clients.map_or(Duration::ZERO, |clients| clients.elapsed());
        (self.began, self.early) = (Some((Instant::now(), ran)), early);
    }

    pub fn elapsed(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |(began, _)| began.elapsed())
    }

    /// Whether it takes longer than the clients ran. More would tell nothing new: a debt that takes
    /// longer to pay than to run up only grows. The machine's own disk gets more time, since it
    /// can't be sped up to finish the drain.
    pub fn is_overdue(&self, is_virtual: bool) -> bool {
        let least = if is_virtual { Duration::ZERO } else { HOST_DRAIN };
        let longest = self.began.map(|(_, ran)| ran.max(least));
        !self.is_over
            && self.cut_off.is_none()
            && longest.is_some_and(|longest| self.elapsed() > longest)
    }

    pub fn complete_measurements(
        &self,
        mut measured: TrialMeasurements,
        memory: Measures,
    ) -> TrialMeasurements {
        let measures = &mut measured.measures;
        measures.extend(memory);
        if let Some(after) = self.cut_off {
            measures.set(&measures::DRAIN, Scope::Trial, after.as_secs_f64());
            measures.set(&measures::DRAIN_CUT_OFF, Scope::Trial, 1.0);
        }
        measured
    }
}

/// A virtual disk knows best what reached its device and became durable.
pub fn combine_measurements(
    mut measured: TrialMeasurements,
    seen: DiskObservations,
    drained: Option<u64>,
) -> TrialMeasurements {
    let drain_s = measured.measures.get(&measures::DRAIN, &Scope::Trial).unwrap_or(0.0);
    let neighbours = (seen.neighbour_writes * (measured.ran_s + drain_s)) as u64;
    measured.measures.extend(seen.measures);
    let measures = &mut measured.measures;
    measures.set_some(&measures::DRAIN_WRITTEN, Scope::Disk, drained.map(|bytes| bytes as f64));
    let work = work_written(measures, neighbours);
    measures.set_some(&measures::WORK_WRITTEN, Scope::Trial, work);
    measured.warnings.extend(seen.warnings);
    measured
}

/// Bytes to the device for the clients' work, drain included: of the virtual disk, or of all the
/// target's groups. `neighbours` is what they wrote besides. `None` if something was not counted.
fn work_written(measures: &Measures, neighbours: u64) -> Option<f64> {
    let of = |scope: &Scope| {
        let written = measures.get(&measures::WRITTEN, scope)?;
        Some(written + measures.get(&measures::DRAIN_WRITTEN, scope)?)
    };
    if let Some(disk) = of(&Scope::Disk) {
        return Some(disk);
    }
    let groups = measures.iter().filter(|reading| reading.name == measures::WRITTEN.name);
    let groups = groups.filter(|reading| matches!(reading.scope, Scope::Processes(_)));
    let each = groups.map(|reading| of(&reading.scope));
    let processes = each.reduce(|sum, bytes| Some(sum? + bytes?))??;
    let device = of(&Scope::Device).map(|bytes| bytes as u64);
    Some(device_bytes(processes as u64, device, neighbours) as f64)
}

/// The lesser of what the kernel counted for the target's processes, and what all but the
/// neighbours wrote to the device. Both can be too high: the first counts a small write into a
/// large folio as the whole folio (ext4 since Linux 6.16); the second has everybody's writes.
fn device_bytes(processes: u64, device: Option<u64>, neighbours: u64) -> u64 {
    let others = device.map(|device| device.saturating_sub(neighbours));
    others.map_or(processes, |device| device.min(processes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_neighbours_write_is_not_the_engines() {
        assert_eq!(device_bytes(9000, Some(10_500), 0), 9000, "other processes write, too");
        assert_eq!(device_bytes(9000, Some(10_500), 8000), 2500);
        assert_eq!(device_bytes(9000, Some(1500), 8000), 0);
        assert_eq!(device_bytes(9000, None, 8000), 9000, "a file system without a device");
    }
    #[test]
    fn what_all_groups_wrote_is_the_work_s_where_each_of_them_was_counted() {
        let mut taken = Measures::default();
        assert_eq!(work_written(&taken, 0), None);
        let web = || Scope::Processes("web".into());
        for (scope, written, drained) in [(Scope::DATABASE, 100.0, 20.0), (web(), 3.0, 0.0)] {
            taken.set(&measures::WRITTEN, scope.clone(), written);
            taken.set(&measures::DRAIN_WRITTEN, scope, drained);
        }
        assert_eq!(work_written(&taken, 0), Some(123.0));
        taken.set(&measures::WRITTEN, Scope::Device, 90.0);
        taken.set(&measures::DRAIN_WRITTEN, Scope::Device, 20.0);
        assert_eq!(work_written(&taken, 8), Some(102.0), "the device had less, without others");
        let mut uncounted = taken.clone();
        uncounted.set(&measures::WRITTEN, Scope::Processes("php".into()), 1.0);
        assert_eq!(work_written(&uncounted, 0), None, "nobody knows php's drain");
        taken.set(&measures::WRITTEN, Scope::Disk, 7.0);
        taken.set(&measures::DRAIN_WRITTEN, Scope::Disk, 1.0);
        assert_eq!(work_written(&taken, 0), Some(8.0), "it knows best");
    }
}
