//! What can't be had is told in the plan, before anything is loaded: data that a disk would not hold, memory that is
//! too little, pages of other machines, statements that an engine can't run, clients beyond what a target takes.

use std::path::Path;

use bakeoff_engines::statement::{Action, ReadScope};
use bakeoff_engines::{
    Database, Engine, EngineDescription, OpenTerms, Result, Runs, Schema, Statement, null,
};
use bakeoff_lab::{Plan, Registry};

use crate::own::Page;
use crate::{load, planned};

/// The lines of a file, how many of its trials can be had, and what is said of each level that can't be.
type Case = (&'static str, usize, &'static [&'static [&'static str]]);

const THREADS: &str =
    "at most 1024: each is a thread of this machine, and more would measure its scheduler";

const UNSYNCED: &[&str] =
    &["its settings keep durability relaxed, not strict: it is run at relaxed instead"];
const NO_SYNC: &[&str] = &["its settings keep durability none, not "];

const CASES: &[Case] = &[
    (
        "workload = 'oltp'\nengine = 'sqlite'\nscale = ['10k', '10M']\n\
         disk = ['ebs-gp2:1G', 'ebs-gp2:100G', 'ssd-sata', 'host']\n",
        7,
        &[&[
            "ebs-gp2:1G",
            "scale 10M",
            "1940 MB of rows take about 5821 MB",
            "the disk holds 1073 MB",
            "name a smaller scale, or a larger disk",
        ]],
    ),
    // An array holds half of what its disks do; what ageing leaves behind takes room as well.
    (
        "workload = 'oltp'\nengine = 'sqlite'\nscale = '10M'\nage = ['0', '1x']\n\
         disk = ['raid10:4×ebs-gp2:4G', 'raid10:2×ebs-gp2:4G']\n",
        1,
        &[
            &["raid10:2×ebs-gp2:4G", "1940 MB of rows take"],
            &["raid10:2×ebs-gp2:4G", "1940 MB of rows, 1940 MB of them aged, take"],
            &["raid10:4×ebs-gp2:4G", "1940 MB of rows, 1940 MB of them aged, take"],
        ],
    ),
    // A larger scale makes a share larger.
    (
        "workload = 'text-oltp'\nrows_from = 'generated'\nengine = 'sqlite'\nclients = 4\n\
         memory = '8%'\nscale = ['small', 'large']\n",
        1,
        &[&[
            "8% of 24.4 MB of rows is 2.0 MB, too little for what the engine must hold to serve 4 clients",
            "% of the rows, or ",
            "; 8% suffices at --scale large",
        ]],
    ),
    // Of rows that are kept in memory none does.
    (
        "workload = 'oltp'\nscale = '10k'\nengine = 'tarantool:memtx'\nmemory = ['8%', 'unlimited']\n",
        1,
        &[&[
            "too little",
            "serve 1 client, the page cache included; the least that works is 217% of the rows, or 4M (4.2 MB)",
        ]],
    ),
    // More than any share.
    (
        "workload = 'oltp'\nscale = '10k'\nengine = 'sqlite'\nclients = 200\nmemory = ['8M', 'unlimited']\n",
        1,
        &[&["8M is 8.4 MB, too little", "; the least that works is 2"]],
    ),
    // By files and their size: they have neither rows nor an engine.
    (
        "workload = 'fileio'\ndisk = 'host'\nsize = '64M'\nmemory = ['25%', '16M', 'unlimited']\n",
        1,
        &[
            &[
                "16M is 16.8 MB, too little for the requests of 1 client",
                "take 27% of the files, or 17M at least",
            ],
            &[
                "25% of 67.1 MB of files is 16.8 MB, too little",
                "at least, or larger files (`size`)",
            ],
        ],
    ),
    (
        "workload = 'page'\nclients = 1\nurl = ['http://127.0.0.1:1/', 'http://192.0.2.1/']\n",
        1,
        &[&["192.0.2.1 is another machine", "--i-run-this-server"]],
    ),
    (
        "workload = 'point'\nengine = ['sqlite', 'lmdb']\ndurability = ['as-is', 'strict']\n",
        2,
        &[
            &["lmdb", "as-is is a server by URL", "choose none, relaxed or strict"],
            &["sqlite", "as-is is a server by URL", "choose none, relaxed or strict"],
        ],
    ),
    // At the level that it keeps it is run; its engine with options goes with it.
    (
        "workload = 'point'\nengine = ['postgres', 'postgres/jit=off', 'sqlite']\n\
         durability = ['relaxed', 'strict']\n[settings.postgres]\nsynchronous_commit = 'off'\n",
        4,
        &[UNSYNCED, UNSYNCED],
    ),
    (
        "workload = 'point'\nengine = ['postgres', 'mariadb:innodb']\n\
         durability = ['relaxed', 'strict']\n[settings.'mariadb:innodb']\ninnodb_flush_method = 'nosync'\n",
        3,
        &[NO_SYNC, NO_SYNC],
    ),
    ("workload = 'point'\nengine = 'postgres'\n[settings.postgres]\njit = 'off'\n", 1, &[]),
    ("workload = 'text-oltp'\nengine = ['simple', 'null']\n", 2, &[]),
    (
        "workload = 'oltp'\nengine = ['simple', 'null']\ntest = ['select_random_ranges', 'point_select']\n",
        3,
        &[&[
            "not run: simple × test select_random_ranges (1 trial): ",
            "simple can't run the statement `random_ranges` of oltp: it reads one range at a time",
        ]],
    ),
    (
        "workload = 'point'\nengine = ['sqlite', 'null']\nclients = [1024, 1025, 65537]\n",
        3,
        &[
            &["not run: null × clients 65537 (1 trial): ", "at most 65536: they take turns"],
            &["not run: sqlite × clients 1025 (1 trial): ", THREADS],
            &["not run: sqlite × clients 65537 (1 trial): ", THREADS],
        ],
    ),
    (
        "workload = 'fileio'\nclients = [1024, 1025]\n",
        1,
        &[&["not run: clients 1025 (1 trial): ", THREADS]],
    ),
    // Each client writes its claims on a thread of its own.
    (
        "workload = 'ledger'\nengine = 'sqlite'\ndurability = 'strict'\ncuts = 3\n\
         disk = 'ssd-sata'\nclients = [1, 2000]\n",
        1,
        &[&["clients 2000", "(1 trial, 3 power cuts): ", THREADS]],
    ),
    (
        "workload = 'articles'\ncompare = 'clients'\nclients = [10_000, 10_001]\n",
        1,
        &[&["not run: clients 10001 (1 trial): at most 10000: each has a port"]],
    ),
    // SQLite stores no compressed pages: what stands for that it has, and nothing else.
    (
        "workload = 'redmine'\nengine = ['sqlite', 'mariadb:innodb']\n\
         compression = ['default', 'none', 'zlib']\n",
        5,
        &[&[
            "not run: sqlite × compression zlib (1 trial): the engine has no option `compression`",
        ]],
    ),
    (
        "workload = 'redmine'\nengine = 'sqlite'\ncompare = 'disk'\ndisk = ['hdd-7200', 'ssd-sata']\n\
         rpm = ['default', '7200']\n",
        3,
        &[&["not run: disk ssd-sata × rpm 7200 (1 trial): the disk has no option `rpm`"]],
    ),
    (
        "workload = 'redmine'\nengine = 'sqlite'\ncompare = 'disk'\nouter_mb_s = ['100']\n\
         disk = ['hdd-7200', 'hdd-5400']\n",
        1,
        &[&["hdd-7200 × outer_mb_s 100", "outer_mb_s 100 is below inner_mb_s 110"]],
    ),
];

