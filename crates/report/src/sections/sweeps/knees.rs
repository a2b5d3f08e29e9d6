//! Shows the number of clients beyond which more clients gain nothing.

use bakeoff_analysis::layout::{self, DocumentLayout};
use bakeoff_analysis::{Knee, RatioBound, Sweep};

use crate::block::{ColumnKind, ReportCell, ReportColumn, ReportRow, ReportTable};
use crate::chart::find_style;
use crate::words::format_digits;

pub fn build_table(layout: &DocumentLayout<'_>, sweep: &Sweep) -> Option<ReportTable> {
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
        let of = layout::level_or_empty(&knee.levels, layout.compare);
        let name = ReportCell { style: Some(find_style(layout, of)), ..of.into() };
        let levels = others.iter().map(|factor| layout::level_or_empty(&knee.levels, factor));
        let place = levels.map(ReportCell::from);
        ReportRow::from_cells(
            std::iter::once(name).chain(place).chain([format_clients(knee).into()]),
        )
    };
    Some(ReportTable {
        caption: "More than N* clients bring no more".into(),
        columns,
        rows: sweep.knees.iter().map(row).collect(),
        note: Some(explain_knees(&sweep.knees)),
        ..ReportTable::default()
    })
}

/// For a bound, the interval's end is shown: the estimate itself is no bound.
fn format_clients(knee: &Knee) -> String {
    let Knee { clients, clients_is, low, high, .. } = knee;
    let estimate = format_digits(*clients);
    match (clients_is, low, high) {
        (RatioBound::AtLeast, Some(low), _) => format!("≥ {}", format_digits(*low)),
        (RatioBound::AtLeast, None, _) => format!("{estimate} or more"),
        (RatioBound::AtMost, _, Some(high)) => format!("≤ {}", format_digits(*high)),
        (RatioBound::AtMost, _, None) => format!("{estimate} or fewer"),
        (RatioBound::Exact, Some(low), Some(high)) => {
            format!("{estimate} ({}–{})", format_digits(*low), format_digits(*high))
        }
        (RatioBound::Exact, _, _) => estimate,
    }
}

/// Explains bounds only where one occurs.
fn explain_knees(knees: &[Knee]) -> String {
    let mut text = "N* is the mean time of an operation with the fewest clients, times the highest rate; with \
                    more clients each waits longer, and no more is done."
        .to_owned();
    for (bound, words) in [
        (
            RatioBound::AtLeast,
            " ≥: the rate was highest with the most clients, and may rise with more.",
        ),
        (RatioBound::AtMost, " ≤: the rate was highest with the fewest clients."),
    ] {
        text += if knees.iter().any(|knee| knee.clients_is == bound) { words } else { "" };
    }
    text
}
