//! Every kind of mistake at its place, all in one answer, each once.

use std::fmt::Write as _;

use bakeoff_application::Application;

use crate::stage::{example, to_files};

/// Scripts of one operation each, and the beginning of what is said of each: line, column, words.
const SCRIPTS: &[(&str, &[&str])] = &[
    ("SELECT id FROM ordes;", &["1:16: schema.sql has no table ordes"]),
    ("SELECT id,\n  colour FROM orders;", &["2:3: the table orders has no column colour"]),
    ("SELECT id FROM orders WHERE id = :x;", &["1:34: `:x` is never set"]),
    ("\\set x rondom(1, 2)\nSELECT id FROM orders WHERE id = :x;", &["1:8: "]),
    ("\\set x nextval(1, 2)\nSELECT id FROM orders WHERE id = :x;", &["1:8: "]),
    ("\\set x :orders + (1\nSELECT id FROM orders WHERE id = :x;", &["1:18: "]),
    ("\\if 1 = 1\nSELECT id FROM orders;", &["1:1: has no end: write \\endif"]),
    ("SELECT id FROM orders;\n\\endif", &["2:1: there is no \\if"]),
    ("\\repeat 2\nSELECT id FROM orders;", &["1:1: has no end"]),
    (
        "SELECT 1;\nBEGIN;\nSELECT id FROM orders;",
        &["2:1: the transaction has no end: write COMMIT"],
    ),
    ("SELECT id FROM orders;\nCOMMIT;", &["2:1: there is no transaction"]),
    // Each path through the script ends the transaction once.
    (
        "SELECT 1;\nBEGIN;\n\\if 1 > 2\nROLLBACK;\n\\endif",
        &["2:1: a path through the script leaves this transaction open"],
    ),
    (
        "SELECT 1;\nBEGIN;\n\\if 1 > 2\nROLLBACK;\n\\endif\nCOMMIT;",
        &["6:1: a path comes here on which the transaction has ended already"],
    ),
    (
        "SELECT 1;\nBEGIN;\n\\if 1 > 2\nROLLBACK;\n\\else\nCOMMIT;\n\\endif\nCOMMIT;",
        &["8:1: there is no transaction to end"],
    ),
    (
        "SELECT 1;\nBEGIN;\n\\if 1 > 2\nROLLBACK;\n\\endif\nBEGIN;\nCOMMIT;",
        &["6:1: the transaction of shop/a"],
    ),
    (
        "BEGIN;\n\\repeat 2\nSELECT 1;\nCOMMIT;\n\\end",
        &[
            "1:1: a path through the script leaves this transaction open",
            "4:1: a path comes here on which the transaction has ended already",
        ],
    ),
    (
        "\\if 1 > 2\nBEGIN;\n\\endif\nSELECT 1;\nCOMMIT;",
        &["5:1: a path comes here on which there is no transaction"],
    ),
    (
        "BEGIN;\n\\if 1 > 2\nROLLBACK;\n\\elif 1 > 3\n\\again\n\\else\nSELECT 1;\nCOMMIT;\n\\endif",
        &[],
    ),
    (
        "\\pick o FROM ordes\nSELECT id FROM orders WHERE id = :o_id;",
        &["1:14: there is no table `ordes`"],
    ),
    ("\\pick o FROM orders zipff:0.8\nSELECT id FROM orders WHERE id = :o_id;", &["1:21: "]),
    (
        "\\each ids id\nSELECT id FROM orders WHERE id = :id;\n\\end",
        &["1:7: there is no list `ids`"],
    ),
    ("-- nothing", &[" has no statement"]),
    ("\\shell rm -rf /\nSELECT 1;", &["1:2: \\shell can't be run"]),
    ("SELECT 'x;", &["1:8: this text, name or comment has no end"]),
    ("SELECT (id FROM orders;", &["1:8: this bracket is never closed"]),
    ("SELECT 5 / 2 FROM orders;", &["1:10: `/` of integers"]),
    // Of what follows from a mistake nothing is said.
    (
        "SELECT colour, id FROM orders WHERE id = 1 \\gset o_\n\
         \\if :o_id > 1 AND :o_colour = 1\nSELECT id FROM orders WHERE id = :o_id;\n\\endif\n\
         \\set twice 2 * :o_id\nSELECT id FROM orders WHERE id = :twice;",
        &["1:8: the table orders has no column colour"],
    ),
    (
        "SELECT colour FROM orders \\lset ids\n\\each ids id\nSELECT id FROM orders WHERE id = :id;\n\\end\n\
         SELECT id FROM orders WHERE id IN (:ids[2]);",
        &["1:8: the table orders has no column colour"],
    ),
    ("\\set x rondom(1)\n\\set y :x + 1\nSELECT id FROM orders WHERE id = :x + :y;", &["1:8: "]),
    // A variant whose name has a mistake is taken for what was meant.
    (
        "-- sqlite, mysql:\nSELECT id FROM orders;\n-- postgre:\nSELECT id FROM orders;",
        &["3:4: there is no variant `postgre`; did you mean postgres?"],
    ),
    (
        "-- sqlite, pgsql:\nSELECT id FROM orders;\n--  Mysqll :\nSELECT id FROM orders;",
        &[
            "1:12: there is no variant `pgsql`; did you mean postgres?",
            "3:5: there is no variant `Mysqll`; did you mean mysql?",
        ],
    ),
    (
        "-- oracle, sqlite, mysql, postgres:\nSELECT id FROM orders;",
        &["1:4: there is no variant `oracle`; write sqlite, mysql, mariadb or postgres"],
    ),
    ("-- orders:\nSELECT id FROM orders;\n-- mysql and postgres:\nSELECT 1;", &[]),
    // A statement in a transaction, and one that begins the next.
    ("BEGIN;\nUPDATE ordes SET id = 1;\nCOMMIT;", &["2:8: schema.sql has no table ordes"]),
];

