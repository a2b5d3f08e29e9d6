//! The page docs/findings/redmine-mariadb.md says what its run folder says: every row of its tables, and
//! its picture, are made from there.

mod picture;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use bakeoff_analysis::{Document, TrialSeries};
use bakeoff_results::measure::*;
use bakeoff_results::{OwedSeries, TrialSummary};
use bakeoff_stats::paired::{self, CONFIDENCE, Decision, MARGIN};

use super::kept;

/// The run folder, below docs/findings.
const NAME: &str = "redmine-mariadb";
const PAGE: &str = include_str!("../../../../docs/findings/redmine-mariadb.md");

/// The stretches of a trial that the page speaks of, in seconds.
const STRETCHES: [(&str, f64, f64); 6] = [
    ("0:00–1:00", 0.0, 60.0),
    ("1:00–3:30", 60.0, 210.0),
    ("3:30–5:00", 210.0, 300.0),
    ("5:00–7:00", 300.0, 420.0),
    ("7:00–9:00", 420.0, RAN_S),
    ("all nine minutes", 0.0, RAN_S),
];

/// How long clients started operations.
const RAN_S: f64 = 540.0;

/// A trial with its series.
#[derive(Clone, Copy)]
struct Watched<'a> {
    trial: &'a TrialSummary,
    series: &'a TrialSeries,
}

/// InnoDB and MyRocks in one block.
type Pair<'a> = [Watched<'a>; 2];

fn folder() -> PathBuf {
    kept::path(NAME)
}

/// The run, with its series.
static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    kept::read(NAME, |folder| {
        let mut document = bakeoff_analysis::document(folder).unwrap();
        document.take_series(folder).unwrap();
        document
    })
});

/// The pairs that count, or those that were set aside, in the order of their blocks.
fn pairs(valid: bool) -> Vec<Pair<'static>> {
    let mut blocks: BTreeMap<(u32, u32), BTreeMap<&str, Watched<'_>>> = BTreeMap::new();
    for (trial, series) in DOCUMENT.trials.iter().zip(&DOCUMENT.series) {
        if trial.valid == valid {
            let block = blocks.entry((trial.block, trial.attempt)).or_default();
            block.insert(&trial.levels["engine"], Watched { trial, series });
        }
    }
    let pair = |block: BTreeMap<_, _>| ["mariadb:innodb", "mariadb:rocksdb"].map(|it| block[it]);
    blocks.into_values().map(pair).collect()
}

impl<'a> Watched<'a> {
    /// How many operations ended in each second, all kinds together.
    fn seconds(self) -> Vec<u64> {
        let mut seconds = vec![0; RAN_S as usize];
        for slot in self.series.operations.iter().flat_map(|operation| &operation.slots) {
            if let Some(second) = seconds.get_mut(slot.start_s as usize) {
                *second += slot.count;
            }
        }
        seconds
    }

    fn per_second(self, from_s: f64, to_s: f64) -> f64 {
        let ended: u64 = self.seconds()[from_s as usize..to_s as usize].iter().sum();
        ended as f64 / (to_s - from_s)
    }

    /// Seconds in which no operation ended.
    fn idle_s(self) -> f64 {
        self.seconds().iter().filter(|ended| **ended == 0).count() as f64
    }

    /// The longest operation, whenever it started.
    fn longest_s(self) -> f64 {
        let slots = self.series.operations.iter().flat_map(|operation| &operation.slots);
        slots.filter_map(|slot| slot.latency_s).map(|[.., most]| most).fold(0.0, f64::max)
    }

    fn measure(self, measure: &'static Measure, scope: Scope) -> f64 {
        self.trial.measures.get(measure, &scope).unwrap()
    }

    fn counter(self, name: &str) -> f64 {
        self.trial.measures.counters().find(|(it, _)| *it == name).unwrap().1 as f64
    }

    fn owed(self, name: &str) -> &'a OwedSeries {
        self.series.debts.owed.iter().find(|owed| owed.name == name).unwrap()
    }

    fn most_owed(self, name: &str) -> f64 {
        self.owed(name).points.iter().map(|(_, amount)| *amount).max().unwrap() as f64
    }

    /// When something was seen to have been paid, without how often.
    fn paid(self, name: &str) -> Vec<f64> {
        let payment = self.series.debts.payments.iter().find(|it| it.name == name).unwrap();
        assert!(payment.ended.iter().all(|(_, number)| *number == 1), "each is seen by itself");
        payment.ended.iter().map(|(at, _)| *at).collect()
    }

    /// When, and what percentage of its limit was owed.
    fn percentage(self, name: &str) -> Vec<(f64, f64)> {
        let owed = self.owed(name);
        let limit = owed.limit.unwrap() as f64;
        owed.points.iter().map(|&(at, amount)| (at, 100.0 * amount as f64 / limit)).collect()
    }

    fn percentage_after(self, name: &str, after_s: f64) -> f64 {
        self.percentage(name).into_iter().find(|(at, _)| *at >= after_s).unwrap().1
    }

    fn most_percent(self, name: &str) -> f64 {
        self.percentage(name).into_iter().map(|(_, share)| share).fold(0.0, f64::max)
    }

    /// When InnoDB's log was at 80 % first.
    fn log_at_80(self) -> f64 {
        self.percentage("checkpoint age").into_iter().find(|(_, share)| *share >= 80.0).unwrap().0
    }
}

