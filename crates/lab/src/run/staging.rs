//! Staging a trial: its data, its memory, its disk and its process are put in place, and taken
//! away again.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bakeoff_engines::Durability;
use bakeoff_experiment::{Cell, Experiment, Factor, Memory};
use bakeoff_results::{self as results, Applied, Facts, Measured};

use super::elsewhere::{self, is_elsewhere};
use super::{GRACE, Lab, LabError, PATIENCE, RESERVE, Stage, remove, room, wanting};
use crate::accounts;
use crate::disk::{self, Disk, Seen};
use crate::job::{self, Job, Message, Staging};
use crate::memory::Group;
use crate::process::{Heard, Process};

/// Where a trial takes place.
struct Place<'a> {
    cell: &'a Cell,
    /// The number of its block.
    block: u32,
    /// The restored data.
    directory: PathBuf,
    /// Where a private server keeps what is not data.
    runtime: Option<PathBuf>,
    /// Holds the engine to its memory.
    group: Option<Group>,
}

impl Lab<'_> {
    /// Restores the image, runs the trial on it and removes it. The inner error is the trial's.
    pub(super) fn stage_trial(
        &mut self,
        stage: &mut Stage,
        cell: &Cell,
        block: u32,
    ) -> Result<Result<Measured, String>, LabError> {
        if let Err(reason) = available(cell.base(Factor::Engine)) {
            return Ok(Err(reason));
        }
        if let Some(reason) = refusal(self.experiment, cell) {
            return Ok(Err(reason));
        }
        if is_elsewhere(cell.base(Factor::Engine)) {
            return self.trial_elsewhere(stage, cell);
        }
        let image = match stage.images.get(&self.data(cell)) {
            Some(Ok(image)) => image,
            Some(Err(reason)) => return Ok(Err(format!("its data can't be loaded: {reason}"))),
            None => return Ok(Err("its data were not loaded".into())),
        };
        let group = match limit(cell, image.loaded_bytes).map(Group::create).transpose() {
            Ok(group) => group,
            Err(reason) => return Ok(Err(reason)),
        };
        let bytes = wanting("the image's size", accounts::space(&image.folder))?;
        room(stage.work.path(), bytes + RESERVE)?;
        let directory = stage.work.path().join("trial");
        let runtime = stage.runtime(cell.base(Factor::Engine))?;
        let place = Place { cell, block, directory, runtime, group };
        let answer = match image.restore(&place.directory, place.group.is_some(), self) {
            Ok(()) => self.on_disk(stage, &place),
            Err(reason) => Ok(Err(reason)),
        };
        // While the trial's files are still there: a disk that they have filled is no fault of the
        // engine's.
        let left = room(stage.work.path(), RESERVE);
        for folder in [Some(&place.directory), place.runtime.as_ref()].into_iter().flatten() {
            wanting("removing the trial's folder", remove(folder))?;
        }
        match (&answer, left) {
            (Ok(Err(_)), Err(full)) if !self.stopped() => Err(full),
            _ => answer,
        }
    }

    /// Puts the cell's disk under the data, runs the trial, and takes it away.
    fn on_disk(
        &mut self,
        stage: &Stage,
        place: &Place<'_>,
    ) -> Result<Result<Measured, String>, LabError> {
        let (level, seed) = (disk::neighbours(place.cell), self.experiment.seed);
        let spec = match disk::model(self.experiment, place.cell) {
            Err(reason) => return Ok(Err(reason)),
            Ok(None) => {
                let mut disk = Disk::host(stage.neighbours.as_ref(), level, seed);
                return self.in_memory(place, &place.directory, &mut disk);
            }
            Ok(Some(spec)) => spec,
        };
        let mountpoint = stage.work.path().join("mount");
        wanting("the mountpoint", std::fs::create_dir(&mountpoint))?;
        // The same seed for all of a block, another one for the next.
        let options = disk::Options {
            spec: &spec,
            level,
            seed: seed.wrapping_add(place.block.into()),
            uncached: place.group.is_some(),
        };
        let answer = match Disk::mount(self.program, options, (&place.directory, &mountpoint)) {
            Err(reason) => Ok(Err(format!("its disk can't be mounted: {reason}"))),
            Ok(mut disk) => {
                let answer = self.in_memory(place, &mountpoint, &mut disk);
                let unmounted = disk.unmount();
                answer.map(|trial| trial.and_then(|measured| unmounted.map(|()| measured)))
            }
        };
        wanting("removing the mountpoint", std::fs::remove_dir(&mountpoint))?;
        let sized = |mut measured: Measured| {
            let sizes = accounts::space(&place.directory);
            measured.facts.space_bytes = Some(sizes.map_err(|error| format!("no sizes: {error}"))?);
            Ok(measured)
        };
        answer.map(|trial| trial.and_then(sized))
    }

    /// Warms the page cache up and runs the trial on the data seen in `data`, within its memory.
    fn in_memory(
        &mut self,
        place: &Place<'_>,
        data: &Path,
        disk: &mut Disk<'_>,
    ) -> Result<Result<Measured, String>, LabError> {
        let staging = Staging {
            directory: data.into(),
            runtime: place.runtime.clone(),
            memory_bytes: place.group.as_ref().map(Group::limit),
            groups: place.group.iter().map(Group::processes).collect(),
            settings: self.settings(place.cell.base(Factor::Engine)),
            ..Staging::default()
        };
        // Files that were just restored to the machine's own disk are in the page cache, unless
        // they were taken out of it.
        let cold = place.group.is_some() || disk.is_virtual();
        let warm = if cold { self.warm(&staging)? } else { Ok(()) };
        let answer = match warm {
            Ok(()) => {
                self.note_applied(place.cell, &staging)?;
                let job = Job::Trial {
                    data: self.data(place.cell),
                    staging,
                    durability: place.cell.base(Factor::Durability).into(),
                    clients: place.cell.clients(),
                    seconds: self.experiment.seconds,
                };
                self.drive(&job, disk, place.group.as_ref())?
            }
            Err(reason) => Err(format!("its data can't be read: {reason}")),
        };
        Ok(match &place.group {
            None => answer,
            Some(group) => {
                // Nobody may still use the disk when it is taken away.
                let ended = group.end_processes().map_err(|error| format!("its end: {error}"));
                within(group, answer.and_then(|measured| ended.map(|()| measured)))
            }
        })
    }

    /// Has the page cache hold what it has room for, read by a process within the limit.
    fn warm(&mut self, staging: &Staging) -> Result<Result<(), String>, LabError> {
        let job = Job::Warm { staging: staging.clone() };
        let process = wanting("a process that reads", Process::start(self.program, &job))?;
        loop {
            if self.stopped() {
                return Ok(Err("the run was interrupted".into()));
            }
            match process.hear(PATIENCE) {
                Heard::Message(Message::Done(_)) => return Ok(Ok(())),
                Heard::Message(Message::Failed(reason)) => return Ok(Err(reason)),
                Heard::Message(_) | Heard::Silence => {}
                Heard::End => return Ok(Err(process.autopsy())),
            }
        }
    }

    /// Notes for the report what the engine is opened with.
    pub(super) fn note_applied(&mut self, cell: &Cell, staging: &Staging) -> Result<(), LabError> {
        let level = |factor| cell.base(factor);
        let levels = [Factor::Engine, Factor::Durability, Factor::Memory].map(level);
        self.note_terms(levels, staging)
    }

    /// As [`Lab::note_applied`], of an engine at a durability and a memory level.
    pub(super) fn note_terms(
        &mut self,
        levels: [&str; 3],
        staging: &Staging,
    ) -> Result<(), LabError> {
        let found = bakeoff_engines::find(levels[0]).zip(Durability::parse(levels[1]));
        if let Some((found, durability)) = found {
            let terms = staging.terms(durability);
            let settings = applied(found.settings(&terms), &terms.settings);
            let [engine, durability, memory] = levels.map(Into::into);
            self.folder.note_applied(&Applied { engine, durability, memory, settings })?;
        }
        Ok(())
    }

    /// Runs a trial's process, with the disk at work while its clients are.
    pub(super) fn drive(
        &mut self,
        job: &Job,
        disk: &mut Disk<'_>,
        group: Option<&Group>,
    ) -> Result<Result<Measured, String>, LabError> {
        let mut process = wanting("a trial's process", Process::start(self.program, job))?;
        let limit = Duration::from_secs_f64(self.experiment.seconds * 2.0) + GRACE;
        let (start, mut seen) = (Instant::now(), Seen::default());
        let mut memory = None;
        loop {
            if self.stopped() {
                return Ok(Err("the run was interrupted".into()));
            }
            if start.elapsed() > limit {
                return Ok(Err(format!("it was not done after {} s", limit.as_secs())));
            }
            match process.hear(PATIENCE) {
                Heard::Message(Message::Ready) => {
                    if let Err(reason) = disk.begin() {
                        return Ok(Err(format!("its disk does not work: {reason}")));
                    }
                    if process.go().is_err() {
                        return Ok(Err(process.autopsy()));
                    }
                }
                Heard::Message(Message::Progress { per_second, mean_s }) => {
                    self.watch.event(super::Event::Progress { per_second, mean_s });
                }
                Heard::Message(Message::Driven) => {
                    match disk.end() {
                        Ok(what) => seen = what,
                        Err(reason) => return Ok(Err(format!("its disk does not work: {reason}"))),
                    }
                    memory = group.map(account);
                }
                Heard::Message(Message::Done(Some(measured))) => {
                    match (disk.drained(), &mut seen.disk) {
                        (Ok(bytes), Some(disk)) => disk.drain_write_bytes = bytes,
                        (Err(reason), _) => {
                            return Ok(Err(format!("its disk does not work: {reason}")));
                        }
                        (Ok(_), None) => {}
                    }
                    let mut measured = combine(*measured, seen);
                    measured.facts.memory = memory;
                    return Ok(Ok(measured));
                }
                Heard::Message(Message::Failed(reason)) => return Ok(Err(reason)),
                Heard::Message(_) | Heard::Silence => {}
                Heard::End => return Ok(Err(process.autopsy())),
            }
        }
    }
}

