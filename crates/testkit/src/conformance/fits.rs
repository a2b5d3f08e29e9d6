//! Values that columns can hold are kept to the last character; others are refused, by every engine
//! in the same way.

use std::path::Path as FilePath;

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{AccessPath, Set, TableRead};
use bakeoff_engines::{
    Access, Action, Database, DatabaseAddress, Engine, EngineHome, Error, ListenAddress, Rows,
    Schema, ServerAddress, Session, Value,
};

use crate::conformance::{folder, statements, terms};

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

fn actions() -> [Action; 6] {
    let every = [0, 1, 2, 3];
    let set = vec![Set::To(1), Set::To(2), Set::To(3)];
    [
        Action::Insert { table: 0 },
        Action::Upsert { table: 0 },
        Action::Update { table: 0, set, only_if: Vec::new() },
        Action::Read(TableRead::by_key(0, 1, &every)),
        Action::Read(TableRead::by_prefix(0, AccessPath::Index(0), 1, &every)),
        Action::Read(TableRead::by_prefix(0, AccessPath::Key, 0, &[0])),
    ]
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

/// What fits is loaded, inserted, replaced and set, with texts of the longest length and characters of one to
/// four bytes, and is there, by an index too, and again after a reopening. What doesn't fit is refused by all of
/// these, and leaves nothing behind.
pub fn keeps_what_fits_and_refuses_the_rest(engine: &dyn Engine) {
    let folder = folder::of(engine);
    let (schema, statements, terms) = (schema(), statements(actions()), terms(engine));
    let open = || engine.open(folder.path(), &terms, &schema, &statements).expect("a database");
    let texts = ["x", "é", "日", "\u{10ffff}"].map(full);
    let wanted: Vec<_> = (1..).zip(&texts).map(|(id, texts)| row(id, texts)).collect();
    let too_long = too_long();
    let database = open();
    tells_where_it_is(engine, folder.path(), &*database);
    loads_what_fits(&*database, &wanted[0], &misfits(&too_long));
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
    for misfit in misfits(&too_long) {
        is_refused(&mut *session, misfit);
    }
    let found = session.run(BY_TITLE, &[Value::Text(&too_long[0])], &mut rows);
    assert_eq!(found.expect("it may be looked for"), 0);
    is_there(&mut *session, &wanted);
    drop(session);
    drop(database);
    let database = open();
    is_there(&mut *database.session().expect("a session"), &wanted);
    assert_eq!(database.check().expect("a check"), Vec::<String>::new());
}

/// Its address leads to its own files or its own server while it is open.
fn tells_where_it_is(engine: &dyn Engine, folder: &FilePath, database: &dyn Database) {
    let address = database.address().expect("an engine that stores something is somewhere");
    match (engine.about().home, &address) {
        (EngineHome::Process, DatabaseAddress::Files(files)) => {
            assert!(files.starts_with(folder) && files.exists(), "{address:?}");
        }
        (EngineHome::Server | EngineHome::External, DatabaseAddress::Server(server)) => {
            let ServerAddress { listens, user, database, .. } = server;
            assert!(!user.is_empty() && !database.is_empty(), "{address:?}");
            if let ListenAddress::Socket(socket) = listens {
                assert!(socket.exists(), "{address:?}");
            }
        }
        (home, _) => panic!("{home:?}, but {address:?}"),
    }
}

/// A loader refuses a row that does not fit, after one that does, and can be dropped then.
fn loads_what_fits(database: &dyn Database, fits: &[Value<'_>], misfits: &[[Value<'_>; 4]]) {
    let mut misfits: Vec<Vec<Value<'_>>> = misfits.iter().map(|it| it.to_vec()).collect();
    misfits.push(vec![2.into(), "short".into(), "short".into()]);
    misfits.push(vec![2.into(), "a".into(), "b".into(), "c".into(), "d".into()]);
    misfits.push(vec!["2".into(), "short".into(), Value::Null, "short".into()]);
    for misfit in &mut misfits {
        let mut loader = database.load(0).expect("a load");
        loader.row(&[1.into(), "first".into(), Value::Null, "".into()]).expect("a row that fits");
        if misfit[0] == Value::Int(1) {
            misfit[0] = 2.into();
        }
        let answer = loader.row(misfit);
        assert!(is_misuse(&answer), "{answer:?}");
    }
    let mut loader = database.load(0).expect("a load after those that were given up");
    loader.row(fits).expect("a row");
    loader.finish().expect("the end of the load");
}

/// No statement stores it, in a transaction or outside of one, and the session works on.
fn is_refused(session: &mut dyn Session, mut values: [Value<'_>; 4]) {
    let mut rows = Rows::new();
    for (statement, id) in [(INSERT, 5), (UPSERT, 1), (UPSERT, 5), (UPDATE, 1)] {
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

/// These rows, and no other.
fn is_there(session: &mut dyn Session, wanted: &[[Value<'_>; 4]]) {
    let mut rows = Rows::new();
    assert_eq!(session.run(ALL, &[], &mut rows).expect("a read"), wanted.len() as u64);
    for row in wanted {
        for (statement, parameter) in [(BY_KEY, row[0]), (BY_TITLE, row[1])] {
            assert_eq!(session.run(statement, &[parameter], &mut rows).expect("a read"), 1);
            // Not by assert_eq: nobody reads 16 MiB.
            assert!(rows.row(0).eq(row.iter().copied()), "{:?} by {statement}", row[0]);
        }
    }
}

/// Values that no column takes: each text a character too long, other types, null where it is not
/// allowed.
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
