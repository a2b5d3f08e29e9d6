//! From how many clients on more of them bring no more.

use bakeoff_analysis::{Knee, RatioIs, Sweep};

use crate::block::{ColumnKind, ReportCell, ReportColumn, ReportRow, ReportTable};
use crate::layout::{self, DocumentLayout};
use crate::words::digits;

/// A row a line; `None` where the factor is not the number of clients, or loops were open.
pub fn table(layout: &DocumentLayout<'_>, sweep: &Sweep) -> Option<ReportTable> {
    if sweep.knees.is_empty() {
        return None;
    }
    let others: Vec<&str> =
        layout.varying.iter().copied().filter(|factor| *factor != sweep.factor).collect();
    let names = others.iter().map(|name| ReportColumn::new(ColumnKind::Level, *name));
    let mut columns: Vec<ReportColumn> =
        std::iter::once(ReportColumn::new(ColumnKind::Name, layout.compare)).chain(names).collect();
    columns.push(ReportColumn::new(ColumnKind::Main, "N* (95 % interval)"));
    let row = |knee: &Knee| {
        let of = layout::get(&knee.levels, layout.compare);
        let name = ReportCell { style: Some(layout.style(of)), ..of.into() };
        let levels = others.iter().map(|factor| layout::get(&knee.levels, factor));
        let place = levels.map(ReportCell::from);
        ReportRow::from_cells(std::iter::once(name).chain(place).chain([beyond(knee).into()]))
    };
    Some(ReportTable {
        caption: "More than N* clients bring no more".into(),
        columns,
        rows: sweep.knees.iter().map(row).collect(),
        note: Some(explained(&sweep.knees)),
        ..ReportTable::default()
    })
}

/// The clients beyond which more bring no more. Of a bound it is the interval's end that is told, since the
/// estimate itself bounds nothing.
fn beyond(knee: &Knee) -> String {
    let Knee { clients, clients_is, low, high, .. } = knee;
    let estimate = digits(*clients);
    match (clients_is, low, high) {
        (RatioIs::AtLeast, Some(low), _) => format!("≥ {}", digits(*low)),
        (RatioIs::AtLeast, None, _) => format!("{estimate} or more"),
        (RatioIs::AtMost, _, Some(high)) => format!("≤ {}", digits(*high)),
        (RatioIs::AtMost, _, None) => format!("{estimate} or fewer"),
        (RatioIs::Exact, Some(low), Some(high)) => {
            format!("{estimate} ({}–{})", digits(*low), digits(*high))
        }
        (RatioIs::Exact, _, _) => estimate,
    }
}

/// How that is computed, and what a bound means where one occurs.
fn explained(knees: &[Knee]) -> String {
    let mut text = "N* is the mean time of an operation with the fewest clients, times the highest rate; with \
                    more clients each waits longer, and no more is done."
        .to_owned();
    for (bound, words) in [
        (
            RatioIs::AtLeast,
            " ≥: the rate was highest with the most clients, and may rise with more.",
        ),
        (RatioIs::AtMost, " ≤: the rate was highest with the fewest clients."),
    ] {
        text += if knees.iter().any(|knee| knee.clients_is == bound) { words } else { "" };
    }
    text
}
