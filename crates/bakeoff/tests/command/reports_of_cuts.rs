//! Reports of power cuts: this run's own, and those of another.

use bakeoff_testkit::in_time;
use serde_json::{Value, json};

use super::Place;
use super::on_disks::can_mount;

/// Power cuts of two engines, and no trial.
const CUTS: [&str; 16] = [
    "run",
    "power-cut",
    "--engine",
    "sqlite,lmdb",
    "--durability",
    "strict,relaxed",
    "--keep",
    "prefix",
    "--cuts",
    "2",
    "--repetitions",
    "0",
    "--quiet",
    "--out",
    "cuts",
    "--seed=3",
];

/// Latencies of the same engines, and no power cut.
const TIMED: &str = r#"
name = "timed"
workload = "point"
engine = ["sqlite", "lmdb"]
durability = ["strict"]
seconds = 0.5
repetitions = 1
"#;

/// Writes into a run folder that a cut of sqlite at strict had lost something.
fn lose(place: &Place, folder: &str) {
    let database = rusqlite::Connection::open(place.path(folder).join("run.sqlite")).unwrap();
    let changed = database.execute(
        "UPDATE cut SET facts = json_set(facts, '$.judged[0].verdict.lost', 5), broken = 1
         WHERE engine = 'sqlite' AND durability = 'strict' AND number = 0",
        (),
    );
    assert_eq!(changed.unwrap(), 1);
}

#[test]
#[ignore = "slow: make test-slow"]
fn what_power_cuts_found_can_be_had_in_every_form_and_beside_the_latencies_of_another_run() {
    if !can_mount() {
        return;
    }
    // A checkpoint of sqlite's at `relaxed` that waits for a processor loses more than the second that it may. No other
    // promise goes by time.
    let (place, done) = in_time("a quiet moment", |_| {
        let place = Place::new();
        let done = place.run(&CUTS);
        if done.0.status.code() != Some(6) {
            return Some((place, done));
        }
        let document = place.json("cuts");
        let promises = document["promises"].as_array().unwrap().iter();
        for broken in promises.filter(|it| it["kept"] == false) {
            assert_eq!(
                [&broken["engine"], &broken["durability"]],
                ["sqlite", "relaxed"],
                "{broken}"
            );
        }
        None
    });
    done.code(0).says(&["No promise was broken in 8 power cuts (2 of each: at most 78 in 100 break it). With the last "]);

    let rows = place.run(&["report", "cuts", "--format", "csv"]).code(0).out();
    assert_eq!(rows.lines().count(), 9, "a header, and a row a cut and rule: {rows}");
    let asked = place.run(&["report", "cuts", "--format", "csv", "--rows", "cuts"]).code(0).out();
    assert_eq!(asked, rows);
    place.run(&["report", "cuts", "--rows", "cuts"]).code(2).says(&["--format csv"]);

    let document = place.json("cuts");
    let promised = |engine: &str| {
        let promises = document["promises"].as_array().unwrap().iter();
        let found = |it: &&Value| it["engine"] == engine && it["durability"] == "relaxed";
        promises.clone().find(found).map(|it| it["promised"]["whole"].clone()).unwrap()
    };
    assert_eq!(promised("lmdb"), json!({"window_s": null, "most_lost": 1}));
    assert_eq!(promised("sqlite"), json!({"window_s": 1.5, "most_lost": null}));
    let applied = document["run"]["applied"].as_array().unwrap();
    let terms: Vec<_> = applied.iter().map(|it| [&it["engine"], &it["durability"]]).collect();
    assert_eq!(
        json!(terms),
        json!([
            ["sqlite", "strict"],
            ["sqlite", "relaxed"],
            ["lmdb", "strict"],
            ["lmdb", "relaxed"]
        ])
    );
    assert!(applied[0]["settings"].as_array().unwrap().iter().any(|it| it["name"] == "cache_size"));

    place.write("timed.toml", TIMED);
    place.run(&["run", "timed.toml", "--quiet", "--out", "timed"]).code(0);
    // Markdown does not break a sentence into lines.
    let both = ["report", "timed", "--cuts", "cuts", "--format", "md"];
    place.run(&both).code(0).says(&[
        "No promise was broken in 4 power cuts",
        "| kept |",
        "in cuts",
    ]);
    lose(&place, "cuts");
    // A report that is written has done what was asked for, whatever it says.
    place.run(&both).code(0).says(&["sqlite broke its promise at strict in 1 of 2 power cuts"]);
    place.run(&both).code(0).says(&["promise broken", "--durability strict --keep prefix"]);
    let html = place.run(&[&both[..4], &["--format", "html"]].concat()).code(0).out();
    assert!(
        html.contains("✗ promise broken")
            && html.contains("<p class=\"verdict broken\">sqlite broke")
    );
    place.run(&["report", "cuts"]).code(0).says(&["sqlite broke its promise at strict"]);
}

#[test]
fn cuts_that_say_nothing_of_the_run_are_refused() {
    let place = Place::new();
    place.write("timed.toml", TIMED);
    place.run(&["run", "timed.toml", "--quiet", "--out", "timed"]).code(0);
    let with = |cuts: &[&str]| place.run(&[&["report", "timed"], cuts].concat());
    with(&["--cuts", "timed"]).code(2).says(&["timed is named twice"]);
    with(&["--cuts", "."]).code(3).says(&["it has no run.sqlite"]);
    place.write("run.sqlite.gz", "packed");
    with(&["--cuts", "."]).code(3).says(&["gunzip --keep ./run.sqlite.gz unpacks it"]);
    std::fs::create_dir(place.path("copy")).unwrap();
    for file in ["run.sqlite", "experiment.toml"] {
        std::fs::copy(place.path("timed").join(file), place.path("copy").join(file)).unwrap();
    }
    with(&["--cuts", "copy"]).code(2).says(&["copy has no power cuts", "bakeoff run power-cut"]);
}
