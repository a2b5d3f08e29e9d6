//! Promises of data that lay in memory.

use bakeoff_analysis::WarningKind;
use bakeoff_results::{Machine, Merged, Run, RunMember, Trial};

use crate::known::{blocks, plain_run, read, told};
use crate::machines::member;

fn on(file_system: &str) -> Machine {
    Machine { file_system: file_system.to_owned(), ..Machine::default() }
}

/// A run of two blocks of four trials, of data on such a file system.
fn run_on(file_system: &str) -> Run {
    Run { machine: on(file_system), ..plain_run(8) }
}

/// What is said of such a run, with a change to each trial; empty where nothing is.
fn said(run: &Run, change: impl Fn(&mut Trial)) -> String {
    let mut trials = blocks(2);
    trials.iter_mut().for_each(change);
    told(&read(run, &trials), WarningKind::DataInMemory)
}

/// Gives a trial a level.
fn set(trial: &mut Trial, factor: &str, level: &str) {
    trial.levels.insert(factor.to_owned(), level.to_owned());
}

#[test]
fn commits_that_were_to_be_kept_in_memory_are_told() {
    for file_system in ["tmpfs", "ramfs"] {
        for durability in ["strict", "relaxed"] {
            let told = said(&run_on(file_system), |it| {
                set(it, "durability", durability);
                set(it, "disk", "host");
            });
            let of = "In 8 of 8 trials that promise to keep commits the data lie in memory";
            assert!(told.starts_with(&format!("{of} ({file_system})")), "{told}");
            for words in ["no commit outlives a power cut", "--disk ssd-sata", "--durability none"]
            {
                assert!(told.contains(words), "{words}: {told}");
            }
        }
    }
    for file_system in ["ext4", "overlay", "no file system", ""] {
        assert_eq!(said(&run_on(file_system), |_| {}), "", "{file_system}");
    }
}

/// Whoever looked at the file system alone would warn of each of these.
#[test]
fn what_promises_nothing_there_is_not_told() {
    let tmpfs = run_on("tmpfs");
    assert_eq!(said(&tmpfs, |it| set(it, "durability", "none")), "");
    assert_eq!(said(&tmpfs, |it| set(it, "disk", "ssd-sata")), "", "the model says what is kept");
    // Of the others' trials all are told.
    let elsewhere = "postgres://there/db";
    let mut another = tmpfs.clone();
    another.factors[0].1[1] = elsewhere.to_owned();
    let of_another = said(&another, |it| {
        if it.levels["engine"] == "beta" {
            set(it, "engine", elsewhere);
        }
    });
    assert!(of_another.starts_with("In 6 of 6 trials "), "{of_another}");
    let mut stores_nothing = tmpfs;
    stores_nothing.engines[0].stores = false;
    let of_the_rest = said(&stores_nothing, |_| {});
    assert!(of_the_rest.starts_with("In 4 of 4 trials "), "without alpha, twice: {of_the_rest}");
}

/// A level that was entered twice is the level; those that promise nothing are not counted.
#[test]
fn levels_are_those_of_their_aliases_and_each_trial_is_looked_at() {
    let mut run = run_on("tmpfs");
    let levels = |levels: &[&str]| levels.iter().map(|&it| it.to_owned()).collect();
    run.factors.push(("disk".to_owned(), levels(&["host", "host@again", "hdd-7200"])));
    let again = said(&run, |it| {
        let disk = if it.block == 0 { "host@again" } else { "hdd-7200" };
        set(it, "disk", disk);
    });
    assert!(again.starts_with("In 4 of 4 trials "), "{again}");
    run.factors[1].1 = levels(&["none", "none@again"]);
    assert_eq!(said(&run, |it| set(it, "durability", "none@again")), "");
}

#[test]
fn of_a_merged_run_the_machine_counts_that_ran_a_trial() {
    let merged = |first: &str, second: &str| {
        let of = |shard: u32, file_system: &str| RunMember {
            machine: on(file_system),
            blocks: vec![(shard - 1, 4)],
            ..member(shard, "node", shard - 1)
        };
        let members = vec![of(1, first), of(2, second)];
        let merged = Merged { plan: "17".to_owned(), program_sha256: None, count: 2, members };
        said(&Run { merged: Some(merged), ..run_on(first) }, |_| {})
    };
    let second = merged("ext4", "ramfs");
    assert!(second.starts_with("In 4 of 8 trials ") && second.contains("(ramfs)"), "{second}");
    let both = merged("tmpfs", "ramfs");
    assert!(both.starts_with("In 8 of 8 trials ") && both.contains("(ramfs and tmpfs)"), "{both}");
    assert_eq!(merged("ext4", "ext4"), "");
}
