//! Data images: loaded once for a run, and restored for each of its trials.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use bakeoff_engines::Durability;
use bakeoff_experiment::{Cell, Factor};

use super::elsewhere::is_elsewhere;
use super::staging::available;
use super::{Due, Event, GRACE, Lab, LabError, PATIENCE, RESERVE, Stage, wanting};
use crate::job::{Data, Job, Message, Staging};
use crate::process::{Heard, Process};
use crate::{image, page_cache};

/// A restored image may keep so many bytes in the page cache when it is to have none there: pages
/// that somebody looks at that moment.
const LITTLE: u64 = 1 << 20;

/// Data in an engine's own form.
pub(super) struct Image {
    /// The folder that holds them.
    pub folder: PathBuf,
    /// Bytes of the rows that were loaded: the same for every engine.
    pub loaded_bytes: u64,
}

impl Image {
    /// Copies the image to `directory`; out of the page cache again if it is to be `cold`.
    pub fn restore(&self, directory: &Path, cold: bool, lab: &Lab<'_>) -> Result<(), String> {
        let failed = |error| format!("its data image can't be restored: {error}");
        image::copy(&self.folder, directory, image::Sync::Yes, lab.stop).map_err(failed)?;
        if !cold {
            return Ok(());
        }
        page_cache::forget(directory).map_err(failed)?;
        match page_cache::resident(directory).map_err(failed)? {
            0..=LITTLE => Ok(()),
            left => Err(format!(
                "memory can't be limited: {} MB of its data stay in the page cache, outside of any \
                 limit; use --out on a disk",
                left / 1_000_000
            )),
        }
    }
}

impl Lab<'_> {
    pub(super) fn load_images(&mut self, stage: &mut Stage, due: &[Due]) -> Result<(), LabError> {
        for trial in due.iter().flat_map(|due| &due.block.trials) {
            let data = self.data(&trial.cell);
            let known = stage.images.contains_key(&data);
            let wanted = available(&data.engine).is_ok() && !is_elsewhere(&data.engine);
            if known || !wanted || self.stopped() {
                continue;
            }
            let start = Instant::now();
            let folder = stage.work.path().join(format!("image-{}", stage.images.len()));
            wanting("the image folder", std::fs::create_dir(&folder))?;
            let runtime = stage.runtime(&data.engine)?;
            let directory = folder.clone();
            let staging = Staging {
                directory,
                runtime: runtime.clone(),
                settings: self.settings(&data.engine),
                ..Staging::default()
            };
            let durability = Durability::None.name().into();
            let load = Job::Load { data: data.clone(), staging, durability };
            let loaded = self.load(&load, &data)?;
            if let Some(runtime) = runtime {
                wanting("removing the server's folder", super::remove(&runtime))?;
            }
            if loaded.is_err() && !self.stopped() {
                super::room(stage.work.path(), RESERVE)?;
            }
            let seconds = start.elapsed().as_secs_f64();
            let failure = loaded.as_ref().err().map(String::as_str);
            // A load that was interrupted has not failed.
            if failure.is_none() || !self.stopped() {
                self.watch.event(Event::Loaded { data: &data, seconds, failure });
            }
            let image = loaded.map(|loaded_bytes| Image { folder, loaded_bytes });
            stage.images.insert(data, image);
        }
        Ok(())
    }

    /// Loads data; how many bytes of rows they were. The inner error is the load's.
    pub(super) fn load(&mut self, job: &Job, data: &Data) -> Result<Result<u64, String>, LabError> {
        self.watch.event(Event::Loading { data, rows: 0 });
        let told = &mut |rows| self.watch.event(Event::Loading { data, rows });
        load(self.program, job, self.stop, told)
    }

    /// The user's own settings for an engine.
    pub(super) fn settings(&self, engine: &str) -> Vec<(String, String)> {
        let own = self.experiment.settings.get(engine).into_iter().flatten();
        own.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    pub(super) fn data(&self, cell: &Cell) -> Data {
        Data {
            engine: cell.base(Factor::Engine).into(),
            workload: self.experiment.workload.clone(),
            scale: cell.base(Factor::Scale).into(),
            seed: self.experiment.seed,
            text: self.experiment.text.clone(),
        }
    }
}

/// Loads data in a process of its own, which says on `told` how many rows so far. How many bytes of
/// rows they were; the inner error is the load's.
pub(crate) fn load(
    program: &Path,
    job: &Job,
    stop: &AtomicBool,
    told: &mut dyn FnMut(u64),
) -> Result<Result<u64, String>, LabError> {
    let process = wanting("a process that loads", Process::start(program, job))?;
    let (mut heard, mut loaded) = (Instant::now(), 0);
    loop {
        if heard.elapsed() > GRACE {
            let seconds = GRACE.as_secs();
            return Ok(Err(format!("loading said nothing for {seconds} s")));
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Err("the run was interrupted".into()));
        }
        match process.hear(PATIENCE) {
            Heard::Message(Message::Loaded { rows, bytes }) => {
                (heard, loaded) = (Instant::now(), bytes);
                told(rows);
            }
            Heard::Message(Message::Done(_)) => return Ok(Ok(loaded)),
            Heard::Message(Message::Failed(reason)) => return Ok(Err(reason)),
            Heard::Message(_) | Heard::Silence => {}
            Heard::End => return Ok(Err(process.autopsy())),
        }
    }
}
