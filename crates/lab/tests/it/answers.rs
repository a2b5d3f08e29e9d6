//! What engines answer is held against each other: engines that keep the contract agree, however they
//! number rows and order them where that is their choice; one that answers otherwise is found, with the
//! first statement that it answers so.

mod faulty;

use std::collections::BTreeMap;

use bakeoff_application::{Application, ApplicationFiles, EXAMPLES, find_built_in};
use bakeoff_engines::{Durability, Engine, OpenTerms, find_level};
use bakeoff_lab::answers::{
    AnswersRequest, ImageAnswers, MOST_OPERATIONS, MOST_STATEMENTS, collect_answers,
};
use bakeoff_testkit::{folder_for_all, needs};
use bakeoff_workloads::{TextSource, Workload, WorkloadParameters};

use faulty::{Fault, Faulty};

/// Loads a workload into a database of an engine, with a fault if that is wanted, and asks it.
fn asked(workload: &dyn Workload, engine: &dyn Engine, fault: Fault) -> ImageAnswers {
    let (scale, text) = (&workload.scales()[0].name, TextSource::generate(1).into());
    let prepared = workload.prepare(&WorkloadParameters::new(scale, 1, text));
    let folder = folder_for_all();
    let (schema, statements) = (prepared.schema(), prepared.statements());
    let weakest =
        Durability::ALL.into_iter().find(|level| engine.check_level(*level).is_ok()).unwrap();
    let terms = OpenTerms::new(weakest);
    let database = engine.open(folder.path(), &terms, schema, statements).unwrap();
    for table in 0..schema.tables.len() {
        let mut loader = database.load(table).unwrap();
        prepared.rows(table, &mut |row| loader.row(row)).unwrap();
        loader.finish().unwrap();
    }
    let database = Faulty::new(database, schema, statements, fault);
    let names = workload.operations();
    let operations = &|number: usize| names[number].to_string();
    let prepared = &*prepared;
    collect_answers(AnswersRequest { prepared, operations, work: "all".into(), seed: 7 }, &database)
        .unwrap()
}

fn asked_redmine(engine: &str, fault: Fault) -> ImageAnswers {
    asked(find_built_in("redmine").unwrap(), find_level(engine).unwrap(), fault)
}

/// An engine may choose the numbers of new rows, the order of rows where none is asked for, and when a transaction
/// is to be run again.
#[test]
fn engines_that_keep_the_contract_agree_about_every_workload() {
    let every = [Fault::SkipsKeys, Fault::OtherOrderWhereFree, Fault::Conflicts];
    for (name, engines, choices) in [
        ("redmine", &["lmdb", "fjall"][..], &every[..]),
        ("vote", &["lmdb"], &every[..2]),
        ("ledger", &["lmdb"], &every[..1]),
        ("point", &["lmdb"], &every[..1]),
    ] {
        let workload = find_built_in(name).unwrap();
        let asked = |engine: &str, fault| asked(workload, find_level(engine).unwrap(), fault);
        let right = asked("sqlite", Fault::None);
        let (answers, operations) = (right.count_answers(), right.operations.len());
        assert!(answers >= MOST_STATEMENTS || operations == MOST_OPERATIONS, "{name}");
        let mut all = right.operations.iter().flat_map(|it| &it.answers);
        assert!(all.all(|it| it.said.is_none()), "{name}: errors");
        let others = engines.iter().map(|engine| (*engine, Fault::None));
        for (engine, choice) in others.chain(choices.iter().map(|choice| ("sqlite", *choice))) {
            let other = asked(engine, choice);
            assert_eq!(
                other.find_difference("sqlite", &right),
                None,
                "{name}, {engine}, {choice:?}"
            );
            assert_eq!(other.digest(), right.digest(), "{name}, {engine}, {choice:?}");
        }
    }
}

