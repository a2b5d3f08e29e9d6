//! Says why nothing is compared.

use bakeoff_analysis::CellView;
use bakeoff_analysis::answer::NoComparison;
use bakeoff_analysis::layout::DocumentLayout;

use crate::amount::{self, AmountText};
use crate::words;

pub fn explain(layout: &DocumentLayout<'_>, why: NoComparison<'_>) -> String {
    let name = |level: &str| words::name_contender(layout.compare, level);
    let why = match why {
        NoComparison::NoTrialEnded => return "Nothing was measured: no trial has ended".into(),
        NoComparison::NoTrialCounts => return "Nothing was measured: no trial counts".into(),
        NoComparison::HarnessAlone => "only the harness itself was measured".into(),
        NoComparison::OneLevel(only) => {
            format!("only {} was run{}", name(only), describe_alone(layout, only))
        }
        NoComparison::OneLevelCounts(only) => {
            format!("only {} has trials that count", name(only))
        }
        NoComparison::NoneKeptUp => "no two levels kept up with the same rate".into(),
        NoComparison::AllCutOff => {
            "operations of every level were still running when the trials were cut off".into()
        }
        NoComparison::Uncounted => {
            let merit = layout.document.run.run.figure_of_merit;
            format!("{} were not counted", amount::counted_noun(merit))
        }
        NoComparison::NothingInCommon => "no two levels have an operation in common".into(),
        NoComparison::NotSideBySide => "no two levels were run side by side".into(),
    };
    format!("Nothing is compared: {why}")
}

fn describe_alone(layout: &DocumentLayout<'_>, only: &str) -> String {
    let [condition] = layout.conditions.as_slice() else { return String::new() };
    if layout.cell(condition, only).is_some_and(CellView::is_behind) {
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
