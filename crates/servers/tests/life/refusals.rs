//! What can't be started, and what is said of it.

use std::os::unix::fs::PermissionsExt;

use bakeoff_servers::{Error, Program, Server};

use crate::{Home, installed, open};

#[test]
fn a_setting_that_the_server_refuses_is_in_the_message() {
    for program in installed() {
        let mut home = Home::initialised(program);
        home.set("no_such_setting", "1");
        let error = Server::start(program, &home.launch).expect_err("there is no such setting");
        assert!(matches!(error, Error::Ended { .. }), "{error:?}");
        assert!(error.to_string().contains("no_such_setting"), "{error}");
    }
}

#[test]
fn a_server_without_the_memory_that_it_needs_says_so() {
    for program in installed() {
        let mut home = Home::initialised(program);
        let name = match program {
            Program::MariaDb => "innodb_buffer_pool_size",
            Program::Postgres => "shared_buffers",
        };
        home.set(name, if program == Program::MariaDb { "64T" } else { "64TB" });
        let error = Server::start(program, &home.launch).expect_err("nobody has so much");
        assert!(matches!(error, Error::Ended { .. }), "{error:?}");
        let said = error.to_string().to_lowercase();
        assert!(said.contains("memory") || said.contains("range"), "{said}");
    }
}

#[test]
fn data_of_another_kind_are_refused() {
    for program in installed() {
        let home = Home::new();
        std::fs::create_dir_all(home.launch.directory.join("data")).expect("room");
        let error = Server::start(program, &home.launch).expect_err("there is no database");
        assert!(matches!(error, Error::Ended { .. }), "{error:?}");
    }
}

#[test]
fn a_setting_that_is_ours_is_refused() {
    let cases = [
        (Program::MariaDb, "DataDir"),
        (Program::MariaDb, "pid-file"),
        (Program::MariaDb, "--socket"),
        (Program::MariaDb, ""),
        (Program::Postgres, "port"),
        (Program::Postgres, "unix_socket_directories"),
    ];
    for (program, name) in cases {
        let mut home = Home::new();
        home.set(name, "1");
        let error = Server::start(program, &home.launch).expect_err("it is ours");
        assert!(matches!(error, Error::Setting { .. }), "{error:?}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_socket_whose_path_is_too_long_is_refused() {
    for program in crate::PROGRAMS {
        let mut home = Home::new();
        home.launch.directory.push("x".repeat(100));
        let error = Server::start(program, &home.launch).expect_err("it is too long");
        assert!(matches!(error, Error::SocketPath { .. }), "{error:?}");
        assert!(error.to_string().contains("107") && error.to_string().contains("--out"));
        assert!(!home.launch.directory.exists());

        let longest = 107 - "/socket".len();
        let mut home = Home::new();
        let short = home.folder.path().as_os_str().len() + 1;
        home.launch.runtime = Some(home.folder.path().join("x".repeat(longest - short)));
        if program == Program::MariaDb && installed().any(|installed| installed == program) {
            Server::initialise(program, &home.launch).expect("it is installed");
            let server = Server::start(program, &home.launch).expect("its path just fits");
            assert_eq!(server.socket().as_os_str().len(), 107);
        }
    }
}

#[test]
fn a_path_that_the_server_takes_for_several_is_refused() {
    let mut home = Home::new();
    home.launch.directory.push("mariadb:innodb");
    let error = Server::initialise(Program::MariaDb, &home.launch).expect_err("it has a colon");
    assert!(matches!(error, Error::Separator { separator: ':', .. }), "{error:?}");
    assert!(error.to_string().contains("--out"), "{error}");
    assert!(!home.launch.directory.exists());
    for program in installed().filter(|program| *program == Program::Postgres) {
        Server::initialise(program, &home.launch).expect("it takes one folder");
        Server::start(program, &home.launch).expect("it starts").stop().expect("it stops");
    }
}

#[test]
fn a_folder_that_the_servers_user_can_not_reach_is_named() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root's servers run as somebody else");
        return;
    }
    for program in installed() {
        let home = Home::new();
        let closed = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(home.folder.path(), closed).expect("a folder of ours");
        let error = Server::initialise(program, &home.launch).expect_err("it is closed");
        let Error::Unreachable { folder, .. } = &error else { panic!("{error:?}") };
        assert_eq!(folder, home.folder.path());
        assert!(error.to_string().contains("chmod o+x"), "{error}");
        open(home.folder.path());
        Server::initialise(program, &home.launch).expect("it is open");
    }
}
