//! Every mistake says what is wrong, where, and what to write instead. `messages.txt` has each message
//! once.

use crate::common::{
    FILES, GOOD, assert_has, check_messages, flags, good, load, vocabulary, wrong,
};
use bakeoff_experiment::{Experiment, FlagOverrides};
use proptest::prelude::*;

/// A file, flags, and the whole message.
const WHOLE: [(&str, &str, &str); 6] = [
    (
        "workload = \"redmine\"\nengine = [\"sqlite\", \"lmbd\"] # two\n",
        "",
        "\
error: unknown engine `lmbd`
 --> my.toml:2:21
  |
2 | engine = [\"sqlite\", \"lmbd\"] # two
  |                     ^^^^^^
  |
  = help: did you mean `lmdb`?
  = help: valid: sqlite, lmdb, fjall, mariadb:innodb, null",
    ),
    (
        "neighbors = 0\nworkload = \"redmine\"\nengine = \"sqlite\"",
        "",
        "\
error: unknown key `neighbors`
 --> my.toml:1:1
  |
1 | neighbors = 0
  | ^^^^^^^^^
  |
  = help: did you mean `neighbours`?
  = help: valid: name, title, workload, text, rows_from, rows_strict, compare, seconds, operations, repetitions, images, seed, noise_floor, priced, planner, \
min_repetitions, max_repetitions, max_time, find_limit, cuts, max_images, keep, file_system, cut_recovery, cut_number, engine, durability, memory, cpus, disk, neighbours, clients, rate, scale, state, placement, quick, \
disks, settings, published, factors
  = help: and the options of engines and disks: see `bakeoff list factors`",
    ),
    (
        FILES,
        "--compare=engin",
        "\
error: unknown factor `engin`
 --> the command line:1:11
  |
1 | --compare engin
  |           ^^^^^
  |
  = help: valid: disk, neighbours, clients, rate, scale, depth
  = help: and the options of engines and disks: see `bakeoff list factors`",
    ),
    (
        "engine = [",
        "",
        "\
error: unclosed array, expected `]`
 --> my.toml:1:11
  |
1 | engine = [
  |           ^",
    ),
    (
        GOOD,
        "--clients=1, 9999999",
        "\
error: 9999999 clients are too many
 --> the command line:1:14
  |
1 | --clients 1, 9999999
  |              ^^^^^^^
  |
  = help: valid: 1 to 1000000; at most 1024 where each client has a thread of its own; 1..64 doubles",
    ),
    (
        "",
        "",
        "\
error: the experiment names no workload
--> my.toml
 = help: add a line `workload = \"NAME\"`; valid: redmine, reads, ledger, files

error: the experiment names no engine
--> my.toml
 = help: add a line `engine = \"NAME\"`; valid: sqlite, lmdb, fjall, mariadb:innodb, null",
    ),
];

#[test]
fn a_message_shows_its_line_and_what_mends_it() {
    for (toml, line, expected) in WHOLE {
        assert_eq!(wrong(toml, line), expected);
    }
    let error = load("", "", &vocabulary()).expect_err("nothing is there");
    assert!(error.render(true).contains("\u{1b}["));
    assert!(!error.render(false).contains('\u{1b}'));
}

/// Mistakes, and the place and the title of each in the order in which they are told.
const SEVERAL: &[(&str, &str, &[&str])] = &[
    (
        "engin = 1\n[quick]\nsecnds = 1\n[disks.mine]\nmodel = \"hdd-7200\"\ntags = 0\nrpm = 0\n",
        "--seconds=0.1 --planner=longr --keep=torm --cut-number=10000 --engine=lmbd --quick",
        &[
            "my.toml:1:1: unknown key `engin`",
            "my.toml:3:1: unknown key `secnds`",
            "my.toml:6:1: tags is 0",
            "my.toml:7:1: rpm is 0",
            "the command line:1:10: unknown engine `lmbd`",
            "the command line:1:11: a trial can't last 0.1 seconds",
            "the command line:1:11: unknown planner `longr`",
            "the command line:1:8: unknown rule `torm`",
            "the command line:1:14: there is no power cut number 10000",
        ],
    ),
    // What is wrong only together is said at once, too.
    (
        "workload = \"redmine\"\nengine = \"sqlite\"\nscale = \"tiny\"\nclients = \"1@b\"\ncuts = 5",
        "",
        &[
            "my.toml:4:11: `clients` is not compared",
            "my.toml:3:9: unknown scale `tiny`",
            "my.toml: the power of the disk `host` can't be cut",
        ],
    ),
    // A slip is told once, whatever follows from it.
    (
        "workload = \"redmine\"\nengine = \"sqlite\"\ndisk = \"mine\"\ndisks.mine = {}",
        "",
        &["my.toml:4:7: a disk's table needs `model`"],
    ),
];

#[test]
fn all_that_is_wrong_is_told_once_in_its_order() {
    for (toml, line, expected) in SEVERAL {
        let message = wrong(toml, line);
        let lines = |start: &'static str| {
            message.lines().filter_map(move |line| line.trim_start().strip_prefix(start))
        };
        let found: Vec<(&str, &str)> = lines("--> ").zip(lines("error: ")).collect();
        let same = |((place, title), wanted): (&(&str, &str), &&str)| {
            let (at, part) = wanted.split_once(": ").expect("a place and a title");
            *place == at && title.contains(part)
        };
        let same = found.iter().zip(*expected).all(same);
        assert!(same && found.len() == expected.len(), "{found:#?}\n{message}");
    }
}

#[test]
fn each_mistake_is_told_once_where_it_stands() {
    check_messages(include_str!("messages.txt"), &vocabulary());
    let ledger = "workload = \"ledger\"\ndisk = \"hdd-7200\"\ncuts = 5\n";
    let null = wrong(ledger, "--engine=sqlite,null");
    assert_has(&null, &["`null` stores nothing, and", "--engine sqlite,«null»"]);
    assert_eq!(null.matches("error:").count(), 1, "{null}");
    let empty = FlagOverrides { text: Some("".into()), ..flags("") };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("my.toml");
    std::fs::write(&path, GOOD).expect("a file");
    let error = Experiment::load(path.to_str().expect("UTF-8"), &empty, &vocabulary());
    assert_has(&error.expect_err("it is empty").to_string(), &["`text` names no file"]);
}

/// Each is read and shown in a time that grows with its length alone.
#[test]
fn of_many_mistakes_the_first_are_shown_and_the_others_counted() {
    let list = |count: u32| (1..=count).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let keys = |count: u32| (0..count).map(|n| format!("key{n} = 1\n")).collect::<String>();
    let engines = |count: u32| format!("engine = [{}]", "\"x\", ".repeat(count as usize));
    let tables = |count: u32| (0..count).map(|n| format!("[settings.\"x{n}\"]\na = 1\n")).collect();
    for (toml, line, errors, said) in [
        (keys(20), String::new(), 20, "unknown key `key19`"),
        (keys(21), String::new(), 21, "1 mistake more is not shown"),
        (keys(4_000), String::new(), 21, "3980 mistakes more are not shown"),
        (engines(900), String::new(), 21, "880 mistakes more are not shown"),
        (engines(1_001), String::new(), 21, "981 mistakes more are not shown"),
        (keys(5_001), String::new(), 1, "5003 keys and values are too many: at most 5000"),
        (tables(2_500), String::new(), 1, "5003 keys and values are too many"),
        (format!("clients = [{}]", list(1_001)), String::new(), 1, "has more than 1000 levels"),
        (String::new(), format!("--clients={}", list(1_001)), 1, "has more than 1000 levels"),
    ] {
        let engine = if toml.starts_with("engine") { "" } else { "engine = \"sqlite\"\n" };
        let toml = format!("workload = \"redmine\"\n{engine}{toml}");
        let message = wrong(&toml, &line.replace(", ", ","));
        assert_has(&message, &[said]);
        assert_eq!(message.matches("error:").count(), errors, "{said}");
    }
    good(&format!("{GOOD}clients = [{}]\n", list(1_000)), "--repetitions=1");
}

#[test]
fn what_can_be_cut_or_priced_is_not_refused() {
    // Beside one that can be cut it is the plan that says what can't.
    for engine in ["sqlite,mysql://me@host/db#InnoDB", "sqlite,null"] {
        good(GOOD, &format!("--disk=hdd-7200 --cuts=5 --engine={engine}"));
    }
    let steady = format!("{GOOD}disk = \"hdd-7200\"\nstate = [\"warm\", \"steady\"]\n");
    assert!(good(&steady, "--priced").priced && !good(&steady, "--priced=false").priced);
}

#[test]
fn no_message_shows_a_password() {
    let masked = "mysql://me:******@host\"]\n";
    let shown = wrong("workload = \"redmine\"\nengine = [\"mysql://me:secret@host\"]\n", "");
    assert_has(&shown, &["error: the URL names no database", masked]);
    let list = "--engine=mysq://me:secret@host/db,mysql:/me:secret@host,mysql://me:secret@host/db@";
    let shown = wrong(GOOD, list);
    assert_has(&shown, &["a database's URL begins with mysql://", "`…` is not an alias"]);
    // What a comma in a password leaves behind it is no engine of its own.
    for list in [
        "mysql://me:p,secret,w@host/db",
        "mysql:/me:secret@host",
        "mysql://me@host/db?password=secret",
    ] {
        let message = wrong(GOOD, &format!("--engine={list}"));
        assert!(message.contains("***") && !message.contains("secret"), "{message}");
    }
    for line in [
        "engine = [\"mysql://me:secret@host\"]",
        "engine = \"mysql://me:secret\"@host/db\"",
        "\"mysql://me:secret@host/db\" = 1",
        "compare = \"mysql://me:secret@host/db\"",
        "[settings.\"mysql://me:secret@host/db\"]\na = 1",
    ] {
        let message = wrong(&format!("workload = \"redmine\"\n{line}\n"), list);
        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn what_can_not_be_opened_is_named() {
    let open = |name: &str| {
        let loaded = Experiment::load(name, &flags(""), &vocabulary());
        loaded.expect_err("there is no such thing").to_string()
    };
    let unknown = "\
error: unknown preset `redmin`
 |
 = help: did you mean `redmine`?
 = help: valid: articles/redmine, articles/text-oltp, articles/fileio, articles/vote, demo, redmine, redmine-sweep, redmine-steady, redmine-rails, oltp, text-oltp, vote, power-cut, fileio, fileio-sysbench, fileio-database, fileio-compaction, page, articles
 = help: an experiment of your own is a file: `bakeoff run FILE.toml`; an application is a folder: `bakeoff run ./FOLDER`";
    assert_eq!(open("redmin"), unknown);
    let article = "\
error: unknown preset `articles/redmin`
 |
 = help: did you mean `articles/redmine`?
 = help: valid: articles/redmine, articles/text-oltp, articles/fileio, articles/vote
 = help: a file of your own ends in .toml: `bakeoff run FILE.toml`";
    assert_eq!(open("articles/redmin"), article);
    assert!(open("articles/redmin.toml").starts_with("error: can't read `articles/redmin.toml`"));
    assert!(open("no/such.toml").starts_with("error: can't read `no/such.toml`: No such file"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert!(open(folder.path().to_str().expect("UTF-8")).contains("Is a directory"));
    assert!(open("/dev/zero").contains("it can't be an experiment"));
    let bytes = folder.path().join("bytes.toml");
    std::fs::write(&bytes, b"name = \"\xff\"").expect("a file");
    let message = open(bytes.to_str().expect("UTF-8"));
    assert!(message.contains("is not UTF-8 text: byte 8 (counted from 0) is wrong"), "{message}");
}

proptest! {
    /// Whatever a file holds, there is an experiment or a message.
    #[test]
    fn nothing_a_file_holds_is_too_much(
        lines in prop::collection::vec(
            prop_oneof![
                "(engine|clients|neighbours|rate|depth|seed|title|quick|seconds) ?= ?\\PC{0,12}",
                "(engine|clients|rate|depth|scale|text|disk|disks|disks\\.[a-z]|settings\\.\"mariadb:innodb\"\\.a) = \\[?(\"\\PC{0,6}\"|[0-9_.-]{1,6})\\]?",
                "workload = \"(files|redmine)\"",
                "\\PC{0,20}",
                "\\s\\[(quick|disks|disks\\.[a-z])\\]",
            ],
            0..6,
        ),
        end in "\r?\n|\t|\u{feff}",
    ) {
        if let Err(error) = load(&lines.join(&end), "", &vocabulary()) {
            prop_assert!(error.to_string().starts_with("error: "));
        }
    }
}
