//! docs/findings/redmine-mariadb.md: two engines over nine minutes, by the second.

mod picture;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bakeoff_analysis::{Document, TrialSeries, read_document};
use bakeoff_results::measure::*;
use bakeoff_results::{OwedSeries, TrialSummary};
use bakeoff_stats::MARGIN;
use bakeoff_stats::paired::Decision;

use crate::figures::{Times, digits};
use crate::kept;
use crate::page::{Named, check_file, check_page, csv, fill, table};

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
type Pair = [Watched<'static>; 2];

/// What a trial comes to.
type Figure = fn(Watched) -> f64;

static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    kept::open("findings/redmine-mariadb", |folder| {
        let mut document = read_document(folder).expect("a document");
        document.take_series(folder).expect("its series");
        document
    })
});

/// The pairs that count, or those that were set aside, in the order of their blocks.
fn pairs(valid: bool) -> Vec<Pair> {
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

    fn longest_s(self) -> f64 {
        let slots = self.series.operations.iter().flat_map(|operation| &operation.slots);
        slots.filter_map(|slot| slot.latency_s).map(|[.., most]| most).fold(0.0, f64::max)
    }

    fn measure(self, measure: &'static Measure, scope: Scope) -> f64 {
        self.trial.measures.get(measure, &scope).expect("it was measured")
    }

    fn counter(self, name: &str) -> f64 {
        self.trial.measures.counters().find(|(it, _)| *it == name).expect(name).1 as f64
    }

    fn owed(self, name: &str) -> &'a OwedSeries {
        self.series.debts.owed.iter().find(|owed| owed.name == name).expect(name)
    }

    fn most_owed(self, name: &str) -> f64 {
        self.owed(name).points.iter().map(|(_, amount)| *amount).max().expect("a look") as f64
    }

    /// When something was seen to have been paid.
    fn paid(self, name: &str) -> Vec<f64> {
        let payment = self.series.debts.payments.iter().find(|it| it.name == name).expect(name);
        assert!(payment.ended.iter().all(|(_, number)| *number == 1), "each is seen by itself");
        payment.ended.iter().map(|(at, _)| *at).collect()
    }

    /// When, and what percentage of its limit was owed.
    fn percentage(self, name: &str) -> Vec<(f64, f64)> {
        let owed = self.owed(name);
        let limit = owed.limit.expect("it has a limit") as f64;
        owed.points.iter().map(|&(at, amount)| (at, 100.0 * amount as f64 / limit)).collect()
    }

    fn percentage_after(self, name: &str, after_s: f64) -> f64 {
        self.percentage(name).into_iter().find(|(at, _)| *at >= after_s).expect("a look").1
    }

    fn most_percent(self, name: &str) -> f64 {
        self.percentage(name).into_iter().map(|(_, share)| share).fold(0.0, f64::max)
    }
}

