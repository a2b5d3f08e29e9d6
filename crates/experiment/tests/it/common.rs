//! What the tests share.

use bakeoff_experiment::{
    Changes, DeviceProblem, Disks, Engines, Error, Experiment, Vocabulary, WorkloadNames,
    without_passwords,
};

/// The shortest file that is right.
pub const GOOD: &str = "workload = \"redmine\"\nengine = \"sqlite\"\n";

/// Names like those that the command knows.
pub fn vocabulary() -> Vocabulary {
    let strings = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let workload = |name: &str, scales: &[&str]| WorkloadNames {
        name: name.to_owned(),
        scales: strings(scales),
    };
    Vocabulary {
        engines: Engines::new(
            strings(&["sqlite", "lmdb", "fjall", "mariadb:innodb", "null"]),
            strings(&["mariadb:innodb"]),
            url,
        ),
        workloads: vec![
            workload("redmine", &["small", "large", "giant"]),
            workload("reads", &["tiny"]),
            workload("ledger", &["small", "large"]),
        ],
        disks: Disks::new(strings(&["hdd-7200", "ebs-gp2:SIZE"]), level, device),
    }
}

/// A database's URL: its scheme is `mysql`, and it names a database.
fn url(text: &str) -> Result<String, String> {
    let rest =
        text.strip_prefix("mysql://").ok_or("the URL is of no known kind\nwrite mysql://")?;
    if !rest.contains('/') {
        return Err("the URL names no database".to_owned());
    }
    Ok(without_passwords(text))
}

/// A model's level: `hdd-7200`, or `ebs-gp2:` and a size, as `100G`.
fn level(text: &str) -> Result<String, String> {
    let size = text.strip_prefix("ebs-gp2:").and_then(|size| size.strip_suffix('G'));
    let size = size.map(str::parse::<u32>);
    match (text, size) {
        ("hdd-7200" | "ssd-sata", _) => Ok(text.to_owned()),
        (_, Some(Ok(size))) => Ok(format!("ebs-gp2:{size}G")),
        _ => Err(format!("`{text}` has no size\nwrite `ebs-gp2:100G`")),
    }
}

/// A device of one's own has a model, a number of turns and, if it is said, a number of tags.
fn device(table: &toml::Table) -> Result<(), Vec<DeviceProblem>> {
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

/// Loads a file `my.toml` of that text.
pub fn load(toml: &str, changes: &Changes) -> Result<Experiment, Error> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("my.toml");
    std::fs::write(&path, toml).expect("a file");
    Experiment::load(path.to_str().expect("UTF-8"), changes, &vocabulary())
}
