//! The keys that are no factors: each says the same in a file, in its table `[quick]` and as a flag.

use std::collections::BTreeSet;

use bakeoff_experiment::FlagOverrides;
use clap::{Args as _, CommandFactory as _};

use crate::common::{Flags, flags, good_with, taking_rows};

/// What a file says beside the key, a line for the key, the flag that says the same, and another line
/// for the key.
const SAID: [(&str, &str, &str, &str); 23] = [
    ("", "compare = \"disk\"", "--compare=disk", "compare = \"engine\""),
    ("", "text = \"/all.txt\"", "--text=/all.txt", "text = \"/none.txt\""),
    ("", "rows_from = \"/all.tsv\"", "--rows-from=/all.tsv", "rows_from = \"/none.tsv\""),
    ("rows_from = \"/a.tsv\"", "rows_strict = true", "--rows-strict", "rows_strict = false"),
    ("", "seconds = 2.5", "--seconds=2.5", "seconds = 7"),
    ("", "operations = 100", "--operations=100", "operations = 200"),
    ("", "repetitions = 7", "--repetitions=7", "repetitions = 8"),
    ("", "images = 2", "--images=2", "images = 3"),
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

#[test]
fn a_flag_says_what_its_key_says_and_overrides_it() {
    let loaded = |toml: &str, line: &str| good_with(toml, line, &taking_rows(true));
    for (beside, key, flag, other) in SAID {
        // Two disks and engines, so that each can be compared, of which a cut can take the power.
        let file = format!(
            "workload = \"redmine\"\nengine = [\"sqlite\", \"lmdb\"]\ndisk = [\"hdd-7200\", \"mine\"]\n\
             {beside}\n"
        );
        let disks = "[disks.mine]\nmodel = \"hdd-7200\"\n";
        let told = |key: &str, quick: &str| format!("{file}{key}\n[quick]\n{quick}\n{disks}");
        let said = loaded(&told(key, ""), "");
        assert_ne!(said, loaded(&told(other, ""), ""), "{key} says nothing");
        assert_eq!(said, loaded(&told(other, key), "--quick"), "[quick] {key}");
        assert_eq!(said, loaded(&told("", ""), flag), "{flag}");
        assert_eq!(said, loaded(&told(other, ""), flag), "{flag} over {other}");
        let given = flags(flag).given_flags();
        assert_eq!(given, [flag.split_once('=').map_or(flag, |(name, _)| name)]);
    }
}

#[test]
fn every_flag_of_a_key_is_held_to_it() {
    let command = Flags::command();
    let all = command.get_arguments().filter_map(|flag| flag.get_long());
    let all: BTreeSet<String> = all.map(|flag| format!("--{flag}")).collect();
    let held = SAID.iter().flat_map(|(_, _, flag, _)| flags(flag).given_flags());
    assert_eq!(all, held.chain(["--quick".to_owned()]).collect());
    let added = FlagOverrides::augment_args(clap::Command::new("it"));
    assert!(added.get_arguments().all(|flag| flag.get_help().is_some()));
    let given = flags("--engine=lmdb --factor=disk=host --quick");
    assert_eq!(given.given_flags(), ["--engine", "--factor disk=host", "--quick"]);
}
