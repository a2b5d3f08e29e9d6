//! The house: what `lib.rs` of each crate says that it must never know is true, and nothing goes
//! round in a circle.
//!
//! [`laws`] is the table. It is held against the crates' manifests and sources, read as text, so
//! that this needs nothing but the standard library; it is among the tests of the crate that is
//! built fastest.

mod catches;
mod clocks;
mod failures;
mod laws;
mod modules;
mod names;
mod profile;
mod source;
mod variables;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use laws::{LAWS, Law};
use modules::{Graph, Modules, circle};
use source::{Source, Words};

/// A crate as it is on the disk.
struct Crate {
    name: String,
    /// The first comment of its `lib.rs` or `main.rs`, in one line.
    head: String,
    /// The crates that it is built on, tests aside, by the names in its manifest.
    dependencies: BTreeSet<String>,
    /// Its sources by their path below `src`, without what is for tests alone.
    files: Vec<(String, Source)>,
}

impl Crate {
    fn new(name: &str, manifest: &str, files: &[(String, String)]) -> Self {
        let first = files.iter().find(|(path, _)| path == "lib.rs" || path == "main.rs");
        Self {
            name: name.to_owned(),
            head: first.map(|(_, text)| head(text)).unwrap_or_default(),
            dependencies: dependencies(manifest),
            files: files.iter().map(|(path, text)| (path.clone(), Source::read(text))).collect(),
        }
    }

    fn read(folder: &Path) -> Self {
        let name = folder.file_name().expect("a folder below crates").to_string_lossy();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let mut files = Vec::new();
        read_below(&folder.join("src"), "", &mut files);
        Self::new(&name, &manifest, &files)
    }

    /// The crates of our own that it is built on.
    fn own(&self) -> impl Iterator<Item = &str> {
        self.dependencies.iter().filter_map(|name| name.strip_prefix("bakeoff-"))
    }
}

fn read_below(folder: &Path, below: &str, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("a source").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            read_below(&path, &format!("{below}{name}/"), files);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path).expect("a source");
            files.push((format!("{below}{name}"), text));
        }
    }
}

fn crates() -> Vec<Crate> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it is below crates");
    let entries = fs::read_dir(folder).expect("the crates").map(|entry| entry.expect("one").path());
    let mut folders: Vec<PathBuf> = entries.filter(|it| it.join("Cargo.toml").is_file()).collect();
    folders.sort();
    folders.iter().map(|folder| Crate::read(folder)).collect()
}

/// The first comment of a file, in one line.
fn head(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// What a crate says that it must never know: from these words to the end of the sentence.
fn forbidden(head: &str) -> Option<&str> {
    let start = head.find("must never know")?;
    let end = head[start..].find(". ").map_or(head.len(), |length| start + length);
    Some(&head[start..end])
}

/// The names below `[dependencies]`, of any system.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut within = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            within = table == "dependencies" || table.ends_with(".dependencies");
            names.extend(table.strip_prefix("dependencies.").map(str::to_owned));
        } else if within && !line.starts_with('#') {
            let end = line.find(|c: char| !c.is_alphanumeric() && !"-_".contains(c));
            names.extend(end.filter(|end| *end > 0).map(|end| line[..end].to_owned()));
        }
    }
    names
}

/// In what a crate breaks its law.
fn breaches(law: &Law, it: &Crate) -> Vec<String> {
    let mut breaches = Vec::new();
    let name = &it.name;
    for own in it.own().filter(|own| !law.on.contains(own)) {
        breaches.push(format!("{name} must not be built on {own}: see its law"));
    }
    let Some(forbidden) = forbidden(&it.head) else {
        breaches.push(format!("the head of {name} lacks a sentence that says \"must never know\""));
        return breaches;
    };
    let forbidden = Words::of(forbidden);
    let mut left = law.but.to_vec();
    let texts: Vec<(&str, Words)> = it
        .files
        .iter()
        .map(|(path, source)| {
            let mut text = source.words.clone();
            for but in law.but.iter().filter(|but| source.words.contains(**but)) {
                left.retain(|other| other != but);
                text = text.replace(but, " ");
            }
            (&**path, Words::of_source(&text, &source.code))
        })
        .collect();
    for but in left {
        breaches.push(format!("{name} has no `{but}` any more: strike it out of its law"));
    }
    for never in law.never {
        let said = never.said;
        if !forbidden.has(said) {
            breaches.push(format!(
                "the head of {name} no longer says that it must never know \"{said}\": mend the \
                 head, or its law"
            ));
        }
        for outside in never.crates.iter().filter(|outside| it.dependencies.contains(**outside)) {
            breaches.push(format!("{name} must never know \"{said}\", and is built on {outside}"));
        }
        for (path, text) in &texts {
            for word in never.words.iter().filter(|word| text.has(word)) {
                breaches.push(format!("{name} must never know \"{said}\": {path} says {word}"));
            }
        }
    }
    breaches
}

#[test]
fn every_crate_keeps_its_law() {
    let mut breaches = Vec::new();
    let crates = crates();
    for it in &crates {
        match LAWS.iter().find(|law| law.of == it.name) {
            Some(law) => breaches.extend(self::breaches(law, it)),
            None => breaches.push(format!("{} has no law: give it one", it.name)),
        }
    }
    let gone = LAWS.iter().filter(|law| crates.iter().all(|it| it.name != law.of));
    breaches.extend(gone.map(|law| format!("there is no crate {}: strike out its law", law.of)));
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn no_crates_are_built_in_a_circle() {
    let crates = crates();
    let own = |it: &Crate| (it.name.clone(), it.own().map(str::to_owned).collect());
    let graph: Graph = crates.iter().map(own).collect();
    assert_eq!(circle(&graph), None);
}

/// Modules whose children still go round in a circle: each is to be untied, and struck out here.
const TIED: &[(&str, &str)] = &[];

#[test]
fn no_modules_go_round_in_a_circle() {
    let mut wrong = Vec::new();
    for it in crates() {
        let mut tied = TIED.iter().filter(|(name, _)| *name == it.name).collect::<Vec<_>>();
        for (parent, graph) in Modules::read(&it.files).siblings() {
            let Some(circle) = circle(&graph) else { continue };
            let before = tied.len();
            tied.retain(|(_, known)| *known != parent);
            if tied.len() == before {
                let (name, circle) = (&it.name, circle.join(" -> "));
                wrong.push(format!("{name} {parent}: {circle} -> again: untie them"));
            }
        }
        wrong.extend(tied.iter().map(|it| format!("{it:?} is untied: strike it out of TIED")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
