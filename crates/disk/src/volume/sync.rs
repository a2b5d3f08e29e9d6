//! Syncs, and syncs that fail.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::io::Errno;

use super::inode::Inode;
use super::{Ino, Volume};
use crate::ext4::Sync;
use crate::fault::Call;
use crate::plug::{Contents, Keep};

/// Bytes that are put back at a time.
const BLOCK: usize = 1 << 20;

impl Volume {
    /// Makes a file's data lasting, or data and attributes; then calls `then`.
    ///
    /// `then` gets `EIO` when the power goes first, or a fault's error: what was written since the
    /// last sync is lost then.
    pub fn fsync(
        self: &Arc<Self>,
        ino: Ino,
        sync: Sync,
        then: impl FnOnce(Result<(), Errno>) + Send + 'static,
    ) {
        let inode = match self.inode(ino) {
            Ok(inode) => inode,
            Err(error) => return then(Err(error)),
        };
        if let Err(error) = self.fault(Call::Fsync, &inode) {
            self.lose(&inode);
            return then(Err(error));
        }
        let (work, mark) = self.sync_work(ino, sync);
        let volume = Arc::clone(self);
        self.perform(work, move |done| then(done.and_then(|()| volume.synced(ino, mark))));
    }

    /// Makes a folder's names lasting; then calls `then`.
    ///
    /// `then` gets `EIO` when the power goes first.
    pub fn fsyncdir(
        self: &Arc<Self>,
        ino: Ino,
        then: impl FnOnce(Result<(), Errno>) + Send + 'static,
    ) {
        if let Err(error) = self.inode(ino) {
            return then(Err(error));
        }
        let (work, mark) = self.sync_folder_work();
        let volume = Arc::clone(self);
        self.perform(work, move |done| then(done.and_then(|()| volume.synced_folder(ino, mark))));
    }

    /// Loses what was written to a file since its last sync, and says so to the kernel.
    pub(super) fn lose(self: &Arc<Self>, inode: &Arc<Inode>) {
        // That it can't be put back is no worse than that it is lost: the caller fails anyway.
        let _ = self.put_back(inode);
        let (volume, ino) = (Arc::clone(self), inode.ino);
        // Not on this thread: the kernel may wait for the call that is being answered.
        std::thread::spawn(move || volume.tell_outdated(ino));
    }

    /// Puts a file's lasting bytes back. Its size stays, as it is in memory; where nothing is
    /// lasting there are zeros.
    fn put_back(&self, inode: &Inode) -> std::io::Result<()> {
        let _power = self.powered()?;
        let size = inode.size();
        let mut model = self.model();
        model.ext4.fail_sync(inode.ino);
        if !model.pending.holds(inode.ino) {
            return Ok(());
        }
        let file = std::fs::File::from(inode.writer()?.try_clone()?);
        let contents = self.contents()?;
        let image = model.pending.image(Keep::DropAll, 0, &contents)?;
        let lasting = image.item(inode.ino).and_then(|item| item.content.as_ref());
        let (mut present, mut past) = (vec![0; BLOCK], vec![0; BLOCK]);
        for offset in (0..*size).step_by(BLOCK) {
            let length = BLOCK.min(usize::try_from(*size - offset).unwrap_or(BLOCK));
            let (present, past) = (&mut present[..length], &mut past[..length]);
            past.fill(0);
            if let Some(lasting) = lasting
                && offset < lasting.size()
            {
                let known = length.min(usize::try_from(lasting.size() - offset).unwrap_or(length));
                lasting.read(&contents, offset, &mut past[..known])?;
            }
            contents.read(inode.ino, offset, present)?;
            if present != past {
                file.write_all_at(past, offset)?;
            }
        }
        drop(image);
        let mark = model.pending.mark();
        let free = model.pending.expire(inode.ino, mark);
        drop(model);
        self.free(&free);
        Ok(())
    }
}
