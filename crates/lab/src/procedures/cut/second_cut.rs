//! The power goes a second time while a target recovers: recovery must survive that, too.

use std::path::PathBuf;

use bakeoff_devices::plug::Keep;
use bakeoff_experiment::random::SplitMix64;
use bakeoff_results::Again;

use super::moment::CutMoment;
use super::source::ImageSource;
use super::{Bench, Gone, no_power_error};
use crate::TrialError;
use crate::place::disk::TrialDisk;
use crate::process::job::Message;

/// Makes these seeds differ from the other seeds of the cut.
const AGAIN: u64 = 2;

pub(super) struct Interrupted {
    pub disk: TrialDisk,
    pub files: PathBuf,
    pub again: Again,
    keep: Keep,
    seed: u64,
}

impl Interrupted {
    pub fn image_source(&self) -> Result<ImageSource<'_>, TrialError> {
        let control = self.disk.control().ok_or_else(no_power_error)?;
        Ok(ImageSource { control, keep: self.keep, seed: self.seed, of: None })
    }
}

impl Bench<'_, '_> {
    /// Lets a target recover, and cuts its power at a moment drawn from the cut's seed and the
    /// rule, at the latest when all was recovered, checked and read.
    pub(super) fn interrupt_recovery(
        &self,
        gone: &Gone<'_>,
        first: &ImageSource<'_>,
    ) -> Result<Interrupted, TrialError> {
        let keep = first.keep;
        let seed = SplitMix64::from_words(&[first.seed, keep as u64, AGAIN]).next();
        let moment = CutMoment::draw_again(seed, self.terms.patience);
        let files = self.work.join("first-crash");
        first.image(&files)?;
        let staged = self.place(&files, &self.work.join("recovering"), seed)?;
        let process = self.start_auditor(&staged, gone)?;
        let control = staged.disk.control().ok_or_else(no_power_error)?;
        let is_over = |message: &Message| matches!(message, Message::Audited { .. });
        let off =
            self.power_down(process, control, (&[moment.to_awaited()], moment.limit), is_over)?;
        let disk = staged.into_disk()?;
        for message in off.received {
            if let Message::Failed(reason) = message {
                return Err(reason);
            }
        }
        let moment = match (off.met, off.early) {
            (true, _) => moment.describe_moment(&[]),
            (false, None) => "after it was checked".into(),
            (false, Some(how)) => format!("when {how}"),
        };
        let again = Again { moment, in_time: off.met };
        Ok(Interrupted { disk, files, again, keep, seed })
    }
}
