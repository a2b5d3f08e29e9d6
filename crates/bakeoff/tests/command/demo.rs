//! What somebody sees first: the preset `demo`.

use super::Place;
use super::on_disks::can_mount;

#[test]
#[ignore = "slow: make test-slow"]
fn the_demo_ends_in_an_answer_for_each_promise_what_it_costs_and_what_was_lost() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    // A busy machine takes longer, and runs as many blocks all the same.
    let done = place.run(&["run", "demo", "--quick", "--max-time", "30min", "--out", "r"]);
    // A promise that was broken is a finding.
    let code = done.0.status.code();
    assert!(code == Some(0) || code == Some(6), "{code:?}: {}", done.err());
    place.assert_clean("r");
    let document = place.json("r");
    assert_eq!(document["run"]["operations_each"], 50);
    let conditions = document["conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 2, "{conditions:?}");
    assert!(conditions.iter().all(|it| it["blocks"].as_u64() >= Some(3)), "{conditions:?}");
    let cuts = document["cuts"].as_array().unwrap();
    assert_eq!(cuts.len(), 30, "5 of 3 engines at 2 levels");
    assert!(cuts.iter().all(|cut| cut["failed"].is_null()), "{cuts:?}");
    // Markdown does not break a sentence into lines.
    place.run(&["report", "r", "--format", "md"]).code(0).says(&[
        "With every commit kept",
        "If the last second may be lost",
        "What does keeping every commit cost?",
        "What was lost when the power was cut?",
    ]);
}
