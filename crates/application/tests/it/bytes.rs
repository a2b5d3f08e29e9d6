//! Columns of bytes: they are loaded, read, given on and written byte for byte.

use bakeoff_application::Application;
use bakeoff_engines::statement::{AccessPath, ReadOrder, TableRead};
use bakeoff_engines::{Action, DeclaredLevels, Engine, Rows, Value};
use bakeoff_workloads::PREPARED;

use crate::stage::{Sent, Stage, installed, to_files};

const SQL_ENGINES: [&str; 3] = ["sqlite", "mariadb:innodb", "postgres"];
const OTHERS: [&str; 2] = ["lmdb", "fjall"];

const SCHEMA: &str = "CREATE TABLE files (id INTEGER PRIMARY KEY, digest VARBINARY(255) UNIQUE, \
                      body BLOB, mark BINARY(4), note TEXT);\n\
                      CREATE TABLE copies (id BIGSERIAL PRIMARY KEY, body BYTEA, mark VARBINARY(4));";
/// A digest is UTF-8, most bodies are not, and some are null or empty.
const ROWS: &str = "[rows]\nfiles = 12\ncopies = 0\n[columns.files]\n\
                    digest = \"text('digest ', :row)\"\n\
                    body = \"CASE WHEN :row = 3 THEN '' ELSE null(0.3, bytes(0, 900)) END\"\n\
                    mark = \"bytes(4, 4)\"\n";

fn stage(engine: &dyn Engine, script: &str, prepared: &str) -> Stage {
    let files = [("schema.sql", SCHEMA), ("workload.toml", ROWS), ("op.sql", script)];
    let levels = DeclaredLevels::from_iter([(PREPARED.name.into(), prepared.into())]);
    let all = |table, columns: &[usize]| {
        let read = TableRead::by_prefix(table, AccessPath::Key, 0, columns);
        Action::Read(TableRead { order: ReadOrder::Ascending, ..read })
    };
    let added = vec![all(0, &[0, 1, 2, 3]), all(1, &[1, 2])];
    Stage::at_levels(engine, to_files("lab", &files), added, levels)
}

fn record(engine: &dyn Engine, script: &str) -> Sent {
    stage(engine, script, "on").record(0, 1, 1, false).operations.remove(0)
}

