//! Promises of data that lay in memory.

use bakeoff_analysis::{WarningKind, document};
use bakeoff_results::{HostIdentity, Machine, Merged, Run, RunFolder, RunMember, Trial};

use crate::data::{TrialGenerator, run};

fn on(file_system: &str) -> Machine {
    Machine { file_system: file_system.to_owned(), ..Machine::default() }
}

/// A run of two blocks of four trials, of data on such a file system.
fn run_on(file_system: &str) -> Run {
    Run { machine: on(file_system), ..run(&["1"], &["0"], 8) }
}

/// What is said of such a run, with a change to each trial; empty where nothing is.
fn told(run: &Run, change: impl Fn(&mut Trial)) -> String {
    let dir = crate::place();
    let mut folder = RunFolder::create(&dir.path().join("run"), run, "").unwrap();
    let mut trials = TrialGenerator::new(5, 10);
    for block in 0..2 {
        for mut trial in trials.block(block, block, ["1", "0"]) {
            change(&mut trial);
            folder.commit_trial(&trial).unwrap();
        }
    }
    let warnings = document(&folder).unwrap().warnings.into_iter();
    let told = warnings.filter(|it| it.kind == WarningKind::DataInMemory);
    told.map(|it| it.to_string()).collect()
}

/// Gives a trial a level.
fn set(trial: &mut Trial, factor: &str, level: &str) {
    trial.levels.insert(factor.to_owned(), level.to_owned());
}

#[test]
fn commits_that_were_to_be_kept_in_memory_are_told() {
    for file_system in ["tmpfs", "ramfs"] {
        for durability in ["strict", "relaxed"] {
            let told = told(&run_on(file_system), |it| {
                set(it, "durability", durability);
                set(it, "disk", "host");
            });
            let of = "In 8 of 8 trials that promise to keep commits the data lie in memory";
            assert!(told.starts_with(&format!("{of} ({file_system})")), "{told}");
            let what = "no commit outlives a power cut";
            for words in [what, "--disk ssd-sata", "--durability none"] {
                assert!(told.contains(words), "{words}: {told}");
            }
        }
    }
    for file_system in ["ext4", "overlay", "no file system", ""] {
        assert_eq!(told(&run_on(file_system), |_| {}), "", "{file_system}");
    }
}

/// Whoever looked at the file system alone would warn of each of these.
#[test]
fn what_promises_nothing_there_is_not_told() {
    let tmpfs = run_on("tmpfs");
    assert_eq!(told(&tmpfs, |it| set(it, "durability", "none")), "");
    assert_eq!(told(&tmpfs, |it| set(it, "disk", "ssd-sata")), "", "the model says what is kept");
    // Of the others' trials all are told.
    let elsewhere = "postgres://there/db";
    let mut another = tmpfs.clone();
    another.factors[0].1[1] = elsewhere.to_owned();
    let of_another = told(&another, |it| {
        if it.levels["engine"] == "beta" {
            set(it, "engine", elsewhere);
        }
    });
    assert!(of_another.starts_with("In 6 of 6 trials "), "{of_another}");
    let mut stores_nothing = tmpfs;
    stores_nothing.engines[0].stores = false;
    let of_the_rest = told(&stores_nothing, |_| {});
    assert!(of_the_rest.starts_with("In 4 of 4 trials "), "without alpha, twice: {of_the_rest}");
}

/// A level that was entered twice is the level; those that promise nothing are not counted.
#[test]
fn levels_are_those_of_their_aliases_and_each_trial_is_looked_at() {
    let mut run = run_on("tmpfs");
    let levels = |levels: &[&str]| levels.iter().map(|&it| it.to_owned()).collect();
    run.factors.push(("disk".to_owned(), levels(&["host", "host@again", "hdd-7200"])));
    let again = told(&run, |it| {
        let disk = if it.block == 0 { "host@again" } else { "hdd-7200" };
        set(it, "disk", disk);
    });
    assert!(again.starts_with("In 4 of 4 trials "), "{again}");
    run.factors[1].1 = levels(&["none", "none@again"]);
    assert_eq!(told(&run, |it| set(it, "durability", "none@again")), "");
}

#[test]
fn of_a_merged_run_the_machine_counts_that_ran_a_trial() {
    let member = |shard: u32, file_system: &str| RunMember {
        shard: Some(shard),
        host: HostIdentity { name: format!("node-{shard}"), boot: format!("boot {shard}") },
        machine: on(file_system),
        harness_s: 4e-8,
        load: None,
        neighbour_alone_per_second: None,
        started_s: 1.7e9,
        ended_s: Some(1.7e9 + 4.0),
        ahead_s: None,
        canaries: 0,
        blocks: vec![(shard - 1, 4)],
        cuts: Vec::new(),
    };
    let merged = |first: &str, second: &str| {
        let members = vec![member(1, first), member(2, second)];
        let merged = Merged { plan: "17".to_owned(), program_sha256: None, count: 2, members };
        told(&Run { merged: Some(merged), ..run_on(first) }, |_| {})
    };
    let second = merged("ext4", "ramfs");
    assert!(second.starts_with("In 4 of 8 trials ") && second.contains("(ramfs)"), "{second}");
    let both = merged("tmpfs", "ramfs");
    assert!(both.starts_with("In 8 of 8 trials ") && both.contains("(ramfs and tmpfs)"), "{both}");
    assert_eq!(merged("ext4", "ext4"), "");
}