/// The settings that differ from an engine's defaults, with the user's own in the place of ours.
fn applied(fair: Vec<bakeoff_engines::Setting>, own: &[(String, String)]) -> Vec<results::Setting> {
    let is_own = |name: &str| own.iter().any(|(own, _)| own == name);
    let fair = fair.into_iter().filter(|setting| !is_own(&setting.name));
    let ours = fair.map(|setting| results::Setting {
        name: setting.name,
        value: setting.value,
        reason: Some(setting.reason.into()),
    });
    let own = own.iter().map(|(name, value)| results::Setting {
        name: name.clone(),
        value: value.clone(),
        reason: None,
    });
    ours.chain(own).collect()
}

/// Why a cell's levels don't go together, if they don't.
pub fn refusal(experiment: &Experiment, cell: &Cell) -> Option<String> {
    elsewhere::refusal(cell).or_else(|| disk::refusal(experiment, cell))
}

/// Whether the engine can be used on this machine, and what brings what is missing.
pub(super) fn available(engine: &str) -> Result<(), String> {
    bakeoff_engines::find(engine).map_or(Ok(()), |engine| engine.available())
}

/// The bytes of memory that a cell has, of data of so many bytes; `None` where they are not limited.
fn limit(cell: &Cell, loaded_bytes: u64) -> Option<u64> {
    match cell.memory() {
        Memory::Unlimited => None,
        Memory::Bytes(bytes) => Some(bytes),
        Memory::Share(percent) => Some(loaded_bytes * u64::from(percent) / 100),
    }
}

