use std::ops::Range;

use crate::device::Nanos;

use super::groups::BLOCK;
use super::{Ext4, FileNumber, ensure_file, touched_pages, whole_pages};

impl Ext4 {
    pub fn names_changed(&mut self, now: Nanos, files: &[FileNumber]) {
        for file in files {
            // A sync of an unknown file makes a commit anyway.
            let Some(state) = self.files.get_mut(file) else { continue };
            self.journal.note_timestamps(&mut state.marks);
        }
        self.journal.note_name();
        self.names = true;
        self.plan_look(now);
    }

    pub fn truncate(&mut self, now: Nanos, file: FileNumber, size: u64) {
        let state = ensure_file(&mut self.files, &mut self.journal, file);
        self.journal.note_mapping(&mut state.marks);
        (state.size, state.written_size) = (size, size);
        self.plan_look(now);
        self.zero_range(now, file, size..u64::MAX);
    }

    /// Makes a hole. The size stays.
    pub fn punch_hole(&mut self, now: Nanos, file: FileNumber, offset: u64, length: u64) {
        let state = ensure_file(&mut self.files, &mut self.journal, file);
        self.journal.note_mapping(&mut state.marks);
        self.plan_look(now);
        self.zero_range(now, file, offset..offset.saturating_add(length));
    }

    /// Allocates blocks where there are none (`fallocate`). [`truncate`](Self::truncate) tells of a
    /// size that grows.
    pub fn allocate_blocks(&mut self, now: Nanos, file: FileNumber, offset: u64, length: u64) {
        let state = ensure_file(&mut self.files, &mut self.journal, file);
        self.journal.note_timestamps(&mut state.marks);
        if state.extents.allocate_missing(
            touched_pages(&(offset..offset + length)),
            false,
            &mut self.space,
        ) {
            self.journal.note_mapping(&mut state.marks);
            self.journal.note_allocation();
        }
        self.plan_look(now);
    }

    /// The last writer closed the file: blocks reserved for its growth are free again.
    pub fn close(&mut self, file: FileNumber) {
        if let Some(state) = self.files.get_mut(&file) {
            state.extents.stop_growing(&mut self.space);
        }
    }

    /// The file has no name and is not open. Its dirty pages go with it.
    pub fn remove_file(&mut self, now: Nanos, file: FileNumber) {
        let Some(mut state) = self.files.remove(&file) else { return };
        self.cache.mark_clean(file, &mut state.dirty, 0..u64::MAX);
        if state.extents.free_range(0..u64::MAX, &mut self.space) {
            self.journal.note_allocation();
        }
        self.journal.note_inode();
        state.extents.stop_growing(&mut self.space);
        self.journal.note_mapping(&mut state.marks);
        self.removed.absorb(&state.tally);
        self.plan_look(now);
    }

    /// Drops pages inside `bytes` and frees their blocks; what is left of a page is written with
    /// zeros.
    fn zero_range(&mut self, now: Nanos, file: FileNumber, bytes: Range<u64>) {
        let journals_data = self.journals_data();
        let Some(state) = self.files.get_mut(&file) else { return };
        let whole = whole_pages(&bytes);
        self.cache.mark_clean(file, &mut state.dirty, whole.clone());
        state.partly.remove(whole.clone());
        if state.extents.free_range(whole, &mut self.space) {
            self.journal.note_allocation();
        }
        for edge in [bytes.start, bytes.end] {
            let page = edge / BLOCK;
            if !edge.is_multiple_of(BLOCK) && state.extents.has_data(page) {
                self.cache.mark_dirty(now, file, &mut state.dirty, page..page + 1);
                self.journal.log_pages(u64::from(journals_data));
            }
        }
    }
}
