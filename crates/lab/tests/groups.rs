//! Targets of several groups of processes, before anything of them runs.

use bakeoff_experiment::{Cpus, Experiment, Factor, FlagOverrides, MemoryLimit, WorkloadNames};
use bakeoff_lab::place::images::Recipe;
use bakeoff_lab::targets::{
    GroupLimit, GroupSetup, PreparedTarget, Setup, SharedLimit, Target, TargetHome, WantedLevels,
    WorkloadDescription,
};
use bakeoff_lab::{Possible, Preflight, Refusal, Registry, TrialError};
use bakeoff_workloads::{FigureOfMerit, OperationCounts};
use serde_json::Value;

/// A web stack in groups of these names, of which nothing can be had but its plan; and limits that groups
/// share, each by its name and theirs.
#[derive(Clone, Copy, Default)]
struct Page {
    groups: &'static [&'static str],
    shared: &'static [(&'static str, &'static [&'static str])],
}

impl Page {
    fn of(groups: &'static [&'static str]) -> Self {
        Self { groups, shared: &[] }
    }
}

impl Target for Page {
    fn name(&self) -> &'static str {
        "stack"
    }

    fn workloads(&self) -> Vec<WorkloadNames> {
        vec![WorkloadNames {
            name: "articles".into(),
            scales: vec!["small".into()],
            operations: vec!["get".into()],
            factors: vec![Factor::MEMORY, Factor::CPUS, Factor::CLIENTS, Factor::SCALE],
            reads_back: false,
            takes_rows: Vec::new(),
            cut_by: Err("a page can't say what it was promised".into()),
        }]
    }

    fn about(&self, workload: &str) -> Option<WorkloadDescription> {
        let operations = vec!["get".into()];
        let about = WorkloadDescription {
            summary: "pages".into(),
            operations,
            figure_of_merit: FigureOfMerit::Requests,
            counts: OperationCounts::default(),
            scales: Vec::new(),
        };
        (workload == "articles").then_some(about)
    }

    fn resolve(&self, wanted: &WantedLevels<'_>) -> Result<Setup, Refusal> {
        let cpus = wanted.cell.cpus();
        let group = |name: &&'static str| GroupSetup {
            name,
            has_server: true,
            files: Some(name),
            limit: match *name {
                "database" => GroupLimit { memory: wanted.cell.memory(), cpus },
                _ => GroupLimit { cpus, ..GroupLimit::NONE },
            },
        };
        let shared = |(name, groups): &(&'static str, &'static [&'static str])| SharedLimit {
            name,
            groups: groups.to_vec(),
            limit: GroupLimit { memory: wanted.cell.memory(), cpus },
        };
        Ok(Setup {
            target: self.name(),
            subject: Value::Null,
            recipe: Recipe { key: "page".into(), about: "page".into(), into: "nginx".into() },
            groups: self.groups.iter().map(group).collect(),
            shared: self.shared.iter().map(shared).collect(),
            home: TargetHome::Server,
        })
    }

    fn ready(&self, _: &Value, _: bool) -> Result<(), Vec<String>> {
        Err(vec!["there is no php-fpm".into(), "there is no nginx".into()])
    }

    fn prepare(&self, _: &Value) -> Result<Box<dyn PreparedTarget>, TrialError> {
        unreachable!("nothing is to be started")
    }
}

