//! Prices of what engines asked of their disks.

use bakeoff_results::measure::*;

use super::on_disks::can_mount;
use super::{Place, measured};

const EXPERIMENT: &str = r#"
name = "priced"
workload = "redmine"
state = "steady"
engine = "sqlite"
durability = "strict"
clients = 2
disk = "ssd-sata"
seconds = 2
repetitions = 1
priced = true
"#;

#[test]
#[ignore = "slow: make test-slow"]
fn a_steady_trial_is_priced_beside_what_was_watched() {
    if !can_mount() {
        return;
    }
    let place = Place::new();
    place.write("priced.toml", EXPERIMENT);
    place.run(&["run", "priced.toml", "--out", "r"]).code(0);
    place.assert_clean("r");
    let document = place.json("r");
    for trial in document["trials"].as_array().unwrap() {
        let engine = trial["levels"]["engine"].as_str().unwrap();
        let measures = measured(trial);
        let of = |measure: &Measure, scope| {
            measures.get(measure, &scope).unwrap_or_else(|| panic!("{engine}"))
        };
        let disk = |measure: &Measure| of(measure, Scope::Disk);
        assert!(of(&TRACED_COMMITS, Scope::Clients) > 100.0 && disk(&TRACE) > 1000.0, "{engine}");
        let parts = disk(&PRICED_LOG) + disk(&PRICED_READS) + disk(&PRICED_PUT_OFF);
        assert!((parts / disk(&PRICED) - 1.0).abs() < 1e-6, "{engine}: {measures:?}");
        // A commit is flushed, which takes the device 1 ms, alone or with the other client's.
        assert!((0.0005..0.1).contains(&disk(&PRICED_LOG)), "{engine}: {measures:?}");
        assert!(disk(&PRICED_RATE) <= disk(&PRICED_RATE_MOST) * 1.001, "{engine}: {measures:?}");
        assert!((disk(&PRICED_RATE) * disk(&PRICED) - 1.0).abs() < 1e-6, "nobody else is there");
        if engine == "sqlite" {
            // It resets its log when all of it is in the file.
            assert!(of(&TRACED_TURNS, Scope::Trial) >= 3.0 && disk(&PRICED_PUT_OFF) > 0.0);
        }
    }
    for cell in document["cells"].as_array().unwrap() {
        let of = |name: &str| cell["priced"][name].as_f64().unwrap();
        // The device can serve at least as many as were watched, as far as the two agree.
        assert!(of("rate_most") > 0.8 * of("watched_rate"), "{cell}");
        assert!(of("watched_s") > 0.0);
    }
    place.run(&["report", "r"]).code(0).says(&["What a commit costs the disk: priced"]);
}

#[test]
fn what_can_not_be_priced_is_told_in_the_plan() {
    let place = Place::new();
    let dry = ["run", "redmine", "--quick", "--dry-run", "--priced", "--disk", "host"];
    let wrong = place.run(&dry).code(2);
    assert!(wrong.err().contains("--state steady"), "{}", wrong.err());
    assert!(wrong.err().contains("the disk `host` has no model"), "{}", wrong.err());
}
