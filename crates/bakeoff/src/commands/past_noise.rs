//! The noise that this machine last had: that of the last finished run of a workload, among the run
//! folders beside the new one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bakeoff_analysis::estimate_trial_noise;
use bakeoff_folders::trust;
use bakeoff_results::{DATABASE, Machine, Run, RunFolder, RunState, Status};

/// What a finished run of this machine tells of its trials.
#[derive(Clone, Debug, PartialEq)]
pub struct PastNoise {
    /// The standard deviation of a trial's logarithm.
    pub of_trial: f64,
    pub folder: PathBuf,
}

impl PastNoise {
    /// Of the run in `runs` that ended last, among those of this workload, machine and version that
    /// tell their noise. A folder that can't be read, or is somebody else's, tells nothing.
    pub fn from_runs(runs: &Path, workload: &str, machine: &Machine) -> Option<Self> {
        let fits = |run: &Run| {
            run.workload == workload
                && run.merged.is_none()
                && run.machine.has_hardware_of(machine)
                && is_of_this_version(run)
        };
        let mut found: Vec<(f64, RunFolder)> = list_run_folders(runs)
            .filter_map(|dir| {
                let folder = RunFolder::open(&dir).ok()?;
                let RunState { run, status, ended_s } = folder.read_state().ok()?;
                Some((ended_s.filter(|_| status == Status::Finished && fits(&run))?, folder))
            })
            .collect();
        found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        found.iter().find_map(|(_, folder)| {
            let of_trial = estimate_trial_noise(folder).ok()??;
            Some(Self { of_trial, folder: folder.dir().to_owned() })
        })
    }
}

fn is_of_this_version(run: &Run) -> bool {
    let mut versions = run.takeovers.iter().map(|it| &it.by.version).chain([&run.version]);
    versions.all(|version| version == env!("BAKEOFF_VERSION"))
}

/// Those in `.` are called by their name alone, as a run calls its folder.
fn list_run_folders(runs: &Path) -> impl Iterator<Item = PathBuf> {
    let is_here = runs == Path::new(".");
    fs::read_dir(runs).into_iter().flatten().flatten().filter_map(move |entry| {
        let is_own = entry.metadata().is_ok_and(|it| it.is_dir() && trust::is_trusted(it.uid()));
        let dir = if is_here { entry.file_name().into() } else { entry.path() };
        (is_own && dir.join(DATABASE).is_file()).then_some(dir)
    })
}

#[cfg(test)]
mod tests {
    use bakeoff_lab::Plan;
    use bakeoff_testkit::synthetic::{self, TrialGenerator};

    use super::*;
    use crate::Lab;
    use crate::commands::strength::describe_strength;
    use crate::tests::load_experiment;

    /// A finished run of four blocks, with about 1.5 % of noise a trial.
    fn write_run(dir: &Path, ended_s: f64, change: impl FnOnce(&mut Run)) {
        let mut run = synthetic::run(&["1"], &["0"], 16);
        run.version = env!("BAKEOFF_VERSION").into();
        change(&mut run);
        let mut folder = RunFolder::create(dir, &run, "").unwrap();
        let mut trials = TrialGenerator::new(1, 40);
        for block in 0..run.planned / synthetic::BLOCK_TRIALS {
            let block = trials.generate_block(block, block, ["1", "0"]);
            block.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
        }
        folder.set_status(Status::Finished, Some(ended_s)).unwrap();
    }

    #[test]
    fn a_plan_goes_by_the_last_run_of_this_machine_workload_and_version() {
        let runs = tempfile::tempdir().unwrap();
        let at = |name: &str| runs.path().join(name);
        let machine = synthetic::run(&["1"], &["0"], 16).machine;
        let find = || PastNoise::from_runs(runs.path(), "none", &machine);
        write_run(&at("elsewhere"), 9.0, |run| run.machine.processors += 1);
        write_run(&at("other-disk"), 9.0, |run| run.machine.device = "another".into());
        write_run(&at("other-work"), 9.0, |run| run.workload = "redmine".into());
        write_run(&at("other-version"), 9.0, |run| run.version = "0.0.0".into());
        write_run(&at("no-trials"), 9.0, |run| run.planned = 0);
        std::fs::create_dir(at("no-run")).unwrap();
        std::fs::create_dir(at("damaged")).unwrap();
        std::fs::write(at("damaged").join(DATABASE), "nonsense").unwrap();
        assert_eq!(find(), None);
        write_run(&at("last"), 8.0, |_| {});
        write_run(&at("before"), 7.0, |_| {});
        let past = find().expect("the last run");
        assert_eq!(past.folder, at("last"));
        assert!((0.008..0.025).contains(&past.of_trial), "{past:?}");

        let experiment = load_experiment(
            "name = 'x'\nworkload = 'point'\nengine = ['sqlite', 'lmdb']\nrepetitions = 5\n",
        );
        let registry = Lab::standard().registry;
        let plan = Plan::from_experiment(&registry, &experiment);
        let [usual, known] =
            [None, Some(&past)].map(|past| describe_strength(&plan, past).unwrap());
        assert!(usual.contains("at 5 % of noise a trial)"), "{usual}");
        let source = format!(" % of noise a trial, as in {})", at("last").display());
        assert!(known.contains(&source), "{known}");
        let ratio = |text: &str| text.split(' ').find_map(|word| word.parse::<f64>().ok());
        assert!(ratio(&known) < ratio(&usual), "{known} {usual}");
    }
}
