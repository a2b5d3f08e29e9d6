//! The sentence of a run that compares another factor than the engine over several cells.

use bakeoff_analysis::Document;
use bakeoff_report::verdict;

use crate::sample::Sample;

/// The levels of a sample's engines as those of another factor.
fn by_step(sample: &Sample) -> Document {
    let mut document = sample.document();
    document.run.run.compare = "step".into();
    document.run.run.factors[0].0 = "step".into();
    let trials = document.trials.iter_mut().map(|trial| &mut trial.levels);
    for levels in trials.chain(document.cells.iter_mut().map(|cell| &mut cell.levels)) {
        let level = levels.remove("engine").expect("a level");
        levels.insert("step".into(), level);
    }
    for comparison in document.comparisons.iter_mut().chain(&mut document.between) {
        comparison.factor = "step".into();
    }
    document
}

/// Of a factor that takes work away the fastest level is no answer: what each takes away is.
#[test]
fn each_level_of_another_factor_is_told_against_the_first() {
    let sample = Sample {
        engines: vec!["whole", "read", "stub"],
        factors: vec![("clients", vec!["1", "4"])],
        operations: vec!["page"],
        mean: |_, levels| match (levels["engine"].as_str(), levels["clients"].as_str()) {
            ("read", "1") => 0.010 / 1.02,
            ("read", _) => 0.010 / 2.0,
            ("stub", "1") => 0.010 / 4.0,
            ("stub", _) => 0.010 / 8.0,
            _ => 0.010,
        },
        ..Sample::default()
    };
    assert_eq!(
        verdict(&by_step(&sample)),
        "Step read is 1.0 to 2.0 times as fast as step whole (faster in 1 of 2 comparisons, fastest with 4 clients); \
         step stub is 4.0 to 8.0 times as fast (faster in both comparisons, fastest with 4 clients)."
    );
}

#[test]
fn what_turns_a_level_of_another_factor_round_is_named() {
    let sample = Sample {
        engines: vec!["small", "big"],
        factors: vec![("clients", vec!["1", "4"])],
        operations: vec!["page"],
        mean: |_, levels| {
            let turned = levels["clients"] == "4";
            if (levels["engine"] == "big") == turned { 0.010 } else { 0.020 }
        },
        ..Sample::default()
    };
    assert_eq!(
        verdict(&by_step(&sample)),
        "Step big against step small depends on clients: faster with 4 clients (2.0 times as fast), slower with 1 \
         client (2.0 times as long)."
    );
}
