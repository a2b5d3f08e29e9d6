//! What `--dry-run` says, and what keeps a run from beginning: nothing is made, and nothing started.

use bakeoff_results::{Run, RunFolder, Status};
use bakeoff_testkit::synthetic::{self, TrialGenerator};

use super::servers::installed;
use super::{Done, Place, SMALL};

fn plan(place: &Place, typed: &str) -> Done {
    let words: Vec<&str> = typed.split_whitespace().collect();
    place.run(&[&["run"], &words[..], &["--dry-run"]].concat())
}

#[test]
fn a_plan_says_what_is_run_and_how_long_it_takes() {
    let place = Place::small();
    for (typed, says) in [
        (
            "redmine --quick --noise-floor true --repetitions 5",
            &[
                "can tell apart what differs by 1.16 × or more (12 comparisons of 5 blocks, at 5 %",
                "the order is not balanced: of 4 levels, some come first in more of the 5 repetitions than \
                 others; 8 would balance it",
                "40 trials in 10 blocks, 3 s each, sooner after 100 operations of each kind, about ",
                "all else equal: ",
                ", disk ssd-sata, neighbours 0, clients 1, ",
                // Counted as in the reports, from 0.
                "\nblock   0  repetition  0  durability ",
                "  engine sqlite@again, ",
                "\nblock   9 ",
            ][..],
        ),
        (
            "redmine --engine sqlite --clients 1 --neighbours 0 --durability none --noise-floor false \
             --repetitions 1",
            &["1 trial in 1 block, 10 s each, about 11 s with the loading\n"],
        ),
        (
            "redmine --seconds 1 --engine sqlite --disk hdd-7200 --neighbours 0 --durability strict",
            &[
                "slow operations make the trials longer, ",
                " at most: each goes on until 20 operations",
            ],
        ),
        ("small.toml --cpus 1", &["\ncpus: lmdb, sqlite work in the clients' process, so that "]),
        (
            "small.toml --until-decided",
            &[
                "6 trials in 3 blocks, 0.5 s each, about 6 s with the loading\n",
                "these are the first 3 repetitions, which is the least; a condition that is not decided \
                 then goes on: at most 40 trials in 20 blocks, about 35 s\n",
                "\nplanner until-decided: repetition by repetition",
            ],
        ),
        (
            "small.toml --until-decided --max-time 20s",
            &["20 blocks, about 20 s, when --max-time ends it\n"],
        ),
        (
            "redmine --find-limit p99=50ms --engine sqlite --durability none --neighbours 0 \
             --noise-floor false",
            &[
                "these are what 2 searches begin with: each has some 10 trials more, and at most 40; in all \
                 some 22 trials in about 3 min 50 s, and at most 82 trials\n",
            ],
        ),
        // Keys that nobody chose are told, and how sysbench's names mean.
        ("oltp --engine sqlite,lmdb", &[", keys special:75:1"]),
        ("oltp --engine sqlite,lmdb --factor keys=master", &[", keys uniform"]),
        (
            "text-oltp --engine sqlite,lmdb --memory unlimited --rows-from generated",
            &[
                ", keys uniform",
                "cache at memory unlimited: sqlite has cache_size = 268435456 bytes: 256 MiB",
            ],
        ),
        (
            "redmine-steady --quick",
            &[
                ", about 1 min 10 s with the loading\n",
                "6 trials are preconditioned first, which is not",
                ": up to 12 min in all\n",
            ],
        ),
        (
            "redmine-steady --engine sqlite,fjall",
            &[
                "20 trials are preconditioned first (10 preconditionings: trials that differ in",
                "up to 20 min in all\n",
            ],
        ),
        (
            "articles/redmine --quick --engine sqlite",
            &[
                "beside it: ",
                " figures of \u{201c}Benchmarking Redmine",
                "the base of published figures, engine mariadb:rocksdb, is not run, so that",
            ],
        ),
    ] {
        let done = plan(&place, typed).code(0).says(says);
        assert!(!done.err().contains("it would not begin"), "{typed}: {}", done.err());
    }
    let total = "600 trials in 150 blocks, 20 s each, about 3 h 30 min";
    let long = plan(&place, "redmine-sweep").out();
    // At the end of a long plan, too; behind it stands how long it is when operations are slow.
    let at_its_end = long.lines().rev().take(2).any(|line| line.starts_with(total));
    assert!(at_its_end && long.matches(total).count() == 2, "{long}");
    let open = plan(&place, "small.toml --until-decided").out();
    assert!(!open.contains("repetition  3"), "which come after that nobody knows: {open}");
    assert_eq!(std::fs::read_dir(place.path(".")).unwrap().count(), 1, "nothing was made");
}

