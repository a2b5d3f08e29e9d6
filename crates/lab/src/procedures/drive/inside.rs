//! A trial from the inside: the target is opened and brought into its state, and then it is measured.

use std::time::Instant;

use bakeoff_experiment::EngineState;
use bakeoff_results::measure::{self as measures, Measures, Scope};
use bakeoff_results::{Answers, Debts, TrialMeasurements};

use super::conditioning::condition;
use super::measure::Scene;
use super::traced::trace;
use crate::TrialError;
use crate::driving::{CheckScope, Conditioning, Drive};
use crate::machine::accounts::BlockDevice;
use crate::machine::syncs;
use crate::machine::threads::ThreadNames;
use crate::procedures::Within;
use crate::process::job::Message;
use crate::targets::RunningTarget;

/// How many faults are told in words; all are counted.
const MOST_FAULTS: usize = 10;

/// Opens the target and brings it into its state; for one trial after the other says that it is ready
/// and drives it when the lab says so; drains it after the last.
///
/// # Errors
/// What keeps a trial from being measured, or what the target leaves behind.
pub fn perform(
    drives: &[Drive],
    within: &mut Within<'_, '_>,
) -> Result<Option<TrialMeasurements>, TrialError> {
    let (last, earlier) = drives.split_last().ok_or_else(|| TrialError::process("no trial"))?;
    let first = &drives[0];
    let paces = drives.iter().map(|drive| drive.pacing.pace(within.registry));
    let mut paces = paces.collect::<Result<Vec<_>, _>>()?.into_iter();
    let (subject, place) = (within.prepare()?, within.place);
    let threads = ThreadNames::now();
    // Before the target is opened: what it starts is counted, too.
    let syncs = match &place.device {
        Some(device) => syncs::SyncCounter::of_device(BlockDevice::from_number(device.number)),
        None => place.directory.as_deref().and_then(syncs::SyncCounter::new),
    };
    let mut before = Measures::default();
    if first.state == EngineState::Cold {
        // The disk takes its time from here on.
        within.ready()?;
    }
    let opening = Instant::now();
    let running = subject.open(place)?;
    let opening = opening.elapsed();
    tracing::debug!(?opening, "open");
    if first.state == EngineState::Cold {
        before.set(&measures::OPENING, Scope::Trial, opening.as_secs_f64());
    } else {
        // So that no trial measures how its target got warm; the disk takes no time meanwhile.
        running.warm()?;
        tracing::debug!("warm");
        before.extend(condition(&*running, first.conditioning, within.output)?);
        before.extend(trace(&*running, first, within)?);
        if let Conditioning::Calibrate { .. } = first.conditioning {
            return Ok(Some(calibrated(before)));
        }
        within.ready()?;
    }
    let output = within.output;
    let scene = Scene { running: &*running, place, syncs: syncs.as_ref(), output };
    let mut pace = || paces.next().expect("one for each");
    for (after, drive) in earlier.iter().enumerate() {
        scene.measure(drive, pace(), &behind(&before, after))?;
        within.ready()?;
    }
    let before = behind(&before, earlier.len());
    let mut measured = scene.drain(scene.measure(last, pace(), &before)?)?;
    let checks = match last.check {
        CheckScope::None => false,
        CheckScope::Written => has_written(&measured),
        CheckScope::All => true,
    };
    if checks {
        within.say_and_wait(&Message::Drained(Box::new(measured.clone())))?;
        check(&*running, &mut measured)?;
    }
    drop(running);
    threads.are_gone()?;
    Ok(Some(measured))
}

/// Whether the clients have changed something.
fn has_written(measured: &TrialMeasurements) -> bool {
    // Of files, a write that nobody has synced is no commit.
    let none = |what| measured.measures.get(what, &Scope::Clients) == Some(0.0);
    !(none(&measures::COMMITS) && none(&measures::PAYLOAD))
}

/// Looks whether what the clients have left is sound.
fn check(running: &dyn RunningTarget, measured: &mut TrialMeasurements) -> Result<(), TrialError> {
    let Some(faults) = running.check()? else { return Ok(()) };
    tracing::debug!(?faults, "checked");
    measured.measures.set(&measures::FAULTS, Scope::Trial, faults.len() as f64);
    let told = faults.iter().take(MOST_FAULTS);
    measured.warnings.extend(told.map(|fault| format!("{}{fault}", Answers::BROKEN)));
    Ok(())
}

/// What is known of a trial before its clients start, where so many others were measured since the
/// target was conditioned.
fn behind(conditioned: &Measures, others: usize) -> Measures {
    let mut behind = conditioned.clone();
    if behind.get(&measures::CONDITIONED, &Scope::Clients).is_some() {
        behind.set(&measures::TRIALS_SINCE, Scope::Trial, others as f64);
    }
    behind
}

/// What a calibration has to tell: no client has done anything.
fn calibrated(measures: Measures) -> TrialMeasurements {
    TrialMeasurements {
        ran_s: 0.0,
        window_s: (0.0, 0.0),
        operations: Vec::new(),
        measures,
        debts: Debts::default(),
        warnings: Vec::new(),
    }
}
