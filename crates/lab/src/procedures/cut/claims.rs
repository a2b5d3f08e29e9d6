//! Files with the claims of clients, kept off the disk that loses its power: one for each client,
//! in the target's own form. They need no sync, since this machine goes on.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;

use bakeoff_workloads::Claims;

use crate::TrialError;
use crate::process::MessageOutput;
use crate::process::job::Message;

fn claim_path(folder: &Path, client: usize) -> PathBuf {
    folder.join(client.to_string())
}

pub(super) struct ClaimFile<'a, 'b> {
    file: File,
    path: PathBuf,
    output: &'a MessageOutput<'b>,
}

impl<'a, 'b> ClaimFile<'a, 'b> {
    pub fn create(folder: &Path, client: usize, output: &'a MessageOutput<'b>) -> io::Result<Self> {
        let path = claim_path(folder, client);
        Ok(Self { file: File::create_new(&path)?, path, output })
    }
}

impl Claims for ClaimFile<'_, '_> {
    /// Each record is one write. A client must not go on without it: its work would look as if
    /// nobody had sent it, or as if nobody was promised it.
    fn store_claim(&mut self, record: &[u8]) {
        if let Err(error) = self.file.write_all(record) {
            let what = format!("the claims {} can't be written", self.path.display());
            self.output.send(&Message::Failed(TrialError::place_error(&what, error)));
            loop {
                // The lab ends this process.
                thread::park();
            }
        }
    }
}

pub fn read_claims(folder: &Path) -> Result<Vec<Vec<u8>>, TrialError> {
    let mut claims = Vec::new();
    loop {
        match std::fs::read(claim_path(folder, claims.len())) {
            Ok(bytes) => claims.push(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(claims),
            Err(error) => return Err(TrialError::place_error("the clients' claims", error)),
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
            file.store_claim(&[client; 3]);
            file.store_claim(&[9]);
        }
        assert_eq!(read_claims(folder.path()).unwrap(), [[0, 0, 0, 9], [1, 1, 1, 9]]);
        // A file that is there already is not written over.
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
            ClaimFile { file, path, output: &output }.store_claim(&[1]);
            *further.lock().unwrap() = true;
        });
        bakeoff_testkit::wait_until("a line", || sent.0.lock().unwrap().last() == Some(&b'\n'));
        let line = String::from_utf8(sent.0.lock().unwrap().clone()).unwrap();
        assert!(line.contains("the claims /dev/full can't be written: No space left"), "{line}");
        assert!(!*gone_on.lock().unwrap());
    }
}
