//! Cuts at moments that are drawn: stores with one fault each, and one without; engines that keep what they
//! promise, and settings of theirs that are known to be bad; what goes wrong in a cut.

use std::fs;
use std::time::Duration;

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_engines::{Durability, Engine, find_level};
use bakeoff_lab::spec::can_be_cut;
use bakeoff_results::{AuditResult, Cut, DurabilityPromise};
use bakeoff_testkit::{in_time, needs};

use crate::Test;
use crate::stage::{MOST, Stage, all_kept, breaks, was_late};
use crate::store::{Fault, with};
use crate::torn::{CRAMPED, TornPages};

pub const TESTS: &[Test] = &[
    ("servers_keep_strict", servers_keep_strict),
    ("innodb_keeps_strict_while_it_pays", || {
        let known = ["flush of pages", "checkpoint"];
        all_kept(&placed_while_it_pays("mariadb:innodb", &known));
    }),
    ("postgres_without_fsync_is_caught", || is_caught("postgres", Durability::None)),
    ("postgres_with_torn_pages_is_caught", torn_pages_are_caught),
    ("postgres_with_whole_pages_survives", whole_pages_survive),
    ("innodb_at_2_is_caught", || is_caught("mariadb:innodb", Durability::Relaxed)),
    ("myrocks_at_2_is_caught", || is_caught("mariadb:rocksdb", Durability::Relaxed)),
    ("tarantool_with_a_log_of_its_own_keeps_strict", tarantool_keeps_strict),
    ("memtx_keeps_strict_where_its_log_turns", || {
        // A log of 64 kB is full after some dozen transactions, so that a cut that is placed in its turn comes there.
        let level = "tarantool:memtx/snapshot_at_start=yes/wal_max_size=65536";
        all_kept(&placed_while_it_pays(level, &["turn of the log", "snapshot"]));
    }),
    ("memtx_keeps_strict_when_the_power_goes_twice", memtx_keeps_strict_twice),
    ("vinyl_is_cut_while_it_pays", vinyl_is_cut_while_it_pays),
    ("vinyl_recovers_twice", vinyl_recovers_twice),
    ("memtx_as_it_comes_is_caught", || is_caught("tarantool:memtx", Durability::Strict)),
    ("vinyl_as_it_comes_is_caught", || is_caught("tarantool:vinyl", Durability::Strict)),
    ("embedded_engines_keep_strict", || embedded_engines_keep(6, |_, stage| stage)),
    ("embedded_engines_keep_strict_twice", || embedded_engines_keep(2, |_, it| it.twice())),
    ("embedded_engines_keep_relaxed", || embedded_engines_keep(6, at_relaxed)),
    ("sqlite_keeps_strict_while_it_pays_its_debts", sqlite_keeps_strict_while_it_pays_its_debts),
    ("a_recovery_on_a_slow_disk_takes_its_time", a_recovery_on_a_slow_disk_takes_its_time),
    ("sqlite_without_syncs_is_caught", sqlite_without_syncs_is_caught),
    ("lmdb_without_syncs_is_caught", || is_caught("lmdb", Durability::None)),
    ("fjall_without_syncs_is_caught", || is_caught("fjall", Durability::None)),
    ("a_sound_store_survives", || drop(Stage::set(with(Fault::None)).keeps(cuts()))),
    ("a_sound_store_survives_by_posix", a_sound_store_survives_by_posix),
    ("a_sound_store_survives_twice", a_sound_store_survives_twice),
    ("no_sync_is_caught", || loses(Fault::NoSync, Metadata::Ordered)),
    ("a_sync_before_the_write_is_caught", || loses(Fault::SyncBeforeWrite, Metadata::Ordered)),
    // A file system with one journal makes the new name durable with the next commit.
    ("a_missing_sync_of_a_folder_is_caught", || loses(Fault::NoFolderSync, Metadata::Ordered)),
    ("a_shop_on_a_sound_store_survives", || {
        drop(Stage::set_workload(with(Fault::None), "shop").keeps(cuts()));
    }),
    ("a_shop_on_sqlite_survives", || {
        drop(Stage::set_workload(level("sqlite"), "shop").keeps(MOST));
    }),
    ("a_shop_in_halves_is_caught", || {
        is_caught_in_a_shop(Fault::InHalves, |it| {
            it.torn > 0 && it.index_broken == 0 && it.corrupt.is_none()
        });
    }),
    ("an_early_answer_to_a_shop_is_caught", || {
        is_caught_in_a_shop(Fault::AnsweredEarly, |it| it.lost > 0);
    }),
    ("an_index_without_its_row_in_a_shop_is_caught", || {
        is_caught_in_a_shop(Fault::IndexFirst, |it| it.index_broken > 0);
    }),
    ("a_row_without_its_entry_in_a_shop_is_caught", || {
        is_caught_in_a_shop(Fault::IndexSkipped, |it| it.index_broken > 0 && it.torn == 0);
    }),
    ("it_is_caught_by_posix", || loses(Fault::NoFolderSync, Metadata::Posix)),
    ("an_early_answer_is_caught", || loses(Fault::AnsweredEarly, Metadata::Ordered)),
    ("a_hasty_recovery_is_caught_by_a_second_cut", a_hasty_recovery_is_caught_by_a_second_cut),
    ("an_index_without_its_row_is_caught", an_index_without_its_row_is_caught),
    ("a_fault_of_a_checkpoint_is_caught_there", a_fault_of_a_checkpoint_is_caught_there),
    ("an_engine_that_is_never_ready_is_corrupt", an_engine_that_is_never_ready_is_corrupt),
    ("what_is_broken_once_and_then_whole_is_no_finding", what_is_broken_once_is_no_finding),
    ("a_server_of_somebody_else_is_refused", a_server_of_somebody_else_is_refused),
    ("a_failed_cut_says_why", a_failed_cut_says_why),
];

