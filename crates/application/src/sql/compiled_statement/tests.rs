use proptest::prelude::*;

use super::*;
use crate::sql::ParameterSource;
use crate::sql::split_statements;

const SCHEMA: &str = "
CREATE TABLE products (id SERIAL PRIMARY KEY, \"Name\" VARCHAR(99) NOT NULL, stock INTEGER NOT NULL,
    price NUMERIC(8, 2), shop INTEGER, sold BOOLEAN, weight REAL);
CREATE TABLE shops (id INTEGER PRIMARY KEY, mail VARCHAR(99) UNIQUE, date DATE, key INTEGER);
CREATE TABLE hits (day INTEGER, page VARCHAR(20), n INTEGER NOT NULL, PRIMARY KEY (day, page));
";

fn read_schema() -> SqlSchema {
    let mut mistakes = Mistakes::default();
    let schema = SqlSchema::from_text(SCHEMA, &SourcePlace::from_file("schema.sql"), &mut mistakes);
    assert!(mistakes.is_empty(), "{mistakes}");
    schema
}

fn compile(text: &str) -> (Option<CompiledStatement>, String) {
    let mut mistakes = Mistakes::default();
    let place = SourcePlace::from_file("shop/buy.sql");
    let compiled = compile_statement(text, &place, &read_schema(), &mut mistakes);
    (compiled, mistakes.to_string())
}

fn compile_well(text: &str) -> CompiledStatement {
    let (compiled, mistakes) = compile(text);
    compiled.unwrap_or_else(|| panic!("{text}\n{mistakes}"))
}

fn names(parameters: &[ParameterSource]) -> Vec<String> {
    let name = |source: &ParameterSource| match source {
        ParameterSource::Named { name, place } => format!("{name}@{}:{}", place.line, place.column),
        ParameterSource::Element { name, number, .. } => format!("{name}[{number}]"),
        other => format!("{other:?}"),
    };
    parameters.iter().map(name).collect()
}

/// SQLite's, MySQL's and PostgreSQL's text.
fn check_texts(text: &str, expected: [&str; 3]) {
    let texts = compile_well(text).texts;
    let found = [&texts.sqlite, &texts.mysql, &texts.postgres].map(|text| text.text.as_str());
    assert_eq!(found, expected, "{text}");
}

/// The same text for all, but for the quotes of names and the marks of parameters.
fn check_text(text: &str, sqlite: &str) {
    let texts = compile_well(text).texts;
    assert_eq!(texts.sqlite.text, sqlite);
    assert_eq!(texts.mysql.text.replace('`', "\""), sqlite);
    let mut postgres = texts.postgres.text;
    for number in (1..=texts.postgres.parameters.len()).rev() {
        postgres = postgres.replace(&format!("${number}"), "?");
    }
    assert_eq!(postgres, sqlite);
}

#[test]
fn what_is_no_parameter_stays_text() {
    for text in
        ["'12:30:x:foo'", "\"co:l\"", "$$:x$$", "E'\\':x'", "1::int", "1 -- :no\n", "1 /* :no */"]
    {
        let text = format!("SELECT {text} FROM products AS p");
        let compiled = compile_well(&text);
        assert_eq!(compiled.texts.postgres.text, text.replace("products", "\"products\""));
        assert_eq!(compiled.texts.postgres.parameters, []);
    }
}

#[test]
fn parameters_are_numbered_from_left_to_right() {
    let compiled = compile_well(
        "SELECT stock FROM Products\nWHERE id IN (:a, :b[2]) AND stock = :a LIMIT :x, :y",
    );
    let text = &compiled.texts.postgres;
    assert_eq!(
        text.text,
        "SELECT \"stock\" FROM \"products\"\nWHERE \"id\" IN ($1, $2, $3) AND \"stock\" = $4 LIMIT $5 OFFSET $6"
    );
    assert_eq!(names(&text.parameters), ["a@2:14", "b[0]", "b[1]", "a@2:37", "y@2:50", "x@2:46"]);
    assert_eq!(compiled.name, "buy.sql:1");
    let compiled = compile_well("-- why\n\n  SELECT 1");
    assert_eq!(
        (compiled.name.as_str(), compiled.place.to_string().as_str()),
        ("buy.sql:3", "shop/buy.sql:3:3")
    );
}

