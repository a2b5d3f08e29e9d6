//! The distribution of keys is told, also where nobody chose one.

use super::Place;

#[test]
fn a_plan_tells_the_distribution_of_keys() {
    let place = Place::new();
    let cases: [(&str, &[&str], &str); 6] = [
        ("text-oltp", &[], "keys uniform"),
        ("text-oltp", &["--factor", "keys=zipf"], "keys zipf:0.8"),
        ("oltp", &[], "keys special:75:1"),
        ("oltp", &["--factor", "keys=1.0.20"], "keys special:75:1"),
        ("oltp", &["--factor", "keys=master"], "keys uniform"),
        ("oltp", &["--factor", "keys=special"], "keys special:75:1"),
    ];
    for (workload, flags, keys) in cases {
        let rows = if workload == "text-oltp" { "rows_from = \"generated\"\n" } else { "" };
        let text = format!("workload = \"{workload}\"\nengine = [\"sqlite\", \"lmdb\"]\n{rows}");
        place.write("mine.toml", &text);
        let plan = place.run(&[&["run", "mine.toml", "--dry-run"], flags].concat()).code(0).out();
        let equal = plan.lines().find_map(|line| line.strip_prefix("all else equal: "));
        let told = equal.is_some_and(|all| all.split(", ").any(|level| level == keys));
        assert!(told, "{workload} {flags:?}: {plan}");
    }
}

/// Tests and distributions are factors as any other.
#[test]
fn tests_of_sysbench_are_planned_with_several_distributions_of_keys() {
    let place = Place::new();
    let tests = ["--factor", "test=read_write,point_select"];
    let keys = ["--factor", "keys=uniform,zipf:0.99,special"];
    let run = ["run", "oltp", "--scale", "1M", "--repetitions", "1", "--dry-run"];
    let plan = place.run(&[&run[..], &tests, &keys].concat()).code(0);
    for test in ["read_write", "point_select"] {
        for keys in ["uniform", "zipf:0.99", "special:75:1"] {
            let is_its = |line: &&str| line.contains(test) && line.contains(keys);
            let out = plan.out();
            assert_eq!(out.lines().filter(is_its).count(), 1, "{test} {keys}: {out}");
        }
    }
}

#[test]
fn every_report_tells_the_distribution_of_keys() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"oltp\"\nengine = [\"sqlite\", \"lmdb\"]\n");
    let short = ["--seconds", "0.5", "--repetitions", "1", "--quiet"];
    place.run(&[&["run", "mine.toml", "--out", "r"], &short[..]].concat()).code(0);
    for format in ["md", "term", "html"] {
        let report = place.run(&["report", "r", "--format", format]).code(0).out();
        // However it is broken into lines.
        let words: Vec<&str> = report.split_whitespace().collect();
        assert!(words.join(" ").contains("keys special:75:1"), "{format}: {report}");
    }
}
