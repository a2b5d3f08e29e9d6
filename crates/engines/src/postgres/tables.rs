//! The schema in a database: every table of ours says in its comment that it is, and as what it
//! was made.

use postgres::{Client, GenericClient, Row, Transaction};

use super::{SQL, error};
use crate::schema::Table;
use crate::sql::TableMark;
use crate::survey;
use crate::{Error, Result, Schema};

/// What may be done about tables that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PostgresLeftoverPolicy {
    /// They are the database's own, and have to be the schema's.
    Keep,
    /// They are used if they are the schema's, and dropped if they are ours but another's.
    Reuse,
    /// There may be none.
    Refuse,
}

/// Creates the schema, all at once, unless it is there.
pub(super) fn create(
    client: &mut Client,
    schema: &Schema,
    leftovers: PostgresLeftoverPolicy,
) -> Result<()> {
    let found = relations(client)?;
    not_others(&found)?;
    let is_wanted = |relation: &Relation| {
        let mut tables = schema.tables.iter();
        let table = tables.find(|table| in_public(table) == relation.name);
        let wanted = table.map(|table| finished(fresh(table), table));
        wanted.is_some_and(|mark| relation.mark().is_some_and(|found| found.is_like(mark)))
    };
    match leftovers {
        _ if found.is_empty() => {}
        PostgresLeftoverPolicy::Refuse => return Err(survey::ours(found.len())),
        _ if found.len() == schema.tables.len() && found.iter().all(is_wanted) => return Ok(()),
        PostgresLeftoverPolicy::Keep => {
            return Err(Error::Usage("the directory holds another schema's tables".into()));
        }
        PostgresLeftoverPolicy::Reuse => {}
    }
    let mut change = client.transaction().map_err(error)?;
    drop_ours(&mut change, &found)?;
    for text in schema.tables.iter().flat_map(texts) {
        change.batch_execute(&text).map_err(error)?;
    }
    change.commit().map_err(error)
}

/// Refuses a database that holds what is not bakeoff's.
fn not_others(found: &[Relation]) -> Result<()> {
    let others: Vec<_> = found.iter().filter(|relation| relation.mark().is_none()).collect();
    others.first().map_or(Ok(()), |it| Err(survey::others(others.len(), &it.name)))
}

/// The tables of a database that are in the way.
pub(super) fn survey(client: &mut Client) -> Result<survey::ObstructingTables> {
    let found = relations(client)?;
    let others = not_others(&found).err().map(survey::words);
    let ours =
        (others.is_none() && !found.is_empty()).then(|| survey::words(survey::ours(found.len())));
    Ok(survey::ObstructingTables { others, ours })
}

/// Drops tables that were found to be ours, as they were then: each is locked and looked at again.
/// What depends on one and is not ours keeps it from being dropped.
///
/// # Errors
/// [`Error::Usage`] for one that is not what it was; the transaction is not to be committed then.
pub(super) fn drop_ours(change: &mut Transaction<'_>, found: &[Relation]) -> Result<()> {
    for relation in found {
        let name = &relation.name;
        let lock = format!("LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE");
        change.batch_execute(&lock).map_err(error)?;
    }
    let now = relations(change)?;
    let changed = |it: &&Relation| it.mark().is_none() || !now.contains(it);
    if let Some(Relation { name, .. }) = found.iter().find(changed) {
        return Err(Error::Usage(format!(
            "the table {name} was changed just before it was to be dropped, so no table was \
             dropped: look who else uses the database, or name an empty database of its own"
        )));
    }
    for Relation { name, .. } in found {
        change.batch_execute(&format!("DROP TABLE {name}")).map_err(error)?;
    }
    Ok(())
}

/// A table, a view or the like.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Relation {
    /// Its name in its schema, quoted.
    name: String,
    /// Its number, which no other one gets that is made in its place.
    oid: u32,
    /// Whether it is a table by itself: no view, no sequence, no part of another table.
    is_table: bool,
    comment: String,
    /// Their names, in order.
    columns: Vec<String>,
}

impl Relation {
    /// Its mark, if bakeoff made it and nobody changed it since.
    fn mark(&self) -> Option<TableMark> {
        let columns = self.columns.iter().map(String::as_str);
        TableMark::from_comment(&self.comment, &self.name, columns).filter(|_| self.is_table)
    }
}

/// Every table, view, sequence and the like that is not the server's own, nor a table's; in order.
pub(super) fn relations(client: &mut impl GenericClient) -> Result<Vec<Relation>> {
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
    let rows = client.query(text, &[]).map_err(error)?;
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

/// What creates a table and its indexes.
fn definition(table: &Table) -> Vec<String> {
    let indexes = table.indexes.iter().map(|index| SQL.create_index(table, index));
    [SQL.create_table(table)].into_iter().chain(indexes).collect()
}

/// A finished table's mark.
fn finished(mark: TableMark, table: &Table) -> TableMark {
    mark.finished(&definition(table).join("; "))
}

/// A table's name in the schema that its sessions find it in.
fn in_public(table: &Table) -> String {
    format!("public.{}", SQL.quote(&table.name))
}

/// The mark of a table that is about to be made.
fn fresh(table: &Table) -> TableMark {
    TableMark::fresh(&in_public(table), table.columns.iter().map(|column| &*column.name))
}

fn texts(table: &Table) -> Vec<String> {
    let mark = fresh(table);
    let mut texts = definition(table);
    texts.push(format!("COMMENT ON TABLE {} IS '{}'", in_public(table), finished(mark, table)));
    texts
}
