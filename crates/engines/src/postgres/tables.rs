//! The schema in a database: each table's comment says that bakeoff made it, and as what.

use postgres::{Client, GenericClient, Row, Transaction};

use super::{SQL, to_error};
use crate::schema::Table;
use crate::sql::TableMark;
use crate::survey::{self, LeftoverPolicy, ObstructingTables};
use crate::{Error, Result, Schema};

pub(super) fn create_schema(
    client: &mut Client,
    schema: &Schema,
    leftovers: LeftoverPolicy,
) -> Result<()> {
    if schema.tables.is_empty() && leftovers == LeftoverPolicy::Keep {
        // An application's own program makes them.
        return Ok(());
    }
    let found = list_relations(client)?;
    survey::refuse_others(find_others(&found))?;
    let is_wanted = |relation: &Relation| {
        let mut tables = schema.tables.iter();
        let table = tables.find(|table| in_public(table) == relation.name);
        let wanted = table.map(|table| finished_mark(new_mark(table), table));
        wanted.is_some_and(|mark| relation.mark().is_some_and(|found| found.is_like(mark)))
    };
    match leftovers {
        _ if found.is_empty() => {}
        LeftoverPolicy::Refuse => return Err(survey::leftovers_error(found.len())),
        _ if found.len() == schema.tables.len() && found.iter().all(is_wanted) => return Ok(()),
        LeftoverPolicy::Keep => {
            return Err(Error::Usage("the directory holds another schema's tables".into()));
        }
        LeftoverPolicy::Reuse => {}
    }
    let mut change = client.transaction().map_err(to_error)?;
    drop_ours(&mut change, &found)?;
    for text in schema.tables.iter().flat_map(definition_texts) {
        change.batch_execute(&text).map_err(to_error)?;
    }
    change.commit().map_err(to_error)
}

/// Drops what was made in an empty database before the rest failed, so that nothing of it is taken
/// for another run's.
pub(super) fn drop_made(client: &mut Client) {
    // The failure that led here is told; this one is not.
    let _ = list_relations(client).and_then(|mut found| {
        found.retain(|it| it.mark().is_some());
        let mut change = client.transaction().map_err(to_error)?;
        drop_ours(&mut change, &found)?;
        change.commit().map_err(to_error)
    });
}

fn find_others(found: &[Relation]) -> impl Iterator<Item = &str> {
    found.iter().filter(|it| it.mark().is_none()).map(|it| &*it.name)
}

pub(super) fn survey_tables(client: &mut Client) -> Result<ObstructingTables> {
    let found = list_relations(client)?;
    Ok(ObstructingTables::new(found.len(), find_others(&found)))
}

/// Drops tables of ours if they are still as they were found: each is locked and looked at again.
/// What depends on one and is not ours prevents that.
pub(super) fn drop_ours(change: &mut Transaction<'_>, found: &[Relation]) -> Result<()> {
    for relation in found {
        let name = &relation.name;
        let lock = format!("LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE");
        change.batch_execute(&lock).map_err(to_error)?;
    }
    let now = list_relations(change)?;
    let changed = |it: &&Relation| it.mark().is_none() || !now.contains(it);
    if let Some(Relation { name, .. }) = found.iter().find(changed) {
        return Err(Error::Usage(format!(
            "the table {name} was changed just before it was to be dropped, so no table was \
             dropped: look who else uses the database, or name an empty database of its own"
        )));
    }
    for Relation { name, .. } in found {
        change.batch_execute(&format!("DROP TABLE {name}")).map_err(to_error)?;
    }
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Relation {
    name: String,
    /// Its number; a table that replaces it gets another.
    oid: u32,
    is_table: bool,
    comment: String,
    columns: Vec<String>,
}

impl Relation {
    /// The mark, if bakeoff made the table and nobody changed it since.
    fn mark(&self) -> Option<TableMark> {
        let columns = self.columns.iter().map(String::as_str);
        TableMark::from_comment(&self.comment, &self.name, columns).filter(|_| self.is_table)
    }
}

/// Every table, view and sequence that is not the server's own nor a table's part, in order.
pub(super) fn list_relations(client: &mut impl GenericClient) -> Result<Vec<Relation>> {
    let text = "SELECT format('%I.%s', nspname, '\"' || replace(relname, '\"', '\"\"') || '\"'), \
                       c.oid, relkind = 'r' AND NOT relispartition, \
                       COALESCE(obj_description(c.oid, 'pg_class'), ''), \
                       ARRAY(SELECT attname::text FROM pg_catalog.pg_attribute \
                             WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped \
                             ORDER BY attnum) \
                FROM pg_catalog.pg_class AS c \
                JOIN pg_catalog.pg_namespace AS n ON n.oid = relnamespace \
                WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S') \
                  AND nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%' \
                  AND NOT (relkind = 'S' AND EXISTS (SELECT FROM pg_catalog.pg_depend \
                           WHERE objid = c.oid AND deptype IN ('a', 'i')))";
    let rows = client.query(text, &[]).map_err(to_error)?;
    let relation = |row: &Row| Relation {
        name: row.get(0),
        oid: row.get(1),
        is_table: row.get(2),
        comment: row.get(3),
        columns: row.get(4),
    };
    let mut found: Vec<_> = rows.iter().map(relation).collect();
    found.sort();
    Ok(found)
}

fn create_texts(table: &Table) -> Vec<String> {
    let indexes = table.indexes.iter().map(|index| SQL.create_index(table, index));
    [SQL.create_table(table)].into_iter().chain(indexes).collect()
}

fn finished_mark(mark: TableMark, table: &Table) -> TableMark {
    mark.with_definition(&create_texts(table).join("; "))
}

fn in_public(table: &Table) -> String {
    format!("public.{}", SQL.quote(&table.name))
}

fn new_mark(table: &Table) -> TableMark {
    TableMark::new_mark(&in_public(table), table.columns.iter().map(|column| &*column.name))
}

fn definition_texts(table: &Table) -> Vec<String> {
    let mark = new_mark(table);
    let mut texts = create_texts(table);
    texts.push(format!(
        "COMMENT ON TABLE {} IS '{}'",
        in_public(table),
        finished_mark(mark, table)
    ));
    texts
}
