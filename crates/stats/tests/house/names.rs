//! A type is found by its name: no two of the workspace share one, but those that each module has for its own
//! failures. No function is called `of`: a constructor says what it is made from.

use std::collections::BTreeMap;

use crate::variables::sources;

/// Names that several modules may have.
const CONVENTIONAL: [&str; 2] = ["Error", "Result"];

/// What declares a type, at the start of a line behind its visibility.
const TYPES: [&str; 4] = ["struct ", "enum ", "trait ", "type "];

/// The name that a line declares behind one of these words; a line of an `impl` that names an associated type
/// is none.
fn declared<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    let plain = line.trim_start();
    let is_associated = plain.starts_with("type ") && plain.len() < line.len();
    let plain = plain.strip_prefix("pub ").or_else(|| after_visibility(plain)).unwrap_or(plain);
    let rest = words.iter().find_map(|word| plain.strip_prefix(word)).filter(|_| !is_associated)?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

/// What stands behind `pub(crate) ` and its like.
fn after_visibility(line: &str) -> Option<&str> {
    line.strip_prefix("pub(")?.split_once(") ").map(|(_, rest)| rest)
}

/// The lines of a file that are no test's.
fn of_source<'a>(path: &str, text: &'a str) -> impl Iterator<Item = &'a str> {
    let kits = ["crates/testkit/", "crates/conformance/"];
    let is_test = ["/tests/", "/benches/"].iter().any(|part| path.contains(part))
        || path.ends_with("/tests.rs")
        || kits.iter().any(|kit| path.starts_with(kit));
    text.lines().take_while(|line| *line != "mod tests {").filter(move |_| !is_test)
}

/// Where each type is declared, and each function that is called `of`.
fn places(files: &[(String, String)]) -> (BTreeMap<&str, Vec<String>>, Vec<String>) {
    let mut types: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut of = Vec::new();
    for (path, text) in files {
        for (number, line) in of_source(path, text).enumerate() {
            let place = || format!("{path}:{}", number + 1);
            if let Some(name) = declared(line, &TYPES) {
                types.entry(name).or_default().push(place());
            }
            if declared(line, &["fn ", "const fn "]) == Some("of") {
                of.push(place());
            }
        }
    }
    (types, of)
}

#[test]
fn no_two_types_share_a_name_and_no_function_is_called_of() {
    let files = sources();
    let (types, of) = places(&files);
    assert!(types.len() > 1_000, "{} types", types.len());
    let is_shared =
        |(name, places): &(&&str, &Vec<String>)| places.len() > 1 && !CONVENTIONAL.contains(name);
    let shared = types.iter().filter(is_shared);
    let mut wrong: Vec<String> = shared
        .map(|(name, places)| format!("{name} is declared at {}", places.join(" and ")))
        .collect();
    wrong.extend(of.iter().map(|place| format!("{place}: call it `from_…`, or a verb")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn declarations_are_found_wherever_they_stand() {
    let name = |line| declared(line, &TYPES);
    assert_eq!(name("pub(crate) struct Cell<'a> {"), Some("Cell"));
    assert_eq!(name("    enum Step {"), Some("Step"));
    assert_eq!(name("pub type Outcome = u8;"), Some("Outcome"));
    assert_eq!(name("    type Item = u8;"), None, "an associated type is its trait's");
    assert_eq!(declared("    pub fn of(it: u8) -> Self {", &["fn "]), Some("of"));
    let files = [
        ("a.rs".to_owned(), "struct A;\nfn of() {}\n".to_owned()),
        ("b.rs".to_owned(), "struct A;\n".to_owned()),
    ];
    let (types, of) = places(&files);
    assert_eq!((types["A"].len(), of.len()), (2, 1));
}
