//! What tests of several modules share.

use bakeoff_engines::Debt;
use bakeoff_experiment::{Experiment, FlagOverrides};
use bakeoff_load::{ClientShare, Driver, OperationSink, Pacer};
use bakeoff_workloads::{Claims, Name};
use tempfile::TempDir;

use crate::targets::{ConditioningStep, Processes, RunningTarget};
use crate::{Registry, TrialError};

/// The experiment of a file with this text.
pub fn load(text: &str) -> Experiment {
    load_changed(text, &FlagOverrides::default())
}

pub fn load_changed(text: &str, changes: &FlagOverrides) -> Experiment {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("it.toml");
    std::fs::write(&file, text).unwrap();
    let vocabulary = Registry::standard().vocabulary();
    let loaded = Experiment::load(&file.to_string_lossy(), changes, &vocabulary);
    loaded.unwrap_or_else(|error| panic!("{error}"))
}

/// Not the system's temporary folder: that may be in memory.
pub fn folder_on_disk() -> TempDir {
    let program = std::env::current_exe().unwrap();
    tempfile::tempdir_in(program.parent().unwrap()).unwrap()
}

/// A target whose clients start nothing.
pub struct IdleTarget<'a> {
    pub debt: Box<dyn Fn() -> Option<Debt> + Sync + 'a>,
    /// Does an operation of its conditioning.
    pub step: Box<dyn Fn() + Sync + 'a>,
    pub busy: Option<f64>,
    pub missed: &'static [&'static str],
}

impl Default for IdleTarget<'_> {
    fn default() -> Self {
        Self { debt: Box::new(|| None), step: Box::new(|| ()), busy: None, missed: &[] }
    }
}

impl RunningTarget for IdleTarget<'_> {
    fn operations(&self) -> &[Name] {
        &[Name::Borrowed("request")]
    }

    fn make_driver<'a>(
        &'a self,
        _: &ClientShare,
        _: Option<Box<dyn Claims + 'a>>,
    ) -> Result<Box<dyn Driver + 'a>, TrialError> {
        Ok(Box::new(StartsNothing))
    }

    fn conditioner(&self, _: usize, _: usize, _: u64) -> Result<ConditioningStep<'_>, TrialError> {
        Ok(Box::new(|| {
            (self.step)();
            Ok(1)
        }))
    }

    fn debt(&self) -> Result<Option<Debt>, TrialError> {
        Ok((self.debt)())
    }

    fn drain(&self) -> Result<(), TrialError> {
        Ok(())
    }

    fn groups(&self) -> Vec<(&'static str, Processes)> {
        Vec::new()
    }

    fn describe_missed(&self) -> Vec<String> {
        self.missed.iter().map(|it| (*it).to_owned()).collect()
    }

    fn take_busy(&self) -> Option<f64> {
        self.busy
    }
}

/// At a thousand a second at least fifty are due before it ends.
struct StartsNothing;

impl Driver for StartsNothing {
    fn run(&mut self, _: &mut dyn Pacer, _: &mut dyn OperationSink) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
