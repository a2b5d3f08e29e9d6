//! What an experiment says, out of its file, its table `[quick]` and the flags.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use crate::common::{
    DEPTH, GOOD, OF_FILES, load, load_with, taking_rows, trusting, vocabulary, vocabulary_with,
};
use bakeoff_experiment::{
    Bounds, CutBy, Cuts, Declared, Experiment, FILE_SYSTEMS, Factor, FlagOverrides, KEEPS,
    PlannerNames, Rate, RowsFrom, WorkloadNames, base, engine, presets,
};
use proptest::prelude::*;
use proptest::sample::subsequence;

#[test]
fn what_is_left_out_has_a_default() {
    let experiment = load(GOOD, &FlagOverrides::default()).expect("it is right");
    let toml = "\
name = \"my\"
title = \"my\"
workload = \"redmine\"
compare = \"engine\"
engine = [\"sqlite\"]
durability = [\"strict\"]
memory = [\"unlimited\"]
cpus = [\"unlimited\"]
disk = [\"host\"]
neighbours = [\"0\"]
clients = [\"1\"]
rate = [\"closed\"]
scale = [\"small\"]
state = [\"warm\"]
seconds = 10.0
repetitions = 5
seed = 1
noise_floor = false
planner = \"fixed\"
";
    assert_eq!(experiment.to_toml(), toml);
}

#[test]
fn levels_come_in_many_forms_and_leave_in_one() {
    let toml = format!("{GOOD}clients = [4, \"01\", 0x10]\nneighbours = [0, \"x04\", \"025%\"]\n");
    let toml =
        format!("{toml}memory = [\"1024M\", \"0512M\", \"1048576M\", \"05%\", \"unlimited\"]\n");
    let experiment = load(&toml, &FlagOverrides::default()).expect("it is right");
    assert_eq!(experiment.levels(Factor::CLIENTS), ["4", "1", "16"]);
    assert_eq!(experiment.levels(Factor::NEIGHBOURS), ["0", "x4", "25%"]);
    assert_eq!(experiment.levels(Factor::MEMORY), ["1G", "512M", "1T", "5%", "unlimited"]);
    let toml = format!(
        "{GOOD}rate = [\"closed\", \"0200.0/s\", \".5/s\", \"poisson:200./s\", \
                         \"pairs:7/s\", \"even:8/s\"]\n"
    );
    let experiment = load(&toml, &FlagOverrides::default()).expect("it is right");
    assert_eq!(
        experiment.levels(Factor::RATE),
        ["closed", "200/s", "0.5/s", "poisson:200/s", "pairs:7/s", "8/s"]
    );
}

#[test]
fn flags_lie_over_quick_and_quick_over_the_file() {
    let toml = format!("{GOOD}clients = 2\nseconds = 60\nseed = 7\n[quick]\nclients = 4\nseed = 8");
    let full = load(&toml, &FlagOverrides::default()).expect("it is right");
    assert_eq!(
        (full.levels(Factor::CLIENTS), full.seconds, full.seed),
        (vec!["2".into()], 60.0, 7)
    );
    let changes = FlagOverrides {
        factors: vec![(Factor::ENGINE, "lmdb, fjall".to_owned())],
        seed: Some(9),
        quick: true,
        ..FlagOverrides::default()
    };
    let quick = load(&toml, &changes).expect("it is right");
    assert_eq!(quick.levels(Factor::ENGINE), ["lmdb", "fjall"]);
    assert_eq!((quick.levels(Factor::CLIENTS), quick.seed), (vec!["4".into()], 9));
    assert_eq!(quick.seconds, 60.0);
}

#[test]
fn a_flag_mends_what_the_file_leaves_out() {
    let engines = (Factor::ENGINE, "lmdb".to_owned());
    let changes = FlagOverrides { factors: vec![engines], ..FlagOverrides::default() };
    assert!(load("workload = \"reads\"", &changes).is_ok());
}

#[test]
fn a_text_is_looked_for_beside_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("e.toml");
    std::fs::write(&path, format!("{GOOD}text = \"mails/all.txt\"")).expect("a file");
    let load = |changes| {
        let loaded = Experiment::load(path.to_str().expect("UTF-8"), &changes, &vocabulary());
        loaded.expect("it is right").text.expect("a text is given")
    };
    assert_eq!(load(FlagOverrides::default()), folder.path().join("mails/all.txt"));
    let flag = load(FlagOverrides { text: Some("all.txt".into()), ..FlagOverrides::default() });
    assert_eq!(flag, std::env::current_dir().expect("a folder").join("all.txt"));
}

#[test]
fn the_noise_floor_is_the_first_level_once_more() {
    let levels = |engines: &str| {
        let toml = format!("workload = \"reads\"\nengine = {engines}\nnoise_floor = true");
        load(&toml, &FlagOverrides::default()).expect("it is right").levels(Factor::ENGINE)
    };
    assert_eq!(levels("[\"lmdb\", \"null\"]"), ["lmdb", "null", "lmdb@again"]);
    assert_eq!(levels("[\"lmdb\", \"lmdb@mine\"]"), ["lmdb", "lmdb@mine"]);
    assert_eq!(levels("\"lmdb@again\""), ["lmdb@again", "lmdb"]);
}

/// The factors that a preset names of its workload.
static OF_TESTS: [Declared; 3] = [plain("test"), plain("transaction"), plain("keys")];
static OF_FILEIO: [Declared; 6] = [
    plain("pattern"),
    plain("size"),
    plain("files"),
    plain("block"),
    plain("sync"),
    plain("access"),
];

static OF_VOTES: [Declared; 4] =
    [plain("step"), plain("connection"), plain("rtt"), plain("server")];

static OF_PAGES: [Declared; 2] = [plain("url"), plain("requests_per_connection")];

const fn plain(name: &'static str) -> Declared {
    let canonical = |text: &str| Ok(text.to_owned());
    Declared { name, summary: "", syntax: "", default: "any", canonical }
}

#[test]
fn presets_are_right_and_as_long_as_they_say() {
    let servers = ["mariadb:innodb", "mariadb:rocksdb", "postgres", "tarantool:memtx"];
    let mut vocabulary = vocabulary_with(&[&["sqlite", "lmdb", "fjall"], &servers[..]].concat());
    let files = vocabulary.workload("files").expect("a workload").clone();
    let own = [Factor::MEMORY, Factor::DISK, Factor::NEIGHBOURS, Factor::CLIENTS, DEPTH];
    vocabulary.workloads.push(WorkloadNames {
        name: "fileio".to_owned(),
        scales: Vec::new(),
        operations: vec!["read".to_owned(), "write".to_owned()],
        factors: own.into_iter().chain(OF_FILEIO.iter().map(Factor::Declared)).collect(),
        ..files
    });
    let tables = vocabulary.workload("redmine").expect("a workload").clone();
    let factors = Factor::OWN.into_iter().chain(OF_TESTS.iter().map(Factor::Declared)).collect();
    let tests = WorkloadNames { factors, operations: vec!["transaction".to_owned()], ..tables };
    for name in ["oltp", "text-oltp"] {
        let mut names = WorkloadNames { name: name.to_owned(), ..tests.clone() };
        names.scales.extend(["10k", "100k"].map(str::to_owned));
        vocabulary.workloads.push(names);
    }
    let of_pages = OF_PAGES.iter().map(Factor::Declared);
    let factors = [Factor::CLIENTS, Factor::RATE].into_iter().chain(of_pages).collect();
    let pages = WorkloadNames {
        name: "page".to_owned(),
        factors,
        scales: Vec::new(),
        cut_by: Err("what pages show is not checked".to_owned()),
        ..tests.clone()
    };
    vocabulary.workloads.push(pages);
    let planner = PlannerNames { name: "until-decided".to_owned(), repeats: true, seeks: false };
    vocabulary.planners.push(planner);
    let factors = Factor::OWN.into_iter().chain(OF_VOTES.iter().map(Factor::Declared)).collect();
    let operations = ["page", "vote"].map(str::to_owned).to_vec();
    let votes = WorkloadNames { name: "vote".to_owned(), factors, operations, ..tests };
    vocabulary.workloads.push(votes);
    for preset in presets() {
        for quick in [false, true] {
            let changes = FlagOverrides { quick, ..FlagOverrides::default() };
            let experiment = Experiment::load(preset.name, &changes, &vocabulary)
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(experiment.name, preset.name.replace('/', "-"));
            let trials = experiment.plan().trials();
            assert!(preset.toml.contains(&format!(": {trials} trials, ")), "{trials}");
            if let Some(cuts) = &experiment.cuts {
                let made = cuts.numbers().len() * experiment.cut_cells().len();
                assert!(preset.toml.contains(&format!(" {made} power cuts")), "{made}");
            }
            // What a trial costs besides what it measures: a virtual disk is mounted, warmed, and
            // hears the last operations end.
            let host = experiment.levels(Factor::DISK) == ["host"];
            let other = if host { 0.35 } else { 1.0 };
            // Before a steady window the clients work as long again.
            let steady = experiment.levels(Factor::STATE) == ["steady"];
            let each = experiment.seconds * if steady { 2.0 } else { 1.0 };
            let minutes = trials as f64 * (each + other) / 60.0;
            // Those that take hours have a name of their own.
            let long = ["redmine-sweep", "redmine-steady"].contains(&preset.name);
            let most = match (quick, long) {
                (true, _) => 2.75,
                (false, false) => 20.0,
                (false, true) => 210.0,
            };
            assert!(minutes < most, "{}: {minutes}", preset.name);
            // Neither files nor pages have anything put off that a state could be of.
            let has_state = !["fileio", "page"].contains(&&*experiment.workload);
            assert!(!has_state || preset.toml.contains("\nstate = "));
        }
    }
}

/// Levels of a factor that are valid and canonical.
fn valid(factor: Factor) -> Vec<&'static str> {
    match factor.name() {
        "engine" => vec![
            "sqlite",
            "lmdb",
            "mariadb:innodb",
            "mariadb:innodb/jit=off/path=/opt/db",
            "mysql://me@host/db",
            "mysql://me@host:3307/db?socket=/run/my.sock#InnoDB",
        ],
        "durability" => vec!["none", "relaxed", "strict"],
        "memory" | "cpus" => vec!["unlimited"],
        "disk" => vec!["host", "hdd-7200", "ebs-gp2:100G", "mine"],
        "neighbours" => vec!["0", "1%", "25%", "100%", "x1", "x64"],
        "clients" => vec!["1", "4", "1000000"],
        "rate" => vec!["closed", "0.001/s", "200/s", "poisson:0.5/s", "poisson:1000000/s"],
        "scale" => vec!["small", "large", "giant"],
        "state" => vec!["cold", "warm", "steady"],
        _ => vec!["1", "32", "1024"],
    }
}

/// Levels of all these factors.
fn factors(of: &'static [Factor]) -> impl Strategy<Value = BTreeMap<Factor, Vec<String>>> {
    let levels = of.iter().map(|&factor| {
        let valid = valid(factor);
        let most = valid.len();
        subsequence(valid, 1..=most).prop_shuffle()
    });
    levels.collect::<Vec<_>>().prop_map(|levels| {
        let owned = |levels: Vec<&str>| levels.into_iter().map(str::to_owned).collect();
        of.iter().copied().zip(levels.into_iter().map(owned)).collect()
    })
}

/// The name of a workload, and levels of its factors.
fn workloads() -> impl Strategy<Value = (&'static str, BTreeMap<Factor, Vec<String>>)> {
    prop_oneof![
        factors(&Factor::OWN).prop_map(|factors| ("redmine", factors)),
        factors(&OF_FILES).prop_map(|factors| ("files", factors)),
    ]
}

prop_compose! {
    fn cuts()(
        count in 1u32..=10_000,
        keep in subsequence(&KEEPS[..], 1..=KEEPS.len()),
        file_systems in subsequence(&FILE_SYSTEMS[..], 1..=FILE_SYSTEMS.len()),
        recovery: bool,
        only in prop::option::of(0u32..10_000),
    ) -> Cuts {
        let (by, subjects) = (CutBy::engines("ledger"), Vec::new());
        let [keep, file_systems] =
            [keep, file_systems].map(|names| names.into_iter().map(str::to_owned).collect());
        Cuts { count, keep, file_systems, recovery, only, every: None, by, subjects }
    }
}

prop_compose! {
    fn experiments()(
        name in "[a-zé0-9][a-z0-9._-]{0,20}",
        title in "\\PC{1,40}",
        text in prop::option::of("/\\PC{1,20}".prop_map(PathBuf::from)),
        (workload, factors) in workloads(),
        compare in any::<prop::sample::Index>(),
        alias in prop::option::of("[a-zA-Z0-9-]{1,8}"),
        seconds in 0.5..=86_400.0,
        operations in prop::option::of(20u32..=1_000_000),
        repetitions in 1u32..20,
        seed in 0..=i64::MAX as u64,
        noise_floor: bool,
        planner in prop::sample::select(vec!["fixed", "longer"]),
        bounds in prop::option::of((3u32..30, prop::option::of(1u64..2_000_000))),
        value in "\\PC{0,20}",
        cuts in prop::option::of(cuts()),
    ) -> Experiment {
        let (mut factors, mut cuts) = (factors, cuts.filter(|_| workload == "redmine"));
        let compare = *compare.get(&factors.keys().copied().collect::<Vec<_>>());
        if let Some(alias) = alias {
            let levels = factors.get_mut(&compare).expect("every factor is there");
            levels.push(format!("{}@{alias}", levels[0]));
        }
        if let Some(cuts) = &mut cuts {
            // Neither the power of this machine's own disk nor that of a server elsewhere is cut.
            factors.get_mut(&Factor::DISK).expect("every factor is there").push("ebs-gp2:7G".into());
            let engines = factors.get_mut(&Factor::ENGINE).expect("every factor is there");
            engines.retain(|level| !level.contains("://"));
            if engines.is_empty() {
                engines.push("fjall".into());
            }
            let mut seen = BTreeSet::new();
            let each_once = engines.iter().map(|level| base(level).to_owned());
            cuts.subjects = each_once.filter(|engine| seen.insert(engine.clone())).collect();
        }
        let levels = factors[&compare].iter().map(|level| base(level));
        // Of one level nothing is decided.
        let bounds = bounds.filter(|_| levels.collect::<BTreeSet<_>>().len() > 1);
        let bounds = bounds.map(|(max_repetitions, seconds)| Bounds {
            min_repetitions: max_repetitions / 2 + 2,
            max_repetitions,
            max_time: seconds.map(Duration::from_secs),
        });
        let planner = if bounds.is_some() { "decides" } else { planner }.to_owned();
        let workload = workload.to_owned();
        let device: toml::Table = "model = \"hdd-7200\"\nrpm = 100\n".parse().expect("a table");
        let disks = BTreeMap::from([("mine".to_owned(), device)]);
        let own = BTreeMap::from([("max_connections".to_owned(), value)]);
        let settings = BTreeMap::from([("mariadb:innodb".to_owned(), own)]);
        Experiment {
            name, title, workload, text, rows_from: None, rows_strict: false, compare, factors, disks, settings, seconds,
            operations, repetitions, seed, noise_floor, priced: false, planner, bounds, limit: None, cuts, published: None,
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(experiment in experiments()) {
        let levels = experiment.factors.keys().map(|factor| experiment.levels(*factor).len());
        let trials = levels.product::<usize>() * experiment.most_repetitions() as usize;
        prop_assume!(trials <= 100_000, "more would be refused");
        let toml = experiment.to_toml();
        // It may name a database.
        let again = load_with(&toml, &FlagOverrides::default(), &trusting());
        prop_assert_eq!(again.map_err(|error| error.to_string()), Ok(experiment));
    }
}

proptest! {
    #[test]
    fn a_rate_is_read_as_it_is_written(per_second in 0.001..=1e6, even: bool, scale in 0..=9) {
        let arrivals = (!even).then(|| "poisson".to_owned());
        let per_second = per_second / 10f64.powi(scale);
        let rate = Rate::Open { per_second, arrivals };
        prop_assert_eq!(Rate::parse(&rate.to_string()), (per_second >= 0.001).then_some(rate));
        prop_assert_eq!(Rate::parse("closed"), Some(Rate::Closed));
    }
}

#[test]
fn a_url_is_a_level_without_its_password() {
    let toml = "workload = \"reads\"\nnoise_floor = true\n\
                engine = [\"mysql://me:secret@host/db\", \"mysql://me@host/db2@mine\"]\n";
    let experiment = load_with(toml, &FlagOverrides::default(), &trusting()).expect("it is right");
    let levels = ["mysql://me@host/db", "mysql://me@host/db2@mine", "mysql://me@host/db@again"];
    assert_eq!(experiment.levels(Factor::ENGINE), levels);
    assert_eq!(levels.map(base), ["mysql://me@host/db", "mysql://me@host/db2", levels[0]]);
    assert_eq!(base("mysql://me@host"), "mysql://me@host");
    assert!(!format!("{experiment:?}{}", experiment.to_toml()).contains("secret"));
}

#[test]
fn a_database_in_a_file_is_connected_to_only_when_a_flag_names_it_or_the_file_is_trusted() {
    let toml = "workload = \"reads\"\nengine = \"sqlite\"\n\
                [quick]\nengine = [\"sqlite\", \"mysql://me:secret@host/db\"]\n";
    load(toml, &FlagOverrides::default()).expect("it is not run");
    let quick = FlagOverrides { quick: true, ..FlagOverrides::default() };
    let refused = load(toml, &quick).expect_err("a stranger's").to_string();
    for text in ["makes bakeoff connect to `mysql://me@host/db`", "my.toml:4:", "--engine LEVELS"] {
        assert!(refused.contains(text), "{text:?} is not in:\n{refused}");
    }
    assert!(refused.contains("--trust-experiment") && !refused.contains("secret"), "{refused}");
    load_with(toml, &quick, &trusting()).expect("it is trusted");
    let engines = vec![(Factor::ENGINE, "sqlite,mysql://me@host/db".to_owned())];
    let named = FlagOverrides { factors: engines, ..quick };
    assert_eq!(load(toml, &named).expect("it is named").levels(Factor::ENGINE).len(), 2);
}

#[test]
fn a_level_with_options_is_canonical_and_of_its_engine() {
    let engines = "mariadb:innodb/work=4MB/jit=OFF,mariadb:innodb/jit=on@mine,sqlite";
    let flags = FlagOverrides {
        factors: vec![(Factor::ENGINE, engines.to_owned())],
        ..FlagOverrides::default()
    };
    let levels = load(GOOD, &flags).expect("it is right").levels(Factor::ENGINE);
    let canonical = ["mariadb:innodb/jit=off/work=4mb", "mariadb:innodb/jit=on@mine", "sqlite"];
    assert_eq!(levels, canonical);
    assert_eq!(canonical.map(engine), ["mariadb:innodb", "mariadb:innodb", "sqlite"]);
    assert_eq!(engine("mysql://me@host/db@again"), "mysql://me@host/db");
    let noise = format!("{GOOD}noise_floor = true\n");
    let named = FlagOverrides {
        factors: vec![(Factor::ENGINE, "mariadb:innodb/jit=on".to_owned())],
        ..FlagOverrides::default()
    };
    let levels = load(&noise, &named).expect("it is right").levels(Factor::ENGINE);
    assert_eq!(levels, ["mariadb:innodb/jit=on", "mariadb:innodb/jit=on@again"]);
    let twice = FlagOverrides {
        factors: vec![(Factor::ENGINE, "mariadb:innodb/a=1/b=2,mariadb:innodb/b=2/a=1".into())],
        ..FlagOverrides::default()
    };
    let error = load(GOOD, &twice).expect_err("they are one level").to_string();
    assert!(error.contains("is twice among the levels of `engine`"), "{error}");
}

#[test]
fn what_is_wrong_with_a_levels_options_is_told_at_its_place() {
    let cases = [
        ("sqlite/path=/opt", "`sqlite` takes no options", "help: write `sqlite` alone"),
        (
            "mariadb:inodb/path=/opt",
            "unknown engine `mariadb:inodb`",
            "did you mean `mariadb:innodb`",
        ),
        ("mariadb:innodb/port=1", "bakeoff sets `port` of `mariadb:innodb` itself", "leave"),
    ];
    for (level, title, help) in cases {
        let toml = format!("workload = \"redmine\"\nengine = [\"lmdb\", \"{level}\"]\n");
        let error =
            load_with(&toml, &FlagOverrides::default(), &trusting()).expect_err("it is wrong");
        for text in [title, help, "my.toml:2:19"] {
            assert!(error.to_string().contains(text), "{text:?} is not in:\n{error}");
        }
    }
}

#[test]
fn a_level_in_a_file_that_asks_for_trust_is_had_where_a_flag_names_it_or_the_file_is_trusted() {
    for (level, why) in [
        ("mariadb:innodb/path=/opt/db", "the option `path` of `mariadb:innodb` has bakeoff run"),
        ("mariadb:innodb/run_command=x", "the setting `run_command` of `mariadb:innodb` has the"),
    ] {
        let toml = format!("workload = \"reads\"\nengine = [\"sqlite\", \"{level}@mine\"]\n");
        let refused = load(&toml, &FlagOverrides::default()).expect_err("a stranger's").to_string();
        for text in [why, "my.toml:2:", "--engine LEVELS", "--trust-experiment"] {
            assert!(refused.contains(text), "{text:?} is not in:\n{refused}");
        }
        load_with(&toml, &FlagOverrides::default(), &trusting()).expect("it is trusted");
        let engines = vec![(Factor::ENGINE, level.to_owned())];
        let named = FlagOverrides { factors: engines, ..FlagOverrides::default() };
        assert_eq!(load(&toml, &named).expect("it is named").levels(Factor::ENGINE), [level]);
    }
}

#[test]
fn a_setting_that_asks_for_trust_is_had_by_a_trusted_file_and_the_labs_own_by_none() {
    let toml = |setting: &str| format!("{GOOD}[settings.\"mariadb:innodb\"]\n{setting}\n");
    let command = toml("run_command = \"touch\"");
    load(&command, &FlagOverrides::default()).expect_err("a stranger's");
    let trusted =
        load_with(&command, &FlagOverrides::default(), &trusting()).expect("it is trusted");
    assert_eq!(trusted.settings["mariadb:innodb"]["run_command"], "touch");
    let port = load_with(&toml("port = 1"), &FlagOverrides::default(), &trusting());
    port.expect_err("it is the lab's own");
}

#[test]
fn settings_come_in_many_forms_and_leave_in_one() {
    let toml = format!(
        "{GOOD}[settings.\"mariadb:innodb\"]\nInnodb-Buffer-Pool-Size = \"1G\"\n\
         sync_binlog = 0x10\nratio = 1_0.5\ndoublewrite = false\nlocal_infile = true\n"
    );
    let experiment = load(&toml, &FlagOverrides::default()).expect("it is right");
    let settings: Vec<(&str, &str)> = experiment.settings["mariadb:innodb"]
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let expected = [
        ("doublewrite", "OFF"),
        ("innodb_buffer_pool_size", "1G"),
        ("local_infile", "ON"),
        ("ratio", "10.5"),
        ("sync_binlog", "16"),
    ];
    assert_eq!(settings, expected);
}

#[test]
fn a_device_of_ones_own_is_named_by_file_quick_and_flags() {
    let toml = format!(
        "{GOOD}disk = [\"host\", \"mine\"]\n[quick]\ndisk = \"mine\"\n\
         [disks.mine]\nmodel = \"hdd-7200\"\nrpm = 100\n"
    );
    let full = load(&toml, &FlagOverrides::default()).expect("it is right");
    assert_eq!(full.levels(Factor::DISK), ["host", "mine"]);
    assert_eq!(full.disks["mine"]["rpm"].as_integer(), Some(100));
    let quick = FlagOverrides { quick: true, ..FlagOverrides::default() };
    assert_eq!(load(&toml, &quick).expect("it is right").levels(Factor::DISK), ["mine"]);
    let flag = vec![(Factor::DISK, "mine,ebs-gp2:0100G,ebs-gp2:7G".to_owned())];
    let flags = FlagOverrides { factors: flag, ..FlagOverrides::default() };
    let levels = load(&toml, &flags).expect("it is right").levels(Factor::DISK);
    assert_eq!(levels, ["mine", "ebs-gp2:100G", "ebs-gp2:7G"]);
    let error = load(GOOD, &flags).expect_err("only the file knows it").to_string();
    assert!(error.contains("unknown disk `mine`"), "{error}");
}

#[test]
fn rows_come_from_a_file_where_the_workload_takes_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("e.toml");
    let load = |text: &str| {
        std::fs::write(&path, text).expect("a file");
        Experiment::load(
            path.to_str().expect("UTF-8"),
            &FlagOverrides::default(),
            &taking_rows(true),
        )
    };
    let good = "workload = \"redmine\"\nengine = \"lmdb\"\nrows_from = \"a/rows.tsv\"\n";
    let experiment = load(good).expect("it is right");
    assert_eq!(experiment.rows_from, Some(RowsFrom::File(folder.path().join("a/rows.tsv"))));
    assert_eq!(load(&experiment.to_toml()).expect("it is right"), experiment);
    let wrong = |text: &str| load(text).expect_err("it is wrong").to_string();
    let other = wrong(&good.replace("redmine", "reads"));
    assert!(other.contains("`reads` makes its rows itself"), "{other}");
    assert!(other.contains("rows from a file: redmine"), "{other}");
    let both = wrong(&format!("{good}text = \"b.txt\"\n"));
    assert!(both.contains("`text` and `rows_from` both"), "{both}");
    assert!(wrong(&good.replace("a/rows.tsv", "")).contains("`rows_from` names no file"));
    let meant = wrong(&good.replace("a/rows.tsv", "wrods"));
    assert!(meant.contains("there is no file of rows `wrods`"), "{meant}");
    assert!(meant.contains("did you mean `words`?"), "{meant}");
    // A file of that name is one.
    std::fs::write(folder.path().join("wrods"), "Ape\tAn ape.\n").expect("a file");
    let experiment = load(&good.replace("a/rows.tsv", "wrods")).expect("it is right");
    assert_eq!(experiment.rows_from, Some(RowsFrom::File(folder.path().join("wrods"))));
    let strict = format!("{good}rows_strict = true\n");
    let strict = load(&strict).expect("it is right");
    assert!(strict.rows_strict);
    assert_eq!(load(&strict.to_toml()).expect("it is right"), strict);
    let nothing = wrong("workload = \"redmine\"\nengine = \"lmdb\"\nrows_strict = true\n");
    assert!(nothing.contains("`rows_strict` is for rows from a file"), "{nothing}");
}

#[test]
fn where_rows_come_from_is_settled_when_nobody_says_it() {
    let plain = "workload = \"redmine\"\nengine = \"lmdb\"\n";
    let from = |toml: &str, installed| {
        let vocabulary = taking_rows(installed);
        let experiment =
            load_with(toml, &FlagOverrides::default(), &vocabulary).expect("it is right");
        // What is kept says it, wherever the run is resumed.
        let elsewhere = taking_rows(!installed);
        let again = load_with(&experiment.to_toml(), &FlagOverrides::default(), &elsewhere);
        assert_eq!(again.expect("it is right"), experiment);
        experiment.rows_from
    };
    let words = Some(RowsFrom::Collection("words".to_owned()));
    assert_eq!(from(plain, true), words);
    assert_eq!(from(plain, false), Some(RowsFrom::Generated));
    let told = |from: &str| format!("{plain}rows_from = \"{from}\"\n");
    assert_eq!(from(&told("words"), false), words);
    assert_eq!(from(&told("generated"), true), Some(RowsFrom::Generated));
    let file = from(&told("/x/generated"), true);
    assert_eq!(file, Some(RowsFrom::File("/x/generated".into())));
    // A text is what they are made of.
    assert_eq!(from(&format!("{plain}text = \"/a.txt\"\n"), true), None);
    assert_eq!(from(&plain.replace("redmine", "reads"), true), None);
}
