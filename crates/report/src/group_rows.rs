//! A table with a row for each group of processes of each cell of the plan.

use bakeoff_analysis::{CellView, GroupView};

use crate::block::{ColumnKind, ReportColumn, ReportTable, TableStyle};
use crate::cell_rows::{self, ColumnHead};
use crate::layout::DocumentLayout;

/// Whether some cell has more than the engine's own group.
pub fn are_several(layout: &DocumentLayout<'_>) -> bool {
    layout.document.cells.iter().any(|cell| cell.groups.len() > 1)
}

/// A row for each group that has one, the group's name before its figures; without the columns that say
/// nothing of any of them. `None` where nothing is left.
pub fn table<const N: usize>(
    layout: &DocumentLayout<'_>,
    caption: &str,
    heads: &[ColumnHead; N],
    cells: impl Fn(&GroupView) -> Option<[String; N]>,
) -> Option<ReportTable> {
    let mut columns = cell_rows::names(layout);
    let several = are_several(layout);
    columns.extend(several.then(|| ReportColumn::new(ColumnKind::Text, "group")));
    columns.extend(
        heads.iter().map(|(name, short, kind)| ReportColumn::new(*kind, *name).short(*short)),
    );
    let mut rows = Vec::new();
    for condition in &layout.conditions {
        let mut repeated = false;
        for level in &layout.levels {
            let groups = |cell: &CellView| cell.groups.clone();
            for group in layout.cell(condition, level).map_or(Vec::new(), groups) {
                let Some(figures) = cells(&group) else { continue };
                let name = several.then_some(group.name);
                let cells = name.into_iter().chain(figures).map(Into::into);
                rows.push(cell_rows::row(layout, condition, level, repeated, Vec::new(), cells));
                repeated = true;
            }
        }
    }
    let table = ReportTable {
        caption: caption.into(),
        look: TableStyle::Figures,
        columns,
        rows,
        ..ReportTable::default()
    };
    let table = table.without_empty_columns(|_| true);
    table.has_figures().then_some(table)
}
