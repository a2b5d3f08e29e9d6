//! What bakeoff is built on keeps to `deny.toml`: licences, one version of each crate, the default
//! registry alone. Read from `cargo metadata`, which takes no second; `cargo deny check` reads the
//! same file where it is installed. And what a release consists of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use bakeoff_testkit::needs;
use serde_json::{Value, json};

/// The folder of the crate, whose manifest has what the Debian package takes.
fn own() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What `deny.toml` says.
struct Policy(toml::Table);

impl Policy {
    fn read() -> Self {
        Self(read(own().join("../../deny.toml")).parse().unwrap())
    }

    fn list(&self, section: &str, key: &str) -> &[toml::Value] {
        self.0[section][key].as_array().unwrap()
    }

    /// The licence of a crate, also of one that names none.
    fn licence<'a>(&'a self, package: &'a Value) -> &'a str {
        let name = name(package);
        let mut known = self.list("licenses", "clarify").iter();
        match text(package, "license") {
            "" => known
                .find(|it| it["crate"].as_str() == Some(&*name))
                .map_or("", |it| it["expression"].as_str().unwrap()),
            named => named,
        }
    }

    fn allows(&self, licence: &str) -> bool {
        let allowed = self.list("licenses", "allow");
        let expression = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX);
        expression.is_ok_and(|it| {
            it.evaluate(|part| {
                let id = part.license.id().map(|id| id.name);
                let is_it = |it: &toml::Value| it.as_str() == id;
                part.addition.is_none() && id.is_some() && allowed.iter().any(is_it)
            })
        })
    }

    /// Crates that may be there beside a later version, as `name@version`.
    fn skipped(&self) -> BTreeSet<&str> {
        let skip = self.list("bans", "skip").iter();
        let reasoned =
            skip.inspect(|it| assert!(it["reason"].as_str().is_some_and(|it| it.len() > 3)));
        reasoned.map(|it| it["crate"].as_str().unwrap()).collect()
    }
}

/// All packages of this build, tests included, as `cargo metadata` tells them.
fn packages() -> Vec<Value> {
    let target = Policy::read().list("graph", "targets")[0].as_str().unwrap().to_owned();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--locked", "--offline", "--format-version", "1"]);
    cargo.args(["--filter-platform", &target]).current_dir(own());
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap().iter();
    let built: BTreeSet<String> = nodes.map(|node| text(node, "id").to_owned()).collect();
    let Value::Array(packages) = metadata["packages"].take() else { panic!("no packages") };
    packages.into_iter().filter(|package| built.contains(text(package, "id"))).collect()
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

fn name(package: &Value) -> String {
    format!("{}@{}", text(package, "name"), text(package, "version"))
}

/// All that is against the policy: licences; what is there in several versions, or skipped for no reason any
/// more; and what comes from elsewhere than this folder and the default registry, which cargo does not name.
fn problems(packages: &[Value], policy: &Policy) -> Vec<String> {
    let licences = packages.iter().filter(|it| !policy.allows(policy.licence(it)));
    let licences = licences.map(|it| format!("{} is under {:?}", name(it), text(it, "license")));
    let mut versions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for package in packages {
        versions.entry(text(package, "name")).or_default().insert(name(package));
    }
    let skipped = policy.skipped();
    let several = || versions.values().filter(|versions| versions.len() > 1);
    let unskipped = several().filter_map(|versions| {
        let left: Vec<_> = versions.iter().filter(|it| !skipped.contains(it.as_str())).collect();
        (left.len() > 1).then(|| format!("{left:?} are all built"))
    });
    let idle = skipped.iter().filter(|skip| !several().any(|it| it.contains(**skip)));
    let idle = idle.map(|skip| format!("{skip} is skipped and no duplicate"));
    let workspace = own().ancestors().nth(2).unwrap();
    let is_elsewhere = |package: &&Value| match text(package, "source") {
        // Only what we ask for can name a registry: the default one takes no crates that do.
        "" => {
            let manifest = Path::new(text(package, "manifest_path"));
            let mut asked = package["dependencies"].as_array().into_iter().flatten();
            !["crates", "examples"].iter().any(|it| manifest.starts_with(workspace.join(it)))
                || asked.any(|it| !it["registry"].is_null())
        }
        source => !source.starts_with("registry+"),
    };
    let elsewhere = packages.iter().filter(is_elsewhere).map(name);
    let sources: BTreeSet<&str> = packages.iter().map(|it| text(it, "source")).collect();
    let registries: Vec<&&str> = sources.iter().filter(|source| !source.is_empty()).collect();
    let registries = (registries.len() > 1).then(|| format!("{registries:?}"));
    licences.chain(unskipped).chain(idle).chain(elsewhere).chain(registries).collect()
}

#[test]
fn what_it_is_built_on_keeps_to_the_policy() {
    let (packages, policy) = (packages(), Policy::read());
    assert!(packages.len() > 100, "{} packages", packages.len());
    assert_eq!(problems(&packages, &policy), Vec::<String>::new(), "see deny.toml");
    let section = |section: &str, key: &str| policy.0[section][key].as_str().unwrap().to_owned();
    assert_eq!(section("bans", "multiple-versions"), "deny");
    assert_eq!(section("sources", "unknown-registry"), "deny");
    assert_eq!(section("sources", "unknown-git"), "deny");

    // Each thing that does not keep to it is found.
    for licence in ["MIT", "MIT/Apache-2.0", "GPL-3.0-only OR MIT", "(MIT OR Zlib) AND Unicode-3.0"]
    {
        assert!(policy.allows(licence), "{licence}");
    }
    for (change, found) in [
        (json!({ "license": "GPL-3.0-only" }), "GPL"),
        (json!({ "license": "MIT AND GPL-2.0-or-later" }), "GPL"),
        (json!({ "license": "" }), "is under"),
        (json!({ "version": "99.0.0" }), "are all built"),
        (json!({ "source": "git+https://example.org/a" }), "serde@"),
        (json!({ "source": "registry+https://example.org/" }), "example.org"),
        (json!({ "source": null, "manifest_path": "/elsewhere/Cargo.toml" }), "serde@"),
        (
            json!({
                "source": null, "manifest_path": env!("CARGO_MANIFEST_PATH"),
                "dependencies": [{ "name": "a", "registry": "https://example.org" }],
            }),
            "serde@",
        ),
    ] {
        let mut odd = packages.iter().find(|it| it["name"] == "serde").unwrap().clone();
        let Value::Object(change) = change else { panic!("{change}") };
        odd.as_object_mut().unwrap().extend(change);
        let problems = problems(&[&packages[..], &[odd]].concat(), &policy);
        assert!(problems.iter().any(|it| it.contains(found)), "{found}: {problems:?}");
    }
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