#[test]
fn names_are_quoted_and_words_are_not() {
    check_text(
        "select Name, p.ID from products p",
        "select \"Name\", p.\"id\" from \"products\" p",
    );
    check_text("SELECT date, key FROM shops", "SELECT \"date\", \"key\" FROM \"shops\"");
    check_texts(
        "SELECT DATE '2020-01-01', count(*) FROM shops",
        [
            "SELECT '2020-01-01', count(*) FROM \"shops\"",
            "SELECT DATE '2020-01-01', count(*) FROM `shops`",
            "SELECT DATE '2020-01-01', count(*) FROM \"shops\"",
        ],
    );
    check_text("SELECT `stock` AS n FROM products", "SELECT \"stock\" AS n FROM \"products\"");
    check_text(
        "INSERT INTO hits (day, page, n) VALUES (:d, :p, 1)",
        "INSERT INTO \"hits\" (\"day\", \"page\", \"n\") VALUES (?, ?, 1)",
    );
    check_text(
        "WITH x (n) AS (SELECT n FROM hits) SELECT n FROM x",
        "WITH x (\"n\") AS (SELECT \"n\" FROM \"hits\") SELECT \"n\" FROM x",
    );
    check_text(
        "SELECT stock FROM products WHERE stock < NOW() AND id = CURRENT_TIMESTAMP",
        "SELECT \"stock\" FROM \"products\" WHERE \"stock\" < ? AND \"id\" = ?",
    );
}

#[test]
fn each_dialect_has_its_own_words() {
    check_texts(
        "SELECT id FROM shops WHERE id = :x::int FOR UPDATE",
        [
            "SELECT \"id\" FROM \"shops\" WHERE \"id\" = CAST(? AS INTEGER)",
            "SELECT `id` FROM `shops` WHERE `id` = CAST(? AS SIGNED) FOR UPDATE",
            "SELECT \"id\" FROM \"shops\" WHERE \"id\" = $1::int FOR UPDATE",
        ],
    );
    check_texts(
        "SELECT X'00fF' FROM shops WHERE mail::bytea = x'' OR CAST(mail AS BLOB) = :b",
        [
            "SELECT X'00fF' FROM \"shops\" WHERE CAST(\"mail\" AS BLOB) = x'' OR CAST(\"mail\" AS BLOB) = ?",
            "SELECT X'00fF' FROM `shops` WHERE CAST(`mail` AS BINARY) = x'' OR CAST(`mail` AS BINARY) = ?",
            "SELECT '\\x00fF'::bytea FROM \"shops\" WHERE \"mail\"::bytea = '\\x'::bytea OR CAST(\"mail\" AS BYTEA) = $1",
        ],
    );
    check_texts(
        "SELECT sum(s.id)::numeric(5, 1)::text, CAST(id AS bigint) FROM shops s",
        [
            "SELECT CAST(CAST(sum(s.\"id\") AS NUMERIC) AS TEXT), CAST(\"id\" AS INTEGER) FROM \"shops\" s",
            "SELECT CAST(CAST(sum(s.`id`) AS DECIMAL(5, 1)) AS CHAR), CAST(`id` AS SIGNED) FROM `shops` s",
            "SELECT sum(s.\"id\")::numeric(5, 1)::text, CAST(\"id\" AS BIGINT) FROM \"shops\" s",
        ],
    );
    check_texts(
        "SELECT sold FROM products WHERE sold = TRUE AND sold IS NOT FALSE",
        [
            "SELECT \"sold\" FROM \"products\" WHERE \"sold\" = 1 AND \"sold\" IS NOT FALSE",
            "SELECT `sold` FROM `products` WHERE `sold` = 1 AND `sold` IS NOT FALSE",
            "SELECT \"sold\" FROM \"products\" WHERE \"sold\" = TRUE AND \"sold\" IS NOT FALSE",
        ],
    );
    check_texts(
        "SELECT id --x\nFROM shops /* /* */ */ WHERE mail = E'it\\'s' OR mail = $$a'b$$",
        [
            "SELECT \"id\" --x\nFROM \"shops\"   WHERE \"mail\" = 'it''s' OR \"mail\" = 'a''b'",
            "SELECT `id`  \nFROM `shops`   WHERE `mail` = 'it''s' OR `mail` = 'a''b'",
            "SELECT \"id\" --x\nFROM \"shops\" /* /* */ */ WHERE \"mail\" = E'it\\'s' OR \"mail\" = $$a'b$$",
        ],
    );
}

