//! Where a database may lie.

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{Action, TableRead};
use bakeoff_engines::{Durability, ENGINES, OpenTerms, Rows, Schema, Statement};
use bakeoff_testkit::{AS_NOBODY, folder_for_all, needs, run_test_again};

/// A name with what lists, addresses, quoted texts, configurations and shells read as syntax.
const NAME: &str = "a:b;c,d #e?f%20g{h}\"i'j\\k\nl$HOME*&|ä=@[m]";

#[test]
fn a_path_with_any_character_will_do() {
    let numbers = Table::new("numbers").key_column("id", Type::Int).column("n", Type::Int);
    let schema = Schema { tables: vec![numbers] };
    let statements = [Action::Upsert { table: 0 }, Action::Read(TableRead::by_key(0, 1, &[1]))]
        .map(|action| Statement { name: "one".into(), action });
    let stores = ENGINES.iter().filter(|engine| engine.about().stores);
    for engine in stores.filter(|engine| needs(engine.available()).is_some()) {
        let (folder, name) = (folder_for_all(), engine.about().name);
        let [directory, runtime] = ["data", "server"].map(|it| folder.path().join(NAME).join(it));
        let given = Durability::ALL.into_iter().rfind(|level| engine.check_level(*level).is_ok());
        let terms = OpenTerms { runtime: Some(runtime), ..OpenTerms::new(given.expect(name)) };
        std::fs::create_dir_all(&directory).expect("a folder");
        for put in [true, false] {
            let database = engine.open(&directory, &terms, &schema, &statements);
            let database = database.unwrap_or_else(|error| panic!("{name}: {error}"));
            let (mut session, mut rows) = (database.session().expect(name), Rows::new());
            if put {
                session.run(0, &[1.into(), 7.into()], &mut rows).expect(name);
            } else {
                session.run(1, &[1.into()], &mut rows).expect(name);
                assert_eq!(rows.get_int(0, 0), Some(7), "{name}");
            }
            drop(session);
            database.drain().expect(name);
        }
    }
}

#[test]
fn a_path_with_any_character_will_do_for_an_ordinary_user() {
    run_test_again(&AS_NOBODY, "places::a_path_with_any_character_will_do");
}
