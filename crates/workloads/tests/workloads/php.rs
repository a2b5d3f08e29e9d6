//! The pages of `vote` in PHP, run by PHP's own program for each request: they are what visitors expect, and
//! write what they have to.

use std::path::Path;
use std::process::Command;

use bakeoff_engines::DatabaseAddress;
use bakeoff_testkit::needs;

use crate::load;
use crate::vote::{at, taken};

/// Runs the page as php-fpm does, which has cookies already, and tells its status at the end.
const RUN: &str = "<?php\n\
    parse_str(strtr($_SERVER['HTTP_COOKIE'] ?? '', ['; ' => '&']), $_COOKIE);\n\
    ob_start();\n\
    require __DIR__ . '/page.php';\n\
    fwrite(STDERR, (string) http_response_code());\n\
    ob_end_flush();\n";

/// Whether PHP is there, and reaches SQLite where it has to.
fn php(module: Option<&str>) -> Result<(), String> {
    let asked = Command::new("php").arg("-m").output();
    let said =
        asked.map_err(|error| format!("php is missing ({error}): apt-get install php-cli"))?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    match module {
        Some(module) if !said.lines().any(|line| line == module) => {
            Err(format!("php lacks {module}: apt-get install php-sqlite3"))
        }
        _ => Ok(()),
    }
}

/// Lays out the page at a step with a source of data.
fn lay_out(folder: &Path, text: &str, step: &str, dsn: &str) {
    let settings = format!(
        "<?php\nreturn ['step' => '{step}', 'kept' => false, 'dsn' => '{dsn}', 'user' => '', \
         'password' => '', 'first' => ['PRAGMA synchronous = OFF']];\n"
    );
    for (name, text) in [("page.php", text), ("settings.php", &*settings), ("run.php", RUN)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

/// What a request is answered: its status and its body.
fn answered(folder: &Path, request: &[u8]) -> (u16, Vec<u8>) {
    let request = taken(request);
    let mut command = Command::new("php");
    command.arg(folder.join("run.php")).env_clear();
    command.env("REQUEST_METHOD", if request.posts { "POST" } else { "GET" });
    command.env("REQUEST_URI", request.target).env("HTTP_COOKIE", request.cookie);
    command.env("HTTP_USER_AGENT", request.agent);
    command.env("HTTP_X_FORWARDED_FOR", request.address);
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    let status = errors.parse().unwrap_or_else(|_| panic!("PHP says: {errors}"));
    (status, output.stdout)
}

#[test]
fn a_stub_in_php_is_a_page() {
    if needs(php(None)).is_none() {
        return;
    }
    let prepared = at("small", &[("step", "stub")]);
    let site = prepared.site().unwrap();
    let script = site.script().unwrap();
    assert_eq!(script.step, "stub");
    let folder = tempfile::tempdir().unwrap();
    lay_out(folder.path(), script.text, script.step, "");
    let (mut visits, mut request) = (site.make_visits(0, 1, 1), Vec::new());
    let operation = visits.choose_operation();
    visits.write_request(operation, &mut request);
    let (status, body) = answered(folder.path(), &request);
    assert_eq!((status, visits.check_answer(operation, &body)), (200, Ok(())));
    let nothing = b"POST /vote?id=1 HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(answered(folder.path(), nothing).0, 404, "nobody votes");
    let ready = answered(folder.path(), b"GET /ready HTTP/1.1\r\n\r\n");
    assert_eq!(ready, (200, b"ready".to_vec()));
}

#[test]
#[ignore = "slow: make test-slow"]
fn pages_in_php_keep_sessions_and_take_votes() {
    if needs(php(Some("pdo_sqlite"))).is_none() {
        return;
    }
    let prepared = at("small", &[]);
    let folder = tempfile::tempdir().unwrap();
    let database = load("sqlite", &folder.path().join("data"), &*prepared, Vec::new());
    let Some(DatabaseAddress::Files(file)) = database.address() else {
        panic!("SQLite has a file")
    };
    let site = prepared.site().unwrap();
    let script = site.script().unwrap();
    assert_eq!((script.step, script.keeps), ("read+write", false));
    let dsn = format!("sqlite:{}", file.display());
    lay_out(folder.path(), script.text, script.step, &dsn);
    let (mut visits, mut request, mut votes) = (site.make_visits(0, 1, 1), Vec::new(), 0);
    for _ in 0..150 {
        let operation = visits.choose_operation();
        votes += usize::from(operation == 1);
        visits.write_request(operation, &mut request);
        let (status, body) = answered(folder.path(), &request);
        let text = String::from_utf8_lossy(&body);
        assert_eq!((status, visits.check_answer(operation, &body)), (200, Ok(())), "{text}");
    }
    assert!(votes > 0);
    assert_eq!(prepared.find_violations(&*database).unwrap(), Vec::<String>::new());
    // A vote of a session that nobody has is none.
    let cookie = "Cookie: session=00000000-0000-4000-8000-000000000000";
    let stranger = format!("POST /vote?id=1 HTTP/1.1\r\nContent-Length: 0\r\n{cookie}\r\n\r\n");
    assert_eq!(answered(folder.path(), stranger.as_bytes()).0, 500);
    assert_eq!(prepared.find_violations(&*database).unwrap(), Vec::<String>::new(), "it is undone");
}
