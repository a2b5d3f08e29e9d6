//! Passwords that are not easy to write in a URL: of none of them, in no form, is there a trace in
//! what a run writes, says or starts.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Output};

use bakeoff_testkit::ClosedPort;

use super::elsewhere::{SHORT, Theirs};
use super::servers::installed;
use super::{Done, Place};

/// How each password begins and ends: what stands nowhere else.
const TRACES: [&str; 2] = ["qzxk", "vkwj"];

/// What stands between these, as it is typed, and whether a URL can have it so.
const BETWEEN: [(&str, bool); 18] = [
    ("/", false),
    ("?", false),
    ("#", false),
    ("@", false),
    ("'", false),
    ("\"", false),
    ("{", false),
    ("}", false),
    ("\\", false),
    ("`", false),
    (" ", false),
    (",", false),
    ("%", false),
    ("äöü", false),
    ("/x,y@h/", false),
    ("%61%2F", true),
    ("!$&*+;=:~", true),
    ("", true),
];

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

fn clean(what: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    for trace in TRACES {
        assert!(!text.contains(trace), "{trace} is in {what}:\n{text}");
    }
}

fn said(done: &Done) -> String {
    format!("{}{}", done.out(), done.err())
}

/// Neither what was said, nor any file of a run, nor a report of it has a trace of a password.
fn clean_run(place: &Place, folder: &str, done: &Done) {
    clean("what was said", said(done).as_bytes());
    let mut folders = vec![place.path(folder)];
    let mut files = 0;
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            match entry.path() {
                folder if folder.is_dir() => folders.push(folder),
                file => {
                    clean(&file.display().to_string(), &std::fs::read(&file).unwrap());
                    files += 1;
                }
            }
        }
    }
    assert!(files >= 3, "the run folder has {files} files");
    for format in ["html", "json", "csv", "md", "term"] {
        let report = place.run(&["report", folder, "--format", format]).code(0);
        clean(format, said(&report).as_bytes());
    }
}

/// The command lines of all that a process starts until it ends, and what it said.
fn watched(mut child: Child) -> (BTreeSet<String>, Done) {
    fn below(pid: u32, lines: &mut BTreeSet<String>) {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        for child in children.unwrap_or_default().split_whitespace() {
            let line = std::fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            lines.insert(String::from_utf8_lossy(&line).replace('\0', " "));
            below(child.parse().unwrap(), lines);
        }
    }
    // Before it is another program, what is started is its parent once more.
    // It may not have got its arguments yet.
    let line = || std::fs::read(format!("/proc/{}/cmdline", child.id())).unwrap();
    let own = std::iter::repeat_with(line).find(|line| !line.is_empty()).unwrap();
    let own = String::from_utf8_lossy(&own).replace('\0', " ");
    let mut lines = BTreeSet::new();
    while child.try_wait().unwrap().is_none() {
        below(child.id(), &mut lines);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    lines.remove(&own);
    let output: Output = child.wait_with_output().unwrap();
    (lines, Done(output))
}

#[test]
fn no_form_of_a_password_is_kept_or_shown() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"null\"\n");
    let nobody = ClosedPort::take();
    let port = nobody.address().port();
    let long = "x".repeat(300);
    let passwords = BETWEEN.iter().map(|(between, _)| *between).chain([&*long]);
    let urls = passwords.enumerate().flat_map(|(number, between)| {
        let user = format!("u{number}:{}@127.0.0.1:{port}", escaped(&password(between)));
        [format!("mysql://{user}/db"), format!("postgres://{user}/db?options=-c%20jit%3Doff")]
    });
    let urls: Vec<String> = urls.collect();
    let engines = format!("--engine={},null", urls.join(","));
    // Nothing listens there, and every one is told.
    let run = ["run", "mine.toml", "--out", "r", &engines];
    let done = place.run(&[&run[..], &SHORT].concat()).code(2);
    clean("what was said", said(&done).as_bytes());
    for shown in [
        format!("mysql://u3@127.0.0.1:{port}/db#InnoDB"),
        format!("postgres://u17@127.0.0.1:{port}/db?options=-c%20jit%3Doff"),
    ] {
        assert!(done.err().contains(&shown), "{}", done.err());
    }
    assert!(!place.path("r").exists());
}

#[test]
fn a_password_that_is_in_no_url_is_refused_and_not_shown() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"null\"\n");
    for secret in [
        "host=h password=S3cr",
        "postgres://host=h password=S3cr",
        "mysql:me:S3cr@h/db",
        "host=h user=me PASSWORD = 'a S3cr'",
        "me:S3cr@h/db",
        "mysql//me:S3cr@h/db",
        "postgres/password=S3cr",
        "mariadb:innodb/loose-report_password=S3cr",
    ] {
        for engines in [secret.to_owned(), format!("null,{secret}")] {
            let run = ["run", "mine.toml", "--dry-run", &format!("--engine={engines}")];
            let done = place.run(&run).code(2);
            assert!(!said(&done).contains("S3cr"), "{}", said(&done));
        }
        place.write("other.toml", &format!("workload = \"point\"\nengine = \"{secret}\"\n"));
        let done = place.run(&["run", "other.toml", "--dry-run"]).code(2);
        assert!(!said(&done).contains("S3cr"), "{}", said(&done));
    }
}

