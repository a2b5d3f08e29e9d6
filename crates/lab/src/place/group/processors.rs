//! What bounds the processor time of a group: a quota in each period of the scheduler's. Sources: the
//! kernel's scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::field;

/// Microseconds of a period, the kernel's own choice.
const PERIOD_US: u64 = 100_000;
/// Microseconds of a period that are a thousandth of a processor.
const MILLI_US: u64 = PERIOD_US / 1000;

/// What a group was held back for its quota.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttled {
    /// Periods of 100 ms in which it had something to do.
    pub periods: u64,
    /// Those of them in which it had used its quota up and had to wait for the next.
    pub throttled: u64,
    /// How long its processors waited so, in nanoseconds.
    pub waited_ns: u64,
}

impl Throttled {
    /// What was added since.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled: self.throttled.saturating_sub(earlier.throttled),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
        }
    }
}

/// The processors of a group that are limited.
#[derive(Debug)]
pub(super) struct GroupProcessors {
    path: PathBuf,
    /// Thousandths of a processor.
    pub milli: u32,
}

impl GroupProcessors {
    /// Gives the control group in `path`, of that version, so many thousandths of a processor.
    pub fn limit(path: &Path, version: u8, milli: u32) -> io::Result<Self> {
        let quota = u64::from(milli) * MILLI_US;
        let set = |file: &str, text: String| fs::write(path.join(file), text);
        if version == 1 {
            set("cpu.cfs_period_us", PERIOD_US.to_string())?;
            set("cpu.cfs_quota_us", quota.to_string())?;
        } else {
            set("cpu.max", format!("{quota} {PERIOD_US}"))?;
        }
        Ok(Self { path: path.to_owned(), milli })
    }

    pub fn throttled(&self) -> io::Result<Throttled> {
        let text = fs::read_to_string(self.path.join("cpu.stat"))?;
        throttled(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// From the text of `cpu.stat`: version 1 tells nanoseconds, version 2 microseconds.
fn throttled(text: &str) -> Option<Throttled> {
    let waited_ns = field(text, "throttled_time")
        .or_else(|| field(text, "throttled_usec").map(|microseconds| microseconds * 1000))?;
    let (periods, throttled) = (field(text, "nr_periods")?, field(text, "nr_throttled")?);
    Some(Throttled { periods, throttled, waited_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_tell_how_long_a_group_waited() {
        let one = "nr_periods 21\nnr_throttled 20\nthrottled_time 372975000\nnr_bursts 0\n";
        let two =
            "usage_usec 9\nuser_usec 9\nnr_periods 21\nnr_throttled 20\nthrottled_usec 372975\n";
        let waited = Throttled { periods: 21, throttled: 20, waited_ns: 372_975_000 };
        assert_eq!((throttled(one), throttled(two)), (Some(waited), Some(waited)));
        // Without the controller version 2 tells of the time alone.
        assert_eq!(throttled("usage_usec 9\nuser_usec 9\n"), None);
    }

    #[test]
    fn a_quota_is_written_as_each_version_has_it() {
        let place = tempfile::tempdir().unwrap();
        let read = |file: &str| fs::read_to_string(place.path().join(file)).unwrap();
        GroupProcessors::limit(place.path(), 1, 1500).unwrap();
        assert_eq!(
            (read("cpu.cfs_period_us"), read("cpu.cfs_quota_us")),
            ("100000".into(), "150000".into())
        );
        GroupProcessors::limit(place.path(), 2, 10).unwrap();
        assert_eq!(read("cpu.max"), "1000 100000");
    }
}
