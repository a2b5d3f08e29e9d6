//! What an experiment on files asks, by its levels.

use bakeoff_experiment::{Experiment, Factor, base};

use super::levels::{self, Pattern};

/// The question of an experiment that has none of its own.
pub fn phrase_question(experiment: &Experiment) -> String {
    if experiment.repetitions == 0 {
        return "What does a disk keep of what was synced, when its power is cut?".into();
    }
    let patterns = experiment.levels(Factor::Declared(&levels::PATTERN));
    let patterns = patterns.iter().filter_map(|level| Pattern::parse(base(level)));
    let requests = requests(&patterns.collect::<Vec<_>>());
    format!("How many {requests} a second does a disk serve{}?", at_once(experiment))
}

/// "random reads and writes", "sequential writes".
fn requests(patterns: &[Pattern]) -> String {
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

/// How many requests are in flight at once, where it is known: at a rate there are as many as it takes.
fn at_once(experiment: &Experiment) -> String {
    let levels = |factor| experiment.levels(factor);
    if levels(Factor::RATE).iter().any(|level| base(level) != CLOSED) {
        return String::new();
    }
    let ends = |factor| -> Option<(usize, usize)> {
        let levels = levels(factor);
        let numbers = || levels.iter().filter_map(|level| base(level).parse::<usize>().ok());
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

/// The level of `rate` at which each client waits for its requests.
const CLOSED: &str = "closed";

#[cfg(test)]
mod tests {
    use bakeoff_experiment::FlagOverrides;

    use super::*;
    use crate::Registry;

    /// What an experiment with these lines asks.
    fn asked(lines: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("it.toml");
        std::fs::write(&file, format!("workload = 'fileio'\ndisk = 'host'\n{lines}\n")).unwrap();
        let registry = Registry::standard();
        let file = file.to_string_lossy();
        let experiment =
            Experiment::load(&file, &FlagOverrides::default(), &registry.vocabulary()).unwrap();
        registry.title(&experiment)
    }

    #[test]
    fn an_experiment_asks_for_the_requests_that_its_levels_make() {
        for (lines, question) in [
            ("", "How many random reads a second does a disk serve, one after the other?"),
            (
                "pattern = ['randwrite', 'randread']\ndepth = [1, 16]",
                "How many random reads and writes a second does a disk serve, one after the other and up to 16 \
                 at once?",
            ),
            (
                "pattern = 'seqrw:70'\nclients = [2, 4]\ndepth = 8",
                "How many sequential mixed reads and writes a second does a disk serve, 16 to 32 at once?",
            ),
            (
                "pattern = ['randread', 'seqwrite', 'randrw']\nclients = 4",
                "How many random and sequential reads, writes and mixed requests a second does a disk serve, 4 at \
                 once?",
            ),
            (
                "pattern = 'seqwrite'\nrate = '100/s'",
                "How many sequential writes a second does a disk serve?",
            ),
            ("title = 'Which one?'\npattern = 'seqwrite'", "Which one?"),
        ] {
            assert_eq!(asked(lines), question, "{lines}");
        }
    }
}
