//! What clients sent and what was acknowledged to them: a file a client, outside of the disk that
//! loses its power.
//!
//! A record is 24 bytes, three little-endian words: what it tells, the transaction's number, and
//! the nanoseconds of `CLOCK_MONOTONIC`. Each is one write; it need not be synced, since this
//! machine goes on.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;

use bakeoff_workloads::ledger::{Claim, Witness};
use rustix::time::{ClockId, clock_gettime};

use crate::child::Speaker;
use crate::job::Message;

/// What a record tells.
const SENT: u64 = 1;
const ACKNOWLEDGED: u64 = 2;
/// Bytes of a record.
const RECORD: usize = 24;

/// Nanoseconds of `CLOCK_MONOTONIC`: the clock that the disk tells its end by.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn path(folder: &Path, client: usize) -> PathBuf {
    folder.join(client.to_string())
}

/// Writes one client's log.
pub struct Clerk<'a, 'b> {
    file: File,
    path: PathBuf,
    speaker: &'a Speaker<'b>,
}

impl<'a, 'b> Clerk<'a, 'b> {
    /// Begins a client's log.
    pub fn new(folder: &Path, client: usize, speaker: &'a Speaker<'b>) -> io::Result<Self> {
        let path = path(folder, client);
        Ok(Self { file: File::create_new(&path)?, path, speaker })
    }

    /// A transaction must not go on when its record is missing: it would be taken for one that was
    /// never sent, or for one that nobody was promised.
    fn note(&mut self, what: u64, sequence: i64) {
        let words = [what, sequence as u64, now_ns()].map(u64::to_le_bytes);
        if let Err(error) = self.file.write_all(words.as_flattened()) {
            let path = self.path.display();
            self.speaker.say(&Message::Failed(format!("the log {path} can't be written: {error}")));
            loop {
                // The lab ends this process.
                thread::park();
            }
        }
    }
}

impl Witness for Clerk<'_, '_> {
    fn sent(&mut self, sequence: i64) {
        self.note(SENT, sequence);
    }

    fn acknowledged(&mut self, sequence: i64) {
        self.note(ACKNOWLEDGED, sequence);
    }
}

/// What the log of one client tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Its last transaction that was sent.
    sent: i64,
    /// The numbers of those that were acknowledged before the power went, and when.
    acknowledged: Vec<(i64, u64)>,
}

impl Account {
    /// What must be there and what may.
    pub fn claim(&self) -> Claim {
        let last = self.acknowledged.last();
        Claim { sent: self.sent, acknowledged: last.map_or(0, |(sequence, _)| *sequence) }
    }

    /// When a transaction was acknowledged.
    pub fn when(&self, sequence: i64) -> Option<u64> {
        let found = self.acknowledged.binary_search_by_key(&sequence, |(sequence, _)| *sequence);
        found.ok().map(|at| self.acknowledged[at].1)
    }

    /// Transactions that were acknowledged.
    pub fn count(&self) -> u64 {
        self.acknowledged.len() as u64
    }

    fn read(bytes: &[u8], off_at_ns: u64) -> Self {
        let mut account = Self::default();
        // A record that the end of its process has cut short is none: chunks leave it out.
        for record in bytes.chunks_exact(RECORD) {
            let word = |at: usize| {
                u64::from_le_bytes(record[at * 8..][..8].try_into().expect("eight bytes"))
            };
            let (what, sequence, time) = (word(0), word(1) as i64, word(2));
            match what {
                SENT => account.sent = account.sent.max(sequence),
                // What was answered later was answered without power.
                _ if time <= off_at_ns => account.acknowledged.push((sequence, time)),
                _ => {}
            }
        }
        account
    }
}

