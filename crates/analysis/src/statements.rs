//! From published figures and a run's own to statements: which cells a figure is of, and what it is over
//! that of its base cell.

mod ours;

use std::collections::BTreeMap;

use bakeoff_results::Levels;
use bakeoff_results::published::{FigureUnit, PublishedTable, PublishedValue, Quantity};

use crate::document::Document;
use crate::published::{PublishedStatement, PublishedView, UntoldReason, shape};

/// So many statements are made at most.
const MOST: usize = 5_000;

/// The published figures of a run beside its own; `None` where it has none.
pub(crate) fn view(document: &Document) -> Option<PublishedView> {
    let published = document.run.run.published.as_ref()?;
    let measured = ours::TrialsByCell::from_document(document);
    let mut view = PublishedView { statements: Vec::new(), elsewhere: 0 };
    for table in &published.tables {
        statements(document, table, &measured, &mut view);
    }
    Some(view)
}

/// What a published figure is found by.
type PublishedKey<'a> = (Option<&'a str>, &'a BTreeMap<String, String>);

fn statements(
    document: &Document,
    table: &PublishedTable,
    measured: &ours::TrialsByCell<'_>,
    view: &mut PublishedView,
) {
    let keys = table.figures.iter().map(|it| ((it.operation.as_deref(), &it.levels), it));
    let all: BTreeMap<PublishedKey<'_>, _> = keys.collect();
    for figure in &table.figures {
        let mut at_base = figure.levels.clone();
        at_base.extend(table.base.clone());
        let divided = FigureUnit::named(&figure.unit).is_some_and(|unit| unit.divided);
        // Who published ratios has none of the base cell.
        if at_base == figure.levels {
            continue;
        }
        // Where the plan has the cell and not its base, that is the reason why nothing can be told.
        let cells = cells(document, table.of, &figure.levels);
        if cells.is_empty() {
            view.elsewhere += u32::from(figure.value.is_some());
            continue;
        }
        let base_figure = all.get(&(figure.operation.as_deref(), &at_base));
        let theirs = match (divided, base_figure) {
            (true, _) => figure.value.ok_or(UntoldReason::Gap),
            (false, None) => Err(UntoldReason::BaseGap),
            (false, Some(base)) => divide(figure.value, base.value, &figure.unit, &base.unit),
        };
        for levels in cells {
            if view.statements.len() >= MOST {
                view.elsewhere += u32::from(figure.value.is_some());
                continue;
            }
            let mut base = table.base.clone();
            base.retain(|factor, level| levels.get(factor) != Some(level));
            let found = measured.ratio(table.of, figure.operation.as_deref(), &levels, &base);
            view.statements.push(PublishedStatement {
                operation: figure.operation.clone(),
                of: table.of,
                levels,
                base,
                theirs: theirs.as_ref().ok().copied(),
                ours: found.as_ref().ok().copied(),
                shape: shape(theirs.clone(), found),
            });
        }
    }
}

/// The published levels with each combination of the levels of what varies here besides; none where
/// the plan lacks one of the published levels. Space depends on no other factor.
fn cells(document: &Document, of: Quantity, levels: &Levels) -> Vec<Levels> {
    let run = &document.run.run;
    let known = |factor: &str, level: &String| {
        run.factors.iter().any(|(name, levels)| name == factor && levels.contains(level))
    };
    if !levels.iter().all(|(factor, level)| known(factor, level)) {
        return Vec::new();
    }
    let mut cells = vec![levels.clone()];
    let varies = |(name, all): &&(String, Vec<String>)| !levels.contains_key(name) && all.len() > 1;
    for (factor, all) in run.factors.iter().filter(varies).filter(|_| of != Quantity::Space) {
        let own = all.iter().filter(|level| run.alias(factor, level).is_none());
        let with = |level: &String| {
            let put = |cell: &Levels| {
                let mut cell = cell.clone();
                cell.insert(factor.clone(), level.clone());
                cell
            };
            cells.iter().map(put).collect::<Vec<_>>()
        };
        cells = own.flat_map(with).take(MOST).collect();
    }
    cells
}

/// A published figure over that of its base cell.
fn divide(
    value: Option<PublishedValue>,
    base: Option<PublishedValue>,
    unit: &str,
    base_unit: &str,
) -> Result<PublishedValue, UntoldReason> {
    let base = match base.ok_or(UntoldReason::BaseGap)? {
        PublishedValue::Exactly(base) => base,
        _ => return Err(UntoldReason::BaseIsABound),
    };
    let [unit, base_unit] = [unit, base_unit].map(FigureUnit::named);
    let (unit, base_unit) = unit.zip(base_unit).ok_or(UntoldReason::Gap)?;
    let over = |value: f64| value * unit.scale / (base * base_unit.scale);
    Ok(match value.ok_or(UntoldReason::Gap)? {
        PublishedValue::Exactly(value) => PublishedValue::Exactly(over(value)),
        PublishedValue::AtLeast(value) => PublishedValue::AtLeast(over(value)),
        PublishedValue::AtMost(value) => PublishedValue::AtMost(over(value)),
        PublishedValue::Between(low, high) => PublishedValue::Between(over(low), over(high)),
    })
}