/// What reaches beyond the tables, and the column where it does.
const RIGHTS: &[(&str, u32, &str)] = &[
    ("COPY orders TO PROGRAM 'id > /tmp/x'", 1, "can't run COPY"),
    ("COPY orders FROM '/etc/passwd'", 1, "can't run COPY"),
    ("ATTACH '/etc/passwd' AS x", 1, "can't run ATTACH"),
    ("VACUUM INTO '/tmp/x'", 1, "can't run VACUUM"),
    ("SELECT id INTO OUTFILE '/tmp/x' FROM orders", 11, "can't write files"),
    ("SELECT id FROM orders INTO DUMPFILE '/tmp/x'", 23, "can't write files"),
    ("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE orders", 1, "can't run LOAD"),
    ("SELECT pg_read_file('/etc/passwd')", 8, "can't call pg_read_file"),
    ("SELECT \"pg_read_file\"('/etc/passwd')", 8, "can't call pg_read_file"),
    ("SELECT load_file('/etc/passwd')", 8, "can't call load_file"),
    ("PRAGMA journal_mode = DELETE", 1, "can't run PRAGMA"),
    ("SET GLOBAL general_log = 1", 1, "can't run SET"),
    ("CREATE TABLE x (id INTEGER PRIMARY KEY)", 1, "can't run CREATE"),
    ("DROP TABLE orders", 1, "can't run DROP"),
    ("DO $$ BEGIN END $$", 1, "can't run DO"),
    ("SELECT id /*! INTO OUTFILE '/tmp/x' */ FROM orders", 11, "MySQL runs"),
    ("WITH x AS (SELECT lo_import('/etc/passwd')) SELECT * FROM x", 19, "can't call lo_import"),
];

/// `file:line:column: words` in the order of files.
fn told(texts: &[(&str, &str)]) -> Vec<String> {
    match Application::new(to_files("shop", texts)) {
        Ok(_) => Vec::new(),
        Err(mistakes) => mistakes.iter().map(|it| format!("{}: {}", it.place, it.what)).collect(),
    }
}

