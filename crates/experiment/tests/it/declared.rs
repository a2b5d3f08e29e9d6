//! Factors that are not the lab's own, and workloads that don't have all of the lab's.

use crate::common::{self, DEPTH, FILES, GOOD, OF_FILES, assert_under, load, message, vocabulary};
use bakeoff_experiment::{Count, Error, Experiment, Factor, FlagOverrides, Vocabulary};

fn files(more: &str, changes: &FlagOverrides) -> Experiment {
    load(&format!("{FILES}{more}"), changes).unwrap_or_else(|error| panic!("{error}"))
}

fn named(flags: &[&str]) -> FlagOverrides {
    let named = flags.iter().map(|&flag| flag.to_owned()).collect();
    FlagOverrides { named, ..FlagOverrides::default() }
}

#[test]
fn an_experiment_has_the_factors_of_its_workload() {
    let experiment = files("", &FlagOverrides::default());
    let factors: Vec<Factor> = experiment.factors.keys().copied().collect();
    assert_eq!(factors, OF_FILES);
    assert_eq!(experiment.levels(DEPTH), ["1"]);
    assert_eq!(experiment.levels(Factor::ENGINE), [] as [&str; 0]);
    let toml = "\
name = \"my\"
title = \"my\"
workload = \"files\"
compare = \"disk\"
disk = [\"host\"]
neighbours = [\"0\"]
clients = [\"1\"]
rate = [\"closed\"]
scale = [\"small\"]
depth = [\"1\"]
seconds = 10.0
repetitions = 5
seed = 1
noise_floor = false
planner = \"fixed\"
";
    assert_eq!(experiment.to_toml(), toml);
    assert_eq!(load(&experiment.to_toml(), &FlagOverrides::default()).ok(), Some(experiment));
}

#[test]
fn a_declared_factor_is_a_key_like_any_other() {
    let toml = "compare = \"depth\"\nnoise_floor = true\ndepth = [\"004\", 32]\n\
                [quick]\ndepth = 1\n";
    let full = files(toml, &FlagOverrides::default());
    assert_eq!(
        (full.compare, full.levels(DEPTH)),
        (DEPTH, vec!["4".into(), "32".into(), "4@again".into()])
    );
    assert_eq!(full.plan().trials(), 15);
    let quick = files(toml, &FlagOverrides { quick: true, ..FlagOverrides::default() });
    assert_eq!(quick.levels(DEPTH), ["1", "1@again"]);
}

#[test]
fn any_factor_can_be_given_by_its_name() {
    let flags = named(&["depth=1, 016", "clients =2,4", "disk=hdd-7200"]);
    let experiment = files("depth = 7\nclients = 7\n", &flags);
    assert_eq!(experiment.levels(DEPTH), ["1", "16"]);
    assert_eq!(experiment.levels(Factor::CLIENTS), ["2", "4"]);
    assert!(flags.gives(Factor::DISK) && flags.gives(DEPTH) && !flags.gives(Factor::SCALE));
    let engine = named(&["engine=lmdb@mine"]);
    let levels = load(GOOD, &engine).expect("it is right").levels(Factor::ENGINE);
    assert_eq!(levels, ["lmdb@mine"]);
}

#[test]
fn without_an_engine_the_first_factor_with_several_levels_is_compared() {
    let compared = |more: &str| files(more, &FlagOverrides::default()).compare;
    assert_eq!(compared(""), Factor::DISK);
    assert_eq!(compared("depth = [1, 2]\n"), DEPTH);
    assert_eq!(compared("depth = [1, 2]\nrate = [\"closed\", \"9/s\"]\n"), Factor::RATE);
    assert_eq!(compared("depth = [1, 2]\ncompare = \"scale\"\n"), Factor::SCALE);
    let redmine = load(&format!("{GOOD}clients = [1, 2]\n"), &FlagOverrides::default());
    assert_eq!(redmine.expect("it is right").compare, Factor::ENGINE);
}

#[test]
fn a_factor_that_the_workload_does_not_have_is_shown_where_it_stands() {
    let expected = "\
error: the workload `files` has no factor `engine`
 --> my.toml:2:1
  |
2 | engine = \"sqlite\"
  | ^^^^^^
  |
  = help: valid: disk, neighbours, clients, rate, scale, depth";
    assert_eq!(
        message(&format!("{FILES}engine = \"sqlite\"\n"), &FlagOverrides::default()),
        expected
    );

    let title = "the workload `files` has no factor `memory`";
    let flag = (Factor::MEMORY, "1G,2G".to_owned());
    let flag = message(FILES, &FlagOverrides { factors: vec![flag], ..FlagOverrides::default() });
    assert_under(&flag, title, "--memory 1G,2G", "memory");
    let flag = message(FILES, &named(&["memory=1G"]));
    assert_under(&flag, title, "--factor memory=1G", "memory");
    let compare = message(
        FILES,
        &FlagOverrides { compare: Some("memory".into()), ..FlagOverrides::default() },
    );
    assert_under(&compare, title, "--compare memory", "memory");
    let compare = message(&format!("{FILES}compare = \"memory\"\n"), &FlagOverrides::default());
    assert_under(&compare, title, "compare = \"memory\"", "\"memory\"");
}

#[test]
fn an_unknown_factor_is_shown_with_the_nearest() {
    let flag = message(FILES, &named(&["dept=4"]));
    assert_under(&flag, "unknown factor `dept`", "--factor dept=4", "dept");
    assert!(flag.contains("did you mean `depth`?"), "{flag}");
    let key = message(&format!("{FILES}dept = 4\n"), &FlagOverrides::default());
    assert_under(&key, "unknown key `dept`", "dept = 4", "dept");
    assert!(key.contains("did you mean `depth`?") && !key.contains("engine"), "{key}");
}

#[test]
fn a_wrong_level_is_told_as_its_declaration_says() {
    let key = message(&format!("{FILES}depth = [1, 2000]\n"), &FlagOverrides::default());
    assert_under(&key, "`2000` is not a depth", "depth = [1, 2000]", "2000");
    assert!(key.contains("help: valid: 1 to 1024"), "{key}");
    let flag = message(FILES, &named(&["depth=1,0"]));
    assert_under(&flag, "`0` is not a depth", "--factor depth=1,0", "0");
    let twice = message(FILES, &named(&["depth=1,01"]));
    assert_under(&twice, "`1` is twice among the levels of `depth`", "--factor depth=1,01", "01");
    let empty = message(FILES, &named(&["depth="]));
    assert!(empty.contains("an empty level of `depth`") && empty.contains("1 to 1024"), "{empty}");
}

#[test]
fn a_factor_is_given_by_one_flag() {
    let flags =
        FlagOverrides { factors: vec![(Factor::CLIENTS, "1".into())], ..named(&["clients=2"]) };
    let title = "the levels of `clients` are given by two flags";
    assert_under(&message(FILES, &flags), title, "--factor clients=2", "clients");
    let twice = message(FILES, &named(&["depth=1", "depth=2"]));
    let title = "the levels of `depth` are given by two flags";
    assert_under(&twice, title, "--factor depth=2", "depth");
    let none = message(FILES, &named(&["depth"]));
    assert_under(&none, "`--factor depth` gives no level", "--factor depth", "depth");
    assert!(none.contains("NAME=LEVEL,LEVEL"), "{none}");
}

#[test]
fn what_can_not_be_audited_is_not_cut() {
    let title = "no power can be cut under `files`: its files can't be audited";
    let key = message(&format!("{FILES}cuts = 25\n"), &FlagOverrides::default());
    assert_under(&key, title, "cuts = 25", "25");
    assert!(key.contains("name a workload over tables") && key.contains("--cuts"), "{key}");
    assert_eq!(key.matches("error:").count(), 1, "{key}");
    let flag =
        message(FILES, &FlagOverrides { cuts: Some(Count::Times(3)), ..FlagOverrides::default() });
    assert_under(&flag, title, "--cuts 3", "3");
    let number = message(FILES, &FlagOverrides { cut_number: Some(3), ..FlagOverrides::default() });
    assert_under(&number, title, "--cut-number 3", "3");
    assert_eq!(number.matches("error:").count(), 1, "{number}");
    assert!(files("cuts = 0\n", &FlagOverrides::default()).cuts.is_none());
}

/// `[quick]` may name another workload: what is run decides which factors there are.
#[test]
fn the_table_quick_may_be_of_another_workload() {
    let toml = format!("{GOOD}clients = 2\n[quick]\nworkload = \"files\"\ndepth = 4\n");
    let full = load(&toml, &FlagOverrides::default()).expect("it is right");
    assert_eq!(full.workload, "redmine");
    let quick = FlagOverrides { quick: true, ..FlagOverrides::default() };
    let engine = message(&toml, &quick);
    assert_under(
        &engine,
        "the workload `files` has no factor `engine`",
        "engine = \"sqlite\"",
        "engine",
    );
    let toml = toml.replace("engine = \"sqlite\"\n", "");
    let quick = load(&toml, &quick).expect("it is right");
    assert_eq!((quick.workload.as_str(), quick.levels(DEPTH)), ("files", vec!["4".to_owned()]));
}

/// Two workloads may declare one name, each in its own way.
#[test]
fn a_name_means_what_its_own_workload_declares() {
    let mut vocabulary = vocabulary();
    static WIDE: bakeoff_experiment::Declared = bakeoff_experiment::Declared {
        name: "depth",
        summary: "how deep folders are nested",
        syntax: "flat or deep",
        default: "flat",
        canonical: |text| match text {
            "flat" | "deep" => Ok(text.to_owned()),
            _ => Err(format!("`{text}` is neither flat nor deep")),
        },
    };
    vocabulary.workloads[1].factors.push(Factor::Declared(&WIDE));
    let load = |toml: &str| -> Result<Experiment, Error> {
        common::load_with(toml, &FlagOverrides::default(), &vocabulary)
    };
    let reads = "workload = \"reads\"\nengine = \"lmdb\"\n";
    assert_eq!(load(reads).expect("it is right").levels(DEPTH), ["flat"]);
    assert!(load(&format!("{reads}depth = \"deep\"\n")).is_ok());
    assert!(load(&format!("{FILES}depth = \"deep\"\n")).is_err());
}

#[test]
fn declared_factors_are_told_apart_by_name_and_come_after_the_labs_own() {
    assert!(Factor::OWN.iter().all(|own| *own < DEPTH && *own != DEPTH));
    assert!(Factor::OWN.is_sorted());
}

#[test]
#[should_panic(expected = "the name of the declared factor `seed` is taken")]
fn a_declared_factor_can_not_have_a_keys_name() {
    let mut vocabulary: Vocabulary = vocabulary();
    static SEED: bakeoff_experiment::Declared = bakeoff_experiment::Declared {
        name: "seed",
        summary: "",
        syntax: "",
        default: "1",
        canonical: |text| Ok(text.to_owned()),
    };
    vocabulary.workloads[3].factors.push(Factor::Declared(&SEED));
    let _ = common::load_with(FILES, &FlagOverrides::default(), &vocabulary);
}
