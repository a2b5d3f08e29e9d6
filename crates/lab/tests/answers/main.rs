//! What engines answer is held against each other: engines that keep the contract agree, however they
//! number rows and order them where that is their choice; one that answers otherwise is found, with the
//! first statement that it answers so.

mod faulty;
mod notes;

use bakeoff_engines::{Durability, ENGINES, Engine, EngineHome, Error, OpenTerms, find};
use bakeoff_lab::answers::{
    AnswersRequest, ImageAnswers, MOST_OPERATIONS, MOST_STATEMENTS, listen,
};
use bakeoff_results::AnswerDifference;
use bakeoff_testkit::{folder_for_all, needs};
use bakeoff_workloads::{
    PreparedWorkload, TextSource, Workload, WorkloadParameters, find as find_workload,
};

use faulty::{Fault, Faulty};
use notes::{Moves, Notes};

/// Loads a workload into a database of an engine, with a fault if that is wanted, and asks it.
fn asked(
    engine: &dyn Engine,
    prepared: &dyn PreparedWorkload,
    names: &[&str],
    fault: Fault,
) -> ImageAnswers {
    let folder = folder_for_all();
    let (schema, statements) = (prepared.schema(), prepared.statements());
    let weakest = Durability::ALL.into_iter().find(|level| engine.gives(*level).is_ok()).unwrap();
    let open = || engine.open(folder.path(), &OpenTerms::new(weakest), schema, statements).unwrap();
    let database = open();
    for table in 0..schema.tables.len() {
        let mut loader = database.load(table).unwrap();
        prepared.rows(table, &mut |row| loader.row(row)).unwrap();
        loader.finish().unwrap();
    }
    let database = Faulty::new(database, schema, statements, fault);
    let operations = &|number: usize| names[number].to_owned();
    listen(AnswersRequest { prepared, operations, work: "all".into(), seed: 7 }, &database).unwrap()
}

fn of_notes(engine: &str, fault: Fault) -> ImageAnswers {
    asked(find(engine).unwrap(), &Notes::default(), &notes::OPERATIONS, fault)
}

/// The first answer of SQLite with a fault that is unlike LMDB's without.
fn difference(fault: Fault) -> Option<AnswerDifference> {
    let (right, wrong) = (of_notes("lmdb", Fault::None), of_notes("sqlite", fault));
    let difference = wrong.difference("lmdb", &right);
    assert_eq!(difference.is_some(), right.digest() != wrong.digest(), "{fault:?}");
    difference
}

#[test]
fn engines_that_keep_the_contract_agree() {
    let right = of_notes("sqlite", Fault::None);
    assert!(right.operations.len() == MOST_OPERATIONS && right.answers() > 1_000);
    let embedded = ENGINES.iter().map(|engine| engine.about());
    let embedded = embedded.filter(|about| about.home == EngineHome::Process && about.stores);
    for engine in embedded.map(|about| about.name) {
        let other = of_notes(engine, Fault::None);
        assert_eq!(other.difference("sqlite", &right), None, "{engine}");
        assert_eq!(other.digest(), right.digest(), "{engine}");
    }
}

/// What an engine may choose: the numbers of new rows, the order of rows where none is asked for, when a
/// transaction is to be run again.
#[test]
fn what_is_an_engines_own_choice_is_no_difference() {
    for fault in [Fault::SkipsKeys, Fault::OtherOrderWhereFree, Fault::Conflicts] {
        assert_eq!(difference(fault), None, "{fault:?}");
    }
}

#[test]
fn an_answer_of_other_values_is_found_with_its_statement() {
    let found = difference(Fault::OtherValue).unwrap();
    assert_eq!((&*found.operation, &*found.statement), ("list", "notes of a group"));
    assert_ne!(found.answer, found.other_answer);
    assert!(found.answer.contains("rows: (") && found.other == "lmdb", "{found:?}");
}