#[test]
fn all_mistakes_of_a_folder_are_one_answer() {
    let shop = example();
    let configuration = shop.texts["workload.toml"]
        .replace("browse = 80", "browse = 0")
        .replace("report = 1\n", "reprot = 1\n")
        .replace("stock = \":products\"", "stoc = \":products\"")
        .replace("[columns.stock]", "[columns.stok]")
        .replace("description =", "descripton =")
        .replace("large = 100", "large = 'x'");
    let mut texts = vec![
        ("schema.sql".to_owned(), shop.texts["schema.sql"].clone()),
        ("workload.toml".into(), configuration.clone()),
        (
            "invariants.sql".into(),
            "SELECT COUNT(*) FROM ordes;\nDELETE FROM orders;\n\
             SELECT COUNT(*) - :orders - :nobody FROM orders;\n\\sleep 1 s\n"
                .into(),
        ),
    ];
    let mut expected = Vec::new();
    for (number, (script, said)) in SCRIPTS.iter().enumerate() {
        texts.push((format!("a{number:02}.sql"), (*script).to_owned()));
        for said in *said {
            expected.push((format!("shop/a{number:02}.sql:{said}"), ""));
        }
    }
    for (number, (script, column, said)) in RIGHTS.iter().enumerate() {
        texts.push((format!("b{number:02}.sql"), format!("SELECT 1;\n{script};")));
        expected.push((format!("shop/b{number:02}.sql:2:{column}: "), *said));
    }
    expected.push(("shop/invariants.sql:1:22: schema.sql has no table ordes".into(), ""));
    expected.push(("shop/invariants.sql:2:1: an invariant is a query: it writes".into(), ""));
    expected.push(("shop/invariants.sql:4:8: an invariant has queries, ".into(), ""));
    expected.push(("shop/invariants.sql:3:29: `:nobody` is never set".into(), ""));
    let line =
        |words: &str| 1 + configuration.lines().position(|it| it.starts_with(words)).unwrap();
    for (words, column, said) in [
        ("stoc", 9, "stoc"),
        ("[columns.stok]", 10, "there is no table `stok`"),
        ("descripton", 1, "`products` has no column `descripton`"),
        ("browse = 0", 10, "is no whole number above 0"),
        ("large", 9, "is no whole number above 0"),
    ] {
        expected.push((format!("shop/workload.toml:{}:{column}: ", line(words)), said));
    }
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (&**name, &**text)).collect();
    let mut rest = told(&texts);
    let mut wrong = String::new();
    for (begins, holds) in &expected {
        match rest.iter().position(|it| it.starts_with(begins) && it.contains(holds)) {
            Some(at) => drop(rest.remove(at)),
            None => writeln!(wrong, "missing: {begins}…{holds}").unwrap(),
        }
    }
    // Its operations have other names.
    rest.retain(|it| !it.contains("there is no operation `"));
    rest.iter().for_each(|it| writeln!(wrong, "too much: {it}").unwrap());
    assert_eq!(wrong, "");
}

/// A table or a column with a mistake is there for all that names it.
#[test]
fn of_what_follows_from_a_mistake_in_the_schema_nothing_is_said() {
    let shop = example();
    for (right, wrong, line) in [
        ("email VARCHAR(60)", "email VARCHR(60)", 4),
        (
            "pieces INTEGER NOT NULL\n);\n\nCREATE TABLE orders",
            "pieces\n);\n\nCREATE TABLE orders",
            25,
        ),
        ("product_id BIGINT PRIMARY KEY", "product_id BIGINT PRIMRY KEY", 23),
    ] {
        let mut texts = shop.texts.clone();
        let schema = shop.texts["schema.sql"].replacen(right, wrong, 1);
        assert_ne!(schema, shop.texts["schema.sql"], "{right}");
        texts.insert("schema.sql".into(), schema);
        let texts: Vec<(&str, &str)> =
            texts.iter().map(|(name, text)| (&**name, &**text)).collect();
        let told = told(&texts);
        let begins = format!("shop/schema.sql:{line}:");
        assert!(told.iter().any(|it| it.starts_with(&begins)), "{told:#?}");
        assert!(told.iter().all(|it| it.starts_with("shop/schema.sql:")), "{told:#?}");
    }
}

