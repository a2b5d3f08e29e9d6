//! Data in the journal (`data=journal`): they are part of the running transaction, so that any
//! commit takes them in. They reach their own places by age or under pressure.

use std::ops::Range;

use super::ranges::RangeSet;
use super::{DataMode, DeviceWork, Ext4, FileNumber, touched_pages};

/// A transaction takes at most this part of the journal, as jbd2's `j_max_transaction_buffers`.
const SHARE: u64 = 4;

#[derive(Debug, Default)]
pub struct JournaledPages {
    transaction: u64,
    pages: RangeSet,
}

impl JournaledPages {
    fn add_pages(&mut self, running: u64, pages: Range<u64>) -> u64 {
        if self.transaction != running {
            *self = Self { transaction: running, pages: RangeSet::default() };
        }
        self.pages.insert(pages)
    }
}

impl Ext4 {
    pub(super) fn journals_data(&self) -> bool {
        self.options.journal.data == DataMode::Journal
    }

    /// In this mode, takes what was written into the running transaction and allocates its blocks.
    pub(super) fn log_data(&mut self, file: FileNumber, bytes: Range<u64>) {
        if !self.journals_data() {
            return;
        }
        let Some(state) = self.files.get_mut(&file) else { return };
        let blocks = state.extents.block_count();
        state.extents.allocate_missing(touched_pages(&bytes), true, &mut self.space);
        if state.extents.block_count() > blocks {
            self.journal.note_allocation();
        }
        state.written_size = state.written_size.max(bytes.end);
        self.journal.note_mapping(&mut state.marks);
        let new = state.logged.add_pages(self.journal.running_transaction(), touched_pages(&bytes));
        self.journal.log_pages(new);
    }

    /// Makes a writer commit when the running transaction is full, or (`over`) too many pages wait
    /// for their places. Returns whether it does.
    pub(super) fn commit_data(&mut self, over: bool, work: &mut DeviceWork) -> bool {
        let data = self.journal.data_pages();
        if data == 0 {
            return false;
        }
        let most = (self.space.nearest_journal(self.near).length / SHARE).max(1);
        let commits = over || data >= most;
        if commits {
            self.number_work(work);
            let running = self.journal.running_transaction();
            self.require_commit(running, work);
        }
        commits
    }
}
