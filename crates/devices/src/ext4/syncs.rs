//! Syncs of files and of directories: what they write, commit, wait for and flush.

use crate::device::Nanos;

use super::journal::Commit;
use super::{DeviceWork, Ext4, FileNumber, SyncScope, known};

impl Ext4 {
    /// Whether all that a file's data are found by, its size and its blocks, is on the device: an
    /// `fdatasync` would have nothing to commit.
    pub fn is_found(&self, file: FileNumber) -> bool {
        let state = self.files.get(&file);
        let data = state.map(|state| state.marks.transaction_for(SyncScope::Data));
        data.is_some_and(|transaction| self.journal.commit_of(transaction) == Commit::Done)
    }

    /// Syncs a file.
    pub fn sync(&mut self, now: Nanos, file: FileNumber, sync: SyncScope) -> DeviceWork {
        let mut work = DeviceWork::default();
        known(&mut self.files, &mut self.journal, file);
        self.sync_after(file, sync, &mut work);
        self.arm(now);
        work
    }

    /// Syncs a directory: a commit if any name changed since the last one.
    pub fn sync_dir(&mut self, now: Nanos) -> DeviceWork {
        let mut work = DeviceWork::default();
        self.number(&mut work);
        self.counts.directory_syncs += 1;
        let running = self.journal.running();
        let transaction = if self.journal.awaits_names() { running } else { running - 1 };
        if !self.commit(transaction, &mut work) {
            self.flush(&mut work);
        }
        self.arm(now);
        work
    }

    /// A sync of the file failed: its dirty pages are taken for clean, as Linux does.
    pub fn fail_sync(&mut self, file: FileNumber) {
        if let Some(state) = self.files.get_mut(&file) {
            self.cache.clean(file, &mut state.dirty, 0..u64::MAX);
        }
    }

    /// Adds a sync of the file to work that may have written it.
    pub(super) fn sync_after(&mut self, file: FileNumber, sync: SyncScope, work: &mut DeviceWork) {
        self.number(work);
        if !self.journals_data() {
            let step = self.write_back(work.ticket.number, file, u64::MAX);
            self.write_step(step, work);
            self.await_pages(file, work);
        }
        let Some(state) = self.files.get_mut(&file) else { return };
        state.tally.sync(sync);
        let transaction = state.marks.transaction_for(sync);
        self.tally.sync(sync);
        if !self.commit(transaction, work) {
            self.flush(work);
        }
    }
}
