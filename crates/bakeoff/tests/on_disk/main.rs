//! Everything an engine does to a file system works on the virtual disk: database servers and
//! embedded engines start, load, work, stop, are killed, and start again on it.
//!
//! `ON_DISK=folder` runs the same on a plain folder instead, to tell a fault of the disk from one
//! of the test; `TMPDIR` says where that is.

mod embedded;
mod mariadb;
mod place;
mod postgres;
mod server;
mod story;
mod tarantool;

use mariadb::MariaDb;
use postgres::Postgres;
use server::Database;
use tarantool::Tarantool;

#[test]
fn innodb() {
    story::tell(&MariaDb::INNODB, "null");
}

#[test]
#[ignore = "slow: make test-slow"]
fn innodb_on_a_hard_disk() {
    story::tell(&MariaDb::INNODB, "hdd-7200");
}

#[test]
fn myrocks() {
    story::tell(&MariaDb::MYROCKS, "null");
}

#[test]
fn postgres() {
    story::tell(&Postgres, "null");
}

#[test]
#[ignore = "slow: make test-slow"]
fn tarantool_in_memory() {
    story::tell(&Tarantool::MEMTX, "null");
}

#[test]
#[ignore = "slow: make test-slow"]
fn tarantool_on_disk() {
    story::tell(&Tarantool::VINYL, "null");
}

#[test]
#[ignore = "soak: about 2 min"]
fn the_others_on_a_hard_disk_soak() {
    let others: [&dyn Database; 3] = [&MariaDb::MYROCKS, &Postgres, &Tarantool::MEMTX];
    others.into_iter().for_each(|database| story::tell(database, "hdd-7200"));
}

/// The laboratory's own tests cut the power of the servers that it knows.
#[test]
fn tarantool_keeps_its_promise_when_the_power_is_cut() {
    if let Some(lost) = story::cut(&Tarantool::MEMTX) {
        assert_eq!(lost, [0; 4], "commits that were lost");
    }
}

/// What a process that is killed does not lose, a power cut takes: commits that were written and
/// not synced.
#[test]
#[ignore = "slow: make test-slow"]
fn relaxed_innodb_loses_commits_when_the_power_is_cut() {
    if let Some(lost) = story::cut(&MariaDb::INNODB_RELAXED) {
        assert!(lost[0] > 0, "a disk that keeps only what was synced has kept all: {lost:?}");
    }
}

#[test]
fn embedded_engines() {
    embedded::conform("null");
}