#[test]
fn a_plan_says_how_power_is_cut_and_roughly_how_long_that_takes() {
    let place = Place::new();
    for (typed, says) in [
        (
            "power-cut --cuts 7 --keep torn",
            &[
                "18 trials",
                "then 63 power cuts, 7 of each engine at each level on the file system ext4, judged by torn",
            ][..],
        ),
        (
            "power-cut --cuts 7 --file-system ext4,posix",
            &["126 power cuts", "on each of the file systems ext4, posix, judged by drop-all"],
        ),
        (
            "power-cut --cut-number 60 --engine lmdb --durability strict",
            &["no trials, and 1 power cut, number 60 of", "; 4 clients at work: about 3 s"],
        ),
        (
            "power-cut --quick --state steady",
            &[
                "the clients of the power cuts precondition each engine first, for every ten cuts anew",
            ],
        ),
    ] {
        let done = plan(&place, typed).code(0).says(says);
        assert!(!done.out().contains("0 trials,"), "{}", done.out());
    }
    // Of cuts alone those levels are told that they have.
    let out = plan(
        &place,
        "fileio --disk null,ssd-sata --repetitions 0 --cuts 2 --clients 1,64,2 --factor block=8K,16K \
         --factor depth=1 --factor pattern=randread",
    );
    let out = out.code(0).says(&[
        "with pattern randwrite instead of randread, sync fdatasync:1 instead of never, judged",
        "; 64 clients at work, block 8K: about ",
    ]);
    let equal = out.out();
    let equal = equal.lines().find(|line| line.starts_with("all else equal: "));
    let equal = equal.expect("the levels that all have");
    assert!(equal.contains("depth 1") && !equal.contains("randread"), "{equal}");

    // Each rule is another recovery, and so is a second cut; that of a server takes longer.
    let minutes = |flags: &str| {
        let out = plan(&place, &format!("power-cut --cuts 1000 {flags}")).out();
        let cuts = out.lines().find(|line| line.contains("power cuts")).expect("they are told");
        super::guide::seconds(cuts).expect("a time") / 60.0
    };
    let [one, all] =
        ["torn", "drop-all,prefix,subset,torn"].map(|rules| minutes(&format!("--keep {rules}")));
    let twice = minutes("--cut-recovery");
    let server = minutes("--engine postgres");
    assert!(one < all && all < twice && minutes("--engine sqlite") < server);
    // Measured: each of 9,000 x 4 embedded recoveries and audits takes more than 70 ms, and the whole
    // less than half a day.
    assert!((42.0..720.0).contains(&all), "{all}");
}

/// The messages stand where they are made: here they come with the exit code of a usage that is wrong.
#[test]
fn what_can_not_be_had_is_told_in_the_plan() {
    let place = Place::small();
    for (typed, says) in [
        ("redmine --quick --priced --disk host", "has no model"),
        ("redmine --state hot", "valid: cold, warm, steady"),
        ("fileio --state steady", "files have no deferred work with a lasting level"),
        ("oltp --factor keys=zipf:11", "EXPONENT"),
        ("small.toml --max-time 2h", "--until-decided"),
        ("small.toml --until-decided --planner fixed", "cannot be used with"),
        (
            "small.toml --until-decided --max-time 1s",
            "it would not begin here: --max-time is 1 s, and",
        ),
        ("small.toml --keep-images", "this run makes none"),
        (
            "redmine --quick --disk host --neighbours 0 --state warm,steady \
             --engine mysql://me@localhost/bench,sqlite",
            "can't restart it",
        ),
    ] {
        plan(&place, typed).code(2).says(&[says]);
    }
    // Nor does the run itself begin.
    let long = ["run", "small.toml", "--seconds", "60", "--until-decided", "--max-time", "1min"];
    place
        .run(&long)
        .code(2)
        .says(&["--max-time is 1 min, and one block takes longer: about 2 min"]);
    assert_eq!(std::fs::read_dir(place.path(".")).unwrap().count(), 1, "nothing was made");
}

