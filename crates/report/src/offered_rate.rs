//! Cells that did not keep up with the offered rate.

use bakeoff_analysis::CellView;
use bakeoff_analysis::layout::DocumentLayout;

use crate::words;

pub const SECTION: &str = "offered";

pub const BEHIND: &str = "not kept up";

pub fn describe_behind(layout: &DocumentLayout<'_>) -> Option<String> {
    let clause = |level: &&str| {
        let cells: Vec<&CellView> = layout
            .conditions
            .iter()
            .filter_map(|condition| layout.cell(condition, level))
            .collect();
        let behind = cells.iter().filter(|cell| cell.is_behind()).count();
        let name = words::name_contender(layout.compare, level);
        (behind > 0).then(|| match cells.len() {
            1 => name,
            all => format!("{name} in {behind} of {}", words::count_nouns(all, "cell")),
        })
    };
    let names: Vec<String> = layout.contenders().iter().filter_map(clause).collect();
    (!names.is_empty()).then(|| {
        format!(
            "not kept up with the offered rate, so that response times only grow with the length of \
             a trial: {}",
            words::join_list(&names)
        )
    })
}
