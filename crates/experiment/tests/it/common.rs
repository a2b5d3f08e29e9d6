//! What the tests share.

use std::sync::Arc;

use bakeoff_experiment::{
    ArrivalNames, CollectionNames, CutBy, Declared, DeviceProblem, DeviceTable, DiskModels, Disks,
    EngineNames, Engines, Error, Experiment, Factor, FlagOverrides, ParameterNames, PlannerNames,
    SettingPermission, Variant, Vocabulary, WorkloadNames, presets, without_passwords,
};

/// The shortest file that is right.
pub const GOOD: &str = "workload = \"redmine\"\nengine = \"sqlite\"\n";

/// The shortest file of a workload without an engine.
pub const FILES: &str = "workload = \"files\"\n";

/// What the workload `files` declares.
pub const DEPTH: Factor = Factor::Declared(&Declared {
    name: "depth",
    summary: "how many requests are in flight",
    syntax: "1 to 1024",
    default: "1",
    canonical: depth,
});

fn depth(text: &str) -> Result<String, String> {
    match text.parse() {
        Ok(depth @ 1..=1024) => Ok(format!("{depth}")),
        _ => Err(format!("`{text}` is not a depth\nvalid: 1 to 1024")),
    }
}

/// The factors of the workload `files`.
pub const OF_FILES: [Factor; 6] =
    [Factor::DISK, Factor::NEIGHBOURS, Factor::CLIENTS, Factor::RATE, Factor::SCALE, DEPTH];

/// Names like those that the command knows.
pub fn vocabulary() -> Vocabulary {
    vocabulary_with(&["sqlite", "lmdb", "fjall", "mariadb:innodb", "null"])
}

/// The same with these engines.
pub fn vocabulary_with(engines: &[&str]) -> Vocabulary {
    let strings = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let engine = |name: &str| EngineNames {
        name: name.to_owned(),
        options: Vec::new(),
        takes_settings: name == "mariadb:innodb",
        stores: name != "null",
    };
    let workload = |name: &str, scales: &[&str]| WorkloadNames {
        name: name.to_owned(),
        scales: strings(scales),
        operations: strings(&["create_issue", "process_issues"]),
        factors: Factor::OWN.into(),
        reads_back: name == "ledger",
        takes_rows: Vec::new(),
        cut_by: Ok(CutBy::engines("ledger")),
    };
    let files = WorkloadNames {
        factors: OF_FILES.into(),
        cut_by: Err("its files can't be audited\nname a workload over tables".to_owned()),
        ..workload("files", &["small", "large", "giant"])
    };
    Vocabulary {
        engines: Engines::new(
            engines.iter().copied().map(engine).collect(),
            url,
            Arc::new(variant),
            Arc::new(standing),
        ),
        workloads: vec![
            workload("redmine", &["small", "large", "giant"]),
            workload("reads", &["tiny"]),
            workload("ledger", &["small", "large"]),
            files,
        ],
        disks: Disks::new(Models),
        collections: Vec::new(),
        arrivals: [("even", "in even gaps"), ("poisson", "in random gaps"), ("pairs", "in pairs")]
            .map(|(name, summary)| ArrivalNames { name: name.into(), summary: summary.into() })
            .into(),
        planners: [
            ("fixed", false, false),
            ("longer", false, false),
            ("decides", true, false),
            ("seeks", false, true),
        ]
        .map(|(name, repeats, seeks)| PlannerNames { name: name.into(), repeats, seeks })
        .into(),
        presets: presets().to_vec(),
        trusts: false,
    }
}

/// The same names, where `redmine` takes rows, and there is a collection `words` of text.
pub fn taking_rows(installed: bool) -> Vocabulary {
    let mut vocabulary = vocabulary();
    vocabulary.workloads[0].takes_rows = vec![10, 100, 1000];
    vocabulary.collections = vec![CollectionNames { name: "words".into(), installed }];
    vocabulary
}

/// The same names, for a file that is trusted.
pub fn trusting() -> Vocabulary {
    Vocabulary { trusts: true, ..vocabulary() }
}

/// What runs a command asks for trust, and a port is the lab's own.
fn standing(engine: &str, name: &str, _: &str) -> SettingPermission {
    assert_eq!(engine, "mariadb:innodb", "no other takes settings");
    match name {
        "run_command" => SettingPermission::Trusted("has the server run a command".to_owned()),
        "port" => SettingPermission::Reserved,
        _ => SettingPermission::Free,
    }
}

/// A level with options, whose values are canonical in small letters; a `path` asks for trust, and a `wal_mode`
/// is no setting.
pub fn variant(text: &str, _: &[(&str, &str)]) -> Result<Variant, String> {
    let name = text.split('/').next().unwrap_or(text);
    if !["mariadb:innodb", "tarantool:memtx"].contains(&name) {
        return Err(format!("`{name}` takes no options\nwrite `{name}` alone"));
    }
    let mut options: Vec<(String, String)> = Vec::new();
    for piece in text.split('/').skip(1) {
        match (piece.split_once('='), options.last_mut()) {
            (Some((name, value)), _) => options.push((name.to_owned(), value.to_lowercase())),
            (None, Some((_, value))) => *value = format!("{value}/{piece}"),
            (None, None) => return Err(format!("`{piece}` is not an option\nwrite NAME=VALUE")),
        }
    }
    options.sort();
    let written = options.iter().map(|(name, value)| format!("/{name}={value}"));
    let level = format!("{name}{}", written.collect::<String>());
    let is_own = |(name, _): &(String, String)| ["path", "wal_mode"].contains(&&**name);
    let (own, settings): (Vec<_>, _) = options.into_iter().partition(is_own);
    let why = "has bakeoff run the programs in a folder".to_owned();
    let trusted = own.into_iter().filter(|(name, _)| name == "path");
    let trusts = trusted.map(|(name, _)| (name, why.clone())).collect();
    Ok(Variant { level, settings, trusts })
}