#[test]
fn nulls_are_ordered_alike() {
    check_texts(
        "SELECT id FROM shops ORDER BY mail, date DESC, id LIMIT 5",
        [
            "SELECT \"id\" FROM \"shops\" ORDER BY \"mail\", \"date\" DESC, \"id\" LIMIT 5",
            "SELECT `id` FROM `shops` ORDER BY `mail`, `date` DESC, `id` LIMIT 5",
            "SELECT \"id\" FROM \"shops\" ORDER BY \"mail\" NULLS FIRST, \"date\" DESC NULLS LAST, \"id\" LIMIT 5",
        ],
    );
    check_texts(
        "SELECT id FROM shops ORDER BY mail NULLS FIRST",
        [
            "SELECT \"id\" FROM \"shops\" ORDER BY \"mail\" NULLS FIRST",
            "SELECT `id` FROM `shops` ORDER BY `mail`",
            "SELECT \"id\" FROM \"shops\" ORDER BY \"mail\" NULLS FIRST",
        ],
    );
}

#[test]
fn an_upsert_is_written_both_ways() {
    let expected = [
        "INSERT INTO \"hits\" VALUES (?, ?, 1) ON CONFLICT (\"day\", \"page\") DO UPDATE SET \"n\" = \"hits\".\"n\" + excluded.\"n\"",
        "INSERT INTO `hits` VALUES (?, ?, 1) ON DUPLICATE KEY UPDATE `n` = `hits`.`n` + VALUES(`n`)",
        "INSERT INTO \"hits\" VALUES ($1, $2, 1) ON CONFLICT (\"day\", \"page\") DO UPDATE SET \"n\" = \"hits\".\"n\" + excluded.\"n\"",
    ];
    let insert = "INSERT INTO hits VALUES (:d, :p, 1)";
    check_texts(
        &format!("{insert} ON CONFLICT (day, page) DO UPDATE SET n = hits.n + excluded.n"),
        expected,
    );
    let texts = compile_well(&format!("{insert} ON DUPLICATE KEY UPDATE n = n + VALUES(n)")).texts;
    assert_eq!(texts.sqlite.text, expected[0]);
    assert_eq!(texts.mysql.text, expected[1].replace("`hits`.`n` +", "`n` +"));
    assert_eq!(texts.postgres.text, expected[2]);
    let nothing = compile_well(&format!("{insert} ON CONFLICT DO NOTHING"));
    assert_eq!(nothing.texts.mysql.text, "INSERT IGNORE INTO `hits` VALUES (?, ?, 1)");
    assert!(nothing.writes && nothing.kind == StatementKind::Other);
}

/// The contract's upsert is the same on all engines, whatever other keys there are.
#[test]
fn an_upsert_of_a_whole_row_needs_no_variant() {
    let text = "INSERT INTO shops VALUES (:i, 'a', NULL, 2) ON CONFLICT (id) DO UPDATE SET mail = \
                excluded.mail, date = excluded.date, key = excluded.key";
    let compiled = compile_well(text);
    assert!(compiled.fitted.is_some());
    let mysql = &compiled.texts.mysql;
    assert!(
        mysql.text.contains("VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE `id` = IF("),
        "{}",
        mysql.text
    );
    assert_eq!(mysql.parameters.len(), 4);
}

#[test]
fn variants_are_texts_of_their_own() {
    let text = "-- sqlite, postgres:\nSELECT stock / 2 FROM products;\n-- mysql:\nSELECT stock DIV 2 FROM products";
    assert_eq!(split_statements(&format!("BEGIN; {text}; COMMIT")).len(), 3);
    let compiled = compile_well(text);
    assert!(compiled.texts.differ && compiled.fitted.is_none());
    assert_eq!(compiled.texts.mysql.text, "SELECT `stock` DIV 2 FROM `products`");
    assert_eq!(compiled.texts.sqlite.text, "SELECT \"stock\" / 2 FROM \"products\"");
    assert_eq!(compiled.name, "buy.sql:2");
}

