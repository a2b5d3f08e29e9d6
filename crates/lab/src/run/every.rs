//! Makes power cuts at every moment of one run of an engine's clients.

use bakeoff_results::FileSystem;

use super::Runner;
use super::cuts::{CutRunState, to_metadata};
use crate::LabError;
use crate::procedures::ProcedureContext;
use crate::procedures::cut::CutTerms;
use crate::procedures::cut::every::{EveryRun, WRITES};
use crate::spec::TrialSpec;

impl Runner<'_> {
    pub(super) fn cut_every(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        (terms, trial, images): (CutTerms, &TrialSpec, u32),
        due: &[(u32, FileSystem)],
        common: &mut CutRunState,
    ) -> Result<u32, LabError> {
        let run = EveryRun::make(terms, (WRITES, images), stage, trial)?;
        let made = due.iter().try_fold(0, |failed, (_, file_system)| {
            stage.go_on()?;
            let cut = run.cut_every_moment(to_metadata(*file_system), stage, trial)?;
            self.note_applied(stage)?;
            self.keep_cut(stage, &cut, common)?;
            Ok(failed + u32::from(cut.failed.is_some()))
        });
        run.end()?;
        made
    }
}
