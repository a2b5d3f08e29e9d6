use crate::device::{DeviceRequest, Nanos, RequestKind};

use super::groups::BLOCK;
use super::journal::Commit;
use super::requests::{DeviceRange, flush_request, merge_into_requests};
use super::{Barrier, Committing, DataMode, DeviceWork, Durable, Ext4, FileNumber, counts};

/// The least that a waiting writer writes back, as Linux's `MAX_WRITEBACK_PAGES` had.
const CHUNK: u64 = (4 << 20) / BLOCK;

impl Ext4 {
    /// Takes up to `most` dirty pages of a file; returns the requests of the work `number` that
    /// write them.
    pub(super) fn write_back(
        &mut self,
        number: u64,
        file: FileNumber,
        most: u64,
    ) -> Vec<DeviceRequest> {
        let Some(state) = self.files.get_mut(&file) else { return Vec::new() };
        let (mut pieces, mut left, mut end, mut changed) = (Vec::new(), most, 0, false);
        let blocks = state.extents.block_count();
        while left > 0
            && let Some(dirty) = state.dirty.first_run(left)
        {
            left -= dirty.end - dirty.start;
            end = dirty.end * BLOCK;
            changed |= state.extents.allocate_missing(dirty.clone(), true, &mut self.space);
            state.extents.push_data_ranges(dirty.start * BLOCK..end, &mut pieces);
            self.cache.mark_clean(file, &mut state.dirty, dirty);
        }
        if changed {
            self.journal.note_mapping(&mut state.marks);
        }
        if state.extents.block_count() > blocks {
            self.journal.note_allocation();
        }
        if state.size.min(end) > state.written_size {
            state.written_size = state.size.min(end);
            self.journal.note_mapping(&mut state.marks);
        }
        let requests = merge_into_requests(RequestKind::Write, pieces);
        for request in &requests {
            state.tally.device_write(request.offset, request.length);
        }
        if !requests.is_empty() {
            self.writing.entry(number).or_default().insert(file);
        }
        requests
    }

    pub(super) fn await_pages(&self, file: FileNumber, work: &mut DeviceWork) {
        let own = work.ticket.number;
        let others = self.writing.iter().filter(|(number, _)| **number != own);
        for (number, _) in others.filter(|(_, files)| files.contains(&file)) {
            work.wait_for(*number);
        }
    }

    /// Writes back expired files if it is time to `look` for them, and under pressure the oldest
    /// ones until half of the limit is left.
    pub(super) fn write_back_old(
        &mut self,
        now: Nanos,
        look: bool,
        durable: &mut Vec<Durable>,
        work: &mut DeviceWork,
    ) {
        let pressed = self.pressed.take().is_some();
        let mut step = Vec::new();
        while let Some((since, file)) = self.cache.oldest_file() {
            let expired = look && since + self.options.expire <= now;
            let too_many = pressed && self.dirty_bytes() > self.options.dirty_background / 2;
            if !expired && !too_many {
                break;
            }
            step.extend(self.write_back(work.ticket.number, file, u64::MAX));
            durable.push(Durable::File(file));
        }
        self.write_step(merge_requests(step), work);
    }

    /// Starts write-back in the background when there are many dirty pages; when there are too
    /// many, the writer of `length` bytes has to help.
    pub(super) fn throttle_writer(&mut self, now: Nanos, length: u64, work: &mut DeviceWork) {
        if self.dirty_bytes() > self.options.dirty_background {
            self.pressed.get_or_insert(now);
        }
        let pages = self.cache.page_count() + self.background.map_or(0, |(_, pages)| pages);
        let over = pages * BLOCK > self.options.dirty_limit;
        let has_number = self.commit_data(over, work);
        if !over {
            return;
        }
        if !has_number {
            self.number_work(work);
        }
        let goal = self.cache.page_count().saturating_sub(CHUNK.max(length.div_ceil(BLOCK)));
        let mut step = Vec::new();
        while self.cache.page_count() > goal
            && let Some((_, file)) = self.cache.oldest_file()
        {
            step.extend(self.write_back(work.ticket.number, file, self.cache.page_count() - goal));
            self.written_unasked.insert(file);
        }
        self.write_step(merge_requests(step), work);
    }

