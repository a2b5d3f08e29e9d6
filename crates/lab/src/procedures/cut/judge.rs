use std::os::unix::fs::FileExt;
use std::path::Path;

use bakeoff_devices::plug::Keep;
use bakeoff_folders::Dir;
use bakeoff_results::{AuditResult, Cut, FileSystem, JudgedImage};

use super::second_cut::Interrupted;
use super::source::ImageSource;
use super::{Bench, Gone, corrupt_image, tidy_folder, unexpected_message};
use crate::TrialError;
use crate::place::{RESERVE, Staged, ensure_room};
use crate::process::job::Message;

const TAIL: usize = 2 << 10;

impl Bench<'_, '_> {
    /// Makes the image of one rule and has it audited on a disk of its own, so that recovery does
    /// not wait for this machine's disk. If asked for, the power goes again first. Returns
    /// acknowledged operations and findings.
    pub(super) fn judge_image(
        &self,
        gone: &Gone<'_>,
        keep: Keep,
        cut: &Cut,
    ) -> Result<(u64, JudgedImage), TrialError> {
        let first = ImageSource { control: gone.control, keep, seed: cut.seed, of: Some(gone.of) };
        let recovery = self.terms.recovery;
        let second = recovery.then(|| self.interrupt_recovery(gone, &first)).transpose()?;
        let source = match &second {
            Some(second) => second.image_source()?,
            None => first,
        };
        let (acknowledged, verdict) = self.audit_image(&source, gone)?;
        let mut judged = JudgedImage { keep: keep.to_string(), again: None, verdict, image: None };
        if judged.verdict.breaks_promise(cut.promised) {
            // If this machine's disk is full, a recovering target must not get the blame.
            ensure_room(self.stage.work, RESERVE)?;
            self.confirm_broken(&source, gone, cut, &mut judged)?;
            judged.image = self.keep_image(&source, keep, cut)?;
        }
        if let Some(Interrupted { disk, files, again, .. }) = second {
            disk.unmount()?;
            tidy_folder(&files)?;
            judged.again = Some(again);
        }
        Ok((acknowledged, judged))
    }

    fn audit_image(
        &self,
        source: &ImageSource<'_>,
        gone: &Gone<'_>,
    ) -> Result<(u64, AuditResult), TrialError> {
        let image = self.work.join("crash");
        source.image(&image)?;
        let staged = self.place(&image, &self.work.join("recovered"), source.seed)?;
        let found = self.audit_staged(&staged, gone)?;
        staged.close()?;
        tidy_folder(&image)?;
        Ok(found)
    }

    /// Makes and audits the image once more: the machine may be at fault, as when it had no memory
    /// or descriptor for the target. Fails if nothing is broken this time: then the cut says
    /// nothing.
    fn confirm_broken(
        &self,
        source: &ImageSource<'_>,
        gone: &Gone<'_>,
        cut: &Cut,
        judged: &mut JudgedImage,
    ) -> Result<(), TrialError> {
        let (_, verdict) = self.audit_image(source, gone)?;
        if verdict.breaks_promise(cut.promised) {
            judged.verdict = verdict;
            return Ok(());
        }
        let found = judged.verdict.corrupt.as_deref().unwrap_or("commits are lost");
        Err(TrialError::process_error(format!(
            "what the cut left by {} was broken when it was recovered ({found}), and whole when the \
             same was recovered once more: the target does not recover always, or the machine failed it",
            judged.keep
        )))
    }

    fn keep_image(
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

    fn audit_staged(
        &self,
        staged: &Staged,
        gone: &Gone<'_>,
    ) -> Result<(u64, AuditResult), TrialError> {
        let process = self.start_auditor(staged, gone)?;
        let process = process.tell_to_go()?;
        let answer = match self.first_message(&process) {
            Ok(answer) => answer,
            Err(reason) if reason.stops_the_run() => return Err(reason),
            Err(reason) => {
                process.end();
                let groups = staged.place.groups.values();
                let logs = groups.filter_map(|group| group.runtime.as_deref()).map(read_log_tail);
                let log: String = logs.collect();
                return Ok((0, corrupt_image(format!("{reason}{log}"))));
            }
        };
        let found = match answer {
            Some(Message::Audited { acknowledged, verdict }) => (acknowledged, verdict),
            Some(Message::Failed(reason)) => return Err(reason),
            Some(other) => return Err(unexpected_message(&other)),
            None => return Ok((0, corrupt_image(process.exit_report()))),
        };
        process.end();
        Ok(found)
    }
}

/// The last lines of the server's log. The folder is the server's to change, so don't trust it.
fn read_log_tail(runtime: &Path) -> String {
    let read = || {
        let log = Dir::open(runtime)?.open_for_read("log")?;
        let mut end = vec![0; TAIL];
        let read = log.read_at(&mut end, log.metadata()?.len().saturating_sub(TAIL as u64))?;
        end.truncate(read);
        std::io::Result::Ok(end)
    };
    let end = read().unwrap_or_default();
    format!("; the end of its log:\n{}", String::from_utf8_lossy(&end))
}
