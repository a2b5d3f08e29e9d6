//! Figures of merit: the figures that readers of a workload use, and what they are computed from.

use serde::{Deserialize, Serialize};

/// No operation has this name.
pub const ALL_OPERATIONS: &str = "all operations";

/// The figure by which a workload's levels are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureOfMerit {
    /// The time of an operation; each kind is compared by itself.
    #[default]
    Time,
    /// Operations of all kinds together, per second.
    Operations,
    /// Rows that the operations returned or wrote, per second.
    Rows,
    /// The same as operations, if each operation is a request.
    Requests,
    /// 10^6 bytes a second that the operations read or wrote.
    Megabytes,
}

impl FigureOfMerit {
    pub const ALL: [Self; 5] =
        [Self::Time, Self::Operations, Self::Rows, Self::Requests, Self::Megabytes];

    /// More is better then, and all kinds of operations are one figure.
    pub fn is_rate(self) -> bool {
        self != Self::Time
    }

    pub fn in_words(self) -> &'static str {
        match self {
            Self::Time => "time an operation",
            Self::Operations => "operations a second",
            Self::Rows => "rows a second",
            Self::Requests => "requests a second",
            Self::Megabytes => "MB a second",
        }
    }

    /// As in the JSON.
    pub fn metric_name(self) -> &'static str {
        match self {
            Self::Time => "mean_s",
            Self::Operations => "operations_per_second",
            Self::Rows => "rows_per_second",
            Self::Requests => "requests_per_second",
            Self::Megabytes => "bytes_per_second",
        }
    }

    pub fn of_metric(metric: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.metric_name() == metric)
    }

    /// The missing count; `None` if the figure can be computed.
    pub fn missing_count(self, counts: OperationCounts) -> Option<&'static str> {
        match self {
            Self::Rows if !counts.rows => Some("rows"),
            Self::Megabytes if !counts.bytes => Some("bytes"),
            _ => None,
        }
    }
}

/// The counts of each operation besides its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationCounts {
    pub rows: bool,
    pub bytes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_what_is_compared_and_written_in_one_word() {
        for merit in FigureOfMerit::ALL {
            assert_eq!(FigureOfMerit::of_metric(merit.metric_name()), Some(merit));
            assert_eq!(merit.is_rate(), merit.in_words().ends_with(" a second"), "{merit:?}");
        }
        assert_eq!(FigureOfMerit::of_metric("rows"), None);
    }

    #[test]
    fn what_is_not_counted_is_missed_by_what_needs_it_alone() {
        let (none, rows) =
            (OperationCounts::default(), OperationCounts { rows: true, bytes: false });
        let lacking = |counts| FigureOfMerit::ALL.map(|merit| merit.missing_count(counts));
        assert_eq!(lacking(none), [None, None, Some("rows"), None, Some("bytes")]);
        assert_eq!(lacking(rows), [None, None, None, None, Some("bytes")]);
        assert_eq!(lacking(OperationCounts { rows: true, bytes: true }), [None; 5]);
    }
}
