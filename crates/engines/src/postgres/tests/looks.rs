//! What is seen of a server that somebody else runs, before anything is loaded and after trials.

use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, kill_process};

use super::*;
use crate::external::fake::answer_logins;
use crate::servers::Signal;
use crate::{Action, SqlText};

fn list_problems(there: &ExternalPostgres) -> String {
    there.check_ready(&[], false).expect_err("something is in the way").join("\n")
}

/// A server with a database of a user who is no superuser, and its administrator there.
fn of_a_user() -> (TempDir, Box<dyn Database>, PostgresClient) {
    let folder = folder_for_all();
    let private = open(folder.path(), &OpenTerms::new(Durability::Strict)).expect("open");
    let mut administrator = administrator(folder.path());
    for text in ["CREATE ROLE owner LOGIN", "CREATE DATABASE ours OWNER owner"] {
        administrator.run(text);
    }
    let mut config = Config::new();
    config.user("bakeoff").dbname("ours").host_path(folder.path().join("server"));
    (folder, private, connect_admin(&config, &Tls::none()).expect("a connection"))
}

/// Makes it one of the server's user, in the server's folder.
fn give_to_owner<'c>(folder: &TempDir, command: &'c mut Command) -> &'c mut Command {
    let place = folder.path().join("server");
    let owner = std::fs::metadata(&place).expect("it is there");
    command.current_dir(&place).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.uid(owner.uid()).gid(owner.gid())
}

/// Such a program, and the signal that ends it when this is dropped.
struct NextToServer(Child, Signal);

impl Drop for NextToServer {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), self.1);
        let _ = self.0.wait();
    }
}

#[test]
fn a_pooler_is_no_place_for_trials() {
    if !installed() || needs(find_pooler()).is_none() {
        return;
    }
    let (folder, _private, _) = of_a_user();
    let place = folder.path().join("server").display().to_string();
    let url = format!("postgres://owner@{}:6432/ours", place.replace('/', "%2F"));
    for (pooling, words) in [
        (
            "pool_mode = transaction\nignore_startup_parameters = options",
            "each transaction another",
        ),
        ("pool_mode = session\nignore_startup_parameters = options", "drops the settings"),
        ("pool_mode = transaction", "a pooler seems to stand before"),
    ] {
        let settings = folder.path().join("pooler.ini");
        let text = format!(
            "[databases]\nours = host={place} port=5432 dbname=ours user=owner\n[pgbouncer]\n\
             listen_port = 6432\nunix_socket_dir = {place}\nauth_type = any\n{pooling}\n"
        );
        std::fs::write(&settings, text).expect("room");
        let mut pooler = Command::new(find_pooler().expect("it is there"));
        let started = give_to_owner(&folder, pooler.arg(&settings)).spawn().expect("a pooler");
        let _pooler = NextToServer(started, Signal::TERM);
        let socket = folder.path().join("server/.s.PGSQL.6432");
        wait_until("the pooler", || UnixStream::connect(&socket).is_ok());
        let said = list_problems(&ExternalPostgres::new(&url).expect("a URL"));
        assert!(said.contains(words), "{pooling}: {said}");
    }
}

/// Debian has it where root alone looks.
fn find_pooler() -> std::result::Result<PathBuf, &'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let mut all = folders.map(|folder| folder.join("pgbouncer"));
    all.find(|path| path.exists()).ok_or("there is no pgbouncer")
}

#[test]
fn a_standby_is_no_place_for_trials() {
    if !installed() {
        return;
    }
    let folder = folder_for_all();
    drop(open(folder.path(), &OpenTerms::new(Durability::Strict)).expect("open"));
    // Of data of its own: a private server writes less into its log than a standby needs.
    let (data, program) = (folder.path().join("server/standby"), SERVER.find_installed());
    let program = program.expect("it is there");
    let mut initialise = Command::new(&program.initialiser);
    initialise.arg("-D").arg(&data).args(["-U", "owner", "--auth-local=trust", "--no-sync"]);
    assert!(give_to_owner(&folder, &mut initialise).status().expect("an end").success());
    let owner = std::fs::metadata(&data).expect("it is there");
    let signal = data.join("standby.signal");
    std::fs::write(&signal, "").expect("room");
    std::os::unix::fs::chown(&signal, Some(owner.uid()), Some(owner.gid())).expect("its owner's");
    let mut server = Command::new(&program.server);
    server.arg("-D").arg(&data).args(["-c", "listen_addresses=", "-c"]);
    server.arg(format!("unix_socket_directories={}", folder.path().join("server").display()));
    let started = give_to_owner(&folder, &mut server).spawn().expect("a server");
    let _server = NextToServer(started, Signal::INT);
    // Until it is up it says that it starts.
    let told = "it is a standby, which takes no writes: name the primary";
    let look = || list_problems(&elsewhere(&folder, "postgres", "hidden"));
    wait_until("the standby", || look().contains(told));
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
