//! Finds the cells of a published figure, and its ratio to the figure of its base cell.

mod measured_ratio;

use std::collections::BTreeMap;

use bakeoff_results::published::{FigureUnit, PublishedTable, PublishedValue, Quantity};
use bakeoff_results::{CellLevels, Levels};

use crate::document::Document;
use crate::published::{PublishedStatement, PublishedView, UntoldReason, compare_shape};

const MOST: usize = 5_000;

pub(crate) fn build_view(document: &Document) -> Option<PublishedView> {
    let published = document.run.run.published.as_ref()?;
    let measured = measured_ratio::TrialsByCell::from_document(document);
    let mut view = PublishedView { statements: Vec::new(), elsewhere: 0 };
    for table in &published.tables {
        add_statements(document, table, &measured, &mut view);
    }
    Some(view)
}

type PublishedKey<'a> = (Option<&'a str>, &'a BTreeMap<String, String>);

fn add_statements(
    document: &Document,
    table: &PublishedTable,
    measured: &measured_ratio::TrialsByCell<'_>,
    view: &mut PublishedView,
) {
    let keys = table.figures.iter().map(|it| ((it.operation.as_deref(), &it.levels), it));
    let all: BTreeMap<PublishedKey<'_>, _> = keys.collect();
    for figure in &table.figures {
        let mut at_base = figure.levels.clone();
        at_base.extend(table.base.clone());
        let divided = FigureUnit::find(&figure.unit).is_some_and(|unit| unit.divided);
        // A source of ratios has no figure of the base cell.
        if at_base == figure.levels {
            continue;
        }
        // If the plan has the cell but not its base, there is no ratio for that reason.
        let cells = expand_cells(document, table.of, &figure.levels);
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
            let found =
                measured.estimate_ratio(table.of, figure.operation.as_deref(), &levels, &base);
            view.statements.push(PublishedStatement {
                operation: figure.operation.clone(),
                of: table.of,
                levels,
                base,
                theirs: theirs.as_ref().ok().copied(),
                ours: found.as_ref().ok().copied(),
                shape: compare_shape(theirs.clone(), found),
            });
        }
    }
}

/// The published levels, combined with all levels of the other factors that vary here; none where
/// the plan lacks a published level. Space depends on no other factor.
fn expand_cells(document: &Document, of: Quantity, levels: &Levels) -> Vec<Levels> {
    let run = &document.run.run;
    if !levels.iter().all(|(factor, level)| run.levels_of(factor).contains(level)) {
        return Vec::new();
    }
    let mut cells = vec![levels.clone()];
    let varies = |(name, all): &&(String, Vec<String>)| !levels.contains_key(name) && all.len() > 1;
    for (factor, _) in run.factors.iter().filter(varies).filter(|_| of != Quantity::Space) {
        let with = |level| cells.iter().map(move |cell: &Levels| cell.with_level(factor, level));
        cells = run.base_levels(factor).flat_map(with).take(MOST).collect();
    }
    cells
}

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
    let [unit, base_unit] = [unit, base_unit].map(FigureUnit::find);
    let (unit, base_unit) = unit.zip(base_unit).ok_or(UntoldReason::Gap)?;
    let over = |value: f64| value * unit.scale / (base * base_unit.scale);
    Ok(match value.ok_or(UntoldReason::Gap)? {
        PublishedValue::Exactly(value) => PublishedValue::Exactly(over(value)),
        PublishedValue::AtLeast(value) => PublishedValue::AtLeast(over(value)),
        PublishedValue::AtMost(value) => PublishedValue::AtMost(over(value)),
        PublishedValue::Between(low, high) => PublishedValue::Between(over(low), over(high)),
    })
}
