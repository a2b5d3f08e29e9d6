//! Finds why nothing is compared.

use bakeoff_results::ALL_OPERATIONS;

use crate::document::CellView;
use crate::layout::DocumentLayout;
use crate::total::CellTotal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoComparison<'a> {
    NoTrialEnded,
    /// Only the harness itself was measured.
    HarnessAlone,
    NoTrialCounts,
    /// The run has one level.
    OneLevel(&'a str),
    /// Only this one of several levels has trials that count.
    OneLevelCounts(&'a str),
    NoneKeptUp,
    AllCutOff,
    Uncounted,
    NothingInCommon,
    NotSideBySide,
}

impl<'a> NoComparison<'a> {
    pub fn from_layout(layout: &DocumentLayout<'a>) -> Self {
        let contenders = layout.contenders();
        let has_cell =
            |level: &&'a str| layout.conditions.iter().any(|it| layout.cell(it, level).is_some());
        let finished: Vec<&str> = contenders.iter().copied().filter(has_cell).collect();
        match (finished.as_slice(), contenders.len()) {
            ([], 0) if layout.levels.is_empty() => Self::NoTrialEnded,
            ([], 0) => Self::HarnessAlone,
            ([], _) => Self::NoTrialCounts,
            ([only], 1) => Self::OneLevel(only),
            ([only], _) => Self::OneLevelCounts(only),
            _ => Self::from_several(layout),
        }
    }

    fn from_several(layout: &DocumentLayout<'a>) -> Self {
        let mut comparisons = layout.document.comparisons.iter();
        if layout.document.cells.iter().any(CellView::is_behind) {
            Self::NoneKeptUp
        } else if comparisons.any(|it| it.ratio.is_none() && it.blocks > 0) {
            Self::AllCutOff
        } else if is_uncounted(layout) {
            Self::Uncounted
        } else if has_nothing_in_common(layout) {
            Self::NothingInCommon
        } else {
            Self::NotSideBySide
        }
    }
}

/// Levels would be compared by a rate, and no cell has it.
fn is_uncounted(layout: &DocumentLayout<'_>) -> bool {
    let merit = layout.document.run.run.figure_of_merit;
    let rate = |total: &CellTotal| total.typical.rate(merit);
    let mut cells = layout.document.cells.iter().filter(|cell| cell.open_loop.is_none());
    merit.is_rate() && cells.all(|cell| cell.total.as_ref().and_then(rate).is_none())
}

/// Whether there are several levels, but no operation that two of them do.
fn has_nothing_in_common(layout: &DocumentLayout<'_>) -> bool {
    let mut beside = false;
    for condition in &layout.conditions {
        let cells = layout.contenders().into_iter().filter_map(|it| layout.cell(condition, it));
        let cells: Vec<_> = cells.collect();
        beside |= cells.len() > 1;
        let does = |name: &str| {
            let all = cells.iter().flat_map(|cell| &cell.operations);
            match name {
                ALL_OPERATIONS => cells.len(),
                _ => all.filter(|operation| operation.name == name).count(),
            }
        };
        if layout.operations().any(|name| does(name) > 1) {
            return false;
        }
    }
    beside
}
