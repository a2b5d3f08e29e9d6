//! What bakeoff is built on keeps to `deny.toml`: licences, one version of each crate, the default
//! registry alone. Read from `cargo metadata`, which takes no second; `cargo deny check` reads the
//! same file where it is installed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// What `deny.toml` says.
struct Policy(toml::Table);

impl Policy {
    fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml");
        Self(std::fs::read_to_string(path).unwrap().parse().unwrap())
    }

    fn list(&self, section: &str, key: &str) -> &[toml::Value] {
        self.0[section][key].as_array().unwrap()
    }

    fn allowed(&self) -> BTreeSet<&str> {
        self.list("licenses", "allow").iter().map(|it| it.as_str().unwrap()).collect()
    }

    /// The licence of a crate that names none.
    fn clarified(&self, package: &Value) -> Option<&str> {
        let name = name(package);
        let known = self.list("licenses", "clarify").iter();
        let named = known.filter(|it| it["crate"].as_str() == Some(&*name));
        named.map(|it| it["expression"].as_str().unwrap()).next()
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
    cargo.args(["--filter-platform", &target]).current_dir(env!("CARGO_MANIFEST_DIR"));
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

/// What is wrong with licences.
fn licences(packages: &[Value], policy: &Policy) -> Vec<String> {
    let allowed = policy.allowed();
    let fits = |licence: &str| {
        let expression = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX);
        expression.is_ok_and(|it| {
            it.evaluate(|part| {
                let id = part.license.id().map(|id| id.name);
                part.addition.is_none() && id.is_some_and(|id| allowed.contains(id))
            })
        })
    };
    let licence = |package| match text(package, "license") {
        "" => policy.clarified(package).unwrap_or_default(),
        named => named,
    };
    let wrong = packages.iter().filter(|package| !fits(licence(package)));
    wrong.map(|it| format!("{} is under {:?}", name(it), text(it, "license"))).collect()
}

/// What is there in several versions, and what is skipped for no reason any more.
fn duplicates(packages: &[Value], policy: &Policy) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for package in packages {
        versions.entry(text(package, "name")).or_default().insert(name(package));
    }
    let skipped = policy.skipped();
    let several = || versions.values().filter(|versions| versions.len() > 1);
    let unskipped = several().flat_map(|versions| {
        let left: Vec<_> = versions.iter().filter(|it| !skipped.contains(it.as_str())).collect();
        (left.len() > 1).then(|| format!("{left:?} are all built"))
    });
    let idle = skipped.iter().filter(|skip| !several().any(|it| it.contains(**skip)));
    unskipped.chain(idle.map(|skip| format!("{skip} is skipped and no duplicate"))).collect()
}

/// What comes from elsewhere than this folder and the default registry. Cargo names no registry
/// where a crate is asked of the default one.
fn sources(packages: &[Value]) -> Vec<String> {
    let ours = |package: &Value| package["source"].is_null();
    let local = |package: &Value| {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let manifest = Path::new(text(package, "manifest_path"));
        ["crates", "examples"].iter().any(|folder| manifest.starts_with(workspace.join(folder)))
    };
    let registries: BTreeSet<&str> =
        packages.iter().filter(|it| !ours(it)).map(|it| text(it, "source")).collect();
    let elsewhere = packages.iter().filter(|package| match ours(package) {
        true => !local(package),
        false => !text(package, "source").starts_with("registry+"),
    });
    let named = packages.iter().filter(|package| {
        let asked = package["dependencies"].as_array().into_iter().flatten();
        // Only what we ask for can name one: the registry takes no crates that do.
        ours(package) && asked.into_iter().any(|it| !it["registry"].is_null())
    });
    let mut wrong: Vec<String> = elsewhere.chain(named).map(name).collect();
    if registries.len() > 1 {
        wrong.push(format!("{registries:?}"));
    }
    wrong
}

#[test]
fn what_it_is_built_on_keeps_to_the_policy() {
    let (packages, policy) = (packages(), Policy::read());
    assert!(packages.len() > 100, "{} packages", packages.len());
    assert_eq!(licences(&packages, &policy), Vec::<String>::new(), "licences: see deny.toml");
    assert_eq!(duplicates(&packages, &policy), Vec::<String>::new(), "duplicates: see deny.toml");
    assert_eq!(sources(&packages), Vec::<String>::new(), "sources: see deny.toml");
    let section = |section: &str, key: &str| policy.0[section][key].as_str().unwrap().to_owned();
    assert_eq!(section("bans", "multiple-versions"), "deny");
    assert_eq!(section("sources", "unknown-registry"), "deny");
    assert_eq!(section("sources", "unknown-git"), "deny");
}

#[test]
fn what_does_not_keep_to_it_is_found() {
    let policy = Policy::read();
    let package = |name: &str, version: &str, licence: &str, source: &str| {
        json!({
            "name": name, "version": version, "license": licence, "source": source,
            "dependencies": [],
        })
    };
    let from = "registry+somewhere";
    let with = |licence| licences(&[package("a", "1.0.0", licence, from)], &policy);
    for good in ["MIT", "MIT/Apache-2.0", "GPL-3.0-only OR MIT", "(MIT OR Zlib) AND Unicode-3.0"] {
        assert!(with(good).is_empty(), "{good}");
    }
    for bad in ["GPL-3.0-only", "MIT AND GPL-2.0-or-later", "", "as you like"] {
        assert_eq!(with(bad).len(), 1, "{bad}");
    }
    let twice = ["1.0.0", "2.0.0"].map(|version| package("a", version, "MIT", from));
    let found = duplicates(&twice, &policy);
    assert!(found[0].contains("a@1.0.0") && found[1].contains("is skipped"), "{found:?}");
    for bad in ["git+https://example.org/a", "sparse+https://example.org/"] {
        assert_eq!(sources(&[package("a", "1.0.0", "MIT", bad)]).len(), 1, "{bad}");
    }
    let two = [package("a", "1.0.0", "MIT", from), package("b", "1.0.0", "MIT", "registry+other")];
    assert_eq!(sources(&two).len(), 1);
    let asks = json!({
        "name": "bakeoff", "source": null, "manifest_path": env!("CARGO_MANIFEST_PATH"),
        "dependencies": [{ "name": "a", "registry": "https://example.org" }],
    });
    assert_eq!(sources(&[asks]).len(), 1);
}
