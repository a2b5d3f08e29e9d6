//! Answers do not depend on how often an engine reads the texts, and a session that is to read them each time keeps
//! no prepared statement.

use std::path::Path;

use bakeoff_engines::{
    Action, Database, Durability, ENGINES, Engine, EngineDescription, OpenTerms, Preparation,
    Result, Rows, Schema, SqlText, Statement, find_level,
};
use bakeoff_testkit::conformance::{Check, TRANSACTIONAL, fits, sequences, types, written};
use bakeoff_testkit::{folder_for_all, needs};

/// An engine that reads each text with each execution.
struct EachTime(&'static dyn Engine);

impl Engine for EachTime {
    fn about(&self) -> EngineDescription {
        self.0.about()
    }

    fn version(&self) -> String {
        self.0.version()
    }

    fn check_level(&self, durability: Durability) -> std::result::Result<(), String> {
        self.0.check_level(durability)
    }

    fn open(
        &self,
        directory: &Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        let terms = OpenTerms { preparation: Preparation::EachExecution, ..terms.clone() };
        self.0.open(directory, &terms, schema, statements)
    }
}

fn answers_alike(check: Check) {
    let chosen = ENGINES.iter().filter(|it| it.prepares() && TRANSACTIONAL(&it.about()));
    for engine in chosen.filter(|engine| needs(engine.available()).is_some()) {
        check(&EachTime(*engine));
    }
}

#[test]
fn texts_hold_every_type() {
    answers_alike(types::keeps_every_type);
}

#[test]
fn texts_hold_what_fits() {
    answers_alike(fits::keeps_what_fits_and_refuses_the_rest);
}

#[test]
fn texts_of_users_are_answered_alike() {
    answers_alike(written::runs_what_users_write);
}

#[test]
fn texts_are_answered_like_the_model() {
    answers_alike(sequences::answers_like_the_model);
}

#[test]
fn only_engines_with_sql_read_texts() {
    let with: Vec<&str> =
        ENGINES.iter().filter(|it| it.prepares()).map(|it| it.about().name).collect();
    let all = ["sqlite", "mariadb:innodb", "mariadb:rocksdb", "mariadb:aria", "postgres"];
    assert_eq!(with, all);
}

/// Statements that the session has prepared and not closed, and executions of prepared ones.
fn count_prepared(engine: &str, preparation: Preparation, times: usize) -> Option<Vec<[i64; 2]>> {
    let status = "SELECT CAST(SUM(IF(variable_name = 'COM_STMT_CLOSE', -variable_value, \
                  variable_value)) AS SIGNED), (SELECT CAST(variable_value AS SIGNED) FROM \
                  information_schema.session_status WHERE variable_name = 'COM_STMT_EXECUTE') \
                  FROM information_schema.session_status \
                  WHERE variable_name IN ('COM_STMT_PREPARE', 'COM_STMT_CLOSE')";
    // A custom plan is made of each of the first executions of a prepared statement.
    let views = "SELECT COUNT(*), COALESCE(SUM(custom_plans + generic_plans), 0)::bigint \
                 FROM pg_catalog.pg_prepared_statements";
    let text = SqlText {
        sqlite: String::new(),
        mysql: status.into(),
        postgres: views.into(),
        place: "it.sql:1".into(),
        why: "a test".into(),
        writes: false,
        parameters: 0,
    };
    let engine = find_level(engine).expect("an engine");
    needs(engine.available())?;
    let folder = folder_for_all();
    let terms = OpenTerms { preparation, ..OpenTerms::new(Durability::None) };
    let statements = [Statement { name: "count".into(), action: Action::Sql(text) }];
    let database =
        engine.open(folder.path(), &terms, &Schema::default(), &statements).expect("a database");
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    let counted = (0..times).map(|_| {
        session.run(0, &[], &mut rows).expect("a row");
        [0, 1].map(|column| rows.get_int(0, column).expect("a count"))
    });
    Some(counted.collect())
}

#[test]
fn a_statement_is_prepared_once_a_session_or_not_at_all() {
    let (once, each) = (Preparation::OncePerSession, Preparation::EachExecution);
    if let Some(counted) = count_prepared("mariadb:innodb", once, 3) {
        assert_eq!(counted, [[1, 1], [1, 2], [1, 3]]);
        assert_eq!(count_prepared("mariadb:innodb", each, 3).unwrap(), [[0, 0]; 3]);
    }
    if let Some(counted) = count_prepared("postgres", once, 3) {
        // This one, and BEGIN, BEGIN READ ONLY, COMMIT, ROLLBACK.
        assert_eq!(counted.iter().map(|it| it[0]).collect::<Vec<_>>(), [5; 3]);
        assert_eq!(counted[2][1] - counted[0][1], 2, "{counted:?}");
        assert_eq!(count_prepared("postgres", each, 3).unwrap(), [[0, 0]; 3]);
    }
}
