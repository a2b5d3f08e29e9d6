//! What each row of the clients' work took, and what the rows take on disk: of trials whose figures are
//! known, so that every quotient can be worked out by hand.

use crate::data::{TrialGenerator, run};
use bakeoff_analysis::{CellView, Each, Lack, SpaceView, Unknown, WorkFigure};
use bakeoff_results::measure::*;
use bakeoff_results::{RunFolder, Scope, Trial};

/// The cell of alpha in a run of two blocks, of whose trials `change` makes something else.
fn alpha(change: impl Fn(&mut Trial)) -> CellView {
    let dir = crate::place();
    let mut folder =
        RunFolder::create(&dir.path().join("run"), &run(&["1"], &["0"], 8), "").unwrap();
    let mut generator = TrialGenerator::new(5, 10);
    for mut trial in (0..2).flat_map(|block| generator.block(block, block, ["1", "0"])) {
        change(&mut trial);
        folder.commit_trial(&trial).unwrap();
    }
    let cells = bakeoff_analysis::document(&folder).unwrap().cells;
    cells.into_iter().find(|cell| cell.levels["engine"] == "alpha").unwrap()
}

/// A trial in which all is counted, the first block's and the second's.
fn counted(trial: &mut Trial) {
    let second = trial.block == 1;
    let measures = &mut trial.measured.as_mut().unwrap().measures;
    for (measure, scope, each) in [
        (&WORK_ROWS, Scope::Clients, [1000.0, 3000.0]),
        (&CACHE_MISSES, Scope::Trial, [50.0, 30.0]),
        (&READS, Scope::Disk, [30.0, 10.0]),
        (&READ, Scope::Disk, [120e3, 40e3]),
        (&RETURNED, Scope::Clients, [6e3, 34e3]),
        (&LOADED, Scope::Trial, [20e6, 20e6]),
        (&SPACE, Scope::Trial, [30e6, 50e6]),
    ] {
        measures.set(measure, scope, each[usize::from(second)]);
    }
}

/// Takes readings of a trial away.
fn without(trial: &mut Trial, readings: &[(&Measure, Scope)]) {
    let measures = &mut trial.measured.as_mut().unwrap().measures;
    let mut kept = Measures::default();
    for reading in measures.iter() {
        let taken = |(measure, scope): &(&Measure, Scope)| {
            measure.name == reading.name && *scope == reading.scope
        };
        if !readings.iter().any(taken) {
            kept.put(reading.clone());
        }
    }
    *measures = kept;
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
    assert_eq!(cell.cost.unwrap().write_amplification, Some(2.0));
    assert_eq!(work.lacks, []);
    // 1.5 and 2.5 bytes on disk for each that was loaded.
    let space = SpaceView { loaded_bytes: 20_000_000, amplification: 2.0 };
    assert_eq!(cell.space, Some(space));
}

#[test]
fn what_is_not_known_of_each_trial_is_not_known_and_has_its_reason() {
    let cell = alpha(|trial| {
        counted(trial);
        if trial.block == 1 {
            without(trial, &[(&CACHE_MISSES, Scope::Trial), (&READS, Scope::Disk)]);
            without(trial, &[(&READ, Scope::Disk), (&CPU, Scope::DATABASE)]);
        }
        let measures = &mut trial.measured.as_mut().unwrap().measures;
        measures.set(&PAYLOAD, Scope::Clients, 0.0);
        measures.set(&RETURNED, Scope::Clients, 0.0);
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
    assert_eq!(work.lacks, lacks.map(|(figure, why)| Lack { figure, why }));
    let json = serde_json::to_value(work.lacks[0]).unwrap();
    assert_eq!(json, serde_json::json!({ "figure": "cache_misses", "why": "no-counter" }));
}

/// On the machine's own disk it is what the kernel counted for the processes of all groups.
#[test]
fn without_a_virtual_disk_the_bytes_are_those_of_the_processes() {
    let cell = alpha(|trial| {
        counted(trial);
        without(trial, &[(&READS, Scope::Disk), (&READ, Scope::Disk)]);
        let measures = &mut trial.measured.as_mut().unwrap().measures;
        measures.set(&READ, Scope::DATABASE, 5e3);
        measures.set(&READ, Scope::Processes("web".into()), 1e3);
        measures.set(&READ, Scope::DISK_DAEMON, 7e9);
        measures.set(&READ, Scope::Device, 9e9);
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
