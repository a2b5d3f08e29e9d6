//! The role that sessions of a private server have. It may read and change the rows of the schema's
//! tables, and owns nothing: whoever owns a table decides over code that the administrator runs.
//!
//! The socket asks for no password, but no statement can connect to it: that takes an extension, which
//! takes the administrator to create.

use postgres::{Client, GenericClient};
use tokio_postgres::Config;

use super::{SQL, to_error};
use crate::served::CLIENT;
use crate::{Result, Schema};

const ROWS: [&str; 4] = ["SELECT", "INSERT", "UPDATE", "DELETE"];

pub(super) fn to_client(administrator: &Config) -> Config {
    let mut config = administrator.clone();
    config.user(CLIENT);
    config
}

/// Makes the role what it has to be, unless it is: data of an image have it, and are left as they are.
pub(super) fn grant_rights(client: &mut Client, schema: &Schema) -> Result<()> {
    let mut change = client.transaction().map_err(to_error)?;
    let found = find_role(&mut change)?;
    if found == Some(true) && has_rows(&mut change, schema)? {
        return Ok(());
    }
    if found.is_some() {
        run(&mut change, &format!("DROP OWNED BY {CLIENT}; DROP ROLE {CLIENT}"))?;
    }
    for text in define_role().into_iter().chain(schema_grants(schema)) {
        run(&mut change, &text)?;
    }
    change.commit().map_err(to_error)
}

pub(super) fn lend_schema(client: &mut Client) -> Result<()> {
    run(client, &format!("GRANT CREATE ON SCHEMA public TO {CLIENT}"))
}

pub(super) fn return_schema(client: &mut Client) -> Result<()> {
    let rows = ROWS.join(", ");
    let text = format!(
        "REASSIGN OWNED BY {CLIENT} TO CURRENT_USER; REVOKE CREATE ON SCHEMA public FROM {CLIENT}; \
         GRANT {rows} ON ALL TABLES IN SCHEMA public TO {CLIENT}; \
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {CLIENT}"
    );
    run(client, &text)
}

fn run(client: &mut impl GenericClient, text: &str) -> Result<()> {
    client.batch_execute(text).map_err(to_error)
}

/// Whether the role is an ordinary one that may make nothing; `None` if there is none.
fn find_role(client: &mut impl GenericClient) -> Result<Option<bool>> {
    let text = format!(
        "SELECT rolcanlogin AND NOT (rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication \
                OR rolbypassrls) \
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_auth_members WHERE member = role.oid) \
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_db_role_setting WHERE setrole = role.oid) \
            AND NOT has_database_privilege(role.oid, current_database(), 'CREATE, TEMPORARY') \
            AND NOT has_schema_privilege(role.oid, 'public', 'CREATE') \
         FROM pg_catalog.pg_roles AS role WHERE rolname = '{CLIENT}'"
    );
    let row = client.query_opt(&text, &[]).map_err(to_error)?;
    row.map(|row| row.try_get(0).map_err(to_error)).transpose()
}

fn has_rows(client: &mut impl GenericClient, schema: &Schema) -> Result<bool> {
    let has = |rights: &str| format!("has_table_privilege('{CLIENT}', $1, '{rights}')");
    let [all, none] = [ROWS.map(has).join(" AND "), has("TRUNCATE, REFERENCES, TRIGGER")];
    let text = format!("SELECT {all} AND NOT {none}");
    for table in &schema.tables {
        let row = client.query_one(&text, &[&SQL.quote(&table.name)]).map_err(to_error)?;
        if !row.try_get::<_, bool>(0).map_err(to_error)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn define_role() -> [String; 3] {
    [
        format!(
            "CREATE ROLE {CLIENT} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
        ),
        "REVOKE CREATE, TEMPORARY ON DATABASE postgres FROM PUBLIC".into(),
        format!(
            "REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT USAGE ON SCHEMA public TO {CLIENT}"
        ),
    ]
}

fn schema_grants(schema: &Schema) -> impl Iterator<Item = String> {
    schema.tables.iter().map(|table| {
        let rows = ROWS.join(", ");
        let mut text = format!("GRANT {rows} ON {} TO {CLIENT}", SQL.quote(&table.name));
        if table.generated {
            let sequence = SQL.quote(&SQL.sequence_name(table));
            text.push_str(&format!("; GRANT USAGE ON SEQUENCE {sequence} TO {CLIENT}"));
        }
        text
    })
}
