//! The page docs/findings/break-tarantool.md says what its run folders say: every row of its tables is made
//! from there.

use bakeoff_analysis::{Comparison, PromiseView, Verdict};
use bakeoff_results::{AuditResult, Cut, FileSystem, RunFolder};

use super::kept;

const PAGE: &str = include_str!("../../../../docs/findings/break-tarantool.md");

/// What is left of an engine at a level on a file system.
#[derive(Default)]
struct Left {
    images: usize,
    whole: usize,
    lost: usize,
    does_not_start: usize,
    most_lost: u64,
}

impl Left {
    fn add(&mut self, found: &AuditResult) {
        self.images += 1;
        match (&found.corrupt, found.lost) {
            (Some(_), _) => self.does_not_start += 1,
            (None, 0) => self.whole += 1,
            (None, lost) => {
                self.lost += 1;
                self.most_lost = self.most_lost.max(lost);
            }
        }
    }
}

/// Of what a cut was.
fn of(cut: &Cut) -> [&str; 3] {
    [&cut.engine, &cut.durability, cut.file_system.name()]
}

/// What is taken out of a run folder of the page.
fn read<T>(name: &str, take: impl FnOnce(&RunFolder) -> T) -> T {
    kept::read(&format!("break-tarantool/{name}"), take)
}

/// The rows of a run's table, in the order of its cuts.
fn rows(name: &str) -> String {
    let cuts = read(name, |folder| folder.cuts().unwrap());
    assert!(cuts.iter().all(|cut| cut.failed.is_none()), "a cut says nothing");
    let mut all: Vec<([&str; 3], Left)> = Vec::new();
    for cut in &cuts {
        let place = all.iter().position(|(known, _)| *known == of(cut));
        let place = place.unwrap_or_else(|| {
            all.push((of(cut), Left::default()));
            all.len() - 1
        });
        cut.judged.iter().for_each(|judged| all[place].1.add(&judged.verdict));
    }
    all.sort_by_key(|(names, _)| *names);
    all.iter().map(|(names, left)| row(*names, left)).collect()
}

fn row([engine, level, file_system]: [&str; 3], left: &Left) -> String {
    let Left { images, whole, lost, does_not_start, most_lost } = left;
    let most = if *lost == 0 { "–".to_owned() } else { most_lost.to_string() };
    format!(
        "| `{engine}` | {level} | {file_system} | {images} | {whole} | {lost} | {does_not_start} | {most} |\n"
    )
}

#[track_caller]
fn assert_page(rows: &str) {
    assert!(
        PAGE.contains(rows),
        "docs/findings/break-tarantool.md should hold these rows:\n{rows}"
    );
}

#[test]
fn what_was_left_after_an_orderly_restart_is_that_of_the_run() {
    assert_page(&rows("restart"));
}

#[test]
fn what_was_left_while_logs_turned_is_that_of_the_run() {
    assert_page(&rows("turns"));
}

/// The faults of vinyl in the log of its metadata (tarantool/tarantool#5823 is one) leave a database that does not
/// start again: cuts that are placed in what vinyl pays find them.
#[test]
fn the_faults_of_vinyls_metadata_are_found_and_counted_as_the_run_has_them() {
    let cuts = read("turns", |folder| folder.cuts().unwrap());
    let does_not_start = |it: &&Cut| it.judged.iter().any(|it| it.verdict.corrupt.is_some());
    let vinyl = cuts.iter().filter(|it| of(it) == ["tarantool:vinyl", "strict", "ext4"]);
    let found: Vec<&Cut> = vinyl.filter(does_not_start).collect();
    let placed = found.iter().filter_map(|it| it.placed.as_ref()).filter(|it| it.came);
    let payments: Vec<&str> = placed.map(|it| &*it.payment).collect();
    for payment in ["dump or compaction", "snapshot", "turn of the metadata's log"] {
        assert!(payments.contains(&payment), "{payment}: {payments:?}");
    }
    assert_page(&format!(
        "from {} of the 50 cuts, the server does not start. {} of these cuts are placed",
        found.len(),
        payments.len()
    ));
}

/// After how many cuts an engine did not keep a level on ext4, of a run.
fn broken(run: &str, engine: &str) -> String {
    let document = read(run, |folder| bakeoff_analysis::document(folder).unwrap());
    let is_it = |it: &&PromiseView| {
        it.engine == engine && it.durability == "strict" && it.file_system == FileSystem::Ext4
    };
    let it = document.promises.iter().find(is_it).expect("it was cut");
    format!("{} of {}", it.broken, it.cuts)
}

/// The version that each run had.
fn version() -> String {
    let mut versions = ["restart", "turns"].map(|name| {
        let run = read(name, |folder| folder.run().unwrap());
        let engine =
            run.engines.iter().find(|it| it.name.starts_with("tarantool")).expect("Tarantool");
        engine.version.clone()
    });
    versions.sort();
    assert_eq!(versions[0], versions[1]);
    versions[0].clone()
}

/// What README says of these runs.
pub fn in_short() -> Vec<String> {
    vec![format!(
        "Tarantool {}'s vinyl after {} cuts",
        version(),
        broken("turns", "tarantool:vinyl")
    )]
}

/// What the index of the findings says of them.
pub fn in_index() -> Vec<String> {
    let restarted = ["tarantool:memtx", "tarantool:vinyl"].map(|engine| broken("restart", engine));
    assert_eq!(restarted, ["6 of 6"; 2]);
    let [memtx, vinyl] =
        ["tarantool:memtx", "tarantool:vinyl"].map(|engine| broken("turns", engine));
    let document = read("log-as-it-comes", |folder| bakeoff_analysis::document(folder).unwrap());
    let of_strict = document.comparisons.iter().filter(|it| it.levels["durability"] == "strict");
    assert!(
        of_strict.clone().count() == 2 && of_strict.clone().all(|it| it.verdict == Verdict::Void)
    );
    vec![
        "each of 6 cuts of each engine".to_owned(),
        format!("memtx does not start after {memtx} cuts, and vinyl after {vinyl}"),
        format!("Tarantool {}", version()),
    ]
}

/// Times with the log synced and without one, and the ratio with its interval.
#[test]
fn what_the_log_costs_is_what_the_run_has() {
    let document = read("log-synced", |folder| bakeoff_analysis::document(folder).unwrap());
    let engine = "tarantool:memtx/snapshot_at_start=yes";
    let milliseconds = |level: &str, operation: &str| {
        let cell = document.cells.iter().find(|it| it.levels["durability"] == level).unwrap();
        let its = cell.operations.iter().find(|it| it.name == operation).unwrap();
        format!("{:.1} ms", its.mean_s.unwrap() * 1e3)
    };
    for operation in ["create_issue", "process_issues"] {
        let is_it = |it: &&Comparison| {
            it.operation == operation && it.level == "strict" && it.baseline == "none"
        };
        let it = document.comparisons.iter().find(is_it).unwrap();
        let (low, high) = (it.low.unwrap(), it.high.unwrap());
        let (low, high) = ((low * 100.0).floor() / 100.0, (high * 100.0).ceil() / 100.0);
        assert_page(&format!(
            "| `{engine}` | {operation} | {} | {} | {:.2} times as long ({low:.2} to {high:.2}) |\n",
            milliseconds("none", operation),
            milliseconds("strict", operation),
            it.ratio.unwrap(),
        ));
    }
}
