//! What users run is compiled for size, but for what the profile names: an engine's library is one of these.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::dependencies;

/// What the crate of engines is built on and no client on this machine waits for: it is at work when options are
/// read, when a connection begins, or on one that is encrypted.
const ASIDE: [&str; 10] = [
    "base64",
    "idna_adapter",
    "openssl-probe",
    "percent-encoding",
    "rustls",
    "serde",
    "sha1",
    "strsim",
    "thiserror",
    "tokio-rustls",
];

/// The crates that a manifest has compiled for speed in a release.
fn optimised(manifest: &str) -> BTreeSet<&str> {
    let lines = manifest.lines().skip_while(|line| *line != "[profile.release.package]").skip(1);
    let named =
        lines.take_while(|line| !line.starts_with('[')).filter_map(|it| it.split_once(" = "));
    let fast =
        named.filter(|(_, how)| how.contains("opt-level = 2") || how.contains("opt-level = 3"));
    fast.map(|(name, _)| name).collect()
}

#[test]
fn what_an_engine_is_built_on_is_compiled_for_speed() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it is below crates");
    let read = |path: &str| fs::read_to_string(crates.join(path)).expect("a manifest");
    let (workspace, engines) = (read("../Cargo.toml"), read("engines/Cargo.toml"));
    let (optimised, built_on) = (optimised(&workspace), dependencies(&engines));
    let at_work = |name: &&str| !name.starts_with("bakeoff-") && !ASIDE.contains(name);
    let slow: Vec<&str> = built_on
        .iter()
        .map(String::as_str)
        .filter(at_work)
        .filter(|name| !optimised.contains(name))
        .collect();
    assert_eq!(slow, Vec::<&str>::new(), "[profile.release.package] of Cargo.toml lacks these");
    for name in ASIDE {
        let is_right = built_on.contains(name) && !optimised.contains(name);
        assert!(is_right, "{name} is not built on, or compiled for speed: strike it out of ASIDE");
    }
}

#[test]
fn what_no_line_names_is_compiled_for_size() {
    let manifest = "[profile.release.package]\n# Engines.\na = { opt-level = 3 }\n\
                    b = { debug = true }\n[profile.other.package]\nc = { opt-level = 3 }\n";
    assert_eq!(optimised(manifest), BTreeSet::from(["a"]));
}