/// Three significant digits; all of a whole number.
fn digits(value: f64) -> String {
    if value.fract() == 0.0 {
        return value.to_string();
    }
    let whole = value.abs().log10().floor().max(-3.0) as i32;
    format!("{value:.*}", (2 - whole).max(0) as usize)
}

fn each<'a>(trials: impl Iterator<Item = Watched<'a>>, of: impl Fn(Watched<'a>) -> f64) -> String {
    trials.map(|trial| digits(of(trial))).collect::<Vec<_>>().join(", ")
}

/// A claim: each trial's figure, the ratio of the pairs, and which engine it speaks for.
fn claim(
    pairs: &[Pair<'_>],
    name: &str,
    more_is_better: bool,
    of: impl Fn(Watched) -> f64,
) -> String {
    let figures: Vec<_> = pairs.iter().map(|[one, other]| (of(*one), of(*other))).collect();
    let estimate = paired::ratio(&figures, CONFIDENCE).unwrap();
    let (low, high) = (estimate.low.unwrap(), estimate.high.unwrap());
    let better = match (Decision::from_interval(low, high, MARGIN), more_is_better) {
        (Decision::Faster, false) | (Decision::Slower, true) => "MyRocks",
        (Decision::Faster, true) | (Decision::Slower, false) => "InnoDB",
        _ => "undecided",
    };
    let side = |at: usize| each(pairs.iter().map(|pair| pair[at]), &of);
    format!(
        "| {name} | {} | {} | {} ({}–{}) | {better} |\n",
        side(0),
        side(1),
        digits(estimate.ratio),
        digits(low),
        digits(high),
    )
}

/// What a trial comes to.
type Figure = fn(Watched) -> f64;

/// Claims of which less is better.
const COSTS: [(&str, Figure); 6] = [
    ("seconds in which nothing ended", |it| it.idle_s()),
    ("longest operation, s", |it| it.longest_s()),
    ("time to write back what was left at the end, s", |it| it.measure(&DRAIN, Scope::Trial)),
    ("bytes written to the device for each byte of the application", |it| {
        it.measure(&WORK_WRITTEN, Scope::Trial) / it.measure(&PAYLOAD, Scope::Clients)
    }),
    ("space on disk afterwards, MB", |it| it.measure(&SPACE, Scope::Trial) / 1e6),
    ("the server's processor time an operation, ms", |it| {
        1e3 * it.measure(&CPU, Scope::DATABASE) / it.measure(&OPERATIONS, Scope::Clients)
    }),
];

/// What the engines deferred: of which engine, and what.
const DEFERRED: [(usize, &str, Figure); 13] = [
    (0, "redo log in use after one minute, % of what it may hold", |it| {
        it.percentage_after("checkpoint age", 60.0)
    }),
    (0, "80 % in use after, s", |it| it.log_at_80()),
    (0, "the most in use, %", |it| it.most_percent("checkpoint age")),
    (0, "in use after nine minutes, %", |it| it.percentage_after("checkpoint age", RAN_S)),
    (0, "the most dirty pages, % of what begins their writing", |it| {
        it.most_percent("dirty pages")
    }),
    (0, "pages written back while clients ran", |it| {
        it.counter("Innodb_buffer_pool_pages_flushed")
    }),
    (1, "memtables flushed", |it| it.paid("memtable flush").len() as f64),
    (1, "the last of these after, s", |it| *it.paid("memtable flush").last().unwrap()),
    (1, "the most in level 0, MB", |it| it.most_owed("level 0") / 1e6),
    (1, "files in it then", |it| it.most_owed("files in level 0")),
    (1, "compactions", |it| it.paid("compaction").len() as f64),
    (1, "the compaction ended after, s", |it| it.paid("compaction")[0]),
    (1, "time in RocksDB's own write stalls, s", |it| it.counter("Rocksdb_stall_micros") / 1e6),
];

#[track_caller]
fn assert_page(rows: &str) {
    assert!(
        PAGE.contains(rows),
        "docs/findings/redmine-mariadb.md should hold these rows:\n{rows}"
    );
}

#[test]
fn the_claims_are_those_of_the_run() {
    let pairs = pairs(true);
    assert_eq!(pairs.len(), 3);
    let mut rows = String::new();
    for (name, from_s, to_s) in STRETCHES {
        let name = format!("operations a second, {name}");
        rows += &claim(&pairs, &name, true, |it| it.per_second(from_s, to_s));
    }
    for (name, of) in COSTS {
        rows += &claim(&pairs, name, false, of);
    }
    assert_page(&rows);
}

#[test]
fn what_was_deferred_is_what_the_run_recorded() {
    let pairs = pairs(true);
    let mut rows = String::new();
    for (engine, name, of) in DEFERRED {
        let who = ["InnoDB", "MyRocks"][engine];
        rows += &format!("| {who} | {name} | {} |\n", each(pairs.iter().map(|it| it[engine]), of));
    }
    assert_page(&rows);
}

/// The pair that was set aside did otherwise, and the page says so.
#[test]
fn the_pair_that_was_set_aside_is_shown() {
    let [[innodb, myrocks]] = pairs(false)[..] else { panic!("one pair was set aside") };
    let mut rows = String::new();
    for (name, from_s, to_s) in STRETCHES {
        let [one, other] = [innodb, myrocks].map(|it| it.per_second(from_s, to_s));
        rows += &format!(
            "| {name} | {} | {} | {} |\n",
            digits(one),
            digits(other),
            digits(other / one)
        );
    }
    assert_page(&rows);
}

/// MyRocks over InnoDB in operations a second, from the first second on, and the ends of the interval.
fn over_innodb(pairs: &[Pair<'_>], until_s: f64) -> [f64; 3] {
    let rates = pairs.iter().map(|pair| pair.map(|it| it.per_second(0.0, until_s)).into());
    let found = paired::ratio(&rates.collect::<Vec<_>>(), CONFIDENCE).unwrap();
    [found.ratio, found.low.unwrap(), found.high.unwrap()]
}

fn times_as_much(pairs: &[Pair<'_>], until_s: f64) -> String {
    kept::times("as much", over_innodb(pairs, until_s))
}

/// All pairs, those that were set aside too.
fn all_pairs() -> Vec<Pair<'static>> {
    [pairs(true), pairs(false)].concat()
}

/// What README says of this run.
pub fn in_short() -> Vec<String> {
    let all = all_pairs();
    vec![format!(
        "in 9 minutes MyRocks did {} as InnoDB with its log as shipped; {} pairs, {} disturbed",
        times_as_much(&all, RAN_S),
        all.len(),
        pairs(false).len()
    )]
}

/// What the index of the findings says of it.
pub fn in_index() -> Vec<String> {
    let (three, all) = (pairs(true), all_pairs());
    let taken = |operation: &str| {
        let mut comparisons = DOCUMENT.comparisons.iter();
        let it = comparisons.find(|it| it.operation == operation).expect("it is compared");
        format!("{} in `{operation}`", kept::judged("as fast", it))
    };
    let [_, low, high] = over_innodb(&all, 60.0);
    assert!(low < 1.0 && high > 1.0, "open");
    assert_eq!((three.len(), all.len()), (3, 4));
    // What the report leaves out as warm-up.
    let tenth_s = RAN_S / 10.0;
    let share = |[innodb, _]: &Pair<'_>| {
        innodb.per_second(0.0, tenth_s) / innodb.per_second(0.0, RAN_S) / 10.0
    };
    assert!(three.iter().all(|pair| share(pair) > 0.5));
    vec![
        format!("MyRocks did {} in all four pairs", times_as_much(&all, RAN_S)),
        format!("{} in the three that were not disturbed", times_as_much(&three, RAN_S)),
        format!("In the first minute it did {} in these three", times_as_much(&three, 60.0)),
        format!("{} in all four: open", times_as_much(&all, 60.0)),
        format!(
            "MyRocks {} and {}, {}",
            taken("create_issue"),
            taken("process_issues"),
            kept::confidence(&DOCUMENT)
        ),
    ]
}

#[test]
fn all_four_pairs_are_told_beside_the_three() {
    let all = all_pairs();
    let prose = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    for until_s in [60.0, RAN_S] {
        let words = format!("all four pairs have {}", times_as_much(&all, until_s));
        assert!(prose.contains(&words), "docs/findings/redmine-mariadb.md should say: {words}");
    }
}

/// What `bakeoff report` says of the same run, which leaves out the first tenth.
#[test]
fn the_ratios_of_the_report_are_those_of_the_run() {
    let mut rows = String::new();
    for comparison in &DOCUMENT.comparisons {
        rows += &format!(
            "| {} | {} ({}–{}) |\n",
            comparison.operation,
            digits(comparison.ratio.unwrap()),
            digits(comparison.low.unwrap()),
            digits(comparison.high.unwrap())
        );
    }
    assert_page(&rows);
}
