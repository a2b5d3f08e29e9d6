//! What a cut left by each rule.

use std::fs;
use std::path::Path;

use bakeoff_devices::plug::Keep;
use bakeoff_disk::control::Control;
use bakeoff_results::{Cut, Judged, Verdict};

use super::Subject;
use super::again::Interrupted;
use super::cut::{Gone, take_away, tidy};
use crate::job::{Job, Message, Staging};
use crate::process::Process;
use crate::run::{RESERVE, room};

/// Bytes of a server's log that are kept where it did not get ready.
const TAIL: usize = 2 << 10;

/// The disk that an image is made of: one without power.
pub(super) struct Source<'a> {
    pub control: &'a Control,
    pub keep: Keep,
    pub seed: u64,
}

impl Source<'_> {
    /// Makes the image in a new folder.
    pub fn image(&self, folder: &Path) -> Result<(), String> {
        let made = self.control.image(self.keep, self.seed, folder);
        made.map_err(|error| format!("its crash image can't be made: {error}"))
    }
}

impl Subject<'_> {
    /// Makes the image of one rule and has it audited, on a disk of its own: there, recovery does
    /// not wait for this machine's disk, which whatever it leaves need not reach. Before that, the
    /// power goes again if it is to.
    pub(super) fn judge(
        &self,
        place: &Path,
        gone: &Gone,
        keep: Keep,
        cut: &Cut,
    ) -> Result<Judged, String> {
        let first = Source { control: gone.mounted.control(), keep, seed: cut.seed };
        let second = self.recovery.then(|| self.interrupt(place, gone, &first)).transpose()?;
        let source = second.as_ref().map_or(first, Interrupted::source);
        let image = place.join("crash");
        source.image(&image)?;
        let mounted = self.mount(&image, &place.join("recovered"), source.seed)?;
        let staging = self.staging(mounted.path(), place)?;
        let runtime = staging.runtime.clone();
        let verdict = self.audit(staging, gone)?;
        take_away(mounted)?;
        let broken = verdict.breaks(cut.promised);
        if broken {
            // An engine that finds this machine's own disk full while it recovers breaks nothing.
            room(self.work, RESERVE).map_err(|full| full.to_string())?;
        }
        let mut judged = Judged { keep: keep.to_string(), again: None, verdict, image: None };
        if let Some(folder) = self.keep_images.filter(|_| broken) {
            // The audit has recovered the other one.
            let engine = cut.engine.replace(|it: char| !it.is_ascii_alphanumeric(), "-");
            let name = format!("{engine}-{}-{}-{keep}", cut.durability, cut.number);
            source.image(&folder.join(&name))?;
            judged.image = Some(folder.join(name).to_string_lossy().into_owned());
        }
        tidy([image].into_iter().chain(runtime))?;
        if let Some(second) = second {
            take_away(second.mounted)?;
            tidy([second.files])?;
            judged.again = Some(second.again);
        }
        Ok(judged)
    }

    /// Starts a process that is to recover, check and audit what is at a place.
    pub(super) fn auditor(&self, staging: Staging, gone: &Gone) -> Result<Process, String> {
        let job = Job::Audit {
            data: self.data.clone(),
            staging,
            durability: self.durability.name().into(),
            log: gone.log.clone(),
            off_at_ns: gone.off_at_ns,
        };
        let process = Process::start(self.program, &job)
            .map_err(|error| format!("a process can't be started: {error}"))?;
        self.ready(process)
    }

    /// Recovers, checks and audits an image, in a process of its own with a time limit.
    fn audit(&self, staging: Staging, gone: &Gone) -> Result<Verdict, String> {
        let runtime = staging.runtime.clone();
        let mut process = self.auditor(staging, gone)?;
        process.go().map_err(|error| format!("its process is gone: {error}"))?;
        let wreck = |reason| Verdict { corrupt: Some(reason), ..Verdict::default() };
        let answer = match self.listen(&process) {
            Ok(answer) => answer,
            Err(reason) if self.stopped() => return Err(reason),
            Err(reason) => {
                process.end();
                let log = runtime.as_deref().map(tail).unwrap_or_default();
                return Ok(wreck(format!("{reason}{log}")));
            }
        };
        let verdict = match answer {
            Some(Message::Judged(verdict)) => verdict,
            Some(Message::Failed(reason)) => return Err(reason),
            Some(other) => return Err(format!("its process said {other:?}")),
            None => return Ok(wreck(process.autopsy())),
        };
        process.end();
        Ok(verdict)
    }
}

/// The end of a server's log, as a line of its own.
fn tail(runtime: &Path) -> String {
    let log = fs::read(runtime.join("log")).unwrap_or_default();
    let end = &log[log.len().saturating_sub(TAIL)..];
    format!("; the end of its log:\n{}", String::from_utf8_lossy(end))
}
