//! The keys that are no factors: each says the same in a file, in its table `[quick]` and as a flag.

use std::collections::BTreeSet;

use bakeoff_experiment::{Experiment, FlagOverrides};
use clap::{Args as _, CommandFactory as _, Parser};

use crate::common::{load_with, message, taking_rows};

/// A command that has the flags alone.
#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    changes: FlagOverrides,
}

/// What a file says beside the key, a line for the key, the flag that says the same, and another line
/// for the key.
const SAID: [(&str, &str, &str, &str); 22] = [
    ("", "compare = \"disk\"", "--compare=disk", "compare = \"engine\""),
    ("", "text = \"/all.txt\"", "--text=/all.txt", "text = \"/none.txt\""),
    ("", "rows_from = \"/all.tsv\"", "--rows-from=/all.tsv", "rows_from = \"/none.tsv\""),
    ("rows_from = \"/a.tsv\"", "rows_strict = true", "--rows-strict", "rows_strict = false"),
    ("", "seconds = 2.5", "--seconds=2.5", "seconds = 7"),
    ("", "operations = 100", "--operations=100", "operations = 200"),
    ("", "repetitions = 7", "--repetitions=7", "repetitions = 8"),
    ("", "seed = 9", "--seed= 9", "seed = 10"),
    ("", "noise_floor = true", "--noise-floor", "noise_floor = false"),
    ("state = \"steady\"", "priced = true", "--priced", "priced = false"),
    ("", "planner = \"longer\"", "--planner=longer", "planner = \"fixed\""),
    ("planner = \"decides\"", "min_repetitions = 4", "--min-repetitions=4", "min_repetitions = 5"),
    ("planner = \"decides\"", "max_repetitions = 4", "--max-repetitions=4", "max_repetitions = 5"),
    ("planner = \"decides\"", "max_time = \"90s\"", "--max-time=90s", "max_time = \"2h\""),
    ("", "find_limit = \"p99=50ms\"", "--find-limit=p99=50ms", "find_limit = \"p95=1s\""),
    ("", "cuts = 3", "--cuts=3", "cuts = 4"),
    ("", "cuts = \"every\"", "--cuts=every", "cuts = 4"),
    ("cuts = \"every\"", "max_images = 30", "--max-images=30", "max_images = 40"),
    ("cuts = 3", "keep = [\"torn\", \"prefix\"]", "--keep=torn, prefix", "keep = \"subset\""),
    ("cuts = 3", "file_system = \"posix\"", "--file-system=posix", "file_system = \"ext4\""),
    ("cuts = 3", "cut_recovery = true", "--cut-recovery=true", "cut_recovery = false"),
    ("repetitions = 0", "cut_number = 2", "--cut-number=2", "cut_number = 1"),
];

fn changes(flag: &str) -> FlagOverrides {
    Flags::try_parse_from(["it", flag]).unwrap_or_else(|error| panic!("{error}")).changes
}

fn loaded(toml: &str, changes: &FlagOverrides) -> Experiment {
    load_with(toml, changes, &taking_rows(true)).unwrap_or_else(|error| panic!("{toml}\n{error}"))
}

#[test]
fn a_flag_says_what_its_key_says_and_overrides_it() {
    for (beside, key, flag, other) in SAID {
        // Two disks and engines, so that each can be compared, of which a cut can take the power.
        let file = format!(
            "workload = \"redmine\"\nengine = [\"sqlite\", \"lmdb\"]\ndisk = [\"hdd-7200\", \"mine\"]\n\
             {beside}\n"
        );
        let disks = "[disks.mine]\nmodel = \"hdd-7200\"\n";
        let told = |key: &str, quick: &str| format!("{file}{key}\n[quick]\n{quick}\n{disks}");
        let said = loaded(&told(key, ""), &FlagOverrides::default());
        let differs = loaded(&told(other, ""), &FlagOverrides::default());
        assert_ne!(said, differs, "{key} says nothing");
        let quick = FlagOverrides { quick: true, ..FlagOverrides::default() };
        assert_eq!(said, loaded(&told(other, key), &quick), "[quick] {key}");
        assert_eq!(said, loaded(&told("", ""), &changes(flag)), "{flag}");
        assert_eq!(said, loaded(&told(other, ""), &changes(flag)), "{flag} over {other}");
        let flags = changes(flag).flags();
        assert_eq!(flags, [flag.split_once('=').map_or(flag, |(name, _)| name)]);
    }
}

#[test]
fn every_flag_of_a_key_is_held_to_it() {
    let command = Flags::command();
    let flags = command.get_arguments().filter_map(|flag| flag.get_long());
    let flags: BTreeSet<String> = flags.map(|flag| format!("--{flag}")).collect();
    let held = SAID.iter().flat_map(|(_, _, flag, _)| changes(flag).flags());
    assert_eq!(flags, held.chain(["--quick".to_owned()]).collect());
    let added = FlagOverrides::augment_args(clap::Command::new("it"));
    assert!(added.get_arguments().all(|flag| flag.get_help().is_some()));
}

#[test]
fn all_flags_that_are_wrong_are_told_at_once_and_each_where_it_stands() {
    let flags = ["it", "--seconds=0.1", "--planner=longr", "--keep=torm", "--cut-number=10000"];
    let parsed = Flags::try_parse_from(flags).unwrap_or_else(|error| panic!("{error}"));
    let message = message(crate::common::GOOD, &parsed.changes);
    for (title, flag) in [
        ("a trial can't last 0.1 seconds", "--seconds 0.1"),
        ("unknown planner `longr`", "--planner longr"),
        ("unknown rule `torm`", "--keep torm"),
        ("there is no power cut number 10000", "--cut-number 10000"),
    ] {
        let carets = flag.split_once(' ').map(|(name, value)| {
            format!(" | {flag}\n  | {}{}\n", " ".repeat(name.len() + 1), "^".repeat(value.len()))
        });
        assert!(message.contains(title) && message.contains(&carets.unwrap()), "{message}");
    }
}
