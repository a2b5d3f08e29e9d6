//! The journal: which files' metadata wait for a commit, and what the commit writes.
//!
//! As in ext4 every file remembers the transaction that last changed it (`i_sync_tid`) and the one
//! that last changed what its data are found by (`i_datasync_tid`); a sync commits if that
//! transaction is still the running one (`ext4_sync_file` in Linux's fs/ext4/fsync.c).

use super::Sync;
use super::requests::Piece;
use super::space::{BLOCK, journal_near};

/// Inodes of 256 bytes in a block of the inode table.
const INODES_A_BLOCK: u64 = 16;

/// Names of some 20 bytes with their headers in a half-full block of a directory.
const NAMES_A_BLOCK: u64 = 64;

/// The transactions that changed a file last; 0 is long committed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    any: u64,
    data: u64,
}

/// The running transaction and where the journal is written next.
#[derive(Debug)]
pub struct Journal {
    running: u64,
    inodes: u64,
    names: u64,
    allocated: bool,
    /// The next block within the piece of journal, wherever that is.
    next: u64,
}

impl Default for Journal {
    fn default() -> Self {
        Self { running: 1, inodes: 0, names: 0, allocated: false, next: 0 }
    }
}

impl Journal {
    /// A file's timestamps changed.
    pub fn stamp(&mut self, marks: &mut Marks) {
        if marks.any != self.running {
            marks.any = self.running;
            self.inodes += 1;
        }
    }

    /// A file's size or blocks changed.
    pub fn change(&mut self, marks: &mut Marks) {
        self.stamp(marks);
        marks.data = self.running;
    }

    /// Blocks were allocated or freed.
    pub fn allocate(&mut self) {
        self.allocated = true;
    }

    /// A name changed, and the directory that holds it.
    pub fn rename(&mut self) {
        self.names += 1;
    }

    /// Whether a sync of a file needs a commit.
    pub fn awaits(&self, marks: Marks, sync: Sync) -> bool {
        self.running
            == match sync {
                Sync::Data => marks.data,
                Sync::All => marks.any,
            }
    }

    /// Whether names changed since the last commit.
    pub fn awaits_names(&self) -> bool {
        self.names > 0
    }

    /// Whether anything changed since the last commit.
    pub fn is_dirty(&self) -> bool {
        self.inodes > 0 || self.names > 0 || self.allocated
    }

    /// Commits the running transaction and tells what is written for it: a descriptor, the blocks
    /// that changed (inodes; bitmap and group; names and the inode of their directory), and the
    /// commit record. It goes to the piece of journal near the block `near`, written round.
    pub fn commit(&mut self, near: u64) -> Vec<Piece> {
        let names = match self.names {
            0 => 0,
            names => 1 + names.div_ceil(NAMES_A_BLOCK),
        };
        let bitmaps = if self.allocated { 2 } else { 0 };
        let mut left = 2 + self.inodes.div_ceil(INODES_A_BLOCK) + names + bitmaps;
        let part = journal_near(near);
        let mut pieces = Vec::with_capacity(1);
        while left > 0 {
            // What fits into the piece as a whole is not torn by its end.
            let fits = self.next + left.min(part.length) <= part.length;
            let next = if fits { self.next } else { 0 };
            let length = left.min(part.length);
            let place = (part.place + next) * BLOCK;
            pieces.push(Piece { place, length: length * BLOCK });
            self.next = next + length;
            left -= length;
        }
        *self = Self { running: self.running + 1, next: self.next, ..Self::default() };
        pieces
    }
}
