//! The schema in a database: every table of ours says in its comment that it is, and as what it
//! was made.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{SQL, error};
use crate::schema::Table;
use crate::sql::TableMark;
use crate::survey;
use crate::{Error, Result, Schema};

/// What may be done about tables that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MariaDbLeftoverPolicy {
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
    leftovers: MariaDbLeftoverPolicy,
) -> Result<()> {
    let found = tables(server)?;
    not_others(&found)?;
    let is_wanted = |it: &FoundTable| {
        let mut named = schema.tables.iter().filter(|table| table.name == it.name);
        let mark = it.mark();
        named.any(|table| {
            mark.is_some_and(|mark| mark.is_like(finished(fresh(table), table, engine)))
        })
    };
    let all_wanted = found.iter().all(is_wanted);
    // A creation that was cut short has left a table without its last comment, or none.
    let cut_short = |it: &FoundTable| it.mark().is_some_and(TableMark::is_unfinished);
    let unfinished = all_wanted || found.iter().any(cut_short);
    match leftovers {
        _ if found.is_empty() => {}
        MariaDbLeftoverPolicy::Refuse => return Err(survey::ours(found.len())),
        _ if all_wanted && found.len() == schema.tables.len() => return Ok(()),
        MariaDbLeftoverPolicy::Keep if !unfinished => {
            return Err(Error::Usage("the directory holds another schema's tables".into()));
        }
        MariaDbLeftoverPolicy::Keep | MariaDbLeftoverPolicy::Reuse => {}
    }
    match leftovers {
        // Nobody else uses it; and a table that a power cut has broken can't be locked.
        MariaDbLeftoverPolicy::Keep => {
            let drop = |it: &FoundTable| format!("DROP TABLE {}", SQL.quote(&it.name));
            run(server, found.iter().map(drop))?;
        }
        MariaDbLeftoverPolicy::Reuse | MariaDbLeftoverPolicy::Refuse => drop_ours(server, &found)?,
    }
    let create = schema.tables.iter().flat_map(|table| {
        let new = fresh(table);
        let mut changes = SQL.add_indexes(table);
        changes.push(format!("COMMENT = '{}'", finished(new, table, engine)));
        [create_with(table, new), alter(table, &changes)]
    });
    run(server, create)
}

/// Drops tables that were found to be ours, with their comments as they were then. There is no
/// transaction around it: each is locked, which keeps its comment as it is, and looked at again.
///
/// # Errors
/// [`Error::Usage`] for one that is not what it was; none is dropped then.
pub(super) fn drop_ours(server: &mut Conn, found: &[FoundTable]) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let list = |each: &str| {
        let names = found.iter().map(|it| format!("{}{each}", SQL.quote(&it.name)));
        names.collect::<Vec<_>>().join(", ")
    };
    run(server, [format!("LOCK TABLES {}", list(" WRITE"))])?;
    let dropped = tables(server).and_then(|now| {
        match found.iter().find(|it| it.mark().is_none() || !now.contains(it)) {
            Some(FoundTable { name, .. }) => Err(Error::Usage(format!(
                "the table {name} was changed just before it was to be dropped, so no table was \
                 dropped: look who else uses the database, or name an empty database of its own"
            ))),
            None => run(server, [format!("DROP TABLE {}", list(""))]),
        }
    });
    let unlocked = run(server, ["UNLOCK TABLES".into()]);
    dropped.and(unlocked)
}

/// Refuses a database that holds what is not bakeoff's.
fn not_others(found: &[FoundTable]) -> Result<()> {
    let others: Vec<_> = found.iter().filter(|it| it.mark().is_none()).collect();
    others.first().map_or(Ok(()), |it| Err(survey::others(others.len(), &it.name)))
}

/// The tables of a database that are in the way.
pub(super) fn survey(server: &mut Conn) -> Result<survey::ObstructingTables> {
    let found = tables(server)?;
    let others = not_others(&found).err().map(survey::words);
    let ours =
        (others.is_none() && !found.is_empty()).then(|| survey::words(survey::ours(found.len())));
    Ok(survey::ObstructingTables { others, ours })
}

/// Puts an empty table without its indexes in the place of a table.
pub(super) fn recreate(server: &mut Conn, table: &Table, engine: &str) -> Result<()> {
    let mut found = tables(server)?;
    found.retain(|it| it.name == table.name);
    drop_ours(server, &found)?;
    run(server, [create_with(table, finished(fresh(table), table, engine))])
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

/// A table or a view.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FoundTable {
    name: String,
    comment: String,
    /// Their names, in order.
    columns: Vec<String>,
}

impl FoundTable {
    /// Its mark, if bakeoff made it and nobody changed it since.
    fn mark(&self) -> Option<TableMark> {
        TableMark::from_comment(&self.comment, &self.name, self.columns.iter().map(String::as_str))
    }
}

/// Every table and view of the database; in order.
pub(super) fn tables(server: &mut Conn) -> Result<Vec<FoundTable>> {
    let text = "SELECT table_name, table_comment FROM information_schema.tables \
                WHERE table_schema = DATABASE() ORDER BY table_name";
    let tables: Vec<(String, String)> = server.query(text).map_err(error::plain)?;
    let text = "SELECT table_name, column_name FROM information_schema.columns \
                WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position";
    let columns: Vec<(String, String)> = server.query(text).map_err(error::plain)?;
    let of = |name: &str| {
        let of_it = columns.iter().filter(|(table, _)| table == name);
        of_it.map(|(_, column)| column.clone()).collect()
    };
    let found =
        |(name, comment): (String, String)| FoundTable { columns: of(&name), name, comment };
    Ok(tables.into_iter().map(found).collect())
}

/// The mark of a table that is about to be made.
fn fresh(table: &Table) -> TableMark {
    TableMark::fresh(&table.name, table.columns.iter().map(|column| &*column.name))
}

fn create_with(table: &Table, mark: TableMark) -> String {
    format!("{} COMMENT = '{mark}'", SQL.create_table(table))
}

fn alter(table: &Table, changes: &[String]) -> String {
    format!("ALTER TABLE {} {}", SQL.quote(&table.name), changes.join(", "))
}

/// A finished table's mark.
fn finished(mark: TableMark, table: &Table, engine: &str) -> TableMark {
    let definition = [SQL.create_table(table), engine.to_lowercase()];
    let text = definition.into_iter().chain(SQL.add_indexes(table)).collect::<Vec<_>>().join(";");
    mark.finished(&text)
}
