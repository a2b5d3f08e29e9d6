//! What makes a trial no measurement, whatever its clients did.

use std::time::Duration;

use bakeoff_load::{ArrivalProcess, ClientShare, Driver, OperationSink, Pacer};
use bakeoff_workloads::Claims;

use super::*;
use crate::driving::{CheckScope, Conditioning, Pacing};
use crate::targets::Processes;

/// A target whose clients start nothing, and that says for which part of their time they were busy, and what
/// they were shown that can't be.
struct Idle {
    busy: Option<f64>,
    missed: &'static [&'static str],
}

impl RunningTarget for Idle {
    fn operations(&self) -> &[Name] {
        &[Name::Borrowed("request")]
    }

    fn driver<'a>(
        &'a self,
        _: &ClientShare,
        _: Option<Box<dyn Claims + 'a>>,
    ) -> Result<Box<dyn Driver + 'a>, TrialError> {
        Ok(Box::new(StartsNothing))
    }

    fn warm(&self) -> Result<(), TrialError> {
        Ok(())
    }

    fn drain(&self) -> Result<(), TrialError> {
        Ok(())
    }

    fn groups(&self) -> Vec<(&'static str, Processes)> {
        Vec::new()
    }

    fn take_busy(&self) -> Option<f64> {
        self.busy
    }

    fn missed(&self) -> Vec<String> {
        self.missed.iter().map(|it| (*it).to_owned()).collect()
    }
}

/// At a thousand a second at least fifty are due before it ends.
struct StartsNothing;

impl Driver for StartsNothing {
    fn run(&mut self, _: &mut dyn Pacer, _: &mut dyn OperationSink) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What keeps a trial at a rate from being one, none of whose requests started.
fn failure(running: &Idle) -> Option<TrialError> {
    let (place, mut sent) = (TargetPlace::default(), Vec::new());
    let output = MessageOutput::new(&mut sent);
    let drive = Drive {
        clients: 1,
        state: EngineState::Warm,
        conditioning: Conditioning::None,
        seconds: 0.5,
        enough: None,
        pacing: Pacing::Closed,
        seed: 1,
        check: CheckScope::None,
    };
    let pace = load::Pace::Open { per_second: 1000.0, arrivals: &ArrivalProcess::EVEN, seed: 1 };
    let scene = Scene { running, place: &place, syncs: None, output: &output };
    scene.measure(&drive, pace, &Measures::default()).err()
}

#[test]
fn a_trial_whose_clients_could_not_send_its_rate_fails_as_the_users() {
    let error = failure(&Idle { busy: Some(1.0), missed: &[] }).expect("it is no measurement");
    assert!(matches!(error, TrialError::User(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("can't send 1000 requests a second"), "{text}");
    for busy in [Some(0.1), None] {
        let other = failure(&Idle { busy, missed: &[] }).map(|error| error.to_string());
        assert!(!other.is_some_and(|text| text.contains("can't send")), "{busy:?}");
    }
}

/// Nothing is checked after this trial, and one wrong answer is far below what makes a trial invalid.
#[test]
fn one_answer_that_cannot_be_fails_a_trial_that_nobody_checks() {
    let told = |missed: &'static [&'static str]| failure(&Idle { busy: None, missed });
    let engine = |text: &str| Some(TrialError::Engine(text.to_owned()));
    assert_eq!(
        told(&["a vote is gone"]),
        engine("its clients were shown what can't be: a vote is gone")
    );
    assert_eq!(
        told(&["a vote is gone", "another, too"]),
        engine("its clients were shown what can't be 2 times; the first: a vote is gone")
    );
    let other = told(&[]).map(|error| error.to_string());
    assert!(!other.is_some_and(|text| text.contains("can't be")), "nothing was wrong");
}
