//! Which points of the lines the page cache gave in the place of a disk.

use std::collections::BTreeMap;

use bakeoff_analysis::{CellView, Sweep};

use crate::layout::{DocumentLayout, get};
use crate::words;

/// The cells of the lines whose figures are of memory, each line with its levels; `None` where there is none.
pub fn note(layout: &DocumentLayout<'_>, sweep: &Sweep) -> Option<String> {
    let place = |cell: &CellView| {
        let level = get(&cell.levels, &sweep.factor);
        sweep.levels.iter().position(|it| it.level == level)
    };
    // By line, in the order of the levels.
    let mut lines: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for cell in layout.document.cells.iter().filter(|cell| cell.is_from_cache()) {
        if let Some(place) = place(cell) {
            lines.entry(line(layout, sweep, cell)).or_default().push(place);
        }
    }
    let of_line = |(name, mut places): (String, Vec<usize>)| {
        places.sort_unstable();
        let levels: Vec<&str> = places.iter().map(|at| &*sweep.levels[*at].level).collect();
        format!("{name} at {}", words::list(&levels))
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

/// The line that a cell is a point of, by its levels of the compared factor and of those beside the numeric one.
fn line(layout: &DocumentLayout<'_>, sweep: &Sweep, cell: &CellView) -> String {
    let others = layout.varying.iter().filter(|factor| **factor != sweep.factor);
    let others = others.map(|factor| words::level(factor, get(&cell.levels, factor)));
    let compared = words::contender(layout.compare, get(&cell.levels, layout.compare));
    std::iter::once(compared).chain(others).collect::<Vec<_>>().join(", ")
}
