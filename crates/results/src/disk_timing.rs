//! What a real disk took, as it was timed.

use serde::{Deserialize, Serialize};

/// What a sync of 4 KiB took, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlushTiming {
    /// Mean of a direct write without a sync; `None` if the file system refuses direct writes.
    pub write_s: Option<f64>,
    /// Mean of a write with its sync, less `write_s`: what the sync itself takes.
    pub flush_s: f64,
    /// `flush_s` of the first and of the second half.
    pub halves_s: [f64; 2],
    /// Median, mean and 99th percentile of a write with its sync.
    pub median_s: f64,
    pub mean_s: f64,
    pub p99_s: f64,
    /// Medians of the short and of the long ones, where they fall into two groups.
    pub humps_s: Option<[f64; 2]>,
}

/// What each kind of request took: of 4 KiB, one at a time, if nothing else is said. `None` was not timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiskTiming {
    /// Since 1970.
    pub at_s: f64,
    pub flush: FlushTiming,
    /// A write through (`O_DSYNC`), in seconds.
    pub write_through_s: f64,
    /// Whether the drive takes writes through by itself (FUA); `None` if the kernel does not say.
    pub has_fua: Option<bool>,
    /// A sync with nothing to write, in seconds.
    pub clean_flush_s: f64,
    /// MB/s at which a sync takes longer by what was written before it; 0 if it does not.
    pub flush_mb_s: f64,
    /// Numbers of writers, each with a file of its own, and the appends a second that all of them made
    /// durable.
    pub appends: Vec<(u32, f64)>,
    /// A random read, in seconds.
    pub read_s: Option<f64>,
    /// Random reads that it works on at once, as far as their rate tells.
    pub reads_at_once: Option<f64>,
    pub read_mb_s: Option<f64>,
    pub write_mb_s: f64,
    /// Why a reader should not believe it as it stands, each as a clause.
    pub doubts: Vec<String>,
}

/// A disk that a run has a model of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedDisk {
    /// The text of the model.
    pub model: String,
    pub before: DiskTiming,
    /// `None` until the run has ended.
    pub after: Option<FlushTiming>,
}

/// Two times of the same thing differ by more than this many times, or they are alike.
pub const ALIKE: f64 = 1.5;

/// What is shorter is lost in the time of a call, in seconds.
pub const LEAST_FLUSH_S: f64 = 25e-6;

/// Whether two times of a flush, in seconds, are within [`ALIKE`], or both below [`LEAST_FLUSH_S`].
pub fn are_flushes_alike(one_s: f64, other_s: f64) -> bool {
    let [one, other] = [one_s, other_s].map(|seconds| seconds.max(LEAST_FLUSH_S));
    one.max(other) <= ALIKE * one.min(other)
}

impl FlushTiming {
    pub fn is_steady(&self) -> bool {
        are_flushes_alike(self.halves_s[0], self.halves_s[1])
    }
}

impl TimedDisk {
    /// `None` if the disk was not timed after the run.
    pub fn has_changed(&self) -> Option<bool> {
        let after = self.after.as_ref()?;
        Some(!are_flushes_alike(self.before.flush.flush_s, after.flush_s))
    }
}
