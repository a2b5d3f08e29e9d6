//! Syncs, and syncs that fail.

use std::sync::Arc;

use bakeoff_devices::ext4::SyncScope;
use bakeoff_devices::trace::Waits;
use rustix::io::Errno;

use super::{InodeNumber, Volume};
use crate::fault::FallibleCall;

impl Volume {
    /// Makes a file's data durable, or data and attributes; then calls `then`.
    ///
    /// `then` gets `EIO` when the power goes first, or a fault's error: what was written since the
    /// last sync is lost then.
    pub fn fsync(
        self: &Arc<Self>,
        ino: InodeNumber,
        sync: SyncScope,
        then: impl FnOnce(Result<(), Errno>) + Send + 'static,
    ) {
        let came = self.executor.now();
        let inode = match self.inode(ino) {
            Ok(inode) => inode,
            Err(error) => return then(Err(error)),
        };
        if let Err(error) = self.fault(FallibleCall::Fsync, &inode) {
            self.lose(ino);
            return then(Err(error));
        }
        self.count_sync(&inode);
        let (work, mark) = self.sync_work(ino, sync);
        let volume = Arc::clone(self);
        self.perform(came, (Waits::Writer, ino), work, move |done| {
            then(done.and_then(|()| volume.synced(ino, mark)))
        });
    }

    /// Makes a folder's names durable; then calls `then`.
    ///
    /// `then` gets `EIO` when the power goes first, or a fault's error: the names are no more durable
    /// than they were then.
    pub fn fsyncdir(
        self: &Arc<Self>,
        ino: InodeNumber,
        then: impl FnOnce(Result<(), Errno>) + Send + 'static,
    ) {
        let came = self.executor.now();
        let may = self
            .inode(ino)
            .and_then(|inode| self.fault(FallibleCall::Fsync, &inode).map(|()| inode));
        let inode = match may {
            Ok(inode) => inode,
            Err(error) => return then(Err(error)),
        };
        self.count_sync(&inode);
        let (work, mark) = self.sync_folder_work();
        let volume = Arc::clone(self);
        self.perform(came, (Waits::Writer, ino), work, move |done| {
            then(done.and_then(|()| volume.synced_folder(ino, mark)))
        });
    }

    /// Loses what was written to a file since its last sync.
    pub(super) fn lose(&self, ino: InodeNumber) {
        let Ok(_power) = self.powered() else { return };
        let mut model = self.model();
        let mark = model.pending.mark();
        model.pending.fail_sync(ino, mark);
        model.ext4.fail_sync(ino);
    }
}
