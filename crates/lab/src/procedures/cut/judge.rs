//! Audits what a cut left, by each rule; what seems broken, twice.

use std::os::unix::fs::FileExt;
use std::path::Path;

use bakeoff_devices::plug::Keep;
use bakeoff_folders::Dir;
use bakeoff_results::{AuditResult, Cut, FileSystem, JudgedImage};

use super::again::Interrupted;
use super::source::ImageSource;
use super::{Bench, Gone, tidy};
use crate::TrialError;
use crate::place::{RESERVE, Staged, room};
use crate::process::job::Message;

/// Bytes of a server's log that are kept where it did not get ready.
const TAIL: usize = 2 << 10;

impl Bench<'_, '_> {
    /// Makes the image of one rule and has it audited, on a disk of its own: so recovery does not
    /// wait for this machine's disk. Before that, the power goes again if it is to. How many
    /// operations had been acknowledged, and what was found.
    pub(super) fn judge(
        &self,
        gone: &Gone<'_>,
        keep: Keep,
        cut: &Cut,
    ) -> Result<(u64, JudgedImage), TrialError> {
        let first = ImageSource { control: gone.control, keep, seed: cut.seed, of: Some(gone.of) };
        let recovery = self.terms.recovery;
        let second = recovery.then(|| self.interrupt(gone, &first)).transpose()?;
        let source = match &second {
            Some(second) => second.source()?,
            None => first,
        };
        let (acknowledged, verdict) = self.audit_image(&source, gone)?;
        let mut judged = JudgedImage { keep: keep.to_string(), again: None, verdict, image: None };
        if judged.verdict.breaks(cut.promised) {
            // A target that finds this machine's own disk full while it recovers breaks nothing.
            room(self.stage.work, RESERVE)?;
            self.confirm(&source, gone, cut, &mut judged)?;
            judged.image = self.keep(&source, keep, cut)?;
        }
        if let Some(Interrupted { disk, files, again, .. }) = second {
            disk.unmount()?;
            tidy(&files)?;
            judged.again = Some(again);
        }
        Ok((acknowledged, judged))
    }

    /// Makes an image and has it audited.
    fn audit_image(
        &self,
        source: &ImageSource<'_>,
        gone: &Gone<'_>,
    ) -> Result<(u64, AuditResult), TrialError> {
        let image = self.work.join("crash");
        source.image(&image)?;
        let staged = self.place(&image, &self.work.join("recovered"), source.seed)?;
        let found = self.audit(&staged, gone)?;
        staged.close()?;
        tidy(&image)?;
        Ok(found)
    }

    /// Has the same image made and audited once more: what seems broken may be this machine's doing, as
    /// where it had no memory or no descriptor for the target that recovers.
    ///
    /// # Errors
    /// Nothing is broken this time: nothing can be said of this cut.
    fn confirm(
        &self,
        source: &ImageSource<'_>,
        gone: &Gone<'_>,
        cut: &Cut,
        judged: &mut JudgedImage,
    ) -> Result<(), TrialError> {
        let (_, verdict) = self.audit_image(source, gone)?;
        if verdict.breaks(cut.promised) {
            judged.verdict = verdict;
            return Ok(());
        }
        let found = judged.verdict.corrupt.as_deref().unwrap_or("commits are lost");
        Err(TrialError::process(format!(
            "what the cut left by {} was broken when it was recovered ({found}), and whole when the \
             same was recovered once more: the target does not recover always, or the machine failed it",
            judged.keep
        )))
    }

    /// Keeps the image of a broken promise, where that is asked for; says where it is.
    fn keep(
        &self,
        source: &ImageSource<'_>,
        keep: Keep,
        cut: &Cut,
    ) -> Result<Option<String>, TrialError> {
        let Some(folder) = self.terms.keep_images.as_deref() else { return Ok(None) };
        let plain = |text: &str| text.replace(|it: char| !it.is_ascii_alphanumeric(), "-");
        let (engine, level) = (plain(&cut.engine), plain(&cut.durability));
        let on = match cut.file_system {
            FileSystem::Ext4 => "",
            FileSystem::Posix => "-posix",
        };
        let name = format!("{engine}-{level}{on}-{}-{keep}", cut.number);
        source.image(&folder.join(&name))?;
        Ok(Some(folder.join(name).to_string_lossy().into_owned()))
    }

    /// Recovers, checks and audits an image, in a process of its own with a time limit.
    fn audit(&self, staged: &Staged, gone: &Gone<'_>) -> Result<(u64, AuditResult), TrialError> {
        let process = self.auditor(staged, gone)?;
        let process = process.go()?;
        let corrupt = |reason| (0, AuditResult { corrupt: Some(reason), ..AuditResult::default() });
        let answer = match self.first_message(&process) {
            Ok(answer) => answer,
            Err(reason) if reason.stops_the_run() => return Err(reason),
            Err(reason) => {
                process.end();
                let groups = staged.place().groups.values();
                let logs = groups.filter_map(|group| group.runtime.as_deref()).map(tail);
                let log: String = logs.collect();
                return Ok(corrupt(format!("{reason}{log}")));
            }
        };
        let found = match answer {
            Some(Message::Audited { acknowledged, verdict }) => (acknowledged, verdict),
            Some(Message::Failed(reason)) => return Err(reason),
            Some(other) => {
                return Err(TrialError::process(format!(
                    "its process sent an unexpected message: {other:?}"
                )));
            }
            None => return Ok(corrupt(process.exit_report())),
        };
        process.end();
        Ok(found)
    }
}

/// The end of a server's log, as a line of its own. The folder is the server's to change.
fn tail(runtime: &Path) -> String {
    let read = || {
        let log = Dir::open(runtime)?.read("log")?;
        let mut end = vec![0; TAIL];
        let read = log.read_at(&mut end, log.metadata()?.len().saturating_sub(TAIL as u64))?;
        end.truncate(read);
        std::io::Result::Ok(end)
    };
    let end = read().unwrap_or_default();
    format!("; the end of its log:\n{}", String::from_utf8_lossy(&end))
}