/// Each answers otherwise than LMDB in its own way: the first statement, and its answer.
#[test]
fn an_answer_of_other_rows_is_found_with_its_statement() {
    let right = asked_redmine("lmdb", Fault::None);
    let list = "open issues assigned to user";
    let newest = "10 rows: (999, 2, 10, \"would, are I have tried chepebean\", ";
    for (fault, operation, statement, answer, theirs) in [
        // Of two long answers the place is told where they differ.
        (
            Fault::OtherValue,
            11,
            list,
            "10 rows, in row 10, which begins with",
            "10 rows, in row 10,",
        ),
        (Fault::FewerRows, 11, list, "9 rows, ", "10 rows, "),
        (
            Fault::OtherOrder,
            11,
            list,
            "10 rows, in row 1 column 1 is 759",
            "10 rows, in row 1 column 1 is 999",
        ),
        // By what is read later.
        (
            Fault::LosesUpdate,
            1,
            "issue by id",
            "1 rows, in row 1, which begins with 823, ",
            "1 rows, in row 1, ",
        ),
        (Fault::Error, 11, list, "an error: this engine is broken", newest),
        (Fault::Dies, 1, "workflow permissions", "an error: it is gone", "2 rows: (264, "),
    ] {
        let wrong = asked_redmine("sqlite", fault);
        let found = wrong.find_difference("lmdb", &right).unwrap();
        assert_ne!(right.digest(), wrong.digest(), "{fault:?}");
        assert_eq!((found.number, &*found.other), (operation, "lmdb"), "{fault:?}: {found:?}");
        assert_eq!((&*found.operation, &*found.statement), ("process_issues", statement));
        let (ours, others) = (&found.answer, &found.other_answer);
        assert!(ours.starts_with(answer) && others.starts_with(theirs), "{fault:?}: {found:?}");
        assert_ne!(ours, others);
        // One that gives nothing but errors is not asked for long.
        let most = if fault == Fault::Dies { 10 } else { MOST_OPERATIONS };
        assert!(wrong.operations.len() <= most, "{}", wrong.operations.len());
    }
}

/// The words of an error are each engine's own.
#[test]
fn the_same_error_in_other_words_is_no_difference() {
    let (one, two) =
        (asked_redmine("sqlite", Fault::Error), asked_redmine("lmdb", Fault::OtherWords));
    assert_eq!(one.find_difference("lmdb", &two), None);
    assert_eq!(one.digest(), two.digest());
    let said = |told: &ImageAnswers| {
        told.operations.iter().flat_map(|it| &it.answers).find_map(|it| it.said.clone())
    };
    assert_ne!(said(&one), said(&two));
}

/// An application of these files answers alike on each engine that has SQL.
fn assert_alike(name: &str, texts: BTreeMap<String, String>) {
    let files = ApplicationFiles {
        name: name.into(),
        texts,
        weights: BTreeMap::new(),
        shown: "shop".into(),
        copied: None,
        program: None,
    };
    let application = Application::new(files).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let right = asked(&application, find_level("sqlite").unwrap(), Fault::None);
    assert!(right.count_answers() >= MOST_STATEMENTS || right.operations.len() == MOST_OPERATIONS);
    assert!(right.operations.iter().flat_map(|it| &it.answers).all(|it| it.said.is_none()));
    for name in ["mariadb:innodb", "postgres"] {
        let engine = find_level(name).unwrap();
        if needs(engine.available()).is_none() {
            continue;
        }
        let other = asked(&application, engine, Fault::None);
        assert_eq!(other.find_difference("sqlite", &right), None, "{name}");
    }
}

/// What `bakeoff new` writes means the same everywhere.
#[test]
fn engines_with_sql_agree_about_the_example() {
    assert_alike("shop", EXAMPLES[0].to_files().texts);
}

/// Rows of which the order leaves open which comes first, decimals, reals and nulls.
#[test]
fn what_an_order_leaves_open_is_no_difference() {
    let texts = [
        (
            "schema.sql",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, o INTEGER, \
             d DECIMAL(10, 2) NOT NULL, r DOUBLE PRECISION NOT NULL);",
        ),
        (
            "workload.toml",
            "[rows]\nt = 200\n[columns.t]\nn = \":row % 3\"\no = \"null(0.5, :row % 7)\"\n\
             d = \"decimal(:row / 2.0, 2)\"\nr = \":row / 7.0\"\n",
        ),
        ("ties.sql", "SELECT n FROM t ORDER BY n LIMIT 100;\nSELECT id, n FROM t ORDER BY n;"),
        (
            "nulls.sql",
            "SELECT o, id FROM t ORDER BY o, id LIMIT 150;\nSELECT o, id FROM t ORDER BY o DESC, id;",
        ),
        (
            "numbers.sql",
            "SELECT d, r, 1.50 AS half FROM t ORDER BY id;\nSELECT n, SUM(d) AS d, MAX(r) AS r FROM t GROUP BY n;",
        ),
        ("cut.sql", "SELECT id, n FROM t ORDER BY n LIMIT 5;"),
    ];
    assert_alike("ties", texts.map(|(name, text)| (name.into(), text.into())).into());
}
