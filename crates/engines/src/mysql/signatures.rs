//! Writes and syncs of a MariaDB server that show deferred work.

use super::storage::StorageEngine;
use crate::PaymentSignature;

/// Pages reach their tables, by way of the doublewrite buffer in `ibdata1`, when they are flushed; a
/// checkpoint writes the two blocks before the log itself, which begins at 12288
/// (mariadb.com/kb/en/innodb-redo-log, MDEV-14425).
static INNODB: [PaymentSignature; 2] = [
    PaymentSignature::writes("flush of pages", &["*.ibd", "ibdata1"]),
    PaymentSignature::headers("checkpoint", 12_288, &["ib_logfile0"]),
];

/// Only flushes and compactions write tables; each of them, and each new log, is then noted in the
/// manifest (github.com/facebook/rocksdb/wiki/MANIFEST).
static ROCKSDB: [PaymentSignature; 3] = [
    PaymentSignature::writes("flush or compaction", &["*.sst"]),
    PaymentSignature::writes("change of the manifest", &["MANIFEST-*"]),
    PaymentSignature::headers("turn of the log", 1, &["*rocksdb/*.log"]),
];

/// The control file is written by checkpoints and when the log goes on in a new file; pages of tables when they are
/// flushed (mariadb.com/kb/en/aria-storage-engine).
static ARIA: [PaymentSignature; 2] = [
    PaymentSignature::writes("checkpoint", &["aria_log_control"]),
    PaymentSignature::writes("flush of pages", &["*.MAD", "*.MAI"]),
];

impl StorageEngine {
    pub(super) fn signatures(self) -> &'static [PaymentSignature] {
        match self {
            Self::InnoDb => &INNODB,
            Self::RocksDb => &ROCKSDB,
            Self::Aria => &ARIA,
        }
    }
}