/// A database's URL: its scheme is `mysql`, and it names a database.
fn url(text: &str) -> Result<String, String> {
    let rest =
        text.strip_prefix("mysql://").ok_or("the URL is of no known kind\nwrite mysql://")?;
    if !rest.contains('/') {
        return Err("the URL names no database".to_owned());
    }
    let name = without_passwords(text);
    if name.contains('*') { Err("the URL is not plain".to_owned()) } else { Ok(name) }
}

/// Models of disks without parameters that a factor could be.
pub struct Models;

impl DiskModels for Models {
    fn names(&self) -> Vec<String> {
        ["hdd-7200", "ebs-gp2:SIZE"].map(str::to_owned).into()
    }

    fn example(&self) -> String {
        "ssd-sata".to_owned()
    }

    /// `hdd-7200`, or `ebs-gp2:` and a size, as `100G`.
    fn level(&self, text: &str) -> Result<String, String> {
        let size = text.strip_prefix("ebs-gp2:").and_then(|size| size.strip_suffix('G'));
        let size = size.map(str::parse::<u32>);
        match (text, size) {
            ("hdd-7200" | "ssd-sata" | "ebs-magnetic", _) => Ok(text.to_owned()),
            (array, _) if array.starts_with("raid10:") => Ok(array.to_owned()),
            (_, Some(Ok(size))) => Ok(format!("ebs-gp2:{size}G")),
            _ => Err(format!("`{text}` has no size\nwrite `ebs-gp2:100G`")),
        }
    }

    /// A device of one's own has a model, a number of turns and, if it is said, a number of tags.
    fn check(&self, table: &DeviceTable) -> Result<(), Vec<DeviceProblem>> {
        let number = |key: &str| table.get(key).map(|value| value.as_integer().unwrap_or(0));
        let problem = |key: Option<&str>, message: &str| DeviceProblem {
            key: key.map(str::to_owned),
            message: message.to_owned(),
        };
        if table.get("model").and_then(toml::Value::as_str) != Some("hdd-7200") {
            return Err(vec![problem(None, "a device needs a model\nadd `model = \"hdd-7200\"`")]);
        }
        let wrong = ["rpm", "tags"].into_iter().filter(|key| number(key).is_some_and(|n| n < 1));
        let wrong = wrong.map(|key| problem(Some(key), &format!("its {key} has to be above 0")));
        let wrong: Vec<DeviceProblem> = wrong.collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong) }
    }

    fn parameters(&self) -> Vec<ParameterNames> {
        Vec::new()
    }

    fn value(&self, _: &str, _: &str) -> Option<Result<String, String>> {
        None
    }

    fn parameters_of(&self, _: &DeviceTable) -> Vec<(String, bool)> {
        Vec::new()
    }
}

/// Loads a file `my.toml` of that text.
pub fn load(toml: &str, changes: &FlagOverrides) -> Result<Experiment, Error> {
    load_with(toml, changes, &vocabulary())
}

/// Loads a file `my.toml` of that text, with names of one's own.
pub fn load_with(
    toml: &str,
    changes: &FlagOverrides,
    vocabulary: &Vocabulary,
) -> Result<Experiment, Error> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("my.toml");
    std::fs::write(&path, toml).expect("a file");
    Experiment::load(path.to_str().expect("UTF-8"), changes, vocabulary)
}

/// The message for a file of that text, without the folder's name.
pub fn message(toml: &str, changes: &FlagOverrides) -> String {
    message_with(toml, changes, &vocabulary())
}

/// The same with names of one's own.
pub fn message_with(toml: &str, changes: &FlagOverrides, vocabulary: &Vocabulary) -> String {
    let error = load_with(toml, changes, vocabulary);
    let error = error.expect_err("something is wrong").to_string();
    let line = |line: &str| match (line.find("--> /"), line.find("my.toml")) {
        (Some(start), Some(end)) => format!("{}{}", &line[..start + 4], &line[end..]),
        _ => line.to_owned(),
    };
    error.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A message begins with this, and its carets stand under that piece of a line.
#[track_caller]
pub fn assert_under(message: &str, title: &str, line: &str, piece: &str) {
    assert!(message.starts_with(&format!("error: {title}")), "{message}");
    let carets = format!("{}{}", " ".repeat(line.find(piece).unwrap()), "^".repeat(piece.len()));
    let shown = format!(" | {line}\n  | {carets}\n");
    assert!(message.contains(&shown), "{shown}is not in:\n{message}");
}
