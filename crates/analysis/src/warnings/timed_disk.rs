use bakeoff_results::{DiskFact, Run};

use crate::warning::{Warning, WarningKind};

pub(super) fn warn_of_changed_disks(run: &Run) -> Option<Warning> {
    let clause = |disk: &DiskFact| {
        let timed = disk.timed.as_ref().filter(|timed| timed.has_changed() == Some(true))?;
        let [before_ms, after_ms] =
            [timed.before.flush.flush_s, timed.after.as_ref()?.flush_s].map(|it| 1e3 * it);
        Some(format!(
            "{} flushed in {before_ms:.2} ms before the run and in {after_ms:.2} ms after it",
            disk.level
        ))
    };
    let changed: Vec<String> = run.disks.iter().filter_map(clause).collect();
    if changed.is_empty() {
        return None;
    }
    let text = format!(
        "the disk that a model is like was not as fast after the run as before it: {}; the model has the time \
         before it",
        changed.join("; ")
    );
    let remedy =
        "time it when it was idle for some minutes (`bakeoff doctor PATH`), and vary `flush_us`";
    Some(Warning::new(WarningKind::TimedDiskChanged, text).with_remedy(remedy))
}
