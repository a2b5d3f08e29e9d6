//! Examines an external server. Nothing on it is changed.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use postgres::{Client, SimpleQueryMessage};
use tokio_postgres::Config;

use super::{check, explain_failure, no_connection, settings, tables, to_error};
use crate::external::panics::catch_panic;
use crate::external::tls::Tls;
use crate::survey::{self, ServerSurvey};
use crate::{Error, OpenTerms, Result};

/// `config` is that of trials, with the options that they give at the login.
pub(super) fn survey_server(config: &Config, tls: &Tls) -> ServerSurvey {
    let connect = || connect_within(survey::SILENCE, config, tls);
    let survey = connect()
        .and_then(|client| Ok([client, connect()?]))
        .and_then(|mut both| look_at_server(&mut both).map_err(survey::explain_obstacle));
    survey.unwrap_or_else(ServerSurvey::from_failure)
}

/// The library waits for a server that says nothing; so another thread does.
pub(super) fn connect_within(
    patience: Duration,
    config: &Config,
    tls: &Tls,
) -> std::result::Result<Client, String> {
    let (sender, connected) = mpsc::channel();
    let (config, tls) = (config.clone(), tls.clone());
    let connect = move || drop(sender.send(catch_panic(|| super::connect_admin(&config, &tls))));
    thread::Builder::new().spawn(connect).map_err(|error| format!("no thread: {error}"))?;
    match connected.recv_timeout(patience) {
        Ok(Ok(Ok(client))) => Ok(client),
        Ok(Ok(Err(failure))) => Err(no_connection(&failure, &explain_failure(&failure))),
        Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => Err(survey::NO_SENSE.into()),
        Err(RecvTimeoutError::Timeout) => Err(format!(
            "no connection to the server: {}; look whether the URL's host, port or socket is right",
            survey::explain_silence()
        )),
    }
}

fn look_at_server([client, other]: &mut [Client; 2]) -> Result<ServerSurvey> {
    // Behind a pooler nothing else can be asked reliably.
    refuse_pooler(client, other)?;
    let mut problems: Vec<String> =
        super::recent_enough(client).err().map(survey::explain_obstacle).into_iter().collect();
    let tables = tables::survey_tables(client)?;
    problems.extend(find_read_only(client)?);
    problems.extend(find_encoding(client)?);
    problems.extend(missing_rights(client)?);
    if problems.is_empty() && tables.others.is_none() {
        let tried = [client, &mut *other].into_iter().try_for_each(try_write);
        problems.extend(tried.err().map(survey::explain_obstacle));
    }
    let unchecked = match problems.is_empty() {
        true => check::find_unchecked(other).unwrap_or_else(|e| Some(survey::explain_obstacle(e))),
        false => None,
    };
    let version = super::show_setting(other, "server_version")?;
    let own = Some(super::read_promise(other)?);
    let lacks = survey::find_lacking_levels(|level| {
        // Settings that a session can make for itself don't matter.
        for setting in settings::of_session(&OpenTerms::new(level)) {
            let text = format!("SET {} = '{}'", setting.name, setting.value);
            other.batch_execute(&text).map_err(to_error)?;
        }
        super::confirm_durability(other, level)?;
        match super::read_promise(other)? {
            promised if promised >= level => Ok(()),
            promised => Err(Error::Usage(format!(
                "the server's settings promise {}, and durability {} was asked for: see full_page_writes and \
                 wal_writer_delay",
                promised.name(),
                level.name()
            ))),
        }
    });
    Ok(ServerSurvey { version, lacks, own, problems, tables, unchecked })
}

/// Without a prepared statement, which a pooler may lose.
fn ask_simply(client: &mut Client, text: &str) -> Result<String> {
    let answer = client.simple_query(text).map_err(to_error)?;
    let value = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    Ok(value.unwrap_or_default())
}

/// A pooler gives a client another connection of the server when another client has taken the
/// first one, or drops what is asked for at the login.
fn refuse_pooler(client: &mut Client, other: &mut Client) -> Result<()> {
    const PROCESS: &str = "SELECT pg_backend_pid()";
    let before = ask_simply(client, PROCESS)?;
    other.batch_execute("BEGIN").map_err(to_error)?;
    let is_shared = before == ask_simply(other, PROCESS)?;
    // Of a pool of one connection the first client would wait for the second.
    let is_shared = is_shared || before != ask_simply(client, PROCESS)?;
    other.batch_execute("ROLLBACK").map_err(to_error)?;
    let why = if is_shared {
        "it gives each transaction another connection, where prepared statements are lost"
    } else if ask_simply(client, "SHOW search_path")? != "public" {
        "it drops the settings that bakeoff asks for at the login"
    } else {
        return Ok(());
    };
    Err(Error::Usage(format!(
        "a pooler stands before the server: {why}; name the server's own host and port, or its socket"
    )))
}

fn find_read_only(client: &mut Client) -> Result<Option<String>> {
    let row = client
        .query_one("SELECT pg_is_in_recovery(), current_setting('transaction_read_only')", &[])
        .map_err(to_error)?;
    let (recovers, reads_only): (bool, String) = (row.get(0), row.get(1));
    Ok(match (recovers, &*reads_only) {
        (true, _) => Some(
            "it is a standby, which takes no writes: name the primary, or promote this one".into(),
        ),
        (_, "on") => Some(
            "this user's transactions are read-only: default_transaction_read_only = off, for the \
             user (ALTER ROLE), the database or the server"
                .into(),
        ),
        _ => None,
    })
}

fn find_encoding(client: &mut Client) -> Result<Option<String>> {
    let encoding = super::show_setting(client, "server_encoding")?;
    // A database without an encoding keeps bytes as they come.
    Ok((!["UTF8", "SQL_ASCII"].contains(&&*encoding)).then(|| {
        format!(
            "the database's encoding is {encoding}, and bakeoff's texts are UTF-8: name a database that was \
             made with TEMPLATE template0 ENCODING 'UTF8'"
        )
    }))
}

/// What a load and a client do, undone.
fn try_write(client: &mut Client) -> Result<()> {
    const TABLE: &str = "public.bakeoff_tries_to_write";
    let mut undone = client.transaction().map_err(to_error)?;
    let create = format!("CREATE TABLE {TABLE} (id BIGINT PRIMARY KEY, text TEXT)");
    undone.batch_execute(&create).map_err(to_error)?;
    let insert = undone.prepare(&format!("INSERT INTO {TABLE} VALUES ($1, $2)"));
    let insert = insert.map_err(to_error)?;
    undone.execute(&insert, &[&1_i64, &"\u{1f600}"]).map_err(to_error)?;
    undone.rollback().map_err(to_error)
}

fn missing_rights(client: &mut Client) -> Result<Option<String>> {
    let text = "SELECT current_user::text, current_database()::text, \
                       has_schema_privilege('public', 'CREATE') \
                       AND has_schema_privilege('public', 'USAGE')";
    let row = client.query_one(text, &[]).map_err(to_error)?;
    let (user, database, granted): (String, String, bool) = (row.get(0), row.get(1), row.get(2));
    Ok((!granted).then(|| {
        format!(
            "its user {user} may not create tables in the database {database}: \
             GRANT CREATE, USAGE ON SCHEMA public TO {user}, or give {user} a database of its own"
        )
    }))
}
