//! What is registered: the targets, with the engines and workloads that they know, the arrival
//! processes, the planners, and the models of devices. The built-in ones are in one list each.

mod disks;
mod question;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bakeoff_devices::device::model::DeviceModel;
use bakeoff_devices::models::{Models, RegisterError};
use bakeoff_engines::{Engine, EngineHome, EngineLevel};
use bakeoff_experiment::{
    ArrivalNames, CollectionNames, Disks, EngineNames, Engines, Experiment, Judge, LevelReader,
    PlannerNames, Preset, ServerKind, SettingPermission, Variant, Vocabulary, WorkloadNames,
    presets,
};
use bakeoff_factor::ALL_OPERATIONS;
use bakeoff_load::{ARRIVALS, ArrivalProcess};
use bakeoff_workloads::Workload;

use self::disks::OfModels;
use crate::TrialError;
use crate::planner::{PLANNERS, PlannerKind};
use crate::targets::Target;
use crate::targets::folder::FolderTarget;
use crate::targets::page::PageTarget;
use crate::targets::tables::TablesTarget;

/// All that an experiment may name and the lab can run.
pub struct Registry {
    engines: Vec<&'static dyn Engine>,
    workloads: Vec<&'static dyn Workload>,
    /// The target of these engines and workloads first.
    targets: Vec<Box<dyn Target>>,
    presets: Vec<Preset>,
    arrivals: Vec<&'static ArrivalProcess>,
    planners: Vec<&'static PlannerKind>,
    models: Models,
    /// The models that could not be among them.
    refused: Vec<RegisterError>,
}

impl Registry {
    /// Everything that is built in.
    pub fn standard() -> Self {
        let nothing = Self {
            engines: Vec::new(),
            workloads: Vec::new(),
            targets: vec![
                tables(&[], &[]),
                Box::new(FolderTarget),
                Box::new(PageTarget::default()),
            ],
            presets: presets().to_vec(),
            arrivals: ARRIVALS.into(),
            planners: PLANNERS.into(),
            models: Models::standard(),
            refused: Vec::new(),
        };
        let engines = bakeoff_engines::ENGINES.iter().copied();
        let workloads = bakeoff_workloads::WORKLOADS.iter().copied();
        nothing.with_engines(engines).with_workloads(workloads)
    }

    /// The same with more engines.
    #[must_use]
    pub fn with_engines(mut self, more: impl IntoIterator<Item = &'static dyn Engine>) -> Self {
        self.engines.extend(more);
        self.targets[0] = tables(&self.engines, &self.workloads);
        self
    }

    /// The same with more workloads over tables.
    #[must_use]
    pub fn with_workloads(mut self, more: impl IntoIterator<Item = &'static dyn Workload>) -> Self {
        self.workloads.extend(more);
        self.targets[0] = tables(&self.engines, &self.workloads);
        self
    }

    /// The same with one more target.
    #[must_use]
    pub fn with_target(mut self, target: impl Target + 'static) -> Self {
        self.targets.push(Box::new(target));
        self
    }

    /// The same, and pages of other machines may be loaded: on the word of whoever runs them.
    #[must_use]
    pub fn with_pages_elsewhere(mut self) -> Self {
        for target in self.targets.iter_mut().filter(|it| it.name() == PageTarget::NAME) {
            *target = Box::new(PageTarget::ANYWHERE);
        }
        self
    }

    /// The same with one more experiment that is known by its name.
    #[must_use]
    pub fn with_preset(mut self, preset: Preset) -> Self {
        self.presets.push(preset);
        self
    }

    /// The same with one more arrival process.
    #[must_use]
    pub fn with_arrivals(mut self, arrivals: &'static ArrivalProcess) -> Self {
        self.arrivals.push(arrivals);
        self
    }

    /// The same with one more planner.
    #[must_use]
    pub fn with_planner(mut self, planner: &'static PlannerKind) -> Self {
        self.planners.push(planner);
        self
    }

    /// The same with one more model of devices.
    #[must_use]
    pub fn with_model(mut self, model: DeviceModel) -> Self {
        self.refused.extend(self.models.add(model).err());
        self
    }

