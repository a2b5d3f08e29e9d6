//! What the tests share.

use bakeoff_experiment::{Changes, Error, Experiment, Vocabulary, WorkloadNames};

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
        engines: strings(&["sqlite", "lmdb", "fjall", "null"]),
        workloads: vec![
            workload("redmine", &["small", "large", "giant"]),
            workload("reads", &["tiny"]),
        ],
    }
}

/// Loads a file `my.toml` of that text.
pub fn load(toml: &str, changes: &Changes) -> Result<Experiment, Error> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("my.toml");
    std::fs::write(&path, toml).expect("a file");
    Experiment::load(path.to_str().expect("UTF-8"), changes, &vocabulary())
}
