//! One run folder of the records of several.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bakeoff_results::{
    Calibration, Cut, DATABASE, Error, HostIdentity, Machine, MergePart, Merged, RunFolder,
    RunMember, Status,
};
use bakeoff_testkit::synthetic::{run, sample_cuts};

use crate::{TOML, canary, commit_block, create, looks, trials};

/// What a run that was merged of these ends as.
const ENDED: (Status, Option<f64>) = (Status::Finished, Some(7.5));

/// A merged run of the synthetic data.
fn merge(out: &Path, parts: &[MergePart<'_>]) -> Result<RunFolder, Error> {
    RunFolder::merge_parts(out, &run(&["1"], &["0"], 8), TOML, ENDED, parts)
}

/// A closed folder with these blocks, two looks at the machine, and what was noted of each block.
fn written(path: &Path, blocks: &[u32]) {
    let mut folder = create(path);
    for block in blocks {
        commit_block(&mut folder, *block);
        folder.note_disturbed(*block, 0, "reading is slow").unwrap();
        folder.commit_canary(&canary(f64::from(*block))).unwrap();
    }
    let calibration = Calibration { operations: blocks[0].into(), seconds: 1.0, turned_over: true };
    folder.note_calibration("the data", &calibration).unwrap();
}

fn part<'a>(folder: &'a RunFolder, blocks: &[u32]) -> MergePart<'a> {
    let canaries = 0..folder.read_canaries().unwrap().len();
    MergePart { folder, blocks: blocks.iter().copied().collect(), cuts: BTreeSet::new(), canaries }
}

/// Two folders, and where a third can be made.
fn two() -> (tempfile::TempDir, [PathBuf; 2], PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["one", "two"].map(|name| dir.path().join(name));
    written(&paths[0], &[0, 3]);
    written(&paths[1], &[1, 2]);
    let out = dir.path().join("all");
    (dir, paths, out)
}

#[test]
fn everything_of_the_parts_is_in_the_merged_run_and_they_are_as_they_were() {
    let (_dir, paths, out) = two();
    let bytes = || paths.each_ref().map(|path| fs::read(path.join(DATABASE)).unwrap());
    let before = bytes();
    let folders = paths.each_ref().map(|path| RunFolder::open(path).unwrap());
    // One block of the first is left where it is.
    let parts = [part(&folders[0], &[0]), part(&folders[1], &[1, 2])];
    drop(merge(&out, &parts).unwrap());
    assert_eq!(bytes(), before);
    for path in &paths {
        let names = fs::read_dir(path).unwrap().count();
        assert_eq!(names, 2, "run.sqlite and experiment.toml alone");
    }

    let merged = RunFolder::open(&out).unwrap();
    assert_eq!(merged.read_ended_trials().unwrap().len(), 3 * trials(0).len());
    for trial in [0, 1, 2].into_iter().flat_map(trials) {
        let back = merged.read_trial(trial.block, 0, trial.order).unwrap().expect("it was merged");
        assert_eq!(trial, back);
    }
    assert!(merged.read_trial(3, 0, 0).unwrap().is_none());
    assert_eq!(looks(&merged), [0.0, 3.0, 1.0, 2.0]);
    let disturbed: Vec<u32> = merged.read_disturbed().unwrap().iter().map(|it| it.block).collect();
    assert_eq!(disturbed, [0, 1, 2]);
    assert_eq!(merged.read_calibration("the data").unwrap().unwrap().operations, 0, "the first's");
    let state = merged.read_state().unwrap();
    assert_eq!((state.status, state.ended_s), (Status::Finished, Some(7.5)));
    assert_eq!(merged.read_experiment().unwrap(), TOML);
    drop(merged);
    // It is a run folder like any other.
    RunFolder::resume(&out).unwrap();
}

