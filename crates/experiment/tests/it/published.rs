//! What somebody else measured: how it is read, and how it is told what is wrong with it.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::common::{assert_has, good, load_in, rows, vocabulary};
use bakeoff_experiment::{Error, Experiment};
use bakeoff_results::published::{PublishedValue, Quantity};

const CSV: &str = "what,clients,theirs\ncreate,1,10\ncreate,2,\nprocess,1,>40\nprocess,2,50\n";

const TOML: &str = r#"
workload = "redmine"
engine = ["sqlite", "lmdb"]
clients = [1, 2]

[published]
question = "Do more clients take longer?"
source = "A paper"
date = "2017"
differs = [{ there = "a large machine", here = "a small one" }]

[[published.table]]
file = "paper.csv"
base = { clients = 1 }
levels.operation = { create = "create_issue", process = "process_issues" }

[published.table.columns]
what = "operation"
clients = "clients"
theirs = { unit = "ms", engine = "sqlite" }
"#;

/// Loads the file beside that text of figures.
fn load(toml: &str, csv: &[u8]) -> Result<Experiment, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("paper.csv"), csv).unwrap();
    let wrong =
        |error: Error| error.to_string().replace(&format!("{}/", folder.path().display()), "");
    load_in(folder.path(), toml, "", &vocabulary()).map_err(wrong)
}

#[test]
fn figures_have_their_levels_unit_and_base() {
    let experiment = load(TOML, CSV.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    // The empty field is none.
    assert_eq!(experiment.published_figures(), Some((3, 3)));
    let published = experiment.published.expect("it is there").published;
    assert_eq!((&*published.source, &*published.date, &published.url), ("A paper", "2017", &None));
    assert_eq!(published.differs[0].here, "a small one");
    let [table] = &published.tables[..] else { panic!("one table") };
    assert_eq!(table.of, Quantity::Time);
    assert_eq!(table.base, [("clients".to_owned(), "1".to_owned())].into());
    let values: Vec<_> = table.figures.iter().map(|figure| figure.value).collect();
    let exactly = |value| Some(PublishedValue::Exactly(value));
    // A missing figure is a gap and no 0; a bound is no figure.
    assert_eq!(values, [exactly(10.0), None, Some(PublishedValue::AtLeast(40.0)), exactly(50.0)]);
    let last = &table.figures[3];
    assert_eq!(last.operation.as_deref(), Some("process_issues"));
    assert_eq!((&*last.levels["engine"], &*last.levels["clients"]), ("sqlite", "2"));
    assert_eq!(last.unit, "ms");
}

#[test]
fn the_record_of_an_experiment_has_the_figures_without_their_file() {
    let experiment = load(TOML, CSV.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    // The figures themselves, and what they are called; not a file that has to be there, too.
    let record = experiment.to_toml();
    assert_eq!(good(&record, "").published, experiment.published);
    assert_has(&record, &["name = \"paper.csv\"", "csv = "]);
    assert!(!record.contains("file ="), "{record}");
}

/// One slip is told once, whatever follows from it.
#[test]
fn a_slip_is_told_once_and_where_it_stands() {
    for (_, inputs, parts) in rows(include_str!("published.txt")) {
        let (mut toml, mut csv) = (TOML.to_owned(), CSV);
        for input in &inputs {
            match input.split_once(" -> ") {
                Some((from, to)) => {
                    assert!(TOML.contains(from), "{from}");
                    toml = TOML.replace(from, to);
                }
                None => csv = input.strip_prefix("csv:").expect("figures").trim_start_matches(' '),
            }
        }
        let text = load(&toml, csv.as_bytes()).expect_err(&inputs.join(" :: "));
        assert_has(&text, &parts);
        assert_eq!(text.matches("error: ").count(), 1, "{inputs:?}: {text}");
    }
    let text = load(TOML, b"what,clients\xff").expect_err("it is no text");
    assert_has(&text, &["`paper.csv` is not UTF-8 text: byte 12"]);
    let text =
        load(TOML, b"what,clients,theirs\ncreate,1,10\ncrate_issue,2,11\ncrate_issue,1,12\n");
    let shown = "\
error: unknown operation `crate_issue`
 --> paper.csv:3:1
  |
3 | crate_issue,2,11
  | ^^^^^^^^^^^
  |
  = help: did you mean `create_issue`?
  = help: valid: create_issue, process_issues";
    assert_eq!(text.expect_err("there is no such one"), shown);
}

/// A stranger's archive may have a link to any file, and a pipe that nobody writes into.
#[test]
fn a_file_beside_the_experiment_is_no_link_and_no_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let (place, secret) = (folder.path().join("stranger"), folder.path().join("secret.csv"));
    fs::create_dir(&place).unwrap();
    fs::write(&secret, CSV).unwrap();
    symlink(&secret, place.join("link.csv")).unwrap();
    symlink(folder.path(), place.join("up")).unwrap();
    assert!(Command::new("mkfifo").arg(place.join("pipe.csv")).status().unwrap().success());
    for (name, why) in [
        ("link.csv", "is a link, which is not followed"),
        ("up/secret.csv", "is a link, which is not followed"),
        ("pipe.csv", "is no file"),
    ] {
        let toml = TOML.replace("paper.csv", name);
        let error = load_in(&place, &toml, "", &vocabulary()).expect_err(name).to_string();
        assert!(error.contains(why) && !error.contains("create,1,10"), "{error}");
    }
}
