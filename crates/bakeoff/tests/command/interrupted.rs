//! Runs that are stopped, killed or cut short, and go on.

use std::io::{BufRead, BufReader};
use std::process::Child;

use bakeoff_testkit::{PATIENCE, children, comes_while, ended_within, in_time, wait_until};

use super::{Done, Place, trials};

const SLOW: &str = r#"
name = "slow"
workload = "point"
engine = ["sqlite", "lmdb", "null"]
seconds = 0.5
repetitions = 3
"#;

const PLANNED: i64 = 9;

fn signal(child: &Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
}

fn assert_whole(place: &Place, folder: &str) {
    let document = place.json(folder);
    assert_eq!(document["run"]["status"], "finished");
    let all = document["trials"].as_array().unwrap();
    let valid = all.iter().filter(|trial| trial["valid"] == true).count();
    assert_eq!(valid as i64, PLANNED, "every planned trial, once");
    for set_aside in all.iter().filter(|trial| trial["valid"] == false) {
        assert!(set_aside["reason"].as_str().unwrap().contains("interrupted"), "{set_aside}");
    }
    assert_eq!(document["comparisons"][0]["blocks"], 3);
    place.assert_clean(folder);
}

#[test]
fn ctrl_c_keeps_what_is_done_and_resumes() {
    let (place, done) = in_time("the run", |_| {
        let place = Place::new();
        place.write("slow.toml", SLOW);
        let mut run = place.start(&["run", "slow.toml", "--out", "r"]);
        if !comes_while(&mut run, "the fourth trial", || trials(&place.path("r")) >= 4) {
            return None;
        }
        signal(&run, rustix::process::Signal::INT);
        let done = Done(run.wait_with_output().unwrap());
        let over = done.0.status.code() == Some(0) || trials(&place.path("r")) >= PLANNED;
        (!over).then_some((place, done))
    });
    done.code(130).says(&["--resume r"]);
    place.assert_clean("r");
    assert_eq!(place.json("r")["run"]["status"], "interrupted");
    let kept = trials(&place.path("r"));
    assert!((4..PLANNED).contains(&kept));

    place.run(&["run", "--resume", "r"]).code(0);
    assert_whole(&place, "r");
    assert!(trials(&place.path("r")) >= kept);
    // A run that is whole has nothing left to do, and says so by its report.
    let whole = trials(&place.path("r"));
    place.run(&["run", "--resume", "r"]).code(0).says(&["report.html"]);
    assert_eq!(trials(&place.path("r")), whole);
    assert_whole(&place, "r");
}

#[test]
fn ctrl_c_does_not_wait_for_the_end_of_a_trial() {
    let place = Place::new();
    place.write("slow.toml", SLOW);
    let long = ["run", "slow.toml", "--seconds", "3600", "--engine", "null", "--log", "info"];
    let mut run = place.start(&[&long[..], &["--out", "r"]].concat());
    let errors = BufReader::new(run.stderr.take().unwrap());
    // Nobody reads on: what the run still says fits into the pipe.
    let mut lines = errors.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("trial begins")), "no trial has begun");
    signal(&run, rustix::process::Signal::INT);
    let ended = ended_within(PATIENCE, &mut run);
    if ended.is_none() {
        signal(&run, rustix::process::Signal::KILL);
    }
    assert_eq!(ended.and_then(|it| it.code()), Some(130), "it waits for the trial");
    place.assert_clean("r");
}

#[test]
fn ctrl_c_while_data_are_loaded_is_not_told_as_a_failure() {
    let place = Place::new();
    let toml = "workload = \"redmine\"\nengine = \"sqlite\"\nscale = \"giant\"\n";
    place.write("giant.toml", toml);
    let run = place.start(&["run", "giant.toml", "--out", "r"]);
    wait_until("the process that loads", || {
        place.path("r/work").exists() && !children(run.id()).is_empty()
    });
    signal(&run, rustix::process::Signal::INT);
    let done = Done(run.wait_with_output().unwrap()).code(130);
    assert!(!done.err().contains("could not load"), "{}", done.err());
    done.says(&["interrupted", "--resume r"]);
    place.assert_clean("r");
}

#[test]
fn a_killed_run_takes_its_trial_along_and_resumes() {
    let (place, orphans) = in_time("the run", |_| {
        let place = Place::new();
        place.write("slow.toml", SLOW);
        let mut run = place.start(&["run", "slow.toml", "--out", "r"]);
        let (id, mut orphans) = (run.id(), Vec::new());
        let begun = comes_while(&mut run, "the third trial's process", || {
            orphans = children(id);
            trials(&place.path("r")) >= 2 && !orphans.is_empty()
        });
        run.kill().unwrap();
        run.wait().unwrap();
        let over = !begun || trials(&place.path("r")) >= PLANNED;
        (!over).then_some((place, orphans))
    });
    wait_until("the trial's end", || {
        orphans.iter().all(|pid| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z ")
        })
    });
    assert_eq!(place.json("r")["run"]["status"], "unfinished");

    place.run(&["run", "--resume", "r"]).code(0);
    assert_whole(&place, "r");
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next_one() {
    let place = in_time("the run", |_| {
        let place = Place::new();
        place.write("slow.toml", SLOW);
        let mut run = place.start(&["run", "slow.toml", "--out", "killed"]);
        let begun = comes_while(&mut run, "the first trial", || trials(&place.path("killed")) >= 1);
        run.kill().unwrap();
        run.wait().unwrap();
        (begun && place.path("killed/work").exists()).then_some(place)
    });
    let next = place.run(&["run", "slow.toml", "--out", "next", "--repetitions", "1"]).code(0);
    next.says(&["removed what a killed run had left"]);
    place.assert_clean("killed");
    assert!(place.path("killed/run.sqlite").exists(), "results are not left-overs");
}

#[test]
fn two_runs_do_not_share_a_folder() {
    let place = Place::new();
    place.write("slow.toml", SLOW);
    // It goes on for longer than the others take.
    let mut run = place.start(&["run", "slow.toml", "--repetitions", "100", "--out", "r"]);
    wait_until("the first trial", || trials(&place.path("r")) >= 1);
    place.run(&["run", "--resume", "r"]).code(3).says(&["another bakeoff"]);
    place.run(&["report", "r"]).code(0);
    signal(&run, rustix::process::Signal::TERM);
    assert_eq!(run.wait().unwrap().code(), Some(130));
}
