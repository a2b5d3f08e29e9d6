//! What a server that somebody else runs is found to be. Nothing on it is changed.

use postgres::Client;
use tokio_postgres::Config;

use super::{error, no_connection, settings, tables, words};
use crate::external::tls::Tls;
use crate::survey::{self, ServerSurvey};
use crate::{OpenTerms, Result};

/// Connects to the server once.
pub(super) fn survey(config: &Config, tls: &Tls) -> ServerSurvey {
    let failed = |what: String| ServerSurvey {
        version: what.clone(),
        problems: vec![what],
        ..ServerSurvey::default()
    };
    let mut client = match super::connect(config, tls) {
        Ok(client) => client,
        Err(failure) => return failed(no_connection(&failure, &words(&failure))),
    };
    look(&mut client).unwrap_or_else(|error| failed(survey::words(error)))
}

fn look(client: &mut Client) -> Result<ServerSurvey> {
    let mut problems: Vec<String> =
        super::recent_enough(client).err().map(survey::words).into_iter().collect();
    let tables = tables::survey(client)?;
    problems.extend(missing_rights(client)?);
    let version = super::show(client, "server_version")?;
    let lacks = survey::lacks(|level| {
        // What a session may set for itself is no matter of the server's.
        for setting in settings::of_session(&OpenTerms::new(level)) {
            let text = format!("SET {} = '{}'", setting.name, setting.value);
            client.batch_execute(&text).map_err(error)?;
        }
        super::confirm_durability(client, level)
    });
    Ok(ServerSurvey { version, lacks, problems, tables })
}

/// The rights that the user lacks, with what grants them.
fn missing_rights(client: &mut Client) -> Result<Option<String>> {
    let text = "SELECT current_user::text, current_database()::text, \
                       has_schema_privilege('public', 'CREATE') \
                       AND has_schema_privilege('public', 'USAGE')";
    let row = client.query_one(text, &[]).map_err(error)?;
    let (user, database, granted): (String, String, bool) = (row.get(0), row.get(1), row.get(2));
    Ok((!granted).then(|| {
        format!(
            "its user {user} may not create tables in the database {database}: \
             GRANT CREATE, USAGE ON SCHEMA public TO {user}, or give {user} a database of its own"
        )
    }))
}
