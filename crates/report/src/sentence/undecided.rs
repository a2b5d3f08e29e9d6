//! Says that no level is shown to be fastest, and why.

use bakeoff_analysis::OperationCase;
use bakeoff_analysis::answer::{NoWinner, OpenCause};
use bakeoff_analysis::layout::DocumentLayout;

use super::case_words::{count_outcomes, describe_backing, describe_contrast, name_all};
use crate::words;

pub fn describe_no_winner<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    why: &NoWinner<'a>,
) -> String {
    let levels = || {
        let names = layout.contenders().into_iter();
        let names = names.map(|level| words::name_contender(layout.compare, level));
        words::join_list(&names.collect::<Vec<_>>())
    };
    let all = name_all(cases.len());
    match why {
        NoWinner::Even => format!("{} are equally fast within 5 % in {all}", levels()),
        NoWinner::Close { most } => format!(
            "No difference that matters was found: {} are at most {:.0} % apart in {all}",
            levels(),
            (100.0 * most).ceil()
        ),
        NoWinner::Open { cause, slower } => {
            let scope = match cases.len() {
                1 => String::new(),
                n => format!(" in any of {n} comparisons"),
            };
            let cause = describe_cause(layout, cases, cause);
            format!(
                "Nothing is shown to be fastest{scope}: {cause}{}",
                count_slower(layout, slower)
            )
        }
    }
}

fn describe_cause<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    cause: &OpenCause<'a>,
) -> String {
    let is_one = cases.len() == 1;
    match cause {
        OpenCause::RunOnce => "each was run once, and an interval needs two".into(),
        OpenCause::Spiky => {
            "single repetitions differ too much from the rest for an interval to be trusted".into()
        }
        OpenCause::TooFew => {
            let each = if is_one { "it" } else { "each" };
            format!("{each} rests on trials with fewer than 20 operations, too few for a verdict")
        }
        OpenCause::NeverSteady => {
            let each = if is_one { "it holds" } else { "each holds" };
            format!("{each} a trial that was to be steady and was not")
        }
        OpenCause::Void => {
            "levels did not answer alike, left something broken or broke their promise, so that what \
             was timed is not the same work"
                .into()
        }
        OpenCause::ShortOfProcessors => {
            "threads waited for a processor for so long that the verdict could be another without it"
                .into()
        }
        OpenCause::Intervals(closest) => {
            let leader = words::name_contender(layout.compare, closest.leader);
            let tally = match is_one {
                true => String::new(),
                false => format!("{}; at the median ", count_outcomes(cases)),
            };
            format!(
                "{tally}{} ({}){}",
                describe_contrast(layout, closest, &format!(" as with {leader}")),
                describe_backing(layout, closest),
                words::describe_place(layout, &closest.condition)
            )
        }
    }
}

fn count_slower(layout: &DocumentLayout<'_>, slower: &[(&str, usize)]) -> String {
    let part = |(level, number): &(&str, usize)| {
        format!("{} is slower in {number}", words::name_contender(layout.compare, level))
    };
    let parts: Vec<String> = slower.iter().map(part).collect();
    if parts.is_empty() { String::new() } else { format!("; {}", words::join_list(&parts)) }
}
