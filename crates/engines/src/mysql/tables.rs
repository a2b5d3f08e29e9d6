//! The schema in a database: every table of ours says in its comment that it is, and as what it
//! was made.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{SQL, error};
use crate::schema::Table;
use crate::sql::MADE_BY;
use crate::{Error, Result, Schema};

/// What may be done about tables that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leftovers {
    /// They are the database's own, and have to be the schema's.
    Keep,
    /// They are used if they are the schema's, and dropped if they are ours but another's.
    Reuse,
    /// There may be none.
    Refuse,
}

/// Creates the schema in a storage engine, unless it is there.
pub(super) fn create(
    server: &mut Conn,
    schema: &Schema,
    engine: &str,
    leftovers: Leftovers,
) -> Result<()> {
    let found = tables(server)?;
    let others: Vec<_> =
        found.iter().filter(|(_, comment)| !comment.starts_with(MADE_BY)).collect();
    if let Some((name, _)) = others.first() {
        return Err(Error::Usage(format!(
            "the database holds {} tables that are not {MADE_BY}, {name} for one: \
             name a database of its own, empty",
            others.len()
        )));
    }
    let whole = |table: &Table| (table.name.clone(), comment(table, engine));
    let mut wanted: Vec<_> = schema.tables.iter().map(whole).collect();
    wanted.sort();
    // A creation that was cut short has left a table without its last comment, or none.
    let unfinished = found.iter().any(|(_, comment)| comment == MADE_BY)
        || found.iter().all(|table| wanted.contains(table));
    match leftovers {
        _ if found.is_empty() => {}
        Leftovers::Refuse => {
            return Err(Error::Usage(format!(
                "the database holds {} tables {MADE_BY} before, by a run or by a load that failed: \
                 allow their reuse (--reuse), which drops them, or name an empty database",
                found.len()
            )));
        }
        _ if found == wanted => return Ok(()),
        Leftovers::Keep if !unfinished => {
            return Err(Error::Usage("the directory holds another schema's tables".into()));
        }
        Leftovers::Keep | Leftovers::Reuse => {}
    }
    let drop = found.iter().map(|(name, _)| format!("DROP TABLE {}", SQL.quote(name)));
    let create = schema.tables.iter().flat_map(|table| {
        let mut changes = SQL.add_indexes(table);
        changes.push(format!("COMMENT = '{}'", comment(table, engine)));
        [create_with(table, MADE_BY), alter(table, &changes)]
    });
    run(server, drop.chain(create))
}

/// Puts an empty table without its indexes in the place of a table.
pub(super) fn recreate(server: &mut Conn, table: &Table, engine: &str) -> Result<()> {
    let drop = format!("DROP TABLE IF EXISTS {}", SQL.quote(&table.name));
    run(server, [drop, create_with(table, &comment(table, engine))])
}

/// Adds a table's indexes to its rows, and has the planner's statistics collected.
pub(super) fn complete(server: &mut Conn, table: &Table) -> Result<()> {
    let changes = SQL.add_indexes(table);
    let build = (!changes.is_empty()).then(|| alter(table, &changes));
    run(server, build.into_iter().chain([SQL.analyze(table)]))
}

/// Has the next generated key be that number, at least.
pub(super) fn count_from(server: &mut Conn, table: &Table, next: i64) -> Result<()> {
    run(server, [alter(table, &[format!("AUTO_INCREMENT = {next}")])])
}

fn run(server: &mut Conn, texts: impl IntoIterator<Item = String>) -> Result<()> {
    texts.into_iter().try_for_each(|text| server.query_drop(text)).map_err(error::plain)
}

/// Every table and view of the database, with its comment; in order.
fn tables(server: &mut Conn) -> Result<Vec<(String, String)>> {
    let text = "SELECT table_name, table_comment FROM information_schema.tables \
                WHERE table_schema = DATABASE()";
    let mut found: Vec<(String, String)> = server.query(text).map_err(error::plain)?;
    found.sort();
    Ok(found)
}

fn create_with(table: &Table, comment: &str) -> String {
    format!("{} COMMENT = '{comment}'", SQL.create_table(table))
}

fn alter(table: &Table, changes: &[String]) -> String {
    format!("ALTER TABLE {} {}", SQL.quote(&table.name), changes.join(", "))
}

/// A finished table's comment: whose it is, and a hash of its definition (FNV-1a), which itself
/// may be longer than a comment.
fn comment(table: &Table, engine: &str) -> String {
    let definition = [SQL.create_table(table), engine.to_lowercase()];
    let text = definition.into_iter().chain(SQL.add_indexes(table)).collect::<Vec<_>>().join(";");
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{MADE_BY} as {hash:016x}")
}
