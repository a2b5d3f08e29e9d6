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
#[ignore = "slow: make test-all"]
fn innodb_on_a_hard_disk() {
    story::tell(&MariaDb::INNODB, "hdd-7200");
}

#[test]
fn myrocks() {
    story::tell(&MariaDb::MYROCKS, "null");
}

#[test]
#[ignore = "slow: make test-all"]
fn myrocks_on_a_hard_disk() {
    story::tell(&MariaDb::MYROCKS, "hdd-7200");
}

#[test]
fn postgres() {
    story::tell(&Postgres, "null");
}

#[test]
#[ignore = "slow: make test-all"]
fn postgres_on_a_hard_disk() {
    story::tell(&Postgres, "hdd-7200");
}

#[test]
#[ignore = "slow: make test-all"]
fn tarantool_in_memory() {
    story::tell(&Tarantool::MEMTX, "null");
}

#[test]
#[ignore = "slow: make test-all"]
fn tarantool_in_memory_on_a_hard_disk() {
    story::tell(&Tarantool::MEMTX, "hdd-7200");
}

#[test]
#[ignore = "slow: make test-all"]
fn tarantool_on_disk() {
    story::tell(&Tarantool::VINYL, "null");
}

#[test]
fn innodb_keeps_its_promise_when_the_power_is_cut() {
    nothing_is_lost(&MariaDb::INNODB);
}

#[test]
fn myrocks_keeps_its_promise_when_the_power_is_cut() {
    nothing_is_lost(&MariaDb::MYROCKS);
}

#[test]
fn postgres_keeps_its_promise_when_the_power_is_cut() {
    nothing_is_lost(&Postgres);
}

#[test]
fn tarantool_keeps_its_promise_when_the_power_is_cut() {
    nothing_is_lost(&Tarantool::MEMTX);
}

/// What a process that is killed does not lose, a power cut takes: commits that were written and
/// not synced.
#[test]
#[ignore = "slow: make test-all"]
fn relaxed_innodb_loses_commits_when_the_power_is_cut() {
    if let Some(lost) = story::cut(&MariaDb::INNODB_RELAXED) {
        assert!(lost[0] > 0, "a disk that keeps only what was synced has kept all: {lost:?}");
    }
}

fn nothing_is_lost(database: &dyn Database) {
    if let Some(lost) = story::cut(database) {
        assert_eq!(lost, [0; 4], "commits that were lost");
    }
}

#[test]
#[ignore = "slow: make test-all"]
fn sqlite_lmdb_and_fjall() {
    embedded::conform("null");
}
