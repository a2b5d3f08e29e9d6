//! Makes the question of an experiment without title.

use bakeoff_experiment::{Experiment, Factor};

pub fn phrase_question(experiment: &Experiment) -> String {
    let workload = &experiment.workload;
    if let Some(limit) = &experiment.limit {
        return format!("What is the highest rate of the workload {workload} that keeps {limit}?");
    }
    if experiment.repetitions == 0 {
        return "Which promises does each engine keep in a power cut?".into();
    }
    let compare = experiment.compare;
    if [Factor::ENGINE, Factor::DISK].contains(&compare) {
        return format!("Which {compare} serves the workload {workload} best?");
    }
    format!("What does {} change for the workload {workload}?", in_words(compare))
}

/// Example: "the memory", "the number of clients".
fn in_words(factor: Factor) -> String {
    let words = [
        (Factor::CLIENTS, "the number of clients"),
        (Factor::CPUS, "the number of processors"),
        (Factor::NEIGHBOURS, "other load on the disk"),
    ];
    let known = words.into_iter().find(|(known, _)| *known == factor);
    known.map_or_else(|| format!("the {}", factor.name().replace('_', " ")), |it| it.1.to_owned())
}

#[cfg(test)]
mod tests {
    use bakeoff_experiment::FlagOverrides;

    use super::*;
    use crate::Registry;
    use crate::tests::load_changed;

    fn by(factor: &str) -> FlagOverrides {
        FlagOverrides { compare: Some(factor.into()), ..FlagOverrides::default() }
    }

    #[test]
    fn a_preset_asks_for_what_the_command_line_compares() {
        let registry = Registry::standard();
        let own = "Which engine serves an issue tracker best?";
        for (preset, changes, question) in [
            ("redmine", FlagOverrides::default(), own),
            ("redmine", by("engine"), own),
            ("redmine", FlagOverrides { quick: true, ..FlagOverrides::default() }, own),
            ("redmine", by("disk"), "Which disk serves the workload redmine best?"),
            ("redmine", by("rate"), "What does the rate change for the workload redmine?"),
            ("vote", by("engine"), "Which engine serves the workload vote best?"),
        ] {
            let experiment = Experiment::load(preset, &changes, &registry.vocabulary()).unwrap();
            assert_eq!(registry.experiment_title(&experiment), question);
        }
    }

    #[test]
    fn a_file_asks_for_what_its_levels_compare() {
        const REDMINE: &str = "workload = 'redmine'\nengine = 'sqlite'\n";
        const OF_DISKS: &str = "title = 'Which one?'\ncompare = 'disk'";
        const FILES: &str = "workload = 'fileio'\ndisk = 'host'\n";
        let none = FlagOverrides::default;
        for (workload, lines, changes, question) in [
            // Its title stays until something else is compared.
            (REDMINE, OF_DISKS, none(), "Which one?"),
            (REDMINE, OF_DISKS, by("disk"), "Which one?"),
            (
                REDMINE,
                OF_DISKS,
                by("clients"),
                "What does the number of clients change for the workload redmine?",
            ),
            (REDMINE, "", none(), "Which engine serves the workload redmine best?"),
            // Of files it is for the requests that the levels make.
            (FILES, "title = 'Which one?'\npattern = 'seqwrite'", none(), "Which one?"),
            (
                FILES,
                "",
                none(),
                "How many random reads a second does a disk serve, one after the other?",
            ),
            (
                FILES,
                "pattern = ['randwrite', 'randread']\ndepth = [1, 16]",
                none(),
                "How many random reads and writes a second does a disk serve, one after the other and up to 16 \
                 at once?",
            ),
            (
                FILES,
                "pattern = 'seqrw:70'\nclients = [2, 4]\ndepth = 8",
                none(),
                "How many sequential mixed reads and writes a second does a disk serve, 16 to 32 at once?",
            ),
            (
                FILES,
                "pattern = ['randread', 'seqwrite', 'randrw']\nclients = 4",
                none(),
                "How many random and sequential reads, writes and mixed requests a second does a disk serve, 4 at \
                 once?",
            ),
            (
                FILES,
                "pattern = 'seqwrite'\nrate = '100/s'",
                none(),
                "How many sequential writes a second does a disk serve?",
            ),
        ] {
            let experiment = load_changed(&format!("{workload}{lines}\n"), &changes);
            assert_eq!(Registry::standard().experiment_title(&experiment), question, "{lines}");
        }
    }
}
