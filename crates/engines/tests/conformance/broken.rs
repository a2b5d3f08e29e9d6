//! Engines with one fault each: the suite must find every one of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use bakeoff_engines::statement::{Action, RangeBound, ReadOrder, ReadScope};
use bakeoff_engines::{
    Access, Database, Debt, Durability, Engine, EngineDescription, Error, Loader, OpenTerms,
    Promise, Result, Rows, Schema, Session, Statement, Value,
};
use bakeoff_testkit::conformance::debt;

use crate::{Check, concurrency, quickest, sequences, survival};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// None, to show that the wrapping itself breaks nothing.
    Nothing,
    /// Every 10th change of a row is answered, but not done.
    LosesWrites,
    /// Every 10th insert answers with a key that was given before.
    RepeatsKeys,
    CommitsOnRollback,
    /// Each statement is a transaction of its own.
    NoTransactions,
    /// A reading transaction is none.
    NoSnapshots,
    /// A writing transaction begins with its first write.
    LateLocks,
    /// Only every fifth commit is one.
    LateCommits,
    ForgetsUnique,
    IgnoresLimits,
    IgnoresOrder,
    IncludesBounds,
    /// What it says it has paid falls.
    ForgetsPayments,
    /// How far it says it is from turning over falls.
    ForgetsTurns,
    /// It takes its time to say what it owes.
    CountsLong,
    /// No fault: it says that it lacks a level of durability, and does not open at it.
    Lacks(Durability),
}

/// SQLite, but for the fault.
struct Broken(Fault);

impl Engine for Broken {
    fn about(&self) -> EngineDescription {
        let about = EngineDescription { name: "broken", ..quickest().about() };
        let Fault::Lacks(level) = self.0 else { return about };
        let lacking = Promise::lacking(level, "this file");
        let without = |it: Promise| if it.durability == level { lacking } else { it };
        EngineDescription { promises: about.promises.map(without), ..about }
    }

    fn version(&self) -> String {
        quickest().version()
    }

    fn open(
        &self,
        directory: &std::path::Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        self.check_level(terms.durability).map_err(Error::Usage)?;
        let mut schema = schema.clone();
        if self.0 == Fault::ForgetsUnique {
            let indexes = schema.tables.iter_mut().flat_map(|table| &mut table.indexes);
            indexes.for_each(|index| index.unique = false);
        }
        let mut statements = statements.to_vec();
        statements.iter_mut().for_each(|statement| self.spoil(&mut statement.action));
        let inner = quickest().open(directory, terms, &schema, &statements)?;
        Ok(Box::new(BrokenDatabase { inner, fault: self.0, statements, looks: AtomicU64::new(0) }))
    }
}

impl Broken {
    fn spoil(&self, action: &mut Action) {
        let Action::Read(read) = action else { return };
        match (self.0, &mut read.scope) {
            (Fault::IgnoresLimits, _) => read.limit = None,
            (Fault::IgnoresOrder, _) if read.order == ReadOrder::Descending => {
                read.order = ReadOrder::Ascending;
            }
            (Fault::IncludesBounds, ReadScope::Range { from, to, .. }) => {
                *from = from.map(|_| RangeBound::Inclusive);
                *to = to.map(|_| RangeBound::Inclusive);
            }
            _ => {}
        }
    }
}

struct BrokenDatabase {
    inner: Box<dyn Database>,
    fault: Fault,
    statements: Vec<Statement>,
    /// How often it was asked what it owes.
    looks: AtomicU64,
}

impl Database for BrokenDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let inner = self.inner.session()?;
        Ok(Box::new(BrokenSession { inner, database: self, count: 0, open: false, late: false }))
    }

    fn load(&self, table: usize) -> Result<Box<dyn Loader + '_>> {
        self.inner.load(table)
    }

    fn drain(&self) -> Result<()> {
        self.inner.drain()
    }

    fn warm(&self) -> Result<()> {
        self.inner.warm()
    }

    fn check(&self) -> Result<Vec<String>> {
        self.inner.check()
    }

    fn debt(&self) -> Result<Option<Debt>> {
        // More than there was, every other time.
        let more = self.looks.fetch_add(1, Ordering::Relaxed) % 2 * 1_000_000;
        let mut debt = self.inner.debt()?.expect("it says what it owes");
        match self.fault {
            Fault::ForgetsPayments => debt.payments.iter_mut().for_each(|it| it.count += more),
            Fault::ForgetsTurns => debt.turns.iter_mut().for_each(|it| it.done += more),
            // Longer than the suite calls quick.
            Fault::CountsLong => thread::sleep(Duration::from_millis(2100)),
            _ => {}
        }
        Ok(Some(debt))
    }
}

struct BrokenSession<'a> {
    inner: Box<dyn Session + 'a>,
    database: &'a BrokenDatabase,
    /// Changes, inserts or commits so far, whichever the fault counts.
    count: u64,
    /// Whether the inner session is in a transaction.
    open: bool,
    /// Whether a transaction is to begin with the next write.
    late: bool,
}

impl BrokenSession<'_> {
    fn tenth(&mut self) -> bool {
        self.count += 1;
        self.count.is_multiple_of(10)
    }
}

