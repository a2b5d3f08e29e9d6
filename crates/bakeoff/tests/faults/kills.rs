//! A run is killed at any moment, again and again, and finished: no trial that was committed is lost,
//! none is measured twice, nothing is left behind.

use std::time::Duration;

use bakeoff_testkit::ended_within;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::place::{CUTS, Place, TRIALS};

/// A run is killed within so many seconds of its start; whole, it takes about 3.
const WITHIN_S: f64 = 4.0;

/// How long the last run may take: one that waits for ever takes longer.
const LIMIT: Duration = Duration::from_secs(900);

/// Kills one run until it has come to its end, or was killed `most` times and is then left to finish.
/// How often it was killed; what does not hold.
pub fn kill_and_finish(seed: u64, most: u32) -> (u32, Vec<String>) {
    let mut random = StdRng::seed_from_u64(seed);
    let place = Place::new();
    let (mut kills, mut broken) = (0, Vec::new());
    while kills < most {
        let before = place.committed();
        let mut child = place.begin_or_resume().spawn().unwrap();
        let moment = Duration::from_secs_f64(random.random_range(0.0..WITHIN_S));
        if let Some(status) = ended_within(moment, &mut child) {
            broken.extend((!status.success()).then(|| format!("it ended with {status}")));
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        let after = place.committed();
        let lost = before.iter().filter(|(what, row)| after.get(*what) != Some(row));
        broken.extend(lost.map(|(what, _)| format!("kill {kills}: {what} is lost")));
    }
    let Some(status) = place.finish(LIMIT) else {
        broken.push("the last run did not end".into());
        return (kills, broken);
    };
    broken.extend((!status.success()).then(|| format!("the last run ended with {status}")));
    let trials = place.trials();
    if trials != vec![(1, 0); TRIALS] {
        broken.push(format!("trials that count and that failed: {trials:?}"));
    }
    let cuts = place.cuts();
    if cuts != [CUTS, CUTS, 0] {
        broken.push(format!("cuts that were made, different ones, and failed ones: {cuts:?}"));
    }
    broken.extend(place.left().into_iter().map(|it| format!("left behind: {it}")));
    let said = place.take_said();
    broken.extend(said.contains("panicked").then(|| "it panicked".into()));
    if !broken.is_empty() {
        broken.push(said);
    }
    (kills, broken)
}
