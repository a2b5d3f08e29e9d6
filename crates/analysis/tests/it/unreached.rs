//! Limits that were set and never reached.

use crate::data::{TrialGenerator, run};
use bakeoff_analysis::{Document, Unreached};
use bakeoff_results::measure::{
    CONCURRENCY, FLUSHES, MEMORY_LIMIT, MEMORY_PEAK, NOT_STARTED, OFFERED, READS, WRITES,
};
use bakeoff_results::{Measures, RunFolder, Scope};

/// The limits of a run on this disk that were not reached, `change` being made to each trial's measures.
fn unreached(disk: &str, change: impl Fn(&str, &mut Measures)) -> Vec<Unreached> {
    let dir = crate::place();
    let mut run = run(&["1"], &["x4"], 12);
    for (factor, level) in [("disk", disk), ("memory", "1G"), ("scale", "small"), ("rate", "50/s")]
    {
        run.factors.retain(|(name, _)| name != factor);
        run.factors.push((factor.into(), vec![level.into()]));
    }
    let mut folder = RunFolder::create(&dir.path().join("run"), &run, "").unwrap();
    let mut generator = TrialGenerator::new(5, 10);
    let trials = (0..3).flat_map(|block| generator.block(block, block, ["1", "x4"]));
    for mut trial in trials {
        for (factor, level) in
            [("disk", disk), ("memory", "1G"), ("scale", "small"), ("rate", "50/s")]
        {
            trial.levels.insert(factor.into(), level.into());
        }
        let measures = &mut trial.measured.as_mut().unwrap().measures;
        for (measure, value) in [(&READS, 900.0), (&WRITES, 900.0), (&FLUSHES, 9.0)] {
            measures.set(measure, Scope::Disk, value);
        }
        measures.set(&CONCURRENCY, Scope::Clients, 4.0);
        measures.set(&MEMORY_LIMIT, Scope::DATABASE, 1e9);
        measures.set(&MEMORY_PEAK, Scope::DATABASE, 0.95e9);
        change(trial.levels["engine"].trim_end_matches("@again"), measures);
        folder.commit_trial(&trial).unwrap();
    }
    let document: Document = bakeoff_analysis::document(&folder).unwrap();
    document.unreached
}

#[test]
fn limits_that_were_reached_are_not_told() {
    assert_eq!(unreached("ssd-sata", |_, _| {}), []);
}

#[test]
fn memory_that_no_engine_came_near_is_told_with_what_each_used() {
    let peak = |engine: &str| if engine == "beta" { 112e6 } else { 22e6 };
    let found = unreached("ssd-sata", |engine, measures| {
        measures.set(&MEMORY_PEAK, Scope::DATABASE, peak(engine));
    });
    let [Unreached::Memory { level, peaks, scale }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((level.as_str(), scale.as_deref()), ("1G", Some("small")));
    assert_eq!((peaks["alpha"], peaks["beta"]), (22e6, 112e6));
    // One engine that came near it is enough for the limit to say something.
    let one = unreached("ssd-sata", |engine, measures| {
        measures.set(&MEMORY_PEAK, Scope::DATABASE, if engine == "beta" { 0.99e9 } else { 22e6 });
    });
    assert_eq!(one, []);
}

#[test]
fn an_array_that_one_client_writes_to_is_told_twice() {
    let found = unreached("raid10:4×ssd-sata", |_, measures| {
        measures.set(&READS, Scope::Disk, 0.0);
        measures.set(&CONCURRENCY, Scope::Clients, 1.0);
    });
    let level = "raid10:4×ssd-sata".to_owned();
    let expected =
        [Unreached::DiskReads { level: level.clone() }, Unreached::OneClientOnArray { level }];
    assert_eq!(found, expected);
}

#[test]
fn neighbours_at_a_disk_that_nobody_else_went_to_are_told() {
    let found = unreached("ssd-sata", |_, measures| {
        for measure in [&READS, &WRITES, &FLUSHES] {
            measures.set(measure, Scope::Disk, 0.0);
        }
    });
    assert_eq!(found, [Unreached::Neighbours { level: "x4".into() }]);
}

#[test]
fn a_rate_that_all_keep_is_told_and_one_that_one_of_them_does_not_is_not() {
    let offered = |behind: &'static str| {
        move |engine: &str, measures: &mut Measures| {
            measures.set(&OFFERED, Scope::Clients, 50.0);
            let left = if engine == behind { 400.0 } else { 0.0 };
            measures.set(&NOT_STARTED, Scope::Clients, left);
        }
    };
    let found = unreached("ssd-sata", offered("nobody"));
    assert_eq!(found, [Unreached::Rate { level: "50/s".into() }]);
    assert_eq!(unreached("ssd-sata", offered("beta")), []);
}
