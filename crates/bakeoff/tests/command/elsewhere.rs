//! Databases on servers that somebody else runs: here, servers of the tests' own. No password of
//! theirs is ever kept or shown.

use std::path::Path;
use std::process::Command;

use bakeoff_results::measure::{SPACE, Scope};
use bakeoff_servers::{Launch, Program, Server};

use super::servers::{installed, trials};
use super::{Done, Place, measured};

const PASSWORD: &str = "s3cr%2Ft+Word";
/// What of it stands in no file and no output, however it is escaped.
const TRACES: [&str; 2] = ["s3cr", "t+Word"];

pub const SHORT: [&str; 6] = ["--seconds", "1", "--repetitions", "1", "--clients", "2"];

/// Somebody's MariaDB, with a user who has a password.
pub struct Theirs {
    server: Server,
    _folder: tempfile::TempDir,
}

impl Theirs {
    pub fn start() -> Self {
        Self::with(&[], |_| ())
    }

    /// The same, with settings; `before` is shown its data folder before it starts.
    pub fn with(settings: &[(String, String)], before: impl Fn(&Path)) -> Self {
        let folder = tempfile::Builder::new().permissions(open_to_all()).tempdir().unwrap();
        let launch = Launch {
            directory: folder.path().join("server"),
            settings: [settings, &[("local_infile".into(), "ON".into())]].concat(),
            ..Launch::default()
        };
        Server::initialise(Program::MariaDb, &launch).unwrap();
        before(&launch.directory.join("data"));
        let server = Server::start(Program::MariaDb, &launch).unwrap();
        let theirs = Self { server, _folder: folder };
        theirs.must(
            "CREATE DATABASE bench; CREATE USER me@localhost IDENTIFIED BY 's3cr/t+Word'; \
                     GRANT ALL ON bench.* TO me@localhost",
        );
        theirs
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

    pub fn socket(&self) -> &Path {
        self.server.socket()
    }

    pub fn url(&self, user: &str) -> String {
        format!("mysql://{user}@localhost/bench?socket={}#InnoDB", self.server.socket().display())
    }
}

pub fn open_to_all() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o755)
}

/// Neither an output, nor a file in a folder, nor a report of the run there has the password.
#[track_caller]
fn assert_secret(place: &Place, folder: &str, done: &Done) {
    let clean = |what: &str, text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        for trace in TRACES {
            assert!(!text.contains(trace), "{trace} is in {what}");
        }
    };
    clean("the output", format!("{}{}", done.out(), done.err()).as_bytes());
    let files = std::fs::read_dir(place.path(folder)).unwrap().flatten();
    let mut seen = 0;
    for file in files.map(|entry| entry.path()).filter(|path| path.is_file()) {
        clean(&file.display().to_string(), &std::fs::read(&file).unwrap());
        seen += 1;
    }
    assert!(seen >= 3, "the run folder has {seen} files");
    for format in ["html", "json", "csv", "md", "term"] {
        let report = place.run(&["report", folder, "--format", format]).code(0);
        clean(format, report.out().as_bytes());
    }
}

#[test]
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
    let done = run("r", &["--noise-floor"]).code(0).says(&["Somebody else runs", "emptied"]);
    assert_secret(&place, "r", &done);
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
    wrong.code(5).says(&["Access denied", "URL's user and password"]);

    // Its tables are there now, and may be dropped only when that is meant.
    let done = run("second", &[]).code(5).says(&["--reuse"]);
    assert_secret(&place, "second", &done);
    run("third", &["--reuse"]).code(0);
    // Going on needs the password again: as a flag, or in the environment.
    let resume = ["run", "--resume", "third"];
    place.run(&[&resume[..], &["--engine", &engines]].concat()).code(0);
    let mut command = place.command(&resume);
    Done(command.env("MYSQL_PWD", "s3cr/t+Word").output().unwrap()).code(0);
    place.run(&resume).code(2).says(&["began with a password", &shown, "MYSQL_PWD", "--engine"]);
    place.run(&[&resume[..], &["--engine", "sqlite"]].concat()).code(2).says(&["leave out"]);

    // What is not bakeoff's is never touched.
    theirs.must("CREATE TABLE bench.thesis (page TEXT); INSERT INTO bench.thesis VALUES ('1')");
    run("fourth", &["--reuse"]).code(5).says(&["not made by bakeoff", "thesis"]);
    assert_eq!(theirs.must("SELECT count(*) FROM bench.thesis").trim(), "1");
}

#[test]
fn what_a_server_elsewhere_can_not_have_is_refused_cell_by_cell() {
    if !installed(&["mariadb:innodb"]) {
        return;
    }
    let (place, theirs) = (Place::new(), Theirs::start());
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let run = |out: &str, url: &str, more: &[&str]| {
        let start = ["run", "mine.toml", "--out", out, "--engine", url];
        place.run(&[&start[..], &SHORT, more].concat()).code(5)
    };
    let url = theirs.url(&format!("me:{PASSWORD}"));
    run("a", &url, &["--memory", "256M"]).says(&["memory 256M can't be had", "unlimited"]);
    run("b", &url, &["--disk", "null"]).says(&["disk null can't be had", "host"]);
    run("c", &url, &["--neighbours", "x1"]).says(&["neighbours x1 can't be had"]);
    let plan = ["run", "mine.toml", "--dry-run", "--engine", &url, "--memory", "256M"];
    place.run(&plan).code(0).says(&["memory 256M can't be had"]);
    // The server syncs, so it can't give less.
    run("d", &url, &["--durability", "none"]).says(&["innodb_flush_log_at_trx_commit"]);
    let wrong = theirs.url("me:s3cr-guess");
    let done = run("e", &wrong, &[]).says(&["Access denied"]);
    assert_secret(&place, "e", &done);
}

#[test]
fn a_database_nobody_serves_fails_its_trials_and_a_wrong_url_is_shown_without_its_password() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let nowhere = Path::new("/nowhere/socket").display();
    let engines = format!(
        "mysql://me:{PASSWORD}@localhost/bench?socket={nowhere},\
         postgres://me:{PASSWORD}@%2Fnowhere/bench,sqlite"
    );
    let run = ["run", "mine.toml", "--out", "r", "--engine", &engines];
    let done = place
        .run(&[&run[..], &SHORT].concat())
        .code(5)
        .says(&["can't be loaded", "whether it is running"]);
    assert_secret(&place, "r", &done);
    let document = place.json("r");
    let valid = trials(&document).into_iter().map(|(engine, trial)| (engine, &trial["valid"]));
    let valid: Vec<_> = valid.filter(|(_, valid)| **valid == true).collect();
    assert_eq!(valid.len(), 1);
    assert_eq!(valid[0].0, "sqlite");
    for (url, texts) in [
        ("mysql://me:s3cr@localhost", ["names no database", "mysql://user"]),
        ("mysql://localhost/bench", ["names no user", "mysql://user"]),
        ("mysql://me:s3cr@localhost/bench#Foo", ["none of InnoDB", "^^^^"]),
        ("postgres://me:s3cr@localhost", ["names no database", "postgres://user"]),
        ("oracle://me:s3cr@localhost/bench", ["begins with", "mysql://"]),
    ] {
        let done = place.run(&["run", "mine.toml", "--engine", url]).code(2).says(&texts);
        assert!(!done.err().contains("s3cr"), "{}", done.err());
    }
}