#[test]
fn variants_have_the_same_parameters() {
    let (_, mistakes) = compile("-- sqlite, postgres:\nSELECT :a, :b;\n-- mysql:\nSELECT :b, :a");
    assert!(mistakes.contains("2:1: the variants have other parameters"), "{mistakes}");
}

#[test]
fn an_engine_gets_an_action_or_the_texts() {
    let fits = compile_well("SELECT stock FROM products WHERE id = :x").to_statement();
    assert!(matches!(fits.action, Action::Read(_)), "{fits:?}");
    let locks = compile_well("SELECT n FROM hits WHERE n > :a AND n IN (:l[2]) FOR UPDATE");
    assert_eq!(names(locks.list_sources()), ["a@1:30", "l[0]", "l[1]"]);
    let Action::Sql(text) = locks.to_statement().action else { panic!("{locks:?}") };
    assert_eq!((text.place.as_str(), text.parameters, text.writes), ("shop/buy.sql:1", 3, true));
    assert!(text.why.starts_with("`n > :a` is no equality"), "{}", text.why);
}

#[test]
fn kinds_and_answers_are_known() {
    let none: Vec<Option<String>> = Vec::new();
    for (text, kind, locks) in [
        ("BEGIN", StatementKind::Begin, false),
        ("START TRANSACTION", StatementKind::Begin, false),
        ("COMMIT WORK", StatementKind::Commit, false),
        ("END", StatementKind::Commit, false),
        ("ROLLBACK", StatementKind::Rollback, false),
        ("SELECT id FROM shops WHERE id = 1 FOR UPDATE", StatementKind::Select, true),
        ("WITH x AS (SELECT id FROM shops) SELECT id FROM x", StatementKind::Select, false),
        (
            "WITH x AS (DELETE FROM shops RETURNING id) SELECT id FROM x",
            StatementKind::Other,
            false,
        ),
        ("WITH x AS (SELECT id FROM shops) DELETE FROM hits", StatementKind::Other, false),
        ("SELECT replace(mail, 'a', 'b') FROM shops", StatementKind::Select, false),
        ("UPDATE shops SET mail = NULL", StatementKind::Other, false),
    ] {
        let compiled = compile_well(text);
        let writes = kind == StatementKind::Other;
        assert_eq!(
            (compiled.kind, compiled.locks, compiled.writes),
            (kind, locks, writes),
            "{text}"
        );
    }
    assert_eq!(compile_well("DELETE FROM shops").columns, Some(none));
    for (text, columns) in [
        (
            "SELECT p.Name, stock s, count(*) AS Many, 1 + 1 FROM products p GROUP BY 1",
            "Name s many -",
        ),
        (
            "SELECT p.*, h.n FROM products p JOIN hits h ON h.n = p.id",
            "id Name stock price shop sold weight n",
        ),
        ("SELECT * FROM shops, hits", "id mail date key day page n"),
        (
            "INSERT INTO products VALUES (NULL, :n, 1, 2, 3, TRUE, 1) RETURNING id, stock",
            "id stock",
        ),
        ("SELECT DISTINCT max(n) FROM hits", "-"),
        ("SELECT :x::int AS a, 5 b", "a b"),
    ] {
        let names = compile_well(text).columns.expect(text);
        let names: Vec<_> = names.iter().map(|name| name.as_deref().unwrap_or("-")).collect();
        assert_eq!(names.join(" "), columns, "{text}");
    }
    assert_eq!(compile_well("SELECT * FROM shops JOIN hits USING (id)").columns, None);
}

