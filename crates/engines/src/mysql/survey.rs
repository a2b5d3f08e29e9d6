//! Examines an external server. Nothing on it is changed: each right is tried by a statement that
//! fails for another reason if the right is there.

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};

use super::storage::{self, StorageEngine};
use super::{error, login, server, tables, to_session_opts};
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
/// The server is read-only, the session's transactions are, or the storage engine is.
const READ_ONLY: [u16; 3] = [1290, 1792, 1836];
const TOO_MANY_STATEMENTS: u16 = 1461;
const NO_RIGHT_TO_DATABASE: u16 = 1044;

pub(super) fn survey_server(opts: &OptsBuilder, storage: StorageEngine) -> ServerSurvey {
    let opts = opts.clone().read_timeout(Some(survey::SILENCE));
    let survey = login::connect(opts.clone()).map_err(|failure| error::no_connection(&failure));
    let survey = survey.and_then(|mut server| {
        look_at_server(&mut server, storage).map_err(survey::explain_obstacle)
    });
    let mut survey = survey.unwrap_or_else(ServerSurvey::from_failure);
    // Where something is known to be missing, that would only be said again.
    if survey.problems.is_empty() {
        survey.problems.extend(try_sessions(&to_session_opts(opts, storage)).err());
    }
    survey
}

fn look_at_server(server: &mut Conn, storage: StorageEngine) -> Result<ServerSurvey> {
    let version: Option<String> =
        server.query_first("SELECT VERSION()").map_err(error::to_error)?;
    let version = version.unwrap_or_default();
    let tables = tables::survey_tables(server)?;
    let mut problems: Vec<String> =
        bulk_loads(server).err().map(survey::explain_obstacle).into_iter().collect();
    if let Some(why) = check_storage_offered(server, storage)? {
        problems.push(why);
        // What is not there has no settings, and no level would be said to be lacking.
        return Ok(ServerSurvey { version, problems, tables, ..ServerSurvey::default() });
    }
    if tables.others.is_none() {
        problems.extend(missing_rights(server)?);
    }
    let lacks =
        survey::find_lacking_levels(|level| storage::confirm_promise(server, storage, level));
    let own = storage::read_server_promise(server, storage)?;
    Ok(ServerSurvey { version, lacks, own, problems, tables, unchecked: None })
}

/// Two sessions at a time, as trials open them, each of which prepares a statement and runs it in a
/// transaction.
fn try_sessions(opts: &Opts) -> std::result::Result<(), String> {
    let connect = || login::connect(opts.clone()).map_err(|failure| error::no_connection(&failure));
    let mut sessions = [connect()?, connect()?];
    sessions.iter_mut().try_for_each(try_statement).map_err(|failure| {
        let advice = match &failure {
            mysql::Error::MySqlError(answer) if answer.code == TOO_MANY_STATEMENTS => {
                ": each session prepares its statements, so raise max_prepared_stmt_count"
            }
            _ => "",
        };
        format!(
            "no statement can be prepared and run: {}{advice}",
            error::explain_failure(&failure)
        )
    })
}

fn try_statement(session: &mut Conn) -> mysql::Result<()> {
    session.query_drop("START TRANSACTION")?;
    let statement = session.prep("SELECT ? + 1")?;
    let _: Option<i64> = session.exec_first(&statement, (1,))?;
    session.close(statement)?;
    session.query_drop("ROLLBACK")
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
    let package = storage.plugin().map(server::plugin_package);
    let package = package.map_or_else(String::new, |name| format!(" (on Debian: {name})"));
    Ok((!known).then(|| {
        format!(
            "the server has no storage engine {name} (it has {}): install its plugin{package}, or \
             name another one after # in the URL",
            engines.join(", ")
        )
    }))
}

fn missing_rights(server: &mut Conn) -> Result<Option<String>> {
    let mut missing = Vec::new();
    for (right, statement) in RIGHTS {
        let answer = server.query_drop(statement.replace("{}", TABLE));
        let Err(mysql::Error::MySqlError(answer)) = answer else { continue };
        if READ_ONLY.contains(&answer.code) {
            return Ok(Some(format!(
                "it takes no writes ({}): name the server that is written to, or SET GLOBAL \
                 read_only = OFF, transaction_read_only = OFF (tx_read_only in MariaDB)",
                answer.message
            )));
        }
        if [DENIED, NO_RIGHT_TO_DATABASE].contains(&answer.code) {
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
