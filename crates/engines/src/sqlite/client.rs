//! A session on SQLite.

use std::sync::atomic::Ordering;

use rusqlite::{Connection, ffi};

use super::prepared::SqliteConnection;
use super::rights::SqliteRights;
use super::{
    BEGIN_READ, BEGIN_WRITE, COMMIT, ROLLBACK, SqliteDatabase, SqlitePlan, set_cache, settings,
};
use crate::gate::TicketGuard;
use crate::sql::session::{SqlClient, TransactionState};
use crate::{Access, Result, Rows, Value};

pub(super) struct SqliteClient<'a> {
    pub(super) statements: SqliteConnection,
    pub(super) rights: SqliteRights,
    database: &'a SqliteDatabase,
    pass: Option<TicketGuard<'a>>,
    /// The sessions that the cache was last divided by.
    shared_by: usize,
}

impl<'a> SqliteClient<'a> {
    pub fn new(
        database: &'a SqliteDatabase,
        statements: SqliteConnection,
        rights: SqliteRights,
    ) -> Self {
        Self { statements, rights, database, pass: None, shared_by: 0 }
    }

    fn run_control(&mut self, which: usize) -> Result<()> {
        let number = self.database.statements.len() + which;
        self.statements.execute(number, &[]).map(|_| ())
    }

    /// Each connection has its own cache; the promised bytes are for all, so each takes an equal
    /// part, again when their number changes.
    fn share_cache(&mut self) -> Result<()> {
        let sessions = self.database.sessions.load(Ordering::Relaxed);
        if self.database.pragmas.has_cache() {
            return Ok(());
        }
        if self.shared_by != sessions {
            let bytes = settings::CACHE.cache_bytes(&self.database.terms) / sessions as u64;
            self.rights.lift(|| set_cache(self.statements.borrow_owner(), bytes))?;
            self.shared_by = sessions;
        }
        Ok(())
    }
}

impl SqlClient for SqliteClient<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.share_cache()?;
        if access == Access::Read {
            return self.run_control(BEGIN_READ);
        }
        let pass = self.database.gate.wait_in_line();
        self.run_control(BEGIN_WRITE)?;
        self.pass = Some(pass);
        Ok(())
    }

    fn run(
        &mut self,
        state: TransactionState,
        number: usize,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<u64> {
        let database = self.database;
        let plan = *database.statements.find_plan(number)?;
        database.statements.check_parameters(number, parameters)?;
        let writes = plan.writes();
        state.check_statement(writes)?;
        let alone = state == TransactionState::Idle;
        if alone {
            self.share_cache()?;
        }
        let parameters = &*database.statements.round_parameters(number, parameters);
        let _pass = (alone && writes).then(|| database.gate.wait_in_line());
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
            SqlitePlan::Written { .. } => self.statements.run_written(number, parameters, rows),
        }
    }

    fn commit(&mut self, _: Access) -> Result<()> {
        let done = self.run_control(COMMIT);
        if done.is_err() {
            // Why the commit failed says more than an error of its undoing.
            let _ = self.rollback();
        }
        self.pass = None;
        done
    }

    fn rollback(&mut self) -> Result<()> {
        // SQLite has rolled back by itself after some errors, such as a full disk.
        let done = match self.statements.borrow_owner().is_autocommit() {
            true => Ok(()),
            false => self.run_control(ROLLBACK),
        };
        self.pass = None;
        done
    }
}

impl Drop for SqliteClient<'_> {
    fn drop(&mut self) {
        // Closing the connection undoes the transaction too, but the pass must outlast it.
        let _ = self.rollback();
        let misses = count_misses(self.statements.borrow_owner()).unwrap_or(0);
        self.database.misses.fetch_add(misses, Ordering::Relaxed);
        self.database.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

fn count_misses(connection: &Connection) -> Option<u64> {
    let (mut count, mut most) = (0, 0);
    // SAFETY: the connection is open while it is borrowed, no other thread has it, and both integers
    // outlive the call.
    let answer = unsafe {
        let status = ffi::SQLITE_DBSTATUS_CACHE_MISS;
        ffi::sqlite3_db_status(connection.handle(), status, &mut count, &mut most, 0)
    };
    if answer == ffi::SQLITE_OK { u64::try_from(count).ok() } else { None }
}