/// Reads the logs of all clients, in their order.
pub fn read(folder: &Path, off_at_ns: u64) -> io::Result<Vec<Account>> {
    let mut accounts = Vec::new();
    loop {
        match std::fs::read(path(folder, accounts.len())) {
            Ok(bytes) => accounts.push(Account::read(&bytes, off_at_ns)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(accounts),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn record(what: u64, sequence: i64, time: u64) -> Vec<u8> {
        [what, sequence as u64, time].map(u64::to_le_bytes).as_flattened().to_vec()
    }

    #[test]
    fn what_is_written_is_read_with_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let mut said = Vec::new();
        let speaker = Speaker(Mutex::new(&mut said));
        let before = now_ns();
        for client in 0..2 {
            let mut clerk = Clerk::new(folder.path(), client, &speaker).unwrap();
            for sequence in 1..=3 {
                clerk.sent(sequence);
                clerk.acknowledged(sequence);
            }
            clerk.sent(4);
        }
        let accounts = read(folder.path(), u64::MAX).unwrap();
        assert_eq!(accounts.len(), 2);
        for account in &accounts {
            assert_eq!(account.claim(), Claim { sent: 4, acknowledged: 3 });
            let times: Vec<_> = (1..=3).map(|sequence| account.when(sequence).unwrap()).collect();
            assert!(times.is_sorted() && times[0] >= before && times[2] <= now_ns());
            assert_eq!((account.when(4), account.count()), (None, 3));
        }
    }

    #[test]
    fn a_record_that_was_cut_short_is_none() {
        let bytes = [record(SENT, 1, 5), record(ACKNOWLEDGED, 1, 6), record(SENT, 2, 7)].concat();
        let whole = Account::read(&bytes, 100);
        assert_eq!(whole.claim(), Claim { sent: 2, acknowledged: 1 });
        for short in 1..RECORD {
            let account = Account::read(&bytes[..bytes.len() - short], 100);
            assert_eq!(account.claim(), Claim { sent: 1, acknowledged: 1 }, "{short} bytes short");
        }
    }

    #[test]
    fn what_was_answered_without_power_was_not_promised() {
        let bytes = [
            record(SENT, 1, 5),
            record(ACKNOWLEDGED, 1, 6),
            record(SENT, 2, 7),
            record(ACKNOWLEDGED, 2, 8),
        ]
        .concat();
        let claim = |off| Account::read(&bytes, off).claim();
        assert_eq!(claim(8), Claim { sent: 2, acknowledged: 2 });
        assert_eq!(claim(7), Claim { sent: 2, acknowledged: 1 });
        assert_eq!(claim(5), Claim { sent: 2, acknowledged: 0 });
    }

    /// Where what is said is kept.
    #[derive(Clone, Default)]
    struct Said(std::sync::Arc<Mutex<Vec<u8>>>);

    impl Write for Said {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_client_whose_log_is_full_says_so_and_goes_no_further() {
        let (said, gone_on) = (Said::default(), std::sync::Arc::new(Mutex::new(false)));
        let (mut output, further) = (said.clone(), std::sync::Arc::clone(&gone_on));
        // It waits for the end of its process: here, of the tests.
        thread::spawn(move || {
            let speaker = Speaker(Mutex::new(&mut output));
            let (file, path) = (File::create("/dev/full").unwrap(), "/dev/full".into());
            Clerk { file, path, speaker: &speaker }.sent(1);
            *further.lock().unwrap() = true;
        });
        let start = std::time::Instant::now();
        while said.0.lock().unwrap().last() != Some(&b'\n') {
            assert!(start.elapsed().as_secs() < 60, "nothing was said");
            thread::sleep(std::time::Duration::from_millis(1));
        }
        let line = String::from_utf8(said.0.lock().unwrap().clone()).unwrap();
        assert!(line.contains("the log /dev/full can't be written: No space left"), "{line}");
        assert!(!*gone_on.lock().unwrap());
    }

    #[test]
    fn a_log_that_is_there_already_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut said = Vec::new();
        let speaker = Speaker(Mutex::new(&mut said));
        drop(Clerk::new(folder.path(), 0, &speaker).unwrap());
        let again = Clerk::new(folder.path(), 0, &speaker);
        assert_eq!(again.err().map(|error| error.kind()), Some(io::ErrorKind::AlreadyExists));
    }
}
