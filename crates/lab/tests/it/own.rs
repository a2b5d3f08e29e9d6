//! A target of one's own, and workloads as targets describe them.

use std::sync::Arc;

use bakeoff_experiment::{Cpus, Factor, MemoryLimit, WorkloadNames};
use bakeoff_lab::place::images::Recipe;
use bakeoff_lab::targets::{
    GroupLimit, GroupSetup, MostClients, PreparedTarget, Setup, SharedLimit, Subject, Target,
    TargetHome, WantedLevels, WorkloadDescription,
};
use bakeoff_lab::{Plan, Preflight, Refusal, Registry, TrialError};
use bakeoff_workloads::{FigureOfMerit, OperationCounts};
use serde_json::Value;

use crate::load;

/// A web stack in groups of these names, of which nothing can be had but its plan; and limits that groups
/// share, each by its name and theirs.
#[derive(Clone, Copy, Default)]
pub struct Page {
    pub groups: &'static [&'static str],
    pub shared: &'static [(&'static str, &'static [&'static str])],
}

/// An experiment with it.
pub const TEXT: &str =
    "workload = 'articles'\ncompare = 'memory'\nmemory = ['64M', '50%']\ncpus = '0.5'\n";

impl Page {
    pub fn with_groups(groups: &'static [&'static str]) -> Self {
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

    fn describe_workload(&self, workload: &str) -> Option<WorkloadDescription> {
        let about = WorkloadDescription {
            summary: "pages".into(),
            operations: vec!["get".into()],
            rows: None,
            figure_of_merit: FigureOfMerit::Requests,
            counts: OperationCounts::default(),
            scales: Vec::new(),
        };
        (workload == "articles").then_some(about)
    }

    fn resolve(&self, wanted: &WantedLevels<'_>) -> Result<Setup, Refusal> {
        let (memory, cpus) = (wanted.cell.memory(), wanted.cell.cpus());
        let group = |name: &&'static str| GroupSetup {
            name,
            has_server: true,
            files: Some(name),
            limit: match *name {
                "database" => GroupLimit { memory, cpus },
                _ => GroupLimit { cpus, ..GroupLimit::NONE },
            },
        };
        let shared = |(name, groups): &(&'static str, &'static [&'static str])| SharedLimit {
            name,
            groups: groups.to_vec(),
            limit: GroupLimit { memory, cpus },
        };
        Ok(Setup {
            target: self.name(),
            subject: Arc::new(Pages),
            recipe: Recipe { key: "page".into(), about: "page".into(), into: "nginx".into() },
            groups: self.groups.iter().map(group).collect(),
            shared: self.shared.iter().map(shared).collect(),
            home: TargetHome::Server,
        })
    }

    fn read_subject(&self, _: &Value) -> Result<Box<dyn Subject>, TrialError> {
        Ok(Box::new(Pages))
    }
}

struct Pages;

impl Subject for Pages {
    fn to_json(&self) -> Value {
        Value::Null
    }

    fn most_clients(&self) -> MostClients {
        MostClients { number: 10_000, why: "each has a port" }
    }

    fn check_ready(&self, _: bool) -> Result<(), Vec<String>> {
        Err(vec!["there is no php-fpm".into(), "there is no nginx".into()])
    }

    fn prepare(&self) -> Result<Box<dyn PreparedTarget>, TrialError> {
        unreachable!("nothing is to be started")
    }
}

#[test]
fn groups_have_the_limits_and_folders_that_their_target_gives_them() {
    let groups: &[&str] = &["web", "php", "database"];
    let page = Page { groups, shared: &[("stack", &["php", "web"])] };
    let registry = Registry::standard().with_target(page);
    let experiment = load(&registry, TEXT).unwrap();
    let plan = experiment.plan();
    let mut cells = plan.blocks[0].trials.iter().map(|trial| &trial.cell);
    let half = cells.find(|cell| cell.memory() == MemoryLimit::Share(50)).unwrap();
    let trial = bakeoff_lab::resolve_trial(&registry, &experiment, half, 0).unwrap().spec;
    let limit = |name: &str| trial.limits[name].resolve_for_data(1 << 20);
    for (name, memory) in [("database", Some(1 << 19)), ("php", None), ("web", None)] {
        assert_eq!(limit(name).memory_bytes, memory, "{name}");
        assert_eq!(limit(name).cpu_milli, Cpus::parse("0.5").unwrap().milli(), "{name}");
    }
    let shared = trial.setup.shared[0].resolve_for_data(1 << 20).limit;
    assert_eq!((shared.memory_bytes, shared.cpu_milli), (Some(1 << 19), Some(500)));
    let place = trial.setup.make_place("/files".as_ref(), "/work/server".as_ref());
    let runtime = |name: &str| place.find_group(name).unwrap().runtime.clone().unwrap();
    assert_eq!(runtime("php"), std::path::Path::new("/work/server-php"));
    let files: Vec<_> = place.cache_readers().into_iter().collect();
    let own = |name: &'static str, path: &'static str| (Some(name), path.as_ref());
    assert_eq!(
        files,
        [own("database", "/files/database"), own("php", "/files/php"), own("web", "/files/web")]
    );
}

#[test]
fn a_target_says_what_it_lacks_once_before_anything_runs() {
    let registry = Registry::standard().with_target(Page::with_groups(&["web", "php"]));
    let experiment = load(&registry, TEXT).unwrap();
    let plan = Plan::from_experiment(&registry, &experiment);
    let folder = tempfile::tempdir().unwrap();
    let preflight = Preflight {
        plan: &plan,
        folder: folder.path(),
        results: None,
        device: None,
        launcher: None,
        reuse: false,
    };
    let told = preflight.check(plan.resolved()).unwrap_err().0;
    let told: Vec<String> = told.iter().map(ToString::to_string).collect();
    for lacks in ["there is no php-fpm", "there is no nginx"] {
        let lacks = format!("nginx can't be used: {lacks}");
        assert_eq!(told.iter().filter(|it| it.contains(&lacks)).count(), 1, "{told:?}");
    }
}

#[test]
fn a_workload_over_tables_is_described_as_it_says() {
    let registry = Registry::standard();
    for workload in bakeoff_application::list_built_in() {
        let name = workload.name();
        let about = registry.target_of(name).unwrap().describe_workload(name).unwrap();
        assert_eq!(
            (&*about.summary, about.operations),
            (workload.summary(), workload.operations())
        );
        let scales = workload.scales().iter().map(|it| (it.name.clone(), it.summary.to_string()));
        assert_eq!(about.scales, scales.collect::<Vec<_>>());
    }
}
