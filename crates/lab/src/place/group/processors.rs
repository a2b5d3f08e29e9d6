//! Bounds a group's processor time by a quota in each period of the scheduler. Sources: the
//! kernel's scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::find_number;

/// The kernel's default.
const PERIOD_US: u64 = 100_000;
const MILLI_US: u64 = PERIOD_US / 1000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThrottleCounts {
    /// Periods of 100 ms in which the group had something to do.
    pub periods: u64,
    /// Periods in which it had used up its quota and had to wait.
    pub throttled: u64,
    /// How long its processors waited for that, in nanoseconds.
    pub waited_ns: u64,
}

impl ThrottleCounts {
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled: self.throttled.saturating_sub(earlier.throttled),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
        }
    }
}

#[derive(Debug)]
pub(super) struct GroupProcessors {
    path: PathBuf,
    pub milli: u32,
}

impl GroupProcessors {
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

    pub fn throttled(&self) -> io::Result<ThrottleCounts> {
        let text = fs::read_to_string(self.path.join("cpu.stat"))?;
        parse_throttled(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// `cpu.stat` has nanoseconds in version 1, microseconds in version 2.
fn parse_throttled(text: &str) -> Option<ThrottleCounts> {
    let waited_ns = find_number(text, "throttled_time")
        .or_else(|| find_number(text, "throttled_usec").map(|microseconds| microseconds * 1000))?;
    let (periods, throttled) =
        (find_number(text, "nr_periods")?, find_number(text, "nr_throttled")?);
    Some(ThrottleCounts { periods, throttled, waited_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_tell_how_long_a_group_waited() {
        let one = "nr_periods 21\nnr_throttled 20\nthrottled_time 372975000\nnr_bursts 0\n";
        let two =
            "usage_usec 9\nuser_usec 9\nnr_periods 21\nnr_throttled 20\nthrottled_usec 372975\n";
        let waited = ThrottleCounts { periods: 21, throttled: 20, waited_ns: 372_975_000 };
        assert_eq!((parse_throttled(one), parse_throttled(two)), (Some(waited), Some(waited)));
        // Without the controller version 2 tells of the time alone.
        assert_eq!(parse_throttled("usage_usec 9\nuser_usec 9\n"), None);
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