#[test]
fn rows_that_are_missing_are_found() {
    let found = difference(Fault::FewerRows).unwrap();
    assert_eq!((&*found.operation, &*found.statement), ("list", "notes of a group"));
    let rows = |answer: &str| answer.split(' ').next().unwrap().parse::<u64>().unwrap();
    assert_eq!(rows(&found.answer) + 1, rows(&found.other_answer), "{found:?}");
}

#[test]
fn another_order_is_found_where_one_was_asked_for() {
    let found = difference(Fault::OtherOrder).unwrap();
    assert_eq!((&*found.operation, &*found.statement), ("list", "notes of a group"));
}

#[test]
fn an_error_where_others_give_rows_is_found() {
    let found = difference(Fault::Error).unwrap();
    assert_eq!(&*found.statement, "notes of a group");
    assert_eq!(found.answer, "an error: this engine is broken");
}

#[test]
fn an_engine_that_gives_nothing_but_errors_is_not_asked_for_long() {
    let wrong = of_notes("sqlite", Fault::Dies);
    assert!((10..40).contains(&wrong.operations.len()), "{}", wrong.operations.len());
    assert!(difference(Fault::Dies).unwrap().answer.ends_with("an error: it is gone"));
}

/// The words of an error are each engine's own.
#[test]
fn the_same_error_in_other_words_is_no_difference() {
    let (one, two) = (of_notes("sqlite", Fault::Error), of_notes("lmdb", Fault::OtherWords));
    assert_eq!(one.difference("lmdb", &two), None);
    assert_eq!(one.digest(), two.digest());
    let said = |told: &ImageAnswers| {
        told.operations.iter().flat_map(|it| &it.answers).find_map(|it| it.said.clone())
    };
    assert_ne!(said(&one), said(&two));
}

#[test]
fn a_change_that_is_lost_is_found_by_what_is_read_later() {
    let found = difference(Fault::LosesUpdate).unwrap();
    assert_eq!((&*found.operation, &*found.statement), ("list", "notes of a group"));
}

/// The workloads that are built in, whatever their statements.
#[test]
fn engines_agree_about_every_workload_that_is_built_in() {
    for name in ["redmine", "vote", "ledger", "point"] {
        let workload: &dyn Workload = find_workload(name).unwrap();
        let scale = workload.scales()[0].name.clone();
        let text = TextSource::generated(1).into();
        let prepared = workload.prepare(&WorkloadParameters::new(&scale, 1, text));
        let names = workload.operations();
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let of = |engine: &str| asked(find(engine).unwrap(), &*prepared, &names, Fault::None);
        let right = of("sqlite");
        let all = right.answers() >= MOST_STATEMENTS || right.operations.len() == MOST_OPERATIONS;
        assert!(all, "{name}: {} operations", right.operations.len());
        let errors =
            right.operations.iter().flat_map(|it| &it.answers).filter(|it| it.said.is_some());
        assert_eq!(errors.count(), 0, "{name}");
        assert_eq!(of("lmdb").difference("sqlite", &right), None, "{name}");
        // Keys that are given otherwise are the same keys.
        let skips = asked(find("sqlite").unwrap(), &*prepared, &names, Fault::SkipsKeys);
        assert_eq!(skips.difference("sqlite", &right), None, "{name}");
    }
}

/// MyRocks finds a row twice by an index in which its transaction has moved it: docs/engines/mariadb-rocksdb.md.
#[test]
fn the_known_fault_of_myrocks_is_found() {
    let engine = find("mariadb:rocksdb").unwrap();
    if needs(engine.available()).is_none() {
        return;
    }
    let moves = Moves::default();
    let right = asked(find("sqlite").unwrap(), &moves, &["move"], Fault::None);
    let wrong = asked(engine, &moves, &["move"], Fault::None);
    let found = wrong.difference("sqlite", &right).expect("it answers otherwise");
    assert_eq!((&*found.statement, found.number), ("rows of a group, to change", 1));
    assert_eq!(found.other_answer, "1 rows: (5, 0)");
    assert_eq!(found.answer, "2 rows: (5, 0) (5, 0)");
}

/// The kinds of errors that `faulty` makes.
fn broken(words: &str) -> Error {
    Error::engine(words.to_owned())
}
