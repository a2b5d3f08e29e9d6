//! Run folders of form 2, which bakeoff wrote before operations were followed to their end: they are
//! read, and never written. What had not ended with its window is not in them.

use rusqlite::Connection;

/// The form of these tables.
pub(crate) const FORM: i64 = 2;

/// Shows the tables of form 2 to one connection as those of today.
const VIEWS: &str = "
    CREATE TEMP VIEW operation AS SELECT *, 0 AS unfinished FROM main.operation;";

/// Makes the tables of this form of those of today.
pub(crate) const BACK: &str = "ALTER TABLE operation DROP COLUMN unfinished;";

/// Makes a connection to tables of form 2 read like one to tables of today.
///
/// # Errors
/// Where they are not what they should be.
pub(crate) fn show(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(VIEWS)
}
