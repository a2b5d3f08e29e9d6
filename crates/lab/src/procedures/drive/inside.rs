//! A trial from the inside: the target is opened and warmed, and then it is measured.

use bakeoff_results::Measured;

use super::measure::measure;
use crate::TrialError;
use crate::driving::Drive;
use crate::machine::syncs;
use crate::machine::threads::Threads;
use crate::procedures::Within;

/// Opens the target, says that it is ready, drives it when the lab says so, and drains it.
///
/// # Errors
/// What keeps the trial from being measured, or what the target leaves behind.
pub fn perform(drive: &Drive, within: &mut Within<'_, '_>) -> Result<Option<Measured>, TrialError> {
    let pace = drive.pacing.pace(within.registry)?;
    let (subject, place) = (within.prepare()?, within.place);
    let threads = Threads::now();
    // Before the target is opened: what it starts is counted, too.
    let syncs = place.directory.as_deref().and_then(syncs::Counter::new);
    let running = subject.open(place)?;
    tracing::debug!("open");
    // So that no trial measures how its target got warm; the disk takes no time meanwhile.
    running.warm()?;
    tracing::debug!("warm");
    within.ready()?;
    let measured = measure(&*running, place, drive, pace, syncs.as_ref(), within.output)?;
    drop(running);
    threads.are_gone()?;
    Ok(Some(measured))
}
