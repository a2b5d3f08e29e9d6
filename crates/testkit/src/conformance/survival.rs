//! Kills a process that commits with SIGKILL, and checks the database in the next one.
//!
//! The system keeps everything that a killed process has handed to it, so every acknowledged commit
//! must be there, unless the engine says that it hands them over later; only a power cut shows the
//! difference between the other levels. The rest must be whole in any case.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bakeoff_engines::{Access, Durability, Engine, OpenTerms};

use crate::conformance::bank::{self, Teller};
use crate::conformance::model::{Cell, Row, cells};
use crate::conformance::{ALONE, given};

/// Marks the process that is to be killed; holds the folder and the durability.
const FOLDER: &str = "CONFORMANCE_FOLDER";
const DURABILITY: &str = "CONFORMANCE_DURABILITY";

const ROUNDS: u64 = 3;
const ACCOUNTS: i64 = 16;

/// Runs the check in the suite's test of the same name.
pub fn acknowledged_commits_survive_a_kill(engine: &dyn Engine) {
    survive_a_kill(engine, "acknowledged_commits_survive_a_kill");
}

/// Starts itself again as the test of that name, for the same engine alone; that process is the
/// victim.
pub fn survive_a_kill(engine: &dyn Engine, test: &str) {
    if let (Some(folder), Ok(level)) = (std::env::var_os(FOLDER), std::env::var(DURABILITY)) {
        let durability = Durability::from_name(&level).expect("a durability");
        commit_for_ever(engine, Path::new(&folder), &OpenTerms::new(durability));
    }
    for durability in given(engine) {
        let terms = OpenTerms::new(durability);
        let folder = crate::conformance::folder::of(engine);
        let mut last = 0;
        for round in 0..ROUNDS {
            let acknowledged =
                kill_a_writer((engine, test), folder.path(), &terms, 5 + round * 20, round);
            assert!(acknowledged > last, "the writer went on where the last one was killed");
            let left = look(engine, folder.path(), &terms, acknowledged);
            assert!(left >= last, "{last} had outlived a kill before, {left} are left");
            last = left;
        }
    }
}

/// Commits numbered transactions, each over two tables and three indexes, and prints each number.
fn commit_for_ever(engine: &dyn Engine, folder: &Path, terms: &OpenTerms) -> ! {
    let database = bank::open(engine, folder, terms);
    let mut teller = Teller::new(&*database);
    let done = teller.run(bank::TICKETS_BY_KEY, &[]) as i64;
    let mut out = std::io::stdout();
    for number in done + 1.. {
        let body = |teller: &mut Teller<'_>| {
            teller.new_ticket(number, number % 3)?;
            teller.try_run(bank::PUT, &[number % ACCOUNTS, number])
        };
        teller.transaction(Access::Write, body).expect("a transaction");
        writeln!(out, "\nacknowledged {number}").and_then(|()| out.flush()).expect("a reader");
    }
    unreachable!("numbers do not end");
}

/// Starts a writer, kills it a little after this many commits, and returns the last one that it
/// printed.
fn kill_a_writer(
    (engine, test): (&dyn Engine, &str),
    folder: &Path,
    terms: &OpenTerms,
    commits: u64,
    round: u64,
) -> i64 {
    let mut writer = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", test, "--include-ignored", "--nocapture", "--test-threads=1"])
        .env(ALONE, engine.about().name)
        .env(FOLDER, folder)
        .env(DURABILITY, terms.durability.name())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a writer");
    let mut output = BufReader::new(writer.stdout.take().expect("its output"));
    let mut line = String::new();
    let mut seen = 0;
    while seen < commits {
        line.clear();
        assert_ne!(output.read_line(&mut line).expect("a line"), 0, "the writer ended by itself");
        seen += u64::from(line.starts_with("acknowledged "));
    }
    std::thread::sleep(Duration::from_micros(137 * round));
    writer.kill().expect("SIGKILL");
    writer.wait().expect("its end");
    let mut rest = line;
    output.read_to_string(&mut rest).expect("what it still said");
    let last = rest.lines().rev().find_map(|line| line.strip_prefix("acknowledged ")?.parse().ok());
    last.expect("a number")
}

/// Checks that exactly the first transactions are there, whole, including the acknowledged ones if
/// the engine promises it; returns how many.
fn look(engine: &dyn Engine, folder: &Path, terms: &OpenTerms, acknowledged: i64) -> i64 {
    let level = terms.durability.name();
    let database = bank::open(engine, folder, terms);
    assert_eq!(database.check().expect("check"), Vec::<String>::new(), "under {level}");
    let mut teller = Teller::new(&*database);
    let last = teller.run(bank::TICKETS_BY_KEY, &[]) as i64;
    assert!(
        last >= acknowledged || !engine.survives_kill(terms.durability),
        "{acknowledged} were acknowledged under {level}, {last} are left"
    );
    assert!(last <= acknowledged + 1, "{last} are there, {acknowledged} were acknowledged");
    let codes: Vec<Cell> = sorted(&teller).into_iter().map(|row| row[1].clone()).collect();
    assert_eq!(codes, (1..=last).map(Cell::Int).collect::<Vec<_>>());
    let of_shelves = (0..3).map(|shelf| teller.run(bank::TICKETS_OF_SHELF, &[shelf]) as i64);
    assert_eq!(of_shelves.sum::<i64>(), last, "an index does not fit its table");

    // A transaction that was cut short stays half done if it can't be undone.
    let half_done = !engine.about().rolls_back && last > acknowledged;
    for statement in [bank::BY_KEY, bank::BY_BALANCE] {
        teller.run(statement, &[]);
        let left = sorted(&teller);
        if !(half_done && left == balances_after(last - 1)) {
            assert_eq!(left, balances_after(last), "half a transaction is left under {level}");
        }
    }
    last
}

/// The rows of all accounts after the first `last` transactions.
fn balances_after(last: i64) -> Vec<Row> {
    let latest = |account| (1..=last).rev().find(|number| number % ACCOUNTS == account);
    let row = |account| Some(vec![Cell::Int(account), Cell::Int(latest(account)?)]);
    (0..ACCOUNTS).filter_map(row).collect()
}

fn sorted(teller: &Teller<'_>) -> Vec<Row> {
    let mut rows = cells(&teller.rows);
    rows.sort();
    rows
}
