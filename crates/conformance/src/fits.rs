//! What columns can hold is kept to the last character; what they can't is refused, by every engine in
//! the same way.

use std::path::Path as FilePath;

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{AccessPath, Set, TableRead};
use bakeoff_engines::{
    Access, Action, Database, Engine, Error, Rows, Schema, Session, Statement, Value,
};

use crate::{folder, terms};

/// Characters of the column `words`.
const WORDS: usize = 5000;

const INSERT: usize = 0;
const UPSERT: usize = 1;
const UPDATE: usize = 2;
const BY_KEY: usize = 3;
const BY_TITLE: usize = 4;
const ALL: usize = 5;

fn schema() -> Schema {
    let notes = Table::new("notes")
        .key_column("id", Type::Int)
        .column("title", Type::STRING)
        .nullable("words", Type::Text { most: WORDS as u32 })
        .column("body", Type::MediumText)
        .unique(&["title"]);
    Schema { tables: vec![notes] }
}

fn statements() -> Vec<Statement> {
    let every = [0, 1, 2, 3];
    let set = vec![Set::To(1), Set::To(2), Set::To(3)];
    let actions = [
        Action::Insert { table: 0 },
        Action::Upsert { table: 0 },
        Action::Update { table: 0, set, only_if: Vec::new() },
        Action::Read(TableRead::by_key(0, 1, &every)),
        Action::Read(TableRead::range(0, AccessPath::Index(0), 1, &every)),
        Action::Read(TableRead::range(0, AccessPath::Key, 0, &[0])),
    ];
    let named = |action: Action| Statement { name: format!("{action:?}"), action };
    actions.into_iter().map(named).collect()
}

fn open(engine: &dyn Engine, folder: &FilePath) -> Box<dyn Database> {
    engine.open(folder, &terms(engine), &schema(), &statements()).expect("a database")
}

/// Texts of a row, each as long as its column takes, in characters of that many bytes.
fn full(character: &str) -> [String; 3] {
    let medium = character.repeat(Type::MEDIUM_BYTES / character.len());
    let rest = "x".repeat(Type::MEDIUM_BYTES - medium.len());
    [character.repeat(255), character.repeat(WORDS), medium + &rest]
}

fn row(id: i64, texts: &[String; 3]) -> [Value<'_>; 4] {
    let [title, words, body] = texts.each_ref().map(|text| Value::Text(text));
    [id.into(), title, words, body]
}

/// Texts are loaded, inserted, replaced and set that are as long as their columns take, of characters
/// of one to four bytes; all of them are read back, by an index too, and again after it was reopened.
pub fn keeps_texts_up_to_their_limit(engine: &dyn Engine) {
    let folder = folder::of(engine);
    let texts = ["x", "é", "日", "\u{10ffff}"].map(full);
    let wanted: Vec<_> = (1..).zip(&texts).map(|(id, texts)| row(id, texts)).collect();
    let database = open(engine, folder.path());
    let mut loader = database.load(0).expect("a load");
    loader.row(&wanted[0]).expect("a row");
    loader.finish().expect("the end of the load");
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    let short = ["", "", ""].map(String::from);
    for (statement, parameters) in [
        (INSERT, wanted[1]),
        (UPSERT, wanted[2]),
        (INSERT, row(4, &short)),
        (UPDATE, [wanted[3][1], wanted[3][2], wanted[3][3], wanted[3][0]]),
    ] {
        let changed = session.run(statement, &parameters, &mut rows);
        assert_eq!(changed.expect("it fits"), 1);
    }
    is_there(&mut *session, &wanted);
    drop(session);
    drop(database);
    let database = open(engine, folder.path());
    is_there(&mut *database.session().expect("a session"), &wanted);
    assert_eq!(database.check().expect("a check"), Vec::<String>::new());
}

