use std::time::Instant;

use bakeoff_experiment::EngineState;
use bakeoff_results::measure::{self as measures, Measures, Scope};
use bakeoff_results::{Answers, Debts, TrialMeasurements};

use super::conditioning::condition_target;
use super::measure::DriveContext;
use super::traced::trace_work;
use crate::TrialError;
use crate::driving::{CheckScope, Conditioning, Drive};
use crate::machine::accounts::BlockDevice;
use crate::machine::syncs;
use crate::machine::threads::ThreadNames;
use crate::procedures::ChildContext;
use crate::process::job::Message;
use crate::targets::RunningTarget;

const MOST_FAULTS: usize = 10;

/// Opens the target and brings it into its state. For each trial it reports ready, and drives when
/// the lab says so. Drains after the last.
pub fn perform_trials(
    drives: &[Drive],
    within: &mut ChildContext<'_, '_>,
) -> Result<Option<TrialMeasurements>, TrialError> {
    let (last, earlier) =
        drives.split_last().ok_or_else(|| TrialError::process_error("no trial"))?;
    let first = &drives[0];
    let paces = drives.iter().map(|drive| drive.pacing.to_pace());
    let mut paces = paces.collect::<Result<Vec<_>, _>>()?.into_iter();
    let (subject, place) = (within.prepare()?, within.place);
    let threads = ThreadNames::now();
    // Before the target opens, so that what it starts is counted.
    let syncs = match &place.device {
        Some(device) => syncs::SyncCounter::of_device(BlockDevice::from_number(device.number)),
        None => place.directory.as_deref().and_then(syncs::SyncCounter::new),
    };
    let mut before = Measures::default();
    if first.state == EngineState::Cold {
        within.await_start()?;
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
        before.extend(condition_target(&*running, first.conditioning, within.output)?);
        before.extend(trace_work(&*running, first, within)?);
        if let Conditioning::Calibrate { .. } = first.conditioning {
            return Ok(Some(calibration_result(before)));
        }
        within.await_start()?;
    }
    let output = within.output;
    let scene = DriveContext { running: &*running, place, syncs: syncs.as_ref(), output };
    let mut pace = || paces.next().expect("one for each");
    for (after, drive) in earlier.iter().enumerate() {
        scene.measure(drive, pace(), &prior_measures(&before, after))?;
        within.await_start()?;
    }
    let before = prior_measures(&before, earlier.len());
    let mut measured = scene.drain(scene.measure(last, pace(), &before)?)?;
    let checks = match last.check {
        CheckScope::None => false,
        CheckScope::Written => has_written(&measured),
        CheckScope::All => true,
    };
    if checks {
        within.say_and_wait(&Message::Drained(Box::new(measured.clone())))?;
        check_target(&*running, &mut measured)?;
    }
    drop(running);
    threads.are_gone()?;
    Ok(Some(measured))
}

fn has_written(measured: &TrialMeasurements) -> bool {
    // For files, a write that nobody synced is no commit.
    let none = |what| measured.measures.get(what, &Scope::Clients) == Some(0.0);
    !(none(&measures::COMMITS) && none(&measures::PAYLOAD))
}

fn check_target(
    running: &dyn RunningTarget,
    measured: &mut TrialMeasurements,
) -> Result<(), TrialError> {
    let Some(faults) = running.check()? else { return Ok(()) };
    tracing::debug!(?faults, "checked");
    measured.measures.set(&measures::FAULTS, Scope::Trial, faults.len() as f64);
    let told = faults.iter().take(MOST_FAULTS);
    measured.warnings.extend(told.map(|fault| format!("{}{fault}", Answers::BROKEN)));
    let unchecked = running.find_unchecked()?;
    measured
        .warnings
        .extend(unchecked.map(|why| format!("its tables and indexes were not checked: {why}")));
    Ok(())
}

fn prior_measures(conditioned: &Measures, others: usize) -> Measures {
    let mut behind = conditioned.clone();
    if behind.get(&measures::CONDITIONED, &Scope::Clients).is_some() {
        behind.set(&measures::TRIALS_SINCE, Scope::Trial, others as f64);
    }
    behind
}

fn calibration_result(measures: Measures) -> TrialMeasurements {
    TrialMeasurements {
        ran_s: 0.0,
        window_s: (0.0, 0.0),
        operations: Vec::new(),
        measures,
        debts: Debts::default(),
        warnings: Vec::new(),
    }
}