    /// Adds a background commit, lists what it makes durable, and flushes if there is anything to
    /// be durable.
    pub(super) fn add_background_commit(
        &mut self,
        durable: &mut Vec<Durable>,
        work: &mut DeviceWork,
    ) {
        for file in std::mem::take(&mut self.written_unasked) {
            let clean = self.files.get(&file).is_some_and(|state| state.dirty.is_empty());
            if clean && !durable.contains(&Durable::File(file)) {
                self.await_pages(file, work);
                durable.push(Durable::File(file));
            }
        }
        let running = self.journal.running_transaction();
        let mut flushes = false;
        let beside = self.options.journal.data == DataMode::Writeback;
        if self.journal.is_dirty() {
            flushes = self.commit_beside(beside, running, work);
        } else if self.names || !durable.is_empty() {
            flushes = self.commit_beside(beside, running - 1, work);
        }
        if !flushes && !work.is_empty() {
            self.add_flush(work);
        }
        if std::mem::take(&mut self.names) {
            durable.push(Durable::Names);
        }
    }

    pub(super) fn write_step(&mut self, step: Vec<DeviceRequest>, work: &mut DeviceWork) {
        if let Some(last) = step.last() {
            self.near = (last.offset + last.length - 1) / BLOCK;
        }
        let step = self.space.place_requests(step);
        for request in &step {
            self.tally.device_write(request.offset, request.length);
        }
        work.add_step(step);
    }

    /// Makes the work wait for a transaction, or commit it if nobody else does. Returns whether
    /// that flushes the device after what the work wrote before.
    pub(super) fn require_commit(&mut self, transaction: u64, work: &mut DeviceWork) -> bool {
        self.commit_beside(false, transaction, work)
    }

    /// As `commit`; with `beside`, the journal's blocks need not wait for the data before them.
    fn commit_beside(&mut self, beside: bool, transaction: u64, work: &mut DeviceWork) -> bool {
        let flushes = match self.journal.commit_of(transaction) {
            Commit::Done => return false,
            Commit::By(number) => {
                work.wait_for(number);
                // A commit that has not begun waits for these data, too (`data=ordered`); one in
                // flight may have flushed before they were there
                // (`jbd2_trans_will_send_data_barrier`).
                transaction == self.journal.running_transaction()
            }
            Commit::Own(before) => {
                before.into_iter().for_each(|number| work.wait_for(number));
                self.write_journal(beside, work);
                true
            }
        };
        work.ticket.commits = Some(transaction);
        flushes && self.options.journal.commit == Committing::Jbd2
    }

    /// Commits the running transaction. A commit of two steps has a flush before the commit record,
    /// which is written through, or flushed where the device has no FUA (`REQ_PREFLUSH | REQ_FUA`).
    fn write_journal(&mut self, beside: bool, work: &mut DeviceWork) {
        let commit = self.options.journal.commit;
        let part = self.space.nearest_journal(self.near);
        let written = self.journal.commit(work.ticket.number, commit, part);
        for (number, pieces) in written.into_iter().enumerate() {
            let is_record = commit == Committing::Jbd2 && number == 1;
            let through = is_record && self.can_write_through();
            let kind = if through { RequestKind::WriteThrough } else { RequestKind::Write };
            let step = merge_into_requests(kind, pieces);
            for request in &step {
                let (flow, end) = (&mut self.counts.journal, &mut self.journal_end);
                counts::count_request(flow, end, request.offset, request.length);
            }
            match beside && number == 0 {
                true => work.add_beside(step),
                false => work.add_step(step),
            }
            if commit == Committing::Jbd2 && !through {
                self.add_flush(work);
            }
        }
        self.counts.commits += 1;
    }

    pub(super) fn can_write_through(&self) -> bool {
        self.options.has_fua && self.options.journal.barrier == Barrier::On
    }

    pub(super) fn add_flush(&mut self, work: &mut DeviceWork) {
        if self.options.journal.barrier == Barrier::Off {
            return;
        }
        self.counts.flushes += 1;
        work.add_step(vec![flush_request()]);
    }
}

fn merge_requests(step: Vec<DeviceRequest>) -> Vec<DeviceRequest> {
    let piece =
        |request: DeviceRequest| DeviceRange { place: request.offset, length: request.length };
    merge_into_requests(RequestKind::Write, step.into_iter().map(piece).collect())
}
