//! The check of tables and indexes, by the extension `amcheck`. It goes again with the transaction in
//! which it is added: nothing stays in a database.

use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, GenericClient, Row};

use super::{SQL, explain_failure, to_error};
use crate::{Result, Schema};

/// The schema of the extension, and whether this user may call its functions.
const FIND: &str = "\
    SELECT quote_ident(nspname), \
           has_schema_privilege(n.oid, 'USAGE') AND bool_and(has_function_privilege(p.oid, 'EXECUTE')) \
    FROM pg_catalog.pg_extension AS e \
    JOIN pg_catalog.pg_namespace AS n ON n.oid = extnamespace \
    JOIN pg_catalog.pg_depend AS d ON d.refobjid = e.oid AND d.deptype = 'e' \
         AND d.classid = 'pg_catalog.pg_proc'::regclass \
    JOIN pg_catalog.pg_proc AS p ON p.oid = d.objid \
    WHERE extname = 'amcheck' AND proname IN ('bt_index_check', 'verify_heapam') \
    GROUP BY n.oid, nspname";

/// Looks at each table, and at each index with every row that should be in it, as far as this user
/// may: see [`find_unchecked`].
pub(super) fn check_integrity(client: &mut Client, schema: &Schema) -> Result<Vec<String>> {
    let mut undone = client.transaction().map_err(to_error)?;
    let Ok(amcheck) = find_amcheck(&mut undone)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for table in &schema.tables {
        let name = SQL.quote(&table.name);
        let heap = format!(
            "SELECT $2 || ', block ' || blkno || ', row ' || COALESCE(offnum, 0) || ': ' || msg \
             FROM {amcheck}.verify_heapam($1::text::regclass)"
        );
        match ask_apart(&mut undone, &heap, &[&name, &table.name]) {
            Ok(rows) => found.extend(rows.iter().map(|row| row.get::<_, String>(0))),
            Err(failure) if failure.code() == Some(&SqlState::UNDEFINED_FUNCTION) => {}
            Err(failure) => found.push(explain_damage(failure)?),
        }
        let indexes = "SELECT indexrelid::regclass::text FROM pg_index \
                       WHERE indrelid = $1::text::regclass";
        for index in undone.query(indexes, &[&name]).map_err(to_error)? {
            let check = format!("SELECT {amcheck}.bt_index_check($1::text::regclass, true)::text");
            let index: String = index.get(0);
            if let Err(failure) = ask_apart(&mut undone, &check, &[&index]) {
                found.push(explain_damage(failure)?);
            }
        }
    }
    undone.rollback().map_err(to_error)?;
    Ok(found)
}

/// Why tables and indexes can't be checked here, and what would allow it.
pub(super) fn find_unchecked(client: &mut Client) -> Result<Option<String>> {
    let mut undone = client.transaction().map_err(to_error)?;
    let found = find_amcheck(&mut undone)?.err();
    undone.rollback().map_err(to_error)?;
    Ok(found)
}

/// The schema of the extension, which is added if it is missing; or why it can't be used, and what
/// would allow it.
fn find_amcheck(undone: &mut impl GenericClient) -> Result<std::result::Result<String, String>> {
    let refused = add_amcheck(undone)?;
    let found = undone.query_opt(FIND, &[]).map_err(to_error)?;
    let found = found.map(|row| (row.get::<_, String>(0), row.get::<_, bool>(1)));
    Ok(match (found, refused) {
        (Some((schema, true)), _) => Ok(schema),
        (Some((schema, false)), _) => Err(format!(
            "this user may not call amcheck's functions: as a superuser, GRANT USAGE ON SCHEMA {schema} TO \
             the user; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {schema} TO the user"
        )),
        (None, Some(failure)) => Err(explain_refusal(&failure)),
        (None, None) => {
            Err("amcheck has no functions: DROP EXTENSION amcheck, and add it again".into())
        }
    })
}

/// Why the server does not add it.
fn add_amcheck(undone: &mut impl GenericClient) -> Result<Option<postgres::Error>> {
    let mut part = undone.transaction().map_err(to_error)?;
    let added = match part.batch_execute("CREATE EXTENSION IF NOT EXISTS amcheck") {
        Ok(()) => part.commit().map(|()| None),
        Err(failure) if is_refusal(&failure) => part.rollback().map(|()| Some(failure)),
        Err(failure) => Err(failure),
    };
    added.map_err(to_error)
}

fn explain_refusal(failure: &postgres::Error) -> String {
    let why = match failure.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => "only a superuser can add amcheck".into(),
        _ => explain_failure(failure) + "; install PostgreSQL's contrib package if it is missing",
    };
    format!(
        "{why}: as a superuser, in this database: CREATE EXTENSION amcheck; GRANT EXECUTE ON ALL \
         FUNCTIONS IN SCHEMA public TO the user"
    )
}

/// Whether the server has no such extension or does not let this user add it: a right (42501), what is not
/// there (0A000, or no control file), a trigger of its owner's (P0001). Any other failure may be damage.
fn is_refusal(failure: &postgres::Error) -> bool {
    let Some(answer) = failure.as_db_error() else { return false };
    match answer.code().code() {
        "42501" | "0A000" | "P0001" => true,
        "58P01" => answer.message().contains("amcheck.control"),
        _ => false,
    }
}

/// A failure ends this part of the transaction alone.
fn ask_apart(
    undone: &mut impl GenericClient,
    text: &str,
    parameters: &[&(dyn ToSql + Sync)],
) -> std::result::Result<Vec<Row>, postgres::Error> {
    let mut part = undone.transaction()?;
    match part.query(text, parameters) {
        Ok(rows) => part.commit().map(|()| rows),
        Err(failure) => part.rollback().and(Err(failure)),
    }
}

fn explain_damage(failure: postgres::Error) -> Result<String> {
    match failure.code() {
        Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => {
            Ok(explain_failure(&failure))
        }
        _ => Err(to_error(failure)),
    }
}
