//! The schema in a database: every table of ours says in its comment that it is, and as what it
//! was made.

use postgres::Client;

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

/// Creates the schema, all at once, unless it is there.
pub(super) fn create(client: &mut Client, schema: &Schema, leftovers: Leftovers) -> Result<()> {
    let found = tables(client)?;
    let others: Vec<_> =
        found.iter().filter(|(_, comment)| !comment.starts_with(MADE_BY)).collect();
    if let Some((name, _)) = others.first() {
        return Err(Error::Usage(format!(
            "the database holds {} tables that are not {MADE_BY}, {name} for one: \
             name a database of its own, empty",
            others.len()
        )));
    }
    let mut wanted: Vec<_> = schema
        .tables
        .iter()
        .map(|table| (format!("public.{}", SQL.quote(&table.name)), comment(table)))
        .collect();
    wanted.sort();
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
        Leftovers::Keep => {
            return Err(Error::Usage("the directory holds another schema's tables".into()));
        }
        Leftovers::Reuse => {}
    }
    let mut change = client.transaction().map_err(error)?;
    for (name, _) in &found {
        change.batch_execute(&format!("DROP TABLE {name}")).map_err(error)?;
    }
    for text in schema.tables.iter().flat_map(texts) {
        change.batch_execute(&text).map_err(error)?;
    }
    change.commit().map_err(error)
}

/// Every table, view and the like that is not the server's own, with its comment; in order.
fn tables(client: &mut Client) -> Result<Vec<(String, String)>> {
    let text = "SELECT format('%I.%s', nspname, '\"' || replace(relname, '\"', '\"\"') || '\"'), \
                       COALESCE(obj_description(c.oid, 'pg_class'), '') \
                FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace \
                WHERE relkind IN ('r', 'p', 'v', 'm', 'f') \
                  AND nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'";
    let rows = client.query(text, &[]).map_err(error)?;
    let mut found: Vec<_> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    found.sort();
    Ok(found)
}

/// What creates a table and its indexes.
fn definition(table: &Table) -> Vec<String> {
    let indexes = table.indexes.iter().map(|index| SQL.create_index(table, index));
    [SQL.create_table(table)].into_iter().chain(indexes).collect()
}

fn comment(table: &Table) -> String {
    format!("{MADE_BY} as {}", definition(table).join("; "))
}

fn texts(table: &Table) -> Vec<String> {
    let name = SQL.quote(&table.name);
    let comment = comment(table).replace('\'', "''");
    let mut texts = definition(table);
    texts.push(format!("COMMENT ON TABLE {name} IS '{comment}'"));
    texts
}
