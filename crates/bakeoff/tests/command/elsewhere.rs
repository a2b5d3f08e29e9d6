//! Databases on servers that somebody else runs: here, servers of the tests' own. No password of
//! theirs, in whatever form, is ever kept or shown, nor in the command line of what a run starts.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};

use bakeoff_engines::servers::{Launch, PrivateServer};
use bakeoff_engines::{mysql, postgres};
use bakeoff_results::measure::{SPACE, Scope};
use bakeoff_testkit::{ClosedPort, folder_for_all};

use super::servers::{installed, trials};
use super::{Done, Place, measured};

const PASSWORD: &str = "qzxk%2F+vkwj";
/// What of a password stands in no file and no output, however it is escaped: how each begins and ends.
const TRACES: [&str; 2] = ["qzxk", "vkwj"];

pub const SHORT: [&str; 6] = ["--seconds", "1", "--repetitions", "1", "--clients", "2"];

/// Somebody's MariaDB, with a user who has a password.
pub struct Theirs {
    server: PrivateServer,
    _folder: tempfile::TempDir,
}

impl Theirs {
    pub fn start() -> Self {
        let theirs = Self::start_with(&[]);
        theirs.must(
            "SET GLOBAL local_infile = ON; CREATE DATABASE bench; CREATE USER me@localhost IDENTIFIED BY 'qzxk/+vkwj'; \
                     GRANT ALL ON bench.* TO me@localhost",
        );
        theirs
    }

