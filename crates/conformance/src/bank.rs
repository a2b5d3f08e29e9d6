//! One small schema for the checks that need several sessions: accounts, and numbered tickets.

use std::time::Duration;

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{
    AccessPath, Action, RangeBound, ReadScope, Set, TableRead, Yield,
};
use bakeoff_engines::{
    Access, Database, Engine, Error, OpenTerms, Result, Rows, Schema, Session, Statement, Value,
};

/// Accounts: their number and what is on them.
pub const ACCOUNTS: usize = 0;
/// Tickets: a generated key, a code that is unique, a shelf that is not.
pub const TICKETS: usize = 1;

/// Statements, by their numbers.
pub const READ: usize = 0;
/// A balance by its account, for an update.
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
/// Adds a ticket.
pub const NEW_TICKET: usize = 9;
/// All tickets by their keys.
pub const TICKETS_BY_KEY: usize = 10;
/// The tickets of a shelf, by an index.
pub const TICKETS_OF_SHELF: usize = 11;

/// The tables.
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

/// The statements, by the numbers above.
pub fn statements() -> Vec<Statement> {
    let balance = TableRead::by_key(ACCOUNTS, 1, &[1]);
    let sum = |from, to| TableRead {
        scope: ReadScope::Range { equal: 0, from, to },
        yields: Yield::Sum(1),
        ..TableRead::range(ACCOUNTS, AccessPath::Key, 0, &[])
    };
    let update = |set| Action::Update { table: ACCOUNTS, set: vec![set], only_if: Vec::new() };
    let actions = [
        ("read", Action::Read(balance.clone())),
        ("read for update", Action::Read(TableRead { for_update: true, ..balance })),
        ("set", update(Set::To(1))),
        ("add", update(Set::Add(1))),
        ("sum below", Action::Read(sum(None, Some(RangeBound::Exclusive)))),
        ("sum from", Action::Read(sum(Some(RangeBound::Inclusive), None))),
        ("by key", Action::Read(TableRead::range(ACCOUNTS, AccessPath::Key, 0, &[0, 1]))),
        ("by balance", Action::Read(TableRead::range(ACCOUNTS, AccessPath::Index(0), 0, &[0, 1]))),
        ("put", Action::Upsert { table: ACCOUNTS }),
        ("new ticket", Action::Insert { table: TICKETS }),
        ("tickets by key", Action::Read(TableRead::range(TICKETS, AccessPath::Key, 0, &[0, 1, 2]))),
        (
            "tickets of shelf",
            Action::Read(TableRead::range(TICKETS, AccessPath::Index(1), 1, &[0, 1, 2])),
        ),
    ];
    actions.map(|(name, action)| Statement { name: name.into(), action }).into()
}

/// Opens the bank in a folder.
pub fn open(engine: &dyn Engine, folder: &std::path::Path, terms: &OpenTerms) -> Box<dyn Database> {
    engine.open(folder, terms, &schema(), &statements()).expect("open")
}

/// A session with an answer of its own; what it runs must succeed.
pub struct Teller<'a> {
    /// Its session.
    pub session: Box<dyn Session + 'a>,
    /// What the last statement answered.
    pub rows: Rows,
}

impl<'a> Teller<'a> {
    /// A client of an open bank.
    pub fn new(database: &'a dyn Database) -> Self {
        Self { session: database.session().expect("a session"), rows: Rows::new() }
    }

    /// Runs a statement; the number of rows read or changed.
    pub fn try_run(&mut self, statement: usize, parameters: &[i64]) -> Result<u64> {
        let parameters: Vec<_> = parameters.iter().map(|int| Value::Int(*int)).collect();
        self.session.run(statement, &parameters, &mut self.rows)
    }

    /// The one integer that a read answers with.
    pub fn try_int(&mut self, statement: usize, parameters: &[i64]) -> Result<i64> {
        self.try_run(statement, parameters)?;
        Ok(self.rows.int(0, 0).expect("one integer"))
    }

    /// Adds a ticket; its number.
    pub fn new_ticket(&mut self, code: i64, shelf: i64) -> Result<i64> {
        let row = [Value::Null, Value::Int(code), Value::Int(shelf)];
        self.session.run(NEW_TICKET, &row, &mut self.rows)?;
        Ok(self.rows.int(0, 0).expect("a generated key"))
    }

    /// Runs a transaction again until it ends without a conflict.
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

    /// Runs a statement on its own, again until it ends without a conflict.
    pub fn run(&mut self, statement: usize, parameters: &[i64]) -> u64 {
        self.again(|teller| teller.try_run(statement, parameters)).expect("no error")
    }

    /// Runs a statement that answers with a number.
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
