//! What has reached the device and would be durable if the device had been flushed. Without write barriers it
//! never is: its cache holds what was written last, until later writes push it out.

use std::collections::VecDeque;

use bakeoff_devices::plug::{ChangeMark, Pending};

use super::InodeNumber;

/// What a sync or a commit has brought to the device: what was changed before a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReachedChanges {
    /// By a sync of a file.
    File(InodeNumber, ChangeMark),
    /// By a sync of a folder.
    Folder(InodeNumber, ChangeMark),
    /// A file's bytes and size, which nobody asked for.
    WrittenBack(InodeNumber, ChangeMark),
    /// All names, as somebody asked for.
    Names(ChangeMark),
    /// What the journal has.
    Journal(ChangeMark),
}

impl ReachedChanges {
    /// It is durable. Gives the numbers whose content is no longer needed.
    pub fn settle(self, pending: &mut Pending) -> Vec<InodeNumber> {
        match self {
            Self::File(ino, mark) => pending.sync_file(ino, mark),
            Self::Folder(ino, mark) => pending.sync_dir(ino, mark),
            Self::WrittenBack(ino, mark) => pending.expire(ino, mark),
            Self::Names(mark) => pending.commit_names(mark),
            Self::Journal(mark) => pending.commit_journal(mark),
        }
    }

    /// Whether it takes in all that another one does, which came before it.
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

/// What waits in a device's cache, the oldest first.
pub(super) struct Unflushed {
    /// Bytes of the cache; 0 where nothing waits, since the device is flushed or has none.
    cache: u64,
    /// Each with how many bytes the device was asked to write in all when it has left the cache.
    waiting: VecDeque<(u64, ReachedChanges)>,
}

impl Unflushed {
    /// In a cache of so many bytes.
    pub fn new(cache: u64) -> Self {
        Self { cache, waiting: VecDeque::new() }
    }

    /// Takes note of what has reached the device, which was asked to write so many bytes by then. Gives
    /// what is durable.
    pub fn reach(&mut self, reached: ReachedChanges, written: u64) -> Vec<ReachedChanges> {
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
        Pending::new(1, attributes, Metadata::Ordered).mark()
    }

    #[test]
    fn what_is_not_flushed_is_durable_when_a_whole_cache_was_written_after_it() {
        let mut unflushed = Unflushed::new(100);
        let file = |ino| ReachedChanges::File(ino, mark());
        assert_eq!(unflushed.reach(file(1), 40), []);
        assert_eq!(unflushed.reach(file(2), 139), []);
        assert_eq!(unflushed.reach(file(3), 140), [file(1)]);
        assert_eq!(unflushed.reach(file(4), 500), [file(2), file(3)]);
        // Syncs that write nothing are one.
        for _ in 0..1000 {
            assert_eq!(unflushed.reach(file(4), 500), []);
        }
        assert_eq!(unflushed.waiting.len(), 1);
    }

    #[test]
    fn without_a_cache_or_with_flushes_all_is_durable_at_once() {
        let journal = ReachedChanges::Journal(mark());
        assert_eq!(Unflushed::new(0).reach(journal, 10), [journal]);
    }
}
