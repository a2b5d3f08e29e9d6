//! What a release consists of: the recipe, the Debian package and the files that name a version agree.

use std::path::{Path, PathBuf};
use std::process::Command;

use bakeoff_testkit::needs;

/// The folder of the crate, whose manifest has what the Debian package takes.
fn own() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_recipe_makes_what_the_debian_package_takes() {
    let manifest: toml::Table = read(own().join("Cargo.toml")).parse().expect("a manifest");
    let recipe = read(own().join("../../ci/release"));
    let assets = manifest["package"]["metadata"]["deb"]["assets"].as_array().expect("a list");
    assert!(assets.len() >= 5, "{assets:?}");
    for asset in assets {
        let source = asset[0].as_str().expect("a path");
        let is_made = match source.strip_prefix("../../target/release-parts/") {
            Some("man/*.1") => recipe.contains("man --output \"$parts/man\""),
            Some(made) => recipe.contains(&format!(">\"$parts/{made}\"")),
            None => source == "target/release/bakeoff" || own().join(source).is_file(),
        };
        assert!(is_made, "ci/release does not make {source}");
    }
}

/// LMDB is bundled by its binding, whose manifest names another licence.
#[test]
fn a_release_brings_the_licences_of_what_it_is_linked_with() {
    let python = Command::new("python3").arg("--version").output();
    if needs(python.map_err(|error| format!("python3: {error}"))).is_none() {
        return;
    }
    let mut licences = Command::new(own().join("../../ci/licences"));
    licences.current_dir(own().join("../..")).env("CARGO", env!("CARGO"));
    let said = licences.env("CARGO_NET_OFFLINE", "true").output().expect("it runs");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let text = String::from_utf8_lossy(&said.stdout);
    for part in ["\nlmdb-master-sys ", "The OpenLDAP Public License", "\nserde "] {
        assert!(text.contains(part), "{part:?} is missing");
    }
    for other in ["\nproptest ", "\nbakeoff-"] {
        assert!(!text.contains(other), "{other:?} is of tests, or our own");
    }
}

#[test]
fn all_files_name_the_version_of_the_crate() {
    let version = env!("CARGO_PKG_VERSION");
    let citation = read(own().join("../../CITATION.cff"));
    assert!(citation.contains(&format!("\nversion: {version}\n")), "CITATION.cff: {citation}");
    let changes = read(own().join("../../CHANGELOG.md"));
    let newest = changes.lines().find_map(|line| line.strip_prefix("## "));
    assert_eq!(newest, Some(version), "the newest section of CHANGELOG.md");
}