#[test]
fn what_can_not_be_had_is_left_out_with_the_reason() {
    let registry = Registry::standard()
        .with_engines([&Simple as &dyn Engine])
        .with_target(Page::with_groups(&["web"]));
    for (text, trials, refusals) in CASES {
        let (found, left_out) = planned(&registry, text);
        assert_eq!((found, left_out.len()), (*trials, refusals.len()), "{text}{left_out:#?}");
        for parts in *refusals {
            let is_said = |line: &String| parts.iter().all(|part| line.contains(part));
            assert!(left_out.iter().any(is_said), "{text}{left_out:#?}\n{parts:?}");
        }
        let larger = left_out.iter().any(|line| line.contains("suffices"));
        let is_told = refusals.concat().iter().any(|part| part.contains("suffices"));
        assert_eq!(larger, is_told, "{left_out:#?}");
    }
}

/// The least that the refusal names is planned, and a mebibyte less is not.
#[test]
fn the_least_memory_that_is_named_suffices() {
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

/// Whoever writes an experiment's file can't say that a server is his: the lab is told besides.
#[test]
fn a_page_on_another_machine_is_left_out_unless_its_server_is_ours() {
    let text = "workload = 'page'\nclients = 1\nurl = 'http://192.0.2.1/'\n";
    assert_eq!(planned(&Registry::standard(), text).0, 0);
    let allowed = Registry::standard().with_pages_elsewhere();
    assert_eq!(planned(&allowed, text), (1, vec![]));
}

const TWO: &[&str] = &["php", "web"];

#[test]
fn groups_that_can_not_be_kept_apart_are_an_error() {
    let cases: [(Page, &str); 7] = [
        (Page::with_groups(&["php", "database", "php"]), "two groups of processes named `php`"),
        (
            Page { groups: TWO, shared: &[("php", &["web"])] },
            "has a shared limit named `php` like another one or like a group",
        ),
        (
            Page { groups: TWO, shared: &[("a", &["php"]), ("a", &["web"])] },
            "has a shared limit named `a` like another one",
        ),
        (
            Page { groups: TWO, shared: &[("a", &["php", "nginx"])] },
            "shared by `nginx`, which is no group of it: name some of php, web",
        ),
        (
            Page { groups: TWO, shared: &[("a", &["php"]), ("b", &["php"])] },
            "has the group `php` share the limit `a` and the limit `b`",
        ),
        (
            Page { groups: TWO, shared: &[("a", &["php", "php"])] },
            "has the group `php` share the limit `a` and the limit `a`",
        ),
        (Page { groups: TWO, shared: &[("stack", TWO)] }, ""),
    ];
    for (page, why) in cases {
        let registry = Registry::standard().with_target(page);
        let experiment = load(&registry, crate::own::TEXT).unwrap();
        let plan = Plan::from_experiment(&registry, &experiment);
        assert_eq!(plan.trials.count_trials() == 0, !why.is_empty(), "{why}");
        match plan.ensure_comparable().map_err(|error| error.to_string()) {
            Ok(()) => assert_eq!(why, ""),
            Err(told) => {
                let is_told = told.contains("the target `stack`") && told.contains(why);
                assert!(is_told && !why.is_empty(), "{why}: {told}");
            }
        }
    }
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

    fn statement_check(&self) -> Option<Runs> {
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
