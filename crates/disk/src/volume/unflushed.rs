//! Tracks changes that have reached the device and would be durable after a flush. Without write
//! barriers there is none: the device's cache holds the last writes until later ones push them out.

use std::collections::VecDeque;

use bakeoff_devices::plug::{ChangeMark, Pending};

use super::InodeNumber;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReachedChanges {
    File(InodeNumber, ChangeMark),
    Folder(InodeNumber, ChangeMark),
    /// A file's bytes and size, which nobody asked for.
    WrittenBack(InodeNumber, ChangeMark),
    Names(ChangeMark),
    Journal(ChangeMark),
}

impl ReachedChanges {
    /// Returns the numbers whose content is no longer needed.
    pub fn settle_in(self, pending: &mut Pending) -> Vec<InodeNumber> {
        match self {
            Self::File(ino, mark) => pending.sync_file(ino, mark),
            Self::Folder(ino, mark) => pending.sync_dir(ino, mark),
            Self::WrittenBack(ino, mark) => pending.expire(ino, mark),
            Self::Names(mark) => pending.commit_names(mark),
            Self::Journal(mark) => pending.commit_journal(mark),
        }
    }

    /// Whether it covers all of an earlier one.
    fn takes_in(self, earlier: Self) -> bool {
        match (self, earlier) {
            (Self::File(ino, _), Self::File(other, _))
            | (Self::Folder(ino, _), Self::Folder(other, _))
            | (Self::WrittenBack(ino, _), Self::WrittenBack(other, _)) => ino == other,
            (Self::Names(_), Self::Names(_)) | (Self::Journal(_), Self::Journal(_)) => true,
            _ => false,
        }
    }
}

pub(super) struct UnflushedChanges {
    /// Bytes; 0 if nothing waits, since the device is flushed or has no cache.
    cache: u64,
    /// Each with the total of written bytes at which it has left the cache.
    waiting: VecDeque<(u64, ReachedChanges)>,
}

impl UnflushedChanges {
    pub fn new(cache: u64) -> Self {
        Self { cache, waiting: VecDeque::new() }
    }

    /// `written` is the total that the device was asked to write by then. Returns what is durable.
    pub fn add_reached(&mut self, reached: ReachedChanges, written: u64) -> Vec<ReachedChanges> {
        if self.cache == 0 {
            return vec![reached];
        }
        let until = written + self.cache;
        match self.waiting.back_mut() {
            Some((known, last)) if *known == until && reached.takes_in(*last) => *last = reached,
            _ => self.waiting.push_back((until, reached)),
        }
        let gone = self.waiting.partition_point(|(until, _)| *until <= written);
        self.waiting.drain(..gone).map(|(_, reached)| reached).collect()
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_devices::plug::{FileAttributes, Metadata};

    use super::*;

    fn mark() -> ChangeMark {
        let attributes = FileAttributes { mode: 0o755, uid: 0, gid: 0 };
        Pending::new(1, attributes, Metadata::Ordered).current_mark()
    }

    #[test]
    fn what_is_not_flushed_is_durable_when_a_whole_cache_was_written_after_it() {
        let mut unflushed = UnflushedChanges::new(100);
        let file = |ino| ReachedChanges::File(ino, mark());
        assert_eq!(unflushed.add_reached(file(1), 40), []);
        assert_eq!(unflushed.add_reached(file(2), 139), []);
        assert_eq!(unflushed.add_reached(file(3), 140), [file(1)]);
        assert_eq!(unflushed.add_reached(file(4), 500), [file(2), file(3)]);
        // Syncs that write nothing are one.
        for _ in 0..1000 {
            assert_eq!(unflushed.add_reached(file(4), 500), []);
        }
        assert_eq!(unflushed.waiting.len(), 1);
    }

    #[test]
    fn without_a_cache_or_with_flushes_all_is_durable_at_once() {
        let journal = ReachedChanges::Journal(mark());
        assert_eq!(UnflushedChanges::new(0).add_reached(journal, 10), [journal]);
    }
}
