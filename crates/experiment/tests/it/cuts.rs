//! Power cuts: what an experiment and the flags say of them.

use crate::common::{GOOD, load};
use bakeoff_experiment::{Changes, Cuts, Experiment};

fn cutting(more: &str, changes: &Changes) -> Experiment {
    let toml = format!("{GOOD}disk = [\"host\", \"hdd-7200\"]\n{more}");
    load(&toml, changes).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn cuts_are_judged_by_every_rule_unless_some_are_named() {
    let all = cutting("cuts = 5\n", &Changes::default()).cuts.expect("cuts");
    assert_eq!(all.keep, ["drop-all", "prefix", "subset", "torn"]);
    assert_eq!(all.numbers(), 0..5);
    let keep = Some("torn, prefix".to_owned());
    let some = cutting("cuts = 5\n", &Changes { keep, ..Changes::default() }).cuts;
    assert_eq!(some.expect("cuts").keep, ["torn", "prefix"]);
    let none = Changes { cuts: Some(0), ..Changes::default() };
    assert_eq!(cutting("cuts = 5\n", &none).cuts, None);
}

#[test]
fn cuts_are_made_on_ext4_unless_file_systems_are_named() {
    let of = |more: &str, flag: Option<&str>| {
        let file_system = flag.map(str::to_owned);
        let experiment = cutting(more, &Changes { file_system, ..Changes::default() });
        // What is run is what the run folder keeps.
        let again = load(&experiment.to_toml(), &Changes::default()).expect("it was right");
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
    let changes = Changes { cut_number: Some(7), ..Changes::default() };
    let experiment = cutting("cuts = 5\nkeep = \"torn\"\n", &changes);
    let cuts = Cuts {
        count: 5,
        keep: vec!["torn".into()],
        file_systems: vec!["ext4".into()],
        recovery: false,
        only: Some(7),
        workload: "ledger".into(),
        engines: vec!["sqlite".into()],
    };
    assert_eq!((experiment.cuts.as_ref(), cuts.numbers()), (Some(&cuts), 7..8));
    assert_eq!(experiment.plan().trials(), 0);
}

#[test]
fn each_engine_at_each_level_is_cut_once_on_the_virtual_disk() {
    let toml = "workload = \"redmine\"\nengine = [\"sqlite\", \"null\", \"sqlite@again\", \"lmdb\"]\n\
                durability = [\"strict\", \"none\"]\nclients = [2, 8, 4]\nrepetitions = 0\n\
                disk = [\"host\", \"hdd-7200\"]\ncuts = 1\n";
    let experiment = load(toml, &Changes::default()).unwrap_or_else(|error| panic!("{error}"));
    let cells = [("sqlite", "strict"), ("sqlite", "none"), ("lmdb", "strict"), ("lmdb", "none")];
    assert_eq!(experiment.cut_cells(), cells);
    assert_eq!((experiment.cut_disk(), experiment.cut_clients()), (Some("hdd-7200"), 8));
    assert_eq!(experiment.cut_workload(), "ledger");
    let uncut = load(toml, &Changes { cuts: Some(0), repetitions: Some(1), ..Changes::default() });
    assert_eq!(uncut.expect("it is right").cut_cells(), []);
}