/// What is registered with that target, and an experiment with it.
fn planned(target: Page) -> (Registry, Experiment) {
    let registry = Registry::standard().with_target(target);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pages.toml");
    let text = "workload = \"articles\"\ncompare = \"memory\"\nmemory = [\"64M\", \"50%\"]\n\
                cpus = \"0.5\"\n";
    std::fs::write(&file, text).unwrap();
    let changes = FlagOverrides::default();
    let loaded = Experiment::load(&file.to_string_lossy(), &changes, &registry.vocabulary());
    (registry, loaded.unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn two_groups_of_one_name_are_an_error_before_anything_runs() {
    let (registry, experiment) = planned(Page::of(&["php", "database", "php"]));
    let possible = Possible::from_experiment(&registry, &experiment);
    assert_eq!(possible.plan.trials(), 0);
    let error = possible.suffices().unwrap_err().to_string();
    assert!(error.contains("two groups of processes named `php`"), "{error}");
}

#[test]
fn each_group_has_the_limits_that_its_target_gives_it_and_a_folder_of_its_own() {
    let (registry, experiment) = planned(Page::of(&["web", "php", "database"]));
    let plan = experiment.plan();
    let cells = plan.blocks[0].trials.iter().map(|trial| &trial.cell);
    let half = cells.into_iter().find(|cell| cell.memory() == MemoryLimit::Share(50)).unwrap();
    let (trial, _) = bakeoff_lab::resolve(&registry, &experiment, half, 0).unwrap();
    let limit = |name: &str| trial.limits[name].resolve_for_data(1 << 20);
    for (name, memory) in [("database", Some(1 << 19)), ("php", None), ("web", None)] {
        assert_eq!(limit(name).memory_bytes, memory, "{name}");
        assert_eq!(limit(name).cpu_milli, Cpus::parse("0.5").unwrap().milli(), "{name}");
    }
    let place = trial.setup.place("/files".as_ref(), "/work/server".as_ref());
    let runtime = |name: &str| place.group(name).unwrap().runtime.clone().unwrap();
    assert_eq!(runtime("php"), std::path::Path::new("/work/server-php"));
    assert_eq!(runtime("web"), std::path::Path::new("/work/server-web"));
    let files: Vec<_> = place.readers().into_iter().collect();
    let own = |name: &'static str, path: &'static str| (Some(name), path.as_ref());
    assert_eq!(
        files,
        [own("database", "/files/database"), own("php", "/files/php"), own("web", "/files/web")]
    );
}

#[test]
fn a_target_that_is_no_engine_says_what_it_lacks_before_anything_runs() {
    let (registry, experiment) = planned(Page::of(&["web", "php"]));
    let possible = Possible::from_experiment(&registry, &experiment);
    let folder = tempfile::tempdir().unwrap();
    let preflight = Preflight {
        registry: &registry,
        experiment: &experiment,
        possible: &possible,
        folder: folder.path(),
        results: None,
        device: None,
        launcher: None,
        reuse: false,
    };
    let problems = preflight.check(possible.plan.blocks.iter()).unwrap_err();
    let told: Vec<String> = problems.0.iter().map(ToString::to_string).collect();
    for lacks in
        ["nginx can't be used: there is no php-fpm", "nginx can't be used: there is no nginx"]
    {
        // Once for all trials.
        assert_eq!(told.iter().filter(|it| it.contains(lacks)).count(), 1, "{told:?}");
    }
}

#[test]
fn a_shared_limit_that_can_t_be_kept_apart_is_an_error_before_anything_runs() {
    type Limits = &'static [(&'static str, &'static [&'static str])];
    let refused = |shared: Limits| {
        let (registry, experiment) = planned(Page { groups: &["php", "web"], shared });
        let possible = Possible::from_experiment(&registry, &experiment);
        let told = possible.suffices().map_err(|error| error.to_string()).err();
        (possible.plan.trials(), told.unwrap_or_default())
    };
    let wrong: [(Limits, &str); 5] = [
        (&[("php", &["web"])], "has a shared limit named `php` like another one or like a group"),
        (&[("a", &["php"]), ("a", &["web"])], "has a shared limit named `a` like another one"),
        (
            &[("a", &["php", "nginx"])],
            "shared by `nginx`, which is no group of it: name some of php, web",
        ),
        (
            &[("a", &["php"]), ("b", &["php"])],
            "has the group `php` share the limit `a` and the limit `b`",
        ),
        (&[("a", &["php", "php"])], "has the group `php` share the limit `a` and the limit `a`"),
    ];
    for (shared, why) in wrong {
        let (trials, told) = refused(shared);
        assert_eq!(trials, 0, "{why}");
        assert!(told.contains("the target `stack`") && told.contains(why), "{why}: {told}");
    }
    let (trials, told) = refused(&[("stack", &["php", "web"])]);
    assert!(trials > 0 && told.is_empty(), "{told}");
}

#[test]
fn a_shared_limit_follows_the_levels() {
    let shared: &[_] = &[("stack", &["php", "web"] as &[_])];
    let (registry, experiment) = planned(Page { groups: &["php", "web"], shared });
    let plan = experiment.plan();
    let cells = plan.blocks[0].trials.iter().map(|trial| &trial.cell);
    let half = cells.into_iter().find(|cell| cell.memory() == MemoryLimit::Share(50)).unwrap();
    let (trial, _) = bakeoff_lab::resolve(&registry, &experiment, half, 0).unwrap();
    let limit = trial.setup.shared[0].resolve_for_data(1 << 20).limit;
    assert_eq!((limit.memory_bytes, limit.cpu_milli), (Some(1 << 19), Some(500)));
}
