//! Finds points of lines that come from the page cache instead of a disk.

use std::collections::BTreeMap;

use bakeoff_analysis::layout::{DocumentLayout, level_or_empty};
use bakeoff_analysis::{CellView, Sweep};

use crate::words;

pub fn describe_cached(layout: &DocumentLayout<'_>, sweep: &Sweep) -> Option<String> {
    let place = |cell: &CellView| {
        let level = level_or_empty(&cell.levels, &sweep.factor);
        sweep.levels.iter().position(|it| it.level == level)
    };
    // By line, in the order of the levels.
    let mut lines: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for cell in layout.document.cells.iter().filter(|cell| cell.is_from_cache()) {
        if let Some(place) = place(cell) {
            lines.entry(name_line(layout, sweep, cell)).or_default().push(place);
        }
    }
    let of_line = |(name, mut places): (String, Vec<usize>)| {
        places.sort_unstable();
        let levels: Vec<&str> = places.iter().map(|at| &*sweep.levels[*at].level).collect();
        format!("{name} at {}", words::join_list(&levels))
    };
    let told: Vec<String> = lines.into_iter().map(of_line).collect();
    (!told.is_empty()).then(|| {
        format!(
            "Points of the page cache and not of a disk, over {}: {}.",
            sweep.factor,
            told.join("; ")
        )
    })
}

/// By its levels of the compared factor and of those beside the numeric one.
fn name_line(layout: &DocumentLayout<'_>, sweep: &Sweep, cell: &CellView) -> String {
    let others = layout.varying.iter().filter(|factor| **factor != sweep.factor);
    let others =
        others.map(|factor| words::phrase_level(factor, level_or_empty(&cell.levels, factor)));
    let compared =
        words::name_contender(layout.compare, level_or_empty(&cell.levels, layout.compare));
    std::iter::once(compared).chain(others).collect::<Vec<_>>().join(", ")
}
