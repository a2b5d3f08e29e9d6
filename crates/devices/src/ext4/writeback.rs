//! What reaches the device: dirty pages as they are written back, commits, flushes.

use crate::device::{DeviceRequest, Nanos, RequestKind};

use super::groups::BLOCK;
use super::journal::Commit;
use super::requests::{DeviceRange, flush, requests};
use super::{Barrier, Committing, DataMode, DeviceWork, Durable, Ext4, FileNumber, counts};

/// The least that a writer writes back when it has to wait, as Linux's `MAX_WRITEBACK_PAGES` had.
const CHUNK: u64 = (4 << 20) / BLOCK;

impl Ext4 {
    /// Takes up to `most` dirty pages of a file and returns the requests that write them, as a part
    /// of the work `number`.
    pub(super) fn write_back(
        &mut self,
        number: u64,
        file: FileNumber,
        most: u64,
    ) -> Vec<DeviceRequest> {
        let Some(state) = self.files.get_mut(&file) else { return Vec::new() };
        let (mut pieces, mut left, mut end, mut changed) = (Vec::new(), most, 0, false);
        let blocks = state.extents.blocks();
        while left > 0
            && let Some(dirty) = state.dirty.first(left)
        {
            left -= dirty.end - dirty.start;
            end = dirty.end * BLOCK;
            changed |= state.extents.fill(dirty.clone(), true, &mut self.space);
            state.extents.pieces(dirty.start * BLOCK..end, &mut pieces);
            self.cache.clean(file, &mut state.dirty, dirty);
        }
        if changed {
            self.journal.change(&mut state.marks);
        }
        if state.extents.blocks() > blocks {
            self.journal.allocate();
        }
        if state.size.min(end) > state.written_size {
            state.written_size = state.size.min(end);
            self.journal.change(&mut state.marks);
        }
        let requests = requests(RequestKind::Write, pieces);
        for request in &requests {
            state.tally.device_write(request.offset, request.length);
        }
        if !requests.is_empty() {
            self.writing.entry(number).or_default().insert(file);
        }
        requests
    }

    /// Lets the next step wait until the pages of a file are written that are being written back.
    pub(super) fn await_pages(&self, file: FileNumber, work: &mut DeviceWork) {
        let own = work.ticket.number;
        let others = self.writing.iter().filter(|(number, _)| **number != own);
        for (number, _) in others.filter(|(_, files)| files.contains(&file)) {
            work.wait(*number);
        }
    }

    /// Writes back the files that have expired, if it is time to `look` for them, and under
    /// pressure the oldest ones until half of what is allowed is left.
    pub(super) fn write_back_old(
        &mut self,
        now: Nanos,
        look: bool,
        durable: &mut Vec<Durable>,
        work: &mut DeviceWork,
    ) {
        let pressed = self.pressed.take().is_some();
        let mut step = Vec::new();
        while let Some((since, file)) = self.cache.oldest() {
            let expired = look && since + self.options.expire <= now;
            let too_many = pressed && self.dirty() > self.options.dirty_background / 2;
            if !expired && !too_many {
                break;
            }
            step.extend(self.write_back(work.ticket.number, file, u64::MAX));
            durable.push(Durable::File(file));
        }
        self.write_step(merged(step), work);
    }

    /// Starts the write-back in the background when there are many dirty pages, and makes the
    /// writer of `length` bytes help when there are too many.
    pub(super) fn throttle_writer(&mut self, now: Nanos, length: u64, work: &mut DeviceWork) {
        if self.dirty() > self.options.dirty_background {
            self.pressed.get_or_insert(now);
        }
        let pages = self.cache.pages() + self.background.map_or(0, |(_, pages)| pages);
        let over = pages * BLOCK > self.options.dirty_limit;
        let has_number = self.commit_data(over, work);
        if !over {
            return;
        }
        if !has_number {
            self.number(work);
        }
        let goal = self.cache.pages().saturating_sub(CHUNK.max(length.div_ceil(BLOCK)));
        let mut step = Vec::new();
        while self.cache.pages() > goal
            && let Some((_, file)) = self.cache.oldest()
        {
            step.extend(self.write_back(work.ticket.number, file, self.cache.pages() - goal));
            self.written_unasked.insert(file);
        }
        self.write_step(merged(step), work);
    }