    /// What is wrong with what was registered: two things of one name, factors that an experiment
    /// couldn't name, or could name in two ways, and models of devices that can't be had.
    pub fn problems(&self) -> Vec<String> {
        let vocabulary = self.vocabulary();
        let engines = self.engines.iter().map(|engine| engine.about().name);
        let workloads = vocabulary.workloads.iter().map(|workload| &*workload.name);
        let targets = self.targets.iter().map(|target| target.name());
        let presets = self.presets.iter().map(|preset| preset.name);
        let mut problems = twice("engines", engines);
        problems.extend(twice("workloads", workloads));
        problems.extend(twice("targets", targets));
        problems.extend(twice("presets", presets));
        problems.extend(twice("arrival processes", self.arrivals.iter().map(|it| it.name)));
        problems.extend(twice("planners", self.planners.iter().map(|it| it.name)));
        problems.extend(self.refused.iter().map(ToString::to_string));
        problems.extend(vocabulary.problems());
        problems.extend(self.targets().flat_map(uncounted));
        problems
    }

    /// Every engine, in the order in which they are listed.
    pub fn engines(&self) -> impl Iterator<Item = &'static dyn Engine> {
        self.engines.iter().copied()
    }

    /// Every experiment that is known by its name.
    pub fn presets(&self) -> &[Preset] {
        &self.presets
    }

    /// Every arrival process; the first is that of a rate without a name.
    pub fn arrivals(&self) -> &[&'static ArrivalProcess] {
        &self.arrivals
    }

    /// Every planner; the first is that of an experiment that names none.
    pub fn planners(&self) -> &[&'static PlannerKind] {
        &self.planners
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

    /// What an experiment asks: its title; where it has no other than its name, a question that is made of its
    /// levels, or of what it compares.
    pub fn title(&self, experiment: &Experiment) -> String {
        if experiment.title != experiment.name {
            return experiment.title.clone();
        }
        let target = self.target_of(&experiment.workload).ok();
        let question = target.and_then(|target| target.question(experiment));
        question.unwrap_or_else(|| question::phrase_question(experiment))
    }

    /// Every target.
    pub fn targets(&self) -> impl Iterator<Item = &dyn Target> {
        self.targets.iter().map(|target| &**target)
    }

    /// The models of devices.
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// The names that are valid in an experiment.
    pub fn vocabulary(&self) -> Vocabulary {
        let names = self.engines.iter().map(|engine| {
            let about = engine.about();
            EngineNames {
                name: about.name.into(),
                options: engine.options().iter().map(|option| option.factor).collect(),
                takes_settings: about.home == EngineHome::Server,
                stores: about.stores,
            }
        });
        let url = |url: &str| bakeoff_engines::urls::name(url).map(Into::into);
        let (reader, judge) = (variants(self.engines.clone()), standing(self.engines.clone()));
        let engines = Engines::new(names.collect(), url, reader, judge).with_kinds(SERVERS);
        let disks = Disks::new(OfModels(self.models.clone()));
        let workloads = self.targets.iter().flat_map(|target| target.workloads());
        let presets = self.presets.clone();
        let arrivals = self.arrivals.iter().map(|process| ArrivalNames {
            name: process.name.into(),
            summary: process.summary.into(),
        });
        let planners = self.planners.iter();
        let planners = planners.map(|it| PlannerNames {
            name: it.name.into(),
            repeats: it.repeats,
            seeks: it.seeks,
        });
        let planners = planners.collect();
        let (workloads, arrivals) = (workloads.collect(), arrivals.collect());
        let collections = bakeoff_workloads::COLLECTIONS.iter();
        let collections = collections
            .map(|it| CollectionNames { name: it.name.into(), installed: it.is_installed() })
            .collect();
        Vocabulary {
            engines,
            workloads,
            disks,
            arrivals,
            planners,
            collections,
            presets,
            trusts: false,
        }
    }
}

/// The kinds of servers that somebody may name instead of an engine.
const SERVERS: [ServerKind; 2] = [
    ServerKind {
        names: &["mysql", "mariadb", "innodb"],
        engines: "mariadb",
        url: "mysql://USER@HOST/DATABASE",
        password: "MYSQL_PWD",
    },
    ServerKind {
        names: &["postgresql", "pg"],
        engines: "postgres",
        url: "postgres://USER@HOST/DATABASE",
        password: "PGPASSWORD",
    },
];

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

fn tables(engines: &[&'static dyn Engine], workloads: &[&'static dyn Workload]) -> Box<dyn Target> {
    Box::new(TablesTarget::new(engines.to_vec(), workloads.to_vec()))
}

