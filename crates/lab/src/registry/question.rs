//! What an experiment asks that has no title, by the factor that it compares.

use bakeoff_experiment::{Experiment, Factor};

/// The question.
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

/// "the memory", "the number of clients".
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

    /// What the preset or the file asks with these changes.
    fn asked(preset_or_path: &str, changes: FlagOverrides) -> String {
        let registry = Registry::standard();
        let experiment = Experiment::load(preset_or_path, &changes, &registry.vocabulary());
        registry.title(&experiment.expect("it is right"))
    }

    fn by(factor: &str) -> FlagOverrides {
        FlagOverrides { compare: Some(factor.into()), ..FlagOverrides::default() }
    }

    #[test]
    fn a_preset_asks_for_what_the_command_line_compares() {
        let own = "Which engine serves an issue tracker best?";
        for (changes, question) in [
            (FlagOverrides::default(), own),
            (by("engine"), own),
            (FlagOverrides { quick: true, seconds: Some(9.0), ..FlagOverrides::default() }, own),
            (by("disk"), "Which disk serves the workload redmine best?"),
            (by("durability"), "What does the durability change for the workload redmine?"),
            (by("rate"), "What does the rate change for the workload redmine?"),
            (by("memory"), "What does the memory change for the workload redmine?"),
            (by("clients"), "What does the number of clients change for the workload redmine?"),
        ] {
            assert_eq!(asked("redmine", changes), question);
        }
        assert_eq!(asked("vote", by("engine")), "Which engine serves the workload vote best?");
    }

    #[test]
    fn the_title_of_a_file_stays_until_something_else_is_compared() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml");
        let file_with = |lines: &str| {
            let lines = format!("workload = 'redmine'\nengine = 'sqlite'\n{lines}\n");
            std::fs::write(&file, lines).unwrap();
            file.to_string_lossy().into_owned()
        };
        let of_disks = file_with("title = 'Which one?'\ncompare = 'disk'");
        assert_eq!(asked(&of_disks, FlagOverrides::default()), "Which one?");
        assert_eq!(asked(&of_disks, by("disk")), "Which one?");
        let question = "What does the memory change for the workload redmine?";
        assert_eq!(asked(&of_disks, by("memory")), question);
        let untitled = file_with("");
        let question = "Which engine serves the workload redmine best?";
        assert_eq!(asked(&untitled, FlagOverrides::default()), question);
    }
}