/// How often a server is cut.
const SERVER_CUTS: u32 = 2;

/// How many cuts of a store go with a second one.
const TWICE: u32 = 8;

/// What "about a second" is for those that sync once a second, on a machine that takes a thread away for
/// seconds.
const WINDOW_S: f64 = 10.0;

/// The rules that an engine keeps its promises by. fjall 3.1 refuses a journal that ends with a
/// batch of which a part is missing and the end marker is not (`ChecksumMismatch` in its
/// `journal/batch_reader.rs`), as a torn write may leave it, now and then.
pub const ENGINES: [(&str, &[Keep]); 3] =
    [("sqlite", &Keep::ALL), ("lmdb", &Keep::ALL), ("fjall", &[Keep::DropAll, Keep::Prefix])];

/// How many cuts a sound store has to survive on either kind of file system: 10, or what the variable
/// POWER_CUTS says. 100, which take two minutes, were survived on each.
fn cuts() -> u32 {
    let said = std::env::var("POWER_CUTS").ok();
    said.map_or(10, |said| said.parse().expect("POWER_CUTS is a number"))
}

fn level(name: &str) -> &'static dyn Engine {
    find_level(name).expect("an engine")
}

/// Loads an engine's data, if the engine is installed.
fn set(name: &str) -> Option<Stage> {
    needs(level(name).available()).map(|()| Stage::set(level(name)))
}

/// At a level that promises less than everything, or by what an orderly stop leaves, something is lost that was
/// promised.
fn is_caught(name: &str, durability: Durability) {
    if let Some(stage) = set(name) {
        stage.at(durability, DurabilityPromise::Everything).caught(made_and_broken);
    }
}

fn made_and_broken(cut: &Cut) -> bool {
    assert_eq!(cut.failed, None, "{cut:#?}");
    breaks(cut)
}

