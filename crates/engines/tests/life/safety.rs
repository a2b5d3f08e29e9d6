//! What root gives away to a server's user, and what that user can do with it: nothing to what is
//! root's.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use bakeoff_testkit::{AS_NOBODY, needs_root, run_test_again};
use rustix::process::{Gid, Uid};

use crate::{Home, TABLE, installed};

/// Whether this is root.
fn root() -> bool {
    needs_root("give something away")
}

/// Root's own file in a folder outside of a server's.
fn precious(home: &Home) -> PathBuf {
    let folder = home.folder.path().join("precious");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("file"), "root's").expect("room");
    folder.join("file")
}

/// Does something as the user of these ids, in a thread of its own.
fn as_user<T: Send>((uid, gid): (u32, u32), what: impl FnOnce() -> T + Send) -> T {
    let act = || {
        rustix::thread::set_thread_groups(&[]).expect("root may");
        rustix::thread::set_thread_gid(Gid::from_raw(gid)).expect("root may");
        rustix::thread::set_thread_uid(Uid::from_raw(uid)).expect("root may");
        what()
    };
    std::thread::scope(|scope| scope.spawn(act).join().expect("it ends"))
}

fn owner(path: &Path) -> (u32, u32) {
    let found = fs::symlink_metadata(path).expect("it is there");
    (found.uid(), found.gid())
}

#[test]
fn data_that_are_a_link_are_refused_and_what_is_behind_it_is_not_given_away() {
    for program in installed().filter(|_| root()) {
        for name in ["data", "tmp", "server"] {
            let home = Home::new(program);
            let precious = precious(&home);
            fs::create_dir(&home.launch.directory).expect("a folder");
            let link = home.launch.directory.join(name);
            symlink(precious.parent().expect("a folder"), &link).expect("a link");
            let error = home.refused().to_string();
            assert_eq!(owner(&precious), (0, 0), "{program}: it was given away through {name}");
            assert_eq!(owner(precious.parent().expect("a folder")), (0, 0), "{program}: {name}");
            assert!(error.contains("is a link"), "{error}");
            assert!(error.contains(link.to_str().expect("text")), "{error}");
        }
    }
}

#[test]
fn a_second_name_of_a_file_of_roots_is_not_given_away() {
    for program in installed().filter(|_| root()) {
        let home = Home::new(program);
        let precious = precious(&home);
        let data = home.launch.directory.join("data");
        fs::create_dir_all(&data).expect("a folder");
        fs::hard_link(&precious, data.join("mine")).expect("a name");
        let error = home.refused();
        assert!(error.to_string().contains("several names"), "{error}");
        assert_eq!(owner(&precious), (0, 0), "{program}");
    }
}

#[test]
fn what_belongs_to_others_is_refused() {
    for program in installed().filter(|_| root()) {
        for file in ["", "data", "data/file"] {
            let home = Home::new(program);
            let data = home.launch.directory.join("data");
            fs::create_dir_all(&data).expect("a folder");
            fs::write(data.join("file"), "theirs").expect("room");
            let theirs = home.launch.directory.join(file);
            std::os::unix::fs::lchown(&theirs, Some(4711), Some(4711)).expect("root may");
            let said = home.refused().to_string();
            assert!(said.contains("4711") && said.contains("chown"), "{said}");
            assert_eq!(owner(&theirs), (4711, 4711), "{program}");
        }
    }
}

#[test]
fn a_server_s_user_can_not_replace_its_data_or_put_something_beside_them() {
    for program in installed().filter(|_| root()) {
        let home = Home::initialised(program);
        let precious = precious(&home);
        let outside = precious.parent().expect("a folder");
        let server = home.start();
        let directory = &home.launch.directory;
        let data = directory.join("data");
        let user = owner(&data);
        assert_ne!(user.0, 0, "{program}");
        assert_eq!((owner(directory), owner(&directory.join("tmp"))), ((0, 0), user), "{program}");
        // As a command would that the server runs.
        as_user(user, || {
            fs::write(data.join("written"), "by its user").expect("its own folder");
            assert!(fs::rename(&data, directory.join("away")).is_err(), "{program}");
            assert!(symlink(outside, directory.join("data.new")).is_err(), "{program}");
            assert!(fs::write(directory.join("beside"), "").is_err(), "{program}");
            // In its own folder it may do what it likes.
            symlink(outside, data.join("linked")).expect("its own folder");
            // Some systems deny it this.
            let _ = fs::hard_link(&precious, data.join("named"));
        });
        server.stop().expect("it stops in order");
        let again = bakeoff_engines::servers::PrivateServer::start(&program, &home.launch);
        assert_eq!(owner(&precious), (0, 0), "{program}: it was given away");
        drop(again);
    }
}

#[test]
fn a_log_that_became_a_link_or_a_pipe_is_neither_written_nor_read() {
    for program in installed().filter(|_| root()) {
        let mut home = Home::initialised(program);
        let precious = precious(&home);
        let log = home.launch.directory.join("server/log");
        fs::remove_file(&log).expect("a log");
        symlink(&precious, &log).expect("a link");
        home.set("no_such_setting", "1");
        let error = home.refused().to_string();
        assert!(error.contains("is not a file with data"), "{error}");
        assert_eq!(fs::read(&precious).expect("root's"), b"root's", "{program}");
    }
}

/// Every server, used once below a folder of its own. That folder's mode and depth may be anything.
fn serve_below(mode: u32, below: &str) {
    for program in installed() {
        let mut home = Home::new(program);
        fs::set_permissions(home.folder.path(), Permissions::from_mode(mode)).expect("our own");
        home.launch.directory = home.folder.path().join(below).join(format!("{program}"));
        home.initialise();
        let server = home.start();
        home.must(&server, TABLE);
        assert_eq!(home.must(&server, "SELECT n FROM test.t"), "1");
        server.kill();
        home.start().stop().expect("it stops");
    }
}

#[test]
fn a_folder_that_is_closed_to_the_servers_user_will_do() {
    serve_below(0o700, "");
}

#[test]
fn a_path_that_is_longer_than_the_address_of_a_socket_will_do() {
    serve_below(0o755, &format!("{}/{}", "x".repeat(100), "y".repeat(100)));
}

#[test]
fn a_path_that_is_longer_than_the_address_of_a_socket_will_do_for_an_ordinary_user() {
    run_test_again(
        &AS_NOBODY,
        "safety::a_path_that_is_longer_than_the_address_of_a_socket_will_do",
    );
}
