//! A trial from the inside: the target is opened and brought into its state, and then it is measured.

use std::time::Instant;

use bakeoff_experiment::State;
use bakeoff_results::measure::{self as measures, Measures, Scope};
use bakeoff_results::{Debts, Measured};

use super::conditioning::condition;
use super::measure::measure;
use crate::TrialError;
use crate::driving::{Conditioning, Drive};
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
    let mut before = Measures::default();
    if drive.state == State::Cold {
        // The disk takes its time from here on.
        within.ready()?;
    }
    let opening = Instant::now();
    let running = subject.open(place)?;
    let opening = opening.elapsed();
    tracing::debug!(?opening, "open");
    if drive.state == State::Cold {
        before.set(&measures::OPENING, Scope::Trial, opening.as_secs_f64());
    } else {
        // So that no trial measures how its target got warm; the disk takes no time meanwhile.
        running.warm()?;
        tracing::debug!("warm");
        before.extend(condition(&*running, drive.conditioning, within.output)?);
        if let Conditioning::Calibrate { .. } = drive.conditioning {
            return Ok(Some(calibrated(before)));
        }
        within.ready()?;
    }
    let mut measured = measure(&*running, place, drive, pace, syncs.as_ref(), within.output)?;
    measured.measures.extend(before);
    drop(running);
    threads.are_gone()?;
    Ok(Some(measured))
}

/// What a calibration has to tell: no client has done anything.
fn calibrated(measures: Measures) -> Measured {
    Measured {
        ran_s: 0.0,
        window_s: (0.0, 0.0),
        operations: Vec::new(),
        measures,
        debts: Debts::default(),
        warnings: Vec::new(),
    }
}
