use serde::{Deserialize, Serialize};

use super::Ino;
use super::edits::Edit;
use super::names::{FileAttributes, MetadataOperation, NodeKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChangeMark(pub(super) u64);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum PendingEvent {
    /// Kept in another form: see [`Recorded`](super::Recorded).
    #[serde(skip)]
    Edit(Ino, Edit),
    /// Something is made, and has no name yet.
    Add(Ino, NodeKind, FileAttributes),
    Change(MetadataOperation),
    SyncFile(Ino, ChangeMark),
    FailSync(Ino, ChangeMark),
    SyncDir(Ino, ChangeMark),
    CommitNames(ChangeMark),
    CommitJournal(ChangeMark),
    Expire(Ino, ChangeMark),
    Settle(ChangeMark),
    Wrote(Ino, ChangeMark, ChangeMark),
}
