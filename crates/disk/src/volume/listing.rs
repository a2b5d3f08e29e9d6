use std::collections::HashMap;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use rustix::fs::{FileType, OFlags, RawDir, SeekFrom, Stat};
use rustix::io::Errno;

use super::inode::Inode;
use super::{InodeNumber, Volume, is_hidden};

const BUFFER: usize = 32 << 10;

pub type Listing = u64;

#[derive(Clone, Copy, Debug)]
pub struct ListingEntry<'a> {
    pub ino: InodeNumber,
    pub kind: FileType,
    pub name: &'a OsStr,
    pub next: u64,
}

#[derive(Default)]
pub(super) struct Listings {
    open: RwLock<HashMap<Listing, Arc<ListedFolder>>>,
    last: AtomicU64,
}

struct ListedFolder {
    inode: Arc<Inode>,
    /// A descriptor has one place at a time: readers with a place of their own hold it.
    stream: Mutex<OwnedFd>,
}

impl Volume {
    pub fn opendir(&self, ino: InodeNumber) -> Result<Listing, Errno> {
        let inode = self.find_inode(ino)?;
        let stream = Mutex::new(inode.reopen(OFlags::RDONLY | OFlags::DIRECTORY)?);
        let listing = self.listings.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut open = self.listings.open.write().unwrap_or_else(PoisonError::into_inner);
        open.insert(listing, Arc::new(ListedFolder { inode, stream }));
        Ok(listing)
    }

    /// Gives the entries from a place on (0, or [`ListingEntry::next`]) until `take` returns
    /// `false`; the refused entry comes first the next time.
    pub fn readdir(
        &self,
        listing: Listing,
        from: u64,
        mut take: impl FnMut(ListingEntry<'_>) -> bool,
    ) -> Result<(), Errno> {
        let folder = self.find_listing(listing)?;
        let stream = folder.stream.lock().unwrap_or_else(PoisonError::into_inner);
        rustix::fs::seek(&*stream, SeekFrom::Start(from))?;
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        let mut entries = RawDir::new(&*stream, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if is_hidden(folder.inode.ino, name) {
                continue;
            }
            let dots = name == "." || name == "..";
            let ino =
                if dots { folder.inode.ino } else { self.numbers.find_or_assign(entry.ino()).0 };
            let kind = entry.file_type();
            let more = take(ListingEntry { ino, kind, name, next: entry.next_entry_cookie() });
            if !more {
                break;
            }
        }
        Ok(())
    }

    /// From now on the application holds the entry as if it had looked it up; `None` if it has gone
    /// meanwhile.
    pub fn hold_entry(&self, listing: Listing, name: &OsStr) -> Option<Stat> {
        let folder = self.find_listing(listing).ok()?;
        self.find_and_hold(&folder.inode, name).ok()
    }

    pub fn releasedir(&self, listing: Listing) {
        self.listings.open.write().unwrap_or_else(PoisonError::into_inner).remove(&listing);
    }

    fn find_listing(&self, listing: Listing) -> Result<Arc<ListedFolder>, Errno> {
        self.check_power()?;
        let open = self.listings.open.read().unwrap_or_else(PoisonError::into_inner);
        open.get(&listing).cloned().ok_or(Errno::BADF)
    }
}
