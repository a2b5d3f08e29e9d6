//! What the clients' work took, what the rows take on disk, and which syncs there were: of trials whose figures are
//! known, so that every quotient can be worked out by hand.

use bakeoff_analysis::{
    CellView, Document, Each, MissingFigure, SpaceView, SyncObserver, Unknown, WarningKind,
    WorkFigure,
};
use bakeoff_results::Trial;
use bakeoff_results::measure::*;

use crate::known::{assert_has, blocks, cell, document, plain_run, read, set, told, without};

/// The cell of alpha in a run of two blocks, of whose trials `change` makes something else.
fn alpha(change: impl Fn(&mut Trial)) -> CellView {
    let mut trials = blocks(2);
    trials.iter_mut().for_each(change);
    cell(&read(&plain_run(8), &trials), "alpha").clone()
}

/// A trial in which all is counted, the first block's and the second's.
fn counted(trial: &mut Trial) {
    let second = trial.block == 1;
    for (measure, scope, each) in [
        (&WORK_ROWS, Scope::Clients, [1000.0, 3000.0]),
        (&CACHE_MISSES, Scope::Trial, [50.0, 30.0]),
        (&READS, Scope::Disk, [30.0, 10.0]),
        (&READ, Scope::Disk, [120e3, 40e3]),
        (&RETURNED, Scope::Clients, [6e3, 34e3]),
        (&LOADED, Scope::Trial, [20e6, 20e6]),
        (&SPACE, Scope::Trial, [30e6, 50e6]),
    ] {
        set(trial, measure, scope, each[usize::from(second)]);
    }
}

#[test]
fn a_figure_is_the_sum_of_all_trials_over_their_rows() {
    let cell = alpha(counted);
    let work = cell.work.unwrap();
    assert_eq!((work.each, work.units), (Each::Row, 4000));
    assert_eq!(work.cache_misses, Some(80.0 / 4000.0));
    assert_eq!((work.device_reads, work.device_read_bytes), (Some(0.01), Some(40.0)));
    assert_eq!((work.engine_cpu_s, work.client_cpu_s), (Some(18.5 / 4000.0), Some(3.0 / 4000.0)));
    assert_eq!(work.read_amplification, Some(160.0 / 40.0));
    assert_eq!(work.lacks, []);
    // 1.5 and 2.5 bytes on disk for each that was loaded.
    let space = SpaceView { loaded_bytes: 20_000_000, amplification: 2.0 };
    assert_eq!(cell.space, Some(space));
    // Sums over both trials, and what follows from them.
    let cost = cell.cost.unwrap();
    assert_eq!((cost.sums.commits, cost.sums.operations), (Some(20_000), 800));
    assert_eq!((cost.write_amplification, cost.syncs_per_commit), (Some(2.0), Some(1.2)));
    assert_eq!(cost.engine_cpu_per_operation_s, Some(9.25 / 400.0));
    assert_eq!(cell.counters["commits"], 2 * 12_345);
}

#[test]
fn what_is_not_known_of_each_trial_is_not_known_and_has_its_reason() {
    let cell = alpha(|trial| {
        counted(trial);
        if trial.block == 1 {
            without(
                trial,
                &[
                    (&CACHE_MISSES, Scope::Trial),
                    (&READS, Scope::Disk),
                    (&READ, Scope::Disk),
                    (&CPU, Scope::DATABASE),
                ],
            );
        }
        set(trial, &PAYLOAD, Scope::Clients, 0.0);
        set(trial, &RETURNED, Scope::Clients, 0.0);
    });
    let work = cell.work.unwrap();
    assert_eq!((work.cache_misses, work.device_reads), (None, None));
    assert_eq!((work.device_read_bytes, work.engine_cpu_s), (None, None));
    assert_eq!((work.read_amplification, work.client_cpu_s), (None, Some(3.0 / 4000.0)));
    let lacks = [
        (WorkFigure::CacheMisses, Unknown::NoCounter),
        (WorkFigure::DeviceReads, Unknown::NoVirtualDisk),
        (WorkFigure::DeviceReadBytes, Unknown::Elsewhere),
        (WorkFigure::EngineCpuS, Unknown::Elsewhere),
        (WorkFigure::WriteAmplification, Unknown::NothingChanged),
        (WorkFigure::ReadAmplification, Unknown::NothingReturned),
    ];
    assert_eq!(work.lacks, lacks.map(|(figure, why)| MissingFigure { figure, why }));
    let json = serde_json::to_value(work.lacks[0]).unwrap();
    assert_eq!(json, serde_json::json!({ "figure": "cache_misses", "why": "no-counter" }));
}