/// What came of a trial whose memory was limited: none whose processes were killed for it counts.
fn within(group: &Group, answer: Result<Measured, String>) -> Result<Measured, String> {
    let limit = format!("limit {} MiB", group.limit() >> 20);
    match (group.out_of_memory_kills(), answer) {
        (Ok(0), Ok(measured)) => Ok(measured),
        (Ok(0), Err(why)) => Err(format!("{why}; memory {limit}")),
        (Ok(_), Ok(_)) => Err(format!("out of memory: {limit}; one of its processes was killed")),
        (Ok(_), Err(why)) => Err(format!("out of memory: {limit}; {why}")),
        (Err(error), _) => Err(format!("memory {limit}, but its group can't be read: {error}")),
    }
}

/// What a group holds now.
fn account(group: &Group) -> results::Memory {
    results::Memory {
        limit_bytes: group.limit(),
        peak_bytes: group.peak(),
        cached_bytes: group.cached().unwrap_or(0),
    }
}

/// A virtual disk knows best what reached its device, and what was made lasting on it.
fn cost(measured: &job::Measured, seen: &Seen) -> results::Cost {
    let here = measured.cost;
    let Some(disk) = &seen.disk else {
        let neighbours = (seen.neighbour_writes * measured.counted_s) as u64;
        let device = |processes| device_bytes(processes, &measured.io, neighbours);
        return results::Cost { device_bytes: here.device_bytes.map(device), ..here };
    };
    let syncs = |count| results::Syncs { counted_by: results::Counter::Disk, count };
    results::Cost {
        device_bytes: disk.drain_write_bytes.map(|drain| disk.write_bytes + drain),
        syncs: disk.syncs.map(syncs),
        ..here
    }
}

