//! Levels that stood still, in a line for each pair of them.

use bakeoff_analysis::layout::{DocumentLayout, level_or_empty};
use bakeoff_analysis::{IdleComparison, IdleTime};

use crate::block::ReportBlock;
use crate::words;

/// The most pairs that are told, those that differ most.
const TOLD: usize = 12;

const EXPLAINED: &str = "A level stands still in a second in which no operation ended. Counted are the whole seconds \
                         of the window, on average of all trials. Clear is a difference that is significant among all \
                         that were compared.";

/// None where no level stood still.
pub fn build_lines(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let mut idle: Vec<_> = layout.document.idle.iter().collect();
    let left_out = idle.len().saturating_sub(TOLD);
    if left_out > 0 {
        idle.sort_by(|one, other| difference(other).total_cmp(&difference(one)));
        idle.truncate(TOLD);
    }
    let mut lines: Vec<String> = idle.into_iter().map(|it| describe_pair(layout, it)).collect();
    if left_out > 0 {
        let pairs = words::count_nouns(left_out, "more pair");
        lines.push(format!("{pairs} stood still, and differ less: --format json has them."));
    }
    let explained = (!lines.is_empty()).then(|| ReportBlock::Prose(EXPLAINED.into()));
    lines.into_iter().map(|line| ReportBlock::Note(line.into())).chain(explained).collect()
}

fn difference(idle: &IdleComparison) -> f64 {
    idle.more_s_a_minute.abs()
}

/// "a stood still for 4 of 60 seconds with 4 clients, b for none (clear)".
fn describe_pair<'a>(layout: &DocumentLayout<'a>, idle: &'a IdleComparison) -> String {
    let condition = layout.varying.iter().map(|it| level_or_empty(&idle.levels, it)).collect();
    let place = words::describe_place(layout, &condition);
    let [(first, first_time), (second, second_time)] = idle.in_order();
    let [first, second] = [first, second].map(|it| words::name_contender(layout.compare, it));
    let is_as_long = format_seconds(first_time.whole_s) == format_seconds(second_time.whole_s);
    let second_time = match second_time {
        IdleTime { idle_s: 0.0, .. } => "none".into(),
        time if is_as_long => format_seconds(time.idle_s),
        time => describe_time(time),
    };
    let clear = if idle.clear { " (clear)" } else { "" };
    let first_time = describe_time(first_time);
    format!(
        "{first} stood still for {first_time} seconds{place}, {second} for {second_time}{clear}."
    )
}

fn describe_time(time: IdleTime) -> String {
    format!("{} of {}", format_seconds(time.idle_s), format_seconds(time.whole_s))
}

/// Whole from ten on, else with two digits at most: "410", "4", "0.33".
fn format_seconds(seconds: f64) -> String {
    match seconds < 9.95 {
        true => words::format_two(seconds).trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => words::format_count(seconds.round() as u64),
    }
}
