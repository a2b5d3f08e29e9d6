//! What makes a trial no measurement, whatever its clients did.

use bakeoff_experiment::ThreadPlacement;
use bakeoff_load::ArrivalProcess;

use super::*;
use crate::driving::{CheckScope, Conditioning, Pacing};
use crate::tests::IdleTarget;

/// What keeps a trial at a rate from being one, none of whose requests started.
fn failure(busy: Option<f64>, missed: &'static [&'static str]) -> Option<TrialError> {
    let running = &IdleTarget { busy, missed, ..IdleTarget::default() };
    let (place, mut sent) = (TargetPlace::default(), Vec::new());
    let output = MessageOutput::new(&mut sent);
    let drive = Drive {
        clients: 1,
        state: EngineState::Warm,
        placement: ThreadPlacement::Free,
        conditioning: Conditioning::None,
        seconds: 0.5,
        enough: None,
        pacing: Pacing::Closed,
        seed: 1,
        check: CheckScope::None,
    };
    let pace = load::Pace::Open { per_second: 1000.0, arrivals: &ArrivalProcess::EVEN, seed: 1 };
    let scene = DriveContext { running, place: &place, syncs: None, output: &output };
    scene.measure(&drive, pace, &Measures::default()).err()
}

/// Nothing is checked after these trials, and one wrong answer is far below what makes a trial invalid.
#[test]
fn what_clients_could_not_send_or_were_shown_fails_a_trial() {
    let error = failure(Some(1.0), &[]).expect("it is no measurement");
    assert!(matches!(error, TrialError::User(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("can't send 1000 requests a second"), "{text}");
    for busy in [Some(0.1), None] {
        let other = failure(busy, &[]).map(|error| error.to_string()).unwrap_or_default();
        assert!(!other.contains("can't send") && !other.contains("can't be"), "{busy:?}: {other}");
    }
    let engine = |text: &str| Some(TrialError::Engine(text.to_owned()));
    assert_eq!(
        failure(None, &["a vote is gone"]),
        engine("its clients were shown what can't be: a vote is gone")
    );
    assert_eq!(
        failure(None, &["a vote is gone", "another, too"]),
        engine("its clients were shown what can't be 2 times; the first: a vote is gone")
    );
}
