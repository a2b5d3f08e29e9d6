//! What the lab makes of an experiment before anything of it runs, and what images answer.

mod answers;
mod options;
mod own;
mod refused;

use bakeoff_experiment::{Experiment, FlagOverrides};
use bakeoff_lab::{Plan, Registry};

/// The experiment of a file with this text.
fn load(registry: &Registry, text: &str) -> Result<Experiment, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, format!("repetitions = 1\n{text}")).unwrap();
    let (file, changes) = (file.to_string_lossy(), FlagOverrides::default());
    Experiment::load(&file, &changes, &registry.vocabulary()).map_err(|error| error.to_string())
}

/// How many trials of it can be had, and what can't be.
fn planned(registry: &Registry, text: &str) -> (usize, Vec<String>) {
    let experiment = load(registry, text).unwrap();
    let plan = Plan::from_experiment(registry, &experiment);
    let left_out = plan.left_out.iter().map(bakeoff_lab::plan::describe_left_out);
    (plan.trials.count_trials(), left_out.collect())
}