    /// Adds a commit in the background, what it makes durable beside the files that are written back,
    /// and a flush if there is anything to be durable.
    pub(super) fn settle(&mut self, durable: &mut Vec<Durable>, work: &mut DeviceWork) {
        for file in std::mem::take(&mut self.written_unasked) {
            let clean = self.files.get(&file).is_some_and(|state| state.dirty.is_empty());
            if clean && !durable.contains(&Durable::File(file)) {
                self.await_pages(file, work);
                durable.push(Durable::File(file));
            }
        }
        let running = self.journal.running();
        let mut flushes = false;
        let beside = self.options.journal.data == DataMode::Writeback;
        if self.journal.is_dirty() {
            flushes = self.commit_beside(beside, running, work);
        } else if self.names || !durable.is_empty() {
            flushes = self.commit_beside(beside, running - 1, work);
        }
        if !flushes && !work.is_empty() {
            self.flush(work);
        }
        if std::mem::take(&mut self.names) {
            durable.push(Durable::Names);
        }
    }

    /// Adds writes of data as a step.
    pub(super) fn write_step(&mut self, step: Vec<DeviceRequest>, work: &mut DeviceWork) {
        if let Some(last) = step.last() {
            self.near = (last.offset + last.length - 1) / BLOCK;
        }
        let step = self.space.requests(step);
        for request in &step {
            self.tally.device_write(request.offset, request.length);
        }
        work.then(step);
    }

    /// Lets the work go on when a transaction is on the device, which it commits itself if nobody
    /// else does. Tells whether the device is flushed with it, after what the work writes before.
    pub(super) fn commit(&mut self, transaction: u64, work: &mut DeviceWork) -> bool {
        self.commit_beside(false, transaction, work)
    }

    /// The same, where the journal's blocks may be written `beside` the data before them: then they do not
    /// wait for these.
    fn commit_beside(&mut self, beside: bool, transaction: u64, work: &mut DeviceWork) -> bool {
        let flushes = match self.journal.commit_of(transaction) {
            Commit::Done => return false,
            Commit::By(number) => {
                work.wait(number);
                // One that has not begun waits for these data, too (`data=ordered`); one in flight
                // may have flushed before they were there (`jbd2_trans_will_send_data_barrier`).
                transaction == self.journal.running()
            }
            Commit::Own(before) => {
                before.into_iter().for_each(|number| work.wait(number));
                self.write_journal(beside, work);
                true
            }
        };
        work.ticket.commits = Some(transaction);
        flushes && self.options.journal.commit == Committing::Jbd2
    }

    /// Commits the running transaction. Of a commit in two steps each is followed by a flush: that
    /// before the commit record, and the one that makes it durable (`REQ_PREFLUSH | REQ_FUA`).
    fn write_journal(&mut self, beside: bool, work: &mut DeviceWork) {
        let commit = self.options.journal.commit;
        let part = self.space.journal(self.near);
        let written = self.journal.commit(work.ticket.number, commit, part);
        for (number, pieces) in written.into_iter().enumerate() {
            let step = requests(RequestKind::Write, pieces);
            for request in &step {
                let (flow, end) = (&mut self.counts.journal, &mut self.journal_end);
                counts::add(flow, end, request.offset, request.length);
            }
            match beside && number == 0 {
                true => work.beside(step),
                false => work.then(step),
            }
            if commit == Committing::Jbd2 {
                self.flush(work);
            }
        }
        self.counts.commits += 1;
    }

    /// Has the device flushed, unless that was given up for speed.
    pub(super) fn flush(&mut self, work: &mut DeviceWork) {
        if self.options.journal.barrier == Barrier::Off {
            return;
        }
        self.counts.flushes += 1;
        work.then(vec![flush()]);
    }
}

/// Requests of several files, sorted, with neighbours as one.
fn merged(step: Vec<DeviceRequest>) -> Vec<DeviceRequest> {
    let piece =
        |request: DeviceRequest| DeviceRange { place: request.offset, length: request.length };
    requests(RequestKind::Write, step.into_iter().map(piece).collect())
}