/// Bytes that went to the machine's own disk: the lesser of what the kernel counted for the engine's
/// processes and of what anybody but the neighbours wrote to the whole device. Both can be too high.
/// The first takes a small write into a large folio of the page cache for all of the folio (ext4
/// has large folios since Linux 6.16); the second has everybody's writes.
fn device_bytes(processes: u64, io: &results::Io, neighbours: u64) -> u64 {
    let device = io.device_write_bytes.zip(io.drain_device_write_bytes);
    let others = device.map(|(clients, drain)| (clients + drain).saturating_sub(neighbours));
    others.map_or(processes, |device| device.min(processes))
}

/// Puts together what the process measured and what the disk did.
fn combine(mut measured: job::Measured, seen: Seen) -> Measured {
    let cost = cost(&measured, &seen);
    measured.warnings.extend(seen.warnings);
    Measured {
        ran_s: measured.ran_s,
        window_s: measured.window_s,
        operations: measured.operations.into_iter().map(Into::into).collect(),
        facts: Facts {
            space_bytes: measured.space_bytes,
            cpu_s: measured.cpu_s,
            io: measured.io,
            neighbour: seen.neighbour,
            disk: seen.disk,
            littles_law: measured.littles_law,
            steady: measured.steady,
            memory: None,
            cost: Some(cost),
            counters: measured.counters,
            warnings: measured.warnings,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_neighbours_write_is_not_the_engines() {
        let io = |device| results::Io {
            device_write_bytes: device,
            drain_device_write_bytes: device.map(|_| 500),
            ..results::Io::default()
        };
        assert_eq!(device_bytes(9000, &io(Some(10_000)), 0), 9000, "other processes write, too");
        assert_eq!(device_bytes(9000, &io(Some(10_000)), 8000), 2500);
        assert_eq!(device_bytes(9000, &io(Some(1000)), 8000), 0);
        assert_eq!(device_bytes(9000, &io(None), 8000), 9000, "a file system without a device");
    }
}
