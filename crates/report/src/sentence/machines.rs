//! Says in the answer of a merged run that machines differ.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{ALL_OPERATIONS, Apart, MachineDifferences, OperationCase};

use crate::amount;
use crate::words;

/// "the machines disagree: on each alone, sqlite takes 0.73 to 9.3 times as long as lmdb"; `None`
/// where they are not far apart.
pub fn describe_apart<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Option<String> {
    let MachineDifferences { disagree, far } = MachineDifferences::from_cases(layout, cases);
    let (what, how, told) = if disagree.is_empty() {
        ("the machines’ own ratios lie far apart, which may be chance,", "in", far)
    } else {
        ("the machines disagree", "on", disagree)
    };
    let (case, apart) = told.first()?;
    let on_each = format!("on each alone, {}", format_ratios(layout, case, apart));
    if cases.len() == 1 {
        return Some(format!("{}: {on_each}", what.trim_end_matches(',')));
    }
    let all = words::count_nouns(cases.len(), "comparison");
    let most = if told.len() > 1 { " most" } else { "" };
    let place = describe_place(layout, case);
    Some(format!("{what} {how} {} of {all},{most}{place}: {on_each}", told.len()))
}

/// " in create_issue with 4 clients".
fn describe_place<'a>(layout: &DocumentLayout<'a>, case: &OperationCase<'a>) -> String {
    let operation = match case.operation {
        ALL_OPERATIONS => String::new(),
        operation => format!(" in {operation}"),
    };
    operation + &words::describe_place(layout, &case.condition)
}

/// "sqlite takes 0.73 to 9.3 times as long as lmdb".
fn format_ratios<'a>(
    layout: &DocumentLayout<'a>,
    case: &OperationCase<'a>,
    apart: &Apart,
) -> String {
    let [leader, next] =
        [case.leader, case.next].map(|level| words::name_contender(layout.compare, level));
    let range = format!("{} to {}", words::format_two(apart.least), words::format_two(apart.most));
    match layout.shared_rate([case]) {
        None => format!("{next} takes {range} times as long as {leader}"),
        Some(merit) => {
            let what = amount::counted_noun(merit);
            format!("{leader} serves {range} times as many {what} a second as {next}")
        }
    }
}