/// A text and its bytes are the same here.
fn write_hexadecimal(value: Value<'_>) -> String {
    let bytes = match value {
        Value::Null => return "NULL".into(),
        Value::Int(int) => return int.to_string(),
        Value::Text(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        Value::Real(_) => panic!("{value:?}"),
    };
    format!("X'{}'", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn write_row<'v>(values: impl Iterator<Item = Value<'v>>) -> String {
    format!("({})", values.map(write_hexadecimal).collect::<Vec<_>>().join(", "))
}

/// All rows of a table: files, or copies.
fn read_table(stage: &Stage, table: usize) -> Vec<String> {
    let (mut session, mut rows) = (stage.database.session().unwrap(), Rows::new());
    session.run(stage.added + table, &[], &mut rows).unwrap();
    (0..rows.len()).map(|row| write_row(rows.row(row))).collect()
}

#[test]
fn bytes_are_read_as_they_were_loaded() {
    let script = "SELECT id, digest, body, mark FROM files WHERE id = :client_id;";
    for name in SQL_ENGINES.into_iter().chain(OTHERS) {
        let Some(engine) = installed(name) else { continue };
        let stage = stage(engine, script, "on");
        let mut loaded = Vec::new();
        let mut keep = |row: &[Value<'_>]| {
            loaded.push(write_row(row[..4].iter().copied()));
            Ok(())
        };
        stage.prepared.rows(0, &mut keep).unwrap();
        assert_eq!(read_table(&stage, 0), loaded, "{name}");
        let has = |end: &str| loaded.iter().filter(|row| row.contains(end)).count();
        assert_eq!((loaded.len(), has("NULL") > 0, has(", X'', ") > 0), (12, true, true));
        let longest = loaded.iter().map(String::len).max();
        assert!(longest > Some(1000), "{longest:?}");
    }
}

/// What is read goes into another row, what is drawn into the same, and both are found again.
#[test]
fn bytes_go_from_an_answer_into_a_parameter_alike_on_each_engine_and_at_each_level() {
    let script = "\\set k random(1, 12)\n\\set drawn bytes(0, 300)\n\\set fresh :drawn\nBEGIN;\n\
                  SELECT digest, body, mark FROM files WHERE id = :k \\gset\n\
                  INSERT INTO copies (body, mark) VALUES (:body, :mark);\n\
                  UPDATE files SET body = :fresh, mark = X'00fF27' WHERE digest = :digest;\n\
                  SELECT COUNT(*) AS n FROM files WHERE body = :fresh AND mark = X'00ff27' \\gset\n\
                  \\assert :n >= 1\n\
                  SELECT id FROM copies WHERE body IS NULL OR body = :body ORDER BY id \\lset ids\n\
                  COMMIT;\n\
                  \\pick f FROM files\nSELECT id FROM files WHERE digest = :f_digest \\gset r_\n\
                  \\assert :r_id = :f_id\n\
                  SELECT mark FROM copies ORDER BY id LIMIT 5 \\lset marks\n\
                  SELECT COUNT(*) FROM copies WHERE mark IN (:marks[2]);";
    let mut first: Option<[Vec<String>; 2]> = None;
    for engine in SQL_ENGINES.into_iter().filter_map(installed) {
        let name = &engine.about().name;
        for prepared in ["on", "off"] {
            let stage = stage(engine, script, prepared);
            let sent = stage.record(0, 1, 20, false).operations;
            let errors: Vec<_> = sent.iter().filter_map(|it| it.error.as_ref()).collect();
            assert_eq!(errors, [""; 0], "{name} {prepared}");
            let tables = [0, 1].map(|table| read_table(&stage, table));
            if *name == "sqlite" {
                let kept = sent.iter().flat_map(|it| &it.kept);
                let inserts: Vec<_> = kept
                    .filter_map(|it| Some(it.strip_prefix("op.sql:6 (NULL, ")?.to_owned()))
                    .collect();
                let copies: Vec<_> =
                    tables[1].iter().map(|it| it.trim_start_matches('(')).collect();
                assert_eq!(copies, inserts);
            }
            assert_eq!((tables[0].len(), tables[1].len()), (12, 20));
            let first = first.get_or_insert_with(|| tables.clone());
            assert_eq!(tables, *first, "{name} {prepared}");
        }
    }
}

/// SQLite would keep a text, and no bytes are equal to it.
#[test]
fn a_text_where_bytes_are_wanted_is_told_at_its_line() {
    let script = "SELECT 1;\n\\set t 'abc'\n\
                  UPDATE files SET body = :t WHERE id IN (SELECT id FROM copies) OR id = 1;";
    if let Some(engine) = installed("postgres") {
        let error = record(engine, script).error.unwrap();
        assert!(
            error.starts_with("lab/op.sql:3:1: ") && error.contains("a text where bytes"),
            "{error}"
        );
        let error = record(engine, "\\set b bytes(2, 2)\nUPDATE files SET note = :b WHERE id = 1;");
        let error = error.error.unwrap();
        assert!(
            error.starts_with("lab/op.sql:2:1: ") && error.contains("holds text, no bytes"),
            "{error}"
        );
    }
}

#[test]
fn expressions_only_give_bytes_on() {
    let engine = installed("sqlite").unwrap();
    for (line, said) in [
        ("\\set t text('a', :b)", "op.sql:2:6: cannot coerce bytes to text"),
        ("\\set t :b = 'a'", "op.sql:2:6: cannot coerce bytes to int"),
        ("\\set t hash(:b)", "op.sql:2:6: cannot coerce bytes to int"),
        ("\\repeat :b\nSELECT 1;\n\\end", "op.sql:2:9: bytes are no number"),
    ] {
        let script = format!("\\set b bytes(1, 9)\n{line}\nSELECT 1;");
        let error = record(engine, &script).error.unwrap();
        assert!(error.contains(said), "{line}: {error}");
    }
    let script = "\\set b bytes(1, 9)\n\\assert :b IS NOT NULL\n\\set c CASE WHEN 1 = 1 THEN :b END\n\
                  SELECT COUNT(*) AS n FROM files WHERE body = :b OR body = :c \\gset";
    let sent = record(engine, script);
    let values = sent.kept[0].strip_prefix("op.sql:4 (X'").unwrap().strip_suffix("')").unwrap();
    let (one, other) = values.split_once("', X'").unwrap();
    assert!(one == other && !one.is_empty(), "{values}");
}

#[test]
fn wrong_uses_of_bytes_are_told_at_their_place() {
    let told = |schema: &str, rows: &str, script: &str| {
        let files = [("schema.sql", schema), ("workload.toml", rows), ("op.sql", script)];
        let files = files.into_iter().filter(|(_, text)| !text.is_empty()).collect::<Vec<_>>();
        match Application::new(to_files("lab", &files)) {
            Ok(_) => panic!("{schema} {rows} {script}: no mistake"),
            Err(mistakes) => mistakes.to_string(),
        }
    };
    for (columns, said) in [
        ("id BINARY(16) PRIMARY KEY", "bytes can't be in a PRIMARY KEY (id)"),
        ("id INT PRIMARY KEY, b BLOB UNIQUE", "have at most 255: write VARBINARY(255)"),
        ("id INT PRIMARY KEY, b VARBINARY(256) UNIQUE", "have at most 255: write VARBINARY(255)"),
        ("id INT PRIMARY KEY, b VARBINARY", "bytes have one length"),
        ("id INT PRIMARY KEY, b BINARY(0)", "bytes have a length above 0"),
        ("id INT PRIMARY KEY, b VARBINARY(64001)", "write BLOB above 64000"),
        ("id INT PRIMARY KEY, b BLOB(9)", "write VARBINARY(255), or BLOB alone"),
        ("id INT PRIMARY KEY, b TINYBLOB", "write VARBINARY(255)"),
        ("id INT PRIMARY KEY, b VARBINARY(64000), c VARBINARY(1)", "longer than"),
    ] {
        let schema = format!("CREATE TABLE t ({columns});");
        let told = told(&schema, "", "SELECT 1;");
        assert!(told.starts_with("lab/schema.sql:1:") && told.contains(said), "{columns}: {told}");
    }
    for (column, generator, said) in [
        ("mark", "7", "the column holds bytes, and the generator gives int: write bytes(16, 64)"),
        ("mark", "bytes(5, 5)", "column mark holds at most 4 bytes, not 5"),
        ("mark", "bytes(5, 1)", "bytes(5, 1) needs a least and a most number of bytes"),
        ("note", "bytes(5, 5)", "cannot coerce bytes to text"),
        ("digest", "bytes(5, 5)", "the UNIQUE files.digest no value twice"),
    ] {
        let digest = if column == "digest" { "" } else { "digest = \"text(:row)\"\n" };
        let rows =
            format!("[rows]\nfiles = 9\n[columns.files]\n{column} = \"{generator}\"\n{digest}");
        let told = told(SCHEMA, &rows, "SELECT id FROM files;");
        assert!(
            told.starts_with("lab/workload.toml:4:") && told.contains(said),
            "{generator}: {told}"
        );
    }
    for (script, said) in [
        (
            "SELECT 1;\nUPDATE files SET body = 'a' WHERE id = 1;",
            "2:25: body holds bytes, and `'a'`",
        ),
        ("SELECT id FROM files WHERE digest = 7;", "1:37: digest holds bytes, and `7` is none"),
        ("INSERT INTO files (id, body) VALUES (1, 'a');", "1:41: body holds bytes, and `'a'`"),
    ] {
        let told = told(SCHEMA, ROWS, script);
        assert!(told.starts_with("lab/op.sql:") && told.contains(said), "{script}: {told}");
    }
}
