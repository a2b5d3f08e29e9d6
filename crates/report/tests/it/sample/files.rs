//! A run that compares disks.

use bakeoff_analysis::Document;
use bakeoff_results::Levels;

use super::Sample;

/// What is measured of files.
const KEPT: [&str; 6] =
    ["operations", "work-written", "space", "rise", "rise-error", "rise-seconds"];

/// A run of files on disks: no engine, no durability, no commits.
pub fn files() -> Document {
    let mut sample = Sample { engines: vec!["host", "hdd-7200"], ..Sample::default() };
    sample.factors = vec![("depth", vec!["1", "64"]), ("scale", vec!["small"])];
    sample.operations = vec!["write"];
    sample.mean = |_, levels| if levels["engine"] == "host" { 0.001 } else { 0.012 };
    let mut document = sample.document();
    let run = &mut document.run.run;
    (run.compare, run.baseline, run.workload) = ("disk".into(), "host".into(), "fileio".into());
    run.factors[0].0 = "disk".into();
    (run.engines, run.applied) = (Vec::new(), Vec::new());
    let rename = |levels: &mut Levels| {
        let disk = levels.remove("engine").expect("the sample compares engines");
        levels.insert("disk".into(), disk);
    };
    for trial in &mut document.trials {
        rename(&mut trial.levels);
        trial.measures = trial.measures.iter().filter(|it| KEPT.contains(&&*it.name)).fold(
            bakeoff_results::Measures::default(),
            |mut kept, it| {
                kept.put(it.clone());
                kept
            },
        );
    }
    for cell in &mut document.cells {
        rename(&mut cell.levels);
        cell.cost =
            bakeoff_analysis::WorkCost::from_measures(&document.trials[0].measures).map(Into::into);
        cell.counters.clear();
    }
    for comparison in &mut document.comparisons {
        comparison.factor = "disk".into();
    }
    document
}
