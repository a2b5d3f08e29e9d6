//! The registry: targets with their engines and workloads, planners, and device models.

mod question;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bakeoff_devices::device::model::DeviceModel;
use bakeoff_devices::models::{Models, RegisterError};
use bakeoff_engines::Engine;
use bakeoff_experiment::{Disks, Engines, Experiment, Preset, Vocabulary, WorkloadNames, presets};
use bakeoff_load::ARRIVALS;
use bakeoff_results::ALL_OPERATIONS;
use bakeoff_workloads::Workload;

use crate::TrialError;
use crate::planner::{PLANNERS, PlannerKind};
use crate::targets::Target;
use crate::targets::folder::FolderTarget;
use crate::targets::page::PageTarget;
use crate::targets::tables::TablesTarget;

/// Everything that an experiment may name and the lab can run.
#[derive(Clone)]
pub struct Registry {
    engines: Vec<&'static dyn Engine>,
    workloads: Vec<&'static dyn Workload>,
    /// The first one is the target of the registered engines and workloads.
    targets: Vec<Arc<dyn Target>>,
    presets: Vec<Preset>,
    planners: Vec<&'static PlannerKind>,
    models: Models,
    refused: Vec<RegisterError>,
}

impl Registry {
    pub fn standard() -> Self {
        let nothing = Self {
            engines: Vec::new(),
            workloads: Vec::new(),
            targets: vec![
                tables_target(&[], &[]),
                Arc::new(FolderTarget),
                Arc::new(PageTarget::default()),
            ],
            presets: presets().to_vec(),
            planners: PLANNERS.into(),
            models: Models::standard(),
            refused: Vec::new(),
        };
        let engines = bakeoff_engines::ENGINES.iter().copied();
        nothing.with_engines(engines).with_workloads(bakeoff_application::list_built_in())
    }

    #[must_use]
    pub fn with_engines(mut self, more: impl IntoIterator<Item = &'static dyn Engine>) -> Self {
        self.engines.extend(more);
        self.targets[0] = tables_target(&self.engines, &self.workloads);
        self
    }

    #[must_use]
    pub fn with_workloads(mut self, more: impl IntoIterator<Item = &'static dyn Workload>) -> Self {
        let before = self.workloads.len();
        self.workloads.extend(more);
        let servers = self.workloads[before..].iter().filter_map(|it| it.server());
        self.engines.extend(servers.map(|server| server as &dyn Engine));
        self.targets[0] = tables_target(&self.engines, &self.workloads);
        self
    }

    #[must_use]
    pub fn with_target(mut self, target: impl Target + 'static) -> Self {
        self.targets.push(Arc::new(target));
        self
    }

    /// Allows pages of other machines, whose owner has agreed.
    #[must_use]
    pub fn with_pages_elsewhere(mut self) -> Self {
        for target in self.targets.iter_mut().filter(|it| it.name() == PageTarget::NAME) {
            *target = Arc::new(PageTarget::ANYWHERE);
        }
        self
    }

    #[must_use]
    pub fn with_preset(mut self, preset: Preset) -> Self {
        self.presets.push(preset);
        self
    }

    #[must_use]
    pub fn with_planners(mut self, more: &[&'static PlannerKind]) -> Self {
        self.planners.extend(more);
        self
    }

    #[must_use]
    pub fn with_model(mut self, model: DeviceModel) -> Self {
        self.refused.extend(self.models.add(model).err());
        self
    }

    /// Lists duplicate names, factors that an experiment can't name or can name in two ways, and
    /// refused device models.
    pub fn problems(&self) -> Vec<String> {
        let vocabulary = self.vocabulary();
        let engines = self.engines.iter().map(|engine| engine.about().name);
        let workloads = vocabulary.workloads.iter().map(|workload| &*workload.name);
        let targets = self.targets.iter().map(|target| target.name());
        let presets = self.presets.iter().map(|preset| preset.name);
        let mut problems = find_duplicates("engines", engines);
        problems.extend(find_duplicates("workloads", workloads));
        problems.extend(find_duplicates("targets", targets));
        problems.extend(find_duplicates("presets", presets));
        problems.extend(self.refused.iter().map(ToString::to_string));
        problems.extend(vocabulary.find_problems());
        problems.extend(self.targets().flat_map(uncounted_figures));
        problems
    }

    pub fn engines(&self) -> impl Iterator<Item = &'static dyn Engine> {
        self.engines.iter().copied()
    }

    pub fn presets(&self) -> &[Preset] {
        &self.presets
    }

    pub fn planners(&self) -> &[&'static PlannerKind] {
        &self.planners
    }

    /// `level` has no alias. Starts no program.
    pub fn engine(&self, level: &str) -> Option<&'static dyn Engine> {
        bakeoff_engines::find_among(&self.engines, level).ok()
    }

    pub fn target(&self, name: &str) -> Option<&dyn Target> {
        self.targets.iter().map(|target| &**target).find(|target| target.name() == name)
    }

    pub fn target_of(&self, workload: &str) -> Result<&dyn Target, TrialError> {
        let runs =
            |target: &&dyn Target| target.workloads().iter().any(|names| names.name == workload);
        let found = self.targets.iter().map(|target| &**target).find(runs);
        found.ok_or_else(|| TrialError::User(format!("there is no workload {workload}")))
    }

    /// The experiment's title; else a question made of its levels or of the compared factor.
    pub fn experiment_title(&self, experiment: &Experiment) -> String {
        if experiment.title != experiment.name {
            return experiment.title.clone();
        }
        let target = self.target_of(&experiment.workload).ok();
        let question = target.and_then(|target| target.question(experiment));
        question.unwrap_or_else(|| question::phrase_question(experiment))
    }

    pub fn targets(&self) -> impl Iterator<Item = &dyn Target> {
        self.targets.iter().map(|target| &**target)
    }

    pub fn models(&self) -> &Models {
        &self.models
    }

    pub fn vocabulary(&self) -> Vocabulary {
        Vocabulary {
            engines: Engines::new(self.engines()),
            workloads: self.targets.iter().flat_map(|target| target.workloads()).collect(),
            disks: Disks::new(self.models.clone()),
            arrivals: ARRIVALS.to_vec(),
            planners: self.planners.iter().map(|planner| planner.names()).collect(),
            collections: bakeoff_workloads::COLLECTIONS.iter().collect(),
            presets: self.presets.clone(),
            trusts: false,
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engines: Vec<&str> = self.engines.iter().map(|engine| engine.about().name).collect();
        let targets: Vec<&str> = self.targets.iter().map(|target| target.name()).collect();
        f.debug_struct("Registry")
            .field("engines", &engines)
            .field("targets", &targets)
            .finish_non_exhaustive()
    }
}

