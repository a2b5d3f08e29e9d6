//! Figures of merit: what readers of a workload speak of, and what it takes to work one out.

use serde::{Deserialize, Serialize};

/// The name of all operations of a workload together, where it has several: no operation's own.
pub const ALL_OPERATIONS: &str = "all operations";

/// What readers of a workload speak of, and so what its levels are compared by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureOfMerit {
    /// How long an operation takes, each kind by itself.
    #[default]
    Time,
    /// Operations of all kinds a second.
    Operations,
    /// Rows a second that the operations returned or wrote, all kinds together.
    Rows,
    /// Requests a second: operations of all kinds, where each is a request.
    Requests,
    /// Megabytes (10^6 bytes) a second that the operations read or wrote, all kinds together.
    Megabytes,
}

impl FigureOfMerit {
    /// Each of them.
    pub const ALL: [Self; 5] =
        [Self::Time, Self::Operations, Self::Rows, Self::Requests, Self::Megabytes];

    /// Whether it is so much a second: then more is better, and all kinds of operations are one
    /// figure.
    pub fn is_rate(self) -> bool {
        self != Self::Time
    }

    /// In words: "rows a second".
    pub fn words(self) -> &'static str {
        match self {
            Self::Time => "time an operation",
            Self::Operations => "operations a second",
            Self::Rows => "rows a second",
            Self::Requests => "requests a second",
            Self::Megabytes => "MB a second",
        }
    }

    /// The name of what is compared, as in the JSON.
    pub fn metric(self) -> &'static str {
        match self {
            Self::Time => "mean_s",
            Self::Operations => "operations_per_second",
            Self::Rows => "rows_per_second",
            Self::Requests => "requests_per_second",
            Self::Megabytes => "bytes_per_second",
        }
    }

    /// The figure of merit that is compared by that name.
    pub fn of_metric(metric: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.metric() == metric)
    }

    /// What it needs counted and that is not; `None` where it can be worked out.
    pub fn lacks(self, counts: OperationCounts) -> Option<&'static str> {
        match self {
            Self::Rows if !counts.rows => Some("rows"),
            Self::Megabytes if !counts.bytes => Some("bytes"),
            _ => None,
        }
    }
}

/// What is counted of each operation beside its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    /// The rows that it returned to its client or wrote.
    pub rows: bool,
    /// The bytes that it read or wrote.
    pub bytes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_what_is_compared_and_written_in_one_word() {
        for merit in FigureOfMerit::ALL {
            assert_eq!(FigureOfMerit::of_metric(merit.metric()), Some(merit));
            assert_eq!(merit.is_rate(), merit.words().ends_with(" a second"), "{merit:?}");
        }
        assert_eq!(FigureOfMerit::of_metric("rows"), None);
    }

    #[test]
    fn what_is_not_counted_is_missed_by_what_needs_it_alone() {
        let (none, rows) =
            (OperationCounts::default(), OperationCounts { rows: true, bytes: false });
        let lacking = |counts| FigureOfMerit::ALL.map(|merit| merit.lacks(counts));
        assert_eq!(lacking(none), [None, None, Some("rows"), None, Some("bytes")]);
        assert_eq!(lacking(rows), [None, None, None, None, Some("bytes")]);
        assert_eq!(lacking(OperationCounts { rows: true, bytes: true }), [None; 5]);
    }
}
