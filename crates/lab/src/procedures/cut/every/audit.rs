use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bakeoff_devices::plug::{Metadata, Recorded, Walk};
use bakeoff_disk::materialise::materialise;
use bakeoff_results::AuditResult;

use super::super::inside::PendingImage;
use super::super::{corrupt_image, unexpected_message};
use super::survey::DistinctImage;
use crate::error::with_context;
use crate::machine::count_processors;
use crate::place::{TargetPlace, remove_folder};
use crate::process::job::{Message, ProcessJob};
use crate::process::{ChildProcess, ChildProgram, ReceiveOutcome};
use crate::targets::Setup;
use crate::{MachineError, TrialError};

/// Images per process, at most, so that what an engine leaks doesn't add up.
const EACH: usize = 500;
const LOOK: Duration = Duration::from_millis(20);

/// Acknowledged transactions, and what an image held.
pub type ImageAudit = (u64, AuditResult);

pub struct Auditors<'a> {
    pub program: &'a ChildProgram,
    pub job: ProcessJob,
    pub setup: &'a Setup,
    /// After this time an image counts as corrupt.
    pub patience: Duration,
    pub stop: &'a AtomicBool,
    pub history: &'a Recorded,
    pub metadata: Metadata,
    pub folder: &'a Path,
}

struct WrittenImage {
    at: usize,
    folder: PathBuf,
    off_at_ns: u64,
}

pub fn write_image(
    history: &Recorded,
    metadata: Metadata,
    drawn: &DistinctImage,
    to: &Path,
) -> Result<(), TrialError> {
    let mut walk = Walk::new(history, metadata);
    walk.go_to(drawn.moment);
    write_from(&walk, drawn, to)
}

fn write_from(walk: &Walk<'_>, drawn: &DistinctImage, to: &Path) -> Result<(), TrialError> {
    let made = fs::create_dir(to).and_then(|()| {
        let image = walk.image(drawn.keep, drawn.seed)?;
        materialise(&image, walk, to)
    });
    made.map_err(|error| TrialError::place_error("its crash image can't be made", error))
}

pub fn go_on(stop: &AtomicBool) -> Result<(), TrialError> {
    match stop.load(Ordering::Relaxed) {
        true => Err(MachineError::Interrupted.into()),
        false => Ok(()),
    }
}

impl Auditors<'_> {
    /// Audits images in the order of their moments; if `alone`, each in its own process. `found`
    /// gets each result with its index, as it comes. Fails for what is no image's fault.
    pub fn audit_images(
        &self,
        images: &[DistinctImage],
        alone: bool,
        mut found: impl FnMut(usize, ImageAudit),
    ) -> Result<(), TrialError> {
        let workers = count_processors();
        let each = if alone || self.setup.has_server() { 1 } else { EACH };
        let (written, to_audit) = sync_channel::<WrittenImage>(workers);
        let to_audit = Mutex::new(to_audit);
        let (audited, answers) = channel();
        thread::scope(|scope| {
            for _ in 0..workers {
                let (to_audit, audited) = (&to_audit, audited.clone());
                let work = move || self.work(to_audit, &audited, each);
                with_context("a thread", thread::Builder::new().spawn_scoped(scope, work))?;
            }
            drop(audited);
            // Dropped first, on any exit, so that the threads end.
            let written = written;
            let mut walk = Walk::new(self.history, self.metadata);
            for (at, image) in images.iter().enumerate() {
                go_on(self.stop)?;
                walk.go_to(image.moment);
                let folder = self.folder.join(format!("{}-{at}", u8::from(alone)));
                write_from(&walk, image, &folder)?;
                let off_at_ns = self.history.moment_end(image.moment);
                let sent = written.send(WrittenImage { at, folder, off_at_ns });
                for answer in answers.try_iter() {
                    let (at, answer): (usize, Result<ImageAudit, TrialError>) = answer;
                    found(at, answer?);
                }
                if sent.is_err() {
                    break;
                }
            }
            drop(written);
            for (at, answer) in answers {
                found(at, answer?);
            }
            go_on(self.stop)
        })
    }

    fn work(
        &self,
        written: &Mutex<Receiver<WrittenImage>>,
        audited: &Sender<(usize, Result<ImageAudit, TrialError>)>,
        each: usize,
    ) {
        let (mut process, mut left, mut failed) = (None, 0, false);
        loop {
            let next = written.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(WrittenImage { at, folder, off_at_ns }) = next else { return };
            if failed {
                // The writer learns it from the answer; it must not wait for room in the channel.
                continue;
            }
            if left == 0 {
                (process, left) = (None, each);
            }
            left -= 1;
            let place = self.setup.make_place(&folder, &folder.with_extension("server"));
            let servers: Vec<PathBuf> =
                place.groups.values().filter_map(|group| group.runtime.clone()).collect();
            let answer = self.audit_one(&mut process, place, off_at_ns);
            let removed = servers.iter().chain([&folder]).try_for_each(|it| remove_folder(it));
            let removed = with_context("removing an image", removed);
            let answer = answer.and_then(|found| Ok(removed.map(|()| found)?));
            failed = answer.is_err();
            failed |= audited.send((at, answer)).is_err();
        }
    }

    /// Uses the running process if there is one. An engine that ends it, or takes too long, has
    /// found the image corrupt.
    fn audit_one(
        &self,
        process: &mut Option<ChildProcess>,
        place: TargetPlace,
        off_at_ns: u64,
    ) -> Result<ImageAudit, TrialError> {
        place.make_folders()?;
        if process.is_none() {
            *process = Some(self.start()?);
        }
        let next = PendingImage { place, off_at_ns };
        let at_work = process.as_mut().expect("it was started");
        // If it has ended meanwhile, we see it below.
        let _ = at_work.send_json(&next);
        let corrupt = |reason| Ok((0, corrupt_image(reason)));
        match self.answer(at_work)? {
            Some(Message::Audited { acknowledged, verdict }) => Ok((acknowledged, verdict)),
            Some(Message::Failed(reason)) => Err(reason),
            Some(other) => Err(unexpected_message(&other)),
            None => match process.take() {
                Some(process) => corrupt(self.end(process)),
                None => corrupt("its process ended".into()),
            },
        }
    }

    fn start(&self) -> Result<ChildProcess, TrialError> {
        let process = ChildProcess::start(self.program, &self.job);
        let process = with_context("a process that audits images", process)?;
        match self.answer(&process)? {
            Some(Message::Ready) => process.tell_to_go(),
            Some(Message::Failed(reason)) => Err(reason),
            Some(other) => Err(unexpected_message(&other)),
            None => Err(TrialError::process_error(self.end(process))),
        }
    }

    /// `None` if it has ended or its time is over.
    fn answer(&self, process: &ChildProcess) -> Result<Option<Message>, TrialError> {
        let start = Instant::now();
        while start.elapsed() < self.patience {
            match process.receive(LOOK) {
                ReceiveOutcome::Message(message) => return Ok(Some(message)),
                ReceiveOutcome::End => return Ok(None),
                ReceiveOutcome::Nothing => go_on(self.stop)?,
            }
        }
        Ok(None)
    }

    fn end(&self, process: ChildProcess) -> String {
        match process.receive(Duration::ZERO) {
            ReceiveOutcome::End => process.exit_report(),
            ReceiveOutcome::Message(_) | ReceiveOutcome::Nothing => {
                process.end();
                format!("it was not ready after {} s", self.patience.as_secs())
            }
        }
    }
}
