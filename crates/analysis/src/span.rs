//! Which part of a trial is compared.

use bakeoff_results::OperationSummary;

/// Which part of a trial is compared.
#[derive(Clone, Copy)]
pub(crate) enum ComparedSpan {
    /// The window, without the warm-up.
    Window,
    /// All of it: what the warm-up changes is seen beside the window.
    WholeTrial,
}

impl ComparedSpan {
    /// The mean time of an operation in it, in seconds.
    pub fn mean_s(self, operation: &OperationSummary) -> Option<f64> {
        match self {
            Self::Window => operation.mean_s,
            Self::WholeTrial => operation.untrimmed_mean_s,
        }
    }
}
