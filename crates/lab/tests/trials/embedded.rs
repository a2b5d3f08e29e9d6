//! Embedded engines: those that keep what they promise, and settings that are known to be bad.

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_engines::{Durability, find};
use bakeoff_results::Promised;

use crate::Test;
use crate::lying::named;
use crate::stage::{Stage, all_kept, breaks};

pub const TESTS: &[Test] = &[
    ("embedded_engines_keep_strict", embedded_engines_keep_strict),
    ("embedded_engines_keep_strict_twice", embedded_engines_keep_strict_twice),
    ("embedded_engines_keep_relaxed", embedded_engines_keep_relaxed),
    ("sqlite_keeps_strict_while_it_pays_its_debts", sqlite_keeps_strict_while_it_pays_its_debts),
    ("a_recovery_on_a_slow_disk_takes_its_time", a_recovery_on_a_slow_disk_takes_its_time),
    ("sqlite_without_syncs_is_caught", sqlite_without_syncs_is_caught),
    ("lmdb_without_syncs_is_caught", lmdb_without_syncs_is_caught),
    ("fjall_without_syncs_is_caught", fjall_without_syncs_is_caught),
];

/// How often each is cut.
const CUTS: u32 = 6;

/// What "about a second" is for those that sync once a second, on a machine that takes a thread away for
/// seconds.
const WINDOW_S: f64 = 10.0;

/// The rules that an engine keeps its promises by. fjall 3.1 refuses a journal that ends with a
/// batch of which a part is missing and the end marker is not (`ChecksumMismatch` in its
/// `journal/batch_reader.rs`), as a torn write may leave it, now and then.
const ENGINES: [(&str, &[Keep]); 3] =
    [("sqlite", &Keep::ALL), ("lmdb", &Keep::ALL), ("fjall", &[Keep::DropAll, Keep::Prefix])];

fn embedded_engines_keep_strict() {
    for (name, keep) in ENGINES {
        let stage = Stage::set(find(name).expect("an engine"));
        stage.with(Metadata::Ordered, keep).keeps(CUTS);
    }
}

fn embedded_engines_keep_strict_twice() {
    for (name, keep) in ENGINES {
        let stage = Stage::set(find(name).expect("an engine")).twice();
        stage.with(Metadata::Ordered, keep).keeps(CUTS / 3);
    }
}

fn embedded_engines_keep_relaxed() {
    for (name, keep) in ENGINES {
        let stage = Stage::set(find(name).expect("an engine"));
        // LMDB names no time, but a number.
        let promised = match name {
            "lmdb" => Promised::Whole { window_s: None, most_lost: Some(1) },
            _ => Promised::Whole { window_s: Some(WINDOW_S), most_lost: None },
        };
        let stage = stage.at(Durability::Relaxed, promised);
        stage.with(Metadata::Ordered, keep).keeps(CUTS);
    }
}

/// By both readings: all that was done before is durable when the disk begins to remember.
fn sqlite_keeps_strict_while_it_pays_its_debts() {
    let set = || Stage::set(find("sqlite").expect("an engine")).steady();
    for metadata in Metadata::ALL {
        let cuts = set().with(metadata, &Keep::ALL).placed(CUTS / 2);
        all_kept(&cuts);
        for cut in cuts {
            let conditioned = cut.conditioned.as_ref().expect("work before the cut");
            // A log is begun anew when a thousand pages are in it: no few transactions do it.
            assert!(conditioned.operations > 0 && cut.acknowledged > 100, "{cut:#?}");
            let [turn] = &conditioned.turns[..] else { panic!("{cut:#?}") };
            assert!(turn.name == "log resets" && turn.done >= turn.whole, "{turn:?}");
            assert_eq!(cut.placed.is_some(), cut.number.is_multiple_of(3), "{cut:#?}");
        }
    }
}

/// A commit after the recovery waits for a turn of the disk, at least, and the others for nothing.
fn a_recovery_on_a_slow_disk_takes_its_time() {
    let stage = Stage::set(find("sqlite").expect("an engine")).on("hdd-7200");
    let cuts = stage.with(Metadata::Ordered, &[Keep::DropAll, Keep::Prefix]).keeps(2);
    assert_eq!(cuts[1].timed, None, "one is enough");
    let timed = cuts[0].timed.as_ref().expect("it was timed");
    assert_eq!((&*timed.keep, &timed.failed), ("prefix", &None));
    let times = [timed.open_s, timed.answer_s, timed.device_s].map(|it| it.expect("a time"));
    let [open_s, answer_s, device_s] = times;
    let turn_s = 60.0 / 7200.0;
    assert!(device_s > turn_s && answer_s >= device_s * 0.9 && open_s < answer_s, "{timed:?}");
}

fn sqlite_without_syncs_is_caught() {
    Stage::set(named("sqlite-off")).with(Metadata::Ordered, &[Keep::Torn]).caught(breaks);
}

fn lmdb_without_syncs_is_caught() {
    Stage::set(named("lmdb-nosync")).caught(breaks);
}

fn fjall_without_syncs_is_caught() {
    Stage::set(named("fjall-unsynced")).caught(breaks);
}
