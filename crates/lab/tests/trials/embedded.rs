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
    ("sqlite_without_syncs_is_caught", sqlite_without_syncs_is_caught),
    ("lmdb_without_syncs_is_caught", lmdb_without_syncs_is_caught),
    ("fjall_without_syncs_is_caught", fjall_without_syncs_is_caught),
];

/// How often each is cut.
const CUTS: u32 = 12;

/// What "about a second" is for those that sync once a second: a busy machine is late at times.
const WINDOW_S: f64 = 3.0;

/// The rules that an engine keeps its promises by. fjall 3.1 refuses a journal that ends with a
/// batch of which a part is missing and the end marker is not (`ChecksumMismatch` in its
/// `journal/batch_reader.rs`), as a torn write may leave it, now and then.
const ENGINES: [(&str, &[Keep]); 3] =
    [("sqlite", &Keep::ALL), ("lmdb", &Keep::ALL), ("fjall", &[Keep::DropAll, Keep::Prefix])];

fn embedded_engines_keep_strict() {
    for (name, keep) in ENGINES {
        let stage = Stage::set(find(name).expect("an engine"));
        all_kept(&stage.with(Metadata::Ordered, keep).cuts(CUTS));
    }
}

fn embedded_engines_keep_strict_twice() {
    for (name, keep) in ENGINES {
        let stage = Stage::set(find(name).expect("an engine")).twice();
        all_kept(&stage.with(Metadata::Ordered, keep).cuts(CUTS / 3));
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
        all_kept(&stage.with(Metadata::Ordered, keep).cuts(CUTS));
    }
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
