//! Writes images out and has them audited, several at a time.

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
use super::survey::DistinctImage;
use crate::error::wanting;
use crate::place::{TargetPlace, remove};
use crate::process::job::{Message, ProcessJob};
use crate::process::{ChildProcess, ChildProgram, Received};
use crate::targets::Setup;
use crate::{MachineError, TrialError};

/// How many images a process audits at most: what an engine does not give back when it is closed does
/// not add up.
const EACH: usize = 500;
/// How often it is looked whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// How many transactions had been acknowledged, and what an image held.
pub type ImageAudit = (u64, AuditResult);

/// What audits images of a history.
pub struct Auditors<'a> {
    pub program: &'a ChildProgram,
    /// What each of their processes is told.
    pub job: ProcessJob,
    pub setup: &'a Setup,
    /// How long the audit of an image may take: after that it counts as corrupt.
    pub patience: Duration,
    pub stop: &'a AtomicBool,
    pub history: &'a Recorded,
    pub metadata: Metadata,
    /// Where images are written.
    pub folder: &'a Path,
}

/// An image that was written.
struct WrittenImage {
    /// Its place among those that are audited.
    at: usize,
    folder: PathBuf,
    off_at_ns: u64,
}

/// Writes one image to a new folder.
///
/// # Errors
/// It can't be written; the history is damaged.
pub fn write(
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
    made.map_err(|error| TrialError::place("its crash image can't be made", error))
}

impl Auditors<'_> {
    /// Audits images, in the order of their moments; each in a process of its own if they are to be
    /// judged `alone`. `found` is told of each by its place among them, as they end.
    ///
    /// # Errors
    /// What is no image's fault: one can't be written, a process can't be started, it was asked to
    /// stop.
    pub fn audit(
        &self,
        images: &[DistinctImage],
        alone: bool,
        mut found: impl FnMut(usize, ImageAudit),
    ) -> Result<(), TrialError> {
        let workers = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let each = if alone || self.setup.has_server() { 1 } else { EACH };
        let (written, to_audit) = sync_channel::<WrittenImage>(workers);
        let to_audit = Mutex::new(to_audit);
        let (audited, answers) = channel();
        thread::scope(|scope| {
            for _ in 0..workers {
                let (to_audit, audited) = (&to_audit, audited.clone());
                let work = move || self.work(to_audit, &audited, each);
                wanting("a thread", thread::Builder::new().spawn_scoped(scope, work))?;
            }
            drop(audited);
            // What is written is dropped first, at any end, so that the threads end.
            let written = written;
            let mut walk = Walk::new(self.history, self.metadata);
            for (at, image) in images.iter().enumerate() {
                self.go_on()?;
                walk.go_to(image.moment);
                let folder = self.folder.join(format!("{}-{at}", u8::from(alone)));
                write_from(&walk, image, &folder)?;
                let off_at_ns = self.history.time(image.moment);
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
            self.go_on()
        })
    }

    fn go_on(&self) -> Result<(), TrialError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(MachineError::Interrupted.into()),
            false => Ok(()),
        }
    }

    /// Audits what was written, until there is no more.
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
                // The one who writes is told by the answer, and must not wait for a free place.
                continue;
            }
            if left == 0 {
                (process, left) = (None, each);
            }
            left -= 1;
            let place = self.setup.place(&folder, &folder.with_extension("server"));
            let servers: Vec<PathBuf> =
                place.groups.values().filter_map(|group| group.runtime.clone()).collect();
            let answer = self.audit_one(&mut process, place, off_at_ns);
            let removed = servers.iter().chain([&folder]).try_for_each(|it| remove(it));
            let removed = wanting("removing an image", removed);
            let answer = answer.and_then(|found| Ok(removed.map(|()| found)?));
            failed = answer.is_err();
            failed |= audited.send((at, answer)).is_err();
        }
    }

    /// Audits one image, by this process if there is one. An engine that ends it, or takes too long, has
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
        // One that has ended meanwhile says so below.
        let _ = at_work.tell(&next);
        let corrupt = |reason| (0, AuditResult { corrupt: Some(reason), ..AuditResult::default() });
        match self.answer(at_work)? {
            Some(Message::Audited { acknowledged, verdict }) => Ok((acknowledged, verdict)),
            Some(Message::Failed(reason)) => Err(reason),
            Some(other) => Err(TrialError::process(format!(
                "its process sent an unexpected message: {other:?}"
            ))),
            None => match process.take() {
                Some(process) => Ok(corrupt(self.end(process))),
                None => Ok(corrupt("its process ended".into())),
            },
        }
    }

    /// Starts a process and waits until it can go on.
    fn start(&self) -> Result<ChildProcess, TrialError> {
        let process = ChildProcess::start(self.program, &self.job);
        let process = wanting("a process that audits images", process)?;
        match self.answer(&process)? {
            Some(Message::Ready) => process.go(),
            Some(Message::Failed(reason)) => Err(reason),
            Some(other) => Err(TrialError::process(format!(
                "its process sent an unexpected message: {other:?}"
            ))),
            None => Err(TrialError::process(self.end(process))),
        }
    }

    /// What a process says next; `None` where it has ended, or its time is over.
    fn answer(&self, process: &ChildProcess) -> Result<Option<Message>, TrialError> {
        let start = Instant::now();
        while start.elapsed() < self.patience {
            match process.receive(LOOK) {
                Received::Message(message) => return Ok(Some(message)),
                Received::End => return Ok(None),
                Received::Nothing => self.go_on()?,
            }
        }
        Ok(None)
    }

    /// Ends a process that gave no answer; why it gave none.
    fn end(&self, process: ChildProcess) -> String {
        // One that has ended has nothing more to say.
        match process.receive(Duration::ZERO) {
            Received::End => process.exit_report(),
            Received::Message(_) | Received::Nothing => {
                process.end();
                format!("it was not ready after {} s", self.patience.as_secs())
            }
        }
    }
}
