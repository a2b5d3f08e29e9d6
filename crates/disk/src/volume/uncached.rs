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
use std::time::Duration;

use rustix::fs::{Advice, fadvise};

use super::inode::Inode;
use super::{Ino, Volume};

/// Bytes that are read and written between two rounds.
const ROUND: u64 = 8 << 20;
/// How long what was read or written stays at most, if the disk can write so fast.
const LONGEST: Duration = Duration::from_millis(200);

type Files = HashMap<Ino, Arc<Inode>>;

/// The files that were read or written since the last round.
#[derive(Default)]
pub(super) struct Touched {
    state: Mutex<State>,
    enough: Condvar,
}

#[derive(Default)]
struct State {
    files: Files,
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
    fn take(&self) -> Files {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.enough.wait_timeout_while(state, LONGEST, |state| state.bytes < ROUND);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.bytes = 0;
        std::mem::take(&mut state.files)
    }
}

impl Volume {
    /// Keeps the backing files out of the page cache from now on: all but the last few megabytes
    /// that were read, and what the disk that they are on has not written yet.
    ///
    /// # Errors
    /// There is no thread for it.
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
    let mut before = Files::new();
    while let Some(touched) = touched.upgrade() {
        let now = touched.take();
        // What has to be written goes a round later.
        for inode in before.iter().filter(|(ino, _)| !now.contains_key(ino)).map(|(_, i)| i) {
            forget(inode);
        }
        now.values().for_each(|inode| forget(inode));
        before = now;
    }
}

/// Starts writing what is not written, and drops what is.
fn forget(inode: &Inode) {
    if let Ok(file) = inode.reader() {
        // A file system that has no page cache may refuse; then there is nothing to drop.
        let _ = fadvise(file, 0, None::<NonZeroU64>, Advice::DontNeed);
    }
}
