//! The checker catches what it is there to catch, shown by made-up crates.

use super::laws::{Law, Never};
use super::source::{Named, paths, uses};
use super::*;

const LAW: Law = Law {
    of: "made-up",
    on: &["stats"],
    never: &[Never {
        said: "engine",
        crates: &["rusqlite"],
        words: &["sqlite", "std::fs", "Instant", "\"null\""],
    }],
    but: &[],
};
const HEAD: &str =
    "//! Made up.\n//!\n//! It must never know an engine,\n//! or a file. It is good.\n";

fn made_up(manifest: &str, files: &[(&str, &str)]) -> Crate {
    let files: Vec<_> =
        files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
    Crate::new("made-up", manifest, &files)
}

/// What is wrong with a source below the head.
fn wrong_with(source: &str) -> Vec<String> {
    breaches(&LAW, &made_up("", &[("lib.rs", &format!("{HEAD}{source}"))]))
}

#[test]
fn a_forbidden_word_is_caught_wherever_it_stands() {
    let sources = [
        "fn f() { sqlite::open() }",
        "struct SqliteStore;",
        "const SQLITE_PAGE: u64 = 1;",
        r#"fn f() { say("it is in SQLite's file") }"#,
        r##"const TEXT: &str = r#"a "quoted" sqlite"#;"##,
        "use std::{fmt, fs};",
        "use std::{collections::BTreeMap, fs::{self, File}};",
        "fn f() { std::fs::remove_file(path) }",
        "use std::time::{Duration, Instant};",
        r#"fn f(name: &str) -> bool { name == "null" }"#,
        "#[cfg(test)]\nmod tests { fn f() {} }\nuse sqlite::Connection;",
        "fn f() -> char { '\"' }\nfn g() { sqlite() } // \"",
    ];
    for source in sources {
        assert_eq!(wrong_with(source).len(), 1, "{source}: {:?}", wrong_with(source));
    }
    let wrong = wrong_with(sources[0]);
    assert_eq!(wrong, ["made-up must never know \"engine\": lib.rs says sqlite"]);
}

