use crate::device::Nanos;

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
