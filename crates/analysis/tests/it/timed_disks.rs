//! Disks that a model is like, timed before the run and after it.

use bakeoff_analysis::{WarningKind, two_runs};
use bakeoff_results::{DiskFact, FlushTiming, Run, TimedDisk};
use bakeoff_testkit::synthetic::sample_timing;

use crate::known::{assert_has, blocks, plain_run, read, told};

/// A run on a disk whose flush took so many microseconds, and after the run so many; `None`: it was not timed then.
pub fn run_on_timed_disk(before: f64, after: Option<f64>) -> Run {
    let timed = |flush| sample_timing([20.0, flush, 60.0]);
    let after =
        after.map(|flush| FlushTiming { humps_s: Some([1e-4, 2e-4]), ..timed(flush).flush });
    let timed = TimedDisk { model: "ssd-sata/read_us=60".into(), before: timed(before), after };
    let disk = DiskFact {
        level: "like:/data".into(),
        simulates: "SATA SSD".into(),
        flush_s: Some(before * 1e-6),
        timed: Some(timed),
    };
    Run { disks: vec![disk], ..plain_run(8) }
}

#[test]
fn a_disk_that_flushes_otherwise_after_the_run_is_told() {
    let said = |before, after| {
        told(&read(&run_on_timed_disk(before, after), &blocks(2)), WarningKind::TimedDiskChanged)
    };
    let words = ["like:/data flushed in 0.24 ms before the run and in 0.41 ms after it"];
    assert_has(&said(240.0, Some(410.0)), &words);
    assert_has(&said(410.0, Some(240.0)), &["in 0.41 ms before the run"]);
    for (before, after) in [(240.0, Some(350.0)), (240.0, None), (3.0, Some(20.0))] {
        assert_eq!(said(before, after), "", "{before} {after:?}");
    }
}

#[test]
fn two_runs_on_one_disk_that_was_modelled_anew_differ() {
    let document = |model: &str| {
        let mut run = run_on_timed_disk(240.0, None);
        run.disks[0].timed.as_mut().unwrap().model = model.to_owned();
        read(&run, &blocks(2))
    };
    let found = two_runs(&document("ssd-sata"), &document("null")).set_up;
    let [change] = &found[..] else { panic!("{found:?}") };
    assert_eq!(change.what, "model of the disk like:/data");
    assert_eq!(
        (change.before.as_deref(), change.after.as_deref()),
        (Some("ssd-sata"), Some("null"))
    );
}
