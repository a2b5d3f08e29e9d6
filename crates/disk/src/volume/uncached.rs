//! Keeping the backing files out of the page cache.
//!
//! The page cache has what the application reads and writes as its own files. The backing files'
//! copy would be memory that nobody has given it, so it has to go where memory is limited. It goes
//! behind the calls, a few megabytes at a time.

use std::collections::HashMap;
use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};

use super::inode::Inode;
use super::{InodeNumber, Volume};

const ROUND: u64 = 8 << 20;
/// How long read or written pages stay, if the disk can write so fast.
const LONGEST: Duration = Duration::from_millis(200);

/// How long the disk of the backing files may take for its writes.
const GIVEN_UP: Duration = Duration::from_secs(300);

type TouchedFiles = HashMap<InodeNumber, Arc<Inode>>;

#[derive(Default)]
pub(super) struct TouchMonitor {
    state: Mutex<TouchedState>,
    enough: Condvar,
}

#[derive(Default)]
struct TouchedState {
    files: TouchedFiles,
    bytes: u64,
}

impl TouchMonitor {
    pub fn note_bytes(&self, inode: &Arc<Inode>, bytes: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.files.entry(inode.ino).or_insert_with(|| Arc::clone(inode));
        state.bytes += bytes;
        if state.bytes >= ROUND {
            self.enough.notify_one();
        }
    }

    fn take_round(&self) -> TouchedFiles {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.enough.wait_timeout_while(state, LONGEST, |state| state.bytes < ROUND);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.bytes = 0;
        std::mem::take(&mut state.files)
    }
}

impl Volume {
    /// The last few megabytes that were read stay, and what the real disk has not written yet.
    pub fn keep_out_of_page_cache(&self) -> io::Result<()> {
        let touched = Arc::new(TouchMonitor::default());
        let theirs = Arc::downgrade(&touched);
        if self.touched.set(touched).is_ok() {
            thread::Builder::new()
                .name("disk-uncached".into())
                .spawn(move || run_rounds(&theirs))?;
        }
        Ok(())
    }

    pub(super) fn note_touched(&self, inode: &Arc<Inode>, bytes: usize) {
        if let Some(touched) = self.touched.get() {
            touched.note_bytes(inode, bytes as u64);
        }
    }
}

fn run_rounds(touched: &Weak<TouchMonitor>) {
    let mut late = EvictionRetries::default();
    while let Some(touched) = touched.upgrade() {
        let now = touched.take_round();
        now.values().for_each(|inode| drop_pages(inode));
        late.note_files(now, Instant::now());
        for inode in late.take_due(Instant::now()) {
            // One that is gone takes its pages with it.
            if let Some(inode) = inode.upgrade() {
                drop_pages(&inode);
            }
        }
    }
}

/// Files that may have something left to write, and so could not be dropped. They are tried again,
/// after twice as long each time, until nobody has touched them for [`GIVEN_UP`].
#[derive(Default)]
struct EvictionRetries(HashMap<InodeNumber, Wait>);

struct Wait {
    inode: Weak<Inode>,
    touched: Instant,
    at: Instant,
}

impl EvictionRetries {
    fn note_files(&mut self, files: TouchedFiles, now: Instant) {
        let waits = files.into_iter().map(|(ino, inode)| {
            (ino, Wait { inode: Arc::downgrade(&inode), touched: now, at: now + LONGEST })
        });
        self.0.extend(waits);
    }

    fn take_due(&mut self, now: Instant) -> Vec<Weak<Inode>> {
        let mut due = Vec::new();
        self.0.retain(|_, wait| {
            if wait.at > now {
                return true;
            }
            due.push(Weak::clone(&wait.inode));
            let waited = now - wait.touched;
            wait.at = now + waited;
            waited < GIVEN_UP
        });
        due
    }
}

fn drop_pages(inode: &Inode) {
    if let Ok(file) = inode.reader() {
        // A file system that has no page cache may refuse; then there is nothing to drop.
        let _ = fadvise(file, 0, None::<NonZeroU64>, Advice::DontNeed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_slow_disk_has_not_written_is_tried_again_less_and_less_often() {
        let file = tempfile::tempfile().unwrap();
        let stat = rustix::fs::fstat(&file).unwrap();
        let inode = Arc::new(Inode::from_place(1, file.into(), &stat));
        let mut late = EvictionRetries::default();
        let start = Instant::now();
        late.note_files(TouchedFiles::from([(1, inode)]), start);
        let after = |tenths: u32| Duration::from_millis(100) * tenths;
        let mut tried: Vec<u32> = (0..100_000).collect();
        tried.retain(|tenths| !late.take_due(start + after(*tenths)).is_empty());
        let doubled: Vec<u32> = (0..12).map(|times| 2 << times).collect();
        assert_eq!(tried, doubled, "until five minutes have gone, then no more");
        assert!(late.0.is_empty());
    }
}
