//! What an experiment's file may not do unless it is trusted: its settings are programs, and the
//! databases that it names are somebody's.

use bakeoff_testkit::write_script;

use super::Place;
use super::servers::installed;

/// The start of a file whose settings of an engine follow.
fn file(engine: &str, settings: &str) -> String {
    format!("workload = \"point\"\nengine = \"{engine}\"\n[settings.\"{engine}\"]\n{settings}\n")
}

#[test]
fn a_setting_that_is_a_program_is_refused_before_any_server_starts() {
    let place = Place::new();
    let marker = place.path("marker");
    let archive = format!("archive_mode = true\narchive_command = \"touch {}\"", marker.display());
    let cases = [
        ("postgres", archive.as_str(), "has the server run a command"),
        ("postgres", "Shared-Preload-Libraries = \"x\"", "has the server load code"),
        ("postgres", "temp_tablespaces = \"x\"", "read or write files elsewhere"),
        ("postgres", "of_tomorrow = \"/etc/passwd\"", "has a value that bakeoff can't judge"),
        ("mariadb:innodb", "plugin-load-add = \"handlersocket\"", "has the server load code"),
        ("mariadb:innodb", "loose_init_fil = \"/tmp/x.sql\"", "run statements of its own"),
        ("mariadb:aria", "log_bin = true\nsync_binlog = 1", "read or write files elsewhere"),
        ("mariadb:rocksdb", "skip-grant-tables = true", "who may come in"),
    ];
    for (engine, settings, why) in cases {
        place.write("evil.toml", &file(engine, settings));
        let run = ["run", "evil.toml", "--out", "r"];
        let trust = ["--trust-experiment", "leave it out", "evil.toml"];
        place.run(&run).code(2).says(&trust).says(&[why]);
        place.run(&[&run[..], &["--dry-run"]].concat()).code(2).says(&[why]);
        // A file that is trusted has a plan; not every server takes its settings.
        let plan = place.run(&[&run[..], &["--dry-run", "--trust-experiment"]].concat());
        plan.says(&["all else equal"]);
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
fn no_file_opens_a_server_to_the_network_whether_it_is_trusted_or_not() {
    let place = Place::new();
    let cases = [
        ("mariadb:innodb", "skip_networking = false"),
        ("mariadb:innodb", "SKIP-NETWORKING = 0"),
        ("mariadb:rocksdb", "loose-skip-networking = 0"),
        ("mariadb:aria", "skip-netw = 0"),
        ("mariadb:innodb", "disable_skip_networking = true"),
        ("mariadb:innodb", "port = 3306"),
        ("mariadb:innodb", "bind-addr = \"0.0.0.0\""),
        ("mariadb:innodb", "extra_port = 3307"),
        ("mariadb:innodb", "getopt-prefix-matching = true"),
        ("postgres", "listen_addresses = \"*\""),
        ("postgres", "unix_socket_permissions = 511"),
        ("postgres", "hba_file = \"/tmp/hba\""),
    ];
    for (engine, settings) in cases {
        place.write("evil.toml", &file(engine, settings));
        for more in [&[][..], &["--trust-experiment"]] {
            let run = [&["run", "evil.toml", "--out", "r"], more].concat();
            place.run(&run).code(2).says(&["bakeoff sets `", "` itself", "leave it out"]);
            assert!(!place.path("r").exists(), "{settings}");
        }
    }
}

#[test]
fn neither_a_name_nor_a_value_is_more_than_one_setting() {
    let place = Place::new();
    let cases = [
        ("\"work_mem=1MB\\narchive_command\" = 1", "can't be a setting's name"),
        ("\"work_mem -c archive_command\" = 1", "can't be a setting's name"),
        ("work_mem = \"1MB\\narchive_command=touch\"", "has to be one line of text"),
        ("work_mem = \"1MB\\u0000\"", "has to be one line of text"),
    ];
    for (settings, why) in cases {
        place.write("evil.toml", &file("postgres", settings));
        let run = ["run", "evil.toml", "--out", "r", "--trust-experiment"];
        place.run(&run).code(2).says(&[why]);
    }
}

#[test]
fn a_file_may_vary_an_option_beside_an_engine_without_it() {
    let place = Place::new();
    let file = "workload = 'point'\nengine = ['mariadb:innodb', 'mariadb:aria']\n\
                compression = ['none', 'zlib']\n";
    place.write("mine.toml", file);
    let done = place.run(&["run", "mine.toml", "--dry-run"]);
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
fn numbers_without_end_are_refused_with_words() {
    let place = Place::new();
    let device =
        |what: &str| format!("disk = \"mine\"\n[disks.mine]\nmodel = \"hdd-7200\"\n{what}\n");
    let cases = [
        ("clients = 1000000000".to_owned(), "1 to 1000000"),
        ("seconds = 3e9".to_owned(), "86400"),
        ("seconds = 1e300".to_owned(), "86400"),
        ("repetitions = 4000000000".to_owned(), "1000"),
        ("scale = 1000000000000000000".to_owned(), "unknown scale"),
        ("memory = \"999999999999T\"".to_owned(), "memory"),
        ("memory = \"1000000000%\"".to_owned(), "1000%"),
        ("rate = \"1000000000000000000/s\"".to_owned(), "1000000/s"),
        ("neighbours = \"x1000000000\"".to_owned(), "x64"),
        ("cuts = 1000000000000".to_owned(), "10000"),
        ("disk = \"raid10:1000000000×hdd-7200\"".to_owned(), "disk"),
        ("disk = \"hdd-7200/capacity=1e300\"".to_owned(), "disk"),
        (device("rpm = 1e300"), "rpm"),
        (device("rpm = nan"), "rpm"),
        (device("outer_mb_s = 1e300"), "outer_mb_s"),
    ];
    for (line, text) in cases {
        place.write("evil.toml", &format!("workload = \"redmine\"\nengine = \"sqlite\"\n{line}\n"));
        let run = ["run", "evil.toml", "--out", "r", "--dry-run"];
        place.run(&run).code(2).says(&[text, "evil.toml"]);
    }
}

#[test]
fn a_text_without_end_is_not_waited_for() {
    let place = Place::new();
    let made = std::process::Command::new("mkfifo").arg(place.path("pipe")).status().unwrap();
    assert!(made.success());
    for text in ["pipe", "/dev/zero", "."] {
        let file = format!("workload = \"redmine\"\nengine = \"sqlite\"\ntext = \"{text}\"\n");
        place.write("evil.toml", &file);
        place.run(&["run", "evil.toml", "--out", "r"]).code(2).says(&["it is not a file", "name"]);
    }
}
