//! What can't be started, and what is said of it.

use std::os::unix::fs::PermissionsExt;

use bakeoff_engines::servers::{Error, PrivateServer};
use bakeoff_testkit::{is_root, needs_root, open_to_all, run_test_again};

use crate::{Home, Program, installed};

/// Its number among the capabilities.
const CAP_SYS_ADMIN: u32 = 21;

#[test]
fn a_server_that_can_not_start_says_why() {
    for program in installed() {
        let memory = match program {
            Program::MariaDb => ("innodb_buffer_pool_size", "64T"),
            Program::Postgres => ("shared_buffers", "64TB"),
        };
        for ((name, value), said) in
            [(("no_such_setting", "1"), ["no_such_setting"; 2]), (memory, ["memory", "range"])]
        {
            let mut home = Home::initialised(program);
            home.set(name, value);
            let error = home.refused();
            assert!(matches!(error, Error::Ended { .. }), "{error:?}");
            let message = error.to_string().to_lowercase();
            assert!(said.iter().any(|part| message.contains(part)), "{message}");
        }
        // Data of another kind.
        let home = Home::new(program);
        std::fs::create_dir_all(home.launch.directory.join("data")).expect("room");
        let error = home.refused();
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
        let mut home = Home::new(program);
        home.set(name, "1");
        let error = home.refused();
        assert!(matches!(error, Error::Setting { .. }), "{error:?}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

/// In a container that denies root its mounts.
#[test]
fn a_folder_that_the_servers_user_can_not_reach_is_named() {
    if !needs_root("run servers as somebody else") {
        return;
    }
    run_test_again(&["setpriv", "--bounding-set=-sys_admin"], "refusals::without_mounts");
}

/// What [`a_folder_that_the_servers_user_can_not_reach_is_named`] starts: a test by name only.
#[test]
fn without_mounts() {
    let status = std::fs::read_to_string("/proc/self/status").expect("the kernel has it");
    let bounds = status.lines().find_map(|line| line.strip_prefix("CapBnd:")).expect("a line");
    let bounds = u64::from_str_radix(bounds.trim(), 16).expect("a number");
    if !is_root() || bounds & (1 << CAP_SYS_ADMIN) != 0 {
        return;
    }
    for program in installed() {
        let mut home = Home::new(program);
        let closed = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(home.folder.path(), closed).expect("a folder of ours");
        let error = PrivateServer::initialise(&program, &home.launch).expect_err("it is closed");
        let Error::Unreachable { folder, .. } = &error else { panic!("{error:?}") };
        assert_eq!(folder, home.folder.path());
        assert!(error.to_string().contains("CAP_SYS_ADMIN"), "{error}");
        // Where nothing is closed to it, it needs none, however long the path.
        open_to_all(home.folder.path());
        home.launch.directory = home.folder.path().join("x".repeat(100)).join("y".repeat(60));
        home.initialise();
        home.start().stop().expect("it stops");
    }
}