#[test]
fn a_statement_of_very_many_parameters_is_refused_at_once() {
    let schema = ("schema.sql", "CREATE TABLE t (id INTEGER PRIMARY KEY);");
    for (count, refused) in [(70_000, true), (32_767, true), (32_766, false)] {
        let script =
            format!("\\set a 1\nSELECT id FROM t WHERE id IN ({});", vec![":a"; count].join(", "));
        let told = told(&[schema, ("op.sql", &script)]);
        let expected = format!("shop/op.sql:2:1: {count} parameters are too many");
        match refused {
            true => assert!(told.len() == 1 && told[0].starts_with(&expected), "{told:?}"),
            false => assert_eq!(told, Vec::<String>::new()),
        }
    }
}

#[test]
fn values_that_can_not_be_unique_are_refused_with_the_numbers() {
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, code VARCHAR(20) NOT NULL UNIQUE);";
    for (generator, said) in [
        ("text('c', :row % 1000)", "1000"),
        ("text('c', random(1, 1000))", "1000"),
        ("text('c', permute(:row, :rows))", ""),
        ("text('c', :row)", ""),
    ] {
        let rows = format!("[rows]\nt = 10000\n[columns.t]\ncode = \"{generator}\"\n");
        let told = told(&[
            ("schema.sql", schema),
            ("workload.toml", &rows),
            ("op.sql", "SELECT code FROM t WHERE id = 1;"),
        ]);
        match said {
            "" => assert_eq!(told, Vec::<String>::new(), "{generator}"),
            _ => {
                assert_eq!(told.len(), 1, "{told:?}");
                assert!(told[0].starts_with("shop/workload.toml:4:9: "), "{told:?}");
            }
        }
    }
}

/// A reference is to lead to a row. Bounds tell it, or the values of all rows.
#[test]
fn a_reference_that_leads_to_no_row_is_refused_with_the_numbers() {
    let schema = "CREATE TABLE customers (id INTEGER PRIMARY KEY, code VARCHAR(9) NOT NULL);\n\
                  CREATE TABLE codes (code VARCHAR(9) PRIMARY KEY);\n\
                  CREATE TABLE orders (id INTEGER PRIMARY KEY, \
                  customer INTEGER REFERENCES customers (id), code VARCHAR(9) REFERENCES codes);";
    let customers = "customers has 10,000 rows at scale 1, with the keys";
    for (column, generator, key, said) in [
        ("customer", "random(1, 20000)", "", format!("1 to 20,000, but {customers} 1 to 10,000")),
        ("customer", "random(1, 10000)", "", String::new()),
        ("customer", "null(0.1, random(0, 9))", "", format!("0 to 9, but {customers} 1 to 10,000")),
        ("customer", "random(0, 9)", ":row", String::new()),
        ("customer", ":row", "", format!("0 to 29,999, but {customers} 1 to 10,000")),
        ("customer", ":row % 10000 + 1", "", String::new()),
        ("customer", ":row / 3 + 1", "", String::new()),
        ("customer", ":rows - :row", "", format!("1 to 30,000, but {customers} 1 to 10,000")),
        ("customer", "10001", "", format!("10,001, but {customers} 1 to 10,000")),
        ("customer", "pick(1, 10000 * :scale, zipf:0.8)", "", String::new()),
        ("customer", "permute(:row, :rows)", "", format!("0 to 29,999, but {customers}")),
        ("customer", "1 - :row", "", format!("-29,998 to 1, but {customers}")),
        ("customer", "ref(customers, zipf:0.8)", ":row * 2", String::new()),
        // Only the values tell it.
        (
            "customer",
            "random(1, 10000)",
            ":row * 2",
            "in row 0 (from 0), but customers has 10,000 rows at scale 1, none with this key"
                .into(),
        ),
        ("customer", "2 * random(0, 9999)", ":row * 2", String::new()),
        ("customer", "2 * (:row % 10000) % 7 * 2", ":row * 2", String::new()),
        ("code", "text('c', :row % 100)", "", String::new()),
        (
            "code",
            "text('c', :row % 101)",
            "",
            "'c100' in row 100 (from 0), but codes has 100".into(),
        ),
        ("code", "null(1, 'x')", "", String::new()),
    ] {
        let key = if key.is_empty() { ":row + 1" } else { key };
        let rows = format!(
            "[rows]\ncustomers = 10000\norders = 30000\ncodes = 100\n[columns.codes]\ncode = \
             \"text('c', :row)\"\n[columns.customers]\nid = \"{key}\"\n[columns.orders]\n\
             {column} = \"{generator}\"\n"
        );
        let script = "SELECT code FROM orders WHERE id = 1;";
        let told = told(&[("schema.sql", schema), ("workload.toml", &rows), ("op.sql", script)]);
        match said.is_empty() {
            true => assert_eq!(told, Vec::<String>::new(), "{generator} of {key}"),
            false => {
                assert_eq!(told.len(), 1, "{generator} of {key}: {told:?}");
                let begins =
                    format!("shop/workload.toml:10:{}: orders.{column} is ", column.len() + 5);
                assert!(told[0].starts_with(&begins) && told[0].contains(&said), "{told:?}");
            }
        }
    }
}

