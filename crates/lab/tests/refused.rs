//! What can't be had is told in the plan, before anything is loaded: data that a disk would not hold, pages of
//! other machines, and statements that an engine can't run.

use std::path::Path;

use bakeoff_engines::statement::{Action, ReadScope};
use bakeoff_engines::{
    Database, Engine, EngineDescription, OpenTerms, Result, Runs, Schema, Statement, null,
};
use bakeoff_experiment::{Experiment, FlagOverrides};
use bakeoff_lab::{Possible, Registry};

/// How many trials can be had, and what can't be.
fn planned(registry: &Registry, text: &str) -> (usize, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, format!("repetitions = 1\n{text}")).unwrap();
    let (file, changes) = (file.to_string_lossy(), FlagOverrides::default());
    let experiment = Experiment::load(&file, &changes, &registry.vocabulary());
    let possible =
        Possible::from_experiment(registry, &experiment.unwrap_or_else(|error| panic!("{error}")));
    let left_out = possible.left_out.iter().map(bakeoff_lab::possible::line);
    (possible.plan.trials(), left_out.collect())
}

#[test]
fn a_table_too_large_for_the_modelled_disk_is_left_out_with_the_figures() {
    let registry = Registry::standard();
    let text = "workload = 'oltp'\nengine = 'sqlite'\nscale = ['10k', '10M']\n\
                disk = ['ebs-gp2:1G', 'ebs-gp2:100G', 'ssd-sata', 'host']\n";
    let (trials, left_out) = planned(&registry, text);
    assert_eq!(trials, 7, "{left_out:?}");
    let [line] = &left_out[..] else { panic!("{left_out:?}") };
    for said in [
        "ebs-gp2:1G",
        "scale 10M",
        "1940 MB of rows take about 5821 MB",
        "the disk holds 1073 MB",
        "name a smaller scale, or a larger disk",
    ] {
        assert!(line.contains(said), "{said}: {line}");
    }
    // An array holds half of what its disks do; what ageing leaves behind takes room as well.
    let text = "workload = 'oltp'\nengine = 'sqlite'\nscale = '10M'\nage = ['0', '1x']\n\
                disk = ['raid10:4×ebs-gp2:4G', 'raid10:2×ebs-gp2:4G']\n";
    let (trials, left_out) = planned(&registry, text);
    assert_eq!((trials, left_out.len()), (1, 3), "{left_out:?}");
    let aged =
        left_out.iter().filter(|it| it.contains("1940 MB of rows, 1940 MB of them aged, take"));
    assert_eq!(aged.count(), 2, "{left_out:?}");
}

/// The least that the refusal names is planned, and a mebibyte less is not.
#[test]
fn rows_that_do_not_fit_the_memory_of_their_engine_are_left_out_with_the_least_that_holds_them() {
    let registry = Registry::standard();
    let text = |memory: &str| {
        let rest = "scale = '100k'\nengine = 'tarantool:memtx'\n";
        format!("workload = 'oltp'\n{rest}memory = ['{memory}', 'unlimited']\n")
    };
    let (trials, left_out) = planned(&registry, &text("16M"));
    let [line] = &left_out[..] else { panic!("{left_out:?}") };
    assert!(trials == 1 && line.contains("16M is 16.8 MB, too little"), "{line}");
    let (_, least) = line.split_once(" of the rows, or ").expect("a share and bytes");
    let (least, _) = least.split_once("M (").expect("mebibytes");
    let least: u32 = least.parse().expect("a number");
    assert!(least > 16);
    assert_eq!(planned(&registry, &text(&format!("{least}M"))), (2, vec![]));
    assert_eq!(planned(&registry, &text(&format!("{}M", least - 1))).0, 1);
}

/// A larger scale makes a share larger; of rows that are kept in memory none does.
#[test]
fn a_share_that_suffices_at_a_larger_scale_is_refused_with_the_next_of_them() {
    let registry = Registry::standard();
    let text = "workload = 'text-oltp'\nrows_from = 'generated'\nengine = 'sqlite'\nclients = 4\n\
                memory = '8%'\nscale = ['small', 'large']\n";
    let (trials, left_out) = planned(&registry, text);
    let [line] = &left_out[..] else { panic!("{left_out:?}") };
    assert!(trials == 1 && line.contains("8% of 24.4 MB of rows is 2.0 MB"), "{line}");
    assert!(line.ends_with("; 8% suffices at --scale large"), "{line}");
    let text = "workload = 'oltp'\nscale = '10k'\nengine = 'tarantool:memtx'\n\
                memory = ['8%', 'unlimited']\n";
    let (trials, left_out) = planned(&registry, text);
    let [line] = &left_out[..] else { panic!("{left_out:?}") };
    assert!(trials == 1 && line.contains("too little"), "{line}");
    assert!(!line.contains("suffices"), "{line}");
}

