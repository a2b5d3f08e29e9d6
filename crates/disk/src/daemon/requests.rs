use std::fs;
use std::io::ErrorKind;

use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::trigger::{CallSignature, TimedTrigger};

use super::own_calls::through_the_mount;
use super::{DaemonEvent, MountedDisk};
use crate::control::{Ask, ControlAnswer, Stat};
use crate::error::Error;
use crate::mount_table::{self, How};
use crate::options::check_neighbours;

impl MountedDisk {
    pub(super) fn answer_request(&self, ask: Ask) -> ControlAnswer {
        let answer = match ask {
            Ask::Stat => return ControlAnswer::Stat(Box::new(self.stat())),
            Ask::Neighbours(level) => self.set_neighbours(&level),
            Ask::Timing(on) => self.set_timing(on),
            Ask::Arm(moments, signatures) => self.arm(&moments, &signatures),
            Ask::HandOver => self.hand_over(),
            Ask::Record => {
                self.volume.record();
                Ok(())
            }
            Ask::Trace(to) => self.set_trace(to),
            Ask::Recorded(folder) => self.save_history(&folder),
            Ask::RecordAnew => self
                .volume
                .record_anew()
                .map(drop)
                .map_err(|error| Error::Failed(error.to_string())),
            Ask::Snapshot(wanted) => self.write_snapshot(&wanted),
            Ask::PowerOff => {
                self.volume.power_off();
                Ok(())
            }
            Ask::Image(wanted) => self.write_image(&wanted),
            Ask::Cut(wanted) => self.cut_power(&wanted),
            Ask::Fault(rule) => self.inject_fault(&rule),
            Ask::Unmount => self.unmount(),
        };
        answer.map_or_else(ControlAnswer::Refused, |()| ControlAnswer::Done)
    }

    fn stat(&self) -> Stat {
        let changing = self.lock();
        Stat {
            model: self.note.model.clone(),
            backing: self.note.backing.clone(),
            mountpoint: self.note.mountpoint.clone(),
            pid: self.note.pid,
            seconds: self.started.elapsed().as_secs_f64(),
            seed: self.seed,
            metadata: self.metadata.to_string(),
            neighbours: changing.neighbours.to_string(),
            timing: self.executor.is_timed(),
            off_at_ns: self.volume.off_at(),
            moments_ns: self.volume.moment_times(),
            by_itself: self.volume.came_by_itself(),
            faults: self.volume.faults().iter().map(ToString::to_string).collect(),
            round_trip_us: changing.round_trip as f64 / 1e3,
            device: self.executor.counts(),
            files: self.volume.counts(),
            waited_writes: self.volume.count_waited_writes(),
            latency: self.executor.accuracy(),
            memory_bytes: memory_bytes(),
            pending_bytes: self.volume.pending_bytes(),
            recorded_bytes: self.volume.recorded_bytes(),
        }
    }

    pub(super) fn check_power(&self) -> Result<(), Error> {
        if self.volume.is_off() {
            let at = self.note.mountpoint.display();
            return Err(Error::Failed(format!(
                "the power of {at} is off, so nothing can be changed: unmount it (bakeoff disk \
                 unmount {at}) and mount it again"
            )));
        }
        Ok(())
    }

    fn set_neighbours(&self, level: &str) -> Result<(), Error> {
        self.check_power()?;
        let level: NeighbourLevel = level.parse().map_err(Error::usage)?;
        check_neighbours(self.null, level)?;
        self.executor.set_neighbours(level);
        self.lock().neighbours = level;
        Ok(())
    }

    fn set_timing(&self, on: bool) -> Result<(), Error> {
        self.check_power()?;
        if on && self.null {
            return Err(Error::Usage(
                "the model `null` takes no time, so timing can't be turned on: mount another \
                 model (bakeoff list disks)"
                    .into(),
            ));
        }
        if on && !self.executor.is_timed() {
            // Otherwise a later sync would wait for writes made while the timing was off.
            self.hand_over()?;
            self.volume.settle();
        }
        self.executor.set_timing(on);
        Ok(())
    }

    fn hand_over(&self) -> Result<(), Error> {
        let handed = self.kernel_pages.get().map_or(Ok(()), |pages| pages.hand_over());
        handed
            .map_err(|error| Error::Failed(format!("{}: {error}", self.note.mountpoint.display())))
    }

    fn arm(&self, moments: &[TimedTrigger], signatures: &[CallSignature]) -> Result<(), Error> {
        self.volume.await_moments(moments, signatures).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => Error::usage(error),
            _ => Error::Failed(format!("{}: {error}", self.note.mountpoint.display())),
        })
    }

    fn inject_fault(&self, rule: &str) -> Result<(), Error> {
        self.check_power()?;
        self.volume.inject_fault(rule.parse().map_err(Error::usage)?);
        Ok(())
    }

    fn unmount(&self) -> Result<(), Error> {
        let at = self.note.mountpoint.clone();
        let _away = self.kernel_pages.get().map(|pages| pages.stay_away());
        let unmounted = through_the_mount(move || {
            // The kernel syncs when the last one loses the mount, which may be somebody that the
            // daemon does not wait for. Nothing is left to sync if the power is off.
            let _ = fs::File::open(&at).map(rustix::fs::syncfs);
            mount_table::unmount(&at, How::Now)
        });
        let at = &self.note.mountpoint;
        unmounted.map_err(|error| match error.kind() {
            ErrorKind::ResourceBusy => Error::in_use(at),
            _ => Error::Failed(format!("{} can't be unmounted: {error}", at.display())),
        })?;
        let _ = self.events.send(DaemonEvent::Left);
        Ok(())
    }
}

/// In bytes; see proc_pid_statm(5).
fn memory_bytes() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}
