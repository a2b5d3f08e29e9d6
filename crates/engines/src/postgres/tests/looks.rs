//! What is seen of a server that somebody else runs, before anything is loaded and after trials.

use super::*;
use crate::external::fake::answer_logins;
use crate::{Action, SqlText};

fn list_problems(there: &ExternalPostgres) -> String {
    there.check_ready(&[], false).expect_err("something is in the way").join("\n")
}

/// A server with a database of a user who is no superuser, and its administrator there.
fn of_a_user() -> (TempDir, Box<dyn Database>, PostgresClient) {
    let folder = tempfile::tempdir().expect("a folder");
    let private = open(folder.path(), &OpenTerms::new(Durability::Strict)).expect("open");
    let mut administrator = administrator(folder.path());
    for text in ["CREATE ROLE owner LOGIN", "CREATE DATABASE ours OWNER owner"] {
        administrator.run(text);
    }
    let mut config = Config::new();
    config.user("bakeoff").dbname("ours").host_path(folder.path().join("server"));
    (folder, private, connect_admin(&config, &Tls::none()).expect("a connection"))
}

#[test]
fn what_would_stop_a_trial_is_said_before() {
    if !installed() {
        return;
    }
    let (folder, _private, mut administrator) = of_a_user();
    for text in [
        "CREATE DATABASE latin OWNER owner TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'",
        "CREATE DATABASE frozen OWNER owner",
        "ALTER DATABASE frozen SET default_transaction_read_only = on",
    ] {
        administrator.run(text);
    }
    for (name, words) in [("latin", "encoding is LATIN1"), ("frozen", "are read-only")] {
        let said = list_problems(&elsewhere(&folder, name, "hidden"));
        assert!(said.contains(words), "{said}");
    }
    administrator.run("ALTER ROLE owner CONNECTION LIMIT 1");
    let said = list_problems(&elsewhere(&folder, "ours", "hidden"));
    assert!(said.contains("too many connections for role"), "{said}");
}

#[test]
fn poolers_and_unknown_ways_to_log_in_are_named() {
    let pooler = b"E\0\0\0\x42SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: options\0\0";
    for (user, answer, words) in [
        ("u", &pooler[..], "a pooler seems to stand before"),
        ("u", b"R\0\0\0\x08\0\0\0\x07", "a way to log in that bakeoff does not know"),
        (
            "u:word",
            b"R\0\0\0\x11\0\0\0\x0aUNKNOWN\0\0",
            "a way to log in that bakeoff does not know",
        ),
        ("u", b"R\0\0\0\x08\0\0\0\x03", "the server asks for a password"),
    ] {
        let port = answer_logins(answer);
        let there = ExternalPostgres::new(&format!("postgres://{user}@127.0.0.1:{port}/d"));
        let said = list_problems(&there.expect("a URL"));
        assert!(said.contains(words), "{said}");
    }
    let mut config = Config::new();
    config.user("u").host("127.0.0.1").port(answer_logins(b"")).ssl_mode(SslMode::Disable);
    let silent = survey::connect_within(Duration::from_millis(50), &config, &Tls::none());
    assert!(silent.map(drop).expect_err("nobody answers").contains("says nothing"));
}

#[test]
fn a_check_that_lacks_rights_is_left_out_and_said_and_nothing_stays() {
    if !installed() {
        return;
    }
    let (folder, _private, mut administrator) = of_a_user();
    let there = || elsewhere(&folder, "ours", "hidden");
    let terms = reuse(&OpenTerms::new(Durability::Strict));
    let open = || there().open(Path::new("/"), &terms, &schema(), &statements()).expect("open");
    let mut is_left_out = |before: &str, words: &str| {
        administrator.run(before);
        let seen = there().find_unchecked().expect("a right is missing");
        assert!(seen.contains(words), "{seen}");
        let database = open();
        assert_eq!(database.check().expect("check"), Vec::<String>::new());
        assert_eq!(database.find_unchecked().expect("an answer"), Some(seen));
    };
    is_left_out("", "CREATE EXTENSION amcheck");
    is_left_out("CREATE EXTENSION amcheck", "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public");
    administrator.run("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO owner");
    assert_eq!(there().find_unchecked(), None);
    // A superuser may add it, and takes it along.
    administrator.run("DROP EXTENSION amcheck; ALTER ROLE owner SUPERUSER");
    assert_eq!(there().find_unchecked(), None);
    let database = open();
    let mut session = database.session().expect("a session");
    session.run(INSERT, &note(1), &mut Rows::new()).expect("insert");
    assert_eq!(database.check().expect("check"), Vec::<String>::new());
    // Rows that an index misses are found, in each index by itself.
    let is_ready = |ready: bool| {
        format!("UPDATE pg_index SET indisready = {ready} WHERE indrelid = 'notes'::regclass")
    };
    administrator.run(&is_ready(false));
    administrator.run("INSERT INTO notes VALUES (2, 'unseen')");
    administrator.run(&is_ready(true));
    let found = database.check().expect("check");
    assert!(found.len() == 2 && found[0].contains("lacks matching index tuple"), "{found:?}");
    assert_eq!(administrator.ask("SELECT count(*) FROM pg_extension WHERE extname = 'amcheck'"), 0);
}

#[test]
fn what_an_open_that_failed_has_made_is_gone() {
    if !installed() {
        return;
    }
    let (folder, _private, _) = of_a_user();
    let wrong = SqlText {
        sqlite: String::new(),
        mysql: String::new(),
        postgres: "SELECT nothing FROM notes".into(),
        place: "a.sql:1".into(),
        why: "a mistake".into(),
        writes: false,
        parameters: 0,
    };
    let wrong = Statement { name: "wrong".into(), action: Action::Sql(wrong) };
    let there = || elsewhere(&folder, "ours", "hidden");
    let terms = OpenTerms::new(Durability::Strict);
    let said = there().open(Path::new("/"), &terms, &schema(), &[wrong]).map(drop);
    assert!(said.as_ref().is_err_and(|error| error.to_string().contains("nothing")), "{said:?}");
    there().check_ready(&[], false).expect("nothing is left");
}
