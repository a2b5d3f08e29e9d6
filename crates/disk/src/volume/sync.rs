use std::sync::Arc;

use bakeoff_devices::ext4::SyncScope;
use bakeoff_devices::trace::Waits;
use rustix::io::Errno;

use super::{InodeNumber, Volume};
use crate::fault::FallibleCall;

impl Volume {
    /// `then` gets `EIO` when the power goes first, or a fault's error: what was written since the
    /// last sync is then lost.
    pub fn fsync(
        self: &Arc<Self>,
        ino: InodeNumber,
        sync: SyncScope,
        then: impl FnOnce(Result<(), Errno>) + Send + 'static,
    ) {
        let inode = match self.find_inode(ino) {
            Ok(inode) => inode,
            Err(error) => return then(Err(error)),
        };
        let came = inode.burst.start_sync(self.executor.now());
        if let Err(error) = self.check_fault(FallibleCall::Fsync, &inode) {
            self.lose_unsynced(ino);
            return then(Err(error));
        }
        self.count_sync(&inode);
        let (work, mark) = self.sync_work(ino, sync);
        let volume = Arc::clone(self);
        self.perform_work(came, (Waits::Writer, ino), work, move |done| {
            then(done.and_then(|()| volume.synced_file(ino, mark)))
        });
    }

    /// `then` gets `EIO` when the power goes first, or a fault's error.
    pub fn fsyncdir(
        self: &Arc<Self>,
        ino: InodeNumber,
        then: impl FnOnce(Result<(), Errno>) + Send + 'static,
    ) {
        let came = self.executor.now();
        let may = self
            .find_inode(ino)
            .and_then(|inode| self.check_fault(FallibleCall::Fsync, &inode).map(|()| inode));
        let inode = match may {
            Ok(inode) => inode,
            Err(error) => return then(Err(error)),
        };
        self.count_sync(&inode);
        let (work, mark) = self.sync_folder_work();
        let volume = Arc::clone(self);
        self.perform_work(came, (Waits::Writer, ino), work, move |done| {
            then(done.and_then(|()| volume.synced_folder(ino, mark)))
        });
    }

    pub(super) fn lose_unsynced(&self, ino: InodeNumber) {
        let Ok(_power) = self.hold_power() else { return };
        let mut model = self.lock_model();
        let mark = model.pending.current_mark();
        model.pending.fail_sync(ino, mark);
        model.ext4.fail_sync(ino);
    }
}
