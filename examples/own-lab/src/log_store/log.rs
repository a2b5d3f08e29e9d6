//! The log: a file of records, each with its length and a checksum.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyChange {
    pub space: usize,
    pub key: Box<[u8]>,
    pub value: Option<Arc<[u8]>>,
}

pub struct RecordLog {
    directory: PathBuf,
    file: File,
    length: u64,
    pub rewrites: u64,
    /// A write or a sync has failed: the disk's content is unknown.
    pub broken: bool,
}

/// The length and the checksum before a record.
const HEAD: usize = 12;
const NAME: &str = "log";
const NEW: &str = "log.new";

impl RecordLog {
    /// Gives each whole record to `apply`. Bytes after the last one were never acknowledged, and
    /// are cut off.
    pub fn open(directory: &Path, mut apply: impl FnMut(Vec<KeyChange>)) -> io::Result<Self> {
        match fs::remove_file(directory.join(NEW)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let path = directory.join(NAME);
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(&path)?;
        // A new file's name is durable after a sync of its folder.
        File::open(directory)?.sync_all()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut length = 0;
        while let Some((record, size)) = first_record(&bytes[length..]) {
            apply(record);
            length += size;
        }
        if length < bytes.len() {
            file.set_len(length as u64)?;
            file.sync_data()?;
        }
        let directory = directory.to_owned();
        Ok(Self { directory, file, length: length as u64, rewrites: 0, broken: false })
    }

    /// After a failure nothing more is added.
    pub fn append_record(&mut self, changes: &[KeyChange], durable: bool) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write to the log has failed"));
        }
        if changes.is_empty() {
            return Ok(());
        }
        let record = encode_changes(changes);
        let written = self.file.write_all(&record);
        let synced = written.and_then(|()| if durable { self.file.sync_data() } else { Ok(()) });
        match &synced {
            Ok(()) => self.length += record.len() as u64,
            Err(_) => self.broken = true,
        }
        synced
    }

    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data().inspect_err(|_| self.broken = true)
    }

    pub fn clone_file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Replaces the log by one of live data. If its name can't be made durable, nothing more is
    /// added.
    pub fn rewrite(&mut self, live: Vec<KeyChange>) -> io::Result<()> {
        let (file, length) = self.write_new(live)?;
        self.replace_by(file, length, |directory| File::open(directory)?.sync_all())
    }

    fn write_new(&self, live: Vec<KeyChange>) -> io::Result<(File, u64)> {
        let new = self.directory.join(NEW);
        let mut file = OpenOptions::new().read(true).append(true).create_new(true).open(&new)?;
        let mut length = 0;
        for changes in live.chunks(1000) {
            let record = encode_changes(changes);
            file.write_all(&record)?;
            length += record.len() as u64;
        }
        file.sync_data()?;
        Ok((file, length))
    }

    /// `sync` makes the names in a folder durable.
    fn replace_by(
        &mut self,
        file: File,
        length: u64,
        sync: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        fs::rename(self.directory.join(NEW), self.directory.join(NAME))?;
        // The old file has no name any more: nothing may be added to it.
        (self.file, self.length) = (file, length);
        sync(&self.directory).inspect_err(|_| self.broken = true)?;
        self.rewrites += 1;
        Ok(())
    }
}

/// `None` if the record is not whole.
fn first_record(bytes: &[u8]) -> Option<(Vec<KeyChange>, usize)> {
    let length = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let checksum = u64::from_le_bytes(bytes.get(4..HEAD)?.try_into().ok()?);
    let body = bytes.get(HEAD..HEAD.checked_add(length)?)?;
    if length == 0 || self::checksum(body) != checksum {
        return None;
    }
    Some((decode_changes(body)?, HEAD + length))
}

fn encode_changes(changes: &[KeyChange]) -> Vec<u8> {
    let mut record = vec![0; HEAD];
    for KeyChange { space, key, value } in changes {
        record.extend((*space as u32).to_le_bytes());
        record.extend((key.len() as u32).to_le_bytes());
        record.extend(value.as_ref().map_or(u32::MAX, |value| value.len() as u32).to_le_bytes());
        record.extend(&**key);
        record.extend(value.iter().flat_map(|value| value.iter()));
    }
    let length = (record.len() - HEAD) as u32;
    let checksum = checksum(&record[HEAD..]);
    record[..4].copy_from_slice(&length.to_le_bytes());
    record[4..HEAD].copy_from_slice(&checksum.to_le_bytes());
    record
}

fn decode_changes(mut body: &[u8]) -> Option<Vec<KeyChange>> {
    let mut changes = Vec::new();
    while !body.is_empty() {
        let mut number = || {
            let (number, rest) = body.split_first_chunk()?;
            body = rest;
            Some(u32::from_le_bytes(*number))
        };
        let (space, key, value) = (number()?, number()?, number()?);
        let key = body.split_off(..key as usize)?.into();
        let value = match value {
            u32::MAX => None,
            length => Some(body.split_off(..length as usize)?.into()),
        };
        changes.push(KeyChange { space: space as usize, key, value });
    }
    Some(changes)
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo).
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::super::LOG_STORE;
    use super::*;

    fn set(key: &[u8]) -> KeyChange {
        KeyChange { space: 1, key: key.into(), value: Some([7; 3].into()) }
    }

    #[test]
    fn what_is_whole_is_read_again_and_what_is_torn_is_cut_off() {
        let records = [vec![set(b"a")], vec![set(b"b"), KeyChange { value: None, ..set(b"a") }]];
        let bytes =
            records.iter().map(|record| encode_changes(record)).collect::<Vec<_>>().concat();
        for length in 0..=bytes.len() {
            let mut rest = &bytes[..length];
            let mut read = Vec::new();
            while let Some((record, size)) = first_record(rest) {
                read.push(record);
                rest = &rest[size..];
            }
            let whole = [encode_changes(&records[0]).len(), bytes.len()];
            let expected = whole.iter().filter(|end| **end <= length).count();
            assert_eq!(read, records[..expected], "{length}");
        }
        let mut flipped = bytes.clone();
        flipped[HEAD + 2] ^= 1;
        assert_eq!(first_record(&flipped), None);
    }

    #[test]
    fn a_log_whose_new_name_is_not_durable_takes_nothing_and_is_not_the_old_file() {
        // A package that copies this file has the suite of engines for its tests, and little else.
        let folder = bakeoff_testkit::conformance::folder::of(&LOG_STORE);
        let mut log = RecordLog::open(folder.path(), |_| {}).unwrap();
        log.append_record(&[set(b"a"), set(b"b")], true).unwrap();
        let (file, length) = log.write_new(vec![set(b"b")]).unwrap();
        let fails = |_: &Path| Err(io::Error::other("the folder can't be synced"));
        log.replace_by(file, length, fails).expect_err("its folder was not synced");
        let named = fs::metadata(folder.path().join(NAME)).unwrap();
        assert_eq!(log.clone_file().unwrap().metadata().unwrap().ino(), named.ino());
        log.append_record(&[set(b"c")], false).expect_err("what is on the disk is not known");
        assert_eq!((log.rewrites, named.len()), (0, length));
        let mut read = Vec::new();
        drop(log);
        RecordLog::open(folder.path(), |record| read.extend(record)).unwrap();
        assert_eq!(read, [set(b"b")]);
    }
}
