//! What an experiment says, out of its file, its table `[quick]` and the flags.

use std::path::PathBuf;

use crate::common::{
    DEPTH, GOOD, assert_has, flags, good, good_with, levels, load_in, plain, taking_rows, trusting,
    vocabulary, vocabulary_with, wrong, wrong_with,
};
use bakeoff_experiment::{
    Experiment, Factor, KEEPS, PlannerNames, Rate, RowOrigin, Vocabulary, WorkloadNames,
    engine_name, presets, without_alias,
};
use proptest::prelude::*;
use proptest::sample::subsequence;

#[test]
fn what_is_left_out_has_a_default() {
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
    assert_eq!(good(GOOD, "").to_toml(), toml);
}

/// A flag with levels as they may be written, and how they are written by bakeoff.
const FORMS: [(&str, Factor, &str); 9] = [
    ("--clients=4,01", Factor::CLIENTS, "4 1"),
    ("--neighbours=0,x04,025%", Factor::NEIGHBOURS, "0 x4 25%"),
    ("--memory=1024M,0512M,1048576M,05%,unlimited", Factor::MEMORY, "1G 512M 1T 5% unlimited"),
    ("--rate=closed,0200.0/s,.5/s", Factor::RATE, "closed 200/s 0.5/s"),
    ("--rate=poisson:200./s,pairs:7/s,even:8/s", Factor::RATE, "poisson:200/s pairs:7/s 8/s"),
    ("--disk=mine,ebs-gp2:0100G,ebs-gp2:7G", Factor::DISK, "mine ebs-gp2:100G ebs-gp2:7G"),
    (
        "--engine=mariadb:innodb/work=4MB/jit=OFF,mariadb:innodb/jit=on@mine, sqlite",
        Factor::ENGINE,
        "mariadb:innodb/jit=OFF/work=4MB mariadb:innodb/jit=on@mine sqlite",
    ),
    (
        "--engine=mariadb:innodb/jit=on --noise-floor",
        Factor::ENGINE,
        "mariadb:innodb/jit=on mariadb:innodb/jit=on@again",
    ),
    (
        "--noise-floor --engine=mysql://me:secret@host/db,mysql://me@host/db2@mine",
        Factor::ENGINE,
        "mysql://me@host/db#InnoDB mysql://me@host/db2#InnoDB@mine mysql://me@host/db#InnoDB@again",
    ),
];

#[test]
fn levels_come_in_many_forms_and_leave_in_one() {
    let toml = format!("{GOOD}[disks.mine]\nmodel = \"hdd-7200\"\nrpm = 100\n");
    for (line, factor, expected) in FORMS {
        let experiment = good(&toml, line);
        assert_eq!(experiment.run_levels(factor).join(" "), expected, "{line}");
        assert!(!format!("{experiment:?}{}", experiment.to_toml()).contains("secret"));
    }
    // In a file they may be numbers.
    let numbers = format!("{GOOD}clients = [4, \"01\", 0x10]\n");
    assert_eq!(levels(&numbers, "", Factor::CLIENTS), ["4", "1", "16"]);
    for (level, without, name) in [
        (
            "mysql://me@host/db2#InnoDB@mine",
            "mysql://me@host/db2#InnoDB",
            "mysql://me@host/db2#InnoDB",
        ),
        ("mysql://me@host", "mysql://me@host", "mysql://me@host"),
        ("mariadb:innodb/jit=on@mine", "mariadb:innodb/jit=on", "mariadb:innodb"),
        ("sqlite", "sqlite", "sqlite"),
    ] {
        assert_eq!((without_alias(level), engine_name(level)), (without, name));
    }
}

