//! What clients claim, kept off the disk that loses its power: a file a client, in the target's own
//! form. It need not be synced, since this machine goes on.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;

use bakeoff_workloads::Claims;

use crate::TrialError;
use crate::process::MessageOutput;
use crate::process::job::Message;

fn path(folder: &Path, client: usize) -> PathBuf {
    folder.join(client.to_string())
}

/// One client's file.
pub(super) struct ClaimFile<'a, 'b> {
    file: File,
    path: PathBuf,
    output: &'a MessageOutput<'b>,
}

impl<'a, 'b> ClaimFile<'a, 'b> {
    /// Begins a client's file.
    pub fn create(folder: &Path, client: usize, output: &'a MessageOutput<'b>) -> io::Result<Self> {
        let path = path(folder, client);
        Ok(Self { file: File::create_new(&path)?, path, output })
    }
}

impl Claims for ClaimFile<'_, '_> {
    /// Each record is one write. A client must not go on when its record is missing: what it did
    /// would be taken for something that was never sent, or that nobody was promised.
    fn claim(&mut self, record: &[u8]) {
        if let Err(error) = self.file.write_all(record) {
            let what = format!("the claims {} can't be written", self.path.display());
            self.output.send(&Message::Failed(TrialError::place(&what, error)));
            loop {
                // The lab ends this process.
                thread::park();
            }
        }
    }
}

/// Reads what all clients claimed, in their order.
///
/// # Errors
/// The first file that can't be read.
pub fn read(folder: &Path) -> Result<Vec<Vec<u8>>, TrialError> {
    let mut claims = Vec::new();
    loop {
        match std::fs::read(path(folder, claims.len())) {
            Ok(bytes) => claims.push(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(claims),
            Err(error) => return Err(TrialError::place("the clients' claims", error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn what_is_claimed_is_read_back_a_file_a_client() {
        let folder = tempfile::tempdir().unwrap();
        let mut sent = Vec::new();
        let output = MessageOutput::new(&mut sent);
        for client in 0..2u8 {
            let mut file = ClaimFile::create(folder.path(), client.into(), &output).unwrap();
            file.claim(&[client; 3]);
            file.claim(&[9]);
        }
        assert_eq!(read(folder.path()).unwrap(), [[0, 0, 0, 9], [1, 1, 1, 9]]);
    }

    #[test]
    fn a_file_that_is_there_already_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut sent = Vec::new();
        let output = MessageOutput::new(&mut sent);
        drop(ClaimFile::create(folder.path(), 0, &output).unwrap());
        let again = ClaimFile::create(folder.path(), 0, &output);
        assert_eq!(again.err().map(|error| error.kind()), Some(io::ErrorKind::AlreadyExists));
    }

    /// Where what is sent is kept.
    #[derive(Clone, Default)]
    struct Sent(Arc<Mutex<Vec<u8>>>);

    impl Write for Sent {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_client_whose_claims_have_no_room_says_so_and_goes_no_further() {
        let (sent, gone_on) = (Sent::default(), Arc::new(Mutex::new(false)));
        let (mut kept, further) = (sent.clone(), Arc::clone(&gone_on));
        // It waits for the end of its process: here, of the tests.
        thread::spawn(move || {
            let output = MessageOutput::new(&mut kept);
            let (file, path) = (File::create("/dev/full").unwrap(), "/dev/full".into());
            ClaimFile { file, path, output: &output }.claim(&[1]);
            *further.lock().unwrap() = true;
        });
        bakeoff_testkit::wait_until("a line", || sent.0.lock().unwrap().last() == Some(&b'\n'));
        let line = String::from_utf8(sent.0.lock().unwrap().clone()).unwrap();
        assert!(line.contains("the claims /dev/full can't be written: No space left"), "{line}");
        assert!(!*gone_on.lock().unwrap());
    }
}
