//! A session on SQLite.

use std::sync::atomic::Ordering;

use rusqlite::{Connection, ffi};

use super::prepared::SqliteConnection;
use super::{
    BEGIN_READ, BEGIN_WRITE, COMMIT, ROLLBACK, SqliteDatabase, SqlitePlan, set_cache, settings,
};
use crate::gate::Pass;
use crate::{Access, Error, Result, Rows, Session, Value};

/// Where a session stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SqliteSessionState {
    Idle,
    Reading,
    Writing,
    /// In a transaction that had an error.
    Failed,
}

/// A session: a connection of its own.
pub(super) struct SqliteSession<'a> {
    pub(super) statements: SqliteConnection,
    database: &'a SqliteDatabase,
    state: SqliteSessionState,
    /// Held while the transaction may write.
    pass: Option<Pass<'a>>,
    /// The number of sessions that the cache was last divided by.
    shared_by: usize,
}

impl<'a> SqliteSession<'a> {
    /// A session on a connection that it alone has.
    pub fn new(database: &'a SqliteDatabase, statements: SqliteConnection) -> Self {
        Self { statements, database, state: SqliteSessionState::Idle, pass: None, shared_by: 0 }
    }

    fn control(&mut self, which: usize) -> Result<()> {
        let number = self.database.plans.len() + which;
        self.statements.execute(number, &[]).map(|_| ())
    }

    /// A connection's cache is its own, and a client's promised bytes are for all of them: each
    /// takes an equal part, again whenever their number has changed.
    fn share_cache(&mut self) -> Result<()> {
        let sessions = self.database.sessions.load(Ordering::Relaxed);
        if self.shared_by != sessions {
            let bytes = settings::CACHE.bytes(&self.database.terms) / sessions as u64;
            set_cache(self.statements.borrow_owner(), bytes)?;
            self.shared_by = sessions;
        }
        Ok(())
    }

    /// Lets a statement in, with a pass of its own if it writes on its own.
    fn admit(&mut self, plan: SqlitePlan) -> Result<Option<Pass<'a>>> {
        let writes = !matches!(plan, SqlitePlan::Read { .. });
        match self.state {
            SqliteSessionState::Idle => {
                self.share_cache()?;
                Ok(writes.then(|| self.database.gate.enter()))
            }
            SqliteSessionState::Reading if writes => {
                Err(Error::Usage("a write in a reading transaction".into()))
            }
            SqliteSessionState::Failed => Err(Error::Usage("a statement after an error".into())),
            SqliteSessionState::Reading | SqliteSessionState::Writing => Ok(None),
        }
    }

    fn try_run(&mut self, number: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let Some(plan) = self.database.plans.get(number).copied() else {
            return Err(Error::Usage(format!("there is no statement {number}")));
        };
        self.database.stored[number].fits(parameters)?;
        let _pass = self.admit(plan)?;
        match plan {
            SqlitePlan::Read { width } => {
                rows.reset(width);
                self.statements.query(number, parameters, width, rows)
            }
            SqlitePlan::Insert { key } => {
                rows.reset(1);
                let changed = self.statements.execute(number, parameters)?;
                rows.push(match parameters[key] {
                    Value::Null => Value::Int(self.statements.borrow_owner().last_insert_rowid()),
                    given => given,
                });
                Ok(changed)
            }
            SqlitePlan::Change => {
                rows.reset(0);
                self.statements.execute(number, parameters)
            }
        }
    }
}

impl Session for SqliteSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        if self.state != SqliteSessionState::Idle {
            self.state = SqliteSessionState::Failed;
            return Err(Error::Usage("begin inside a transaction".into()));
        }
        self.share_cache()?;
        match access {
            Access::Read => {
                self.control(BEGIN_READ)?;
                self.state = SqliteSessionState::Reading;
            }
            Access::Write => {
                let pass = self.database.gate.enter();
                self.control(BEGIN_WRITE)?;
                self.pass = Some(pass);
                self.state = SqliteSessionState::Writing;
            }
        }
        Ok(())
    }

    fn run(&mut self, statement: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let answer = self.try_run(statement, parameters, rows);
        if answer.is_err() && self.state != SqliteSessionState::Idle {
            self.state = SqliteSessionState::Failed;
        }
        answer
    }

    fn commit(&mut self) -> Result<()> {
        let done = match self.state {
            SqliteSessionState::Idle => {
                return Err(Error::Usage("commit outside a transaction".into()));
            }
            SqliteSessionState::Failed => Err(Error::Usage("commit after an error".into())),
            SqliteSessionState::Reading | SqliteSessionState::Writing => self.control(COMMIT),
        };
        if done.is_err() {
            // Why the commit failed says more than what undoing it may add.
            let _ = self.rollback();
        }
        self.state = SqliteSessionState::Idle;
        self.pass = None;
        done
    }

    fn rollback(&mut self) -> Result<()> {
        // SQLite has rolled back by itself after some errors, a full disk for one.
        let done = match self.statements.borrow_owner().is_autocommit() {
            true => Ok(()),
            false => self.control(ROLLBACK),
        };
        self.state = SqliteSessionState::Idle;
        self.pass = None;
        done
    }
}

impl Drop for SqliteSession<'_> {
    fn drop(&mut self) {
        // Closing the connection undoes the transaction too, but the pass must outlast it.
        let _ = self.rollback();
        let misses = misses(self.statements.borrow_owner()).unwrap_or(0);
        self.database.misses.fetch_add(misses, Ordering::Relaxed);
        self.database.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many pages a connection has not found in its cache; `None` where SQLite does not tell.
fn misses(connection: &Connection) -> Option<u64> {
    let (mut count, mut most) = (0, 0);
    // SAFETY: the connection is open while it is borrowed, no other thread has it, and both integers
    // outlive the call.
    let answer = unsafe {
        let status = ffi::SQLITE_DBSTATUS_CACHE_MISS;
        ffi::sqlite3_db_status(connection.handle(), status, &mut count, &mut most, 0)
    };
    if answer == ffi::SQLITE_OK { u64::try_from(count).ok() } else { None }
}
