//! The log: at which level there is one, and whether it is synced.

use bakeoff_testkit::skip;
use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::{ENGINES, find_among};

/// What each engine gives at each level: a `wal_mode`, or why there is none.
#[test]
fn each_level_has_its_log_or_is_refused_with_the_reason() {
    let written = level(&MEMTX, "wal_mode=write");
    let never = "never syncs";
    for (engine, [none, relaxed, strict]) in [
        (&MEMTX as &dyn Engine, [Ok("none"), Err("wal_mode=write never syncs"), Ok("fsync")]),
        (&VINYL, [Ok("write"), Err("wal_mode=write never syncs"), Ok("fsync")]),
        (written, [Ok("write"), Err(never), Err(never)]),
    ] {
        for (durability, wanted) in std::iter::zip(Durability::ALL, [none, relaxed, strict]) {
            match (engine.check_level(durability), wanted) {
                (Ok(()), Ok(mode)) => {
                    let settings = engine.settings(&OpenTerms::new(durability));
                    let set = settings.iter().find(|it| it.name == "wal_mode");
                    assert_eq!(set.map(|it| &*it.value), Some(mode));
                }
                (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
                (given, _) => panic!("{} at {durability:?}: {given:?}", engine.about().name),
            }
        }
    }
    assert!(!MEMTX.survives_kill(Durability::None) && written.survives_kill(Durability::None));
    for (name, part) in [
        ("tarantool:vinyl/wal_mode=none", "vinyl refuses to write without a log"),
        ("tarantool:memtx/wal_mode=fsync", "`fsync` is the durability strict"),
        ("tarantool:memtx/snapshot_at_start=maybe", "valid: yes, no"),
    ] {
        let said = find_among(ENGINES, name).map(|it| it.about().name).expect_err(name);
        assert!(said.contains(part), "{said}");
    }
    // The files of trials at all levels begin as those of a server that writes a log do.
    assert_eq!(MEMTX.loads_at(), Some(Durability::Strict));
    assert_eq!([VINYL.loads_at(), written.loads_at()], [None; 2], "their weakest level has one");
}

/// Whether the logs that a server has open for writing are synced by each write.
fn logs_are_synced(server: u32) -> Vec<bool> {
    // The access mode and O_SYNC, as proc_pid_fdinfo(5) has them.
    const READ_ONLY: u32 = 0;
    const MODE: u32 = 0o3;
    const SYNC: u32 = 0o4_010_000;
    let open = std::fs::read_dir(format!("/proc/{server}/fd")).expect("a server");
    let log = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.ok()?.path();
        let name = std::fs::read_link(&path).ok()?;
        if name.extension()? != "xlog" {
            return None;
        }
        let number = path.file_name()?.to_str()?;
        let told = std::fs::read_to_string(format!("/proc/{server}/fdinfo/{number}")).ok()?;
        let flags = told.lines().find_map(|line| line.strip_prefix("flags:"))?.trim();
        let flags = u32::from_str_radix(flags, 8).ok()?;
        (flags & MODE != READ_ONLY).then_some(flags & SYNC == SYNC)
    };
    open.filter_map(log).collect()
}

/// Writes a note at `strict` to a database, and gives it with whether its log is synced by that.
fn write(engine: &dyn Engine, folder: &Path, life: i64) -> (Box<dyn Database>, Vec<bool>) {
    let database = open(engine, folder, &OpenTerms::new(Durability::Strict));
    let mut session = database.session().expect("a session");
    session.run(PUT, &note(life, "a note"), &mut Rows::new()).expect("it fits");
    drop(session);
    let synced = logs_are_synced(database.server().expect("a server"));
    (database, synced)
}

/// The fault of 2.6: an orderly stop leaves an empty log for the next start (src/box/wal.c, wal_writer_f),
/// and the next start opens that without O_SYNC (src/box/xlog.c, xlog_open). A server that was killed begins
/// a log of its own, and so does one after a snapshot.
#[test]
fn a_log_that_an_orderly_stop_has_left_is_synced_by_no_commit() {
    for engine in installed() {
        if !engine.version().starts_with("2.6.") {
            skip(format!("Tarantool {} may have mended it", engine.version()));
            continue;
        }
        let snapshot = level(engine, "snapshot_at_start=yes");
        let folder = folder_for_all();
        let lives: [(&dyn Engine, bool); 5] =
            [(engine, false), (engine, false), (snapshot, true), (snapshot, true), (engine, false)];
        for (life, (engine, wanted)) in (0..).zip(lives) {
            let (database, synced) = write(engine, folder.path(), life);
            assert_eq!(synced, [wanted], "{}, life {life}", engine.about().name);
            drop(database);
        }
        let (database, _) = write(engine, folder.path(), 5);
        let server = database.server().expect("a server");
        let server = Pid::from_raw(server.cast_signed()).expect("a process");
        kill_process(server, Signal::KILL).expect("it is ours");
        drop(database);
        let (database, synced) = write(engine, folder.path(), 6);
        assert_eq!(synced, [true], "{}, after a kill", engine.about().name);
        assert_eq!(count(&mut *database.session().expect("a session")), 7);
    }
}

/// A plan says of a level what it does less than its name says.
#[test]
fn the_levels_that_differ_from_their_names_have_a_remark() {
    let remark = |engine: &dyn Engine, level| {
        let promises = engine.about().promises;
        promises.iter().find(|it| it.durability == level).and_then(|it| it.remark)
    };
    for engine in [&MEMTX, &VINYL] {
        let told = remark(engine, Durability::Strict).expect("it syncs nothing after a restart");
        assert!(told.contains("snapshot_at_start=yes"), "{told}");
        assert_eq!(remark(level(engine, "snapshot_at_start=yes"), Durability::Strict), None);
    }
    let told = remark(&VINYL, Durability::None).expect("it has a log");
    assert!(told.contains("vinyl refuses to write without a log"), "{told}");
    assert_eq!(remark(&MEMTX, Durability::None), None);
}
