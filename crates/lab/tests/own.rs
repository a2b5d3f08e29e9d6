//! Targets and workloads of one's own: how many clients they take, and names that no source has.

use bakeoff_experiment::{Experiment, Factor, FlagOverrides, WorkloadNames};
use bakeoff_lab::place::images::Recipe;
use bakeoff_lab::targets::{
    MostClients, PreparedTarget, Setup, Target, TargetHome, WantedLevels, WorkloadDescription,
};
use bakeoff_lab::{Possible, Refusal, Registry, TrialError};
use bakeoff_workloads::{
    Declared, Name, PreparedWorkload, Workload, WorkloadParameters, WorkloadScale,
};
use serde_json::Value;

fn load(registry: &Registry, text: &str) -> Experiment {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, format!("repetitions = 1\n{text}")).unwrap();
    let (file, changes) = (file.to_string_lossy(), FlagOverrides::default());
    Experiment::load(&file, &changes, &registry.vocabulary()).unwrap_or_else(|e| panic!("{e}"))
}

/// The levels of `engine` and `clients` that can be had, and what can't be.
fn planned(registry: &Registry, text: &str) -> (Vec<String>, Vec<String>) {
    let possible = Possible::from_experiment(registry, &load(registry, text));
    let trials = possible.plan.blocks.iter().flat_map(|block| &block.trials);
    let words = |cell: &bakeoff_experiment::Cell| {
        format!("{} {}", cell.level(Factor::ENGINE).unwrap_or("-"), cell.clients())
    };
    let mut planned: Vec<String> = trials.map(|trial| words(&trial.cell)).collect();
    planned.sort_unstable();
    (planned, possible.left_out.iter().map(bakeoff_lab::possible::line).collect())
}

const THREADS: &str = "each is a thread of this machine, and more would measure its scheduler";

#[test]
fn a_cell_of_more_clients_than_its_target_takes_is_left_out_with_the_limit_and_why() {
    let registry = Registry::standard();
    let text = "workload = 'point'\nengine = ['sqlite', 'null']\nclients = [1024, 1025, 65537]\n";
    let (planned, left_out) = planned(&registry, text);
    assert_eq!(planned, ["null 1024", "null 1025", "sqlite 1024"]);
    assert_eq!(left_out.len(), 3, "{left_out:?}");
    let says = |start: &str, why: &str| {
        let found = left_out.iter().any(|it| it.starts_with(start) && it.contains(why));
        assert!(found, "{start}, {why}: {left_out:?}");
    };
    let most = format!("at most 1024: {THREADS}");
    says("not run: sqlite × clients 1025 (1 trial): ", &most);
    says("not run: sqlite × clients 65537 (1 trial): ", &most);
    says("not run: null × clients 65537 (1 trial): ", "at most 65536: they take turns");
}

#[test]
fn files_are_read_by_threads_and_so_is_what_is_claimed_before_a_power_cut() {
    let registry = Registry::standard();
    let (files, left_out) = planned(&registry, "workload = 'fileio'\nclients = [1024, 1025]\n");
    assert_eq!(files, ["- 1024"]);
    assert_eq!(left_out, [format!("not run: clients 1025 (1 trial): at most 1024: {THREADS}")]);
    let text = "workload = 'ledger'\nengine = 'sqlite'\ndurability = 'strict'\ncuts = 3\n\
                disk = 'ssd-sata'\nclients = [1, 2000]\n";
    let possible = Possible::from_experiment(&registry, &load(&registry, text));
    assert_eq!(possible.cuts, []);
    let lines: Vec<String> = possible.left_out.iter().map(bakeoff_lab::possible::line).collect();
    let wanted = format!("(1 trial, 3 power cuts): at most 1024: {THREADS}");
    assert!(
        lines.iter().any(|it| it.contains("clients 2000") && it.contains(&wanted)),
        "{lines:?}"
    );
}

/// Clients that need no thread.
struct Many;

impl Target for Many {
    fn name(&self) -> &'static str {
        "many"
    }

    fn workloads(&self) -> Vec<WorkloadNames> {
        vec![WorkloadNames {
            name: "calls".into(),
            scales: vec!["small".into()],
            operations: vec!["call".into()],
            factors: vec![Factor::CLIENTS, Factor::SCALE],
            reads_back: false,
            takes_rows: Vec::new(),
            cut_by: Err("it has no files".into()),
        }]
    }

    fn about(&self, _: &str) -> Option<WorkloadDescription> {
        None
    }

    fn resolve(&self, _: &WantedLevels<'_>) -> Result<Setup, Refusal> {
        let recipe = Recipe { key: "calls".into(), about: "calls".into(), into: "calls".into() };
        Ok(Setup {
            target: self.name(),
            subject: Value::Null,
            recipe,
            groups: Vec::new(),
            shared: Vec::new(),
            home: TargetHome::Files,
        })
    }

    fn most_clients(&self, _: &Value) -> MostClients {
        MostClients { number: 10_000, why: "each has a port" }
    }

    fn prepare(&self, _: &Value) -> Result<Box<dyn PreparedTarget>, TrialError> {
        unreachable!("nothing is run")
    }
}

#[test]
fn clients_go_as_far_as_a_target_of_ones_own_says() {
    let registry = Registry::standard().with_target(Many);
    let (planned, left_out) =
        planned(&registry, "workload = 'calls'\ncompare = 'clients'\nclients = [10_000, 10_001]\n");
    assert_eq!(planned, ["- 10000"]);
    assert_eq!(left_out, ["not run: clients 10001 (1 trial): at most 10000: each has a port"]);
}

/// A workload as it is written in a text: its name, then its operations, then its scales.
struct Read {
    lines: Vec<String>,
    scales: Vec<WorkloadScale>,
}

impl Read {
    fn of(text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let scale = |name: &str| WorkloadScale {
            name: name.to_owned().into(),
            summary: format!("as {name} as it is").into(),
            bytes: 1,
        };
        Self { scales: lines[2].split(' ').map(scale).collect(), lines }
    }
}

impl Workload for Read {
    fn name(&self) -> &str {
        &self.lines[0]
    }

    fn summary(&self) -> &str {
        &self.lines[0]
    }

    fn scales(&self) -> &[WorkloadScale] {
        &self.scales
    }

    fn factors(&self) -> Vec<&'static Declared> {
        Vec::new()
    }

    fn operations(&self) -> Vec<Name> {
        self.lines[1].split(' ').map(|name| name.to_owned().into()).collect()
    }

    fn prepare(&self, _: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        unreachable!("nothing is run")
    }
}

#[test]
fn a_workloads_names_may_be_read_from_a_file() {
    let read = Box::leak(Box::new(Read::of("mine\nget put\ntiny vast")));
    let registry = Registry::standard().with_workloads([&*read as &dyn Workload]);
    let about = registry.target_of("mine").unwrap().about("mine").unwrap();
    assert_eq!(about.operations, ["get", "put"]);
    assert_eq!(about.scales[1], ("vast".into(), "as vast as it is".to_owned()));
    let (planned, left_out) =
        planned(&registry, "workload = 'mine'\nengine = 'sqlite'\nscale = 'vast'\n");
    assert_eq!((planned.len(), left_out.len()), (1, 0), "{left_out:?}");
}
