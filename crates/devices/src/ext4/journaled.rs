//! Data in the journal (`data=journal`): they are a part of the transaction that runs when they are written, so
//! that a commit of anybody's takes them in, and are written to their places by age or under pressure.

use std::ops::Range;

use super::ranges::RangeSet;
use super::{DataMode, DeviceWork, Ext4, FileNumber, pages};

/// A transaction takes so much of the journal at most, as jbd2's `j_max_transaction_buffers`.
const SHARE: u64 = 4;

/// The pages of a file in a transaction.
#[derive(Debug, Default)]
pub struct JournaledPages {
    transaction: u64,
    pages: RangeSet,
}

impl JournaledPages {
    /// Adds pages to those in the running transaction; how many it had not yet.
    fn add(&mut self, running: u64, pages: Range<u64>) -> u64 {
        if self.transaction != running {
            *self = Self { transaction: running, pages: RangeSet::default() };
        }
        self.pages.insert(pages)
    }
}

impl Ext4 {
    /// Whether data are written to the journal first.
    pub(super) fn journals_data(&self) -> bool {
        self.options.journal.data == DataMode::Journal
    }

    /// Takes what was written into the running transaction, where that is so, with the blocks that it is
    /// given at once.
    pub(super) fn log_data(&mut self, file: FileNumber, bytes: Range<u64>) {
        if !self.journals_data() {
            return;
        }
        let Some(state) = self.files.get_mut(&file) else { return };
        let blocks = state.extents.blocks();
        state.extents.fill(pages(&bytes), true, &mut self.space);
        if state.extents.blocks() > blocks {
            self.journal.allocate();
        }
        state.written_size = state.written_size.max(bytes.end);
        self.journal.change(&mut state.marks);
        let new = state.logged.add(self.journal.running(), pages(&bytes));
        self.journal.log(new);
    }

    /// Makes a writer commit when the running transaction is as large as one may be, or too many pages
    /// wait for their places, which is `over`. Tells whether it does.
    pub(super) fn commit_data(&mut self, over: bool, work: &mut DeviceWork) -> bool {
        let data = self.journal.data();
        if data == 0 {
            return false;
        }
        let most = (self.space.journal(self.near).length / SHARE).max(1);
        let commits = over || data >= most;
        if commits {
            self.number(work);
            let running = self.journal.running();
            self.commit(running, work);
        }
        commits
    }
}
