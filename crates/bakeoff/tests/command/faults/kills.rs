//! A run is killed at any moment, again and again, and finished: no trial that was committed is lost,
//! none is measured twice, nothing is left behind.

use std::time::Duration;

use bakeoff_testkit::ended_within;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::place::FaultPlace;

/// A run is killed within so many seconds of its start; whole, it takes about 3.
const WITHIN_S: f64 = 4.0;

/// Kills one run until it has come to its end, or was killed `most` times and is then left to finish: how often it was
/// killed.
pub fn kill_and_finish(seed: u64, most: u32) -> u32 {
    let mut random = StdRng::seed_from_u64(seed);
    let place = FaultPlace::new();
    for kill in 0..most {
        let before = place.committed();
        let mut child = place.begin_or_resume().spawn().unwrap();
        let moment = Duration::from_secs_f64(random.random_range(0.0..WITHIN_S));
        let ended = ended_within(moment, &mut child);
        if ended.is_none() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let lost = place.find_lost(&before);
        assert!(lost.is_empty(), "seed {seed}, kill {kill}: {lost:?}");
        if let Some(status) = ended {
            assert!(status.success(), "seed {seed}: it ended with {status}: {}", place.take_said());
            finish(&place, seed);
            return kill;
        }
    }
    finish(&place, seed);
    most
}

fn finish(place: &FaultPlace, seed: u64) {
    let (failed, broken) = place.finish();
    let said = place.take_said();
    let is_whole = !failed && broken.is_empty() && !said.contains("panicked");
    assert!(is_whole, "seed {seed}, a failure {failed}: {broken:?}\n{said}");
}