fn is_there(session: &mut dyn Session, wanted: &[[Value<'_>; 4]]) {
    let mut rows = Rows::new();
    for row in wanted {
        for (statement, parameter) in [(BY_KEY, row[0]), (BY_TITLE, row[1])] {
            assert_eq!(session.run(statement, &[parameter], &mut rows).expect("a read"), 1);
            // Not by assert_eq: nobody reads 16 MiB.
            assert!(rows.row(0).eq(row.iter().copied()), "{:?} by {statement}", row[0]);
        }
    }
}

/// What no column takes: each text a character too long, other types, null where something has to be.
fn misfits(texts: &[String; 3]) -> Vec<[Value<'_>; 4]> {
    let [title, words, body] = texts.each_ref().map(|text| Value::Text(text));
    let (id, short) = (Value::Int(1), Value::Text("short"));
    vec![
        [id, title, short, short],
        [id, short, words, short],
        [id, short, short, body],
        [id, Value::Int(1), short, short],
        [id, short, short, Value::Null],
    ]
}

/// One character more than a row's texts may have.
fn too_long() -> [String; 3] {
    full("é").map(|text| if text.ends_with('x') { text + "x" } else { text + "é" })
}

fn is_misuse<T: std::fmt::Debug>(answer: &bakeoff_engines::Result<T>) -> bool {
    matches!(answer, Err(Error::Usage(_)))
}

/// A value that a column can't hold is misuse, in a transaction and outside of one; nothing of it is
/// stored, and the session works on. Text that is too long to be there is looked for, and not found.
pub fn refuses_what_a_column_cannot_hold(engine: &dyn Engine) {
    let folder = folder::of(engine);
    let database = open(engine, folder.path());
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    let kept = [1.into(), "kept".into(), Value::Null, "kept".into()];
    session.run(INSERT, &kept, &mut rows).expect("a row");
    let too_long = too_long();
    for mut values in misfits(&too_long) {
        for (statement, id) in [(INSERT, 2), (UPSERT, 1), (UPSERT, 2), (UPDATE, 1)] {
            values[0] = id.into();
            let mut parameters = values;
            if statement == UPDATE {
                parameters.rotate_left(1);
            }
            let answer = session.run(statement, &parameters, &mut rows);
            assert!(is_misuse(&answer), "statement {statement}: {answer:?}");
            session.begin(Access::Write).expect("a transaction");
            let answer = session.run(statement, &parameters, &mut rows);
            assert!(is_misuse(&answer), "statement {statement} in a transaction: {answer:?}");
            session.rollback().expect("nothing was done");
        }
    }
    let found = session.run(BY_TITLE, &[Value::Text(&too_long[0])], &mut rows);
    assert_eq!(found.expect("it may be looked for"), 0);
    assert_eq!(session.run(ALL, &[], &mut rows).expect("a read"), 1);
    session.run(BY_KEY, &[1.into()], &mut rows).expect("a read");
    assert!(rows.row(0).eq(kept), "the row has changed");
}

/// A loader refuses a row that does not fit, after others that do, and can be dropped then.
pub fn refuses_to_load_a_row_that_does_not_fit(engine: &dyn Engine) {
    let too_long = too_long();
    let mut misfits: Vec<Vec<Value<'_>>> =
        misfits(&too_long).iter().map(|it| it.to_vec()).collect();
    misfits.push(vec![2.into(), "short".into(), "short".into()]);
    misfits.push([2.into(), "a".into(), "b".into(), "c".into(), "d".into()].to_vec());
    misfits.push(vec!["2".into(), "short".into(), Value::Null, "short".into()]);
    let folder = folder::of(engine);
    let database = open(engine, folder.path());
    for misfit in &mut misfits {
        if misfit[0] == Value::Int(1) {
            misfit[0] = 2.into();
        }
        let mut loader = database.load(0).expect("a load");
        loader.row(&[1.into(), "first".into(), Value::Null, "".into()]).expect("a row that fits");
        let answer = loader.row(misfit);
        assert!(is_misuse(&answer), "{answer:?}");
    }
    let mut loader = database.load(0).expect("a load after those that were given up");
    loader.row(&[1.into(), "only".into(), Value::Null, "".into()]).expect("a row");
    loader.finish().expect("the end of the load");
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    assert_eq!(session.run(ALL, &[], &mut rows).expect("a read"), 1);
    assert_eq!(session.run(BY_TITLE, &["only".into()], &mut rows).expect("a read"), 1);
}