/// Whether something was found in an image of a cut.
fn any(cut: &Cut, what: impl Fn(&AuditResult) -> bool) -> bool {
    cut.judged.iter().any(|judged| what(&judged.verdict))
}

fn loses(fault: Fault, metadata: Metadata) {
    let stage = Stage::set(with(fault)).with(metadata, &Keep::ALL);
    stage.caught(|cut| any(cut, |verdict| verdict.lost > 0));
}

fn is_caught_in_a_shop(fault: Fault, how: impl Fn(&AuditResult) -> bool) {
    Stage::set_workload(with(fault), "shop").caught(|cut| any(cut, &how));
}

fn servers_keep_strict() {
    for name in ["mariadb:innodb", "mariadb:rocksdb", "postgres"] {
        set(name).map(|stage| stage.keeps(SERVER_CUTS));
    }
}

/// Of the moments that are placed in what pays debts, some come, in one of these payments.
fn placed_while_it_pays(name: &str, known: &[&str]) -> Vec<Cut> {
    let Some(stage) = set(name) else { return Vec::new() };
    let cuts = stage.steady().placed(2 * SERVER_CUTS);
    for cut in &cuts {
        let conditioned = cut.conditioned.as_ref().expect("work before the cut");
        assert!(conditioned.turns.iter().all(|turn| turn.done >= turn.whole), "{conditioned:?}");
        let came = cut.placed.as_ref().filter(|placed| placed.came);
        assert!(came.is_none_or(|placed| known.contains(&&*placed.payment)), "{came:?}");
    }
    // On a busy machine the time of one may be over before its place comes: then it is a cut at any moment, of which
    // there are tests of their own.
    let came = |cut: &Cut| cut.placed.as_ref().is_none_or(|placed| placed.came);
    cuts.into_iter().filter(came).collect()
}

fn torn_pages_are_caught() {
    if needs(TornPages.available()).is_some() {
        Stage::set(&TornPages).caught(made_and_broken);
    }
}

/// That pages are torn is what the server is armed against by its own default.
fn whole_pages_survive() {
    set(CRAMPED).map(|stage| stage.with(Metadata::Ordered, &[Keep::Torn]).keeps(MOST / 2));
}

/// Tarantool syncs a log that it has begun itself.
fn tarantool_keeps_strict() {
    for name in ["tarantool:memtx", "tarantool:vinyl"] {
        set(&format!("{name}/snapshot_at_start=yes")).map(|stage| stage.keeps(SERVER_CUTS));
    }
}

/// Its recovery is cut, too.
fn memtx_keeps_strict_twice() {
    let Some(stage) = set("tarantool:memtx/snapshot_at_start=yes") else { return };
    let cuts = stage.twice().keeps(SERVER_CUTS);
    let mut judged = cuts.iter().flat_map(|cut| &cut.judged);
    assert!(judged.all(|judged| judged.again.is_some()), "{cuts:#?}");
}

/// A memory of 4 MB is full after a few seconds, and a snapshot comes every third: a cut that is placed in a dump,
/// a compaction, a snapshot or the turn of a log comes there. It may meet the faults that are told below, so that
/// its images are judged, and not asked to be whole.
fn vinyl_is_cut_while_it_pays() {
    let level = "tarantool:vinyl/snapshot_at_start=yes/vinyl_memory=4194304/checkpoint_interval=3";
    let known = ["dump or compaction", "snapshot", "turn of the metadata's log", "turn of the log"];
    for cut in placed_while_it_pays(level, &known) {
        let is_judged = cut.failed.is_none() && cut.judged.len() == Keep::ALL.len();
        assert!(is_judged || recovers_now_and_then(&cut), "{cut:#?}");
    }
}

/// 2.6 finds a run of vinyl's there already (`File exists`) at one start from an image, and not at another from the
/// same: such a cut has no verdict, and says so.
fn recovers_now_and_then(cut: &Cut) -> bool {
    cut.failed.as_ref().is_some_and(|why| why.contains("the target does not recover always"))
}

