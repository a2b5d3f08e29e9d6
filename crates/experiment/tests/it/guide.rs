//! The page of the guide on experiments shows nothing that doesn't work.

use bakeoff_experiment::{Changes, Factor};

use crate::common::load;

const GUIDE: &str = include_str!("../../../../docs/experiments.md");

/// The page's blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    let blocks = GUIDE.split(&fence).skip(1);
    blocks.map(|rest| rest.split("```").next().expect("a piece")).collect()
}

#[test]
fn its_examples_are_right() {
    let examples = blocks("toml");
    assert!(examples.len() >= 3, "{}", examples.len());
    for example in examples {
        let quick = example.contains("[quick]");
        for quick in [false, quick] {
            let changes = Changes { quick, ..Changes::default() };
            let loaded = load(example, &changes);
            assert!(loaded.is_ok(), "{example}\n{}", loaded.unwrap_err());
        }
    }
}

#[test]
fn its_message_is_what_is_printed() {
    let toml = "workload = \"redmine\"\nengine = [\"sqlite\", \"lmbd\"]\n";
    let error = load(toml, &Changes::default()).expect_err("lmbd is no engine").to_string();
    let shown = blocks("text").into_iter().find(|block| block.starts_with("error:"));
    let shown = shown.expect("the page shows a message");
    let lines = |text: &str| -> Vec<String> {
        let line = |line: &str| line.split("--> ").next().unwrap_or(line).to_owned();
        text.lines().map(line).collect()
    };
    assert_eq!(lines(shown), lines(&error));
}

#[test]
fn it_names_every_factor_and_default() {
    for factor in Factor::ALL {
        let row = GUIDE.lines().find(|line| line.starts_with(&format!("| `{factor}` |")));
        let row = row.unwrap_or_else(|| panic!("`{factor}` has no row"));
        if let Some(level) = factor.default_level() {
            assert!(row.ends_with(&format!("| `{level}` |")), "{row}");
        }
    }
}
