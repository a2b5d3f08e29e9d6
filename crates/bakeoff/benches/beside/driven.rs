//! What bakeoff's clients do in a trial.

use bakeoff_lab::driving::Drive;
use bakeoff_lab::place::TargetPlace;
use bakeoff_lab::procedures::drive;
use bakeoff_lab::targets::Setup;
use bakeoff_results::measure::{CPU, OPERATIONS};
use bakeoff_results::{Scope, TrialMeasurements};

use crate::job;
use crate::work::Work;

/// What they count, without an error.
pub fn drive(setup: &Setup, place: &TargetPlace, drive: &Drive) -> Box<TrialMeasurements> {
    let measured = job::perform(setup, place, drive::drive_task(&[drive]));
    let measured = measured.expect("a trial measures");
    let errors: u64 = measured.operations.iter().map(|operation| operation.errors).sum();
    assert_eq!(errors, 0, "{:?}", measured.warnings);
    measured
}

/// What they have done.
pub fn to_work(measured: &TrialMeasurements) -> Work {
    let counted = |what| measured.measures.get(what, &Scope::Clients).expect("counted");
    Work { count: counted(&OPERATIONS), seconds: measured.ran_s, cpu: counted(&CPU), each: 1.0 }
}