#[test]
fn what_differs_or_is_forbidden_is_told_with_what_to_write() {
    let shops = "INSERT INTO shops VALUES (1, 'a', NULL, 2)";
    for (text, mistake) in [
        ("SELECT stock / 2 FROM products", "1:14: `/` of integers or decimals differs"),
        (
            "SELECT\n sum(stock) / COUNT(*) FROM products",
            "2:13: `/` of integers or decimals differs",
        ),
        ("SELECT p.stock / :n FROM products p", "write `a * 1e0 / b`"),
        ("SELECT RANDOM() FROM shops", "\\set x random(1, 100)"),
        ("SELECT TIMESTAMP '2020-01-01'", "write it as '2024-02-29 23:59:59.000000'"),
        ("SELECT 5/2", "`/` of integers or"),
        ("SELECT price / 2.0 FROM products", "`/` of integers or"),
        ("SELECT AVG(p.price) FROM products p", "SUM(a) * 1e0 / COUNT(a)"),
        (
            "SELECT DISTINCT ON (id) id FROM shops",
            "DISTINCT ON is PostgreSQL's alone: use GROUP BY",
        ),
        ("SELECT id FROM shops WHERE lower(mail) = 'a'", "LOWER() does nothing on MySQL"),
        ("SELECT id FROM shops WHERE mail ILIKE 'a'", "use LIKE"),
        ("SELECT '1' + 1", "`+` of a text differs"),
        ("SELECT date + INTERVAL '1 day' FROM shops", "compute the bound with \\set"),
        ("SELECT mail ->> 'a' FROM shops", "keep the value in a column"),
        ("SELECT GROUP_CONCAT(mail) FROM shops", "read the rows"),
        ("REPLACE INTO hits VALUES (1, 'a', 2)", "write INSERT … ON CONFLICT (key)"),
        ("SELECT id FROM shops ORDER BY mail NULLS LAST", "MySQL has nulls first"),
        ("UPDATE hits SET n = n + 1, day = n", "1:34: n is set before it is read"),
        ("SELECT (1 + 2)[1]::int", "this `::` has no simple operand"),
        ("SELECT mail::date FROM shops", "`::date` can't be translated"),
        ("SELECT id FROM shops WHERE mail = \"bob\"", "a text is written 'bob'"),
        (
            &format!("{shops} ON CONFLICT (id) DO UPDATE SET mail = excluded.mail"),
            "1:44: MySQL can't tell which of several unique keys of shops is meant: write the statement once below `-- sqlite, postgres:`, and once below `-- mysql:` with ON DUPLICATE KEY UPDATE mail = VALUES(mail)",
        ),
        (
            &format!("{shops} ON DUPLICATE KEY UPDATE mail = VALUES(mail)"),
            "with ON CONFLICT (\"id\") DO UPDATE SET",
        ),
        (
            "SELECT id FROM nowhere",
            "1:16: schema.sql has no table nowhere; it has products, shops, hits",
        ),
        (
            "SELECT s.id, x FROM shops s JOIN hits h ON h.nope = 1",
            "1:46: the table hits has no column nope",
        ),
        (
            "SELECT nothing FROM shops",
            "1:8: the table shops has no column nothing; it has id, mail",
        ),
        ("SELECT id FROM public.shops", "write the table without `public.`"),
        ("SELECT ?", "write a parameter as `:name`"),
        ("SELECT $1", "write a parameter as `:name`"),
        ("SELECT @x", "set it with \\set"),
        ("SELECT @@version", "set it with \\set"),
        ("SELECT 'a", "1:8: this text, name or comment has no end"),
        ("SELECT (1", "never closed"),
        ("SELECT 1)", "never opened"),
        ("COPY shops TO PROGRAM 'sh'", "1:1: an operation can't run COPY"),
        ("ATTACH 'x' AS y", "an operation can't run ATTACH"),
        ("VACUUM INTO 'x'", "an operation can't run VACUUM"),
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE shops", "an operation can't run LOAD"),
        ("SELECT id FROM shops INTO OUTFILE '/tmp/x'", "1:22: an operation can't write files"),
        ("SELECT id INTO other FROM shops", "\\gset"),
        ("SELECT pg_read_file('x')", "1:8: an operation can't call pg_read_file"),
        ("SELECT pg_catalog.\"pg_read_file\"('x')", "can't call pg_read_file"),
        ("SELECT load_extension('x')", "can't call load_extension"),
        ("SELECT /*! 1, */ 1", "1:8: MySQL runs what stands in this comment"),
        ("CREATE TABLE t (a INT)", "an operation can't run CREATE"),
        ("SET x = 1", "an operation can't run SET"),
        ("BEGIN ISOLATION LEVEL SERIALIZABLE", "leave out `ISOLATION LEVEL SERIALIZABLE`"),
        ("SAVEPOINT a", "committed or rolled back as a whole"),
        ("SELECT 1; SELECT 2", "1:11: this is another statement"),
        ("-- mysql:\nSELECT 1", "a variant for sqlite is missing"),
        ("EXPLAIN SELECT 1", "`EXPLAIN` begins no statement"),
        (
            "INSERT INTO hits (day, page) VALUES (1, 'a')",
            "1:13: the column n is NOT NULL and has no value",
        ),
        ("INSERT INTO hits (day, page, n) VALUES (1, 'a')", "2 values for 3 columns: give as many"),
    ] {
        let (compiled, mistakes) = compile(text);
        assert!(compiled.is_none() && mistakes.contains(mistake), "{text}\n{mistakes}");
        assert_eq!(mistakes.lines().count(), 1, "{text}\n{mistakes}");
    }
    let many = format!("SELECT id FROM shops WHERE id IN ({}1)", ":a,".repeat(70_000));
    assert!(compile(&many).1.contains("70000 parameters are too many"));
    for text in ["", ";", "-- only a comment"] {
        assert!(compile(text).0.is_none());
    }
}

