//! Initialising, starting, stopping, and what is given to a server.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use bakeoff_servers::PrivateServer;

use crate::client::{ask, must, setting, table};
use crate::{Home, Program, installed};

#[test]
fn data_outlive_a_stop() {
    for program in installed() {
        let home = Home::initialised(program);
        let server = PrivateServer::start(&program, &home.launch).expect("it starts");
        assert!(server.is_running());
        must(program, &server, table());
        server.stop().expect("it stops in order");

        // Done already, so it changes nothing.
        PrivateServer::initialise(&program, &home.launch).expect("it is installed");
        let server = PrivateServer::start(&program, &home.launch).expect("it starts again");
        assert_eq!(must(program, &server, "SELECT n FROM test.t"), "1");
    }
}

#[test]
fn a_dropped_server_is_gone() {
    for program in installed() {
        let home = Home::initialised(program);
        let server = PrivateServer::start(&program, &home.launch).expect("it starts");
        let pid = server.pid();
        assert!(Path::new(&format!("/proc/{pid}")).exists());
        drop(server);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}

#[test]
fn a_copy_of_the_data_serves_as_well() {
    for program in installed() {
        let home = Home::initialised(program);
        let copy = Home::new();
        // As its maker's, and readable by all, as a careless copy is.
        copy_folder(&home.launch.directory.join("data"), &copy.launch.directory.join("data"));
        let server = PrivateServer::start(&program, &copy.launch).expect("it starts");
        must(program, &server, table());
    }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("room");
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).expect("a folder of ours");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("room");
        }
    }
}

#[test]
fn settings_are_what_the_server_gets_and_the_last_counts() {
    for program in installed() {
        let mut home = Home::initialised(program);
        home.set("max_connections", "20");
        home.set("max_connections", "30");
        let server = PrivateServer::start(&program, &home.launch).expect("it starts");
        assert_eq!(must(program, &server, &setting(program, "max_connections")), "30");
    }
}

#[test]
fn what_is_for_good_is_given_when_the_data_folder_is_initialised() {
    if installed().any(|program| program == Program::MariaDb) {
        let mut home = Home::new();
        home.set("innodb-page-size", "4096");
        PrivateServer::initialise(&Program::MariaDb, &home.launch).expect("it is installed");
        let server = PrivateServer::start(&Program::MariaDb, &home.launch).expect("it starts");
        let size = setting(Program::MariaDb, "innodb_page_size");
        assert_eq!(must(Program::MariaDb, &server, &size), "4096");
    }
}

#[test]
fn there_is_no_port_and_only_its_maker_gets_in() {
    for program in installed() {
        let home = Home::initialised(program);
        let server = PrivateServer::start(&program, &home.launch).expect("it starts");
        let inodes = sockets(server.pid());
        for protocol in ["tcp", "tcp6"] {
            let table = fs::read_to_string(format!("/proc/{}/net/{protocol}", server.pid()));
            let table = table.unwrap_or_default();
            let listens = table.lines().skip(1).filter_map(|line| {
                let fields: Vec<_> = line.split_whitespace().collect();
                (fields.get(3) == Some(&"0A")).then(|| fields[9].to_owned())
            });
            assert_eq!(listens.filter(|inode| inodes.contains(inode)).count(), 0, "{program}");
        }
        let runtime = server.socket().parent().expect("a folder");
        let mode = fs::metadata(runtime).expect("a folder").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let me = rustix::process::geteuid();
        let runs_as = fs::metadata(format!("/proc/{}", server.pid())).expect("it runs").uid();
        assert_eq!(me.is_root(), runs_as != me.as_raw(), "{program} runs as {runs_as}");
    }
}

/// The sockets that a process has open, by number.
fn sockets(pid: u32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("a process of ours").flatten();
    let links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links
        .filter_map(|link| {
            let number = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            Some(number.to_owned())
        })
        .collect()
}

#[test]
fn two_servers_do_not_touch_each_other() {
    for program in installed() {
        let (one, other) = (Home::initialised(program), Home::initialised(program));
        let first = PrivateServer::start(&program, &one.launch).expect("it starts");
        must(program, &first, table());
        let second = PrivateServer::start(&program, &other.launch).expect("it starts");
        assert!(ask(program, &second, "SELECT n FROM test.t").is_err());
        second.stop().expect("it stops in order");
        assert_eq!(must(program, &first, "SELECT n FROM test.t"), "1");
    }
}

#[test]
fn what_is_no_data_may_be_elsewhere() {
    for program in installed() {
        let mut home = Home::new();
        let runtime = home.folder.path().join("runtime");
        home.launch.runtime = Some(runtime.clone());
        PrivateServer::initialise(&program, &home.launch).expect("it is installed");
        let server = PrivateServer::start(&program, &home.launch).expect("it starts");
        assert_eq!(server.socket().parent(), Some(runtime.as_path()));
        let names = fs::read_dir(&home.launch.directory).expect("a folder").flatten();
        let mut names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        names.sort();
        assert_eq!(names, ["data", "tmp"]);
    }
}

#[test]
fn a_server_is_put_into_its_groups_before_it_changes_its_user() {
    for program in installed() {
        let mut home = Home::initialised(program);
        // What a group's file takes any file takes; as root's, the server could not open it.
        let group = home.folder.path().join("cgroup.procs");
        fs::write(&group, "").expect("room");
        fs::set_permissions(&group, fs::Permissions::from_mode(0o600)).expect("our own");
        home.launch.groups = vec![group.clone()];
        let server = PrivateServer::start(&program, &home.launch).expect("it starts");
        assert_eq!(fs::read_to_string(&group).expect("a file"), "0");
        server.stop().expect("it stops in order");

        home.launch.groups.push(home.folder.path().join("no-such-group/cgroup.procs"));
        let error =
            PrivateServer::start(&program, &home.launch).expect_err("there is no such group");
        assert!(error.to_string().contains("no-such-group"), "{error}");
    }
}
