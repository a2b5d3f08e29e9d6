//! Which cells did not keep up with the rate that was offered, and what a sentence says of them.

use bakeoff_analysis::CellView;

use crate::layout::DocumentLayout;
use crate::words;

/// The name of the section that says more.
pub const SECTION: &str = "offered";

/// What is said of a cell that did not keep up.
pub const BEHIND: &str = "not kept up";

/// Whether a cell did not keep up with what was offered.
pub fn is_behind(cell: &CellView) -> bool {
    cell.open_loop.is_some_and(|open| !open.kept_up)
}

/// The levels that did not keep up, each with in how many of its cells.
pub fn behind(layout: &DocumentLayout<'_>) -> Option<String> {
    let clause = |level: &&str| {
        let cells: Vec<&CellView> = layout
            .conditions
            .iter()
            .filter_map(|condition| layout.cell(condition, level))
            .collect();
        let behind = cells.iter().filter(|cell| is_behind(cell)).count();
        let name = words::contender(layout.compare, level);
        (behind > 0).then(|| match cells.len() {
            1 => name,
            all => format!("{name} in {behind} of {}", words::many(all, "cell")),
        })
    };
    let names: Vec<String> = layout.contenders().iter().filter_map(clause).collect();
    (!names.is_empty()).then(|| {
        format!(
            "not kept up with the offered rate, so that response times only grow with the length of \
             a trial: {}",
            words::list(&names)
        )
    })
}