/// Claims of which less is better.
const COSTS: [(&str, Figure); 6] = [
    ("seconds in which nothing ended", |it| {
        it.seconds().iter().filter(|ended| **ended == 0).count() as f64
    }),
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

/// What InnoDB deferred, and MyRocks.
const DEFERRED: [(usize, &str, Figure); 13] = [
    (0, "redo log in use after one minute, % of what it may hold", |it| {
        it.percentage_after("checkpoint age", 60.0)
    }),
    (0, "80 % in use after, s", |it| {
        let mut log = it.percentage("checkpoint age").into_iter();
        log.find(|(_, share)| *share >= 80.0).expect("it fills").0
    }),
    (0, "the most in use, %", |it| it.most_percent("checkpoint age")),
    (0, "in use after nine minutes, %", |it| it.percentage_after("checkpoint age", RAN_S)),
    (0, "the most dirty pages, % of what begins their writing", |it| {
        it.most_percent("dirty pages")
    }),
    (0, "pages written back while clients ran", |it| {
        it.counter("Innodb_buffer_pool_pages_flushed")
    }),
    (1, "memtables flushed", |it| it.paid("memtable flush").len() as f64),
    (1, "the last of these after, s", |it| *it.paid("memtable flush").last().expect("one")),
    (1, "the most in level 0, MB", |it| it.most_owed("level 0") / 1e6),
    (1, "files in it then", |it| it.most_owed("files in level 0")),
    (1, "compactions", |it| it.paid("compaction").len() as f64),
    (1, "the compaction ended after, s", |it| it.paid("compaction")[0]),
    (1, "time in RocksDB's own write stalls, s", |it| it.counter("Rocksdb_stall_micros") / 1e6),
];

/// A figure of each block; counts as they are.
fn each(pairs: &[Pair], engine: usize, figure: impl Fn(Watched) -> f64) -> String {
    let figures = pairs.iter().map(|pair| figure(pair[engine]));
    let told = figures.map(|it| if it.fract() == 0.0 { it.to_string() } else { digits(it) });
    told.collect::<Vec<_>>().join(", ")
}

/// MyRocks over InnoDB.
fn compare(pairs: &[Pair], figure: impl Fn(Watched) -> f64) -> Times {
    let figures: Vec<_> = pairs.iter().map(|[one, other]| (figure(*one), figure(*other))).collect();
    Times::from_pairs(&figures)
}

/// A claim: each trial's figure, the ratio of the pairs, and which engine it speaks for.
fn claim(pairs: &[Pair], name: &str, better: [&str; 2], figure: impl Fn(Watched) -> f64) -> String {
    let times = compare(pairs, &figure);
    let better = match Decision::from_interval(times.low, times.high, MARGIN) {
        Decision::Faster => better[0],
        Decision::Slower => better[1],
        _ => "undecided",
    };
    let [one, other] = [0, 1].map(|engine| each(pairs, engine, &figure));
    format!("{name} | {one} | {other} | {} | {better}", times.plain())
}

/// MyRocks over InnoDB in operations a second from the first second on: of those that count, and of all pairs.
fn in_operations(until_s: f64) -> [Times; 2] {
    let counted = pairs(true);
    let all = [counted.clone(), pairs(false)].concat();
    [counted, all].map(|pairs| compare(&pairs, |it| it.per_second(0.0, until_s)))
}

/// What the page's claims say, by the names of places.
fn figures() -> Vec<Named> {
    let [minute, nine] = [60.0, RAN_S].map(in_operations);
    let words = |times: Times| times.words("as much");
    vec![
        ("redmine: nine, three", words(nine[0])),
        ("redmine: nine, four", words(nine[1])),
        ("redmine: minute, three", words(minute[0])),
        ("redmine: minute, four", words(minute[1])),
    ]
}

fn blocks() -> Vec<Named> {
    let counted = pairs(true);
    let rates = STRETCHES.iter().map(|(name, from_s, to_s)| {
        let name = format!("operations a second, {name}");
        claim(&counted, &name, ["InnoDB", "MyRocks"], |it| it.per_second(*from_s, *to_s))
    });
    let costs =
        COSTS.iter().map(|(name, figure)| claim(&counted, name, ["MyRocks", "InnoDB"], figure));
    let [[innodb, myrocks]] = pairs(false)[..] else { panic!("one pair was set aside") };
    let ratios = DOCUMENT.comparisons.iter().map(|it| {
        let [ratio, low, high] = [it.ratio, it.low, it.high].map(|it| digits(it.expect("it has")));
        let fast = Times::from_comparison(it).plain();
        format!("{} | {ratio} ({low}–{high}) | {fast}", it.operation)
    });
    let mut figures = figures();
    figures.push((
        "redmine: aside",
        digits(myrocks.per_second(0.0, RAN_S) / innodb.per_second(0.0, RAN_S)),
    ));
    vec![
        fill("redmine-mariadb: claims", &figures),
        (
            "figures",
            table(
                "claim | InnoDB | MyRocks | MyRocks ÷ InnoDB (95 %) | better",
                rates.chain(costs),
            ),
        ),
        ("report", table("operation | ratio of mean times (95 %) | times as fast", ratios)),
    ]
}

fn aside() -> String {
    let [[innodb, myrocks]] = pairs(false)[..] else { panic!("one pair was set aside") };
    let rows = STRETCHES.map(|(name, from_s, to_s)| {
        let [one, other] = [innodb, myrocks].map(|it| it.per_second(from_s, to_s));
        [name, &digits(one), &digits(other), &digits(other / one)].join(" | ")
    });
    csv("stretch | InnoDB | MyRocks | MyRocks ÷ InnoDB", rows)
}

fn deferred() -> String {
    let counted = pairs(true);
    let row = |(engine, name, figure): (usize, &str, Figure)| {
        let who = ["InnoDB", "MyRocks"][engine];
        format!("{who} | {name} | {}", each(&counted, engine, figure)).replace(',', "")
    };
    csv("engine | what the run recorded | blocks 1 2 3", DEFERRED.map(row))
}

#[test]
fn the_page_and_its_picture_are_of_the_run() {
    check_file("docs/findings/redmine-mariadb/over-time.svg", &picture::draw());
    check_file("docs/findings/redmine-mariadb/aside.csv", &aside());
    check_file("docs/findings/redmine-mariadb/deferred.csv", &deferred());
    check_page("docs/findings/redmine-mariadb.md", &blocks());
}
