//! What is done, step by step, for whoever asks for it.

use crate::{Done, Place};

/// A run of two short trials.
const RUN: [&str; 8] =
    ["run", "mine.toml", "--seconds", "0.5", "--repetitions", "1", "--clients", "1"];

fn place() -> Place {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = [\"null\", \"sqlite\"]\n");
    place
}

/// How many trials a run had: two, and those of a block that the machine disturbed once more.
fn ran(place: &Place, folder: &str) -> usize {
    let trials = crate::trials(&place.path(folder));
    assert!(trials >= 2, "{trials} trials");
    trials as usize
}

/// How many lines say that.
fn lines(text: &str, wanted: &str) -> usize {
    text.lines().filter(|line| line.contains(wanted)).count()
}

#[test]
fn steps_are_told_of_the_run_and_of_its_trials_where_they_are_asked_for() {
    let place = place();
    let done = place.run(&[&RUN[..], &["--out", "a"]].concat()).code(0);
    assert_eq!(lines(&done.err(), "trial begins"), 0, "{}", done.err());
    let done = place.run(&[&RUN[..], &["--out", "b", "--log", "info"]].concat()).code(0);
    assert_eq!(lines(&done.err(), "INFO trial begins"), ran(&place, "b"), "{}", done.err());
    assert_eq!(lines(&done.err(), "DEBUG"), 0, "{}", done.err());
    // Before the command, too, and by its variable.
    let flag = place.run(&[&["--log", "debug"], &RUN[..], &["--out", "c"]].concat()).code(0);
    let mut by_variable = place.command(&[&RUN[..], &["--out", "d"]].concat());
    let by_variable = Done(by_variable.env("BAKEOFF_LOG", "debug").output().unwrap()).code(0);
    for (done, folder) in [(flag, "c"), (by_variable, "d")] {
        let (said, ran) = (done.err(), ran(&place, folder));
        assert_eq!(lines(&said, "INFO trial ends"), ran, "{said}");
        assert!(lines(&said, "DEBUG process starts") >= 4, "{said}");
        // What a trial's own process says.
        assert_eq!(lines(&said, "DEBUG warm"), ran, "{said}");
    }
}

#[test]
fn a_level_that_is_none_is_refused_with_those_that_there_are() {
    let place = place();
    let flag = place.run(&["list", "presets", "--log", "loud"]).code(2);
    assert!(flag.err().contains("debug"), "{}", flag.err());
    let mut command = place.command(&["list", "presets"]);
    let variable = Done(command.env("BAKEOFF_LOG", "loud").output().unwrap()).code(2);
    variable.says(&["valid: off, error, warn, info, debug, trace"]);
}
