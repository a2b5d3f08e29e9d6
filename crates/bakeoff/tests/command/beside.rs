//! Reports of one run beside another of the same levels.

use super::Place;

/// Runs a workload with one and with two clients, which are what is compared.
fn run(place: &Place, name: &str, head: &str) {
    let rest = "compare = \"clients\"\nclients = [1, 2]\nseconds = 0.5\nrepetitions = 1\n";
    place.write(&format!("{name}.toml"), &format!("{head}\n{rest}"));
    place.run(&["run", &format!("{name}.toml"), "--quiet", "--out", name]).code(0);
}

#[test]
fn an_application_stands_beside_the_files_by_the_same_levels() {
    let place = Place::new();
    run(&place, "files", "workload = \"fileio\"\ndisk = \"host\"\nsize = \"4M\"\ndepth = [1, 4]");
    run(&place, "application", "workload = \"point\"\nengine = \"sqlite\"");
    let report = ["report", "files", "--beside", "application", "--format"];
    let text = place.run(&[&report[..], &["md"]].concat()).code(0);
    let text = text.says(&["What it is worth to an application", "Times as fast as with 1"]).out();
    let row = |workload: &str| {
        let start = format!("| {workload} |");
        text.lines().find(|line| line.starts_with(&start))
    };
    let (files, application) = (row("fileio").expect("a row"), row("point").expect("a row"));
    assert!(files.contains("depth 1"), "what varies here alone: {files}");
    assert!(!application.contains("depth"), "{application}");
    let json = place.run(&[&report[..], &["json"]].concat()).code(0).out();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let other = &json["applications"][0];
    assert_eq!((&other["workload"], &other["folder"]), (&"point".into(), &"application".into()));
    assert_eq!(other["differences"], serde_json::json!([]), "the same machine and program");
    let comparisons = other["comparisons"].as_array().unwrap();
    assert!(!comparisons.is_empty() && comparisons.iter().all(|it| it["level"] == "2"));
    // A report by itself has nothing of it.
    let alone = place.json("files");
    assert!(alone["applications"].is_null());
}

#[test]
fn what_compares_something_else_is_refused_with_what_to_do() {
    let place = Place::new();
    run(&place, "files", "workload = \"fileio\"\ndisk = \"host\"\nsize = \"4M\"");
    let engines = "workload = \"point\"\nengine = [\"null\", \"sqlite\"]\n";
    place.write("engines.toml", &format!("{engines}seconds = 0.5\nrepetitions = 1\n"));
    place.run(&["run", "engines.toml", "--quiet", "--out", "engines"]).code(0);
    let with = |dirs: &[&str]| {
        let dirs = dirs.iter().flat_map(|dir| ["--beside", *dir]).collect::<Vec<_>>();
        place.run(&[&["report", "files"], &dirs[..]].concat())
    };
    with(&["engines"]).code(2).says(&["compares `engine`", "--compare clients"]);
    with(&["files"]).code(2).says(&["files is named twice"]);
    with(&["."]).code(3).says(&["it has no run.sqlite"]);
}