/// More than SQLite attaches at once.
#[test]
fn many_shards_are_merged_and_written_anew_with_another() {
    const MANY: u32 = 30;
    let dir = tempfile::tempdir().unwrap();
    let shard = |number: u32| {
        let path = dir.path().join(number.to_string());
        written(&path, &[number]);
        RunFolder::open(&path).unwrap()
    };
    let folders: Vec<RunFolder> = (0..MANY).map(shard).collect();
    let (about, out) = (run(&["1"], &["0"], 4 * MANY), dir.path().join("all"));
    let parts = folders.iter().zip(0..).map(|(it, number)| part(it, &[number]));
    let mut parts: Vec<MergePart<'_>> = parts.collect();
    let last = parts.pop().unwrap();
    drop(RunFolder::merge_parts(&out, &about, TOML, (Status::Unfinished, None), &parts).unwrap());

    let held = RunFolder::lock_folder(&out).unwrap();
    assert!(matches!(RunFolder::lock_folder(&out), Err(Error::Busy(_))), "one at a time");
    let known = RunFolder::open(&out).unwrap();
    fs::write(out.join(format!("{DATABASE}.new")), "what a killed merge has left").unwrap();
    let earlier = (0..MANY as usize - 1)
        .map(|it| MergePart { canaries: it..it + 1, ..part(&known, &[it as u32]) });
    let parts: Vec<MergePart<'_>> = earlier.chain([last]).collect();
    held.rewrite_database(&about, TOML, (Status::Finished, Some(1.0)), &parts).unwrap();
    drop(parts);
    drop(known);
    let merged = RunFolder::open(&out).unwrap();
    let blocks: Vec<u32> = merged.read_trials().unwrap().iter().map(|trial| trial.block).collect();
    let whole = (0..MANY).flat_map(|block| vec![block; trials(0).len()]);
    assert_eq!(blocks, whole.collect::<Vec<_>>());
    assert_eq!(looks(&merged), (0..MANY).map(f64::from).collect::<Vec<_>>());
    assert_eq!(merged.read_disturbed().unwrap().len(), MANY as usize);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2, "run.sqlite and experiment.toml alone");
}

/// Blocks and power cuts are looked up by what they are, and not in the order in which they ran.
#[test]
fn trials_and_cuts_stand_in_the_order_in_which_they_ran() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("one"), dir.path().join("all"));
    written(&path, &[5, 2, 7]);
    let [first, second] = sample_cuts();
    let strict = Cut { durability: "strict".to_owned(), ..first.clone() };
    let none = Cut { durability: "none".to_owned(), ..first.clone() };
    // By their levels they would be none, relaxed, relaxed, strict.
    let made = [strict, first, none, second];
    let mut folder = RunFolder::resume(&path).unwrap();
    made.iter().for_each(|cut| folder.commit_cut(cut).unwrap());
    drop(folder);

    let folder = RunFolder::open(&path).unwrap();
    let level = |durability: &str| ("alpha".to_owned(), durability.to_owned());
    let levels = ["relaxed", "strict"].map(level);
    // The last two of its three looks.
    let whole = MergePart { cuts: levels.into(), canaries: 1..3, ..part(&folder, &[2, 5, 7]) };
    drop(merge(&out, &[whole]).unwrap());
    let merged = RunFolder::open(&out).unwrap();
    let mut ran: Vec<u32> = merged.read_trials().unwrap().iter().map(|trial| trial.block).collect();
    ran.dedup();
    assert_eq!(ran, [5, 2, 7]);
    let [strict, first, _, second] = made;
    assert_eq!(merged.read_cuts().unwrap(), [strict, first, second]);
    assert_eq!(looks(&merged), [2.0, 7.0]);
}

/// A copy of bytes would carry it over, and nobody could read the merged run.
#[test]
fn what_is_no_text_is_in_no_merged_run() {
    let (_dir, paths, out) = two();
    let database = rusqlite::Connection::open(paths[1].join(DATABASE)).unwrap();
    database.execute("UPDATE disturbed SET what = CAST(x'ff' AS TEXT)", []).unwrap();
    drop(database);
    let folders = paths.each_ref().map(|path| RunFolder::open(path).unwrap());
    let parts = [part(&folders[0], &[0]), part(&folders[1], &[1])];
    let error = merge(&out, &parts).err();
    let Some(Error::Damaged { path, .. }) = &error else { panic!("{error:?}") };
    assert!(path.starts_with(&paths[1]), "{error:?}");
    assert!(!out.exists());
}

