//! What is done with time: write-back and commits that nobody has asked for.

use crate::device::Nanos;

use super::{Background, DeviceWork, Ext4};

impl Ext4 {
    /// When to call [`tick`](Self::tick) next. Any other call may bring this forward.
    pub fn next_tick(&self) -> Option<Nanos> {
        let pressed = self.pressed.filter(|_| self.background.is_none());
        [self.due, pressed].into_iter().flatten().min()
    }

    /// Work that is due: dirty pages that have expired, or are too many, and a commit. Pages are
    /// written back by one work at a time.
    pub fn tick(&mut self, now: Nanos) -> Option<Background> {
        let look = self.due.is_some_and(|due| due <= now);
        let mut durable = Vec::new();
        let mut work = DeviceWork::default();
        self.number(&mut work);
        let before = self.cache.pages();
        // Nothing is written to its place before the journal has it.
        let commits_first = self.journals_data() && (look || self.pressed.is_some());
        if commits_first {
            self.settle(&mut durable, &mut work);
        }
        if self.background.is_none() {
            self.write_back_old(now, look, &mut durable, &mut work);
        }
        let pages = before - self.cache.pages();
        if pages > 0 {
            self.background = Some((work.ticket.number, pages));
        }
        if !commits_first && (look || pages > 0) {
            self.settle(&mut durable, &mut work);
        }
        if look {
            self.due = (self.cache.pages() > 0).then_some(now + self.options.commit);
        }
        let any = !work.is_empty() || !durable.is_empty();
        any.then_some(Background { work, durable })
    }

    /// All work that there is, as by sync(2): what is dirty now has expired by then, and what waits for a commit
    /// has waited long enough.
    pub fn settle_all(&mut self, now: Nanos) -> Option<Background> {
        self.tick(now.saturating_add(self.options.expire.max(self.options.commit)))
    }
}
