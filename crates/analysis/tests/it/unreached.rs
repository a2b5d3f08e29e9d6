//! Limits that were set and never reached.

use bakeoff_analysis::UnreachedLimit;
use bakeoff_results::measure::{
    CONCURRENCY, FLUSHES, MEMORY_LIMIT, MEMORY_PEAK, NOT_STARTED, OFFERED, READS, WRITES,
};
use bakeoff_results::{Measures, Scope};
use bakeoff_testkit::synthetic::run;

use crate::known::{blocks_at, measured, read};

/// The limits of a run on this disk that were not reached, `change` being made to each trial's measures.
fn unreached(disk: &str, change: impl Fn(&str, &mut Measures)) -> Vec<UnreachedLimit> {
    let mut run = run(&["1"], &["x4"], 12);
    let mut trials = blocks_at(3, ["1", "x4"]);
    for (factor, level) in [("disk", disk), ("memory", "1G"), ("scale", "small"), ("rate", "50/s")]
    {
        run.factors.push((factor.into(), vec![level.into()]));
        trials.iter_mut().for_each(|it| drop(it.levels.insert(factor.into(), level.into())));
    }
    for trial in &mut trials {
        let engine = trial.levels["engine"].trim_end_matches("@again").to_owned();
        let measures = &mut measured(trial).measures;
        for (measure, value) in [(&READS, 900.0), (&WRITES, 900.0), (&FLUSHES, 9.0)] {
            measures.set(measure, Scope::Disk, value);
        }
        measures.set(&CONCURRENCY, Scope::Clients, 4.0);
        measures.set(&MEMORY_LIMIT, Scope::DATABASE, 1e9);
        measures.set(&MEMORY_PEAK, Scope::DATABASE, 0.95e9);
        change(&engine, measures);
    }
    read(&run, &trials).unreached
}

#[test]
fn memory_that_no_engine_came_near_is_told_with_what_each_used() {
    assert_eq!(unreached("ssd-sata", |_, _| {}), [], "all limits were reached");
    let peaks = |beta: f64| {
        unreached("ssd-sata", move |engine, measures| {
            measures.set(&MEMORY_PEAK, Scope::DATABASE, if engine == "beta" { beta } else { 22e6 });
        })
    };
    let found = peaks(112e6);
    let [UnreachedLimit::Memory { level, peaks: used, scale }] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!((level.as_str(), scale.as_deref()), ("1G", Some("small")));
    assert_eq!((used["alpha"], used["beta"]), (22e6, 112e6));
    // One engine that came near it is enough for the limit to say something.
    assert_eq!(peaks(0.99e9), []);
}

#[test]
fn an_array_that_one_client_writes_to_is_told_twice() {
    let found = unreached("raid10:4×ssd-sata", |_, measures| {
        measures.set(&READS, Scope::Disk, 0.0);
        measures.set(&CONCURRENCY, Scope::Clients, 1.0);
    });
    let level = "raid10:4×ssd-sata".to_owned();
    let reads = UnreachedLimit::DiskReads { level: level.clone() };
    assert_eq!(found, [reads, UnreachedLimit::OneClientOnArray { level }]);
}

#[test]
fn neighbours_at_a_disk_that_nobody_else_went_to_are_told() {
    let found = unreached("ssd-sata", |_, measures| {
        for measure in [&READS, &WRITES, &FLUSHES] {
            measures.set(measure, Scope::Disk, 0.0);
        }
    });
    assert_eq!(found, [UnreachedLimit::Neighbours { level: "x4".into() }]);
}

#[test]
fn a_rate_that_all_keep_is_told_and_one_that_one_of_them_does_not_is_not() {
    let rate = UnreachedLimit::Rate { level: "50/s".into() };
    for (behind, expected) in [("nobody", vec![rate]), ("beta", vec![])] {
        let found = unreached("ssd-sata", |engine, measures| {
            measures.set(&OFFERED, Scope::Clients, 50.0);
            let left = if engine == behind { 400.0 } else { 0.0 };
            measures.set(&NOT_STARTED, Scope::Clients, left);
        });
        assert_eq!(found, expected);
    }
}