fn tables_target(
    engines: &[&'static dyn Engine],
    workloads: &[&'static dyn Workload],
) -> Arc<dyn Target> {
    Arc::new(TablesTarget::new(engines.to_vec(), workloads.to_vec()))
}

fn find_duplicates<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let again: BTreeSet<&str> = names.filter(|name| !seen.insert(*name)).collect();
    let problem = |name| format!("two {kind} are registered by the name `{name}`; rename one");
    again.into_iter().map(problem).collect()
}

/// Figures of merit that can't be computed, or that clash with an operation's.
fn uncounted_figures(target: &dyn Target) -> Vec<String> {
    let problem = |names: WorkloadNames| {
        let about = target.describe_workload(&names.name)?;
        if about.operations.iter().any(|name| name == ALL_OPERATIONS) {
            return Some(format!(
                "an operation of the workload `{}` is named `{ALL_OPERATIONS}`, which stands for all of \
                 them together; rename it",
                names.name
            ));
        }
        let what = about.figure_of_merit.missing_count(about.counts)?;
        Some(format!(
            "the figure of merit of the workload `{}` is {}, and its clients count no {what}: have them \
             count {what} and say so (`counts`), or give it another figure of merit",
            names.name,
            about.figure_of_merit.in_words(),
        ))
    };
    target.workloads().into_iter().filter_map(problem).collect()
}

#[cfg(test)]
mod tests {
    use bakeoff_devices::device::ssd::SsdParameters;
    use bakeoff_workloads::{
        FigureOfMerit, Name, OperationCounts, PreparedWorkload, WorkloadParameters, WorkloadScale,
    };

    use super::*;

    /// A workload that speaks of what it may not count.
    struct Speaks(&'static str, FigureOfMerit, OperationCounts);

    impl Workload for Speaks {
        fn name(&self) -> &str {
            "speaks"
        }

        fn summary(&self) -> &str {
            "speaks of a rate"
        }

        fn scales(&self) -> &[WorkloadScale] {
            bakeoff_workloads::WORKLOADS[0].scales()
        }

        fn operations(&self) -> Vec<Name> {
            bakeoff_workloads::to_names([self.0])
        }

        fn figure_of_merit(&self) -> FigureOfMerit {
            self.1
        }

        fn counts(&self) -> OperationCounts {
            self.2
        }

        fn prepare(&self, _: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
            panic!("nothing of it is run")
        }
    }

    #[test]
    fn a_figure_of_merit_that_is_not_counted_is_told_with_what_is_missing() {
        let problems = |operation, merit, rows, bytes| {
            let speaks = Speaks(operation, merit, OperationCounts { rows, bytes });
            let speaks: &'static Speaks = Box::leak(Box::new(speaks));
            Registry::standard().with_workloads([speaks as &dyn Workload]).problems()
        };
        for (merit, rows, rate, what) in [
            (FigureOfMerit::Rows, false, "rows a second", "rows"),
            (FigureOfMerit::Megabytes, true, "MB a second", "bytes"),
        ] {
            let lacks = format!(
                "the figure of merit of the workload `speaks` is {rate}, and its clients count no {what}: \
                 have them count {what} and say so (`counts`), or give it another figure of merit"
            );
            assert_eq!(problems("read", merit, rows, !rows), [lacks]);
        }
        assert_eq!(problems("read", FigureOfMerit::Rows, true, false), Vec::<String>::new());
        let named = problems(ALL_OPERATIONS, FigureOfMerit::Operations, false, false);
        assert!(named.len() == 1 && named[0].contains("is named `all operations`"), "{named:?}");
    }

    #[test]
    fn two_things_of_one_name_are_told_each_once() {
        assert_eq!(Registry::standard().problems(), Vec::<String>::new());
        let engine = bakeoff_engines::ENGINES[1];
        let workload = bakeoff_workloads::WORKLOADS[0];
        let model = DeviceModel::new("null", "another one", || Box::new(SsdParameters::sata()));
        let registry = Registry::standard()
            .with_engines([engine, engine])
            .with_workloads([workload])
            .with_target(FolderTarget)
            .with_model(model)
            .with_preset(presets()[0]);
        let wanted = [
            ("engines", engine.about().name),
            ("workloads", "fileio"),
            ("workloads", workload.name()),
            ("targets", "folder"),
            ("disk models", "null"),
            ("presets", presets()[0].name),
        ];
        let mut wanted = wanted.map(|(what, name)| {
            format!("two {what} are registered by the name `{name}`; rename one")
        });
        let mut problems = registry.problems();
        wanted.sort_unstable();
        problems.sort_unstable();
        assert_eq!(problems, wanted);
        assert_eq!(registry.models().list_models(), Registry::standard().models().list_models());
    }
}
