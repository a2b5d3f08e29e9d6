//! Examines an external server. Nothing on it is changed: each right is tried by a statement that
//! fails for another reason if the right is there.

use mysql::prelude::Queryable;
use mysql::{Conn, Opts};

use super::storage::{self, StorageEngine};
use super::{error, tables};
use crate::survey::{self, ServerSurvey};
use crate::{Error, Result};

/// A table that doesn't exist. The server checks the rights to it before it looks for it.
const TABLE: &str = "bakeoff_asks_for_its_rights";

/// Each right that a load and its clients need, with a statement that changes nothing: with the
/// right, it fails for another reason (a duplicate column, a missing table).
const RIGHTS: [(&str, &str); 9] = [
    ("CREATE", "CREATE TABLE {} (a INT, a INT)"),
    ("ALTER", "ALTER TABLE {} ADD COLUMN b INT"),
    ("INDEX", "CREATE INDEX i ON {} (a)"),
    ("DROP", "DROP TABLE {}"),
    ("INSERT", "INSERT INTO {} VALUES (1)"),
    ("SELECT", "SELECT 1 FROM {}"),
    ("UPDATE", "UPDATE {} SET a = 1"),
    ("DELETE", "DELETE FROM {}"),
    ("LOCK TABLES", "LOCK TABLES {} WRITE"),
];

const DENIED: u16 = 1142;
const NO_RIGHT_TO_DATABASE: u16 = 1044;

pub(super) fn survey_server(opts: Opts, storage: StorageEngine) -> ServerSurvey {
    let failed = |what: String| ServerSurvey {
        version: what.clone(),
        problems: vec![what],
        ..ServerSurvey::default()
    };
    let mut server = match Conn::new(opts) {
        Ok(server) => server,
        Err(failure) => return failed(error::no_connection(&failure)),
    };
    look_at_server(&mut server, storage)
        .unwrap_or_else(|error| failed(survey::explain_obstacle(error)))
}

fn look_at_server(server: &mut Conn, storage: StorageEngine) -> Result<ServerSurvey> {
    let version: Option<String> =
        server.query_first("SELECT VERSION()").map_err(error::to_error)?;
    let tables = tables::survey_tables(server)?;
    let mut problems: Vec<String> =
        bulk_loads(server).err().map(survey::explain_obstacle).into_iter().collect();
    problems.extend(check_storage_offered(server, storage)?);
    if tables.others.is_none() {
        problems.extend(missing_rights(server)?);
    }
    let lacks =
        survey::find_lacking_levels(|level| storage::confirm_durability(server, storage, level));
    Ok(ServerSurvey { version: version.unwrap_or_default(), lacks, problems, tables })
}

pub(super) fn bulk_loads(server: &mut Conn) -> Result<()> {
    let loads: Option<bool> =
        server.query_first("SELECT @@GLOBAL.local_infile").map_err(error::to_error)?;
    if loads == Some(true) {
        return Ok(());
    }
    Err(Error::Usage("the server does not allow bulk loads: SET GLOBAL local_infile = ON".into()))
}

fn check_storage_offered(server: &mut Conn, storage: StorageEngine) -> Result<Option<String>> {
    let text = "SELECT engine FROM information_schema.engines WHERE support IN ('YES', 'DEFAULT')";
    let engines: Vec<String> = server.query(text).map_err(error::to_error)?;
    let name = storage.name();
    let known = engines.iter().any(|engine| engine.eq_ignore_ascii_case(name));
    Ok((!known).then(|| {
        format!(
            "the server has no storage engine {name} (it has {}): install its plugin, or name \
             another one after # in the URL",
            engines.join(", ")
        )
    }))
}

fn missing_rights(server: &mut Conn) -> Result<Option<String>> {
    let mut missing = Vec::new();
    for (right, statement) in RIGHTS {
        let answer = server.query_drop(statement.replace("{}", TABLE));
        if let Err(mysql::Error::MySqlError(answer)) = answer
            && [DENIED, NO_RIGHT_TO_DATABASE].contains(&answer.code)
        {
            missing.push(right);
        }
    }
    if missing.is_empty() {
        return Ok(None);
    }
    let who: Option<(String, String)> =
        server.query_first("SELECT CURRENT_USER(), DATABASE()").map_err(error::to_error)?;
    let (user, database) = who.unwrap_or_default();
    let missing = missing.join(", ");
    Ok(Some(format!(
        "its user {user} lacks the rights {missing} to the database {database}: \
         GRANT {missing} ON `{database}`.* TO {user}"
    )))
}