/// On the machine's own disk it is what the kernel counted for the processes of all groups.
#[test]
fn without_a_virtual_disk_the_bytes_are_those_of_the_processes() {
    let cell = alpha(|trial| {
        counted(trial);
        without(trial, &[(&READS, Scope::Disk), (&READ, Scope::Disk)]);
        set(trial, &READ, Scope::DATABASE, 5e3);
        set(trial, &READ, Scope::Processes("web".into()), 1e3);
        set(trial, &READ, Scope::DISK_DAEMON, 7e9);
        set(trial, &READ, Scope::Device, 9e9);
    });
    let work = cell.work.unwrap();
    assert_eq!(work.device_read_bytes, Some(12e3 / 4000.0));
    assert_eq!(work.read_amplification, Some(12e3 / 40e3));
    assert_eq!(work.why_not(WorkFigure::DeviceReads), Some(Unknown::NoVirtualDisk));
}

#[test]
fn without_rows_a_figure_is_of_an_operation_and_only_where_a_device_is_modelled() {
    let rowless = |trial: &mut Trial| {
        counted(trial);
        without(trial, &[(&WORK_ROWS, Scope::Clients)]);
    };
    let work = alpha(rowless).work.unwrap();
    assert_eq!((work.each, work.units), (Each::Operation, 800));
    assert_eq!(work.device_reads, Some(40.0 / 800.0));
    let neither = alpha(|trial| {
        rowless(trial);
        without(trial, &[(&READS, Scope::Disk)]);
    });
    assert_eq!(neither.work, None);
}

/// The commits of clients that are at work at once can share a sync, but not do without.
#[test]
fn a_strict_engine_that_does_not_sync_is_told() {
    let with = |syncs: Option<(SyncObserver, f64)>, durability: &str| {
        let mut trials = blocks(2);
        for trial in &mut trials {
            trial.levels.insert("durability".into(), durability.into());
            trial.levels.insert("clients".into(), "4".into());
            if trial.levels["engine"] == "beta" {
                without(trial, &[(&SYNCS, Scope::Disk)]);
                if let Some((counted_by, count)) = syncs {
                    let scope = match counted_by {
                        SyncObserver::Disk => Scope::Disk,
                        SyncObserver::Kernel => Scope::DATABASE,
                        SyncObserver::Device => Scope::Device,
                    };
                    set(trial, &SYNCS, scope, count);
                }
            }
        }
        let found: Document = document(&trials);
        told(&found, WarningKind::NotSynced)
    };
    // 10,000 commits of 4 clients, who can share 2500 syncs.
    for counter in [SyncObserver::Disk, SyncObserver::Kernel] {
        let found = with(Some((counter, 600.0)), "strict");
        assert_has(&found, &["In 1 of 4 strict cells", "0.24", "engine beta", "power cut"]);
        assert_eq!(with(Some((counter, 1300.0)), "strict"), "", "they shared them");
        assert_eq!(with(Some((counter, 0.0)), "relaxed"), "", "nobody promised any");
    }
    assert_eq!(with(Some((SyncObserver::Device, 0.0)), "strict"), "", "it may have no cache");
    assert_eq!(with(None, "strict"), "", "nobody counted");
}