#[test]
fn flags_lie_over_quick_and_quick_over_the_file() {
    let toml = format!("{GOOD}clients = 2\nseconds = 60\nseed = 7\n[quick]\nclients = 4\nseed = 8");
    for (line, engines, clients, seed) in [
        ("", "sqlite", "2", 7),
        ("--quick", "sqlite", "4", 8),
        ("--quick --engine=lmdb, fjall --seed=9", "lmdb fjall", "4", 9),
    ] {
        let it = good(&toml, line);
        assert_eq!(it.run_levels(Factor::ENGINE).join(" "), engines, "{line}");
        assert_eq!(
            (&*it.run_levels(Factor::CLIENTS)[0], it.seed, it.seconds),
            (clients, seed, 60.0)
        );
    }
    // A flag mends what the file leaves out.
    assert_eq!(levels("workload = \"reads\"", "--engine=lmdb", Factor::ENGINE), ["lmdb"]);
}

#[test]
fn a_text_is_looked_for_beside_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let toml = format!("{GOOD}text = \"mails/all.txt\"");
    let here = std::env::current_dir().expect("a folder");
    for (line, path) in
        [("", folder.path().join("mails/all.txt")), ("--text=all.txt", here.join("all.txt"))]
    {
        let loaded = load_in(folder.path(), &toml, line, &vocabulary()).expect("it is right");
        assert_eq!(loaded.text, Some(path));
    }
}

#[test]
fn the_noise_floor_is_the_first_level_once_more() {
    for (engines, run) in [
        ("lmdb,null", "lmdb null lmdb@again"),
        ("lmdb,lmdb@mine", "lmdb lmdb@mine"),
        ("lmdb@again", "lmdb@again lmdb"),
    ] {
        let line = format!("--noise-floor --engine={engines}");
        assert_eq!(levels("workload = \"reads\"", &line, Factor::ENGINE).join(" "), run);
    }
}

