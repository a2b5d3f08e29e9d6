//! Tarantool in runs: every workload over tables, on both of its storages.

use bakeoff_workloads::WORKLOADS;

use super::Place;
use super::servers::{installed, trials};

#[test]
#[ignore = "slow: make test-slow"]
fn every_workload_runs_on_both_storages_and_is_answered_as_by_sqlite() {
    if !installed(&["tarantool:memtx", "tarantool:vinyl"]) {
        return;
    }
    for workload in WORKLOADS {
        let (place, name) = (Place::new(), workload.name());
        let engines = "engine = [\"sqlite\", \"tarantool:memtx\", \"tarantool:vinyl\"]\n";
        let terms = "durability = \"strict\"\nclients = 2\nseconds = 1\nrepetitions = 1\n";
        place.write("mine.toml", &format!("workload = \"{name}\"\n{engines}{terms}"));
        let run = ["run", "mine.toml", "--noise-floor", "false", "--quiet", "--out", "r"];
        place.run(&run).code(0);
        place.assert_clean("r");
        let document = place.json("r");
        let trials = trials(&document);
        assert_eq!(trials.len(), 3, "{name}: {document}");
        for (engine, trial) in trials {
            assert_eq!(trial["valid"], true, "{name} on {engine}: {trial}");
            let operations = trial["operations"].as_array().unwrap();
            let sum =
                |what: &str| operations.iter().map(|it| it[what].as_u64().unwrap()).sum::<u64>();
            let (ended, errors) = (sum("count"), sum("errors"));
            assert!(ended > 0 && errors == 0, "{name} on {engine}: {trial}");
        }
        let warnings = document["warnings"].as_array().unwrap();
        let differ = warnings.iter().find(|it| it["code"] == "answers-differ");
        assert_eq!(differ, None, "{name}");
    }
}