    /// With these settings, and nobody in it but its administrator.
    pub fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_on(settings, |_| ())
    }

    /// The same; `before` is shown its data folder before it starts.
    pub fn start_on(settings: &[(&str, &str)], before: impl Fn(&Path)) -> Self {
        let folder = folder_for_all();
        let launch = Launch {
            directory: folder.path().join("server"),
            settings: settings
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            ..Launch::default()
        };
        PrivateServer::initialise(&mysql::SERVER, &launch).unwrap();
        before(&launch.directory.join("data"));
        let server = PrivateServer::start(&mysql::SERVER, &launch).unwrap();
        Self { server, _folder: folder }
    }

    pub fn socket(&self) -> &Path {
        self.server.socket()
    }

    /// What the administrator is answered.
    pub fn must(&self, sql: &str) -> String {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"]);
        client.arg(format!("--socket={}", self.server.socket().display()));
        let output = client.arg(format!("--execute={sql}")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn url(&self, user: &str) -> String {
        format!("mysql://{user}@localhost/bench?socket={}#InnoDB", self.server.socket().display())
    }
}

#[track_caller]
fn assert_hidden(what: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    for trace in TRACES {
        assert!(!text.contains(trace), "{trace} is in {what}:\n{text}");
    }
}

/// Nor is it in what a command said.
#[track_caller]
fn hidden(done: Done) -> Done {
    assert_hidden("the output", format!("{}{}", done.out(), done.err()).as_bytes());
    done
}

/// Neither an output, nor a file in a folder, nor a report of the run there has the password.
#[track_caller]
fn assert_secret(place: &Place, folder: &str, done: Done) {
    hidden(done);
    let (mut folders, mut seen) = (vec![place.path(folder)], 0);
    while let Some(next) = folders.pop() {
        for path in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            assert_hidden(&path.display().to_string(), &std::fs::read(&path).unwrap());
            seen += 1;
        }
    }
    assert!(seen >= 3, "the run folder has {seen} files");
    for format in ["html", "json", "csv", "md", "term"] {
        hidden(place.run(&["report", folder, "--format", format]).code(0));
    }
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_database_elsewhere_is_filled_for_each_trial_and_its_password_kept_nowhere() {
    if !installed(&["mariadb:innodb"]) {
        return;
    }
    let (place, theirs) = (Place::new(), Theirs::start());
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let url = theirs.url(&format!("me:{PASSWORD}"));
    let engines = format!("{url},sqlite");
    let run = |out: &str, more: &[&str]| {
        let start = ["run", "mine.toml", "--out", out, "--engine", &engines];
        place.run(&[&start[..], &SHORT, more].concat())
    };
    let done =
        run("r", &["--noise-floor", "--full"]).code(0).says(&["Somebody else runs", "emptied"]);
    assert_secret(&place, "r", done);
    place.assert_clean("r");
    let document = place.json("r");
    let shown = theirs.url("me");
    let again = format!("{shown}@again");
    let mut names: Vec<&str> = trials(&document).into_iter().map(|(engine, _)| engine).collect();
    names.sort_unstable();
    assert_eq!(names, [&shown, &again, "sqlite"]);
    let command = document["run"]["command"].as_str().unwrap();
    assert!(command.contains(&shown), "{command}");
    // How much room it takes is known of bakeoff's own files alone.
    for (engine, trial) in trials(&document) {
        let space = measured(trial).get(&SPACE, &Scope::Trial);
        assert_eq!(space.is_none(), engine != "sqlite", "{engine}: {trial}");
    }
    let url = theirs.url("me:wrong");
    let wrong = ["run", "mine.toml", "--out", "w", "--engine", &url];
    let wrong = place.run(&[&wrong[..], &SHORT].concat());
    wrong.code(2).says(&["Access denied", "URL's user and password"]);
    assert!(!place.path("w").exists(), "nothing was begun");

    // Its tables are there now, and may be dropped only when that is meant.
    hidden(run("second", &[]).code(2).says(&["--reuse"]));
    assert!(!place.path("second").exists(), "nothing was begun");
    run("third", &["--reuse"]).code(0);
    // Going on needs the password again: as a flag, or in the environment.
    let resume = ["run", "--resume", "third"];
    place.run(&[&resume[..], &["--engine", &engines]].concat()).code(0);
    // The folder may be anybody's: it does not say by itself where a password goes.
    let with_password = |more: &[&str]| {
        let mut command = place.command(&[&resume[..], more].concat());
        Done(command.env("MYSQL_PWD", "qzxk/+vkwj").output().unwrap())
    };
    with_password(&[]).code(2).says(&["makes bakeoff connect to", "--trust-experiment"]);
    with_password(&["--trust-experiment"]).code(0);
    let without = place.run(&[&resume[..], &["--trust-experiment"]].concat());
    without.code(2).says(&["began with a password", &shown, "MYSQL_PWD", "--engine"]);
    place.run(&[&resume[..], &["--engine", "sqlite"]].concat()).code(2).says(&["leave out"]);

    // Another bakeoff that uses it is left alone.
    let url = theirs.url(&format!("me:{PASSWORD}"));
    let claim = bakeoff_engines::urls::find_database(&url).unwrap().claim().unwrap();
    run("claimed", &["--reuse"]).code(5).says(&["another bakeoff is using this database"]);
    drop(claim);

    // What is not bakeoff's is never touched, whatever it says of itself.
    theirs.must("CREATE TABLE bench.office (page TEXT) COMMENT 'made by bakeoffice staff'");
    theirs.must("INSERT INTO bench.office VALUES ('1')");
    run("office", &["--reuse"]).code(2).says(&["not made by bakeoff", "office"]);
    assert_eq!(theirs.must("SELECT count(*) FROM bench.office").trim(), "1");
}

/// A binary log as MariaDB comes is not synced: the server keeps `relaxed`, whatever it is asked for. Its user has
/// what the guide says, and no more.
#[test]
#[ignore = "slow: make test-slow"]
fn a_server_as_it_is_runs_with_the_rights_of_the_guide_at_what_its_settings_promise() {
    if !installed(&["mariadb:innodb"]) {
        return;
    }
    let (place, theirs) = (Place::new(), Theirs::start_with(&[("log_bin", "binlog")]));
    let guide = include_str!("../../../../docs/engines.md");
    let (_, sql) = guide.split_once("```sql\n").unwrap();
    let (sql, _) = sql.split_once("-- PostgreSQL").unwrap();
    assert!(sql.contains("GRANT CREATE, ALTER"), "{sql}");
    theirs.must(
        &sql.replace("CREATE USER user", "CREATE USER user@localhost")
            .replace("TO user", "TO user@localhost"),
    );
    let socket = theirs.socket().display();
    let engines = format!("mysql://user:password@localhost/db?socket={socket}#InnoDB,sqlite");
    let done = place.run(&["run", "redmine", "--quick", "--engine", &engines, "--dry-run"]);
    done.says(&["a server by URL is run as it is: --durability as-is --disk host"]);
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let start = ["run", "mine.toml", "--out", "r", "--engine", &engines, "--full"];
    let done = place.run(&[&start[..], &SHORT].concat()).code(0);
    done.says(&["as it is: it may lose up to a second at a power cut", "as it is"]);
    let document = place.json("r");
    let ran = trials(&document);
    assert_eq!(ran.len(), 2, "{document}");
    for (_, trial) in ran {
        assert_eq!(
            (&trial["valid"], &trial["levels"]["durability"]),
            (&true.into(), &"as-is".into())
        );
    }
    let text = place.run(&["report", "r", "--format", "md"]).code(0);
    assert!(!text.out().contains("strict durability"), "{}", text.out());
    let strict = ["run", "mine.toml", "--out", "s", "--engine", &engines, "--durability", "strict"];
    place.run(&strict).code(2).says(&["strict needs sync_binlog=1"]);
}

/// Has each new table refuse all rows, but not what is only tried.
const REFUSES_ROWS: &str = "\
    CREATE FUNCTION refuse_rows() RETURNS event_trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ \
    DECLARE made record; BEGIN \
        FOR made IN SELECT * FROM pg_event_trigger_ddl_commands() WHERE object_type = 'table' LOOP \
            IF made.object_identity NOT LIKE '%tries%' THEN \
                EXECUTE 'ALTER TABLE ' || made.object_identity || ' ADD CONSTRAINT none CHECK (false)'; \
            END IF; \
        END LOOP; END $$; \
    CREATE EVENT TRIGGER refuses ON ddl_command_end WHEN TAG IN ('CREATE TABLE') \
        EXECUTE FUNCTION refuse_rows()";

#[test]
#[ignore = "slow: make test-slow"]
fn what_a_failed_load_has_left_is_the_runs_own() {
    if !installed(&["postgres"]) {
        return;
    }
    let (place, folder) = (Place::new(), folder_for_all());
    let launch = Launch { directory: folder.path().join("server"), ..Launch::default() };
    PrivateServer::initialise(&postgres::SERVER, &launch).unwrap();
    let server = PrivateServer::start(&postgres::SERVER, &launch).unwrap();
    let socket = server.socket().parent().unwrap();
    let mut client = Command::new("psql");
    client.args(["--no-psqlrc", "--quiet", "--username=bakeoff", "--dbname=postgres", "--host"]);
    assert!(client.arg(socket).args(["--command", REFUSES_ROWS]).status().unwrap().success());
    place.write("mine.toml", "workload = \"point\"\nrepetitions = 3\nseconds = 0.5\n");
    let url =
        format!("postgres://bakeoff@{}/postgres", socket.display().to_string().replace('/', "%2F"));
    let done =
        place.run(&["run", "mine.toml", "--out", "r", "--engine", &format!("{url},{url}@again")]);
    done.code(5);
    let document = place.json("r");
    let reasons: Vec<&str> =
        trials(&document).iter().filter_map(|(_, trial)| trial["reason"].as_str()).collect();
    assert!(reasons.len() >= 2, "{document}");
    for why in reasons {
        assert!(why.contains("violates check constraint \"none\""), "{why}");
    }
}

#[test]
fn what_a_server_elsewhere_can_not_have_is_in_the_plan_and_not_run() {
    if !installed(&["mariadb:innodb"]) {
        return;
    }
    let (place, theirs) = (Place::new(), Theirs::start());
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let url = theirs.url(&format!("me:{PASSWORD}"));
    let shown = theirs.url("me");
    let run = |out: &str, engines: &str, more: &[&str]| {
        let start = ["run", "mine.toml", "--out", out, "--engine", engines];
        place.run(&[&start[..], &SHORT, more].concat())
    };
    // The server syncs, so it can't give less.
    let line = format!("not run: {shown} × durability none (1 trial): ");
    for more in [&[][..], &["--dry-run"]] {
        let done = run("a", &url, &[&["--durability", "none"], more].concat()).code(2);
        done.says(&["nothing in this experiment can be run", &line]);
        assert!(!place.path("a").exists(), "nothing was begun");
    }
    // Beside what can be had, it is left out, in the plan and in every record of the run.
    let engines = format!("{url},sqlite");
    let levels = ["--durability", "none,strict"];
    let line = format!("not run: {shown} × durability none (1 trial): the server runs with");
    run("b", &engines, &[&levels[..], &["--dry-run"]].concat())
        .code(0)
        .says(&["3 trials in 2 blocks", &line]);
    let done = run("b", &engines, &[&levels[..], &["--full"]].concat()).code(0);
    done.says(&[&line, "are compared with nothing"]);
    let document = place.json("b");
    let ran: Vec<_> = trials(&document)
        .into_iter()
        .map(|(engine, trial)| (engine, trial["levels"]["durability"].as_str().unwrap()))
        .collect();
    assert_eq!(ran.len(), 3, "{ran:?}");
    assert!(!ran.contains(&(&*shown, "none")), "{ran:?}");
    let left_out = &document["run"]["left_out"];
    assert_eq!(left_out.as_array().unwrap().len(), 1, "{left_out}");
    assert_eq!(left_out[0]["levels"]["durability"], "none");
    assert_eq!((&left_out[0]["trials"], &document["run"]["planned"]), (&1.into(), &3.into()));
    let page = std::fs::read_to_string(place.path("b").join("report.html")).unwrap();
    assert!(page.contains("durability none"), "the page says what was not run");
    // Going on is going on with the same plan.
    place.run(&["run", "--resume", "b", "--engine", &engines]).code(0).says(&[&line]);
    // One level is left of two that were to be compared.
    let alone = run("c", &engines, &["--durability", "none"]).code(2);
    alone.says(&["nothing is left to compare", &line]);
    // Its power is not cut either.
    let cuts = "--disk null,host --cuts 2 --durability strict --dry-run";
    let planned = run("d", &engines, &super::words(cuts)).code(2);
    planned
        .says(&["2 power cuts", &format!("{shown} (2 power cuts): bakeoff can't cut the power")]);
}

#[test]
fn all_that_keeps_a_run_from_beginning_is_told_at_once_before_anything_is_loaded() {
    if !installed(&["mariadb:innodb"]) {
        return;
    }
    let (place, theirs) = (Place::new(), Theirs::start());
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    theirs.must(
        "CREATE USER reader@localhost IDENTIFIED BY 'qzxk/+vkwj'; \
         GRANT SELECT, INSERT ON bench.* TO reader@localhost; \
         CREATE DATABASE full; CREATE TABLE full.thesis (page TEXT); \
         GRANT ALL ON full.* TO me@localhost",
    );
    let socket = theirs.server.socket().display().to_string();
    let url = |user: &str, database: &str| {
        format!("mysql://{user}:{PASSWORD}@localhost/{database}?socket={socket}")
    };
    let engines = [
        "sqlite".to_owned(),
        url("reader", "bench"),
        url("me", "full"),
        url("me", "missing"),
        format!("postgres://me:{PASSWORD}@%2Fnowhere/bench"),
    ];
    let engines = engines.join(",");
    let run = ["run", "mine.toml", "--out", "r", "--engine", &engines];
    let problems = [
        "4 things keep this run from beginning",
        "lacks the rights CREATE, ALTER, INDEX, DROP, UPDATE, DELETE, LOCK TABLES to the database bench: GRANT",
        "the database holds a table that is not made by bakeoff, thesis:",
        "missing",
        "no connection to the server",
    ];
    for more in [&[][..], &["--dry-run"]] {
        let done = place.run_soon(&[&run[..], &SHORT, more].concat()).code(2);
        assert!(!done.err().contains("loaded"), "{}", done.err());
        assert_hidden("the output", done.says(&problems).err().as_bytes());
        assert!(!place.path("r").exists(), "nothing was begun");
    }
    let tables = "SELECT table_name FROM information_schema.tables WHERE table_schema IN ('bench', \
                  'full')";
    assert_eq!(theirs.must(tables).trim(), "thesis", "nothing was made or dropped");
}

/// A password, and how every letter of it can be written.
fn password(between: &str) -> String {
    format!("{}{between}{}", TRACES[0], TRACES[1])
}

fn escaped(password: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    let letter = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    password.bytes().map(letter).collect()
}

/// What is hard to write in a URL, as it is typed.
const HARD: &str = "/'?#@\"{}\\` ,%+äöü";

#[test]
fn no_form_of_a_password_is_kept_or_shown() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"null\"\n");
    let nobody = ClosedPort::take();
    let port = nobody.address().port();
    // Nothing listens there, and every one is told.
    let between = [HARD.to_owned(), String::new(), "x".repeat(300)];
    let urls = between.iter().enumerate().flat_map(|(number, between)| {
        let user = format!("u{number}:{}@127.0.0.1:{port}", escaped(&password(between)));
        [format!("mysql://{user}/db"), format!("postgres://{user}/db?options=-c%20jit%3Doff")]
    });
    let socket = format!("mysql://me:{PASSWORD}@localhost/bench?socket=/nowhere/socket");
    let engines: Vec<String> = urls.chain([socket, "null".into()]).collect();
    let engines = format!("--engine={}", engines.join(","));
    let run = ["run", "mine.toml", "--out", "r", &engines];
    hidden(place.run(&[&run[..], &SHORT].concat()).code(2)).says(&[
        "7 things keep this run",
        "whether it is running",
        &format!("mysql://u0@127.0.0.1:{port}/db#InnoDB"),
        &format!("postgres://u2@127.0.0.1:{port}/db?options=-c%20jit%3Doff"),
    ]);
    assert!(!place.path("r").exists());
    // One that is not escaped is refused; the parser's own tests have all letters.
    for (between, accepted) in [("/", false), ("\"", false), (",", false), ("!$&*+;=:~", true)] {
        let url = format!("mysql://me:{}@127.0.0.1:9/db", password(between));
        let flag = format!("--engine=null,{url}@again,{url}");
        let text = url.replace('"', "\\\"");
        place.write("in.toml", &format!("workload = \"point\"\nengine = [\"null\", \"{text}\"]\n"));
        for run in [&["run", "mine.toml", &*flag], &["run", "in.toml", "--trust-experiment"]] {
            let done = hidden(place.run(&[run, &["--dry-run"][..]].concat()).code(2));
            // Of one that is right there is a plan, and nobody who answers.
            assert_eq!(done.out().is_empty(), !accepted, "{}{}", done.out(), done.err());
        }
    }
    // Where it does not belong.
    let url = format!("mysql://me:{}@127.0.0.1:9/db", password(""));
    let parameter = format!("postgres://me@127.0.0.1:9/db?nothing={}", password(""));
    for arguments in [
        &["run", "mine.toml", "--dry-run", "--engine", &parameter] as &[&str],
        &["run", "mine.toml", &url],
        &["run", &url],
        &["run", "mine.toml", "--seconds", &url],
        &["run", "mine.toml", "--compare", &url],
        &["run", "mine.toml", "--factor", &url],
        &["run", "mine.toml", "--text", &url],
        &["run", "--resume", &url],
        &["report", &url],
        &[&url],
        &["run", "mine.toml", "--engine", "mysql://me:qzxk@localhost"],
        &["run", "mine.toml", "--engine", "oracle://me:qzxk@localhost/bench"],
    ] {
        let done = hidden(place.run(arguments));
        assert_ne!(done.0.status.code(), Some(0));
    }
}

