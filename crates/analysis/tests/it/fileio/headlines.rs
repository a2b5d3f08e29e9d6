//! What README and the index of the findings say of these runs.

use bakeoff_analysis::{Comparison, Verdict};

use super::{APPLICATION, EIGHT, FILES, FOUR, ONE, compared, cuts, has};
use crate::kept::{confidence, digits, judged};

/// What an array is against one volume, of files.
fn of_files(pattern: &str, memory: &str, clients: &str, array: &str) -> &'static Comparison {
    let at = [("memory", memory), ("pattern", pattern), ("clients", clients)];
    compared(&FILES, [array, ONE], None, &at).expect("it was compared")
}

/// The same of an operation whose commits are synced.
fn of_strict(operation: &str, array: &str) -> &'static Comparison {
    let at = [("durability", "strict")];
    compared(&APPLICATION, [array, ONE], Some(operation), &at).expect("it was compared")
}

/// How many times as many an array has, the least and the most.
fn times(all: &[&Comparison]) -> String {
    let ratios = || all.iter().map(|it| 1.0 / it.ratio.expect("a ratio"));
    let (least, most) = (ratios().reduce(f64::min), ratios().reduce(f64::max));
    format!("{} to {} times", digits(least.expect("some")), digits(most.expect("some")))
}

/// In README.
pub fn in_short() -> Vec<String> {
    assert_eq!(confidence(&FILES), confidence(&APPLICATION));
    let reads = judged("as much", of_files("randread", "25%", "16", EIGHT));
    let one = judged("as fast", of_strict("create_issue", EIGHT));
    let other = of_strict("process_issues", EIGHT).verdict.word();
    vec![
        format!(
            "Modelled disks, {}: a RAID-10 of eight read {reads} for 16 clients",
            confidence(&FILES)
        ),
        format!("for one, durable `create_issue` was {one}, `process_issues` {other}"),
    ]
}

/// In the index.
pub fn in_index() -> Vec<String> {
    let reads = |array| ["8", "16"].map(|clients| of_files("randread", "25%", clients, array));
    let (four, eight) = (reads(FOUR), reads(EIGHT));
    assert!(four.iter().chain(&eight).all(|it| it.verdict == Verdict::Faster));
    let arrays =
        ["unlimited", "25%"].into_iter().flat_map(|memory| [(memory, FOUR), (memory, EIGHT)]);
    let writes: Vec<_> =
        arrays.map(|(memory, array)| of_files("randwrite", memory, "16", array)).collect();
    let faster = writes.iter().filter(|it| it.verdict == Verdict::Faster).count();
    let of_memory = [("memory", "unlimited"), ("pattern", "randread")];
    let is_cached = |it: &&Comparison| it.baseline == ONE && has(&it.levels, &of_memory);
    let cached: Vec<&Comparison> = FILES.comparisons.iter().filter(is_cached).collect();
    assert!(cached.len() == 10 && cached.iter().all(|it| !it.verdict.is_decided()));
    for operation in ["create_issue", "process_issues"] {
        assert_eq!(of_strict(operation, FOUR).verdict, Verdict::Same);
    }
    let (broken, all) = cuts::broken_without_barriers();
    vec![
        format!("{} as many, none decided", times(&cached)),
        format!(
            "With memory for a quarter and 8 or 16 threads a RAID-10 of four reads {} as much",
            times(&four)
        ),
        format!("one of eight {}: faster in each, {}", times(&eight), confidence(&FILES)),
        format!(
            "with 16 threads arrays wrote {} as much, faster in {faster} of {}",
            times(&writes),
            writes.len()
        ),
        format!("{} in `create_issue`", judged("as fast", of_strict("create_issue", EIGHT))),
        format!(
            "{} in `process_issues`, {}",
            judged("as fast", of_strict("process_issues", EIGHT)),
            confidence(&APPLICATION)
        ),
        format!(
            "{} as fast in the model, and voids the comparison",
            cuts::faster_without_barriers()
        ),
        format!("After {broken} of {all} power cuts"),
    ]
}
