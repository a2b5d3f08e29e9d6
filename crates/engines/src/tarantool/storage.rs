//! Tarantool's two ways to store tables, and what each durability level means there.

use crate::{DEFAULT, Declared};

use crate::options::{EngineOption, EngineOptions};
use crate::served::PATH;
use crate::{Durability, PaymentSignature, Promise};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TarantoolStorage {
    Memtx,
    Vinyl,
}

impl TarantoolStorage {
    pub fn engine(self) -> &'static str {
        match self {
            Self::Memtx => "memtx",
            Self::Vinyl => "vinyl",
        }
    }

    pub fn summary(self) -> &'static str {
        match self {
            Self::Memtx => {
                "Tarantool with memtx, in a private server: all data in memory, a log on disk"
            }
            Self::Vinyl => "Tarantool with vinyl, in a private server: log-structured merge trees",
        }
    }

    pub fn options(self) -> Vec<EngineOption> {
        match self {
            Self::Memtx => vec![SNAPSHOT_AT_START, MEMTX_WAL_MODE, PATH],
            Self::Vinyl => vec![SNAPSHOT_AT_START, VINYL_WAL_MODE, PATH],
        }
    }

    pub fn signatures(self) -> &'static [PaymentSignature] {
        match self {
            Self::Memtx => &MEMTX_SIGNATURES,
            Self::Vinyl => &VINYL_SIGNATURES,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoggedStorage {
    pub storage: TarantoolStorage,
    /// Whether the level has `wal_mode=write`.
    pub writes: bool,
    /// Whether the level has `snapshot_at_start=yes`: the log begins anew.
    pub anew: bool,
}

impl LoggedStorage {
    pub const fn from_storage(storage: TarantoolStorage) -> Self {
        Self { storage, writes: false, anew: false }
    }

    pub fn with_options(self, options: &EngineOptions) -> (Self, EngineOptions) {
        let mut others = options.clone();
        let writes = others.remove(MEMTX_WAL_MODE.factor.name).is_some();
        let anew = others.get(SNAPSHOT).is_some_and(|it| it == "yes");
        (Self { writes, anew, ..self }, others)
    }

    pub fn wal_mode(self, durability: Durability) -> &'static str {
        match (durability, self.storage, self.writes) {
            (Durability::None, TarantoolStorage::Memtx, false) => "none",
            (Durability::None, ..) => "write",
            (Durability::Relaxed | Durability::Strict, ..) => "fsync",
        }
    }

    /// Whether the level has no log: what is in no snapshot is only in the server's memory.
    pub fn is_without_log(self, durability: Durability) -> bool {
        self.wal_mode(durability) == "none"
    }

    /// A level with a log: a server that is stopped in order leaves an empty log for the next
    /// start, without a log it leaves none, and whether commits are synced depends on that.
    pub fn loads_at(self) -> Option<Durability> {
        self.is_without_log(Durability::None).then_some(Durability::Strict)
    }

    pub fn promises(self) -> [Promise; 3] {
        let weakest = match (self.storage, self.writes) {
            (TarantoolStorage::Memtx, false) => WITHOUT_LOG,
            (TarantoolStorage::Memtx, true) => WRITTEN,
            (TarantoolStorage::Vinyl, _) => VINYL_WRITTEN,
        };
        let strict = match (self.writes, self.anew) {
            (true, _) => NEVER_SYNCED,
            (false, true) => BEGUN_ANEW,
            (false, false) => STRICT,
        };
        [weakest, RELAXED, strict]
    }
}

const WITHOUT_LOG: Promise = Promise::new(
    Durability::None,
    "wal_mode=none",
    "there is no log: what is in no snapshot is gone with the server's process \
             (tarantool.io/en/doc/2.6/reference/configuration/#cfg-binary-logging-snapshots-wal-mode)",
);

const WRITTEN: Promise = Promise::new(
    Durability::None,
    "wal_mode=write",
    "writes the log at each commit and never syncs it meanwhile: how much a power cut takes is up to \
             the system \
             (tarantool.io/en/doc/2.6/reference/configuration/#cfg-binary-logging-snapshots-wal-mode)",
);

const VINYL_WRITTEN: Promise = Promise::new(
    Durability::None,
    "wal_mode=write",
    "writes the log at each commit and never syncs it meanwhile: how much a power cut takes is up to \
             the system; vinyl refuses to write without a log \
             (tarantool.io/en/doc/2.6/reference/configuration/#cfg-binary-logging-snapshots-wal-mode)",
)
.with_remark(
    "vinyl refuses to write without a log, so the log is written at each commit, and never synced \
             (wal_mode=write)",
);