/// The command lines of all that a process starts until it ends, and what it said.
fn watched(mut child: Child) -> (BTreeSet<String>, Done) {
    let line_of = |pid: &str| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ")
    };
    fn below(pid: u32, pids: &mut Vec<String>) {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        for child in children.unwrap_or_default().split_whitespace() {
            pids.push(child.to_owned());
            below(child.parse().unwrap(), pids);
        }
    }
    // Before it is another program, what is started is its parent once more; which may not have got its
    // arguments yet.
    let own = || line_of(&child.id().to_string());
    let own = std::iter::repeat_with(own).find(|line| !line.is_empty()).unwrap();
    let mut lines = BTreeSet::new();
    while child.try_wait().unwrap().is_none() {
        let mut pids = Vec::new();
        below(child.id(), &mut pids);
        lines.extend(pids.iter().map(|pid| line_of(pid)));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    lines.remove(&own);
    (lines, Done(child.wait_with_output().unwrap()))
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_password_gets_to_a_server_by_every_way_and_into_no_command_line() {
    if !installed(&["mariadb:innodb"]) {
        return;
    }
    let (place, theirs) = (Place::new(), Theirs::start());
    place.write("mine.toml", "workload = \"point\"\nengine = \"null\"\n");
    let run = |folder: &str, url: &str| {
        let run = ["run", "mine.toml", "--reuse", "--out", folder, "--engine", url];
        place.command(&[&run[..], &SHORT].concat())
    };
    let secrets = [HARD, &"x".repeat(60)].map(password);
    for (number, secret) in secrets.iter().enumerate() {
        let quoted = secret.replace('\\', "\\\\").replace('\'', "''");
        theirs.must(&format!(
            "CREATE USER u{number}@localhost IDENTIFIED BY '{quoted}'; \
             GRANT ALL ON bench.* TO u{number}@localhost"
        ));
        let url = theirs.url(&format!("u{number}:{}", escaped(secret)));
        let folder = format!("url{number}");
        let (lines, done) = watched(run(&folder, &url).spawn().unwrap());
        assert!(lines.iter().any(|line| line.contains(" trial")), "{lines:?}");
        for line in lines {
            assert_hidden("the command line of what it starts", line.as_bytes());
        }
        assert_secret(&place, &folder, done.code(0));
        let command = place.json(&folder)["run"]["command"].as_str().unwrap().to_owned();
        assert!(command.contains(&theirs.url(&format!("u{number}"))), "{command}");
    }
    let url = theirs.url("u0");
    let done = run("variable", &url).env("MYSQL_PWD", &secrets[0]).output().unwrap();
    assert_secret(&place, "variable", Done(done).code(0));

    let file = place.write("password", &format!("{}\n", secrets[0]));
    let url = url.replace('#', &format!("&password-file={}#", file.display()));
    let with_mode = |mode| {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        Done(run("file", &url).output().unwrap())
    };
    hidden(with_mode(0o644).code(2).says(&["others may read", "chmod 600"]));
    // The file itself is not in the run folder.
    assert_secret(&place, "file", with_mode(0o600).code(0));
    place.typed("run --resume file --trust-experiment").code(0);
}
