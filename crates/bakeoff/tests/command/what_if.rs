//! `bakeoff whatif`: changes of a server's settings, tried on a private twin.

use super::Place;
use super::servers::installed;

/// PostgreSQL takes this line by line.
const CONFIGURATION: &str = "work_mem = '4MB'\nmax_connections = 50\nfull_page_writes = on\n\
                             shared_preload_libraries = 'planted'\ninclude 'more.conf'\n";

#[test]
fn each_change_is_told_before_it_is_tried() {
    if !installed(&["postgres"]) {
        return;
    }
    let place = Place::new();
    place.write("pg.conf", CONFIGURATION);
    let asked = |flags: &str, code| {
        place.typed(&format!("whatif --like pg.conf --workload point --dry-run {flags}")).code(code)
    };
    let told = asked("--try work_mem=8MB --try fsync=off --try bogus=1 --try jit=on", 0).out();
    for line in [
        "postgres with the settings of pg.conf keeps every commit at a power cut\n",
        "work_mem 4MB → 8MB\n    you asked for it\n",
        "fsync on → off\n    you asked for it; may lose or break anything at a power cut\n",
        "jit on → on\n    not tried: the server has this value\n",
        "unrecognized configuration parameter \"bogus\"",
        "the twin can't have: shared_preload_libraries\n",
        "    commits that do not wait for the disk; may lose up to a second at a power cut (postgresql.org",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
    assert!(!told.contains("work_mem 4MB → 64MB"), "the user's value stands instead: {told}");
    for (configuration, flags, said) in [
        ("shared_buffers = '900GB'\n", "", "shared_buffers = 900GB, and there are"),
        ("<html>\n", "", "pg.conf:1: no setting"),
        ("work_mem = 4MB\n", "--memory 900T", "more than this machine has"),
        ("work_mem = 4MB\n", "--memory much", "takes a size, such as 4G"),
        ("work_mem = 4MB\n", "--try work_mem", "work_mem=64MB"),
    ] {
        place.write("pg.conf", configuration);
        let told = asked(flags, 2).err();
        assert!(told.contains(said), "{configuration}: {told}");
    }
    let left = std::fs::read_dir(place.path(".")).unwrap().count();
    assert_eq!(left, 1, "nothing but the file is there");
}

/// The planted one would be the fastest, and weakens the promise.
#[test]
#[ignore = "slow: make test-slow"]
fn what_weakens_the_promise_is_measured_and_never_advised() {
    if !installed(&["postgres"]) {
        return;
    }
    let place = Place::new();
    place.write("pg.conf", CONFIGURATION);
    let tries = "--only --try synchronous_commit=off --try wal_init_zero=off --try bogus=1";
    let short = "--quick --seconds 0.5 --clients 1 --out w";
    let command = format!("whatif --like pg.conf --workload ledger {tries} {short}");
    let told = place.typed(&command).code(0).out();
    let (free, price) = told.split_once("The price of the promise.").expect("a lane of its own");
    assert!(
        free.contains("wal_init_zero on → off") || free.contains("wal_init_zero by itself → off")
    );
    assert!(free.contains("not tried") && free.contains("bogus"), "{told}");
    let (lane, advice) = price.split_once("\n\n").expect("an advice");
    assert!(lane.contains("synchronous_commit on → off, transact: "), "{told}");
    assert!(lane.contains("it may lose up to a second at a power cut; "), "{told}");
    assert!(lane.contains("syncs "), "its cause is told: {told}");
    assert!(!advice.contains("synchronous_commit"), "{told}");
    assert!(told.contains("w/screen/report.html"), "{told}");
    // The run of the present settings and of both changes, each at the level that it keeps.
    let document = place.json("w/screen");
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 9, "{trials:?}");
    for trial in trials {
        let weak = trial["levels"]["engine"] == "postgres/synchronous_commit=off";
        let level = if weak { "relaxed" } else { "strict" };
        assert_eq!(trial["levels"]["durability"], level);
    }
    // The text is kept, and a folder that holds something is refused before anything is run.
    let kept = std::fs::read_to_string(place.path("w/whatif.txt")).unwrap();
    assert!(told.contains(&kept), "{kept}");
    let refused = place.typed(&command).code(3).err();
    assert!(refused.contains("w exists and is not empty"), "{refused}");
}
