use bakeoff_results::OperationSummary;

#[derive(Clone, Copy)]
pub(crate) enum ComparedSpan {
    Window,
    /// Shows what the warm-up changes.
    WholeTrial,
}

impl ComparedSpan {
    pub fn mean_s(self, operation: &OperationSummary) -> Option<f64> {
        match self {
            Self::Window => operation.mean_s,
            Self::WholeTrial => operation.untrimmed_mean_s,
        }
    }
}
