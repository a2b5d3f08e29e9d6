//! Tests of the target: how large its data are, and how little memory it takes.

use bakeoff_engines::Durability;
use bakeoff_engines::{DeclaredLevels, Preparation};
use bakeoff_experiment::Declared;
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_workloads::{
    Name, PreparedWorkload, RowsFile, Workload, WorkloadParameters, WorkloadScale,
};

use super::resolved::ResolvedTables;
use super::server::PageServer;
use super::{EMBEDDED_BYTES, TablesTarget};
use crate::targets::{Subject, Target};

static WIDTH: Declared = Declared {
    name: "width",
    summary: "bytes of a row",
    syntax: "a number",
    default: "10",
    canonical: &|text| Ok(text.into()),
};

/// A workload of ten rows whose width is a factor, but for its size.
struct Wide;

static ONLY: [WorkloadScale; 1] = [WorkloadScale::new("only", "ten rows", 100)];

impl Workload for Wide {
    fn name(&self) -> &'static str {
        "wide"
    }

    fn summary(&self) -> &'static str {
        "has a size"
    }

    fn scales(&self) -> &'static [WorkloadScale] {
        &ONLY
    }

    fn factors(&self) -> Vec<&'static Declared> {
        vec![&WIDTH]
    }

    fn estimate_size(&self, _: &str, levels: &DeclaredLevels) -> u64 {
        10 * levels.level_of(&WIDTH).parse::<u64>().expect("a checked level")
    }

    fn operations(&self) -> Vec<Name> {
        Vec::new()
    }

    fn prepare(&self, _: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        unreachable!("nobody runs it")
    }
}

/// What the target knows of these levels.
fn subject(
    engine: &str,
    workload: &str,
    change: impl FnOnce(&mut ResolvedTables),
) -> Box<dyn Subject> {
    let mut resolved = ResolvedTables {
        engine: engine.into(),
        url: None,
        workload: workload.into(),
        definition: None,
        scale: "small".into(),
        image: 0,
        seed: 1,
        text: None,
        rows: None,
        durability: Durability::Strict,
        as_is: false,
        settings: Vec::new(),
        levels: DeclaredLevels::default(),
        preparation: Preparation::OncePerSession,
        server: PageServer::None,
        gzip: false,
    };
    change(&mut resolved);
    let engines = ["postgres", "sqlite"].map(|name| bakeoff_engines::find_level(name).unwrap());
    let workloads =
        ["point", "text-oltp"].map(|name| bakeoff_application::find_built_in(name).unwrap());
    let workloads: Vec<&'static dyn Workload> = workloads.into_iter().chain([&Wide as _]).collect();
    let tables = TablesTarget::new(engines.to_vec(), workloads);
    tables.read_subject(&serde_json::to_value(&resolved).unwrap()).unwrap()
}

#[test]
fn a_size_is_that_of_the_levels() {
    let size = |workload: &str, scale: &str, change: fn(&mut ResolvedTables)| {
        let subject = subject("sqlite", workload, |resolved| {
            resolved.scale = scale.into();
            change(resolved);
        });
        subject.size().unwrap()
    };
    assert_eq!(size("wide", "only", |_| ()).rows, 100);
    let large = size("wide", "only", |resolved| {
        let width = ("width".to_owned(), "1000000".to_owned());
        resolved.levels = DeclaredLevels::from_iter([width]);
    });
    assert_eq!(large.rows, 10_000_000);
    assert_eq!(large.disk, EMBEDDED_BYTES + 3 * 10_000_000);
    assert_eq!(size("point", "large", |_| ()).rows, 105_000_000);
    // Of a file it is the mean of its rows, as often as the scale has rows.
    let of_file = size("text-oltp", "small", |resolved| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.tsv");
        std::fs::write(&path, "Ape\tAn ape.\nBee\tA bee, a small one.\n").unwrap();
        resolved.rows = Some(RowsFile::survey(&path).unwrap());
    });
    assert_eq!(of_file.rows, 16 * 10_000);
}

#[test]
fn with_php_in_the_databases_group_the_least_memory_is_not_known() {
    let served = |engine: &str, server: PageServer| {
        subject(engine, "point", |resolved| resolved.server = server)
    };
    let least =
        |engine: &str, server: PageServer| served(engine, server).least_memory(DATABASE_GROUP, 1);
    assert!(least("sqlite", PageServer::BuiltIn).is_some());
    assert_eq!(least("sqlite", PageServer::Php), None);
    // PHP is in a group of its own, with as many sessions as the built-in server has.
    assert_eq!(least("postgres", PageServer::Php), least("postgres", PageServer::BuiltIn));
    assert!(least("postgres", PageServer::Php) > least("postgres", PageServer::None));
    let most = |server| served("postgres", server).most_clients().number;
    let all = [PageServer::None, PageServer::BuiltIn, PageServer::Php].map(most);
    assert_eq!(all, [1024, 20_000, 4_000]);
}
