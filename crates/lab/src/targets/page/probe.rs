//! Asks for a page twice before the load.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use super::answer::{self, IncomingResponse};
use super::fault::Fault;
use super::url::{At, PageAddress};
use super::{ANSWER_TIMEOUT, MOST_BODY};

#[derive(Debug, PartialEq, Eq)]
pub struct ExpectedResponse {
    pub status: u16,
    pub body: Option<Vec<u8>>,
}

pub fn ask_twice(source: &PageAddress, request: &[u8]) -> Result<ExpectedResponse, String> {
    let (status, body) = ask_once(source, request)?;
    let (again, other) = ask_once(source, request)?;
    if status != again {
        return Err(format!("it answers with the status {status}, then with {again}"));
    }
    Ok(ExpectedResponse { status, body: (body == other).then_some(body) })
}

fn ask_once(source: &PageAddress, request: &[u8]) -> Result<(u16, Vec<u8>), String> {
    match &source.at {
        At::Tcp(address) => {
            let failed = |error| format!("it can't be connected to: {error}");
            let stream = TcpStream::connect_timeout(address, ANSWER_TIMEOUT).map_err(failed)?;
            stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(failed)?;
            exchange_messages(stream, request)
        }
        At::Unix(path) => {
            let failed = |error| format!("its socket can't be connected to: {error}");
            let stream = UnixStream::connect(path).map_err(failed)?;
            stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(failed)?;
            exchange_messages(stream, request)
        }
    }
}

fn exchange_messages(
    mut stream: impl Read + Write,
    request: &[u8],
) -> Result<(u16, Vec<u8>), String> {
    stream.write_all(request).map_err(|error| format!("it takes no request: {error}"))?;
    let (mut answer, mut body, mut first) = (IncomingResponse::default(), Vec::new(), Vec::new());
    let mut buffer = vec![0; 64 << 10];
    let begun = Instant::now();
    loop {
        if begun.elapsed() > ANSWER_TIMEOUT {
            return Err(Fault::TimedOut.to_string());
        }
        let read = match stream.read(&mut buffer) {
            Ok(0) if answer.closed() => break,
            Ok(0) => return Err(Fault::Closed.to_string()),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(Fault::TimedOut.to_string());
            }
            Err(error) => return Err(format!("its answer can't be read: {error}")),
        };
        if answer.status == 0 {
            first.extend_from_slice(&buffer[..read]);
        }
        let whole = answer.take_bytes(&buffer[..read], &mut |part| body.extend_from_slice(part));
        let whole = whole.map_err(|fault| fault.to_string())?;
        if body.len() > MOST_BODY {
            return Err(Fault::TooLong.to_string());
        }
        if whole.is_some_and(|own| own < read) {
            return Err(Fault::SURPLUS.to_string());
        } else if whole.is_some() {
            break;
        }
    }
    match (answer.status, answer::redirect_location(&first)) {
        (200..300, _) => Ok((answer.status, body)),
        (status, Some(there)) => Err(format!(
            "it answers with the status {status} and sends its readers to {there}: give the URL of the page \
             itself"
        )),
        (status @ (401 | 403), None) => Err(format!(
            "it answers with the status {status}: it wants to know who asks, see --header"
        )),
        (status @ 500.., None) => {
            Err(format!("it answers with the status {status}: see the log of the server"))
        }
        (status, None) => Err(format!(
            "it answers with the status {status}: give the URL of a page that is there"
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// A server that takes what it is sent, and answers with these bytes and then with whatever `more` gives.
    struct Server<F> {
        first: &'static [u8],
        more: F,
    }

    impl<F> Write for Server<F> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<F: FnMut(&mut [u8]) -> io::Result<usize>> Read for Server<F> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.first.read(buffer)? {
                0 => (self.more)(buffer),
                read => Ok(read),
            }
        }
    }

    #[test]
    fn a_body_longer_than_its_length_is_told_before_the_run() {
        let first = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi there";
        let said = exchange_messages(Server { first, more: |_: &mut [u8]| Ok(0) }, b"GET /");
        assert_eq!(said, Err(Fault::SURPLUS.to_string()));
    }

    /// Two gigabytes without a length: so much is read as a page may have, and no more.
    #[test]
    fn a_server_that_says_no_more_or_without_end_is_given_up() {
        for first in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"] {
            // As a socket answers whose time is over.
            let more = |_: &mut [u8]| Err(ErrorKind::WouldBlock.into());
            let said = exchange_messages(Server { first, more }, b"GET / HTTP/1.1\r\n\r\n");
            assert_eq!(said, Err("no whole answer came within 30 s".to_owned()), "{first:?}");
        }
        let mut left = 2_usize << 30;
        let more = |buffer: &mut [u8]| {
            left -= buffer.len();
            Ok(buffer.len())
        };
        let endless = Server { first: b"HTTP/1.0 200 OK\r\n\r\n", more };
        let said = exchange_messages(endless, b"GET /\r\n\r\n");
        assert_eq!(said, Err("the answer is longer than 64 MiB".to_owned()));
        assert!(left > 1 << 30, "{left} bytes were left");
    }
}
