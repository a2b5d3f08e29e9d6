//! What an experiment's file may not do unless it is trusted: its settings are programs, and the
//! databases that it names are somebody's.

use bakeoff_testkit::write_script;

use super::Place;
use super::servers::installed;

/// The start of a file whose settings of an engine follow.
fn file(engine: &str, settings: &str) -> String {
    format!("workload = \"point\"\nengine = \"{engine}\"\n[settings.\"{engine}\"]\n{settings}\n")
}

/// Which settings are programs, and which spellings a server takes, is tested with the engines.
#[test]
fn a_setting_that_is_a_program_or_opens_a_server_is_refused_before_any_server_starts() {
    let place = Place::new();
    let marker = place.path("marker");
    let archive = format!("archive_mode = true\narchive_command = \"touch {}\"", marker.display());
    let own = "` itself";
    for (engine, settings, why, may_be_trusted) in [
        ("postgres", archive.as_str(), "has the server run a command", true),
        ("mariadb:innodb", "loose_init_fil = \"/tmp/x.sql\"", "run statements of its own", true),
        ("mariadb:rocksdb", "skip-grant-tables = true", "who may come in", true),
        ("mariadb:rocksdb", "loose-skip-netw = 0", own, false),
        ("postgres", "listen_addresses = \"*\"", own, false),
        // Neither a name nor a value is more than one setting.
        ("postgres", "\"work_mem=1MB\\narchive_command\" = 1", "can't be a setting's name", false),
        ("postgres", "work_mem = \"1MB\\narchive_command=touch\"", "one line of text", false),
    ] {
        place.write("evil.toml", &file(engine, settings));
        let refused = place.typed("run evil.toml --out r").code(2).says(&[why]);
        let trusted = place.typed("run evil.toml --out r --dry-run --trust-experiment");
        if may_be_trusted {
            refused.says(&["--trust-experiment", "leave it out", "evil.toml"]);
            place.typed("run evil.toml --out r --dry-run").code(2).says(&[why]);
            // A file that is trusted has a plan; not every server takes its settings.
            trusted.says(&["all else equal"]);
        } else {
            trusted.code(2).says(&[why]);
        }
        assert!(!place.path("r").exists() && !marker.exists(), "{settings}");
    }
}

#[test]
fn a_program_that_the_file_names_is_not_run() {
    let place = Place::new();
    let marker = place.path("marker");
    for program in ["postgres", "initdb"] {
        let text = format!(": > '{}'\necho 'postgres 9.1'", marker.display());
        write_script(&place.path(program), &text);
    }
    let level = format!("postgres/path={}", place.0.path().display());
    let run = ["run", "evil.toml", "--out", "r", "--dry-run"];
    for (level, why) in [
        (level.as_str(), "has bakeoff run the programs in a folder"),
        ("postgres/archive_command=touch marker", "has the server run a command"),
    ] {
        let file = format!("workload = \"point\"\nengine = [\"sqlite\", \"{level}\"]\n");
        place.write("evil.toml", &file);
        let refused = place.run(&run).code(2);
        refused.says(&[why, "--engine LEVELS", "--trust-experiment", "evil.toml:2:"]);
        assert!(!marker.exists(), "{level}");
        place.run(&[&run[..], &["--trust-experiment"]].concat()).says(&["all else equal"]);
        // A program is looked at when it is trusted.
        assert_eq!(std::fs::remove_file(&marker).is_ok(), level.contains("/path="), "{level}");
    }
    // On the command line it is the user's own word.
    let named = place.run(&[&run[..], &["--engine", &level]].concat()).code(2);
    named.says(&["9.1", "is too old"]);
    assert!(marker.exists());
    // What bakeoff sets itself is nobody's.
    for level in ["postgres/port=1", "mariadb:innodb/skip_networking=0"] {
        let named = [&run[..], &["--engine", level, "--trust-experiment"]].concat();
        place.run(&named).code(2).says(&["bakeoff sets `", "` itself"]);
    }
}

