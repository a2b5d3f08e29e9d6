//! Puts the planner's decisions in one line.

use bakeoff_analysis::{Comparison, ConditionState, ConditionView, JudgedRun};
use bakeoff_results::{Levels, Run};

const NAMED: usize = 3;

pub fn describe_look(run: &Run, judged: &JudgedRun, look: u32) -> String {
    let open = count_in_state(judged, ConditionState::Open);
    let told = format!("{} after {look} blocks", format_tally(judged));
    match open {
        0 => told,
        _ => format!("{told}; open: {}", open_ones(run, judged)),
    }
}

pub fn of_time(run: &Run, judged: &JudgedRun) -> String {
    let told = "another block would not end within --max-time";
    format!("{told}: {}; open: {}", format_tally(judged), open_ones(run, judged))
}

fn count_in_state(judged: &JudgedRun, state: ConditionState) -> usize {
    judged.conditions.iter().filter(|it| it.state == state).count()
}

/// "3 of 8 conditions decided, 1 out of reach".
fn format_tally(judged: &JudgedRun) -> String {
    let all = judged.conditions.len();
    let plural = if all == 1 { "" } else { "s" };
    let decided = count_in_state(judged, ConditionState::Decided);
    let mut told = format!("{decided} of {all} condition{plural} decided");
    for (state, what) in [
        (ConditionState::OutOfReach, "where no verdict is likely any more"),
        (ConditionState::MaxRepetitions, "at the most repetitions"),
    ] {
        match count_in_state(judged, state) {
            0 => {}
            n => told += &format!(", {n} ended {what}"),
        }
    }
    told
}

/// The open conditions, each with its least certain comparison: the widest.
fn open_ones(run: &Run, judged: &JudgedRun) -> String {
    let open = || judged.conditions.iter().filter(|it| it.state == ConditionState::Open);
    let mut told: Vec<String> =
        open().take(NAMED).map(|it| describe_one(run, judged, it)).collect();
    match open().count() {
        0 => return "none".into(),
        n if n > NAMED => told.push(format!("and {} more", n - NAMED)),
        _ => {}
    }
    told.join("; ")
}

fn describe_one(run: &Run, judged: &JudgedRun, at: &ConditionView) -> String {
    let width = |it: &Comparison| it.low.zip(it.high).map_or(f64::MAX, |(low, high)| high / low);
    let widest = judged.open_comparisons(at).max_by(|a, b| width(a).total_cmp(&width(b)));
    let place = format_levels(run, &at.levels);
    match (widest.map(format_pair), place.is_empty()) {
        (Some(pair), true) => pair,
        (Some(pair), false) => format!("{place}: {pair}"),
        (None, true) => format!("after {} blocks", at.blocks),
        (None, false) => place,
    }
}

/// "create_issue mariadb:rocksdb/mariadb:innodb 1.31 (0.94 to 1.80)".
fn format_pair(it: &Comparison) -> String {
    let ratio = it.ratio.map_or_else(|| "no ratio".into(), |ratio| format!("{ratio:.2}"));
    let ends = it.low.zip(it.high).filter(|(low, high)| high / low < 100.0);
    let ends = ends.map(|(low, high)| format!(" ({low:.2} to {high:.2})")).unwrap_or_default();
    format!("{} {}/{} {ratio}{ends}", it.operation, it.level, it.baseline)
}

fn format_levels(run: &Run, levels: &Levels) -> String {
    let varied = run.factors.iter().filter(|(_, known)| known.len() > 1);
    let words = varied.filter_map(|(factor, _)| Some(format!("{factor} {}", levels.get(factor)?)));
    words.collect::<Vec<_>>().join(", ")
}
