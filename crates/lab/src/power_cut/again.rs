//! The power going a second time, while an engine recovers from the first: what an engine does to
//! recover has to stand that, too.

use std::path::{Path, PathBuf};

use bakeoff_devices::plug::Keep;
use bakeoff_disk::mount::Mounted;
use bakeoff_experiment::random::SplitMix64;
use bakeoff_results::Again;

use super::Subject;
use super::cut::{Gone, tidy};
use super::judge::Source;
use super::moment::Moment;
use crate::job::Message;

/// Tells these seeds from others of the same cut.
const AGAIN: u64 = 2;

/// A recovery that lost its power.
pub(super) struct Interrupted {
    /// The disk without its power.
    pub mounted: Mounted,
    /// The files under it.
    pub files: PathBuf,
    /// When it went.
    pub again: Again,
    keep: Keep,
    seed: u64,
}

impl Interrupted {
    /// What the second cut left.
    pub fn source(&self) -> Source<'_> {
        Source { control: self.mounted.control(), keep: self.keep, seed: self.seed }
    }
}

impl Subject<'_> {
    /// Has an engine recover what the first cut left, and lets the power go meanwhile: at a moment
    /// drawn from the cut's seed and the rule, at the latest when all was recovered, checked and
    /// read.
    pub(super) fn interrupt(
        &self,
        place: &Path,
        gone: &Gone,
        first: &Source<'_>,
    ) -> Result<Interrupted, String> {
        let keep = first.keep;
        let seed = SplitMix64::of(&[first.seed, keep as u64, AGAIN]).next();
        let moment = Moment::draw_again(seed, self.patience);
        let files = place.join("first-crash");
        first.image(&files)?;
        let mounted = self.mount(&files, &place.join("recovering"), seed)?;
        let staging = self.staging(mounted.path(), place)?;
        let runtime = staging.runtime.clone();
        let process = self.auditor(staging, gone)?;
        let is_over = |message: &Message| matches!(message, Message::Judged(_));
        let off = self.power_down(process, mounted.control(), &moment, is_over)?;
        tidy(runtime)?;
        for message in off.said {
            if let Message::Failed(reason) = message {
                return Err(reason);
            }
        }
        let moment = match (off.met, off.early) {
            (true, _) => moment.describe(),
            (false, None) => "after it was checked".into(),
            (false, Some(how)) => format!("when {how}"),
        };
        let again = Again { moment, in_time: off.met };
        Ok(Interrupted { mounted, files, again, keep, seed })
    }
}
