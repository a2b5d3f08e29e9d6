//! What is registered: the targets, with the engines and workloads that they know. The built-in ones
//! are in one list each.

use std::sync::Arc;

use bakeoff_devices::spec::{self, Spec, SpecError};
use bakeoff_engines::{Engine, Home, Level};
use bakeoff_experiment::{
    DeviceProblem, Disks, EngineNames, Engines, Judge, Reader, Standing, Variant, Vocabulary,
};
use bakeoff_workloads::Workload;

use crate::TrialError;
use crate::targets::Target;
use crate::targets::folder::Folder;
use crate::targets::tables::Tables;

/// See the module.
pub struct Registry {
    engines: Vec<&'static dyn Engine>,
    workloads: Vec<&'static dyn Workload>,
    targets: Vec<Box<dyn Target>>,
}

impl Registry {
    /// Everything that is built in.
    pub fn standard() -> Self {
        Self::of(bakeoff_engines::ENGINES.to_vec(), bakeoff_workloads::WORKLOADS.to_vec())
    }

    /// The same with more engines.
    pub fn with_engines(self, more: impl IntoIterator<Item = &'static dyn Engine>) -> Self {
        let mut engines = self.engines;
        engines.extend(more);
        Self::of(engines, self.workloads)
    }

    fn of(engines: Vec<&'static dyn Engine>, workloads: Vec<&'static dyn Workload>) -> Self {
        let tables = Tables::new(engines.clone(), workloads.clone());
        Self { engines, workloads, targets: vec![Box::new(tables), Box::new(Folder)] }
    }

    /// The engine of that level, without an alias. No program is started to find it.
    pub fn engine(&self, level: &str) -> Option<&'static dyn Engine> {
        bakeoff_engines::find_among(&self.engines, level).ok()
    }

    /// The target of that name.
    pub fn target(&self, name: &str) -> Option<&dyn Target> {
        self.targets.iter().map(|target| &**target).find(|target| target.name() == name)
    }

    /// The target that runs a workload.
    ///
    /// # Errors
    /// When there is no such workload.
    pub fn target_of(&self, workload: &str) -> Result<&dyn Target, TrialError> {
        let runs =
            |target: &&dyn Target| target.workloads().iter().any(|names| names.name == workload);
        let found = self.targets.iter().map(|target| &**target).find(runs);
        found.ok_or_else(|| TrialError::User(format!("there is no workload {workload}")))
    }

    /// Every target.
    pub fn targets(&self) -> impl Iterator<Item = &dyn Target> {
        self.targets.iter().map(|target| &**target)
    }

    /// The names that are valid in an experiment.
    pub fn vocabulary(&self) -> Vocabulary {
        let names = self.engines.iter().map(|engine| {
            let about = engine.about();
            EngineNames {
                name: about.name.into(),
                takes_settings: about.home == Home::Server,
                stores: about.stores,
            }
        });
        let url = |url: &str| bakeoff_engines::elsewhere::name(url).map(Into::into);
        let (reader, judge) = (variants(self.engines.clone()), standing(self.engines.clone()));
        let engines = Engines::new(names.collect(), url, reader, judge);
        let disks = Disks::new(
            spec::listed().iter().map(|disk| disk.name.to_string()).collect(),
            "ssd-sata".into(),
            |text| Spec::parse(text).map(|spec| spec.to_string()).map_err(|e| e.to_string()),
            |table| Spec::from_table(table).map(drop).map_err(problems),
        );
        let workloads = self.targets.iter().flat_map(|target| target.workloads());
        Vocabulary { engines, workloads: workloads.collect(), disks, trusts: false }
    }
}

/// Reads levels that give these engines options.
fn variants(engines: Vec<&'static dyn Engine>) -> Reader {
    Arc::new(move |text| {
        // What is wrong with its options together, too.
        let engine = bakeoff_engines::find_among(&engines, text)?;
        let level = Level::read(&engines, text)?;
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Ok(Variant {
            level: engine.about().name.to_owned(),
            settings: level.settings().map(owned).collect(),
            trusts: level.trusts().map(owned).collect(),
        })
    })
}

/// Who may have which setting of these engines.
fn standing(engines: Vec<&'static dyn Engine>) -> Judge {
    Arc::new(move |engine, name, value| {
        let engine = engines.iter().find(|known| known.about().name == engine);
        match engine.map(|engine| engine.standing(name, value)) {
            Some(bakeoff_engines::Standing::Free) => Standing::Free,
            Some(bakeoff_engines::Standing::Trusted(why)) => Standing::Trusted(why.to_string()),
            Some(bakeoff_engines::Standing::Reserved) | None => Standing::Reserved,
        }
    })
}

/// What is wrong with a device, by the keys of its table.
fn problems(error: SpecError) -> Vec<DeviceProblem> {
    let problems = error.0.iter().map(|problem| DeviceProblem {
        key: problem.parameter().map(str::to_owned),
        message: problem.to_string(),
    });
    problems.collect()
}