#[test]
fn a_file_may_vary_an_option_beside_an_engine_without_it() {
    let place = Place::new();
    let file = "workload = 'point'\nengine = ['mariadb:innodb', 'mariadb:aria']\n\
                compression = ['none', 'zlib']\n";
    place.write("mine.toml", file);
    let done = place.typed("run mine.toml --dry-run");
    if installed(&["mariadb:innodb", "mariadb:aria"]) {
        done.code(0).says(&["not run: mariadb:aria × compression zlib"]);
    }
}

#[test]
fn a_trusted_file_has_its_settings_and_a_run_of_it_is_trusted_anew() {
    if !installed(&["postgres"]) {
        return;
    }
    let place = Place::new();
    place.write("mine.toml", &file("postgres", "archive_command = \"true\"\nwork_mem = \"5MB\""));
    let short = ["--seconds", "1", "--repetitions", "1", "--clients", "1"];
    let run = ["run", "mine.toml", "--out", "r", "--trust-experiment"];
    place.run(&[&run[..], &short].concat()).code(0);
    let document = place.json("r");
    let settings = document["run"].to_string();
    assert!(settings.contains("archive_command"), "{settings}");
    // A folder may be somebody else's, whoever trusted the file in it.
    let resume = ["run", "--resume", "r"];
    place.run(&resume).code(2).says(&["archive_command", "run a command", "--trust-experiment"]);
    place.run(&[&resume[..], &["--trust-experiment"]].concat()).code(0);
}

#[test]
fn a_database_that_the_file_names_is_not_connected_to() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("postgres://me@{}/db", listener.local_addr().unwrap());
    let place = Place::new();
    place.write("evil.toml", &format!("workload = \"point\"\nengine = [\"sqlite\", \"{url}\"]\n"));
    let mut command = place.command(&["run", "evil.toml", "--out", "r"]);
    let done = super::Done(command.env("PGPASSWORD", "s3cret").output().unwrap());
    done.code(2).says(&[&url, "--engine", "--trust-experiment"]);
    let nobody = listener.accept().expect_err("nobody came");
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
    assert!(!place.path("r").exists());
}

#[test]
fn what_has_no_end_is_refused_with_words() {
    let place = Place::new();
    let made = std::process::Command::new("mkfifo").arg(place.path("pipe")).status().unwrap();
    assert!(made.success());
    for (line, text) in [
        ("clients = 1000000000", "1 to 1000000"),
        ("memory = \"999999999999T\"", "memory"),
        ("disk = \"hdd-7200/capacity=1e300\"", "disk"),
        ("disk = \"mine\"\n[disks.mine]\nmodel = \"hdd-7200\"\nrpm = nan", "rpm"),
        // Texts are not waited for.
        ("text = \"pipe\"", "it is not a file"),
        ("text = \"/dev/zero\"", "it is not a file"),
    ] {
        place.write("evil.toml", &format!("workload = \"redmine\"\nengine = \"sqlite\"\n{line}\n"));
        place.run_soon(&["run", "evil.toml", "--out", "r"]).code(2).says(&[text]);
    }
}

/// An administrator's service may listen on a socket that only root may use.
#[test]
fn a_socket_that_the_file_names_gets_no_request() {
    let place = Place::new();
    let socket = place.path("admin.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http+unix://{}/stop", socket.display().to_string().replace('/', "%2F"));
    place.write("evil.toml", &format!("workload = \"page\"\nurl = \"{url}\"\n"));
    let run = ["run", "evil.toml", "--dry-run"];
    place.run(&run).code(2).says(&["send requests to", "--url", "--trust-experiment"]);
    assert!(listener.accept().is_err(), "it was connected to");
    // Nor does a file have a secret sent.
    place.write("evil.toml", "workload = \"page\"\nheader = \"X-A: $AWS_SECRET\"\n");
    place.run(&run).code(2).says(&["variables of your environment", "--header"]);
}
