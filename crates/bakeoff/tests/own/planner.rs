//! A planner that runs the first block once more, as a block that the plan has not.

use std::path::PathBuf;
use std::process::Output;
use std::thread;
use std::time::Duration;

use bakeoff::experiment::{TrialBlock, TrialPlan};
use bakeoff::planner::{DueBlock, Planner, PlannerKind, due};
use bakeoff::results::{Error, RunFolder};
use bakeoff_testkit::in_time;
use serde_json::Value;
use tempfile::TempDir;

use super::{command, document};

/// Where this environment variable is set, the program ends within the block beyond the plan.
const STOP: &str = "OWN_STOP";

pub static ONE_MORE: PlannerKind = PlannerKind {
    name: "one-more",
    summary: "the blocks of the plan, and its first once more",
    repeats: false,
    seeks: false,
    begin: |_, plan, _| Ok(Box::new(OneMore::new(plan))),
};

struct OneMore {
    /// Those that were not asked for yet, whether or not an earlier run has done them.
    blocks: std::vec::IntoIter<TrialBlock>,
    planned: usize,
}

impl OneMore {
    fn new(plan: &TrialPlan) -> Self {
        let (mut blocks, planned) = (plan.blocks.clone(), plan.blocks.len());
        let first = blocks[0].clone();
        blocks.push(TrialBlock {
            number: planned as u32,
            repetition: first.repetition + 1,
            ..first
        });
        Self { blocks: blocks.into_iter(), planned }
    }
}

impl Planner for OneMore {
    fn next(&mut self, so_far: &mut RunFolder) -> Result<Option<DueBlock>, Error> {
        for block in self.blocks.by_ref() {
            let beyond = block.number as usize >= self.planned;
            if beyond && std::env::var_os(STOP).is_some() {
                let dir = so_far.dir().to_owned();
                thread::spawn(move || end_within(dir, block.number));
            }
            if let Some(due) = due(&block, so_far)? {
                return Ok(Some(due));
            }
        }
        Ok(None)
    }

    /// It says nothing of what is to come.
    fn left(&self) -> Vec<&DueBlock> {
        Vec::new()
    }
}

/// Ends the program when the first trial of a block has ended.
fn end_within(dir: PathBuf, block: u32) {
    let begun = || {
        let done = RunFolder::open(&dir).and_then(|folder| folder.done());
        done.is_ok_and(|done| done.iter().any(|trial| trial.block == block))
    };
    while !begun() {
        thread::sleep(Duration::from_millis(10));
    }
    std::process::exit(70);
}

const TOML: &str = "workload = 'point'\nengine = ['null', 'sqlite']\nseconds = 0.5\n\
                    repetitions = 1\nplanner = 'one-more'\n";

/// The block and attempt of each trial, and whether it counts.
fn trials(document: &Value) -> Vec<(u64, u64, bool)> {
    let number = |trial: &Value, field: &str| trial[field].as_u64().unwrap();
    let trials =
        document["trials"].as_array().unwrap().iter().map(|trial| {
            (number(trial, "block"), number(trial, "attempt"), trial["valid"] == true)
        });
    trials.collect()
}

/// The trials of the plan's one block.
const PLANNED: [(u64, u64, bool); 2] = [(0, 0, true); 2];

#[track_caller]
fn says(done: &Output, words: &str) {
    let (said, printed) =
        (String::from_utf8_lossy(&done.stderr), String::from_utf8_lossy(&done.stdout));
    assert!(said.contains(words) || printed.contains(words), "{words}: {said}{printed}");
}

pub fn runs_more() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(place.path().join("mine.toml"), TOML).unwrap();
    let run = |more: &[&str]| {
        command(place.path(), &[&["run", "mine.toml"], more].concat()).output().unwrap()
    };
    says(&run(&["--dry-run"]), "planner one-more: the blocks of the plan, and its first once more");
    says(&run(&["--planner", "one-mor", "--dry-run"]), "did you mean `one-more`?");
    let done = run(&["--out", "r"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let document = document(place.path());
    assert_eq!(document["run"]["planner"], "one-more");
    assert_eq!(trials(&document), [PLANNED, [(1, 0, true); 2]].concat());
    // The plan alone, by the flag.
    let only = run(&["--planner", "fixed", "--dry-run"]);
    assert!(!String::from_utf8_lossy(&only.stdout).contains("planner"));
}

/// A folder with the run `r` of two engines, which was ended within the block beyond the plan, when one of its two
/// trials was there.
pub fn cut_short(toml: &str) -> TempDir {
    let run = ["run", "mine.toml", "--out", "r"];
    let one_more = |count: usize| [&PLANNED[..], &[(1, 0, true); 2][..count]].concat();
    // The second trial may be over before the first is seen; and what a disturbed machine ran is run again.
    in_time("the second trial", |_| {
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::write(place.path().join("mine.toml"), toml).unwrap();
        let stopped = command(place.path(), &run).env(STOP, "1").output().unwrap();
        if stopped.status.success() {
            return None;
        }
        assert_eq!(stopped.status.code(), Some(70), "{}", String::from_utf8_lossy(&stopped.stderr));
        let there = trials(&document(place.path()));
        let is_over = there == one_more(2) || there.iter().any(|(_, _, counts)| !counts);
        assert!(is_over || there == one_more(1), "{there:?}");
        (!is_over).then_some(place)
    })
}

pub fn goes_on() {
    let place = cut_short(TOML);
    let resumed = command(place.path(), &["run", "--resume", "r"]).output().unwrap();
    assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
    // The plan's block is done; the one that was cut short is run again as a whole.
    let all = [&PLANNED[..], &[(1, 0, false)], &[(1, 1, true); 2]].concat();
    assert_eq!(trials(&document(place.path())), all);
}
