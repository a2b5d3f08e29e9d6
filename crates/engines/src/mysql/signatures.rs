//! What in the files of a MariaDB server shows that an engine is paying a debt.

use super::storage::Storage;
use crate::Signature;

/// Pages reach their tables, by way of the doublewrite buffer in `ibdata1`, when they are flushed; a
/// checkpoint writes the two blocks before the log itself, which begins at 12288
/// (mariadb.com/kb/en/innodb-redo-log, MDEV-14425).
static INNODB: [Signature; 2] = [
    Signature::writes("flush of pages", &["*.ibd", "ibdata1"]),
    Signature::headers("checkpoint", 12_288, &["ib_logfile0"]),
];

/// Tables are written by flushes and compactions alone; each of them, and each new log, is then told to the
/// manifest (github.com/facebook/rocksdb/wiki/MANIFEST).
static ROCKSDB: [Signature; 3] = [
    Signature::writes("flush or compaction", &["*.sst"]),
    Signature::writes("change of the manifest", &["MANIFEST-*"]),
    Signature::headers("turn of the log", 1, &["*rocksdb/*.log"]),
];

/// The control file is written by checkpoints and when the log goes on in a new file; pages of tables when they are
/// flushed (mariadb.com/kb/en/aria-storage-engine).
static ARIA: [Signature; 2] = [
    Signature::writes("checkpoint", &["aria_log_control"]),
    Signature::writes("flush of pages", &["*.MAD", "*.MAI"]),
];

impl Storage {
    /// See [`crate::Engine::signatures`].
    pub(super) fn signatures(self) -> &'static [Signature] {
        match self {
            Self::InnoDb => &INNODB,
            Self::RocksDb => &ROCKSDB,
            Self::Aria => &ARIA,
        }
    }
}