#[test]
fn a_plan_of_three_servers_in_the_long_run_takes_hours() {
    if installed(&["mariadb:innodb", "mariadb:rocksdb", "postgres"]) {
        plan(&Place::new(), "redmine-steady")
            .code(0)
            .says(&["(15 preconditionings:", "up to 10 h 0 min in all"]);
    }
}

#[test]
fn settings_that_nobody_takes_are_named() {
    let place = Place::new();
    let settings = "[settings.\"mariadb:innodb\"]\nsync_binlog = 0\n";
    place.write("small.toml", &format!("{SMALL}{settings}"));
    let unused = "the settings of mariadb:innodb are not used";
    plan(&place, "small.toml").code(0).says(&[unused]);
    let used = plan(&place, "small.toml --engine sqlite,mariadb:innodb@mine");
    assert!(!used.err().contains("not used"), "{}", used.err());
}

/// An engine without `relaxed` beside one that has every level; neither is started.
const ENGINES: &str = "--engine tarantool:memtx,sqlite";

#[test]
fn a_preset_is_planned_at_a_level_that_every_chosen_engine_gives() {
    let place = Place::new();
    for (preset, says) in [
        (
            "text-oltp",
            "text-oltp is at durability relaxed; tarantool:memtx does not give that, so all run at strict\n",
        ),
        // Of several levels one is left; on this machine's own disk, too, where there is no virtual one.
        ("redmine", "tarantool:memtx does not give relaxed, so all run at strict alone\n"),
    ] {
        let done = plan(&place, &format!("{preset} --quick {ENGINES}"));
        assert_eq!(done.err().matches(says).count(), 1, "{}", done.err());
        let is_strict = done.out().contains("durability strict");
        assert!(is_strict && !done.out().contains("durability relaxed"), "{}", done.out());
    }
    // A level that somebody chose is refused with what works.
    let mine = "workload = \"point\"\nengine = \"sqlite\"\ndurability = \"relaxed\"\n[quick]\nseconds = 1\n";
    place.write("mine.toml", mine);
    for typed in
        ["text-oltp --durability relaxed", "text-oltp --factor durability=relaxed", "mine.toml"]
    {
        let typed = format!("{typed} --quick {ENGINES}");
        let words: Vec<&str> = typed.split(' ').collect();
        for done in [plan(&place, &typed), place.run(&[&["run"], &words[..]].concat())] {
            let done = done.code(2).says(&["nothing is left to compare", "--durability strict"]);
            assert!(!done.err().contains("so all run at"), "{}", done.err());
        }
    }
}

/// The messages on memory are the lab's; here the plan has them.
#[test]
fn a_plan_tells_shares_of_memory_in_bytes_and_the_caches_under_them() {
    let place = Place::new();
    let toml = "workload = \"point\"\nscale = \"large\"\nengine = [\"sqlite\", \"lmdb\"]\n";
    place.write("mine.toml", toml);
    let told = |memory: &str| plan(&place, &format!("mine.toml --memory {memory}")).out();
    let shares = told("200%,50%,1%,64M,unlimited");
    if shares.contains("can't be limited") {
        bakeoff_testkit::skip("memory can't be limited here");
        return;
    }
    let of = |start: &str| -> Vec<&str> {
        shares.lines().filter(|line| line.starts_with(start)).collect()
    };
    let half = "memory 50%: about 52.5 MB, for 105.0 MB of rows";
    assert_eq!(of("memory "), ["memory 200%: about 210.0 MB, for 105.0 MB of rows", half]);
    let quarter = "cache at memory 50%: sqlite has cache_size = ";
    let quarter = of("cache at ").into_iter().find(|line| line.starts_with(quarter));
    assert!(quarter.expect("its cache").contains(" bytes: 25 % of"), "{shares}");
    assert!(shares.contains("not run: sqlite × memory 1% ("), "{shares}");
    assert!(!told("unlimited").contains("\nmemory "));
    // Of what works nowhere the least that does is told, and is enough.
    let refused = place.run(&["run", "mine.toml", "--memory", "1%", "--engine", "sqlite"]).code(2);
    let refused = refused.err();
    let (_, least) = refused.split_once("the least that works is ").expect("it is told");
    let (share, _) = least.split_once(" of the rows, or ").expect("a share and bytes");
    assert!(!told(share).contains("not run: sqlite"), "{share}");
}

