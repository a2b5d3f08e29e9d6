//! Runs on several images of the data: each trial has the right one, also after an interruption.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_results::Scope;
use bakeoff_results::measure::IMAGE;
use serde_json::Value;

use super::merge::cut_short;
use super::resume::edit;
use super::{Place, measured};

const IMAGES: &str = r#"
name = "images"
workload = "redmine"
engine = ["sqlite", "lmdb"]
clients = 1
noise_floor = true
seconds = 0.5
repetitions = 4
images = 2
"#;

/// The image of each trial that counts, by its repetition and engine.
fn images(document: &Value) -> BTreeMap<(u64, String), f64> {
    let trials = document["trials"].as_array().unwrap();
    let counted = trials.iter().filter(|trial| trial["valid"] == true);
    let image = |trial: &Value| {
        let engine = trial["levels"]["engine"].as_str().unwrap().to_owned();
        let image = measured(trial).get(&IMAGE, &Scope::Trial).expect("its image");
        ((trial["repetition"].as_u64().unwrap(), engine), image)
    };
    counted.map(image).collect()
}

#[test]
fn each_block_has_its_image_and_a_run_goes_on_with_it() {
    let place = Place::new();
    place.write("images.toml", IMAGES);
    place.run(&["run", "images.toml", "--dry-run"]).code(0).says(&[
        "12 trials in 4 blocks, 0.5 s each",
        "each engine's data are loaded 2 times, with other rows each time, in about ",
    ]);
    place.run(&["run", "images.toml", "--out", "r"]).code(0);
    let whole = place.json("r");
    let all = images(&whole);
    let of = |image, again| [("lmdb", image), ("sqlite", image), ("sqlite@again", again)];
    let expected = (0..4).flat_map(|repetition| {
        let levels = if repetition % 2 == 0 { of(1.0, 2.0) } else { of(2.0, 1.0) };
        levels.map(|(engine, image)| ((repetition, engine.to_owned()), image))
    });
    assert_eq!(all, expected.collect());
    assert_eq!(whole["run"]["images"], 2);

    // Both engines answer alike on each image, and otherwise than on the other.
    let answers = whole["run"]["answers"].as_array().unwrap();
    let of = |key: &str| answers.iter().map(|it| it[key].to_string()).collect::<BTreeSet<_>>();
    assert_eq!((answers.len(), of("digest").len(), of("work").len()), (4, 2, 2), "{answers:?}");
    let compared = &whole["comparisons"][0];
    assert_eq!(compared["images"]["images"], 2, "{compared}");
    place
        .run(&["report", "r", "--format", "md"])
        .code(0)
        .says(&["between images ", "loaded 2 times"]);
    let table = place.run(&["report", "r", "--format", "csv"]).code(0).out();
    assert!(table.lines().next().unwrap().contains(",image,"), "{table}");

    edit(&place, cut_short);
    place.run(&["run", "--resume", "r"]).code(0);
    assert_eq!(images(&place.json("r")), all);
    place.assert_clean("r");
}

#[test]
fn more_images_than_blocks_are_refused_at_their_line() {
    let place = Place::new();
    place.write("images.toml", &IMAGES.replace("images = 2", "images = 5"));
    place.run(&["run", "images.toml", "--dry-run"]).code(2).says(&[
        "images.toml:9:10",
        "too seldom for 5 images",
        "give `images` 4 at most, or `repetitions` 5 at least",
    ]);
    // A page has no data that could be loaded.
    place.write("page.toml", "workload = \"page\"\nurl = \"http://127.0.0.1:8/\"\nimages = 2\n");
    place
        .run(&["run", "page.toml", "--dry-run"])
        .code(2)
        .says(&["page loads no data: leave `images` out"]);
}