/// A workload of the presets like another one, with what it has and declares.
fn workload(
    like: &WorkloadNames,
    name: &str,
    lists: [&'static str; 3],
    own: &[Factor],
) -> WorkloadNames {
    let words = |list: &'static str| list.split_whitespace();
    let [declared, operations, scales] = lists.map(words);
    let declare = |name| -> Factor { Factor::Declared(Box::leak(Box::new(plain(name, "any")))) };
    WorkloadNames {
        name: name.to_owned(),
        factors: own.iter().copied().chain(declared.map(declare)).collect(),
        operations: operations.map(str::to_owned).collect(),
        scales: scales.map(str::to_owned).collect(),
        ..like.clone()
    }
}

/// The vocabulary of the presets.
fn preset_vocabulary() -> Vocabulary {
    let servers = ["mariadb:innodb", "mariadb:rocksdb", "postgres", "tarantool:memtx"];
    let mut vocabulary = vocabulary_with(&[&["sqlite", "lmdb", "fjall"], &servers[..]].concat());
    let [tables, files] = ["redmine", "files"]
        .map(|name| vocabulary.find_workload(name).expect("a workload").clone());
    let of_files = [Factor::MEMORY, Factor::DISK, Factor::NEIGHBOURS, Factor::CLIENTS, DEPTH];
    let tests = ["test transaction keys", "transaction", "small large giant 10k 100k"];
    let fileio = ["pattern size files block sync access", "read write", ""];
    let vote = ["step connection rtt server", "page vote", "small large giant"];
    let rails = ["programs", "create_issue process_issues", "small large giant"];
    let page = ["url requests_per_connection", "transaction", ""];
    vocabulary.workloads.extend([
        workload(&files, "fileio", fileio, &of_files),
        workload(&files, "page", page, &[Factor::CLIENTS, Factor::RATE]),
        workload(&tables, "redmine-rails", rails, &Factor::OWN),
        workload(&tables, "oltp", tests, &Factor::OWN),
        workload(&tables, "text-oltp", tests, &Factor::OWN),
        workload(&tables, "vote", vote, &Factor::OWN),
    ]);
    vocabulary.planners.push(PlannerNames { name: "until-decided", repeats: true, seeks: false });
    vocabulary
}

#[test]
fn presets_are_right_and_as_long_as_they_say() {
    let vocabulary = preset_vocabulary();
    for preset in presets() {
        for quick in [false, true] {
            let changes = flags(if quick { "--quick" } else { "" });
            let experiment = Experiment::load(preset.name, &changes, &vocabulary)
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(experiment.name, preset.name.replace('/', "-"));
            let trials = experiment.plan().count_trials();
            assert!(preset.toml.contains(&format!(": {trials} trials, ")), "{trials}");
            if let Some(cuts) = &experiment.cuts {
                let made = cuts.numbers().len() * experiment.cut_cells().len();
                assert!(preset.toml.contains(&format!(" {made} power cuts")), "{made}");
            }
            // What a trial costs besides what it measures: a virtual disk is mounted, warmed, and
            // hears the last operations end.
            let host = experiment.run_levels(Factor::DISK) == ["host"];
            let other = if host { 0.35 } else { 1.0 };
            // Before a steady window the clients work as long again.
            let steady = experiment.run_levels(Factor::STATE) == ["steady"];
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

/// Levels that are written as they were given.
const VALID: [(&str, &[&str]); 10] = [
    (
        "engine",
        &[
            "sqlite",
            "lmdb",
            "mariadb:innodb",
            "mariadb:innodb/jit=off/path=/opt/db",
            "mysql://me@host/db#InnoDB",
            "mysql://me@host:3307/db?socket=/run/my.sock#InnoDB",
        ],
    ),
    ("durability", &["none", "relaxed", "strict"]),
    ("memory", &["unlimited", "1G", "5%"]),
    ("cpus", &["unlimited", "0.5"]),
    ("disk", &["hdd-7200", "host", "ebs-gp2:100G", "mine"]),
    ("neighbours", &["0", "1%", "25%", "100%", "x1", "x64"]),
    ("clients", &["1", "4", "1000000"]),
    ("rate", &["closed", "0.001/s", "200/s", "poisson:0.5/s", "poisson:1000000/s"]),
    ("scale", &["small", "large", "giant"]),
    ("state", &["cold", "warm", "steady"]),
];

/// Some levels of each factor.
fn some_levels() -> impl Strategy<Value = Vec<Vec<&'static str>>> {
    let some = |valid: &[&'static str]| subsequence(valid.to_vec(), 1..=2).prop_shuffle();
    VALID.iter().map(|(_, valid)| some(valid)).collect::<Vec<_>>()
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        mut all in some_levels(),
        (compare, alias) in (0..VALID.len(), "[a-zA-Z0-9-]{1,8}"),
        texts in ("[a-zé0-9][a-z0-9._-]{0,20}", "\\PC{1,40}", "/\\PC{1,20}", "\\PC{0,20}"),
        (seconds, seed, noise_floor) in (0.5..=86_400.0, 0..=i64::MAX as u64, any::<bool>()),
        max_seconds in 1u64..2_000_000,
        cuts in prop::option::of((1i64..=10_000, subsequence(&KEEPS[..], 1..=KEEPS.len()))),
    ) {
        let (name, title, text, value) = texts;
        let [quoted_title, quoted_text, quoted_value] =
            [&title, &text, &value].map(|text| toml::Value::from(text.as_str()));
        let cuts = cuts.map_or_else(String::new, |(count, keep)| {
            // Neither the power of this machine's own disk nor that of a server elsewhere is cut.
            all[0].retain(|engine| !engine.contains("://"));
            all[0].push("fjall");
            all[4].push("ebs-gp2:7G");
            format!("cuts = {count}\nkeep = {keep:?}\n")
        });
        // Of one level nothing is decided.
        let planner = match all[compare].len() {
            1 => "planner = \"longer\"\noperations = 20\n".to_owned(),
            _ => format!("planner = \"decides\"\nmax_repetitions = 9\nmax_time = \"{max_seconds}s\"\n"),
        };
        let alias = format!("{}@{alias}", all[compare][0]);
        all[compare].push(&alias);
        let levels = VALID.iter().zip(&all).map(|((name, _), levels)| format!("{name} = {levels:?}\n"));
        let levels: String = levels.collect();
        let toml = format!(
            "workload = \"redmine\"\nname = \"{name}\"\ntitle = {quoted_title}\ntext = {quoted_text}\n\
             seconds = {seconds:?}\nseed = {seed}\nnoise_floor = {noise_floor}\ncompare = \"{}\"\n\
             {levels}{planner}{cuts}[settings.\"mariadb:innodb\"]\nmax_connections = {quoted_value}\n\
             [disks.mine]\nmodel = \"hdd-7200\"\nrpm = 100\n",
            VALID[compare].0,
        );
        // What is read is written, and read again.
        let it = good_with(&toml, "", &trusting());
        for ((name, _), levels) in VALID.iter().zip(&all) {
            let factor = Factor::OWN.into_iter().find(|own| own.name() == *name);
            prop_assert_eq!(&it.factors[&factor.expect("the lab's own")], levels);
        }
        prop_assert_eq!((it.name, it.title, it.seconds, it.seed), (name, title, seconds, seed));
        prop_assert_eq!(it.text, Some(PathBuf::from(text)));
        prop_assert_eq!(&it.settings["mariadb:innodb"]["max_connections"], &value);
    }

    #[test]
    fn a_rate_is_read_as_it_is_written(per_second in 0.001..=1e6, even: bool, scale in 0..=9) {
        let arrivals = (!even).then(|| "poisson".to_owned());
        let per_second = per_second / 10f64.powi(scale);
        let rate = Rate::Open { per_second, arrivals };
        prop_assert_eq!(Rate::parse(&rate.to_string()), (per_second >= 0.001).then_some(rate));
        prop_assert_eq!(Rate::parse("closed"), Some(Rate::Closed));
    }
}

/// What of a file needs trust, where it stands, why, and the flag that names it as well.
const TRUSTED: [(&str, &str, &str, &str); 4] = [
    (
        "engine = [\"sqlite\", \"mysql://me:secret@host/db\"]",
        "my.toml:2:21",
        "makes bakeoff connect to `mysql://me@host/db#InnoDB`",
        "--engine=sqlite,mysql://me@host/db#InnoDB",
    ),
    (
        "engine = [\"sqlite\", \"mariadb:innodb/path=/opt/db@mine\"]",
        "my.toml:2:21",
        "the option `path` of `mariadb:innodb` has bakeoff run",
        "--engine=mariadb:innodb/path=/opt/db",
    ),
    (
        "engine = [\"sqlite\", \"mariadb:innodb/run_command=x@mine\"]",
        "my.toml:2:21",
        "the setting `run_command` of `mariadb:innodb` has the",
        "--engine=mariadb:innodb/run_command=x",
    ),
    (
        "engine = \"mariadb:innodb\"\npath = [\"default\", \"/opt/db\"]",
        "my.toml:3:20",
        "the option `path` of `mariadb:innodb` has bakeoff run",
        "--factor=path=default,/opt/db",
    ),
];

#[test]
fn a_flag_or_a_trusted_file_names_what_needs_trust() {
    for (engine, place, why, line) in TRUSTED {
        let toml = format!("workload = \"reads\"\n{engine}\n");
        let refused = wrong(&toml, "");
        let (flag, _) = line.split_once('=').expect("a flag");
        assert_has(&refused, &[why, place, flag, "LEVELS", "--trust-experiment"]);
        assert!(!refused.contains("secret"), "{refused}");
        good_with(&toml, "", &trusting());
        let named = good(&toml, line);
        assert!(named.factors.values().any(|levels| line.ends_with(&levels.join(","))), "{line}");
    }
    // What `[quick]` names counts only with it, and a trusted file may have the setting, too.
    let quick =
        "workload = \"reads\"\nengine = \"sqlite\"\n[quick]\nengine = \"mysql://me@host/db\"\n";
    good(quick, "");
    assert_has(&wrong(quick, "--quick"), &["makes bakeoff connect", "my.toml:4:"]);
    let setting = format!("{GOOD}[settings.\"mariadb:innodb\"]\nrun_command = \"touch\"\n");
    let trusted = good_with(&setting, "", &trusting());
    assert_eq!(trusted.settings["mariadb:innodb"]["run_command"], "touch");
    wrong_with(&setting.replace("run_command", "port"), "", &trusting());
}

#[test]
fn settings_come_in_many_forms_and_leave_in_one() {
    let toml = format!(
        "{GOOD}[settings.\"mariadb:innodb\"]\nInnodb-Buffer-Pool-Size = \"1G\"\n\
         sync_binlog = 0x10\nratio = 1_0.5\ndoublewrite = false\nlocal_infile = true\n"
    );
    let experiment = good(&toml, "");
    let settings = experiment.settings["mariadb:innodb"].iter();
    let settings: Vec<String> = settings.map(|(name, value)| format!("{name}={value}")).collect();
    let expected =
        "doublewrite=OFF innodb_buffer_pool_size=1G local_infile=ON ratio=10.5 sync_binlog=16";
    assert_eq!(settings.join(" "), expected);
}

#[test]
fn settings_of_engines_as_factors_are_levels_of_the_engines_that_have_them() {
    let expect = |toml: &str, line: &str, engines: &[&str]| {
        let experiment = good(toml, line);
        assert_eq!(experiment.factors[&Factor::ENGINE], engines, "{line}");
        assert_eq!(experiment.compare, Factor::ENGINE, "{line}");
        let again = good(&experiment.to_toml(), "");
        assert_eq!(again.factors, experiment.factors, "it is the same from its own file");
    };
    let three = "workload = \"redmine\"\nengine = [\"sqlite\", \"mariadb:innodb@x\", \"lmdb\"]\n";
    let both = [
        "sqlite",
        "mariadb:innodb/a_x=1/b_x=off@x",
        "mariadb:innodb/a_x=1@x",
        "mariadb:innodb/a_x=2/b_x=off@x",
        "mariadb:innodb/a_x=2@x",
        "lmdb",
    ];
    expect(three, "--factor=mariadb.a_x=1,2 --factor=mariadb:innodb.b_x=off,default", &both);
    // In a file by a name with a point, below the engine, and in a table of factors.
    let below = "\"mariadb:innodb\".b_x = [false, \"default\"]\n";
    expect(&format!("{three}mariadb.a_x = [1, 2]\n{below}"), "", &both);
    expect(&format!("{three}\"mariadb.a_x\" = [1, 2]\n{below}"), "", &both);
    expect(&format!("{three}[factors]\nmariadb.a_x = [1, 2]\n{below}"), "", &both);
    let quick = format!("{three}[quick.factors]\nmariadb.a_x = [1, 2]\n[quick]\n{below}");
    expect(&quick, "--quick", &both);
    let one = ["mariadb:innodb/auto.x=7"];
    let only = "workload = \"redmine\"\nengine = \"mariadb:innodb\"\n";
    expect(only, "--factor=mariadb.auto.x=7 --compare=mariadb.auto.x", &one);
    expect(only, "--factor=mariadb.auto.x=default", &["mariadb:innodb"]);
}

#[test]
fn a_device_of_ones_own_is_named_by_file_quick_and_flags() {
    let toml = format!(
        "{GOOD}disk = [\"host\", \"mine\"]\n[quick]\ndisk = \"mine\"\n\
         [disks.mine]\nmodel = \"hdd-7200\"\nrpm = 100\n"
    );
    for (line, disks) in [("", "host mine"), ("--quick", "mine"), ("--disk=mine", "mine")] {
        let experiment = good(&toml, line);
        assert_eq!(experiment.run_levels(Factor::DISK).join(" "), disks);
        assert_eq!(experiment.disks["mine"]["rpm"].as_integer(), Some(100));
    }
    assert_has(&wrong(GOOD, "--disk=mine"), &["unknown disk `mine`"]);
}

/// A run's experiment is the same on each machine and at any time, whatever becomes of the path.
#[test]
fn a_timed_disk_keeps_its_model_in_the_experiment() {
    let untimed = good(&format!("{GOOD}flush_us = [\"default\", 9]\n"), "--disk=like:/,null");
    assert_eq!(untimed.run_levels(Factor::DISK), ["like:/", "null"]);
    assert_eq!(untimed.untimed_disks(), ["like:/"]);
    let planned = untimed.with_stand_ins();
    assert_eq!(planned.untimed_disks(), Vec::<&str>::new());
    let timed = format!(
        "{GOOD}disk = [\"like:/gone\", \"null\"]\n[disks.\"like:/gone\"]\nmodel = \"ssd-sata\"\n"
    );
    let timed = good(&timed, "");
    assert_eq!(timed.untimed_disks(), Vec::<&str>::new());
    assert_eq!(good(&timed.to_toml(), ""), timed);
    assert_eq!(good(&planned.to_toml(), ""), planned);
    // Where bakeoff was started.
    let here = std::env::current_dir().expect("a folder");
    let level = good(GOOD, "--disk=like:./").run_levels(Factor::DISK);
    assert_eq!(level, [format!("like:{}", here.display())]);
    for path in ["like:gone", "like:"] {
        let own = format!("{GOOD}[disks.\"{path}\"]\nmodel = \"ssd-sata\"\n");
        assert_has(&wrong(&own, ""), &["can't be a disk's name"]);
    }
}

#[test]
fn rows_come_from_a_file_where_the_workload_takes_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let load = |text: &str| load_in(folder.path(), text, "", &taking_rows(true));
    let toml = format!("{GOOD}rows_from = \"a/rows.tsv\"\n");
    for (from, to, parts) in [
        ("redmine", "reads", &["`reads` makes its rows itself", "rows from a file: redmine"][..]),
        ("engine", "text = \"b.txt\"\nengine", &["`text` and `rows_from` both"]),
        ("a/rows.tsv", "", &["`rows_from` names no file"]),
        ("a/rows.tsv", "wrods", &["there is no file of rows `wrods`", "did you mean `words`?"]),
        (
            "rows_from = \"a/rows.tsv\"",
            "rows_strict = true",
            &["`rows_strict` is for rows from a file"],
        ),
    ] {
        let error = load(&toml.replace(from, to)).expect_err("it is wrong");
        assert_has(&error.to_string(), parts);
    }
    // A file of that name is one.
    std::fs::write(folder.path().join("wrods"), "Ape\tAn ape.\n").expect("a file");
    for name in ["a/rows.tsv", "wrods"] {
        let experiment = load(&toml.replace("a/rows.tsv", name)).expect("it is right");
        assert_eq!(experiment.rows_from, Some(RowOrigin::File(folder.path().join(name))));
    }
}

#[test]
fn where_rows_come_from_is_settled_when_nobody_says_it() {
    let words = Some(RowOrigin::Collection("words".to_owned()));
    for (line, installed, from) in [
        ("", true, words.clone()),
        ("", false, Some(RowOrigin::Generated)),
        ("rows_from = \"words\"", false, words),
        ("rows_from = \"generated\"", true, Some(RowOrigin::Generated)),
        ("rows_from = \"/x/generated\"", true, Some(RowOrigin::File("/x/generated".into()))),
        // A text is what they are made of.
        ("text = \"/a.txt\"", true, None),
    ] {
        let experiment = good_with(&format!("{GOOD}{line}\n"), "", &taking_rows(installed));
        // What is kept says it, wherever the run is resumed.
        let again = good_with(&experiment.to_toml(), "", &taking_rows(!installed));
        assert_eq!((again.rows_from, line), (from, line));
    }
    let reads = GOOD.replace("redmine", "reads");
    assert_eq!(good_with(&reads, "", &taking_rows(true)).rows_from, None);
}
