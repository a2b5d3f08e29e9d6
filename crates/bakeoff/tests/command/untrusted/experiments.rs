//! FlagOverrides of experiments, word by word: of the presets, of the other files that come with bakeoff, and
//! of the examples in the guide.

use std::fs;
use std::path::Path;

use bakeoff_experiment::{Experiment, FlagOverrides, presets};
use bakeoff_lab::Registry;
use rand::RngExt;

use super::fuzz::{self, Extent, NUMBERS, Random, TEXTS, one};

/// So many trials of a plan are resolved.
const RESOLVED: usize = 200;

#[test]
#[ignore = "slow: make test-slow"]
fn no_change_of_an_experiment_is_too_much() {
    changed("untrusted::experiments::no_change_of_an_experiment_is_too_much", Extent::Seeds(SEEDS));
}

#[test]
#[ignore = "soak: about 10 min"]
fn no_change_of_an_experiment_is_too_much_soak() {
    changed("untrusted::experiments::no_change_of_an_experiment_is_too_much_soak", Extent::Soak);
}

/// Experiments that are tried, but for those that are kept.
const SEEDS: u64 = 1_000;

/// FlagOverrides experiments in the test of that name.
fn changed(test: &str, extent: Extent) {
    let samples: Vec<Vec<String>> = sources().iter().map(|text| words(text)).collect();
    let all: Vec<String> = samples.concat();
    let vocabulary = Registry::standard().vocabulary();
    fuzz::run(test, extent, |random, folder| {
        let mut words = one(random, &samples);
        for _ in 0..random.random_range(1..6) {
            change(random, &mut words, &all);
        }
        let mut bytes = words.concat().into_bytes();
        if random.random_bool(0.05) && !bytes.is_empty() {
            let at = random.random_range(0..bytes.len());
            bytes[at] = random.random();
        }
        let path = folder.join("odd.toml");
        fs::write(&path, bytes).unwrap();
        let changes = FlagOverrides { quick: random.random_bool(0.2), ..FlagOverrides::default() };
        let name = path.to_str().unwrap();
        match Experiment::load(name, &changes, &vocabulary) {
            Ok(experiment) => {
                planned(&experiment);
                again(&experiment, folder, &vocabulary);
                "planned"
            }
            Err(error) => {
                let text = error.to_string();
                let named = text.contains("odd.toml") || text.contains("the command line");
                assert!(text.starts_with("error: ") && named, "{text}");
                "refused"
            }
        }
    });
}

/// Each cell of the plan is resolved, or refused in words.
fn planned(experiment: &Experiment) {
    let registry = Registry::standard();
    let plan = experiment.plan();
    for block in &plan.blocks {
        for trial in block.trials.iter().take(RESOLVED / plan.blocks.len().max(1) + 1) {
            let resolved = bakeoff_lab::resolve_trial(&registry, experiment, &trial.cell, 0);
            if let Err(reason) = resolved {
                assert!(!reason.to_string().is_empty());
            }
        }
    }
}

/// What is kept of an experiment in a run folder says the same.
fn again(experiment: &Experiment, folder: &Path, vocabulary: &bakeoff_experiment::Vocabulary) {
    let path = folder.join("kept.toml");
    let toml = experiment.to_toml();
    fs::write(&path, &toml).unwrap();
    let kept = Experiment::load(path.to_str().unwrap(), &FlagOverrides::default(), vocabulary);
    let kept = kept.unwrap_or_else(|error| panic!("{error}\nin:\n{toml}"));
    assert_eq!(kept.to_toml(), toml);
}

/// Every experiment that comes with bakeoff.
fn sources() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources: Vec<String> = presets().iter().map(|preset| preset.toml.to_owned()).collect();
    for folder in ["experiments", "docs"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            match path.extension().and_then(|it| it.to_str()) {
                Some("toml") => sources.push(fs::read_to_string(path).unwrap()),
                Some("md") => sources.extend(examples(&fs::read_to_string(path).unwrap())),
                _ => {}
            }
        }
    }
    sources
}

/// The TOML of a page.
fn examples(page: &str) -> Vec<String> {
    let blocks = page.split("```toml\n").skip(1);
    blocks.filter_map(|block| Some(block.split_once("```")?.0.to_owned())).collect()
}

/// Names, numbers, texts in quotes, and each sign.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut quoted = false;
    for character in text.chars() {
        let is_word = |it: char| it.is_alphanumeric() || "_-.@/".contains(it);
        let goes_on =
            words.last().and_then(|word: &String| word.chars().last()).is_some_and(|last| {
                quoted || is_word(last) && is_word(character) || last == ' ' && character == ' '
            });
        if character == '"' {
            quoted = !quoted;
        }
        match words.last_mut() {
            Some(word) if goes_on => word.push(character),
            _ => words.push(character.to_string()),
        }
    }
    words
}

fn change(random: &mut Random, words: &mut Vec<String>, all: &[String]) {
    if words.is_empty() {
        return words.push(one(random, all));
    }
    let at = random.random_range(0..words.len());
    let other = random.random_range(0..words.len());
    match random.random_range(0..9) {
        0 => drop(words.remove(at)),
        1 => words.insert(at, words[other].clone()),
        2 => words.swap(at, other),
        3 => words[at] = one(random, all),
        4 => words[at] = one(random, NUMBERS).to_owned(),
        5 => words[at] = format!("{:?}", one(random, TEXTS)),
        6 => {
            // A level that is nearly one.
            let piece = one(random, all).trim_matches('"').to_owned();
            let word = words[at].trim_matches('"').to_owned();
            words[at] =
                format!("\"{word}{}{piece}\"", one(random, &["", ":", "/", "@", ",", "×", "="]));
        }
        7 => {
            let times = one(random, &[2, 20, 2000]);
            words[at] = words[at].repeat(times);
        }
        _ => words.truncate(at),
    }
}
