//! What trials cost, what they were opened with, and what is said of it.

use crate::data::{TrialGenerator, run};
use bakeoff_analysis::{Document, SyncCount, SyncObserver, WarningKind};
use bakeoff_results::measure::SYNCS;
use bakeoff_results::{Measures, RunFolder, Scope, Trial};

fn blocks(number: u32) -> Vec<Trial> {
    let mut generator = TrialGenerator::new(5, 10);
    (0..number).flat_map(|block| generator.block(block, block, ["1", "0"])).collect()
}

fn document(trials: &[Trial]) -> Document {
    let dir = crate::place();
    let run = run(&["1", "4"], &["0"], 32);
    let mut folder = RunFolder::create(&dir.path().join("run"), &run, "").unwrap();
    trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    bakeoff_analysis::document(&folder).unwrap()
}

/// All readings but those of syncs.
fn without_syncs(measures: &Measures) -> Measures {
    let mut others = Measures::default();
    let kept = measures.iter().filter(|reading| reading.name != SYNCS.name);
    kept.for_each(|reading| others.put(reading.clone()));
    others
}

fn scope(counter: SyncObserver) -> Scope {
    match counter {
        SyncObserver::Disk => Scope::Disk,
        SyncObserver::Kernel => Scope::DATABASE,
        SyncObserver::Device => Scope::Device,
    }
}

/// The commits of clients that are at work at once can share a sync, but not do without.
#[test]
fn a_strict_engine_that_does_not_sync_is_told() {
    let with = |syncs: Option<SyncCount>, durability: &str| {
        let mut trials = blocks(2);
        for trial in &mut trials {
            for (factor, level) in [("durability", durability), ("clients", "4")] {
                trial.levels.insert(factor.to_owned(), level.to_owned());
            }
            let measures = &mut trial.measured.as_mut().unwrap().measures;
            if trial.levels["engine"] == "beta" {
                *measures = without_syncs(measures);
                if let Some(SyncCount { counted_by, count }) = syncs {
                    measures.set(&SYNCS, scope(counted_by), count as f64);
                }
            }
        }
        let found = document(&trials).warnings.into_iter();
        let found = found.filter(|warning| warning.kind == WarningKind::NotSynced);
        found.map(|warning| warning.to_string()).collect::<Vec<_>>()
    };
    let syncs = |counted_by, count| Some(SyncCount { counted_by, count });
    // 10,000 commits of 4 clients, who can share 2500 syncs.
    for counter in [SyncObserver::Disk, SyncObserver::Kernel] {
        let found = with(syncs(counter, 600), "strict");
        assert_eq!(found.len(), 1, "{found:?}");
        for part in ["In 1 of 4 strict cells", "0.24", "engine beta", "power cut"] {
            assert!(found[0].contains(part), "{part} is not in {found:?}");
        }
        assert_eq!(with(syncs(counter, 1300), "strict"), [""; 0], "they shared them");
        assert_eq!(with(syncs(counter, 0), "relaxed"), [""; 0], "nobody promised any");
    }
    assert_eq!(with(syncs(SyncObserver::Device, 0), "strict"), [""; 0], "it may have no cache");
    assert_eq!(with(None, "strict"), [""; 0], "nobody counted");
}

/// Sums over the trials of a cell, and what follows from them.
#[test]
fn a_cell_costs_what_its_trials_cost() {
    let document = document(&blocks(2));
    let cost = document.cells[0].cost.unwrap();
    assert_eq!((cost.sums.commits, cost.sums.operations), (Some(20_000), 800));
    assert_eq!(cost.write_amplification, Some(2.0));
    assert_eq!(cost.syncs_per_commit, Some(1.2));
    assert_eq!(cost.engine_cpu_per_operation_s, Some(9.25 / 400.0));
    assert_eq!(document.cells[0].counters["commits"], 2 * 12_345);
}
