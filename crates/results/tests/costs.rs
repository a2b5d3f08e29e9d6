//! What trials cost, what they were opened with, and what is said of it.

#[path = "../examples/synthetic/data.rs"]
mod data;

use bakeoff_results::{Counter, Document, RunFolder, Syncs, Trial};
use data::{Trials, run};

fn blocks(number: u32) -> Vec<Trial> {
    let mut generator = Trials::new(5, 10);
    (0..number).flat_map(|block| generator.block(block, block, ["1", "0"])).collect()
}

fn document(trials: &[Trial]) -> Document {
    let dir = tempfile::tempdir().unwrap();
    let run = run(&["1", "4"], &["0"], 32);
    let mut folder = RunFolder::create(&dir.path().join("run"), &run, "").unwrap();
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    folder.document().unwrap()
}

/// The commits of clients that are at work at once can share a sync, but not do without.
#[test]
fn a_strict_engine_that_does_not_sync_is_told() {
    let with = |syncs: Option<Syncs>, durability: &str| {
        let mut trials = blocks(2);
        for trial in &mut trials {
            for (factor, level) in [("durability", durability), ("clients", "4")] {
                trial.levels.insert(factor.to_owned(), level.to_owned());
            }
            let facts = &mut trial.measured.as_mut().unwrap().facts;
            if trial.levels["engine"] == "beta" {
                facts.cost.as_mut().unwrap().syncs = syncs;
            }
        }
        let found = document(&trials).warnings;
        found.into_iter().filter(|warning| warning.contains("did not sync")).collect::<Vec<_>>()
    };
    let syncs = |counted_by, count| Some(Syncs { counted_by, count });
    // 10,000 commits of 4 clients, who can share 2500 syncs.
    for counter in [Counter::Disk, Counter::Kernel] {
        let found = with(syncs(counter, 600), "strict");
        assert_eq!(found.len(), 1, "{found:?}");
        for part in ["In 1 of 4 strict cells", "0.24", "engine beta", "power cut"] {
            assert!(found[0].contains(part), "{part} is not in {found:?}");
        }
        assert_eq!(with(syncs(counter, 1300), "strict"), [""; 0], "they shared them");
        assert_eq!(with(syncs(counter, 0), "relaxed"), [""; 0], "nobody promised any");
    }
    assert_eq!(with(syncs(Counter::Device, 0), "strict"), [""; 0], "it may have no cache");
    assert_eq!(with(None, "strict"), [""; 0], "nobody counted");
}

/// A run of a bakeoff that counted no costs: what it did not write is not known, and all else
/// is as it was.
#[test]
fn older_runs_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let mut folder = RunFolder::create(&path, &run(&["16"], &["0"], 8), "").unwrap();
    for trial in blocks(2) {
        folder.commit_trial(&trial).unwrap();
    }
    drop(folder);
    let connection = rusqlite::Connection::open(path.join(bakeoff_results::DATABASE)).unwrap();
    let older = [
        "UPDATE run SET description = json_remove(description, '$.applied')",
        "UPDATE trial SET facts = json_remove(facts, '$.cost', '$.memory',
             '$.disk.drain_write_bytes', '$.disk.syncs')",
    ];
    for sql in older {
        assert!(connection.execute(sql, []).unwrap() > 0);
    }
    drop(connection);
    let document = RunFolder::open(&path).unwrap().document().unwrap();
    assert!(document.run.run.applied.is_empty());
    assert_eq!(document.cells.len(), 4);
    assert!(document.cells.iter().all(|cell| cell.cost.is_none() && cell.space_bytes > Some(0)));
    let facts = document.trials[0].facts.as_ref().unwrap();
    assert_eq!((facts.cost, facts.memory), (None, None));
    assert_eq!(facts.disk.unwrap().syncs, None);
    assert_eq!(facts.disk.unwrap().writes, 500);
}

/// Sums over the trials of a cell, and what follows from them.
#[test]
fn a_cell_costs_what_its_trials_cost() {
    let document = document(&blocks(2));
    let cost = document.cells[0].cost.unwrap();
    assert_eq!((cost.sums.commits, cost.sums.operations), (20_000, 800));
    assert_eq!(cost.write_amplification, Some(2.0));
    assert_eq!(cost.syncs_per_commit, Some(1.2));
    assert_eq!(cost.engine_cpu_per_operation_s, Some(9.25 / 400.0));
    assert_eq!(document.cells[0].counters["commits"], 2 * 12_345);
}

/// What an engine was opened with is noted once for each combination of terms.
#[test]
fn terms_are_noted_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder =
        RunFolder::create(&dir.path().join("run"), &run(&["16"], &["0"], 8), "").unwrap();
    let noted = folder.run().unwrap().applied;
    let mut other = noted[0].clone();
    folder.note_applied(&other).unwrap();
    assert_eq!(folder.run().unwrap().applied, noted);
    other.memory = "512M".to_owned();
    folder.note_applied(&other).unwrap();
    assert_eq!(folder.run().unwrap().applied, [noted[0].clone(), other]);
}
