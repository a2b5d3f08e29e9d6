//! Every mistake says what is wrong, where, and what to write instead.

use crate::common::{self, GOOD, assert_under, message, vocabulary};
use bakeoff_experiment::{Experiment, Factor, FlagOverrides};
use proptest::prelude::*;

#[test]
fn an_unknown_engine_is_shown_with_the_nearest() {
    let toml = "workload = \"redmine\"\nengine = [\"sqlite\", \"lmbd\"] # two\n";
    let expected = "\
error: unknown engine `lmbd`
 --> my.toml:2:21
  |
2 | engine = [\"sqlite\", \"lmbd\"] # two
  |                     ^^^^^^
  |
  = help: did you mean `lmdb`?
  = help: valid: sqlite, lmdb, fjall, mariadb:innodb, null";
    assert_eq!(message(toml, &FlagOverrides::default()), expected);
}

#[test]
fn an_unknown_key_is_shown_with_the_nearest() {
    let expected = "\
error: unknown key `neighbors`
 --> my.toml:3:1
  |
3 | neighbors = 0
  | ^^^^^^^^^
  |
  = help: did you mean `neighbours`?
  = help: valid: name, title, workload, text, rows_from, rows_strict, compare, seconds, operations, repetitions, seed, noise_floor, priced, planner, \
min_repetitions, max_repetitions, max_time, find_limit, cuts, max_images, keep, file_system, cut_recovery, cut_number, engine, durability, memory, cpus, disk, neighbours, clients, rate, scale, state, quick, \
disks, settings, published";
    assert_eq!(message(&format!("{GOOD}neighbors = 0\n"), &FlagOverrides::default()), expected);
}

#[test]
fn a_file_that_is_not_toml_is_shown_where_it_breaks() {
    let expected = "\
error: unclosed array, expected `]`
 --> my.toml:1:11
  |
1 | engine = [
  |           ^";
    assert_eq!(message("engine = [", &FlagOverrides::default()), expected);
}

#[test]
fn a_flag_is_shown_like_a_line_of_a_file() {
    let clients = (Factor::CLIENTS, "1, 9999999".to_owned());
    let changes = FlagOverrides { factors: vec![clients], ..FlagOverrides::default() };
    let expected = "\
error: 9999999 clients are too many
 --> the command line:1:14
  |
1 | --clients 1, 9999999
  |              ^^^^^^^
  |
  = help: valid: 1 to 1000000; at most 1024 where each client has a thread of its own; 1..64 doubles";
    assert_eq!(message(GOOD, &changes), expected);
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let message = message(
        &format!("{GOOD}memory = \"2GB\"\n[quick]\nsecnds = 1\n"),
        &FlagOverrides {
            seconds: Some(0.1),
            compare: Some("engin".to_owned()),
            ..FlagOverrides::default()
        },
    );
    let expected = "\
error: `2GB` is not a level of `memory`
 --> my.toml:3:10
  |
3 | memory = \"2GB\"
  |          ^^^^^
  |
  = help: did you mean `2G`?
  = help: valid: unlimited; a size, as 512M or 2G; 1% to 1000% of the bytes that are loaded

error: unknown key `secnds`
 --> my.toml:5:1
  |
5 | secnds = 1
  | ^^^^^^
  |
  = help: did you mean `seconds`?
  = help: valid: name, title, workload, text, rows_from, rows_strict, compare, seconds, operations, repetitions, seed, noise_floor, priced, planner, \
min_repetitions, max_repetitions, max_time, find_limit, cuts, max_images, keep, file_system, cut_recovery, cut_number, engine, durability, memory, cpus, disk, neighbours, clients, rate, scale, state

error: unknown factor `engin`
 --> the command line:1:11
  |
1 | --compare engin
  |           ^^^^^
  |
  = help: did you mean `engine`?
  = help: valid: engine, durability, memory, cpus, disk, neighbours, clients, rate, scale, state

error: a trial can't last 0.1 seconds
 --> the command line:1:11
  |
1 | --seconds 0.1
  |           ^^^
  |
  = help: valid: 0.5 to 86400, which is a day";
    assert_eq!(message, expected);
}

/// A line that is added to a good file, its title, and what helps.
const LINES: &[(&str, &str, &str)] = &[
    ("clients = 0", "with 0 clients there is nothing to measure", "valid: 1 to 1000000"),
    ("clients = [1, 1_000_001]", "1000001 clients are too many", "valid: 1 to 1000000"),
    ("clients = \"four\"", "`four` is no number of clients", "valid: 1 to 1000000"),
    ("clients = -1", "`-1` is no number of clients", "valid: 1 to 1000000"),
    (
        "clients = \"64..1\"",
        "`64..1` begins with the larger number",
        "write the smaller one first: 1..64",
    ),
    ("clients = \"0..4\"", "`0..4` is no range of clients", "1..64 doubles"),
    ("clients = 1.5", "`clients` has to be a string, a whole number, or a list", ""),
    ("clients = []", "`clients` has no level", "valid: 1 to 1000000"),
    ("clients = [1, \"01\"]", "`1` is twice among the levels of `clients`", "leave one out"),
    ("clients = \"1@b\"", "`clients` is not compared", "write `1`, or compare by `clients`"),
    ("clients = [[1]]", "and this is a list", ""),
    ("cpus = 0", "`0` is not a level of `cpus`", "did you mean `unlimited`?"),
    ("cpus = \".5\"", "`.5` is not a level of `cpus`", "did you mean `0.5`?"),
    ("cpus = \"50%\"", "`50%` is not a level of `cpus`", "did you mean `0.5`?"),
    ("cpus = \"0.001\"", "`0.001` is not a level of `cpus`", "a number of processors from 0.01 on"),
    ("cpus = [1, \"1.0\"]", "`1` is twice among the levels of `cpus`", "leave one out"),
    ("neighbours = 4", "`4` is not a level of `neighbours`", "did you mean `x4`?"),
    ("neighbours = \"4x\"", "`4x` is not a level of `neighbours`", "did you mean `x4`?"),
    ("neighbours = \"25 %\"", "`25 %` is not a level", "did you mean `25%`?"),
    ("neighbours = \"0%\"", "`0%` is not a level of `neighbours`", "did you mean `0`?"),
    ("neighbours = \"101%\"", "`101%` is not a level", "1% to 100%"),
    ("memory = \"512\"", "`512` is not a level of `memory`", "did you mean `512M`?"),
    ("memory = \"1.5G\"", "`1.5G` is not a level of `memory`", "as 512M or 2G"),
    ("memory = \"0M\"", "`0M` is not a level of `memory`", "valid: unlimited"),
    ("memory = 1073741824", "is not a level of `memory`", "did you mean `1G`?"),
    ("memory = \"off\"", "`off` is not a level of `memory`", "did you mean `unlimited`?"),
    ("rate = 200", "`200` is not a level of `rate`", "did you mean `200/s`?"),
    ("rate = \"12000/min\"", "`12000/min` is not a level", "did you mean `200/s`?"),
    ("rate = \"100 /Minute\"", "is not a level of `rate`", "did you mean `1.667/s`?"),
    ("rate = \"200/s:poisson\"", "is not a level of `rate`", "did you mean `poisson:200/s`?"),
    ("rate = \"poisson:200\"", "is not a level of `rate`", "did you mean `poisson:200/s`?"),
    ("rate = \"Poisson200/s\"", "is not a level of `rate`", "did you mean `poisson:200/s`?"),
    ("rate = \"poison:200/s\"", "is not a level of `rate`", "did you mean `poisson:200/s`?"),
    ("rate = \"pair:9/s\"", "`pair:9/s` is not a level of `rate`", "did you mean `pairs:9/s`?"),
    ("rate = \"pairs\"", "is not a level of `rate`", "or `poisson:200/s`, or `pairs:200/s`"),
    (
        "rate = \"bursts:9/s\"",
        "is not a level of `rate`",
        "200/s in even gaps; poisson:200/s in random gaps; pairs",
    ),
    ("rate = []", "`rate` has no level", "0.001/s to 1000000/s: 200/s in even gaps; poisson"),
    ("rate = \"open:9ops/s\"", "is not a level of `rate`", "did you mean `9/s`?"),
    ("rate = \"1e3/s\"", "`1e3/s` is not a level of `rate`", "valid: closed; or an open loop"),
    ("rate = \"0/s\"", "at a rate of `0/s` no operation ever starts", "0.001/s to 1000000/s"),
    ("rate = \"poisson:0/s\"", "no operation ever starts", "valid: closed; or an open loop"),
    ("rate = \"2000000/s\"", "is not a level of `rate`", "0.001/s to 1000000/s"),
    ("rate = \"open\"", "`open` is not a level of `rate`", "an open loop has a rate: `200/s`"),
    ("rate = \"poisson\"", "is not a level of `rate`", "an open loop has a rate: `200/s`"),
    ("rate = \"unlimited\"", "is not a level of `rate`", "did you mean `closed`?"),
    ("rate = 0.5", "`rate` has to be a string, a whole number, or a list", ""),
    ("depth = 1", "the workload `redmine` has no factor `depth`", "valid: engine, durability"),
    ("compare = \"depth\"", "the workload `redmine` has no factor `depth`", "valid: engine"),
    ("neighbours = \"x65\"", "`x65` is not a level", "x1 to x64"),
    ("neighbours = \"x+1\"", "`x+1` is not a level", "x1 to x64"),
    ("durability = \"Strict\"", "unknown durability `Strict`", "did you mean `strict`?"),
    ("disk = \"hdd-720\"", "unknown disk `hdd-720`", "did you mean `hdd-7200`?"),
    ("disk = \"ssd\"", "unknown disk `ssd`", "valid: host, hdd-7200, ebs-gp2:SIZE"),
    ("disk = \"ebs-gp2:big\"", "`ebs-gp2:big` has no size", "write `ebs-gp2:100G`"),
    (
        "disk = [\"ebs-gp2:7G\", \"ebs-gp2:07G\"]",
        "`ebs-gp2:7G` is twice among the levels of `disk`",
        "",
    ),
    ("disks = 1", "`disks` has to be a table of tables, and this is a whole number", ""),
    ("disks.mine = 1", "`mine` has to be a table, and this is a whole number", ""),
    ("disks.host = { model = \"hdd-7200\" }", "there is a disk `host` already", "another name"),
    ("disks.\"a b\" = {}", "`a b` can't be a disk's name", "letters, digits"),
    ("disks.mine = {}", "a device needs a model", "add `model = \"hdd-7200\"`"),
    ("disks.mine = { model = \"hdd-7200\", rpm = 0 }", "its rpm has to be above 0", ""),
    ("settings = 1", "`settings` has to be a table of tables, and this is a whole number", ""),
    ("settings.\"mariadb:inodb\".a = 1", "unknown engine `mariadb:inodb`", "`mariadb:innodb`?"),
    ("settings.sqlite.a = 1", "`sqlite` takes no settings", "take settings: mariadb:innodb"),
    ("settings.\"mysql://a@b/c\".a = 1", "are its owner's", "set them on the server"),
    ("settings.\"mariadb:innodb\" = 1", "`mariadb:innodb` has to be a table", ""),
    ("settings.\"mariadb:innodb\".--a = 1", "`--a` can't be a setting's name", "without dashes"),
    ("settings.\"mariadb:innodb\".a = [1]", "`a` has to be a string, a number, true or", ""),
    ("settings.\"mariadb:innodb\".a = \"b\\nc\"", "the value of `a` has to be one line", ""),
    ("settings.\"mariadb:innodb\" = { a-b = 1, a_b = 2 }", "`a_b` is twice among", "leave one"),
    (
        "settings.\"mariadb:innodb\".run-command = \"a\"",
        "`run_command` of `mariadb:innodb` has the server run a command",
        "--trust-experiment",
    ),
    (
        "settings.\"mariadb:innodb\".Port = 1",
        "bakeoff sets `port` of `mariadb:innodb` itself",
        "leave",
    ),
    ("scale = \"smal\"", "unknown scale `smal`", "did you mean `small`?"),
    ("scale = \"tiny\"", "unknown scale `tiny`", "valid: small, large, giant"),
    ("compare = \"engines\"", "unknown factor `engines`", "did you mean `engine`?"),
    ("compare = 1", "`compare` has to be a string, and this is a whole number", ""),
    ("seconds = \"9\"", "`seconds` has to be a number, and this is a string", ""),
    ("seconds = nan", "a trial can't last NaN seconds", "valid: 0.5 to 86400"),
    ("seconds = 86401", "a trial can't last 86401 seconds", "valid: 0.5 to 86400"),
    ("cuts = 10001", "the power can't be cut 10001 times", "valid: 0 to 10000"),
    ("keep = \"torm\"", "unknown rule `torm`", "did you mean `torn`?"),
    ("file_system = \"xfs\"", "unknown file system `xfs`", "valid: ext4, posix"),
    ("file_system = []", "`file_system` names no file system", "valid: ext4, posix"),
    ("file_system = [\"posix\", \"posix\"]", "`posix` is twice", "leave one out"),
    ("keep = []", "`keep` names no rule", "valid: drop-all, prefix, subset, torn"),
    ("keep = [\"torn\", \"torn\"]", "`torn` is twice", "leave one out"),
    ("keep = [\"torn\", 1]", "`keep` has to be a string, and this is a whole number", ""),
    ("cut_number = 10000", "there is no power cut number 10000", "valid: 0 to 9999"),
    ("repetitions = 2.0", "`repetitions` has to be a whole number", ""),
    ("seed = -1", "`seed` can't be -1", "valid: 0 and above"),
    ("planner = \"longr\"", "unknown planner `longr`", "did you mean `longer`?"),
    ("max_repetitions = 2", "nothing is decided by 2 repetitions at most", "valid: 3 to 1000"),
    ("min_repetitions = 2", "nothing is decided after 2 repetitions", "valid: 3 to 1000"),
    (
        "operations = 19",
        "a trial can't end after 19 operations of each kind",
        "valid: 20 to 1000000",
    ),
    ("operations = true", "`operations` has to be a whole number", ""),
    ("max_time = \"2 hours\"", "`2 hours` is no time", "such as 90s, 45min, 2h or 1d"),
    ("max_time = 7200", "`max_time` has to be a string", "a whole number"),
    ("planner = \"all\"", "unknown planner `all`", "valid: fixed, longer, decides"),
    ("noise_floor = \"yes\"", "`noise_floor` has to be true or false", ""),
    ("name = \"a/b\"", "`a/b` can't be an experiment's name", "letters, digits"),
    ("title = \"a\\nb\"", "a title is one line of text", ""),
    ("text = \"\"", "`text` names no file", "leave it out"),
    ("quick = true", "`quick` has to be a table, and this is true or false", ""),
    ("rep = 1", "unknown key `rep`", "did you mean `repetitions`?"),
    ("priced = 1", "`priced` has to be true or false", ""),
    ("engine = \"lmdb\"", "duplicate key", ""),
    ("[quick]\nscale = \"tiny\"\nquick = 1", "unknown key `quick`", "valid: name"),
];

#[test]
fn each_wrong_line_is_told_where_it_stands() {
    for (line, title, help) in LINES {
        let message = message(&format!("{GOOD}{line}\n"), &FlagOverrides::default());
        let found = message.lines().next().is_some_and(|first| first.contains(title));
        assert!(found && message.contains(help), "{line}\n{message}");
        let place = if line.starts_with('[') { "--> my.toml:5:" } else { "--> my.toml:3:" };
        assert!(message.contains(place), "{line}\n{message}");
    }
}

#[test]
fn keys_that_are_wrong_beside_others_are_told_of_the_file() {
    for (line, title, help) in [
        (
            "planner = \"decides\"",
            "the planner `decides` has nothing to decide: `engine` is compared, and has one level",
            "name two levels of `engine`",
        ),
        ("priced = true", "no trial is in the state `steady`", "--state steady"),
        ("state = \"steady\"\npriced = true", "the disk `host` has no model", "bakeoff list disks"),
        ("repetitions = 0", "with 0 repetitions there is nothing to run", "1 to 1000"),
        ("cuts = 5", "the power of the disk `host` can't be cut", "--disk ssd-sata"),
    ] {
        let message = message(&format!("{GOOD}{line}\n"), &FlagOverrides::default());
        assert!(message.contains(title) && message.contains(help), "{line}\n{message}");
        assert!(message.contains("--> my.toml"), "{line}\n{message}");
    }
}

#[test]
fn steady_trials_on_disks_with_a_model_can_be_priced() {
    let toml =
        format!("{GOOD}disk = \"hdd-7200\"\nstate = [\"warm\", \"steady\"]\npriced = true\n");
    let experiment = common::load(&toml, &FlagOverrides::default()).expect("it is right");
    assert!(experiment.priced && experiment.to_toml().contains("\npriced = true\n"));
    let off = FlagOverrides { priced: Some(false), ..FlagOverrides::default() };
    assert!(!common::load(&toml, &off).expect("it is right").priced);
}

#[test]
fn what_can_not_lose_its_power_is_shown_where_it_was_named() {
    let flags = |factor, levels: &str| FlagOverrides {
        factors: vec![(factor, levels.to_owned())],
        ..FlagOverrides::default()
    };
    let cuts = format!("{GOOD}disk = \"hdd-7200\"\ncuts = 5\n");
    let host = message(&cuts, &flags(Factor::DISK, "host"));
    assert_under(&host, "the power of the disk `host`", "--disk host", "host");
    let line = "disk = \"host\"";
    let host = message(&format!("{GOOD}{line}\ncuts = 5\n"), &FlagOverrides::default());
    assert_under(&host, "the power of the disk `host`", line, "\"host\"");

    for levels in ["null", "null,null@again"] {
        let null = message(&cuts, &flags(Factor::ENGINE, levels));
        let title = "no power can be cut: `null` stores nothing";
        assert_under(&null, title, &format!("--engine {levels}"), "null");
    }
    let ledger = cuts.replace("redmine", "ledger");
    let null = message(&ledger, &flags(Factor::ENGINE, "sqlite,null"));
    assert_under(&null, "`null` stores nothing, and", "--engine sqlite,null", "null");
    assert_eq!(null.matches("error:").count(), 1, "{null}");

    let url = "mysql://me@host/db";
    let elsewhere = message(&cuts, &flags(Factor::ENGINE, url));
    let title = format!("the power of `{url}` can't be cut");
    assert_under(&elsewhere, &title, &format!("--engine {url}"), url);
    assert!(elsewhere.contains("--cuts 0"), "{elsewhere}");
    // Beside one that can be cut it is the plan that says so.
    let beside = flags(Factor::ENGINE, &format!("sqlite,{url}"));
    assert!(common::load(&cuts, &beside).is_ok());
}

#[test]
fn null_runs_beside_what_can_be_cut() {
    let toml = "workload = \"redmine\"\nengine = [\"sqlite\", \"null\"]\n\
                disk = \"hdd-7200\"\ncuts = 5\n";
    assert!(common::load(toml, &FlagOverrides::default()).is_ok());
}

#[test]
fn only_the_rule_that_is_wrong_is_underlined() {
    let changes =
        FlagOverrides { keep: Some("drop-all, torm".to_owned()), ..FlagOverrides::default() };
    let flag = message(GOOD, &changes);
    assert_under(&flag, "unknown rule `torm`", "--keep drop-all, torm", "torm");
    let line = "keep = [\"drop-all\", \"torm\"]";
    let file = message(&format!("{GOOD}{line}\n"), &FlagOverrides::default());
    assert_under(&file, "unknown rule `torm`", line, "\"torm\"");
}

#[test]
fn mistakes_are_told_in_the_order_in_which_they_stand() {
    let toml = "engin = 1\n[quick]\nsecnds = 1\n[disks.mine]\nmodel = \"hdd-7200\"\n\
                tags = 0\nrpm = 0\n";
    let message = message(toml, &FlagOverrides { seconds: Some(0.1), ..FlagOverrides::default() });
    let places: Vec<&str> =
        message.lines().filter_map(|line| line.trim().strip_prefix("--> ")).collect();
    let expected =
        ["my.toml:1:1", "my.toml:3:1", "my.toml:6:1", "my.toml:7:1", "the command line:1:11"];
    assert_eq!(places, expected, "{message}");
}

#[test]
fn what_is_wrong_only_together_is_said_at_once_too() {
    let toml = format!("{GOOD}scale = \"tiny\"\nclients = \"1@b\"\ncuts = 5\nrepetitions = 0\n");
    let message = message(&toml, &FlagOverrides::default());
    for text in ["unknown scale `tiny`", "`clients` is not compared", "`host` can't be cut"] {
        assert!(message.contains(text), "{message}");
    }
}

#[test]
fn a_device_that_is_wrong_is_told_once() {
    let toml = format!("{GOOD}disk = \"mine\"\ndisks.mine = {{}}\n");
    let message = message(&toml, &FlagOverrides::default());
    assert_eq!(message.matches("error:").count(), 1, "{message}");
    assert!(message.contains("a device needs a model"), "{message}");
}

#[test]
fn all_that_is_wrong_with_a_device_is_told_each_where_it_stands() {
    let toml = format!("{GOOD}[disks.mine]\nmodel = \"hdd-7200\"\nrpm = 0\ntags = 0\n");
    let message = message(&toml, &FlagOverrides::default());
    for text in ["its rpm has to be", "my.toml:5:1", "its tags has to be", "my.toml:6:1"] {
        assert!(message.contains(text), "{message}");
    }
}

#[test]
fn what_is_missing_is_named() {
    let nothing = "\
error: the experiment names no workload
--> my.toml
 = help: add a line `workload = \"NAME\"`; valid: redmine, reads, ledger, files

error: the experiment names no engine
--> my.toml
 = help: add a line `engine = \"NAME\"`; valid: sqlite, lmdb, fjall, mariadb:innodb, null";
    assert_eq!(message("", &FlagOverrides::default()), nothing);
    let no_engine = message("workload = \"reads\"", &FlagOverrides::default());
    assert!(no_engine.contains("names no engine"), "{no_engine}");
    let quick = FlagOverrides { quick: true, ..FlagOverrides::default() };
    assert!(message(GOOD, &quick).contains("`--quick` asks for the table `[quick]`"));
}

#[test]
fn a_url_that_is_wrong_is_shown_without_its_password() {
    let shown = |toml: &str, changes: &FlagOverrides| {
        let message = message(toml, changes);
        assert!(!message.contains("secret"), "{message}");
        message
    };
    let toml = "workload = \"redmine\"\nengine = [\"mysql://me:secret@host\"]\n";
    let message = shown(toml, &FlagOverrides::default());
    assert!(message.starts_with("error: the URL names no database"), "{message}");
    assert!(message.contains("mysql://****************\n"), "{message}");
    let flag = |list: &str| FlagOverrides {
        factors: vec![(Factor::ENGINE, list.to_owned())],
        ..FlagOverrides::default()
    };
    let list = "mysq://me:secret@host/db,mysql:/me:secret@host,mysql://me:secret@host/db@";
    let message = shown(GOOD, &flag(list));
    for part in ["is of no known kind", "`…` is not an alias"] {
        assert!(message.contains(part), "{message}");
    }
    // What a comma in a password leaves behind it is no engine of its own.
    for list in [
        "mysql://me:p,secret,w@host/db",
        "mysql://me:p@h,secret,w@host/db",
        "mysql://me:p@h/secret@h,secret,w@host/db",
        "mysql:/me:secret@host",
        "mysql:/me:p,secret,mysql://me@h/db",
        "mysql://me@host?password=p,secret",
    ] {
        let message = shown(GOOD, &flag(list));
        assert!(message.contains("***"), "{message}");
    }
    for line in [
        "engine = \"mysql:\\u002f/me:secret@host\"",
        "engine = \"mysql://me:secret\"@host/db\"",
        "engine = \"\"\"mysql://me:p\nsecret@host\"\"\"",
        "\"mysql://me:secret@host/db\" = 1",
        "compare = \"mysql://me:secret@host/db\"",
        "[settings.\"mysql://me:secret@host/db\"]\na = 1",
    ] {
        shown(&format!("workload = \"redmine\"\n{line}\n"), &FlagOverrides::default());
    }
}

#[test]
fn an_alias_needs_letters() {
    let toml = "workload = \"redmine\"\nengine = [\"sqlite\", \"sqlite@\"]\n";
    assert!(message(toml, &FlagOverrides::default()).starts_with("error: `` is not an alias"));
}

#[test]
fn a_plan_without_end_is_refused() {
    let clients: Vec<String> = (1..=101).map(|n| n.to_string()).collect();
    let toml = format!("{GOOD}clients = [{}]\nrepetitions = 1000\n", clients.join(", "));
    let message = message(&toml, &FlagOverrides::default());
    assert!(
        message.starts_with(
            "error: the experiment comes to 101000 trials; at most 100000 are run\n--> my.toml"
        ),
        "{message}"
    );
}

#[test]
fn flags_are_checked_like_the_file() {
    let engines = |list: &str| FlagOverrides {
        factors: vec![(Factor::ENGINE, list.to_owned())],
        ..FlagOverrides::default()
    };
    let decides =
        |changes: FlagOverrides| FlagOverrides { planner: Some("decides".into()), ..changes };
    let changes: [(FlagOverrides, &str); 19] = [
        (engines("sqlite,,lmdb"), "an empty level of `engine`"),
        (engines(""), "an empty level of `engine`"),
        (engines("lmdb,lmdb"), "`lmdb` is twice"),
        (
            FlagOverrides { seconds: Some(f64::INFINITY), ..FlagOverrides::default() },
            "last inf seconds",
        ),
        (
            FlagOverrides { repetitions: Some(1001), ..FlagOverrides::default() },
            "repeated 1001 times",
        ),
        (
            decides(FlagOverrides { repetitions: Some(5), ..FlagOverrides::default() }),
            "the planner `decides` takes no --repetitions",
        ),
        (
            FlagOverrides { operations: Some(5), ..FlagOverrides::default() },
            "after 5 operations of each kind",
        ),
        (
            FlagOverrides { min_repetitions: Some(5), ..FlagOverrides::default() },
            "the planner `fixed` takes no --min-repetitions",
        ),
        (
            decides(FlagOverrides {
                min_repetitions: Some(9),
                max_repetitions: Some(8),
                ..FlagOverrides::default()
            }),
            "repeated 9 times at least and 8 times at most",
        ),
        (
            FlagOverrides { max_repetitions: Some(5), ..FlagOverrides::default() },
            "the planner `fixed` takes no --max-repetitions",
        ),
        (
            FlagOverrides { max_time: Some("2h".into()), ..FlagOverrides::default() },
            "the planner `fixed` takes no --max-time",
        ),
        (
            decides(FlagOverrides { max_time: Some("2".into()), ..FlagOverrides::default() }),
            "`2` is no time",
        ),
        (
            FlagOverrides { find_limit: Some("p9=1s".into()), ..FlagOverrides::default() },
            "`p9=1s` names no quantile that is recorded",
        ),
        (
            FlagOverrides { planner: Some("seeks".into()), ..FlagOverrides::default() },
            "the planner `seeks` looks for no limit by itself",
        ),
        (
            FlagOverrides {
                planner: Some("longer".into()),
                find_limit: Some("p99=1s".into()),
                ..FlagOverrides::default()
            },
            "the planner `longer` takes no limit",
        ),
        (
            FlagOverrides { seed: Some(u64::MAX), ..FlagOverrides::default() },
            "too large for a seed",
        ),
        (
            FlagOverrides { text: Some("".into()), ..FlagOverrides::default() },
            "`text` names no file",
        ),
        (
            FlagOverrides { keep: Some("torn".into()), ..FlagOverrides::default() },
            "--keep is for power cuts, and this run makes none",
        ),
        (FlagOverrides { quick: true, ..engines("lmbd") }, "asks for the table `[quick]`"),
    ];
    for (changes, title) in changes {
        let message = message(GOOD, &changes);
        assert!(message.lines().next().is_some_and(|line| line.contains(title)), "{message}");
    }
}

#[test]
fn what_can_not_be_opened_is_named() {
    let open = |name: &str| {
        let loaded = Experiment::load(name, &FlagOverrides::default(), &vocabulary());
        loaded.expect_err("there is no such thing").to_string()
    };
    let unknown = "\
error: unknown preset `redmin`
 |
 = help: did you mean `redmine`?
 = help: valid: articles/redmine, articles/text-oltp, articles/fileio, articles/vote, demo, redmine, redmine-sweep, redmine-steady, oltp, text-oltp, vote, power-cut, fileio, fileio-sysbench, fileio-database, fileio-compaction, page, articles
 = help: an experiment of your own is a file: `bakeoff run FILE.toml`";
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

#[test]
fn colours_are_there_when_they_are_asked_for() {
    let error = common::load("", &FlagOverrides::default()).expect_err("nothing is there");
    assert!(error.render(true).contains("\u{1b}["));
    assert!(!error.render(false).contains('\u{1b}'));
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
        if let Err(error) = common::load(&lines.join(&end), &FlagOverrides::default()) {
            prop_assert!(error.to_string().starts_with("error: "));
        }
    }
}
