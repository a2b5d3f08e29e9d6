//! Databases on servers that somebody else runs: here, servers of the tests' own. No password of
//! theirs is ever kept or shown.

use std::path::Path;
use std::process::Command;

use bakeoff_engines::mysql;
use bakeoff_results::measure::{SPACE, Scope};
use bakeoff_servers::{Launch, PrivateServer};
use bakeoff_testkit::folder_for_all;

use super::servers::{installed, trials};
use super::{Done, Place, measured};

const PASSWORD: &str = "s3cr%2Ft+Word";
/// What of it stands in no file and no output, however it is escaped.
const TRACES: [&str; 2] = ["s3cr", "t+Word"];

pub const SHORT: [&str; 6] = ["--seconds", "1", "--repetitions", "1", "--clients", "2"];

/// Somebody's MariaDB, with a user who has a password.
pub struct Theirs {
    server: PrivateServer,
    _folder: tempfile::TempDir,
}

impl Theirs {
    pub fn start() -> Self {
        let theirs = Self::start_with(&[("local_infile", "ON")]);
        theirs.must(
            "CREATE DATABASE bench; CREATE USER me@localhost IDENTIFIED BY 's3cr/t+Word'; \
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
        assert!(!text.contains(trace), "{trace} is in {what}");
    }
}

/// Neither an output, nor a file in a folder, nor a report of the run there has the password.
#[track_caller]
fn assert_secret(place: &Place, folder: &str, done: &Done) {
    let clean = assert_hidden;
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
    wrong.code(2).says(&["Access denied", "URL's user and password"]);
    assert!(!place.path("w").exists(), "nothing was begun");

    // Its tables are there now, and may be dropped only when that is meant.
    let done = run("second", &[]).code(2).says(&["--reuse"]);
    assert_hidden("the output", format!("{}{}", done.out(), done.err()).as_bytes());
    assert!(!place.path("second").exists(), "nothing was begun");
    run("third", &["--reuse"]).code(0);
    // Going on needs the password again: as a flag, or in the environment.
    let resume = ["run", "--resume", "third"];
    place.run(&[&resume[..], &["--engine", &engines]].concat()).code(0);
    // The folder may be anybody's: it does not say by itself where a password goes.
    let with_password = |more: &[&str]| {
        let mut command = place.command(&[&resume[..], more].concat());
        Done(command.env("MYSQL_PWD", "s3cr/t+Word").output().unwrap())
    };
    with_password(&[]).code(2).says(&["makes bakeoff connect to", "--trust-experiment"]);
    with_password(&["--trust-experiment"]).code(0);
    let without = place.run(&[&resume[..], &["--trust-experiment"]].concat());
    without.code(2).says(&["began with a password", &shown, "MYSQL_PWD", "--engine"]);
    place.run(&[&resume[..], &["--engine", "sqlite"]].concat()).code(2).says(&["leave out"]);

    // Another bakeoff that uses it is left alone.
    let url = theirs.url(&format!("me:{PASSWORD}"));
    let claim = bakeoff_engines::urls::find(&url).unwrap().claim().unwrap();
    run("claimed", &["--reuse"]).code(5).says(&["another bakeoff is using this database"]);
    drop(claim);

    // What is not bakeoff's is never touched, whatever it says of itself.
    theirs.must("CREATE TABLE bench.office (page TEXT) COMMENT 'made by bakeoffice staff'");
    theirs.must("INSERT INTO bench.office VALUES ('1')");
    run("office", &["--reuse"]).code(2).says(&["not made by bakeoff", "office"]);
    assert_eq!(theirs.must("SELECT count(*) FROM bench.office").trim(), "1");
    theirs.must("DROP TABLE bench.office");
    theirs.must("CREATE TABLE bench.thesis (page TEXT); INSERT INTO bench.thesis VALUES ('1')");
    run("fourth", &["--reuse"]).code(2).says(&["not made by bakeoff", "thesis"]);
    assert_eq!(theirs.must("SELECT count(*) FROM bench.thesis").trim(), "1");
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
    let cases: [(&[&str], &str, &str); 4] = [
        (&["--memory", "256M"], "memory 256M", "limit its memory"),
        (&["--disk", "null"], "disk null", "put a disk under it"),
        (&["--neighbours", "x1"], "neighbours x1", "give its disk neighbours"),
        // The server syncs, so it can't give less.
        (&["--durability", "none"], "durability none", "innodb_flush_log_at_trx_commit"),
    ];
    for (flags, level, why) in cases {
        let line = format!("not run: {shown} × {level} (1 trial): ");
        for more in [&[][..], &["--dry-run"]] {
            let done = run("a", &url, &[flags, more].concat()).code(2);
            done.says(&["nothing in this experiment can be run", &line, why]);
        }
        assert!(!place.path("a").exists(), "nothing was begun");
    }
    // Beside what can be had, it is left out, in the plan and in every record of the run.
    let engines = format!("{url},sqlite");
    let levels = ["--durability", "none,strict"];
    let line = format!("not run: {shown} × durability none (1 trial): the server runs with");
    run("b", &engines, &[&levels[..], &["--dry-run"]].concat())
        .code(0)
        .says(&["3 trials in 2 blocks", &line]);
    let done = run("b", &engines, &levels).code(0);
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
    let cuts = ["--disk", "null,host", "--cuts", "2", "--dry-run"];
    let planned = run("d", &engines, &cuts).code(2);
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
        "CREATE USER reader@localhost IDENTIFIED BY 's3cr/t+Word'; \
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

#[test]
fn a_database_nobody_serves_keeps_a_run_from_beginning_and_a_wrong_url_hides_its_password() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"sqlite\"\n");
    let nowhere = Path::new("/nowhere/socket").display();
    let engines = format!(
        "mysql://me:{PASSWORD}@localhost/bench?socket={nowhere},\
         postgres://me:{PASSWORD}@%2Fnowhere/bench,sqlite"
    );
    let run = ["run", "mine.toml", "--out", "r", "--engine", &engines];
    let texts =
        ["2 things keep this run", "whether it is running", "mysql://me@", "postgres://me@"];
    let done = place.run(&[&run[..], &SHORT].concat()).code(2).says(&texts);
    assert_hidden("the output", done.err().as_bytes());
    assert!(!place.path("r").exists(), "nothing was begun");
    for (url, texts) in [
        ("mysql://me:s3cr@localhost", ["names no database", "mysql://user"]),
        ("mysql://localhost/bench", ["names no user", "mysql://user"]),
        ("mysql://me:s3cr@localhost/bench#Foo", ["valid: InnoDB", "^^^^"]),
        ("postgres://me:s3cr@localhost", ["names no database", "postgres://user"]),
        ("oracle://me:s3cr@localhost/bench", ["begins with", "mysql://"]),
    ] {
        let done = place.run(&["run", "mine.toml", "--engine", url]).code(2).says(&texts);
        assert!(!done.err().contains("s3cr"), "{}", done.err());
    }
}
