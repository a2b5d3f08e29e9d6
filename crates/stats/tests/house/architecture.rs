//! `docs/architecture.md` says which crate is built on which, who uses which library, and where to find things; and
//! what an engine is built on is compiled for speed.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::{read, root};

type Graph = BTreeMap<String, BTreeSet<String>>;

/// What each crate is built on, tests aside, by cargo's own word. Our own have no `bakeoff-` before their names.
fn dependencies() -> Graph {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version=1"]).current_dir(root());
    let done = cargo.output().expect("cargo");
    let metadata: Value = serde_json::from_slice(&done.stdout).expect("metadata");
    let own = |name: &Value| name.as_str().expect("a name").trim_start_matches("bakeoff-").into();
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let crates = packages
        .filter(|it| it["manifest_path"].as_str().is_some_and(|it| it.contains("/crates/")));
    let built_on = |it: &Value| {
        let all = it["dependencies"].as_array().expect("a list").iter();
        all.filter(|it| it["kind"].is_null()).map(|it| own(&it["name"])).collect()
    };
    crates.map(|it| (own(&it["name"]), built_on(it))).collect()
}

/// The rows of the table below a heading of the page, or the lines of its list.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let page = read("docs/architecture.md");
    let below =
        page.split(heading).nth(1).expect("the table").split("\n#").next().expect("its end");
    let cells =
        |row: &str| row.trim_matches('|').split(" | ").map(|cell| cell.trim().into()).collect();
    let table = below.lines().filter(|line| line.starts_with("| ")).skip(1).map(cells);
    let list = below.split("\n- ").skip(1).filter_map(|item| item.split("\n\n").next());
    let list = list.map(|line| line.split(": ").map(|cell| cell.trim().into()).collect());
    table.chain(list).collect()
}

/// What is in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// From the only quoted name of one column to those of another.
fn graph(rows: &[Vec<String>], from: usize, to: usize) -> Graph {
    let name = |row: &Vec<String>| quoted(&row[from]).next().expect("a name").to_owned();
    rows.iter().map(|row| (name(row), quoted(&row[to]).map(str::to_owned).collect())).collect()
}

#[test]
fn crates_are_built_on_what_the_page_says() {
    let actual = dependencies();
    let is_own = |name: &&String| actual.contains_key(*name);
    let own = |all: &BTreeSet<String>| all.iter().filter(is_own).cloned().collect();
    let own: Graph = actual.iter().map(|(name, all)| (name.clone(), own(all))).collect();
    assert_eq!(graph(&rows("\n## The house\n"), 0, 2), own);
    for (library, users) in graph(&rows("\n### Libraries\n"), 0, 1) {
        let found = actual.iter().filter(|(_, all)| all.contains(&library));
        let found: BTreeSet<String> = found.map(|(name, _)| name.clone()).collect();
        assert_eq!(users, found, "who uses {library}");
    }
}

/// What a row of places names that is not there.
fn missing(row: &[String], read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let (mut sources, mut missing) = (String::new(), Vec::new());
    for file in quoted(&row[1]) {
        match read(file) {
            Some(source) => sources.push_str(&source),
            None => missing.push(format!("no file {file}")),
        }
    }
    let declares = |name: &str| {
        ["fn ", "struct ", "enum ", "trait "].iter().any(|word| {
            let declared = format!("{word}{name}");
            let mut found = sources.split(&declared).skip(1);
            found.any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    // A file that is named beside is no declaration.
    let names = quoted(&row[2]).filter(|name| !name.contains('.'));
    let names = names.map(|name| name.rsplit("::").next().expect("a name"));
    let unknown = names.filter(|name| !declares(name));
    missing.extend(unknown.map(|name| format!("no {name} in {}", row[1])));
    missing
}

/// A file below `crates`; a folder stands for its module, whose file lies beside it.
fn read_place(place: &str) -> Option<String> {
    let path = root().join("crates").join(place);
    let file = if path.is_dir() { path.with_extension("rs") } else { path };
    std::fs::read_to_string(file).ok()
}

#[test]
fn what_the_page_finds_is_there() {
    let rows = rows("\n## Where to find it\n");
    assert!(rows.len() >= 10, "{} rows", rows.len());
    let wrong: Vec<String> = rows.iter().flat_map(|row| missing(row, &read_place)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let source = "pub fn judge_all() {}\nenum Exit {}";
    let read = |file: &str| (file == "a.rs").then(|| source.to_owned());
    for (file, names, wrong) in [
        ("`a.rs`", "`judge_all`, `Lab::Exit`; see `b.rs`", &[][..]),
        ("`a.rs`", "`judge`", &["no judge in `a.rs`"]),
        ("`b.rs`", "at the head", &["no file b.rs"]),
    ] {
        assert_eq!(missing(&["it", file, names].map(str::to_owned), &read), wrong);
    }
}

/// What the crate of engines is built on and no client on this machine waits for: it is at work when options are
/// read, when a connection begins, or on one that is encrypted.
const ASIDE: &str = "base64 idna_adapter openssl-probe percent-encoding rustls serde sha1 strsim thiserror tokio-rustls";

/// Users run what is compiled for size, but for what the profile names: an engine's library is one of these.
#[test]
fn what_an_engine_is_built_on_is_compiled_for_speed() {
    let (manifest, crates) = (read("Cargo.toml"), dependencies());
    let profile = manifest.split("\n[profile.release.package]\n").nth(1).expect("the profile");
    let lines = profile.lines().take_while(|line| !line.starts_with('['));
    let fast: BTreeSet<&str> = lines
        .filter(|line| line.contains("opt-level = 2") || line.contains("opt-level = 3"))
        .filter_map(|line| Some(line.split_once(" = ")?.0))
        .collect();
    let outside = crates["engines"].iter().filter(|name| !crates.contains_key(*name));
    let slow: Vec<&str> = outside.map(String::as_str).filter(|name| !fast.contains(name)).collect();
    assert_eq!(slow.join(" "), ASIDE, "[profile.release.package] of Cargo.toml and ASIDE");
}
