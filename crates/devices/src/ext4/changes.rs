//! What changes of files beside the bytes that are written: names, sizes and blocks.

use std::ops::Range;

use crate::device::Nanos;

use super::groups::BLOCK;
use super::{Ext4, FileNumber, known, pages, whole_pages};

impl Ext4 {
    /// Names or attributes of these files changed.
    pub fn names_changed(&mut self, now: Nanos, files: &[FileNumber]) {
        for file in files {
            // Of a file that is not known yet a sync makes a commit anyway.
            let Some(state) = self.files.get_mut(file) else { continue };
            self.journal.stamp(&mut state.marks);
        }
        self.journal.rename();
        self.names = true;
        self.arm(now);
    }

    /// Gives a file another size.
    pub fn truncate(&mut self, now: Nanos, file: FileNumber, size: u64) {
        let state = known(&mut self.files, &mut self.journal, file);
        self.journal.change(&mut state.marks);
        (state.size, state.written_size) = (size, size);
        self.arm(now);
        self.zero(now, file, size..u64::MAX);
    }

    /// Makes a hole. The size stays.
    pub fn punch(&mut self, now: Nanos, file: FileNumber, offset: u64, length: u64) {
        let state = known(&mut self.files, &mut self.journal, file);
        self.journal.change(&mut state.marks);
        self.arm(now);
        self.zero(now, file, offset..offset.saturating_add(length));
    }

    /// Allocates blocks where there are none (`fallocate`). A size that grows is told with
    /// [`truncate`](Self::truncate).
    pub fn allocate(&mut self, now: Nanos, file: FileNumber, offset: u64, length: u64) {
        let state = known(&mut self.files, &mut self.journal, file);
        self.journal.stamp(&mut state.marks);
        if state.extents.fill(pages(&(offset..offset + length)), false, &mut self.space) {
            self.journal.change(&mut state.marks);
            self.journal.allocate();
        }
        self.arm(now);
    }

    /// Nobody has the file open for writing any more: blocks kept for its growth are free again.
    pub fn close(&mut self, file: FileNumber) {
        if let Some(state) = self.files.get_mut(&file) {
            state.extents.stop_growing(&mut self.space);
        }
    }

    /// The file is gone: it has no name and nobody has it open. Its dirty pages go with it.
    pub fn remove(&mut self, now: Nanos, file: FileNumber) {
        let Some(mut state) = self.files.remove(&file) else { return };
        self.cache.clean(file, &mut state.dirty, 0..u64::MAX);
        if state.extents.cut(0..u64::MAX, &mut self.space) {
            self.journal.allocate();
        }
        self.journal.create();
        state.extents.stop_growing(&mut self.space);
        self.journal.change(&mut state.marks);
        self.removed.absorb(&state.tally);
        self.arm(now);
    }

    /// Drops pages that lie in `bytes` and frees their blocks; what is left of a page is written
    /// with zeros.
    fn zero(&mut self, now: Nanos, file: FileNumber, bytes: Range<u64>) {
        let journals_data = self.journals_data();
        let Some(state) = self.files.get_mut(&file) else { return };
        let whole = whole_pages(&bytes);
        self.cache.clean(file, &mut state.dirty, whole.clone());
        state.partly.remove(whole.clone());
        if state.extents.cut(whole, &mut self.space) {
            self.journal.allocate();
        }
        for edge in [bytes.start, bytes.end] {
            let page = edge / BLOCK;
            if !edge.is_multiple_of(BLOCK) && state.extents.holds(page) {
                self.cache.mark_dirty(now, file, &mut state.dirty, page..page + 1);
                self.journal.log(u64::from(journals_data));
            }
        }
    }
}
