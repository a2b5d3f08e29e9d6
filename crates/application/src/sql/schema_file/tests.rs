use bakeoff_engines::schema::Type;
use proptest::prelude::*;

use super::*;

const SHOP: &str = "-- a shop
CREATE TABLE customers (
    id SERIAL PRIMARY KEY,
    \"Mail\" varchar(100) NOT NULL UNIQUE,
    rank SMALLINT DEFAULT (1 + 1) NOT NULL CHECK (rank > 0), -- :no
    note TEXT
);
create table if not exists Orders (
    customer INTEGER NOT NULL REFERENCES customers ON DELETE CASCADE ON UPDATE NO ACTION,
    number BIGINT NULL, total NUMERIC(10, 2), rate DOUBLE PRECISION, paid BOOL, day DATE,
    placed TIMESTAMP(6) WITHOUT TIME ZONE DEFAULT NOW(),
    key CHARACTER VARYING(20),
    CONSTRAINT orders_key PRIMARY KEY (customer, number),
    UNIQUE KEY by_day (day, key), FOREIGN KEY (customer) REFERENCES customers (id)
) WITHOUT ROWID;
CREATE INDEX ON orders (placed ASC);
CREATE UNIQUE INDEX IF NOT EXISTS named ON orders (paid, customer);
";

fn read(text: &str) -> (SqlSchema, String) {
    let mut mistakes = Mistakes::default();
    let schema = SqlSchema::from_text(text, &SourcePlace::from_file("schema.sql"), &mut mistakes);
    (schema, mistakes.to_string())
}

#[test]
fn a_schema_is_read_as_it_is_written() {
    let (read, mistakes) = read(SHOP);
    assert_eq!(mistakes, "");
    let [customers, orders] = &read.schema.tables[..] else { panic!("{:?}", read.schema) };
    let expected = Table::new("customers")
        .generated_key("id")
        .column("Mail", Type::Text { most: 100 })
        .column("rank", Type::Int)
        .nullable("note", Type::MediumText)
        .unique(&["Mail"]);
    assert_eq!(customers, &expected);
    assert_eq!((orders.name.as_str(), &orders.key[..]), ("orders", &[0, 1][..]));
    let nullable: Vec<bool> = orders.columns.iter().map(|column| column.nullable).collect();
    assert_eq!(nullable, [false, false, true, true, true, true, true, true]);
    let kinds: Vec<Type> = read.tables[1].columns.iter().map(|column| column.kind).collect();
    let expected = [
        Type::Int,
        Type::Int,
        Type::Decimal { digits: 10, scale: 2 },
        Type::Real,
        Type::Bool,
        Type::Date,
        Type::Timestamp,
        Type::Text { most: 20 },
    ];
    assert_eq!(kinds, expected);
    let indexes: Vec<_> =
        orders.indexes.iter().map(|index| (index.name.as_str(), index.unique)).collect();
    assert_eq!(indexes, [("by_day", true), ("orders_placed", false), ("named", true)]);
    assert_eq!(read.tables[0].columns[2].default.as_deref(), Some("(1 + 1)"));
    assert_eq!(read.tables[1].columns[6].default.as_deref(), Some("NOW()"));
    assert_eq!(read.tables[0].checks, ["rank > 0"]);
    let reference = &read.references[0];
    assert_eq!((reference.table, reference.parent), (1, 0));
    assert_eq!((&reference.columns[..], &reference.parent_columns[..]), (&[0][..], &[0][..]));
    assert_eq!(read.references.len(), 2);
}

