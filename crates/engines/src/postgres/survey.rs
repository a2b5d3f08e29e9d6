//! Examines an external server. Nothing on it is changed.

use postgres::Client;
use tokio_postgres::Config;

use super::{explain_failure, no_connection, settings, tables, to_error};
use crate::external::tls::Tls;
use crate::survey::{self, ServerSurvey};
use crate::{OpenTerms, Result};

pub(super) fn survey_server(config: &Config, tls: &Tls) -> ServerSurvey {
    let failed = |what: String| ServerSurvey {
        version: what.clone(),
        problems: vec![what],
        ..ServerSurvey::default()
    };
    let mut client = match super::connect_admin(config, tls) {
        Ok(client) => client,
        Err(failure) => return failed(no_connection(&failure, &explain_failure(&failure))),
    };
    look_at_server(&mut client).unwrap_or_else(|error| failed(survey::explain_obstacle(error)))
}

fn look_at_server(client: &mut Client) -> Result<ServerSurvey> {
    let mut problems: Vec<String> =
        super::recent_enough(client).err().map(survey::explain_obstacle).into_iter().collect();
    let tables = tables::survey_tables(client)?;
    problems.extend(missing_rights(client)?);
    let version = super::show_setting(client, "server_version")?;
    let lacks = survey::find_lacking_levels(|level| {
        // Settings that a session can make for itself don't matter.
        for setting in settings::of_session(&OpenTerms::new(level)) {
            let text = format!("SET {} = '{}'", setting.name, setting.value);
            client.batch_execute(&text).map_err(to_error)?;
        }
        super::confirm_durability(client, level)
    });
    Ok(ServerSurvey { version, lacks, problems, tables })
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