/// A plan does not say that rows don't fit where they do, or where they are read through the page cache.
#[test]
fn a_plan_tells_which_engine_reads_past_the_page_cache() {
    let place = Place::new();
    let remark = "don't fit its own cache of 268 MB, and it reads past the system's page cache";
    for (scale, durability, told) in
        [("10M", "strict", 1), ("10k", "strict", 0), ("10M", "none", 0)]
    {
        let typed = format!(
            "oltp --engine mariadb:innodb,sqlite --scale {scale} --durability {durability}"
        );
        let out = plan(&place, &typed).out();
        assert_eq!(out.matches(remark).count(), told, "{scale} {durability}: {out}");
    }
}

/// Nobody serves there: what can't be had of any such server is told without one.
#[test]
fn flags_that_a_server_of_somebodys_own_can_not_have_are_told_at_once() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let url = "mysql://me@localhost/bench?socket=/nowhere/socket";
    let run = ["run", "mine.toml", "--out", "r", "--engine", url];
    let flags = ["--disk", "ssd-sata", "--memory", "256M", "--neighbours", "x1"];
    for more in [&[][..], &["--dry-run"]] {
        let done = place.run_soon(&[&run[..], &flags, more].concat()).code(2).says(&[
            "nothing in this experiment can be run",
            "add --disk host --memory unlimited --neighbours 0",
        ]);
        assert!(!done.out().contains("all else equal"), "{}", done.out());
    }
    assert!(!place.path("r").exists(), "nothing was begun");
}

#[test]
fn rows_are_real_text_where_there_is_some_unless_generated_ones_are_asked_for() {
    let place = Place::new();
    let told =
        |more: &str| plan(&place, &format!("text-oltp --quick --engine lmdb {more}")).code(0);
    let generated = "made-up text, from the built-in generator (seed 1)";
    told("--rows-from generated").says(&[generated]);
    place.write("mine.tsv", &(0..10_000).map(|n| format!("{n}\tText {n}.\n")).collect::<String>());
    told("--rows-strict --rows-from mine.tsv")
        .says(&["mine.tsv", "small: the first 10000 of them"]);
    let gcide = bakeoff_workloads::Collection::find("gcide").unwrap();
    let there = gcide.is_installed().then_some(()).ok_or_else(|| gcide.install_command());
    let Some(()) = bakeoff_testkit::needs(there) else {
        told("").says(&["made-up text"]);
        return;
    };
    told("").says(&["rows from gcide", "dict-gcide", "small: the first 10000 of them"]);
    told("--scale large").says(&["large: all ", "generated from their words"]);
}

/// The run of one comparison tells no noise, that of six does: it is of the same machine and program.
#[test]
fn a_plan_names_the_run_whose_noise_it_goes_by() {
    let place = Place::finished();
    plan(&place, "small.toml").says(&["at 5 % of noise a trial)"]);
    let Run { workload, version, machine, .. } =
        RunFolder::open(&place.path("r")).unwrap().run().unwrap();
    let run = Run { workload, version, machine, ..synthetic::run(&["1"], &["0"], 16) };
    let mut folder = RunFolder::create(&place.path("noisy"), &run, "").unwrap();
    let mut trials = TrialGenerator::new(1, 40);
    for block in 0..4 {
        let trials = trials.generate_block(block, block, ["1", "0"]);
        trials.iter().for_each(|trial| folder.commit_trial(trial).unwrap());
    }
    folder.set_status(Status::Finished, Some(1.8e9)).unwrap();
    drop(folder);
    plan(&place, "small.toml").says(&[" % of noise a trial, as in noisy)"]);
    plan(&place, "small.toml --out more/r").says(&["at 5 % of noise a trial)"]);
}
