//! What there is to choose from, in short, and what is missing on this machine.

use bakeoff_workloads::COLLECTIONS;

use super::Place;

/// So many lines of a terminal can be looked at together.
const SCREEN: usize = 60;

#[test]
fn a_list_of_everything_is_short_and_names_by_question_the_list_that_says_more() {
    let place = Place::new();
    let all = place.run(&["list"]).code(0).out();
    assert!(all.lines().count() <= SCREEN, "{all}");
    let questions = all.lines().filter_map(|line| line.split_once(" More: "));
    let questions: Vec<(&str, &str)> = questions.collect();
    assert!(questions.len() >= 8, "{all}");
    for (question, more) in questions {
        assert!(question.ends_with('?'), "{question}");
        let (_, name) = more.rsplit_once(" list ").expect("the command of a list");
        let list = place.run(&["list", name]).code(0).out();
        assert!(list.lines().count() > 1, "{name}: {list}");
    }
}

#[test]
fn doctor_names_the_package_of_real_text() {
    let place = Place::new();
    let said = super::Done(place.command(&["doctor", "."]).output().unwrap()).out();
    for collection in &COLLECTIONS {
        let line = format!("text {}: ", collection.name);
        let line = said.lines().find(|it| it.contains(&line)).expect("its line");
        // There it is described, and where it is missing the command brings it.
        assert!(line.contains(collection.package), "{line}");
        assert_eq!(line.starts_with("ok "), collection.is_installed(), "{line}");
    }
}

#[test]
fn flags_that_a_server_of_somebodys_own_can_not_have_are_told_at_once_and_no_plan_is_shown() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    // Nobody serves there: what can't be had of any such server is told without one.
    let url = "mysql://me@localhost/bench?socket=/nowhere/socket";
    let run = ["run", "mine.toml", "--out", "r", "--engine", url];
    let flags = ["--disk", "ssd-sata", "--memory", "256M", "--neighbours", "x1"];
    for more in [&[][..], &["--dry-run"]] {
        let done = place.run_soon(&[&run[..], &flags, more].concat()).code(2).says(&[
            "nothing in this experiment can be run",
            "put a disk under it, or limit its memory, or give its disk neighbours",
            "add --disk host --memory unlimited --neighbours 0",
        ]);
        assert!(!done.out().contains("all else equal"), "{}", done.out());
    }
    assert!(!place.path("r").exists(), "nothing was begun");
}
