//! Power cuts: what an experiment and the flags say of them.

use crate::common::{DEPTH, FILES, GOOD, assert_has, good, good_with, vocabulary, wrong_with};
use bakeoff_experiment::{CutBy, Cuts, Factor, LevelSubstitute};

/// What stands in the file, a flag, and what is different from the cuts of `cuts = 5`.
#[test]
fn cuts_are_as_file_and_flags_say() {
    let names = |names: &str| names.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let cuts = Cuts {
        count: 5,
        keep: names("drop-all prefix subset torn"),
        file_systems: names("ext4"),
        recovery: false,
        only: None,
        every: None,
        by: CutBy::under_engines("ledger"),
        subjects: names("sqlite"),
    };
    let on = |kinds: &str| Cuts { file_systems: names(kinds), ..cuts.clone() };
    let every = |images| Cuts { count: 0, every: Some(images), ..cuts.clone() };
    let one = Cuts { keep: names("torn"), only: Some(7), ..cuts.clone() };
    for (more, line, expected, numbers) in [
        ("cuts = 5", "", cuts.clone(), 0..5),
        (
            "cuts = 5",
            "--keep=torn, prefix",
            Cuts { keep: names("torn prefix"), ..cuts.clone() },
            0..5,
        ),
        ("cuts = 5\nfile_system = \"posix\"", "", on("posix"), 0..5),
        ("cuts = 5\nfile_system = [\"posix\", \"ext4\"]", "", on("posix ext4"), 0..5),
        ("cuts = 5\nfile_system = \"posix\"", "--file-system=ext4", on("ext4"), 0..5),
        ("cuts = 5\nkeep = \"torn\"", "--cut-number=7", one, 7..8),
        ("cuts = \"every\"", "", every(20_000), 0..1),
        ("cuts = \"every\"\nmax_images = 300", "", every(300), 0..1),
        ("cuts = 5", "--cuts=every", every(20_000), 0..1),
        ("", "--cuts=every --max-images=77", every(77), 0..1),
    ] {
        let experiment = good(&format!("{GOOD}disk = [\"host\", \"hdd-7200\"]\n{more}\n"), line);
        let made = experiment.cuts.as_ref().map(Cuts::numbers);
        assert_eq!((&experiment.cuts, made), (&Some(expected), Some(numbers)), "{more} {line}");
        // One cut is repeated alone.
        let alone = line.contains("--cut-number");
        assert_eq!(experiment.plan().count_trials() == 0, alone, "{line}");
    }
    assert_eq!(good(&format!("{GOOD}cuts = 5\n"), "--cuts=0").cuts, None);
}

#[test]
fn each_engine_at_each_level_is_cut_once_on_the_virtual_disk() {
    let toml = "workload = \"redmine\"\nengine = [\"sqlite\", \"null\", \"sqlite@again\", \"lmdb\"]\n\
                durability = [\"strict\", \"none\"]\nclients = [2, 8, 4]\nrepetitions = 0\n\
                disk = [\"host\", \"hdd-7200\"]\ncuts = 1\n";
    let experiment = good(toml, "");
    let cells = [("sqlite", "strict"), ("sqlite", "none"), ("lmdb", "strict"), ("lmdb", "none")];
    assert_eq!(experiment.cut_cells(), cells);
    assert_eq!((experiment.cut_disk(), experiment.cut_clients()), (Some("hdd-7200"), 8));
    // What is staged is made for as many clients as there are.
    assert_eq!(experiment.cut_cell("lmdb", "none").clients(), experiment.cut_clients());
    assert_eq!(experiment.cuts.as_ref().map(|cuts| &*cuts.by.workload), Some("ledger"));
    assert_eq!(good(toml, "--cuts=0 --repetitions=1").cut_cells(), []);
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
    let experiment = good_with(&toml, "", &vocabulary);
    // This machine's own is refused where it is known why.
    let disks = ["hdd-7200", "host", "ebs-gp2:7G"];
    let cells: Vec<_> = disks.iter().flat_map(|disk| [(*disk, "2"), (*disk, "4")]).collect();
    assert_eq!(experiment.cut_cells(), cells);
    let cell = experiment.cut_cell("ebs-gp2:7G", "4");
    assert_eq!((cell.base(Factor::DISK), cell.base(DEPTH)), ("ebs-gp2:7G", "4"));
    // Its moments are not those of an engine's clients.
    let refused = wrong_with(&toml, "--cuts=every", &vocabulary);
    assert_has(&refused, &["`files` has no engine", "give a number of cuts"]);
    // No other disk would do than one that can lose its power.
    let host = toml.replace("\"hdd-7200\", ", "").replace("\"hdd-7200@again\", \"ebs-gp2:7G\"", "");
    let refused = wrong_with(&host, "", &vocabulary);
    assert_has(&refused, &["the power of the disk `host` can't be cut"]);
}
