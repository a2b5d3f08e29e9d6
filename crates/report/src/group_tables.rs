//! A table with a row for each group of processes of each cell of the plan.

use bakeoff_analysis::GroupView;
use bakeoff_analysis::layout::DocumentLayout;

use crate::block::{ColumnKind, ReportColumn, ReportTable};
use crate::cell_tables::{self, ColumnHead};

pub fn are_several(layout: &DocumentLayout<'_>) -> bool {
    layout.document.cells.iter().any(|cell| cell.groups.len() > 1)
}

/// Columns without a figure in any row are left out; `None` where nothing is left.
pub fn build_table<const N: usize>(
    layout: &DocumentLayout<'_>,
    caption: &str,
    heads: &[ColumnHead; N],
    cells: impl Fn(&GroupView) -> Option<[String; N]>,
) -> Option<ReportTable> {
    let several = are_several(layout);
    let group = several.then(|| ReportColumn::new(ColumnKind::Text, "group"));
    let columns = group.into_iter().chain(cell_tables::build_columns(heads));
    cell_tables::assemble_table(layout, caption, columns, |_, _, cell| {
        let row = |group: &GroupView| {
            let name = several.then(|| group.name.clone());
            let cells = name.into_iter().chain(cells(group)?).map(Into::into);
            Some((Vec::new(), cells.collect()))
        };
        cell.groups.iter().filter_map(row).collect()
    })
}
