//! The variable that continuous integration is known by is one place's to read: elsewhere a test could
//! come to skip, without a word and in CI, what it lacks something for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::source::strings;

/// Its name, for which the kit's `skip` and `needs` ask.
const VARIABLE: &str = concat!("C", "I");

/// The crate that may name it.
pub const KIT: &str = "crates/testkit/";

/// Which of these files, each by its path and its text, name the variable and may not.
fn breaches(files: &[(String, String)]) -> Vec<&str> {
    let foreign = files.iter().filter(|(path, _)| !path.starts_with(KIT));
    let naming = foreign.filter(|(_, text)| strings(text).iter().any(|it| it == VARIABLE));
    naming.map(|(path, _)| path.as_str()).collect()
}

/// Every source of the workspace, by its path in it: tests, benchmarks and examples among them.
pub fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders: Vec<PathBuf> = ["crates", "examples"].map(|name| root.join(name)).into();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("a source").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source");
                let path = path.strip_prefix(&root).expect("it is below").display().to_string();
                files.push((path, text));
            }
        }
    }
    files
}

#[test]
fn only_the_kit_names_the_variable_of_ci() {
    let files = sources();
    assert!(files.iter().any(|(path, _)| path.starts_with(KIT)), "there is no {KIT}");
    let breaches = breaches(&files);
    assert!(breaches.is_empty(), "{breaches:?} name \"{VARIABLE}\": use {KIT} instead");
}

#[test]
fn a_file_that_names_the_variable_is_caught() {
    let texts = [
        r#"fn f() -> bool { std::env::var_os("CI").is_some() }"#,
        r##"fn f() -> bool { env::var(r#"CI"#).is_ok() }"##,
        r#"#[cfg(test)] mod tests { #[test] fn f() { assert!(setting("CI")); } }"#,
        r#"const NAME: &[u8] = b"CI";"#,
        "fn f() -> bool { std::env::var_os(\n    // a comment with \" in it\n    \"CI\",\n).is_some() }",
    ];
    for path in ["crates/lab/src/a.rs", "crates/lab/tests/b/c.rs", "examples/own-lab/tests/d.rs"] {
        for text in texts {
            let files = [(path.to_owned(), text.to_owned())];
            assert_eq!(breaches(&files), [path], "{text}");
        }
    }
}

#[test]
fn what_does_not_name_the_variable_is_not_caught() {
    let texts = [
        "// In \"CI\" all must run.\nfn f() {}",
        r#"fn f() { say("CI runs as root"); }"#,
        r#"fn f() { say("not \"CI\""); }"#,
        "const CI: u8 = 1;",
    ];
    for text in texts {
        let files = [("crates/lab/src/a.rs".to_owned(), text.to_owned())];
        assert_eq!(breaches(&files), [""; 0], "{text}");
    }
    let kit = [(format!("{KIT}src/skip.rs"), texts[1].replace("CI runs as root", VARIABLE))];
    assert_eq!(breaches(&kit), [""; 0]);
}
