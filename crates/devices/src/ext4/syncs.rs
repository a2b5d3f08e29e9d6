use crate::device::{Nanos, RequestKind};

use super::journal::Commit;
use super::{DeviceWork, Ext4, FileNumber, SyncScope, ensure_file};

impl Ext4 {
    /// Whether an `fdatasync` would have nothing to commit: the size and the blocks are on the
    /// device.
    pub fn is_found(&self, file: FileNumber) -> bool {
        let state = self.files.get(&file);
        let data = state.map(|state| state.marks.transaction_for(SyncScope::Data));
        data.is_some_and(|transaction| self.journal.commit_of(transaction) == Commit::Done)
    }

    pub fn sync_file(&mut self, now: Nanos, file: FileNumber, sync: SyncScope) -> DeviceWork {
        let mut work = DeviceWork::default();
        ensure_file(&mut self.files, &mut self.journal, file);
        self.sync_after(file, sync, &mut work);
        self.plan_look(now);
        work
    }

    pub fn sync_dir(&mut self, now: Nanos) -> DeviceWork {
        let mut work = DeviceWork::default();
        self.number_work(&mut work);
        self.counts.directory_syncs += 1;
        let running = self.journal.running_transaction();
        let transaction = if self.journal.awaits_names() { running } else { running - 1 };
        if !self.require_commit(transaction, &mut work) {
            self.add_flush(&mut work);
        }
        self.plan_look(now);
        work
    }

    /// Whether a direct write that just came is durable by itself, written through: nothing else of
    /// the file has to reach the device for an `fdatasync` (`use_fua` in Linux's fs/iomap/direct-io.c).
    pub(super) fn is_durable_alone(&self, file: FileNumber, sync: SyncScope) -> bool {
        let clean = self.files.get(&file).is_some_and(|state| state.dirty.is_empty());
        self.can_write_through() && sync == SyncScope::Data && clean && self.is_found(file)
    }

    /// Makes the writes of the last step go past the device's cache.
    pub(super) fn write_through(&mut self, file: FileNumber, work: &mut DeviceWork) {
        self.number_work(work);
        let writes = work.steps.last_mut().into_iter().flatten();
        writes.for_each(|request| request.kind = RequestKind::WriteThrough);
        self.await_pages(file, work);
        let Some(state) = self.files.get_mut(&file) else { return };
        state.tally.sync(SyncScope::Data);
        self.tally.sync(SyncScope::Data);
    }

    /// A sync of the file failed: its dirty pages count as clean, as on Linux.
    pub fn fail_sync(&mut self, file: FileNumber) {
        if let Some(state) = self.files.get_mut(&file) {
            self.cache.mark_clean(file, &mut state.dirty, 0..u64::MAX);
        }
    }

    pub(super) fn sync_after(&mut self, file: FileNumber, sync: SyncScope, work: &mut DeviceWork) {
        self.number_work(work);
        if !self.journals_data() {
            let step = self.write_back(work.ticket.number, file, u64::MAX);
            self.write_step(step, work);
            self.await_pages(file, work);
        }
        let Some(state) = self.files.get_mut(&file) else { return };
        state.tally.sync(sync);
        let transaction = state.marks.transaction_for(sync);
        self.tally.sync(sync);
        if !self.require_commit(transaction, work) {
            self.add_flush(work);
        }
    }
}
