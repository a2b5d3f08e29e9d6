//! Reads a database by URL, in one snapshot.

use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Error as Failure, Value};

use super::error::{self, explain_failure};
use super::external::ExternalMariaDb;
use super::{SQL, login};
use crate::configuration::ReportedSettings;
use crate::reader::{DatabaseReader, FieldsCallback, TableEstimate, explain_broken};

/// A server that says nothing for so long has stopped.
const SILENCE: Duration = Duration::from_secs(300);

const SESSION: [&str; 2] = [
    "SET time_zone = '+00:00', sql_mode = ''",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
];

const TABLES: &str = "SELECT table_name, table_rows, data_length FROM information_schema.tables \
    WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY table_name";

const STATEMENTS: &str = "SELECT digest_text, CAST(SUM(count_star) AS UNSIGNED) \
    FROM performance_schema.events_statements_summary_by_digest \
    WHERE schema_name = DATABASE() AND digest_text IS NOT NULL \
    GROUP BY digest_text ORDER BY 2 DESC, 1 LIMIT 200";

const NO_TABLE: u16 = 1146;
const NO_RIGHT: [u16; 2] = [1142, 1143];

const SETTINGS: &str = "SELECT variable_name, global_value, \
    global_value_origin IN ('CONFIG', 'COMMAND-LINE', 'SQL', 'ENVIRONMENT') \
    FROM information_schema.system_variables WHERE global_value IS NOT NULL";

struct MariaDbReader {
    name: &'static str,
    server: Conn,
}

pub fn open_reader(url: &str) -> Result<Box<dyn DatabaseReader>, String> {
    let database = ExternalMariaDb::new(url)?;
    let opts = database.opts.clone().read_timeout(Some(SILENCE));
    let connected = login::connect(opts).map_err(|failure| error::no_connection(&failure));
    let mut server = connected.map_err(|what| database.database.hide_password(&what))?;
    for text in SESSION {
        server.query_drop(text).map_err(|failure| explain_failure(&failure))?;
    }
    Ok(Box::new(MariaDbReader { name: database.database.name, server }))
}

fn list_columns(columns: &[&str]) -> String {
    match columns {
        [] => "NULL".into(),
        some => some.iter().map(|column| SQL.quote(column)).collect::<Vec<_>>().join(", "),
    }
}

impl DatabaseReader for MariaDbReader {
    fn name(&self) -> &str {
        self.name
    }

    fn estimate_tables(&mut self) -> Result<Vec<TableEstimate>, String> {
        let rows: Vec<(String, Option<u64>, Option<u64>)> =
            self.server.query(TABLES).map_err(|failure| explain_failure(&failure))?;
        let estimate = |(name, rows, bytes): (String, Option<u64>, Option<u64>)| TableEstimate {
            name,
            rows,
            bytes: bytes.unwrap_or(0),
        };
        Ok(rows.into_iter().map(estimate).collect())
    }

    fn try_columns(&mut self, table: &str, columns: &[&str]) -> Result<bool, String> {
        let quoted = SQL.quote(table);
        let text = format!("SELECT {} FROM {quoted} LIMIT 0", list_columns(columns));
        let Err(failure) = self.server.query_drop(text) else { return Ok(true) };
        let what = explain_failure(&failure);
        match &failure {
            Failure::MySqlError(answer) if answer.code == NO_TABLE => Ok(false),
            Failure::MySqlError(answer) if NO_RIGHT.contains(&answer.code) => {
                let user: Option<String> =
                    self.server.query_first("SELECT CURRENT_USER()").unwrap_or_default();
                let user = user.unwrap_or_default().replace('@', "'@'");
                Err(format!(
                    "the user may not read {table}: {what}\nlet an administrator write GRANT SELECT \
                     ON {quoted} TO '{user}'; a column that has a generator needs no right"
                ))
            }
            _ => Err(format!("{table} can't be read: {what}")),
        }
    }

    fn begin_snapshot(&mut self) -> Result<(), String> {
        let broken = |failure| explain_broken("the database", &explain_failure(&failure));
        let text = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";
        self.server.query_drop(text).map_err(broken)
    }

    fn read_rows(
        &mut self,
        table: &str,
        columns: &[&str],
        take: &mut FieldsCallback<'_>,
    ) -> Result<(), String> {
        let broken = |failure: Failure| explain_broken(table, &explain_failure(&failure));
        let text = format!("SELECT {} FROM {}", list_columns(columns), SQL.quote(table));
        for row in self.server.query_iter(text).map_err(broken)? {
            let row = row.map_err(broken)?;
            let field = |at: usize| match row.as_ref(at) {
                Some(Value::Bytes(bytes)) => Some(&bytes[..]),
                // Answers in text have nothing else.
                _ => None,
            };
            let fields: Vec<Option<&[u8]>> = (0..row.len()).map(field).collect();
            take(&fields)?;
        }
        Ok(())
    }

    fn describe_schema(&mut self) -> Result<String, String> {
        let mut texts = String::new();
        for table in self.estimate_tables()? {
            let text = format!("SHOW CREATE TABLE {}", SQL.quote(&table.name));
            let found: Option<(String, String)> =
                self.server.query_first(text).map_err(|failure| explain_failure(&failure))?;
            texts.extend(found.map(|(_, text)| text + ";\n"));
        }
        Ok(texts)
    }

    fn list_statements(&mut self) -> Result<Vec<(String, u64)>, String> {
        let rows: Vec<(String, u64)> = self.server.query(STATEMENTS).map_err(|failure| {
            let what = explain_failure(&failure);
            format!("performance_schema can't be read: {what}")
        })?;
        match rows.is_empty() {
            true => Err("performance_schema has no statements of this database: start the server \
                         with performance_schema = ON, and give it some work"
                .into()),
            false => Ok(rows),
        }
    }

    fn read_settings(&mut self) -> Result<ReportedSettings, String> {
        let told = |failure: Failure| explain_failure(&failure);
        let version: Option<String> = self.server.query_first("SELECT VERSION()").map_err(told)?;
        let rows: Vec<(String, String, bool)> = match self.server.query(SETTINGS) {
            Ok(rows) => rows,
            // MySQL tells the origins elsewhere; without them only known names are taken.
            Err(_) => {
                let rows: Vec<(String, String)> =
                    self.server.query("SHOW GLOBAL VARIABLES").map_err(told)?;
                rows.into_iter().map(|(name, value)| (name, value, false)).collect()
            }
        };
        let small =
            |(name, value, changed): (String, String, bool)| (name.to_lowercase(), value, changed);
        let version = version.unwrap_or_default();
        Ok(ReportedSettings { version, values: rows.into_iter().map(small).collect() })
    }
}
