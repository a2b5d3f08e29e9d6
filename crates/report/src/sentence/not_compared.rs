//! Says why nothing is compared.

use bakeoff_analysis::{ALL_OPERATIONS, CellTotal};

use crate::amount;
use crate::layout::DocumentLayout;
use crate::offered_rate;
use crate::words;

pub fn without_cases(layout: &DocumentLayout<'_>) -> String {
    let contenders = layout.contenders();
    let finished: Vec<&str> = contenders
        .iter()
        .copied()
        .filter(|level| layout.conditions.iter().any(|s| layout.cell(s, level).is_some()))
        .collect();
    match (finished.as_slice(), contenders.len()) {
        ([], 0) if layout.levels.is_empty() => "Nothing was measured: no trial has ended".into(),
        ([], 0) => "Nothing is compared: only the harness itself was measured".into(),
        ([], _) => "Nothing was measured: no trial counts".into(),
        ([only], 1) => {
            let name = words::name_contender(layout.compare, only);
            format!("Nothing is compared: only {name} was run{}", describe_alone(layout, only))
        }
        ([only], _) => {
            let name = words::name_contender(layout.compare, only);
            format!("Nothing is compared: only {name} has trials that count")
        }
        _ if layout.document.cells.iter().any(offered_rate::is_behind) => {
            "Nothing is compared: no two levels kept up with the same rate".into()
        }
        _ if layout.document.comparisons.iter().any(|it| it.ratio.is_none() && it.blocks > 0) => {
            "Nothing is compared: operations of every level were still running when the trials were \
             cut off"
                .into()
        }
        _ if is_uncounted(layout) => {
            let merit = layout.document.run.run.figure_of_merit;
            format!("Nothing is compared: {} were not counted", amount::counted_noun(merit))
        }
        _ if do_other_things(layout) => {
            "Nothing is compared: no two levels have an operation in common".into()
        }
        _ => "Nothing is compared: no two levels were run side by side".into(),
    }
}

/// Levels would be compared by a rate, and no cell has it.
fn is_uncounted(layout: &DocumentLayout<'_>) -> bool {
    let merit = layout.document.run.run.figure_of_merit;
    let rate = |total: &CellTotal| total.typical.rate(merit);
    let mut cells = layout.document.cells.iter().filter(|cell| cell.open_loop.is_none());
    merit.is_rate() && cells.all(|cell| cell.total.as_ref().and_then(rate).is_none())
}

/// Whether there are several levels, but no operation that two of them do.
fn do_other_things(layout: &DocumentLayout<'_>) -> bool {
    let mut beside = false;
    for condition in &layout.conditions {
        let cells = layout.contenders().into_iter().filter_map(|it| layout.cell(condition, it));
        let cells: Vec<_> = cells.collect();
        beside |= cells.len() > 1;
        let does = |name: &str| {
            let all = cells.iter().flat_map(|cell| &cell.operations);
            match name {
                ALL_OPERATIONS => cells.len(),
                _ => all.filter(|operation| operation.name == name).count(),
            }
        };
        if layout.operations().any(|name| does(name) > 1) {
            return false;
        }
    }
    beside
}

fn describe_alone<'a>(layout: &DocumentLayout<'a>, only: &'a str) -> String {
    let [condition] = layout.conditions.as_slice() else { return String::new() };
    if layout.cell(condition, only).is_some_and(offered_rate::is_behind) {
        return String::new();
    }
    let means: Vec<String> = layout
        .operations()
        .filter_map(|operation| {
            let amount = layout.amount(operation, condition, only)?;
            let text = if amount.is_bound { amount.to_phrase() } else { amount.text() };
            Some(match amount.merit.is_rate() {
                true => format!("it serves {text} on average"),
                false => format!("{operation} takes {text} on average"),
            })
        })
        .collect();
    if means.is_empty() { String::new() } else { format!("; {}", words::join_list(&means)) }
}
