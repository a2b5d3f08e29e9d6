//! Words that stand nowhere in code, or in none of some crates or in no test.

use crate::{KIT, root, sources, split_lines};

/// Where a word may not stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ban {
    Anywhere,
    /// A busy machine decides how long something took, and chance decides what other seeds try.
    Tests,
    /// Crates that treat all engines alike.
    Crates(&'static [&'static str]),
}

const ALIKE: Ban = Ban::Crates(&["analysis/src/", "load/src/", "report/src/", "workloads/src/"]);

/// A word, where it may not stand, and what does in its place.
const WORDS: [(&str, Ban, &str); 9] = [
    (concat!('"', "CI", '"'), Ban::Anywhere, "the kit's skip, needs or in_ci"),
    ("Instant::now", Ban::Tests, "the kit's Since or wait_until"),
    (".elapsed()", Ban::Tests, "the kit's Since or wait_until"),
    ("SystemTime::now", Ban::Tests, "the kit's Since or wait_until"),
    ("recv_timeout(", Ban::Tests, "the kit's PATIENCE"),
    ("wait_timeout(", Ban::Tests, "the kit's PATIENCE"),
    ("thread_rng", Ban::Tests, "a seed"),
    ("from_os_rng", Ban::Tests, "a seed"),
    ("fastrand", Ban::Tests, "a seed"),
];

/// Its tests make up moments out of one of the clock's.
const EXCUSED: &str = "crates/disk/src/volume/uncached.rs";

/// What stands in a file and may not. Words of comments don't count, nor does a wait of the kit's patience.
fn breaches(path: &str, text: &str, words: &[(&str, Ban, &str)]) -> Vec<String> {
    let [own, tests] = split_lines(path, text);
    let says = |lines: &[&str], word: &str| {
        let code = lines.iter().filter_map(|line| line.split("//").next());
        code.into_iter().any(|code| code.contains(word) && !code.contains("PATIENCE"))
    };
    let is_breach = |&&(word, place, _): &&(&str, Ban, &str)| match place {
        Ban::Anywhere => says(&own, word) || says(&tests, word),
        Ban::Tests => says(&tests, word),
        Ban::Crates(crates) => crates.iter().any(|it| path.contains(it)) && says(&own, word),
    };
    let found = words.iter().filter(is_breach);
    found.map(|(word, _, instead)| format!("{path} says {word}: take {instead}")).collect()
}

/// [`WORDS`] and the names of engines, each of which has a page; that of the engine that does nothing is a common word.
#[test]
fn no_word_stands_where_it_may_not() {
    let pages = std::fs::read_dir(root().join("docs/engines")).expect("the pages of engines");
    let pages = pages.map(|page| page.expect("a page").file_name().into_string().expect("text"));
    let engine = |page: &String| page.split(['-', '.']).next().expect("a name").to_owned();
    let engines: Vec<String> = pages.map(|page| engine(&page)).filter(|it| it != "null").collect();
    assert!(engines.len() > 5, "{engines:?}");
    let engines =
        engines.iter().map(|name| (name.as_str(), ALIKE, "what an engine says of itself"));
    let words: Vec<_> = WORDS.into_iter().chain(engines).collect();
    let mut files = sources();
    files.retain(|(path, _)| !path.starts_with(KIT) && path != EXCUSED && path != file!());
    let wrong: Vec<String> =
        files.iter().flat_map(|(path, text)| breaches(path, text, &words)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn words_are_found_in_code_alone() {
    let found = |path: &str, text: &str| breaches(path, text, &WORDS).len();
    let test = "fn f() {\n    let t = Instant::now(); // SystemTime::now\n}\n";
    let inline = format!("#[cfg(test)]\nmod tests {{\n{test}}}\n");
    for (path, text, count) in [
        ("crates/lab/tests/it/a.rs", test, 1),
        ("crates/lab/src/a/tests.rs", test, 1),
        ("crates/lab/src/a.rs", test, 0),
        ("crates/lab/src/a.rs", &inline, 1),
        ("crates/lab/benches/a.rs", test, 0),
        ("crates/lab/tests/a.rs", "it.recv_timeout(PATIENCE)", 0),
        ("crates/lab/tests/a.rs", "it.recv_timeout(2 * LIMIT)", 1),
    ] {
        assert_eq!(found(path, text), count, "{path}: {text}");
    }
    let named = [("sqlite", ALIKE, "")];
    for (path, count) in [("crates/report/src/a.rs", 1), ("crates/results/src/a.rs", 0)] {
        assert_eq!(breaches(path, "use sqlite;", &named).len(), count, "{path}");
    }
}

/// Proptest takes its seed from there; see `.cargo/config.toml`.
#[test]
fn random_cases_have_a_seed() {
    let seed = std::env::var("PROPTEST_RNG_SEED").expect("cargo sets it for all tests");
    assert!(seed.parse::<u64>().is_ok(), "{seed}");
}