/// By files and their size: they have neither rows nor an engine.
#[test]
fn files_that_are_too_small_for_a_share_as_memory_are_left_out_with_their_size() {
    let text = "workload = 'fileio'\ndisk = 'host'\nsize = '64M'\nmemory = ['25%', 'unlimited']\n";
    let (trials, left_out) = planned(&Registry::standard(), text);
    let [line] = &left_out[..] else { panic!("{left_out:?}") };
    assert!(trials == 1 && line.contains("25% of 67.1 MB of files is 16.8 MB"), "{line}");
    assert!(!line.contains("row") && !line.contains("engine"), "{line}");
}

/// Whoever writes an experiment's file can't say that a server is his: the lab is told besides.
#[test]
fn a_page_on_another_machine_is_left_out_unless_its_server_is_ours() {
    let text =
        "workload = 'page'\nclients = 1\nurl = ['http://127.0.0.1:1/', 'http://192.0.2.1/']\n";
    let (trials, left_out) = planned(&Registry::standard(), text);
    let [line] = &left_out[..] else { panic!("{left_out:?}") };
    assert_eq!(trials, 1);
    for said in ["192.0.2.1 is another machine", "--i-run-this-server"] {
        assert!(line.contains(said), "{said}: {line}");
    }
    let allowed = Registry::standard().with_pages_elsewhere();
    assert_eq!(planned(&allowed, text), (2, vec![]));
}

/// At the levels that it undoes alone; its engine with options is refused with it.
#[test]
fn a_table_of_settings_that_undoes_a_level_of_durability_is_left_out() {
    let registry = Registry::standard();
    let text = |settings: &str| {
        let engines = "['postgres', 'postgres/jit=off', 'sqlite', 'mariadb:innodb']";
        let levels = "durability = ['relaxed', 'strict']";
        format!("workload = 'point'\nengine = {engines}\n{levels}\n{settings}\n")
    };
    let (trials, left_out) =
        planned(&registry, &text("[settings.postgres]\nsynchronous_commit = 'off'"));
    assert_eq!((trials, left_out.len()), (4, 4), "{left_out:?}");
    let said = "your settings have synchronous_commit=off, which the level of durability sets";
    assert!(left_out.iter().all(|line| line.contains(said)), "{left_out:?}");
    let flush = "[settings.'mariadb:innodb']\ninnodb_flush_method = 'nosync'";
    let (trials, left_out) = planned(&registry, &text(flush));
    assert_eq!((trials, left_out.len()), (6, 2), "{left_out:?}");
    assert!(left_out[0].contains("innodb_flush_method=nosync"), "{left_out:?}");
    assert_eq!(planned(&registry, &text("[settings.postgres]\njit = 'off'")), (8, vec![]));
}

/// An engine without several ranges.
struct Simple;

impl Engine for Simple {
    fn about(&self) -> EngineDescription {
        EngineDescription { name: "simple", ..null::NullEngine.about() }
    }

    fn version(&self) -> String {
        "1".into()
    }

    fn runs(&self) -> Option<Runs> {
        Some(|_, statement| match &statement.action {
            Action::Read(read) if matches!(read.scope, ReadScope::Ranges(_)) => {
                Err("it reads one range at a time".into())
            }
            _ => Ok(()),
        })
    }

    fn open(
        &self,
        _: &Path,
        _: &OpenTerms,
        _: &Schema,
        _: &[Statement],
    ) -> Result<Box<dyn Database>> {
        unreachable!("nothing is loaded")
    }
}

#[test]
fn a_test_that_an_engine_can_not_do_is_left_out_with_the_statement() {
    let registry = Registry::standard().with_engines([&Simple as &dyn Engine]);
    let text = "engine = ['simple', 'null']\nworkload = ";
    let (trials, left_out) = planned(&registry, &format!("{text}'text-oltp'\n"));
    assert_eq!((trials, left_out), (2, vec![]));
    let all = "'oltp'\ntest = ['select_random_ranges', 'point_select']\n";
    let (trials, left_out) = planned(&registry, &format!("{text}{all}"));
    assert_eq!(trials, 3, "{left_out:?}");
    let [line] = &left_out[..] else { panic!("{left_out:?}") };
    for said in [
        "not run: simple × test select_random_ranges (1 trial): ",
        "simple can't run the statement `random_ranges` of oltp: it reads one range at a time",
    ] {
        assert!(line.contains(said), "{said}: {line}");
    }
}
