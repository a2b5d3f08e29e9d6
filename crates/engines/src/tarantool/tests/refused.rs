//! What a server refuses, and servers that end: nothing is lost, and the next call works or says why not.

use bakeoff_testkit::{Tmpfs, wait_until};
use rustix::process::{Pid, Signal, kill_process};

use super::*;

#[test]
fn full_memory_is_an_error_of_its_own_and_the_server_lives() {
    if needs(MEMTX.available()).is_none() {
        return;
    }
    let folder = folder_for_all();
    let terms = OpenTerms { memory_bytes: Some(128 << 20), ..OpenTerms::new(Durability::None) };
    let database = open(&MEMTX, folder.path(), &terms);
    let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
    let text = "x".repeat(1 << 20);
    let full =
        (0..200).find_map(|id| Some((id, session.run(PUT, &note(id, &text), &mut rows).err()?)));
    let (id, error) = full.expect("200 MiB do not fit");
    assert!(matches!(&error, Error::Engine(_)), "{error:?}");
    assert!(error.to_string().contains("Failed to allocate"), "{error}");
    for id in [0, id - 1] {
        assert_eq!(session.run(READ, &[id.into()], &mut rows).expect("a read"), 1);
    }
    assert_eq!(session.run(BY_KIND, &[7.into()], &mut rows).expect("a read"), id as u64);
    assert_eq!(database.check().expect("a check"), Vec::<String>::new());
}

#[test]
fn a_commit_of_a_server_that_is_killed_is_in_doubt_and_the_next_call_says_that_it_has_ended() {
    for engine in installed() {
        let folder = folder_for_all();
        // A socket's address has room for 107 bytes, which keeps nobody from it.
        let deep = folder.path().join("x".repeat(100)).join("y".repeat(60));
        std::fs::create_dir_all(&deep).expect("room");
        let database = open(engine, &deep, &OpenTerms::new(Durability::Strict));
        let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
        session.begin(Access::Write).expect("begin");
        session.run(PUT, &note(1, "a note"), &mut rows).expect("it fits");
        assert_eq!(session.run(READ, &[1.into()], &mut rows).expect("a read"), 1);
        let server = database.server().expect("a server");
        let server = Pid::from_raw(server.cast_signed()).expect("a process");
        kill_process(server, Signal::KILL).expect("it is ours");
        let answer = session.commit();
        assert!(matches!(answer, Err(Error::InDoubt(_))), "{answer:?}");
        let answer = session.run(READ, &[1.into()], &mut rows);
        assert!(matches!(answer, Err(Error::Engine(_))), "{answer:?}");
    }
}

#[test]
fn a_tuple_above_its_limit_is_an_error_of_its_own_and_the_server_lives() {
    for engine in installed() {
        let folder = folder_for_all();
        let limit = format!("{}_max_tuple_size", engine.logged.storage.engine());
        let terms = OpenTerms {
            settings: vec![(limit.clone(), (1 << 20).to_string())],
            ..OpenTerms::new(Durability::Strict)
        };
        let database = open(engine, folder.path(), &terms);
        let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
        session.run(PUT, &note(1, "short"), &mut rows).expect("it fits");
        let text = "x".repeat(2 << 20);
        let error = session.run(PUT, &note(2, &text), &mut rows).expect_err("it is too long");
        assert!(matches!(&error, Error::Engine(_)), "{error:?}");
        assert!(error.to_string().contains(&limit), "{error}");
        session.run(PUT, &note(3, "short"), &mut rows).expect("it fits");
        assert_eq!(count(&mut *session), 2);
        assert_eq!(database.check().expect("a check"), Vec::<String>::new());
    }
}

#[test]
fn a_snapshot_without_room_is_an_error_and_what_was_committed_stays() {
    const ROWS: i64 = 16;
    for engine in installed() {
        let folder = folder_for_all();
        let small = folder.path().join("small");
        let Some(disk) = Tmpfs::mount(&small, "96m") else { return };
        let database = open(engine, &small.join("database"), &OpenTerms::new(Durability::Strict));
        let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
        // Bytes that no compression makes fewer.
        let text = |id: i64| -> String {
            let mut number = id.cast_unsigned() + 1;
            let mut next = || {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from(b' ' + ((number >> 33) % 95) as u8)
            };
            (0..1 << 20).map(|_| next()).collect()
        };
        for id in 0..ROWS {
            session.run(PUT, &note(id, &text(id)), &mut rows).expect("it fits");
        }
        // Somebody else fills the file system.
        let full = disk.fill();
        let error = database.drain().expect_err("there is no room");
        assert!(matches!(&error, Error::Engine(_)), "{error:?}");
        assert_eq!(count(&mut *session), ROWS as u64);
        drop(full);
        // vinyl tries again after a while.
        wait_until("a snapshot with room", || database.drain().is_ok());
        drop(session);
        drop(database);
        let database = open(engine, &small.join("database"), &OpenTerms::new(Durability::Strict));
        assert_eq!(count(&mut *database.session().expect("a session")), ROWS as u64);
        assert_eq!(database.check().expect("a check"), Vec::<String>::new());
    }
}