/// What can't be had twice is refused as a whole, and what was there stays.
#[test]
fn a_block_twice_is_refused_and_nothing_of_it_is_left() {
    let (_dir, paths, out) = two();
    let about = run(&["1"], &["0"], 8);
    let first = RunFolder::open(&paths[0]).unwrap();
    let twice = [part(&first, &[0]), part(&first, &[0, 3])];
    assert!(matches!(merge(&out, &twice), Err(Error::Unfit(_))));
    assert!(!out.exists());

    drop(merge(&out, &[part(&first, &[0])]).unwrap());
    let before = fs::read(out.join(DATABASE)).unwrap();
    let held = RunFolder::lock_folder(&out).unwrap();
    assert!(matches!(held.rewrite_database(&about, TOML, ENDED, &twice), Err(Error::Unfit(_))));
    assert_eq!(fs::read(out.join(DATABASE)).unwrap(), before);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
}

/// A log beside the database holds trials that the database has not: it would be lost.
#[test]
fn a_run_that_was_killed_is_not_written_anew() {
    let (_dir, paths, _) = two();
    fs::write(paths[0].join(format!("{DATABASE}-wal")), "half").unwrap();
    let error = RunFolder::lock_folder(&paths[0]).err().expect("it is refused").to_string();
    assert!(error.contains("run.sqlite-wal is beside it") && error.contains("--resume"), "{error}");
}

fn member(shard: Option<u32>, canaries: u32, blocks: &[u32]) -> RunMember {
    RunMember {
        shard,
        host: HostIdentity { name: String::new(), boot: String::new() },
        machine: Machine { processors: if shard.is_some() { 2 } else { 64 }, ..Machine::default() },
        harness_s: 4e-8,
        load: None,
        neighbour_alone_per_second: shard.map(|_| 7.0),
        started_s: 0.0,
        ended_s: None,
        ahead_s: None,
        canaries,
        blocks: blocks.iter().map(|block| (*block, 4)).collect(),
        cuts: Vec::new(),
    }
}

#[test]
fn who_goes_on_with_a_merged_run_has_its_own_looks_rate_machine_and_end() {
    let (_dir, paths, _) = two();
    let mut folder = RunFolder::resume(&paths[0]).unwrap();
    folder.set_neighbour_alone(7.0).unwrap();
    assert_eq!(folder.own_canaries().unwrap().len(), 2, "all, where nothing was merged");

    let members = vec![member(Some(1), 2, &[0, 3]), member(None, 0, &[1])];
    let plan = "17".to_owned();
    let mut merged = Merged { plan, program_sha256: None, count: 2, members };
    folder.note_machines(&merged, 0).unwrap();
    assert_eq!(folder.run().unwrap().neighbour_alone_per_second, None, "it has measured none");
    folder.set_neighbour_alone(812.5).unwrap();
    folder.commit_canary(&canary(9.0)).unwrap();
    let own: Vec<f64> = folder.own_canaries().unwrap().iter().map(|it| it.at_s).collect();
    assert_eq!(own, [9.0]);
    let run = folder.run().unwrap();
    assert_eq!((run.neighbour_alone_per_second, run.machine_now().processors), (Some(812.5), 64));
    let noted = run.merged.unwrap().members;
    let rates: Vec<Option<f64>> = noted.iter().map(|it| it.neighbour_alone_per_second).collect();
    assert_eq!(rates, [Some(7.0), Some(812.5)]);

    merged.end_last(3, Some(5.0));
    let ends: Vec<_> = merged.members.iter().map(|it| (it.canaries, it.ended_s)).collect();
    assert_eq!(ends, [(2, None), (1, Some(5.0))]);
    // A later end is that of the folder, and not of this machine any more.
    merged.end_last(3, Some(6.0));
    assert_eq!((merged.members[1].ended_s, merged.count_trials()), (Some(5.0), 12));
}
