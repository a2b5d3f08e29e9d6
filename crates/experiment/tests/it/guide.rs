//! The page of the guide on experiments shows nothing that doesn't work.

use bakeoff_experiment::Factor;

use crate::common::{load, vocabulary};

const GUIDE: &str = include_str!("../../../../docs/experiments.md");

#[test]
fn its_examples_are_right() {
    let examples = GUIDE.split("```toml\n").skip(1);
    let examples: Vec<&str> =
        examples.map(|rest| rest.split("```").next().expect("a piece")).collect();
    assert!(examples.len() >= 3, "{}", examples.len());
    for example in examples {
        let quick = example.contains("[quick]").then_some("--quick");
        for line in ["", quick.unwrap_or_default()] {
            let loaded = load(example, line, &vocabulary());
            assert!(loaded.is_ok(), "{example}\n{}", loaded.unwrap_err());
        }
    }
}

#[test]
fn it_names_every_factor_and_default() {
    for factor in Factor::OWN {
        let row = GUIDE.lines().find(|line| line.starts_with(&format!("| `{factor}` |")));
        let row = row.unwrap_or_else(|| panic!("`{factor}` has no row"));
        if let Some(level) = factor.default_level() {
            assert!(row.ends_with(&format!("| `{level}` |")), "{row}");
        }
    }
}