#[test]
fn what_is_wrong_is_told_at_its_place_with_what_to_write() {
    for (text, mistake) in [
        ("CREATE TABLE t (a INT)", "1:14: the table t has no key: add a PRIMARY KEY"),
        (
            "CREATE TABLE t (a CHAR(3) PRIMARY KEY)",
            "1:19: bakeoff has no type CHAR: write VARCHAR(3); no spaces",
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY,\n b timestamptz)",
            "2:4: bakeoff has no type TIMESTAMPTZ: write TIMESTAMP; bakeoff keeps UTC",
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY, b TIMESTAMP WITH TIME ZONE)",
            "write TIMESTAMP; bakeoff keeps UTC",
        ),
        ("CREATE TABLE t (a INT UNSIGNED PRIMARY KEY)", "bakeoff has no UNSIGNED: leave it out"),
        ("CREATE TABLE t (a INT PRIMARY KEY, b INT[])", "bakeoff has no arrays"),
        ("CREATE TABLE t (a UUID PRIMARY KEY)", "write VARCHAR(36)"),
        ("CREATE TABLE t (a INT PRIMARY KEY, b ENUM('x', 'y'))", "write VARCHAR(255)"),
        ("CREATE TABLE t (a INT PRIMARY KEY, b)", "1:37: a column needs a type"),
        (
            "CREATE TABLE t (a TEXT PRIMARY KEY)",
            "TEXT can't be in a key or an index (a): write VARCHAR(255)",
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(256) UNIQUE)",
            "1:51: VARCHAR(256) can't be in",
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY, b REAL UNIQUE)",
            "1:43: a number with a fraction can't be in a key or an index (b): write INTEGER",
        ),
        (
            "CREATE TABLE t (a INT PRIMARY KEY, b SERIAL)",
            "1:36: only a PRIMARY KEY of one integer can be generated",
        ),
        ("CREATE TABLE t (a INT PRIMARY KEY, a INT)", "1:36: the column a is declared twice"),
        ("CREATE TABLE t (a INT PRIMARY KEY REFERENCES u)", "1:35: there is no table u"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b))", "1:24: the table t has no column b; it has a"),
        ("CREATE TABLE t (a INT PRIMARY KEY) ENGINE=InnoDB", "1:36: leave out `ENGINE=InnoDB`"),
        ("CREATE TABLE t (a INT PRIMARY KEY); CREATE INDEX i ON t (lower(a))", "leave out `(a)`"),
        (
            "CREATE TABLE t (a INT PRIMARY KEY); CREATE INDEX i ON t (a) WHERE a > 0",
            "leave out `WHERE a > 0`",
        ),
        ("CREATE INDEX i ON t (a)", "1:19: there is no table t above"),
        ("CREATE TABLE public.t (a INT PRIMARY KEY)", "without `public.`"),
        ("CREATE TABLE order (a INT PRIMARY KEY)", "1:14: `ORDER` is no name of the table"),
        ("CREATE VIEW v AS SELECT 1", "1:1: `CREATE VIEW` has no place here"),
        ("CREATE TABLE t (a INT PRIMARY KEY, b NUMERIC(50))", "a decimal has 1 to 38 digits"),
        ("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(0))", "a text has at least one character"),
        (
            "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(16000), c VARCHAR(16000))",
            "texts that may be longer",
        ),
        ("CREATE TABLE t (a INT PRIMARY KEY, b INT COLLATE x)", "leave out COLLATE"),
        ("CREATE TABLE t (a INT PRIMARY KEY, b INT AS (a))", "`AS` isn't understood"),
        ("CREATE TABLE t ('a", "1:17: this text, name or comment has no end"),
        ("CREATE TABLE t (a INT PRIMARY KEY,)", "the name of the column is missing"),
    ] {
        let (_, mistakes) = read(text);
        assert!(mistakes.contains(mistake), "{text}\n{mistakes}");
        assert_eq!(
            mistakes.lines().filter(|line| line.starts_with("schema")).count(),
            1,
            "{mistakes}"
        );
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let (read, mistakes) = read(
        "CREATE TABLE t (a JSON, b CHAR(2), PRIMARY KEY (c)); DROP TABLE t; CREATE TABLE u (a INT)",
    );
    assert_eq!(mistakes.lines().count(), 5, "{mistakes}");
    assert_eq!(read.schema.tables.len(), 2);
}

#[test]
fn every_prefix_of_a_file_is_read() {
    for end in (0..SHOP.len()).filter(|end| SHOP.is_char_boundary(*end)) {
        read(&SHOP[..end]);
    }
}

proptest! {
    #[test]
    fn any_file_is_read(words in proptest::collection::vec(
        prop_oneof![
            Just("CREATE TABLE t ("), Just("a INT"), Just(","), Just("PRIMARY KEY"), Just("(a, b)"),
            Just("("), Just(")"), Just(";"), Just("UNIQUE"), Just("REFERENCES t"), Just("DEFAULT"),
            Just("CHECK"), Just("CREATE INDEX ON t"), Just("VARCHAR(9"), Just("KEY"), Just("'"),
            Just("SERIAL"), Just("NUMERIC(1,"), Just("\"\""), Just("CONSTRAINT"), Just("FOREIGN KEY"),
        ],
        0..20,
    )) {
        read(&words.join(" "));
    }

    #[test]
    fn any_text_is_read(text in "\\PC{0,60}") {
        read(&text);
    }
}
