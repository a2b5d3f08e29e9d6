//! Power cuts: what an experiment and the flags say of them.

use crate::common::{DEPTH, FILES, GOOD, load, load_with, vocabulary};
use bakeoff_experiment::{Count, CutBy, Cuts, Experiment, Factor, FlagOverrides, LevelSubstitute};

fn cutting(more: &str, changes: &FlagOverrides) -> Experiment {
    let toml = format!("{GOOD}disk = [\"host\", \"hdd-7200\"]\n{more}");
    load(&toml, changes).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn cuts_are_judged_by_every_rule_unless_some_are_named() {
    let all = cutting("cuts = 5\n", &FlagOverrides::default()).cuts.expect("cuts");
    assert_eq!(all.keep, ["drop-all", "prefix", "subset", "torn"]);
    assert_eq!(all.numbers(), 0..5);
    let keep = Some("torn, prefix".to_owned());
    let some = cutting("cuts = 5\n", &FlagOverrides { keep, ..FlagOverrides::default() }).cuts;
    assert_eq!(some.expect("cuts").keep, ["torn", "prefix"]);
    let none = FlagOverrides { cuts: Some(Count::Times(0)), ..FlagOverrides::default() };
    assert_eq!(cutting("cuts = 5\n", &none).cuts, None);
}

#[test]
fn cuts_are_made_on_ext4_unless_file_systems_are_named() {
    let of = |more: &str, flag: Option<&str>| {
        let file_system = flag.map(str::to_owned);
        let experiment = cutting(more, &FlagOverrides { file_system, ..FlagOverrides::default() });
        // What is run is what the run folder keeps.
        let again = load(&experiment.to_toml(), &FlagOverrides::default()).expect("it was right");
        assert_eq!(again.cuts, experiment.cuts);
        experiment.cuts.expect("cuts").file_systems
    };
    assert_eq!(of("cuts = 5\n", None), ["ext4"]);
    assert_eq!(of("cuts = 5\nfile_system = \"posix\"\n", None), ["posix"]);
    assert_eq!(of("cuts = 5\nfile_system = [\"posix\", \"ext4\"]\n", None), ["posix", "ext4"]);
    assert_eq!(of("cuts = 5\nfile_system = \"posix\"\n", Some("ext4")), ["ext4"]);
    assert_eq!(of("cuts = 5\n", Some("ext4,posix")), ["ext4", "posix"]);
}

#[test]
fn one_cut_is_repeated_alone_and_without_trials() {
    let changes = FlagOverrides { cut_number: Some(7), ..FlagOverrides::default() };
    let experiment = cutting("cuts = 5\nkeep = \"torn\"\n", &changes);
    let cuts = Cuts {
        count: 5,
        keep: vec!["torn".into()],
        file_systems: vec!["ext4".into()],
        recovery: false,
        only: Some(7),
        every: None,
        by: CutBy::engines("ledger"),
        subjects: vec!["sqlite".into()],
    };
    assert_eq!((experiment.cuts.as_ref(), cuts.numbers()), (Some(&cuts), 7..8));
    assert_eq!(experiment.plan().trials(), 0);
}

#[test]
fn each_engine_at_each_level_is_cut_once_on_the_virtual_disk() {
    let toml = "workload = \"redmine\"\nengine = [\"sqlite\", \"null\", \"sqlite@again\", \"lmdb\"]\n\
                durability = [\"strict\", \"none\"]\nclients = [2, 8, 4]\nrepetitions = 0\n\
                disk = [\"host\", \"hdd-7200\"]\ncuts = 1\n";
    let experiment =
        load(toml, &FlagOverrides::default()).unwrap_or_else(|error| panic!("{error}"));
    let cells = [("sqlite", "strict"), ("sqlite", "none"), ("lmdb", "strict"), ("lmdb", "none")];
    assert_eq!(experiment.cut_cells(), cells);
    assert_eq!((experiment.cut_disk(), experiment.cut_clients()), (Some("hdd-7200"), 8));
    // What is staged is made for as many clients as there are.
    assert_eq!(experiment.cut_cell("lmdb", "none").clients(), experiment.cut_clients());
    assert_eq!(experiment.cuts.as_ref().map(|cuts| &*cuts.by.workload), Some("ledger"));
    let uncut = load(
        toml,
        &FlagOverrides {
            cuts: Some(Count::Times(0)),
            repetitions: Some(1),
            ..FlagOverrides::default()
        },
    );
    assert_eq!(uncut.expect("it is right").cut_cells(), []);
}

#[test]
fn every_moment_is_cut_once_within_a_budget() {
    let flag = FlagOverrides { cuts: Some(Count::Every), ..FlagOverrides::default() };
    let budget = FlagOverrides { max_images: Some(77), ..flag.clone() };
    for (more, changes, images) in [
        ("cuts = \"every\"\n", &FlagOverrides::default(), 20_000),
        ("cuts = \"every\"\nmax_images = 300\n", &FlagOverrides::default(), 300),
        ("cuts = 5\n", &flag, 20_000),
        ("", &budget, 77),
    ] {
        let experiment = cutting(more, changes);
        let again = load(&experiment.to_toml(), &FlagOverrides::default()).expect("it was right");
        assert_eq!(again.cuts, experiment.cuts);
        let cuts = experiment.cuts.expect("cuts");
        assert_eq!((cuts.every, cuts.numbers()), (Some(images), 0..1), "{more}");
    }
    let recovery = FlagOverrides { cut_recovery: Some(true), ..flag.clone() };
    let alone = FlagOverrides { cut_number: Some(3), ..flag.clone() };
    let none = FlagOverrides { max_images: Some(0), ..flag };
    let idle = FlagOverrides {
        max_images: Some(5),
        cuts: Some(Count::Times(1)),
        ..FlagOverrides::default()
    };
    for (changes, said) in [
        (recovery, "the power can't go a second time"),
        (alone, "one cut can't be made alone"),
        (none, "0 images can't be judged"),
        (idle, "add `--cuts every`"),
    ] {
        let toml = format!("{GOOD}disk = \"hdd-7200\"\n");
        let error = load(&toml, &changes).expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
    }
    let wrong =
        load(&format!("{GOOD}disk = \"hdd-7200\"\ncuts = \"all\"\n"), &FlagOverrides::default());
    assert!(wrong.expect_err("no number").to_string().contains("valid: every"));
}

/// Where a workload has no engine, its disks promise, and a level that promises nothing has another one
/// in its place.
#[test]
fn each_disk_is_cut_at_each_level_that_promises_something() {
    let mut vocabulary = vocabulary();
    let files = vocabulary.workloads.iter_mut().find(|it| it.name == "files").expect("it is there");
    files.cut_by = Ok(CutBy {
        workload: "files".into(),
        promise: [Factor::DISK, DEPTH],
        instead: vec![LevelSubstitute { factor: DEPTH, level: "1", cut: "2" }],
    });
    let toml = format!(
        "{FILES}disk = [\"hdd-7200\", \"host\", \"hdd-7200@again\", \"ebs-gp2:7G\"]\n\
         compare = \"disk\"\ndepth = [1, 2, 4]\ncuts = 3\n"
    );
    let experiment = load_with(&toml, &FlagOverrides::default(), &vocabulary)
        .unwrap_or_else(|error| panic!("{error}"));
    // This machine's own is refused where it is known why.
    let disks = ["hdd-7200", "host", "ebs-gp2:7G"];
    let cells: Vec<_> = disks.iter().flat_map(|disk| [(*disk, "2"), (*disk, "4")]).collect();
    assert_eq!(experiment.cut_cells(), cells);
    let cell = experiment.cut_cell("ebs-gp2:7G", "4");
    assert_eq!((cell.base(Factor::DISK), cell.base(DEPTH)), ("ebs-gp2:7G", "4"));
    // Its moments are not those of an engine's clients.
    let every = FlagOverrides { cuts: Some(Count::Every), ..FlagOverrides::default() };
    let refused = load_with(&toml, &every, &vocabulary).expect_err("it has no engine").to_string();
    assert!(refused.contains("`files` has no engine"), "{refused}");
    assert!(refused.contains("give a number of cuts"), "{refused}");
    // No other disk would do than one that can lose its power.
    let host = toml.replace("\"hdd-7200\", ", "").replace("\"hdd-7200@again\", \"ebs-gp2:7G\"", "");
    let refused =
        load_with(&host, &FlagOverrides::default(), &vocabulary).expect_err("it is the host's");
    assert!(refused.to_string().contains("the power of the disk `host` can't be cut"), "{refused}");
}
