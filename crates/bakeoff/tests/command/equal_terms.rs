//! Engines that do not give a preset's level of durability: all are planned at another one, or none is run.

use super::Place;

/// An engine without `relaxed` beside one that has every level; neither is started.
const ENGINES: &str = "tarantool:memtx,sqlite";

#[test]
fn a_preset_is_planned_at_a_level_that_every_chosen_engine_gives() {
    let place = Place::new();
    let plan = |preset: &str| {
        place.run(&["run", preset, "--quick", "--engine", ENGINES, "--dry-run"]).code(0)
    };
    let one = plan("text-oltp");
    let all = "text-oltp is at durability relaxed; tarantool:memtx does not give that, so all run at strict\n";
    assert!(one.err().contains(all), "{}", one.err());
    assert!(one.out().contains("durability strict"), "{}", one.out());
    assert!(!one.out().contains("durability relaxed"), "{}", one.out());
    // Of several levels one is left; on this machine's own disk, too, where there is no virtual one.
    let two = plan("redmine");
    let alone = "tarantool:memtx does not give relaxed, so all run at strict alone\n";
    assert_eq!(two.err().matches(alone).count(), 1, "{}", two.err());
    assert!(two.out().contains("durability strict"), "{}", two.out());
    assert!(!two.out().contains("durability relaxed"), "{}", two.out());
}

#[test]
fn a_level_that_somebody_chose_is_refused_with_what_works() {
    let place = Place::new();
    let engines = ["--engine", ENGINES];
    let refused = |experiment: &str, flags: &[&str]| {
        for more in [&[][..], &["--dry-run"]] {
            let arguments = [&["run", experiment, "--quick"][..], &engines, flags, more].concat();
            let done = place.run(&arguments).code(2).says(&[
                "nothing is left to compare",
                "tarantool:memtx × durability relaxed",
                "every engine here gives strict: --durability strict",
            ]);
            assert!(!done.err().contains("so all run at"), "{}", done.err());
        }
    };
    refused("text-oltp", &["--durability", "relaxed"]);
    refused("text-oltp", &["--factor", "durability=relaxed"]);
    let mine = "workload = \"point\"\nengine = \"sqlite\"\ndurability = \"relaxed\"\n[quick]\nseconds = 1\n";
    place.write("mine.toml", mine);
    refused("mine.toml", &[]);
    // What promises less than was asked for takes no place by itself.
    let logged = "tarantool:memtx/wal_mode=write,sqlite";
    place
        .run(&["run", "text-oltp", "--quick", "--engine", logged, "--dry-run"])
        .code(2)
        .says(&["nothing is left to compare", "every engine here gives none: --durability none"]);
}

#[test]
fn a_plan_without_a_limit_of_memory_tells_each_cache_and_which_engine_has_nothing_beside_it() {
    let place = Place::new();
    let plan = |scale: &str, durability: &str| {
        let engines = "engine = ['mariadb:innodb', 'sqlite']\ndurability = ";
        place.write(
            "mine.toml",
            &format!("workload = 'oltp'\n{engines}'{durability}'\nscale = '{scale}'\n"),
        );
        place.run(&["run", "mine.toml", "--dry-run"]).code(0)
    };
    let outgrown = "don't fit its own cache of 268 MB, and it reads past the system's page cache";
    let large = plan("10M", "strict").says(&[
        "cache at memory unlimited: mariadb:innodb has innodb_buffer_pool_size = 268435456 bytes: 256 MiB",
        "cache at memory unlimited: sqlite has cache_size = 268435456 bytes: 256 MiB",
        outgrown,
    ]);
    assert_eq!(large.out().matches(outgrown).count(), 1, "{}", large.out());
    assert!(!large.out().contains("of a memory limit"), "{}", large.out());
    // Neither where all fits, nor where the level has it read through the page cache.
    for small in [plan("10k", "strict"), plan("10M", "none")] {
        assert!(!small.out().contains(outgrown), "{}", small.out());
    }
}
