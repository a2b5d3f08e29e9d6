use bakeoff_experiment::{Experiment, Factor, without_alias};

use super::levels::{self, Pattern};

pub fn phrase_question(experiment: &Experiment) -> String {
    if experiment.repetitions == 0 {
        return "What does a disk keep of what was synced, when its power is cut?".into();
    }
    let patterns = experiment.run_levels(Factor::Declared(&levels::PATTERN));
    let patterns = patterns.iter().filter_map(|level| Pattern::parse(without_alias(level)));
    let requests = describe_patterns(&patterns.collect::<Vec<_>>());
    format!("How many {requests} a second does a disk serve{}?", at_once(experiment))
}

/// Example: "random reads and writes", "sequential writes".
fn describe_patterns(patterns: &[Pattern]) -> String {
    let has = |is: &dyn Fn(&Pattern) -> bool| patterns.iter().any(is);
    let orders: Vec<&str> =
        [(has(&|it| !it.in_order), "random"), (has(&|it| it.in_order), "sequential")]
            .into_iter()
            .filter_map(|(is_there, word)| is_there.then_some(word))
            .collect();
    let [reads, writes] = [has(&|it| it.reads == 100), has(&|it| it.reads == 0)];
    let is_mixed = has(&|it| (1..100).contains(&it.reads));
    let kinds = match (reads, writes, is_mixed) {
        (true, false, false) => "reads",
        (false, true, false) => "writes",
        (true, true, false) => "reads and writes",
        (false, false, _) => "mixed reads and writes",
        (true, false, true) => "reads and mixed requests",
        (false, true, true) => "writes and mixed requests",
        (true, true, true) => "reads, writes and mixed requests",
    };
    format!("{} {kinds}", orders.join(" and "))
}

/// The requests in flight, if known: a rate takes as many as it needs.
fn at_once(experiment: &Experiment) -> String {
    let levels = |factor| experiment.run_levels(factor);
    if levels(Factor::RATE).iter().any(|level| without_alias(level) != CLOSED) {
        return String::new();
    }
    let ends = |factor| -> Option<(usize, usize)> {
        let levels = levels(factor);
        let numbers =
            || levels.iter().filter_map(|level| without_alias(level).parse::<usize>().ok());
        Some((numbers().min()?, numbers().max()?))
    };
    let depths = ends(Factor::Declared(&levels::DEPTH));
    let Some((clients, depths)) = ends(Factor::CLIENTS).zip(depths) else { return String::new() };
    match (clients.0.saturating_mul(depths.0), clients.1.saturating_mul(depths.1)) {
        (_, 1) => ", one after the other".into(),
        (1, most) => format!(", one after the other and up to {most} at once"),
        (least, most) if least == most => format!(", {most} at once"),
        (least, most) => format!(", {least} to {most} at once"),
    }
}

const CLOSED: &str = "closed";
