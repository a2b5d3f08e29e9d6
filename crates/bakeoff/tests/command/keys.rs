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
