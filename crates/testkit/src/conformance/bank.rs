//! One small schema for the checks that need several sessions: accounts, and numbered tickets.

use std::time::Duration;

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{
    AccessPath, Action, RangeBound, ReadScope, Set, TableRead, Yield,
};
use bakeoff_engines::{
    Access, Database, Engine, Error, OpenTerms, Result, Rows, Schema, Session, Value,
};

use crate::conformance::statements;

/// Accounts: number and balance.
pub const ACCOUNTS: usize = 0;
/// Tickets: a generated key, a unique code, a shelf that is not unique.
pub const TICKETS: usize = 1;

/// Reads a balance. The following constants number the other statements.
pub const READ: usize = 0;
/// Reads a balance for an update.
pub const READ_FOR_UPDATE: usize = 1;
/// Sets a balance.
pub const SET: usize = 2;
/// Adds to a balance.
pub const ADD: usize = 3;
/// The sum of the accounts below one.
pub const SUM_BELOW: usize = 4;
/// The sum of the accounts from one on.
pub const SUM_FROM: usize = 5;
/// All accounts by their keys.
pub const BY_KEY: usize = 6;
/// All accounts by an index.
pub const BY_BALANCE: usize = 7;
/// Puts an account, new or not.
pub const PUT: usize = 8;
pub const NEW_TICKET: usize = 9;
/// All tickets by their keys.
pub const TICKETS_BY_KEY: usize = 10;
/// The tickets of a shelf, by an index.
pub const TICKETS_OF_SHELF: usize = 11;

pub fn schema() -> Schema {
    let accounts = Table::new("accounts")
        .key_column("number", Type::Int)
        .column("balance", Type::Int)
        .index(&["balance"]);
    let tickets = Table::new("tickets")
        .generated_key("id")
        .column("code", Type::Int)
        .column("shelf", Type::Int)
        .unique(&["code"])
        .index(&["shelf"]);
    Schema { tables: vec![accounts, tickets] }
}

/// In the order of their numbers above.
fn actions() -> [Action; 12] {
    let balance = TableRead::by_key(ACCOUNTS, 1, &[1]);
    let sum = |from, to| TableRead {
        scope: ReadScope::Range { equal: 0, from, to },
        yields: Yield::Sum(1),
        ..TableRead::by_prefix(ACCOUNTS, AccessPath::Key, 0, &[])
    };
    let update = |set| Action::Update { table: ACCOUNTS, set: vec![set], only_if: Vec::new() };
    let by = |table, path, equal, columns: &[usize]| {
        Action::Read(TableRead::by_prefix(table, path, equal, columns))
    };
    [
        Action::Read(balance.clone()),
        Action::Read(TableRead { for_update: true, ..balance }),
        update(Set::To(1)),
        update(Set::Add(1)),
        Action::Read(sum(None, Some(RangeBound::Exclusive))),
        Action::Read(sum(Some(RangeBound::Inclusive), None)),
        by(ACCOUNTS, AccessPath::Key, 0, &[0, 1]),
        by(ACCOUNTS, AccessPath::Index(0), 0, &[0, 1]),
        Action::Upsert { table: ACCOUNTS },
        Action::Insert { table: TICKETS },
        by(TICKETS, AccessPath::Key, 0, &[0, 1, 2]),
        by(TICKETS, AccessPath::Index(1), 1, &[0, 1, 2]),
    ]
}

/// Opens the bank in a folder.
pub fn open(engine: &dyn Engine, folder: &std::path::Path, terms: &OpenTerms) -> Box<dyn Database> {
    engine.open(folder, terms, &schema(), &statements(actions())).expect("open")
}

/// A session with its rows; its statements must succeed.
pub struct Teller<'a> {
    pub session: Box<dyn Session + 'a>,
    pub rows: Rows,
}

impl<'a> Teller<'a> {
    pub fn new(database: &'a dyn Database) -> Self {
        Self { session: database.session().expect("a session"), rows: Rows::new() }
    }

    /// Returns the number of rows read or changed.
    pub fn try_run(&mut self, statement: usize, parameters: &[i64]) -> Result<u64> {
        let parameters: Vec<_> = parameters.iter().map(|int| Value::Int(*int)).collect();
        self.session.run(statement, &parameters, &mut self.rows)
    }

    /// Returns the only integer of a read.
    pub fn try_int(&mut self, statement: usize, parameters: &[i64]) -> Result<i64> {
        self.try_run(statement, parameters)?;
        Ok(self.rows.get_int(0, 0).expect("one integer"))
    }

    /// Returns the new ticket's number.
    pub fn new_ticket(&mut self, code: i64, shelf: i64) -> Result<i64> {
        let row = [Value::Null, Value::Int(code), Value::Int(shelf)];
        self.session.run(NEW_TICKET, &row, &mut self.rows)?;
        Ok(self.rows.get_int(0, 0).expect("a generated key"))
    }

    /// Repeats a transaction until it ends without a conflict.
    pub fn transaction<T>(
        &mut self,
        access: Access,
        mut body: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.again(|teller| {
            teller.session.begin(access)?;
            let answer = body(teller);
            match answer.is_ok() {
                true => teller.session.commit()?,
                false => teller.session.rollback()?,
            }
            answer
        })
    }

    /// Repeats a single statement until it ends without a conflict.
    pub fn run(&mut self, statement: usize, parameters: &[i64]) -> u64 {
        self.again(|teller| teller.try_run(statement, parameters)).expect("no error")
    }

    /// Returns the number that a statement answers with.
    pub fn int(&mut self, statement: usize, parameters: &[i64]) -> i64 {
        self.again(|teller| teller.try_int(statement, parameters)).expect("no error")
    }

    fn again<T>(&mut self, mut body: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        for tries in 1..=1000 {
            match body(self) {
                Err(Error::Conflict(_)) => {
                    // A conflict at the beginning or the end has ended the transaction already.
                    self.session.rollback()?;
                    std::thread::sleep(Duration::from_micros(20 * tries.min(50)));
                }
                answer => return answer,
            }
        }
        panic!("a thousand conflicts in a row");
    }
}