impl Session for BrokenSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        match (self.database.fault, access) {
            (Fault::NoTransactions, _) | (Fault::NoSnapshots, Access::Read) => Ok(()),
            (Fault::LateLocks, Access::Write) => {
                self.late = true;
                Ok(())
            }
            (Fault::LateCommits, _) if self.open => Ok(()),
            _ => {
                self.open = true;
                self.inner.begin(access)
            }
        }
    }

    fn run(&mut self, statement: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let action = self.database.statements.get(statement).map(|statement| &statement.action);
        let inserts = matches!(action, Some(Action::Insert { .. }));
        let writes = !matches!(action, Some(Action::Read(_)) | None);
        let fault = self.database.fault;
        match fault {
            Fault::LosesWrites if writes && !inserts && self.tenth() => {
                rows.reset(0);
                return Ok(1);
            }
            Fault::RepeatsKeys if inserts && self.tenth() => {
                let count = self.inner.run(statement, parameters, rows)?;
                rows.reset(1);
                rows.push(Value::Int(1));
                return Ok(count);
            }
            Fault::LateLocks if writes && std::mem::take(&mut self.late) => {
                self.open = true;
                self.inner.begin(Access::Write)?;
            }
            _ => {}
        }
        self.inner.run(statement, parameters, rows)
    }

    fn commit(&mut self) -> Result<()> {
        self.late = false;
        let begun = std::mem::take(&mut self.open);
        match self.database.fault {
            Fault::NoTransactions | Fault::NoSnapshots | Fault::LateLocks if !begun => Ok(()),
            Fault::LateCommits => {
                self.count += 1;
                self.open = !self.count.is_multiple_of(5);
                if self.open { Ok(()) } else { self.inner.commit() }
            }
            _ => self.inner.commit(),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        self.late = false;
        match (self.database.fault, std::mem::take(&mut self.open)) {
            (Fault::CommitsOnRollback, true) => {
                self.inner.commit().or_else(|_| self.inner.rollback())
            }
            _ => self.inner.rollback(),
        }
    }
}

fn random(engine: &dyn Engine) {
    sequences::try_cases(engine, 0);
}

/// How often a check may look for a fault that shows only where two threads meet.
const TRIES: usize = 50;

/// Whether the check finds the fault. It has one try to find nothing.
fn finds(check: impl Fn(&dyn Engine), fault: Fault) -> bool {
    let tries = if fault == Fault::Nothing { 1 } else { TRIES };
    (0..tries).any(|_| catch_unwind(AssertUnwindSafe(|| check(&Broken(fault)))).is_err())
}

#[test]
fn faults_are_found() {
    use Fault::{
        CommitsOnRollback, CountsLong, ForgetsPayments, ForgetsTurns, ForgetsUnique, IgnoresLimits,
        IgnoresOrder, IncludesBounds, LateLocks, LosesWrites, NoSnapshots, NoTransactions,
        RepeatsKeys,
    };
    use concurrency as at_once;
    let of_statements = [ForgetsUnique, IgnoresLimits, IgnoresOrder, IncludesBounds];
    let of_sessions = [LosesWrites, RepeatsKeys, CommitsOnRollback, NoTransactions];
    let checks: [(Check, &[Fault]); 12] = [
        (random, &of_statements),
        (random, &of_sessions),
        (sequences::refuses_misuse, &[NoTransactions]),
        (at_once::rows_read_for_update_are_not_skewed, &[LateLocks]),
        (at_once::generated_keys_are_distinct_and_grow, &[RepeatsKeys]),
        (at_once::read_then_write_loses_no_increment, &[LosesWrites, NoTransactions, LateLocks]),
        (at_once::adding_loses_no_increment, &[LosesWrites]),
        (at_once::transfers_keep_the_sum_in_every_snapshot, &[NoTransactions, NoSnapshots]),
        (at_once::one_of_many_wins_a_unique_value, &[ForgetsUnique]),
        (at_once::nobody_sees_unfinished_work, &[NoTransactions, NoSnapshots, CommitsOnRollback]),
        (at_once::a_dropped_session_undoes_and_blocks_nobody, &[NoTransactions]),
        (debt::says_what_it_owes_while_others_work, &[ForgetsPayments, ForgetsTurns, CountsLong]),
    ];
    for (number, (check, faults)) in checks.into_iter().enumerate() {
        assert!(!finds(check, Fault::Nothing), "check {number}: found a fault where there is none");
        for fault in faults {
            assert!(finds(check, *fault), "check {number}: {fault:?} was not found");
        }
    }
}

#[test]
fn a_level_that_an_engine_does_not_give_is_not_asked_of_it() {
    for level in [Durability::None, Durability::Relaxed, Durability::Strict] {
        let checks: [Check; 3] =
            [random, sequences::refuses_misuse, concurrency::adding_loses_no_increment];
        for check in checks {
            check(&Broken(Fault::Lacks(level)));
        }
    }
}

#[test]
fn lost_commits_are_found() {
    let test = "broken::lost_commits_are_found";
    let check = |engine: &dyn Engine| survival::survive_a_kill(engine, test);
    assert!(finds(check, Fault::LateCommits));
}
