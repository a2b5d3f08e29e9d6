//! A type is found by its name: no two of the workspace share one, but those that each module has for its own
//! failures. A function is a verb with its object: none is called `of`, and most names have two words or more.

use std::collections::BTreeMap;

use crate::{sources, split_lines};

/// Names that several modules may have.
const CONVENTIONAL: [&str; 2] = ["Error", "Result"];

/// Functions that the language or its library names.
const STANDARD: [&str; 12] =
    ["new", "default", "from", "fmt", "drop", "next", "run", "main", "clone", "eq", "cmp", "hash"];

/// The share of functions that may have a name of one word: accessors, and verbs of a type that says the rest.
const ONE_WORD: f64 = 0.35;

/// What declares a function or a type, at the start of a line behind its visibility.
const FUNCTIONS: [&str; 3] = ["fn ", "const fn ", "unsafe fn "];
const TYPES: [&str; 4] = ["struct ", "enum ", "trait ", "type "];

/// The name that a line declares behind one of these words; a line of an `impl` that names an associated type
/// is none.
fn declared<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    let plain = line.trim_start();
    let is_associated = plain.starts_with("type ") && plain.len() < line.len();
    let limited = plain.strip_prefix("pub(").and_then(|rest| rest.split_once(") "));
    let plain = limited.map_or(plain.strip_prefix("pub ").unwrap_or(plain), |(_, rest)| rest);
    let rest = words.iter().find_map(|word| plain.strip_prefix(word)).filter(|_| !is_associated)?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

#[test]
fn types_are_unique_and_functions_are_verbs_with_an_object() {
    let files = sources();
    let mut types: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut functions, mut short, mut wrong) = (0, 0, Vec::new());
    for (path, text) in &files {
        let [own, _] = split_lines(path, text);
        for (number, line) in own.into_iter().enumerate() {
            let place = format!("{path}:{}", number + 1);
            let name = declared(line, &FUNCTIONS).filter(|name| !STANDARD.contains(name));
            functions += usize::from(name.is_some());
            short += usize::from(name.is_some_and(|name| !name.contains('_')));
            if name == Some("of") {
                wrong.push(format!("{place}: call it `from_…`, or a verb"));
            }
            if let Some(name) = declared(line, &TYPES).filter(|name| !CONVENTIONAL.contains(name)) {
                types.entry(name).or_default().push(place);
            }
        }
    }
    let shared = types.iter().filter(|(_, places)| places.len() > 1);
    wrong.extend(shared.map(|(name, at)| format!("{name} is declared at {}", at.join(" and "))));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(types.len() > 1_000 && functions > 5_000, "{} and {functions}", types.len());
    let share = f64::from(short as u32) / f64::from(functions as u32);
    assert!(share <= ONE_WORD, "{:.1} % of functions have a name of one word", 100.0 * share);
}

#[test]
fn declarations_are_found_wherever_they_stand() {
    for (line, name) in [
        ("pub(crate) struct Cell<'a> {", Some("Cell")),
        ("    enum Step {", Some("Step")),
        ("pub type Outcome = u8;", Some("Outcome")),
        ("    type Item = u8;", None),
    ] {
        assert_eq!(declared(line, &TYPES), name);
    }
    assert_eq!(declared("    pub fn of(it: u8) -> Self {", &FUNCTIONS), Some("of"));
}