const RELAXED: Promise = Promise::lacking(
    Durability::Relaxed,
    "wal_mode=write never syncs the log while it writes it, so how much a power cut takes is up to the \
             system and may be all of the log \
             (tarantool.io/en/doc/2.6/reference/configuration/#cfg-binary-logging-snapshots-wal-mode)",
);

const STRICT: Promise = Promise::new(
    Durability::Strict,
    "wal_mode=fsync",
    "answers a commit when its log is synced \
             (tarantool.io/en/doc/2.6/reference/configuration/#cfg-binary-logging-snapshots-wal-mode)",
)
.with_remark(
    "as it comes, Tarantool 2.6 syncs no commit from an orderly restart until its log turns, so it does less \
             than others do at strict; add the option snapshot_at_start=yes to compare it with them",
);

const BEGUN_ANEW: Promise = Promise::new(
    Durability::Strict,
    "wal_mode=fsync, and a snapshot at the start",
    "answers a commit when its log is synced \
             (tarantool.io/en/doc/2.6/reference/configuration/#cfg-binary-logging-snapshots-wal-mode); the \
             snapshot begins a log that is",
);

const NEVER_SYNCED: Promise = Promise::lacking(
    Durability::Strict,
    "wal_mode=write never syncs the log while it writes it; leave the option out for wal_mode=fsync",
);

const SNAPSHOT_AT_START: EngineOption = EngineOption {
    factor: &Declared {
        name: SNAPSHOT,
        summary: "whether bakeoff has the server take a snapshot when it starts, which begins a new log: \
                  2.6 never syncs the log that an orderly stop has left for it",
        syntax: "yes or no",
        default: "no",
        canonical: &|text| match text {
            "yes" | "no" => Ok(text.to_owned()),
            _ => Err(format!("`{text}` does not say whether there is a snapshot\nvalid: yes, no")),
        },
    },
    trust: None,
};

/// Also a setting among those that the server is started with.
const SNAPSHOT: &str = "snapshot_at_start";

const MEMTX_WAL_MODE: EngineOption = EngineOption {
    factor: &Declared {
        name: "wal_mode",
        summary: "the log of the level none, where memtx has none by itself: written at each commit and \
                  never synced",
        syntax: "write",
        default: DEFAULT,
        canonical: &|text| match text {
            "write" => Ok(text.to_owned()),
            "none" => {
                Err("`none` is what memtx has at the durability none\nleave the option out".into())
            }
            _ => Err(not_a_mode(text)),
        },
    },
    trust: None,
};

/// vinyl has no other log at `none`.
const VINYL_WAL_MODE: EngineOption = EngineOption {
    factor: &Declared {
        name: "wal_mode",
        summary: "the log of the level none: written at each commit and never synced, as vinyl has it by itself",
        syntax: "write",
        default: DEFAULT,
        canonical: &|text| match text {
            "write" => Ok(text.to_owned()),
            "none" => Err("vinyl refuses to write without a log\nvalid: write".into()),
            _ => Err(not_a_mode(text)),
        },
    },
    trust: None,
};

fn not_a_mode(text: &str) -> String {
    format!("`{text}` is no log of the level none\nvalid: write; `fsync` is the durability strict")
}

/// The settings that an option stands for; empty if it is a setting by its own name.
pub(super) fn stands_for(option: &str, value: &str) -> Vec<(String, String)> {
    let is_snapshot = option == SNAPSHOT;
    is_snapshot.then(|| (option.to_owned(), value.to_owned())).into_iter().collect()
}

/// Snapshots are files of their own; a log is written from its start
/// (tarantool.io/en/doc/2.6/book/box/data_model/#persistence).
static MEMTX_SIGNATURES: [PaymentSignature; 2] = [
    PaymentSignature::writes("snapshot", &["*.snap*"]),
    PaymentSignature::headers("turn of the log", 1, &["*.xlog*"]),
];

/// Only dumps and compactions write runs, each with its index
/// (tarantool.io/en/doc/2.6/book/box/engines/vinyl). A snapshot has memtx' tables, too, and begins
/// a new log of vinyl's metadata.
static VINYL_SIGNATURES: [PaymentSignature; 4] = [
    PaymentSignature::writes("dump or compaction", &["*.run*", "*.index*"]),
    PaymentSignature::writes("snapshot", &["*.snap*"]),
    PaymentSignature::headers("turn of the metadata's log", 1, &["*.vylog*"]),
    PaymentSignature::headers("turn of the log", 1, &["*.xlog*"]),
];