/// MySQL updates the row that clashes in any unique key: the statement would not mean the same.
#[test]
fn an_upsert_that_could_mean_another_row_on_mysql_wants_a_variant() {
    let schema =
        "CREATE TABLE t (id INTEGER PRIMARY KEY, code INTEGER NOT NULL UNIQUE, n INTEGER);";
    let conflict =
        "INSERT INTO t (id, code, n) VALUES (1, 2, 3) ON CONFLICT (code) DO UPDATE SET n = 4";
    let duplicate = "INSERT INTO t (id, code, n) VALUES (1, 2, 3) ON DUPLICATE KEY UPDATE n = 4";
    for script in [conflict, duplicate] {
        let told = told(&[("schema.sql", schema), ("op.sql", script)]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("shop/op.sql:1:46: ") && told[0].contains("-- mysql:"),
            "{told:?}"
        );
    }
    let both = format!("-- sqlite, postgres:\n{conflict};\n-- mysql:\n{duplicate};");
    assert_eq!(told(&[("schema.sql", schema), ("op.sql", &both)]), Vec::<String>::new());
}

#[test]
fn a_table_of_the_audit_s_name_is_taken() {
    let schema = "CREATE TABLE Bakeoff_Audit (id INTEGER PRIMARY KEY);";
    let files = to_files("shop", &[("schema.sql", schema), ("a.sql", "SELECT 1;")]);
    let said = Application::new(files).map(drop).unwrap_err().to_string();
    assert!(
        said.starts_with("shop/schema.sql:1:14: power cuts use a table bakeoff_audit"),
        "{said}"
    );
}

/// Rows are checked at each scale and with one seed; what another seed gives is told at its row.
#[test]
fn rows_of_no_other_scale_or_seed_are_taken_for_checked() {
    let texts = [
        ("schema.sql", "CREATE TABLE t (id INTEGER PRIMARY KEY, c VARCHAR(1) NOT NULL);"),
        ("a.sql", "SELECT c FROM t WHERE id = 1;"),
        (
            "workload.toml",
            "[rows]\nt = \":scale - 3\"\n[columns.t]\nc = \"random(1, 12)\"\n[scales]\nbig = 5\n",
        ),
    ];
    // Which of the two rows has a text that is too long is up to the seed.
    let Ok(application) = Application::new(to_files("shop", &texts)) else {
        panic!("seed 1 gives texts that fit: take other bounds")
    };
    assert!(application.list_made_up_columns().is_empty());
    let failed = (0..50).filter(|seed| {
        let text = std::sync::Arc::new(bakeoff_workloads::TextSource::generate_short());
        let parameters = bakeoff_workloads::WorkloadParameters::new("big", *seed, text);
        let prepared = application.prepare_whole(&parameters);
        prepared.rows(0, &mut |_| Ok(())).is_err()
    });
    assert!(failed.count() > 0, "no seed gives a text that is too long");
}
