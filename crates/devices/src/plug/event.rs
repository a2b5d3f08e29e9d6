//! What happens to pending changes.

use serde::{Deserialize, Serialize};

use super::Ino;
use super::data::Edit;
use super::names::{Attributes, Kind, Operation};

/// A moment in the order of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mark(pub(super) u64);

/// What is told of changes and syncs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Event {
    /// Kept in another form: see [`Recorded`](super::Recorded).
    #[serde(skip)]
    Edit(Ino, Edit),
    /// Something is made, and has no name yet.
    Add(Ino, Kind, Attributes),
    Change(Operation),
    SyncFile(Ino, Mark),
    FailSync(Ino, Mark),
    SyncDir(Ino, Mark),
    CommitNames(Mark),
    CommitJournal(Mark),
    Expire(Ino, Mark),
    Settle(Mark),
    Wrote(Ino, Mark, Mark),
}