#[test]
fn what_is_no_forbidden_word_is_not_caught() {
    let sources = [
        "// sqlite is not known here\nfn f() {}",
        "/// As SQLite does.\nfn f() {} /* sqlite /* and */ std::fs */",
        "#[cfg(test)]\nmod tests {\n    use std::fs;\n    fn f() { sqlite(\"}\") }\n}",
        "#[cfg(test)]\nuse std::fs;\nfn f() {}",
        "#[cfg(test)]\nconst ALL: [u8; 2] = [sqlite(), 1];\nfn f() {}",
        "fn f() -> bool { null == nullable }",
        "fn f() { instant() }",
        "fn f() { say(\"// no comment\") }",
    ];
    for source in sources {
        assert_eq!(wrong_with(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn a_path_is_no_part_of_another_name() {
    let has = |source: &str| Words::of_source(source, source).has("std::process::exit");
    assert!(has("use std::process::{Child, exit};") && has("fn f() { std::process::exit(1) }"));
    assert!(!has("use std::process::{Child, ExitStatus};"));
}

#[test]
fn a_forbidden_dependency_is_caught() {
    let manifest = "[package]\nname = \"bakeoff-made-up\"\n\n[dependencies]\nbakeoff-stats.workspace = \
                    true\nbakeoff-lab = { path = \"../lab\" }\n# heed = \"1\"\n\n\
                    [target.'cfg(unix)'.dependencies]\nrusqlite = \"0.41\"\n\n\
                    [dev-dependencies]\nbakeoff-report.workspace = true\n";
    let wrong = breaches(&LAW, &made_up(manifest, &[("main.rs", HEAD)]));
    assert_eq!(
        wrong,
        [
            "made-up must not be built on lab: see its law",
            "made-up must never know \"engine\", and is built on rusqlite",
        ]
    );
}

#[test]
fn a_law_and_a_head_that_differ_are_caught() {
    let wrong = breaches(&LAW, &made_up("", &[("lib.rs", "//! Knows everything.\n")]));
    assert!(wrong.len() == 1 && wrong[0].contains("lacks a sentence"), "{wrong:?}");
    let other = "//! It must never know a file. An engine is known.\n";
    let wrong = breaches(&LAW, &made_up("", &[("lib.rs", other)]));
    assert!(wrong.len() == 1 && wrong[0].contains("no longer says"), "{wrong:?}");
    let but = Law { but: &["sqlite://"], ..LAW };
    let with = |source: &str| made_up("", &[("lib.rs", &format!("{HEAD}{source}"))]);
    assert!(breaches(&but, &with("const URL: &str = \"sqlite://\";")).is_empty());
    let wrong = breaches(&but, &with("fn f() {}"));
    assert!(wrong.len() == 1 && wrong[0].contains("any more"), "{wrong:?}");
}

/// The circle among the children of a module, if there is one.
fn circle_below(parent: &str, files: &[(&str, &str)]) -> Option<Vec<String>> {
    let graphs = Modules::read(&made_up("", files).files).siblings();
    graphs.get(parent).and_then(circle)
}

#[test]
fn a_circle_of_modules_is_caught() {
    let lib = ("lib.rs", "mod a; mod b; mod c; pub use c::C; pub use b::*;");
    let a = ("a.rs", "use crate::b::B; pub struct A;");
    let by_path = [lib, a, ("b.rs", "pub struct B; fn f() { crate::a::f() }")];
    assert_eq!(circle_below("", &by_path), Some(vec!["a".into(), "b".into()]));
    let longer = [
        lib,
        a,
        ("b.rs", "use super::c; pub struct B;"),
        ("c.rs", "use crate::{a::A}; pub struct C;"),
    ];
    assert_eq!(circle_below("", &longer), Some(vec!["a".into(), "b".into(), "c".into()]));
    // By a name that the crate's root hands on.
    let handed_on = [
        lib,
        a,
        ("b.rs", "use crate::C; pub struct B;"),
        ("c.rs", "use crate::a::A; pub struct C;"),
    ];
    assert_eq!(circle_below("", &handed_on), Some(vec!["a".into(), "b".into(), "c".into()]));
    let all =
        [lib, a, ("b.rs", "use crate::C; pub struct B;"), ("c.rs", "use crate::B; pub struct C;")];
    assert_eq!(circle_below("", &all), Some(vec!["b".into(), "c".into()]));
    // Below another module, and by what stands deeper.
    let below = [
        ("lib.rs", "mod p;"),
        ("p/mod.rs", "mod x; mod y;"),
        ("p/x.rs", "mod deep;"),
        ("p/x/deep.rs", "use super::super::y::Y;"),
        ("p/y.rs", "use super::x::deep::D; pub struct Y;"),
    ];
    assert_eq!(circle_below("p", &below), Some(vec!["x".into(), "y".into()]));
}

#[test]
fn what_is_no_circle_of_modules_is_not_caught() {
    // A module and its children are one subject, and the root is what all may use.
    let files = [
        ("lib.rs", "mod a; mod b; pub struct Error;"),
        ("a.rs", "mod x; use x::X; use crate::b::B; pub struct A;"),
        ("a/x.rs", "use super::A; use crate::Error; pub struct X;"),
        ("b.rs", "use crate::Error; pub struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; }"),
    ];
    let graphs = Modules::read(&made_up("", &files).files).siblings();
    assert!(graphs.values().all(|graph| circle(graph).is_none()), "{graphs:?}");
    assert!(graphs[""]["a"].contains("b"), "{graphs:?}");
}

#[test]
fn paths_are_read_out_of_trees() {
    let code = "use a::{self, b::C as D, e::*}; fn f() { crate::g::h::<u8>(super::i()) }";
    let named = |path: &[&str], alias: &str| Named {
        path: path.iter().map(|name| name.to_string()).collect(),
        alias: alias.to_owned(),
    };
    let expected = [named(&["a"], "a"), named(&["a", "b", "C"], "D"), named(&["a", "e", "*"], "*")];
    assert_eq!(uses(code), expected);
    assert_eq!(paths(code), [vec!["crate", "g", "h"], vec!["super", "i"]]);
}