/// The names that several things of a kind have.
fn twice<'a>(kind: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let again: BTreeSet<&str> = names.filter(|name| !seen.insert(*name)).collect();
    let problem = |name| format!("two {kind} are registered by the name `{name}`; rename one");
    again.into_iter().map(problem).collect()
}

/// Figures of merit of a target's workloads that can't be worked out, or told from an operation's.
fn uncounted(target: &dyn Target) -> Vec<String> {
    let problem = |names: WorkloadNames| {
        let about = target.about(&names.name)?;
        if about.operations.iter().any(|name| name == ALL_OPERATIONS) {
            return Some(format!(
                "an operation of the workload `{}` is named `{ALL_OPERATIONS}`, which stands for all of \
                 them together; rename it",
                names.name
            ));
        }
        let what = about.figure_of_merit.lacks(about.counts)?;
        Some(format!(
            "the figure of merit of the workload `{}` is {}, and its clients count no {what}: have them \
             count {what} and say so (`counts`), or give it another figure of merit",
            names.name,
            about.figure_of_merit.words(),
        ))
    };
    target.workloads().into_iter().filter_map(problem).collect()
}

/// Reads levels of these engines, with options that factors give them.
fn variants(engines: Vec<&'static dyn Engine>) -> LevelReader {
    Arc::new(move |text, options| {
        // What is wrong with its options together, too.
        let engine = bakeoff_engines::find_with(&engines, text, options)?;
        let level = EngineLevel::read(&engines, engine.about().name)?;
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
            Some(bakeoff_engines::SettingStanding::Free) => SettingPermission::Free,
            Some(bakeoff_engines::SettingStanding::Trusted(why)) => {
                SettingPermission::Trusted(why.to_string())
            }
            Some(bakeoff_engines::SettingStanding::Reserved) | None => SettingPermission::Reserved,
        }
    })
}

#[cfg(test)]
mod tests {
    use bakeoff_workloads::{
        FigureOfMerit, Name, OperationCounts, PreparedWorkload, WorkloadParameters, WorkloadScale,
    };

    use super::*;

    #[test]
    fn what_is_built_in_goes_together() {
        assert_eq!(Registry::standard().problems(), Vec::<String>::new());
    }

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
            bakeoff_workloads::names([self.0])
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
        static ROWS: Speaks =
            Speaks("read", FigureOfMerit::Rows, OperationCounts { rows: false, bytes: true });
        static BYTES: Speaks =
            Speaks("read", FigureOfMerit::Megabytes, OperationCounts { rows: true, bytes: false });
        static COUNTED: Speaks =
            Speaks("read", FigureOfMerit::Rows, OperationCounts { rows: true, bytes: false });
        static NAMED: Speaks = Speaks(
            ALL_OPERATIONS,
            FigureOfMerit::Operations,
            OperationCounts { rows: false, bytes: false },
        );
        let problems = |workload: &'static Speaks| {
            Registry::standard().with_workloads([workload as &dyn Workload]).problems()
        };
        let lacks = |rate: &str, what: &str| {
            format!(
                "the figure of merit of the workload `speaks` is {rate}, and its clients count no {what}: \
                 have them count {what} and say so (`counts`), or give it another figure of merit"
            )
        };
        assert_eq!(problems(&ROWS), [lacks("rows a second", "rows")]);
        assert_eq!(problems(&BYTES), [lacks("MB a second", "bytes")]);
        assert_eq!(problems(&COUNTED), Vec::<String>::new());
        let [named] = &problems(&NAMED)[..] else { panic!("one problem") };
        assert!(named.contains("is named `all operations`"), "{named}");
    }

    #[test]
    fn two_things_of_one_name_are_told_each_once() {
        let engine = bakeoff_engines::ENGINES[1];
        let workload = bakeoff_workloads::WORKLOADS[0];
        let registry = Registry::standard()
            .with_engines([engine, engine])
            .with_workloads([workload])
            .with_target(FolderTarget)
            .with_preset(presets()[0]);
        let name = engine.about().name;
        let wanted = [
            format!("two engines are registered by the name `{name}`; rename one"),
            format!("two workloads are registered by the name `{}`; rename one", "fileio"),
            format!("two workloads are registered by the name `{}`; rename one", workload.name()),
            "two targets are registered by the name `folder`; rename one".into(),
            format!("two presets are registered by the name `{}`; rename one", presets()[0].name),
        ];
        assert_eq!(registry.problems(), wanted);
    }
}
