//! Keeping the backing files out of the page cache.
//!
//! What the application reads and writes is in the page cache as its own files. The same bytes once
//! more, as those of the backing files, would be memory that nobody has given it: where its memory
//! is limited, they have to go. They go behind the calls, a few megabytes at a time.

use std::collections::HashMap;
use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Advice, fadvise};

use super::inode::Inode;
use super::{InodeNumber, Volume};

/// Bytes that are read and written between two rounds.
const ROUND: u64 = 8 << 20;
/// How long what was read or written stays at most, if the disk can write so fast.
const LONGEST: Duration = Duration::from_millis(200);

/// How long the disk that the backing files are on may take to write what it was given.
const GIVEN_UP: Duration = Duration::from_secs(300);

type TouchedFiles = HashMap<InodeNumber, Arc<Inode>>;

/// The files that were read or written since the last round.
#[derive(Default)]
pub(super) struct Touched {
    state: Mutex<TouchedState>,
    enough: Condvar,
}

#[derive(Default)]
struct TouchedState {
    files: TouchedFiles,
    bytes: u64,
}

impl Touched {
    /// Notes that bytes of a file were read or written.
    pub fn note(&self, inode: &Arc<Inode>, bytes: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.files.entry(inode.ino).or_insert_with(|| Arc::clone(inode));
        state.bytes += bytes;
        if state.bytes >= ROUND {
            self.enough.notify_one();
        }
    }

    /// Waits for enough of them, or for long enough, and takes them.
    fn take(&self) -> TouchedFiles {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.enough.wait_timeout_while(state, LONGEST, |state| state.bytes < ROUND);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.bytes = 0;
        std::mem::take(&mut state.files)
    }
}

impl Volume {
    /// Keeps the backing files out of the page cache from now on. The last few megabytes that were read
    /// stay there, and what the real disk has not written yet.
    ///
    /// # Errors
    /// The thread for it can't be started.
    pub fn keep_out_of_page_cache(&self) -> io::Result<()> {
        let touched = Arc::new(Touched::default());
        let theirs = Arc::downgrade(&touched);
        if self.touched.set(touched).is_ok() {
            thread::Builder::new().name("disk-uncached".into()).spawn(move || work(&theirs))?;
        }
        Ok(())
    }

    /// Notes that bytes of a backing file were read or written.
    pub(super) fn touch(&self, inode: &Arc<Inode>, bytes: usize) {
        if let Some(touched) = self.touched.get() {
            touched.note(inode, bytes as u64);
        }
    }
}

/// Works until the volume is gone.
fn work(touched: &Weak<Touched>) {
    let mut late = Late::default();
    while let Some(touched) = touched.upgrade() {
        let now = touched.take();
        now.values().for_each(|inode| forget(inode));
        late.note(now, Instant::now());
        for inode in late.due(Instant::now()) {
            // One that is gone takes its pages with it.
            if let Some(inode) = inode.upgrade() {
                forget(&inode);
            }
        }
    }
}

/// Files of which something may still have to be written, and so could not be dropped: they are
/// tried again, after twice as long each time, until nobody has touched them for [`GIVEN_UP`].
#[derive(Default)]
struct Late(HashMap<InodeNumber, Wait>);

/// A file, which nobody keeps for this, when it was touched, and when it is tried again.
struct Wait {
    inode: Weak<Inode>,
    touched: Instant,
    at: Instant,
}

impl Late {
    /// Notes the files that were touched by now.
    fn note(&mut self, files: TouchedFiles, now: Instant) {
        let waits = files.into_iter().map(|(ino, inode)| {
            (ino, Wait { inode: Arc::downgrade(&inode), touched: now, at: now + LONGEST })
        });
        self.0.extend(waits);
    }

    /// The files that are to be tried now.
    fn due(&mut self, now: Instant) -> Vec<Weak<Inode>> {
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

/// Starts writing what is not written, and drops what is.
fn forget(inode: &Inode) {
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
        let inode = Arc::new(Inode::at(1, file.into(), &stat));
        let mut late = Late::default();
        let start = Instant::now();
        late.note(TouchedFiles::from([(1, inode)]), start);
        let after = |tenths: u32| Duration::from_millis(100) * tenths;
        let mut tried: Vec<u32> = (0..100_000).collect();
        tried.retain(|tenths| !late.due(start + after(*tenths)).is_empty());
        let doubled: Vec<u32> = (0..12).map(|times| 2 << times).collect();
        assert_eq!(tried, doubled, "until five minutes have gone, then no more");
        assert!(late.0.is_empty());
    }
}
