//! Write-back and commits that the file system starts by itself.

use crate::device::Nanos;

use super::{Background, DeviceWork, Ext4};

impl Ext4 {
    /// When to call [`tick`](Self::tick) next. Any other call may bring this forward.
    pub fn next_tick(&self) -> Option<Nanos> {
        let pressed = self.pressed.filter(|_| self.background.is_none());
        [self.due, pressed].into_iter().flatten().min()
    }

    /// Work that is due: dirty pages that expired or are too many, and a commit. One work at a time
    /// writes pages back.
    pub fn tick(&mut self, now: Nanos) -> Option<Background> {
        let look = self.due.is_some_and(|due| due <= now);
        let mut durable = Vec::new();
        let mut work = DeviceWork::default();
        self.number_work(&mut work);
        let before = self.cache.page_count();
        // The journal comes before the data's own places.
        let commits_first = self.journals_data() && (look || self.pressed.is_some());
        if commits_first {
            self.add_background_commit(&mut durable, &mut work);
        }
        if self.background.is_none() {
            self.write_back_old(now, look, &mut durable, &mut work);
        }
        let pages = before - self.cache.page_count();
        if pages > 0 {
            self.background = Some((work.ticket.number, pages));
        }
        if !commits_first && (look || pages > 0) {
            self.add_background_commit(&mut durable, &mut work);
        }
        if look {
            self.due = (self.cache.page_count() > 0).then_some(now + self.options.commit);
        }
        let any = !work.is_empty() || !durable.is_empty();
        any.then_some(Background { work, durable })
    }

    /// All work that there is, as by sync(2): everything dirty counts as expired.
    pub fn settle_all(&mut self, now: Nanos) -> Option<Background> {
        self.tick(now.saturating_add(self.options.expire.max(self.options.commit)))
    }
}
