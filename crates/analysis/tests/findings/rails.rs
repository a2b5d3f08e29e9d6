//! docs/findings/redmine-rails.md: Redmine itself beside its statements alone.

use std::sync::LazyLock;

use bakeoff_analysis::{Document, select_counted};
use bakeoff_results::measure::{CPU, DONE_RATE, OPERATIONS};
use bakeoff_results::{Scope, TrialSummary};

use crate::figures::{Times, digits};
use crate::kept::{self, Place, has};
use crate::page::{check_file, check_page, csv, table};

static REAL: LazyLock<Document> = LazyLock::new(|| kept::read("findings/redmine-rails/real"));
static MODELLED: LazyLock<Document> =
    LazyLock::new(|| kept::read("findings/redmine-rails/modelled"));

const ENGINES: [(&str, &str); 4] = [
    ("mariadb:innodb", "InnoDB"),
    ("mariadb:rocksdb", "MyRocks"),
    ("postgres", "PostgreSQL"),
    ("sqlite", "SQLite"),
];
const OUTSIDE: (&str, &str) = ("programs", "outside");
const INSIDE: (&str, &str) = ("programs", "inside");

/// The trials of an engine in a run.
struct EngineTrials<'a>(Vec<&'a TrialSummary>);

impl<'a> EngineTrials<'a> {
    fn new(document: &'a Document, engine: &'a str, more: &Place<'a>) -> Self {
        let at: Vec<_> = more.iter().copied().chain([("engine", engine)]).collect();
        let counted = select_counted(&document.trials).into_iter();
        Self(counted.filter(|trial| has(&trial.levels, &at)).collect())
    }

    fn rates(&self) -> impl Iterator<Item = (u32, f64)> {
        let rate = |it: &&TrialSummary| {
            it.measures.get(&DONE_RATE, &Scope::Clients).expect("it was counted")
        };
        self.0.iter().map(move |it| (it.repetition, rate(it)))
    }

    fn rate(&self) -> String {
        let sum: f64 = self.rates().map(|(_, rate)| rate).sum();
        digits(sum / self.0.len() as f64)
    }

    /// What all trials used for each operation that they ran.
    fn each(&self, used: impl Fn(&TrialSummary) -> f64) -> f64 {
        let ran =
            |it: &TrialSummary| it.measures.get(&OPERATIONS, &Scope::Clients).expect("operations");
        let sum = |of: &dyn Fn(&TrialSummary) -> f64| self.0.iter().map(|it| of(it)).sum::<f64>();
        sum(&used) / sum(&ran)
    }

    /// How many times as many operations it does as the other trials of the same repetitions.
    fn over(&self, other: &Self) -> String {
        let pair = |(repetition, rate): (u32, f64)| {
            let beside = other.rates().find(|(it, _)| *it == repetition)?;
            Some((beside.1, rate))
        };
        Times::from_pairs(&self.rates().filter_map(pair).collect::<Vec<_>>()).plain()
    }
}

fn count(name: &'static str) -> impl Fn(&TrialSummary) -> f64 {
    move |trial| {
        let found = trial.measures.counters().find(|(it, _)| *it == name);
        found.map_or(0.0, |(_, count)| count as f64)
    }
}

fn rates() -> String {
    let innodb = |document, more: &Place<'static>| EngineTrials::new(document, ENGINES[0].0, more);
    let rows = ENGINES.map(|(engine, name)| {
        let real = EngineTrials::new(&REAL, engine, &[OUTSIDE]);
        let modelled = EngineTrials::new(&MODELLED, engine, &[]);
        let beside = match name {
            "InnoDB" => ["1".to_owned(), "1".to_owned()],
            _ => [real.over(&innodb(&REAL, &[OUTSIDE])), modelled.over(&innodb(&MODELLED, &[]))],
        };
        // It always is.
        let inside = match name {
            "SQLite" => "–".to_owned(),
            _ => EngineTrials::new(&REAL, engine, &[INSIDE]).over(&real),
        };
        let [real, modelled] = [real.rate(), modelled.rate()];
        format!("{name} | {real} | {} | {inside} | {modelled} | {}", beside[0], beside[1])
    });
    table(
        "engine | Redmine, operations a second | over InnoDB | inside over outside | modelled | over InnoDB",
        rows,
    )
}

fn work() -> String {
    let rows = ENGINES.map(|(engine, name)| {
        let real = EngineTrials::new(&REAL, engine, &[OUTSIDE]);
        let modelled = EngineTrials::new(&MODELLED, engine, &[]);
        let inside = real.each(count("program_in_database_us"));
        let share = inside / real.each(count("program_operations_us"));
        // In SQLite's process Ruby is, too.
        let of_server = |trials: &EngineTrials<'_>, used: &dyn Fn(&TrialSummary) -> f64| match name
        {
            "SQLite" => "–".to_owned(),
            _ => digits(trials.each(used)),
        };
        let cpu = |it: &TrialSummary| it.measures.of_database(&CPU).unwrap_or_default() * 1e3;
        let logged = |it: &TrialSummary| {
            let names = ["Innodb_os_log_written", "Rocksdb_wal_bytes", "log bytes"];
            names.map(|name| count(name)(it)).iter().sum::<f64>() / 1e3
        };
        let figures = [
            digits(inside / 1e3),
            digits(share * 100.0),
            of_server(&real, &cpu),
            of_server(&modelled, &cpu),
            of_server(&real, &logged),
            of_server(&modelled, &logged),
            digits(real.each(count("program_statements"))),
        ];
        format!("{name} | {}", figures.join(" | "))
    });
    let columns = "engine | ms of an operation in calls of the database | % of its time | server's CPU ms | modelled \
                   | kB logged | modelled | statements";
    csv(columns, rows)
}

#[test]
fn the_page_is_of_the_runs() {
    check_file("docs/findings/redmine-rails/work.csv", &work());
    check_page("docs/findings/redmine-rails.md", &[("rates", rates())]);
}