#[test]
fn what_means_the_same_is_passed_on() {
    for text in [
        "SELECT stock * 1e0 / 2, p.stock * p.weight / :n, stock % 2, SUM(price) * 1e0 / COUNT(*), 1 / weight FROM products p",
        "SELECT EXTRACT(year FROM date) FROM shops WHERE date IS DISTINCT FROM NULL",
        "SELECT id FROM generate_series(1, 2) AS id",
        "SELECT sum(price) FROM products",
        "UPDATE hits SET n = n + 1, day = day + 1",
        "SELECT mail || 'x' FROM shops WHERE mail LIKE 'a%'",
        "SELECT x.n FROM (SELECT n FROM hits) AS x",
        "(SELECT 1) UNION (SELECT 2)",
        "SELECT -1 - 2",
    ] {
        compile_well(text);
    }
}

const GOOD: [&str; 6] = [
    "WITH x (a) AS (SELECT id FROM shops s WHERE s.mail LIKE E'\\'%') SELECT a::int FROM x ORDER BY a NULLS FIRST LIMIT :a, 5 FOR UPDATE OF x SKIP LOCKED",
    "-- sqlite, postgres:\nINSERT INTO hits (day, page, n) VALUES (:a, $$b$$, NOW()) ON CONFLICT (day, page) DO UPDATE SET n = hits.n + excluded.n RETURNING day;\n-- mysql:\nINSERT INTO hits VALUES (:a, 'b', 1) ON DUPLICATE KEY UPDATE n = n + VALUES(n)",
    "UPDATE products SET stock = stock - :n, \"Name\" = 'é' WHERE id = :id AND stock IN (:l[4], 1)",
    "SELECT COALESCE(SUM(stock), 0) FROM (SELECT stock FROM products WHERE id BETWEEN 1 AND 2 OR id BETWEEN :a AND -4 ORDER BY id DESC LIMIT 3) AS f",
    "SELECT CAST(p.price AS NUMERIC(5, 2)), p.* FROM products AS p, shops JOIN hits ON (n = 1) GROUP BY 1, EXTRACT(year FROM date)",
    "DELETE FROM hits WHERE day = 1 AND page = '2' /* /* */ */ -- x",
];

#[test]
fn every_prefix_of_a_statement_is_read() {
    let schema = read_schema();
    let place = SourcePlace::from_file("a.sql");
    for text in GOOD {
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            compile_statement(&text[..end], &place, &schema, &mut Mistakes::default());
            compile_statement(&text[end..], &place, &schema, &mut Mistakes::default());
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_compiled(text in "\\PC{0,60}") {
        compile(&text);
    }

    #[test]
    fn any_words_are_compiled(
        words in proptest::collection::vec((0..GOOD.len(), 0_usize..60), 0..25),
    ) {
        let word = |(text, number): (usize, usize)| {
            let all: Vec<_> = split_words(GOOD[text]);
            all[number % all.len()]
        };
        let text: Vec<_> = words.into_iter().map(word).collect();
        compile(&text.join(" "));
    }
}

fn split_words(text: &str) -> Vec<&str> {
    crate::sql::tokens::split_tokens(text).into_iter().map(|token| &text[token.span]).collect()
}