/// 2.6 has faults in the log of vinyl's metadata (tarantool/tarantool#5823, and docs/findings/break-tarantool.md),
/// which a second cut may meet: that the cuts are made and judged is all that is asked here.
fn vinyl_recovers_twice() {
    let Some(stage) = set("tarantool:vinyl/snapshot_at_start=yes") else { return };
    for cut in stage.twice().cuts(SERVER_CUTS) {
        assert!(cut.failed.is_none() || recovers_now_and_then(&cut), "{cut:#?}");
        assert!(cut.judged.iter().all(|judged| judged.again.is_some()), "{cut:#?}");
    }
}

fn embedded_engines_keep(count: u32, prepare: impl Fn(&str, Stage) -> Stage) {
    for (name, keep) in ENGINES {
        prepare(name, Stage::set(level(name))).with(Metadata::Ordered, keep).keeps(count);
    }
}

fn at_relaxed(name: &str, stage: Stage) -> Stage {
    // LMDB names no time, but a number.
    let promised = match name {
        "lmdb" => DurabilityPromise::Whole { window_s: None, most_lost: Some(1) },
        _ => DurabilityPromise::Whole { window_s: Some(WINDOW_S), most_lost: None },
    };
    stage.at(Durability::Relaxed, promised)
}

/// By both readings: all that was done before is durable when the disk begins to remember.
fn sqlite_keeps_strict_while_it_pays_its_debts() {
    for metadata in Metadata::ALL {
        let stage = Stage::set(level("sqlite")).steady().with(metadata, &Keep::ALL);
        let cuts = stage.placed(3);
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
    let stage = Stage::set(level("sqlite")).on("hdd-7200");
    let cuts = stage.with(Metadata::Ordered, &[Keep::DropAll, Keep::Prefix]).keeps(2);
    assert_eq!(cuts[1].timed, None, "one is enough");
    let timed = cuts[0].timed.as_ref().expect("it was timed");
    assert_eq!((&*timed.keep, &timed.failed), ("prefix", &None));
    let times = [timed.open_s, timed.answer_s, timed.device_s].map(|it| it.expect("a time"));
    let [open_s, answer_s, device_s] = times;
    let turn_s = 60.0 / 7200.0;
    assert!(device_s > turn_s && answer_s >= device_s * 0.9 && open_s < answer_s, "{timed:?}");
}

/// The images of broken promises are kept, and no others.
fn sqlite_without_syncs_is_caught() {
    let promised = DurabilityPromise::Everything;
    let mut stage = Stage::set(level("sqlite")).at(Durability::None, promised);
    let images = stage.folder().join("images");
    fs::create_dir(&images).expect("a new folder");
    stage.terms.keep_images = Some(images.clone());
    let cut = stage.caught(breaks);
    for judged in &cut.judged {
        let broken = judged.verdict.breaks_promise(cut.promised);
        assert_eq!(judged.image.is_some(), broken, "{judged:#?}");
        if let Some(image) = &judged.image {
            let files = fs::read_dir(image).expect("the image").count();
            assert!(files > 0 && image.starts_with(images.to_str().expect("text")), "{image}");
        }
    }
}

fn a_sound_store_survives_by_posix() {
    Stage::set(with(Fault::None)).with(Metadata::Posix, &Keep::ALL).keeps(cuts());
}

fn a_sound_store_survives_twice() {
    let cuts = Stage::set(with(Fault::None)).twice().keeps(TWICE);
    let again = cuts.iter().flat_map(|cut| &cut.judged).map(|judged| judged.again.as_ref());
    let again: Vec<_> = again.map(|again| again.expect("a second cut")).collect();
    let in_time = again.iter().filter(|again| again.in_time).count();
    assert!(again.len() == 4 * TWICE as usize && in_time > 0, "{again:?}");
}

fn a_hasty_recovery_is_caught_by_a_second_cut() {
    let stage = Stage::set(with(Fault::HastyRecovery));
    stage.keeps(TWICE);
    let cut = stage.twice().caught(|cut| any(cut, |verdict| verdict.lost > 0));
    let in_time = |judged: &bakeoff_results::JudgedImage| {
        judged.again.as_ref().is_some_and(|again| again.in_time)
    };
    assert!(cut.broken_images().all(in_time), "{cut:#?}");
}

/// The store's own check finds it, and so does the audit, which counts it and reads on.
fn an_index_without_its_row_is_caught() {
    let checked = |why: &str| why.contains("it has no row") && !why.contains("be read");
    Stage::set(with(Fault::IndexFirst)).caught(|cut| {
        any(cut, |verdict| {
            verdict.index_broken > 0 && verdict.corrupt.as_deref().is_some_and(checked)
        })
    });
}

/// A checkpoint is one of some hundred commits: a cut at any moment seldom meets it.
fn a_fault_of_a_checkpoint_is_caught_there() {
    let set = || Stage::set(with(Fault::LateSync)).steady();
    let mut stage = set();
    stage.terms.signatures = &[];
    let unplaced = stage.cuts(TWICE);
    assert!(unplaced.iter().all(|cut| cut.placed.is_none() && cut.failed.is_none()));
    let missed = unplaced.iter().filter(|cut| !breaks(cut)).count();
    assert!(missed + 1 >= unplaced.len(), "{unplaced:#?}");
    let placed = set().caught(breaks).placed.expect("those that are placed come first");
    assert!(placed.came && placed.payment == "checkpoint", "{placed:?}");
}

fn an_engine_that_is_never_ready_is_corrupt() {
    let mut stage = Stage::set(with(Fault::NeverReady)).with(Metadata::Ordered, &[Keep::Prefix]);
    stage.terms.patience = Duration::from_secs(2);
    // The clients' process has no more time to be ready than the engine.
    let cut = in_time("the start of the lab's own processes", |_| {
        let cut = stage.cuts(1).remove(0);
        (!was_late(&cut)).then_some(cut)
    });
    assert_eq!(cut.failed, None);
    let corrupt = cut.judged[0].verdict.corrupt.as_deref();
    assert!(corrupt.is_some_and(|why| why.contains("not ready after 2 s")), "{cut:#?}");
    assert!(breaks(&cut));
}

/// As where the machine has no descriptor left for the target that recovers.
fn what_is_broken_once_is_no_finding() {
    let stage = Stage::set(with(Fault::ReadyAtLast)).with(Metadata::Ordered, &[Keep::Prefix]);
    let cut = stage.cuts(1).remove(0);
    let why = cut.failed.as_deref().unwrap_or_default();
    assert!(why.contains("the machine") && why.contains("once more"), "{cut:#?}");
    assert!(!breaks(&cut), "{cut:#?}");
}

fn a_server_of_somebody_else_is_refused() {
    let stage = Stage::set(level("sqlite"));
    let can = |engine| can_be_cut(&crate::registry(), &stage.experiment, engine, "strict");
    let refused = can("postgres://me@localhost/db").expect_err("it is not ours").to_string();
    assert!(refused.contains("power of a server that it doesn't run"), "{refused}");
    can("sqlite").expect("it can");
}

/// The image was changed behind the lab's back.
fn a_failed_cut_says_why() {
    let stage = Stage::set(level("sqlite"));
    for file in fs::read_dir(stage.image()).expect("the image") {
        fs::write(file.expect("a file").path(), [7; 100_000]).expect("it can be written");
    }
    let cuts = stage.cuts(1);
    let failed = cuts[0].failed.as_deref();
    assert!(failed.is_some_and(|why| why.contains("sqlite can't be opened")), "{cuts:#?}");
    assert!(cuts[0].judged.is_empty());
    assert!(!stage.folder().join("cut").exists(), "something was left behind");
}
