//! The schema in a database: each table's comment says that bakeoff made it, and as what.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{SQL, error};
use crate::schema::Table;
use crate::sql::TableMark;
use crate::survey::{self, LeftoverPolicy, ObstructingTables};
use crate::{Error, Result, Schema};

pub(super) fn create_schema(
    server: &mut Conn,
    schema: &Schema,
    engine: &str,
    leftovers: LeftoverPolicy,
) -> Result<()> {
    if schema.tables.is_empty() && leftovers == LeftoverPolicy::Keep {
        // An application's own program makes them.
        return Ok(());
    }
    let found = list_tables(server)?;
    survey::refuse_others(find_others(&found))?;
    let is_wanted = |it: &FoundTable| {
        let mut named = schema.tables.iter().filter(|table| table.name == it.name);
        let mark = it.mark();
        named.any(|table| {
            mark.is_some_and(|mark| mark.is_like(finished_mark(new_mark(table), table, engine)))
        })
    };
    let all_wanted = found.iter().all(is_wanted);
    // A creation that was cut short has left a table without its last comment, or none.
    let cut_short = |it: &FoundTable| it.mark().is_some_and(TableMark::is_unfinished);
    let unfinished = all_wanted || found.iter().any(cut_short);
    match leftovers {
        _ if found.is_empty() => {}
        LeftoverPolicy::Refuse => return Err(survey::leftovers_error(found.len())),
        _ if all_wanted && found.len() == schema.tables.len() => return Ok(()),
        LeftoverPolicy::Keep if !unfinished => {
            return Err(Error::Usage("the directory holds another schema's tables".into()));
        }
        LeftoverPolicy::Keep | LeftoverPolicy::Reuse => {}
    }
    match leftovers {
        // Nobody else uses it; and a table that a power cut has broken can't be locked.
        LeftoverPolicy::Keep => {
            let drop = |it: &FoundTable| format!("DROP TABLE {}", SQL.quote(&it.name));
            run(server, found.iter().map(drop))?;
        }
        LeftoverPolicy::Reuse | LeftoverPolicy::Refuse => drop_ours(server, &found)?,
    }
    let create = schema.tables.iter().flat_map(|table| {
        let new = new_mark(table);
        let mut changes = SQL.add_indexes(table);
        changes.push(format!("COMMENT = '{}'", finished_mark(new, table, engine)));
        [create_with(table, new), alter_table(table, &changes)]
    });
    run(server, create).inspect_err(|_| {
        if leftovers == LeftoverPolicy::Refuse {
            drop_made(server);
        }
    })
}

/// Drops what was made in an empty database before the rest failed, so that nothing of it is taken
/// for another run's.
pub(super) fn drop_made(server: &mut Conn) {
    // The failure that led here is told; this one is not.
    let _ = list_tables(server).and_then(|mut found| {
        found.retain(|it| it.mark().is_some());
        drop_ours(server, &found)
    });
}

/// Drops tables of ours whose comments are as they were found. Without a transaction: each table is
/// locked, which keeps its comment, and looked at again.
pub(super) fn drop_ours(server: &mut Conn, found: &[FoundTable]) -> Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let list = |each: &str| {
        let names = found.iter().map(|it| format!("{}{each}", SQL.quote(&it.name)));
        names.collect::<Vec<_>>().join(", ")
    };
    run(server, [format!("LOCK TABLES {}", list(" WRITE"))])?;
    let dropped = list_tables(server).and_then(|now| {
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

fn find_others(found: &[FoundTable]) -> impl Iterator<Item = &str> {
    found.iter().filter(|it| it.mark().is_none()).map(|it| &*it.name)
}

pub(super) fn survey_tables(server: &mut Conn) -> Result<ObstructingTables> {
    let found = list_tables(server)?;
    Ok(ObstructingTables::new(found.len(), find_others(&found)))
}

pub(super) fn recreate_table(server: &mut Conn, table: &Table, engine: &str) -> Result<()> {
    let mut found = list_tables(server)?;
    found.retain(|it| it.name == table.name);
    drop_ours(server, &found)?;
    run(server, [create_with(table, finished_mark(new_mark(table), table, engine))])
}

pub(super) fn complete_table(server: &mut Conn, table: &Table) -> Result<()> {
    let changes = SQL.add_indexes(table);
    let build = (!changes.is_empty()).then(|| alter_table(table, &changes));
    run(server, build.into_iter().chain([SQL.analyze_text(table)]))
}

pub(super) fn count_from(server: &mut Conn, table: &Table, next: i64) -> Result<()> {
    run(server, [alter_table(table, &[format!("AUTO_INCREMENT = {next}")])])
}

fn run(server: &mut Conn, texts: impl IntoIterator<Item = String>) -> Result<()> {
    texts.into_iter().try_for_each(|text| server.query_drop(text)).map_err(error::to_error)
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FoundTable {
    name: String,
    comment: String,
    columns: Vec<String>,
}

impl FoundTable {
    /// The mark, if bakeoff made the table and nobody changed it since.
    fn mark(&self) -> Option<TableMark> {
        TableMark::from_comment(&self.comment, &self.name, self.columns.iter().map(String::as_str))
    }
}

pub(super) fn list_tables(server: &mut Conn) -> Result<Vec<FoundTable>> {
    let text = "SELECT table_name, table_comment FROM information_schema.tables \
                WHERE table_schema = DATABASE() ORDER BY table_name";
    let tables: Vec<(String, String)> = server.query(text).map_err(error::to_error)?;
    let text = "SELECT table_name, column_name FROM information_schema.columns \
                WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position";
    let columns: Vec<(String, String)> = server.query(text).map_err(error::to_error)?;
    let of = |name: &str| {
        let of_it = columns.iter().filter(|(table, _)| table == name);
        of_it.map(|(_, column)| column.clone()).collect()
    };
    let found =
        |(name, comment): (String, String)| FoundTable { columns: of(&name), name, comment };
    Ok(tables.into_iter().map(found).collect())
}

fn new_mark(table: &Table) -> TableMark {
    TableMark::new_mark(&table.name, table.columns.iter().map(|column| &*column.name))
}

fn create_with(table: &Table, mark: TableMark) -> String {
    format!("{} COMMENT = '{mark}'", SQL.create_table(table))
}

fn alter_table(table: &Table, changes: &[String]) -> String {
    format!("ALTER TABLE {} {}", SQL.quote(&table.name), changes.join(", "))
}

fn finished_mark(mark: TableMark, table: &Table, engine: &str) -> TableMark {
    let definition = [SQL.create_table(table), engine.to_lowercase()];
    let text = definition.into_iter().chain(SQL.add_indexes(table)).collect::<Vec<_>>().join(";");
    mark.with_definition(&text)
}
