//! Listings of folders.

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

/// Bytes of entries that are read at once.
const BUFFER: usize = 32 << 10;

/// A number of an open listing.
pub type Listing = u64;

/// One entry of a folder.
#[derive(Clone, Copy, Debug)]
pub struct ListingEntry<'a> {
    /// The file's number.
    pub ino: InodeNumber,
    /// What it is.
    pub kind: FileType,
    /// Its name.
    pub name: &'a OsStr,
    /// Where the listing goes on after it.
    pub next: u64,
}

/// The open listings.
#[derive(Default)]
pub(super) struct Listings {
    open: RwLock<HashMap<Listing, Arc<ListedFolder>>>,
    last: AtomicU64,
}

struct ListedFolder {
    inode: Arc<Inode>,
    /// A descriptor has one place at a time: whoever reads from a place of his own holds it.
    stream: Mutex<OwnedFd>,
}

impl Volume {
    /// Begins to list a folder.
    ///
    /// # Errors
    /// `ENOTDIR`, or what the backing file system said.
    pub fn opendir(&self, ino: InodeNumber) -> Result<Listing, Errno> {
        let inode = self.inode(ino)?;
        let stream = Mutex::new(inode.reopen(OFlags::RDONLY | OFlags::DIRECTORY)?);
        let listing = self.listings.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut open = self.listings.open.write().unwrap_or_else(PoisonError::into_inner);
        open.insert(listing, Arc::new(ListedFolder { inode, stream }));
        Ok(listing)
    }

    /// Gives the entries from a place on (0, or what [`ListingEntry::next`] told), until `take` says that
    /// it has enough by answering `false`; the entry it refused comes first the next time.
    ///
    /// # Errors
    /// `EBADF` for a listing that was closed, or what the backing file system said.
    pub fn readdir(
        &self,
        listing: Listing,
        from: u64,
        mut take: impl FnMut(ListingEntry<'_>) -> bool,
    ) -> Result<(), Errno> {
        let folder = self.listing(listing)?;
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

    /// The attributes of an entry of a listing, which the application holds from then on as if it
    /// had looked it up; `None` when it has gone meanwhile.
    pub fn entry(&self, listing: Listing, name: &OsStr) -> Option<Stat> {
        let folder = self.listing(listing).ok()?;
        self.find(&folder.inode, name).ok()
    }

    /// Ends a listing.
    pub fn releasedir(&self, listing: Listing) {
        self.listings.open.write().unwrap_or_else(PoisonError::into_inner).remove(&listing);
    }

    fn listing(&self, listing: Listing) -> Result<Arc<ListedFolder>, Errno> {
        self.alive()?;
        let open = self.listings.open.read().unwrap_or_else(PoisonError::into_inner);
        open.get(&listing).cloned().ok_or(Errno::BADF)
    }
}