#[test]
fn a_password_that_is_not_escaped_is_refused_and_not_shown() {
    let place = Place::new();
    place.write("mine.toml", "workload = \"point\"\nengine = \"null\"\n");
    for (between, accepted) in BETWEEN {
        for scheme in ["mysql", "postgres"] {
            let url = format!("{scheme}://me:{}@127.0.0.1:9/db", password(between));
            for engines in [url.clone(), format!("null,{url},sqlite"), format!("{url}@again,{url}")]
            {
                let flag = format!("--engine={engines}");
                let done = place.run(&["run", "mine.toml", "--dry-run", &flag]).code(2);
                clean(&format!("{scheme} {between}"), said(&done).as_bytes());
                // Of one that is right there is a plan, and nobody who answers.
                let why = if accepted { "it would not begin here: " } else { "%2F for /" };
                assert!(done.err().contains(why), "{}", done.err());
                assert_eq!(done.out().is_empty(), !accepted, "{}", done.out());
            }
            let text = url.replace('\\', "\\\\").replace('"', "\\\"");
            place.write(
                "in.toml",
                &format!("workload = \"point\"\nengine = [\"null\", \"{text}\"]\n"),
            );
            let done = place.run(&["run", "in.toml", "--dry-run", "--trust-experiment"]).code(2);
            assert_eq!(done.out().is_empty(), !accepted, "{}", done.out());
            clean(&format!("a file, {scheme} {between}"), said(&done).as_bytes());
        }
    }
    // Where it does not belong.
    let secret = password("");
    for (scheme, parameter) in [
        ("mysql", "password"),
        ("mysql", "ssl-mode"),
        ("postgres", "password"),
        ("postgres", "sslpassword"),
        ("postgres", "user"),
        ("postgres", "sslmode"),
        ("postgres", "sslmod"),
        ("postgres", "nothing"),
    ] {
        let url = format!("{scheme}://me@127.0.0.1:9/db?{parameter}={secret}");
        let done = place.run(&["run", "mine.toml", "--dry-run", "--engine", &url]).code(2);
        clean(parameter, said(&done).as_bytes());
    }
    let url = format!("mysql://me:{secret}@127.0.0.1:9/db");
    for arguments in [
        &["run", "mine.toml", &url] as &[&str],
        &["run", &url],
        &["run", "mine.toml", "--seconds", &url],
        &["run", "mine.toml", "--compare", &url],
        &["run", "mine.toml", "--factor", &url],
        &["run", "mine.toml", "--text", &url],
        &["run", "--resume", &url],
        &["report", &url],
        &[&url],
    ] {
        let done = place.run(arguments);
        assert_ne!(done.0.status.code(), Some(0));
        clean(&arguments.join(" "), said(&done).as_bytes());
    }
}

#[test]
#[ignore = "slow: make test-slow"]
fn a_password_gets_to_a_server_by_every_way_and_into_no_command_line() {
    if !installed(&["mariadb:innodb"]) {
        return;
    }
    let (place, theirs) = (Place::new(), Theirs::start());
    place.write("mine.toml", "workload = \"point\"\nengine = \"null\"\n");
    let long = "x".repeat(60);
    let secrets = ["/'?#@\"{}\\` ,%äöü", &long].map(password);
    for (number, secret) in secrets.iter().enumerate() {
        let quoted = secret.replace('\\', "\\\\").replace('\'', "''");
        theirs.must(&format!(
            "CREATE USER u{number}@localhost IDENTIFIED BY '{quoted}'; \
             GRANT ALL ON bench.* TO u{number}@localhost"
        ));
        let url = theirs.url(&format!("u{number}:{}", escaped(secret)));
        let folder = format!("url{number}");
        let run = ["run", "mine.toml", "--reuse", "--out", &folder, "--engine", &url];
        let (lines, done) = watched(place.start(&[&run[..], &SHORT].concat()));
        let done = done.code(0);
        assert!(lines.iter().any(|line| line.contains(" trial")), "{lines:?}");
        for line in lines {
            clean("the command line of what it starts", line.as_bytes());
        }
        clean_run(&place, &folder, &done);
        let command = place.json(&folder)["run"]["command"].as_str().unwrap().to_owned();
        assert!(command.contains(&theirs.url(&format!("u{number}"))), "{command}");
    }
    let url = theirs.url("u0");
    let run = ["run", "mine.toml", "--reuse", "--out", "variable", "--engine", &url];
    let mut command = place.command(&[&run[..], &SHORT].concat());
    let done = Done(command.env("MYSQL_PWD", &secrets[0]).output().unwrap()).code(0);
    clean_run(&place, "variable", &done);

    let file = place.write("password", &format!("{}\n", secrets[0]));
    let url = url.replace('#', &format!("&password-file={}#", file.display()));
    let run = ["run", "mine.toml", "--reuse", "--out", "file", "--engine", &url];
    let run = [&run[..], &SHORT].concat();
    readable(&file, 0o644);
    let done = place.run(&run).code(2).says(&["others may read", "chmod 600"]);
    clean("a file that others may read", said(&done).as_bytes());
    readable(&file, 0o600);
    let done = place.run(&run).code(0);
    // The file itself is not in the run folder.
    clean_run(&place, "file", &done);
    place.run(&["run", "--resume", "file", "--trust-experiment"]).code(0);
}

fn readable(file: &Path, mode: u32) {
    std::fs::set_permissions(file, PermissionsExt::from_mode(mode)).unwrap();
}
