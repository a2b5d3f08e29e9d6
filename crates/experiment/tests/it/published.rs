//! What somebody else measured: how it is read, and how it is told what is wrong with it.

use std::fs;

use crate::common::{trusting, vocabulary_with};
use bakeoff_experiment::{Experiment, FlagOverrides};
use bakeoff_factor::published::{PublishedValue, Quantity};

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
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("paper.csv"), csv).unwrap();
    let path = dir.path().join("my.toml");
    fs::write(&path, toml).unwrap();
    let vocabulary = vocabulary_with(&["sqlite", "lmdb"]);
    Experiment::load(path.to_str().unwrap(), &FlagOverrides::default(), &vocabulary)
        .map_err(|error| error.to_string().replace(&format!("{}/", dir.path().display()), ""))
}

/// What is said of the figures.
fn wrong(toml: &str, csv: &str) -> String {
    load(toml, csv.as_bytes()).expect_err("it is wrong")
}

fn with(from: &str, to: &str) -> String {
    assert!(TOML.contains(from), "{from}");
    TOML.replace(from, to)
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
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("experiment.toml");
    fs::write(&path, experiment.to_toml()).unwrap();
    let again = Experiment::load(path.to_str().unwrap(), &FlagOverrides::default(), &trusting());
    let again = again.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.to_toml(), experiment.to_toml());
    assert_eq!(again.published, experiment.published);
    // The figures themselves, and what they are called; not a file that has to be there, too.
    let record = experiment.to_toml();
    assert!(record.contains("name = \"paper.csv\"") && record.contains("csv = "), "{record}");
    assert!(!record.contains("file ="), "{record}");
}

/// One slip is told once, whatever follows from it.
#[test]
fn a_slip_is_told_once() {
    for (from, to) in [
        ("question =", "querstion ="),
        ("source =", "sorce ="),
        ("[[published.table]]", "[[published.tabel]]"),
        ("base = {", "bas = {"),
        ("file = ", "fil = "),
        ("theirs = {", "their = {"),
        ("create = \"create_issue\"", "create = \"create_isue\""),
    ] {
        // A misspelt table has its columns under that name.
        let toml = with(from, to);
        let toml = match to.contains("tabel") {
            true => toml.replace("published.table.columns", "published.tabel.columns"),
            false => toml,
        };
        let text = wrong(&toml, CSV);
        assert_eq!(text.matches("error: ").count(), 1, "{to}: {text}");
        assert!(text.contains("did you mean `"), "{text}");
    }
    let text = wrong(TOML, "what,clients,theirs\ncrate,1,10\ncrate,2,11\nprocess,1,2\n");
    assert_eq!(text.matches("error: ").count(), 1, "{text}");
}

#[test]
fn a_level_that_is_none_is_shown_in_the_table_with_the_nearest() {
    let expected = "\
error: unknown operation `crate_issue`
 --> paper.csv:3:1
  |
3 | crate_issue,2,11
  | ^^^^^^^^^^^
  |
  = help: did you mean `create_issue`?
  = help: valid: create_issue, process_issues";
    assert_eq!(wrong(TOML, "what,clients,theirs\ncreate,1,10\ncrate_issue,2,11\n"), expected);
    let text = wrong(TOML, "what,clients,theirs\ncreate,many,10\n");
    assert!(text.contains("paper.csv:2:8"), "{text}");
}

#[test]
fn columns_and_units_that_are_not_known_are_told_with_what_is_valid() {
    let text = wrong(TOML, &CSV.replace("theirs\n", "theirs,speed\n").replace('0', "0,"));
    assert!(text.contains("nothing says what the column `speed` is"), "{text}");
    assert!(text.contains("paper.csv:1:21"), "{text}");
    let text = wrong(&with("theirs =", "there ="), CSV);
    assert!(text.contains("`paper.csv` has no column `there`"), "{text}");
    assert!(text.contains("did you mean `theirs`?"), "{text}");
    let text = wrong(&with("\"ms\"", "\"mss\""), CSV);
    assert!(text.contains("unknown unit `mss`") && text.contains("did you mean `ms`?"), "{text}");
    let text = wrong(&with("what = \"operation\"", "what = \"clint\""), CSV);
    assert!(text.contains("unknown factor `clint`"), "{text}");
    let text = wrong(&with("question", "querstion"), CSV);
    assert!(text.contains("unknown key `querstion`"), "{text}");
}

#[test]
fn what_is_no_figure_is_told_with_its_place() {
    for (csv, title) in [
        ("what,clients,theirs\ncreate,1,0\n", "`0` is no figure"),
        ("what,clients,theirs\ncreate,1,fast\n", "`fast` is no figure"),
        ("what,clients,theirs\ncreate,1,6-7\n", "`6-7` is a range"),
        ("what,clients,theirs\ncreate,1\n", "2 fields stand under 3 names"),
        ("what,clients,theirs\ncreate,1,1\ncreate,01,2\n", "a second figure of the same levels"),
        ("what,clients,theirs\ncreate,1,\"1\n", "a quote is opened and not closed"),
    ] {
        let text = wrong(TOML, csv);
        assert!(text.contains(title), "{csv}: {text}");
        assert!(text.contains("paper.csv:2:") || text.contains("paper.csv:3:"), "{text}");
    }
}

#[test]
fn a_table_without_figures_or_that_is_no_text_is_told() {
    for csv in ["", "\n\n"] {
        assert!(wrong(TOML, csv).contains("`paper.csv` is empty"), "{csv:?}");
    }
    let text = wrong(TOML, "what,clients,theirs\n");
    assert!(text.contains("has the names of columns and no figures"), "{text}");
    assert!(text.contains("each line after the names has figures"), "{text}");
    let text = load(TOML, b"what,clients\xff").expect_err("it is no text");
    assert!(text.contains("`paper.csv` is not UTF-8 text: byte 12"), "{text}");
    let text = wrong(&with("paper.csv", "other.csv"), CSV);
    assert!(text.contains("can't read `other.csv`"), "{text}");
    let text = wrong(&with("file = ", "csv = \"a\\n1\"\nfile = "), CSV);
    assert!(text.contains("the table has both `csv` and `file`"), "{text}");
    for path in ["../paper.csv", "/etc/passwd"] {
        let text = wrong(&with("paper.csv", path), CSV);
        assert!(text.contains("is not beside the experiment's file"), "{text}");
    }
}

#[test]
fn a_base_that_no_figure_has_is_told() {
    let text = wrong(&with("base = { clients = 1 }", "base = { clients = 4 }"), CSV);
    assert!(text.contains("no figure is at the base's level `4` of `clients`"), "{text}");
    assert!(text.contains("valid: 1, 2"), "{text}");
    let text = wrong(&with("base = { clients = 1 }", "base = {}"), CSV);
    assert!(text.contains("the base names no level"), "{text}");
}

#[test]
fn a_table_has_figures_of_one_quantity() {
    let toml = with("what = \"operation\"", "what = \"operation\"\nmore = { unit = \"MB\" }");
    let text = wrong(&toml, "what,clients,theirs,more\ncreate,1,10,3\n");
    assert!(text.contains("figures of several quantities"), "{text}");
}
