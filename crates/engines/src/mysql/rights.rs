//! The user that sessions of a private server have: it may read, change and lock the rows of one
//! database. And files of clients, which only a load may send.

use std::sync::PoisonError;

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};

use super::{DATABASE, MariaDbDatabase, error};
use crate::Result;
use crate::served::CLIENT;

/// A transaction of Aria's is a lock.
const ROWS: &str = "SELECT, INSERT, UPDATE, DELETE, LOCK TABLES";

pub(super) fn to_client(administrator: &Opts) -> Opts {
    OptsBuilder::from_opts(administrator.clone()).user(Some(CLIENT)).into()
}

/// Makes the user what it has to be, unless it is: data of an image have it, and are left as they are.
pub(super) fn grant_rights(root: &mut Conn) -> std::result::Result<(), mysql::Error> {
    let wanted = [
        format!("GRANT USAGE ON *.* TO `{CLIENT}`@`localhost`"),
        format!("GRANT {ROWS} ON `{DATABASE}`.* TO `{CLIENT}`@`localhost`"),
    ];
    // That there is no such user is an error.
    let found: Vec<String> =
        root.query(format!("SHOW GRANTS FOR '{CLIENT}'@'localhost'")).unwrap_or_default();
    if found == wanted {
        return Ok(());
    }
    root.query_drop(format!("CREATE OR REPLACE USER '{CLIENT}'@'localhost'"))?;
    root.query_drop(format!("GRANT {ROWS} ON {DATABASE}.* TO '{CLIENT}'@'localhost'"))
}

pub(super) fn lend_schema(root: &mut Conn) -> std::result::Result<(), mysql::Error> {
    root.query_drop(format!("GRANT ALL ON {DATABASE}.* TO '{CLIENT}'@'localhost'"))
}

/// As long as one is there, a private server takes clients' files. An external one is its owner's.
pub(super) struct LocalFilesPermit<'a>(&'a MariaDbDatabase);

impl<'a> LocalFilesPermit<'a> {
    pub(super) fn new(database: &'a MariaDbDatabase, server: &mut Conn) -> Result<Self> {
        let mut permits = database.permits.lock().unwrap_or_else(PoisonError::into_inner);
        if database.private.is_some() && *permits == 0 {
            server.query_drop("SET GLOBAL local_infile = ON").map_err(error::to_error)?;
        }
        *permits += 1;
        Ok(Self(database))
    }
}

impl Drop for LocalFilesPermit<'_> {
    fn drop(&mut self) {
        let mut permits = self.0.permits.lock().unwrap_or_else(PoisonError::into_inner);
        *permits -= 1;
        if self.0.private.is_none() || *permits > 0 {
            return;
        }
        if let Ok(mut server) = self.0.connect() {
            // A server that can't be told any more has ended, and starts with OFF.
            let _ = server.query_drop("SET GLOBAL local_infile = OFF");
        }
    }
}
