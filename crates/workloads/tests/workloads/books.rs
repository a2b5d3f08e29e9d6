//! After clients have worked on a real engine, the books balance.

use std::collections::HashSet;

use bakeoff_engines::statement::{Path, Read};
use bakeoff_engines::{
    Access, Action, Database, ENGINES, Home, Result, Rows, Session, Statement, Value,
};
use bakeoff_workloads::{Prepared, Tally};

use crate::{load, prepare};

/// Statements that read whole tables, numbered after the workload's own.
fn whole_tables(prepared: &dyn Prepared) -> Vec<Statement> {
    let tables = prepared.schema().tables.iter().enumerate();
    let whole = tables.map(|(number, table)| {
        let columns: Vec<usize> = (0..table.columns.len()).collect();
        let read = Read::range(number, Path::Key, 0, &columns);
        Statement { name: format!("all {}", table.name), action: Action::Read(read) }
    });
    whole.collect()
}

/// All rows of a table.
fn table(prepared: &dyn Prepared, database: &dyn Database, name: &str) -> Rows {
    let mut rows = Rows::new();
    let number = prepared.statements().len() + prepared.schema().table_number(name);
    database.session().unwrap().run(number, &[], &mut rows).unwrap();
    rows
}

fn column(prepared: &dyn Prepared, rows: &Rows, table: &str, name: &str) -> Vec<i64> {
    let column = prepared.schema().table(table).column_number(name);
    (0..rows.len()).map(|row| rows.int(row, column).unwrap()).collect()
}

/// Counts the commits of a client by what they changed.
struct Counting<'a> {
    inner: Box<dyn Session + 'a>,
    updates: Vec<usize>,
    pending: i64,
    /// Updates of issues that were committed.
    updated: i64,
}

impl Session for Counting<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.pending = 0;
        self.inner.begin(access)
    }

    fn run(&mut self, number: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let answer = self.inner.run(number, parameters, rows)?;
        self.pending += if self.updates.contains(&number) { answer as i64 } else { 0 };
        Ok(answer)
    }

    fn commit(&mut self) -> Result<()> {
        self.inner.commit()?;
        self.updated += std::mem::take(&mut self.pending);
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        self.inner.rollback()
    }
}

/// What one client did.
#[derive(Default)]
struct Done {
    created: usize,
    processed: usize,
    updated: i64,
    tally: Tally,
}

fn work(
    prepared: &dyn Prepared,
    database: &dyn Database,
    (number, clients): (usize, usize),
    operations: usize,
) -> Done {
    let statements = prepared.statements().iter().enumerate();
    let updates = statements
        .filter(|(_, statement)| matches!(statement.action, Action::Update { .. }))
        .map(|(number, _)| number)
        .collect();
    let inner = database.session().unwrap();
    let mut session = Counting { inner, updates, pending: 0, updated: 0 };
    let mut client = prepared.client(number, clients);
    let mut done = Done::default();
    for _ in 0..operations {
        let operation = client.choose();
        client.perform(operation, &mut session, &mut done.tally).unwrap();
        *[&mut done.created, &mut done.processed][operation] += 1;
    }
    done.updated = session.updated;
    done
}

/// Has clients work at once, and holds the tables against what they did.
fn balance(engine: &str, clients: usize, operations: usize) {
    let directory = tempfile::tempdir().unwrap();
    let redmine = prepare("redmine", "small");
    let redmine = &*redmine;
    let database = load(engine, directory.path(), redmine, whole_tables(redmine));
    let database = &*database;
    let done: Vec<Done> = std::thread::scope(|scope| {
        let start =
            |number| scope.spawn(move || work(redmine, database, (number, clients), operations));
        let clients: Vec<_> = (0..clients).map(start).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let created: usize = done.iter().map(|done| done.created).sum();
    let processed: usize = done.iter().map(|done| done.processed).sum();
    let transactions: u64 = done.iter().map(|done| done.tally.transactions).sum();
    assert_eq!(transactions as usize, 11 * created + 20 * processed);

    let [issues, journals, details, watchers] =
        ["issues", "journals", "journal_details", "watchers"]
            .map(|name| table(redmine, database, name));
    assert_eq!(issues.len(), 1_000 + created);
    assert_eq!(journals.len(), 10_000 + 10 * created + 20 * processed);
    assert_eq!(details.len(), 30 * processed);

    let versions: i64 = column(redmine, &issues, "issues", "lock_version").iter().sum();
    assert_eq!(versions, 11_000 + done.iter().map(|done| done.updated).sum::<i64>());
    let statuses = column(redmine, &issues, "issues", "status_id");
    assert!(statuses.iter().all(|status| [1, 3].contains(status)), "none is left in progress");

    let known: HashSet<i64> = column(redmine, &journals, "journals", "id").into_iter().collect();
    let detailed = column(redmine, &details, "journal_details", "journal_id");
    assert!(detailed.iter().all(|journal| known.contains(journal)), "a detail without a journal");

    let pairs = |table, rows: &Rows, first, second| -> Vec<(i64, i64)> {
        let firsts = column(redmine, rows, table, first);
        firsts.into_iter().zip(column(redmine, rows, table, second)).collect()
    };
    let mut found = pairs("watchers", &watchers, "watchable_id", "user_id");
    let mut expected = pairs("journals", &journals, "journalized_id", "user_id");
    expected.sort_unstable();
    expected.dedup();
    found.sort_unstable();
    assert_eq!(found, expected, "whoever contributed to an issue watches it, once");
    assert_eq!(database.check().unwrap(), Vec::<String>::new());
}

/// The engines that store something.
fn real_engines() -> impl Iterator<Item = &'static str> {
    ENGINES.iter().map(|engine| engine.about().name).filter(|name| *name != "null")
}

#[test]
fn the_books_balance_after_one_client() {
    real_engines().for_each(|engine| balance(engine, 1, 100));
}

/// The engines whose writers follow one another. Under the snapshots of the others two clients may
/// both find that a user does not watch an issue yet, and both add the watcher, as Redmine's do.
fn one_writer_at_a_time() -> impl Iterator<Item = &'static str> {
    let embedded = |name: &&str| {
        bakeoff_engines::find(name).is_some_and(|engine| engine.about().home == Home::Process)
    };
    real_engines().filter(embedded)
}

#[test]
fn the_books_balance_after_clients_that_work_at_once() {
    one_writer_at_a_time().for_each(|engine| balance(engine, 4, 25));
}

/// More clients than users: they share users, and save each other's issues under their hands.
#[test]
fn the_books_balance_when_clients_share_users() {
    one_writer_at_a_time().for_each(|engine| balance(engine, 40, 2));
}

#[test]
fn two_thousand_operations_never_run_out_of_issues() {
    let redmine = prepare("redmine", "small");
    for engine in ["null", "sqlite"] {
        let directory = tempfile::tempdir().unwrap();
        let database = load(engine, directory.path(), &*redmine, Vec::new());
        let mut session = database.session().unwrap();
        // One client of many has one user, and nobody gives issues back but itself.
        let mut client = redmine.client(29, 30);
        let mut tally = Tally::default();
        for _ in 0..2000 {
            let operation = client.choose();
            client.perform(operation, &mut *session, &mut tally).unwrap();
        }
        assert_eq!(tally.transactions, 1000 * 31, "{engine}");
    }
}
