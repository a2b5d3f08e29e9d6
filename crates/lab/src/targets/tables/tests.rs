//! Tests of the target: how large its data are, and how little memory it takes.

use bakeoff_engines::Durability;
use bakeoff_experiment::Declared;
use bakeoff_factor::DeclaredLevels;
use bakeoff_results::measure::DATABASE_GROUP;
use bakeoff_workloads::{
    Name, PreparedWorkload, RowsFile, Workload, WorkloadParameters, WorkloadScale,
};

use super::resolved::ResolvedTables;
use super::server::PageServer;
use super::{EMBEDDED_BYTES, TablesTarget};
use crate::targets::Target;

static WIDTH: Declared = Declared {
    name: "width",
    summary: "bytes of a row",
    syntax: "a number",
    default: "10",
    canonical: |text| Ok(text.into()),
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

    fn size(&self, _: &str, levels: &DeclaredLevels) -> u64 {
        10 * levels.level_of(&WIDTH).parse::<u64>().expect("a checked level")
    }

    fn operations(&self) -> Vec<Name> {
        Vec::new()
    }

    fn prepare(&self, _: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        unreachable!("nobody runs it")
    }
}

#[test]
fn a_size_is_that_of_the_levels() {
    let sqlite = bakeoff_engines::find("sqlite").expect("an engine");
    let point = bakeoff_workloads::find("point").expect("a workload");
    let text_oltp = bakeoff_workloads::find("text-oltp").expect("a workload");
    let tables = TablesTarget::new(vec![sqlite], vec![&Wide, point, text_oltp]);
    let sized = |workload: &str, scale: &str, levels: DeclaredLevels, rows: Option<RowsFile>| {
        let resolved = ResolvedTables {
            engine: "sqlite".into(),
            url: None,
            workload: workload.into(),
            scale: scale.into(),
            seed: 1,
            text: None,
            rows,
            durability: Durability::Strict,
            settings: Vec::new(),
            levels,
            server: PageServer::None,
            gzip: false,
        };
        let subject = serde_json::to_value(&resolved).expect("plain data");
        tables.size(&subject).expect("it is known")
    };
    let size = |workload: &str, scale: &str, levels| sized(workload, scale, levels, None);
    let wide = |width: &str| DeclaredLevels::from_iter([("width".to_owned(), width.to_owned())]);
    assert_eq!(size("wide", "only", DeclaredLevels::default()).rows, 100);
    let large = size("wide", "only", wide("1000000"));
    assert_eq!(large.rows, 10_000_000);
    assert_eq!(large.disk, EMBEDDED_BYTES + 3 * 10_000_000);
    assert_eq!(size("point", "large", DeclaredLevels::default()).rows, 105_000_000);

    // Of a file it is the mean of its rows, as often as the scale has rows.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.tsv");
    std::fs::write(&path, "Ape\tAn ape.\nBee\tA bee, a small one.\n").expect("a file");
    let rows = RowsFile::survey(&path).expect("it is right");
    let of_file = sized("text-oltp", "small", DeclaredLevels::default(), Some(rows));
    assert_eq!(of_file.rows, 16 * 10_000);
}

#[test]
fn with_php_in_the_databases_group_the_least_memory_is_not_known() {
    let engines = ["postgres", "sqlite"].map(|name| bakeoff_engines::find(name).unwrap());
    let point = bakeoff_workloads::find("point").expect("a workload");
    let tables = TablesTarget::new(engines.to_vec(), vec![point]);
    let subject = |engine: &str, server: PageServer| {
        let resolved = ResolvedTables {
            engine: engine.into(),
            url: None,
            workload: "point".into(),
            scale: "small".into(),
            seed: 1,
            text: None,
            rows: None,
            durability: Durability::Strict,
            settings: Vec::new(),
            levels: DeclaredLevels::default(),
            server,
            gzip: false,
        };
        serde_json::to_value(&resolved).expect("plain data")
    };
    let least = |engine: &str, server: PageServer| {
        tables.least_memory(&subject(engine, server), DATABASE_GROUP, 1)
    };
    assert!(least("sqlite", PageServer::BuiltIn).is_some());
    assert_eq!(least("sqlite", PageServer::Php), None);
    // PHP is in a group of its own, with as many sessions as the built-in server has.
    assert_eq!(least("postgres", PageServer::Php), least("postgres", PageServer::BuiltIn));
    assert!(least("postgres", PageServer::Php) > least("postgres", PageServer::None));
    let most = |server| tables.most_clients(&subject("postgres", server)).number;
    assert_eq!(
        [PageServer::None, PageServer::BuiltIn, PageServer::Php].map(most),
        [1024, 20_000, 4_000]
    );
}
