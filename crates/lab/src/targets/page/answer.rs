//! An answer of HTTP/1.1 or 1.0 as it comes in, in pieces of any size (RFC 9112, sections 2 to 8).

use httparse::{EMPTY_HEADER, Response, Status};

use super::MOST_BODY;
use super::fault::Fault;

/// The most headers that an answer may have.
const MOST_HEADERS: usize = 128;
/// The most bytes before its body.
const MOST_HEAD: usize = 64 << 10;
/// The most bytes of a line in a chunked body.
const MOST_LINE: usize = 4096;

/// An answer that is not whole yet.
#[derive(Debug, Default)]
pub struct IncomingResponse {
    /// The beginning of the head, where it came in several pieces.
    held: Vec<u8>,
    part: ResponsePart,
    /// Its status, once its head is whole.
    pub status: u16,
    /// Whether the server closes the connection after it, once its head is whole.
    pub closes: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ResponsePart {
    #[default]
    Head,
    /// So many bytes of the body, which are the last ones.
    Bytes(u64),
    /// Whatever comes until the server closes the connection.
    UntilClosed,
    /// The line with the size of a chunk, as far as it came: its value, and how many bytes of the line.
    Size {
        value: u64,
        seen: usize,
        digits: bool,
    },
    /// So many bytes of a chunk.
    Chunk(u64),
    /// The end of the line after a chunk, of which so many bytes are to come.
    ChunkEnd(u8),
    /// Lines after the last chunk: how many bytes this line has so far.
    Trailer(usize),
    Whole,
}

/// What a head says of the rest.
#[derive(Debug, PartialEq, Eq)]
struct ResponseHead {
    /// Bytes of the head itself.
    length: usize,
    status: u16,
    closes: bool,
    body: ResponsePart,
    /// Where another page is that is to be asked for instead.
    location: Option<String>,
}

impl IncomingResponse {
    /// Takes the next bytes, and gives those of the body to `body`. Returns how many of them belong to
    /// this answer once it is whole; `None` while more is to come.
    ///
    /// # Errors
    /// It is no answer of HTTP/1, or it says that it is longer than a page may be.
    pub fn take(
        &mut self,
        bytes: &[u8],
        body: &mut impl FnMut(&[u8]),
    ) -> Result<Option<usize>, Fault> {
        let mut at = 0;
        while self.part != ResponsePart::Whole {
            let rest = &bytes[at..];
            if rest.is_empty() {
                return Ok(None);
            }
            at += match self.part {
                ResponsePart::Head => self.head(rest)?,
                ResponsePart::Bytes(left) => self.bytes(rest, left, body),
                ResponsePart::UntilClosed => {
                    body(rest);
                    rest.len()
                }
                ResponsePart::Size { value, seen, digits } => {
                    self.size(rest[0], value, seen, digits)?
                }
                ResponsePart::Chunk(left) => self.chunk(rest, left, body),
                ResponsePart::ChunkEnd(left) => self.chunk_end(rest[0], left)?,
                ResponsePart::Trailer(seen) => self.trailer(rest[0], seen)?,
                ResponsePart::Whole => 0,
            };
        }
        Ok(Some(at))
    }

    /// The server has closed the connection: whether the answer is whole by that.
    pub fn closed(&mut self) -> bool {
        self.closes = true;
        matches!(self.part, ResponsePart::UntilClosed | ResponsePart::Whole)
    }

    /// Whether nothing of it has come.
    pub fn is_unbegun(&self) -> bool {
        self.part == ResponsePart::Head && self.held.is_empty()
    }

    /// Gets ready for the next one, on the same connection.
    pub fn renew(&mut self) {
        self.held = Vec::new();
        self.part = ResponsePart::Head;
    }

    /// Takes the head, or keeps what there is of it.
    fn head(&mut self, rest: &[u8]) -> Result<usize, Fault> {
        if self.held.is_empty()
            && let Some(head) = ResponseHead::from_bytes(rest)?
        {
            return Ok(self.begin(head));
        }
        let before = self.held.len();
        self.held.extend_from_slice(rest);
        match ResponseHead::from_bytes(&self.held)? {
            // The head ends in `rest`: what was held before had no end.
            Some(head) => {
                let length = self.begin(head);
                // Ten thousand connections that wait keep no memory for it.
                self.held = Vec::new();
                Ok(length - before)
            }
            None if self.held.len() > MOST_HEAD => {
                Err(Fault::NoHttp("its head is longer than 64 KiB"))
            }
            None => Ok(rest.len()),
        }
    }

    /// Goes on after a head; how long that is. An interim answer is followed by the one that counts.
    fn begin(&mut self, head: ResponseHead) -> usize {
        if head.status >= 200 {
            (self.status, self.closes, self.part) = (head.status, head.closes, head.body);
        }
        head.length
    }

    fn bytes(&mut self, rest: &[u8], left: u64, body: &mut impl FnMut(&[u8])) -> usize {
        let (taken, left) = part_of(rest, left);
        body(taken);
        self.part = if left == 0 { ResponsePart::Whole } else { ResponsePart::Bytes(left) };
        taken.len()
    }

    fn chunk(&mut self, rest: &[u8], left: u64, body: &mut impl FnMut(&[u8])) -> usize {
        let (taken, left) = part_of(rest, left);
        body(taken);
        self.part = if left == 0 { ResponsePart::ChunkEnd(2) } else { ResponsePart::Chunk(left) };
        taken.len()
    }

    /// A byte of the line with a chunk's size: digits, then what may follow them, then the line's end.
    fn size(&mut self, byte: u8, value: u64, seen: usize, digits: bool) -> Result<usize, Fault> {
        let wrong = Err(Fault::NoHttp("a chunk of its body has no size"));
        if seen > MOST_LINE {
            return wrong;
        }
        let seen = seen + 1;
        self.part = match (byte, char::from(byte).to_digit(16)) {
            (b'\n', _) if seen == 1 => return wrong,
            (b'\n', _) if value == 0 => ResponsePart::Trailer(0),
            (b'\n', _) if value > MOST_BODY as u64 => return Err(Fault::TooLong),
            (b'\n', _) => ResponsePart::Chunk(value),
            (_, Some(digit)) if digits => {
                let Some(higher) = value.checked_mul(16) else { return wrong };
                ResponsePart::Size { value: higher + u64::from(digit), seen, digits }
            }
            // A line that begins with something else has no size.
            _ if seen == 1 => return wrong,
            _ => ResponsePart::Size { value, seen, digits: false },
        };
        Ok(1)
    }

    fn chunk_end(&mut self, byte: u8, left: u8) -> Result<usize, Fault> {
        self.part = match (left, byte) {
            (2, b'\r') => ResponsePart::ChunkEnd(1),
            (1, b'\n') => ResponsePart::Size { value: 0, seen: 0, digits: true },
            _ => return Err(Fault::NoHttp("a chunk of its body is longer than its size")),
        };
        Ok(1)
    }

    /// A byte of the lines after the last chunk, of which an empty one is the last.
    fn trailer(&mut self, byte: u8, seen: usize) -> Result<usize, Fault> {
        self.part = match byte {
            b'\n' if seen == 0 => ResponsePart::Whole,
            b'\n' => ResponsePart::Trailer(0),
            b'\r' => ResponsePart::Trailer(seen),
            _ if seen > MOST_LINE => {
                return Err(Fault::NoHttp("a line after its body is too long"));
            }
            _ => ResponsePart::Trailer(seen + 1),
        };
        Ok(1)
    }
}

/// As much of `rest` as is left to come, and how much is left then.
fn part_of(rest: &[u8], left: u64) -> (&[u8], u64) {
    let taken = &rest[..rest.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
    (taken, left - taken.len() as u64)
}

impl ResponseHead {
    /// The head that these bytes begin with; `None` where it is not whole.
    fn from_bytes(bytes: &[u8]) -> Result<Option<Self>, Fault> {
        let mut headers = [EMPTY_HEADER; MOST_HEADERS];
        let mut response = Response::new(&mut headers);
        let length = match response.parse(bytes) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(Fault::NoHttp("it has more than 128 headers"));
            }
            Err(_) => return Err(Fault::NoHttp("it does not begin like an answer of HTTP/1")),
        };
        let (status, minor) = (response.code.unwrap_or(0), response.version.unwrap_or(0));
        let (mut bytes_left, mut chunked, mut location) = (None, false, None);
        // HTTP/1.0 closes unless it says otherwise, 1.1 keeps unless it says otherwise.
        let mut closes = minor == 0;
        for header in &*response.headers {
            let value = || header.value.trim_ascii();
            let has = |word: &str| {
                tokens(value()).any(|token| token.eq_ignore_ascii_case(word.as_bytes()))
            };
            if header.name.eq_ignore_ascii_case("content-length") {
                let length =
                    std::str::from_utf8(value()).ok().and_then(|text| text.parse::<u64>().ok());
                let length = length.ok_or(Fault::NoHttp("its Content-Length is no number"))?;
                if bytes_left.is_some_and(|other| other != length) {
                    return Err(Fault::NoHttp("it has two lengths"));
                }
                bytes_left = Some(length);
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                chunked |= has("chunked");
            } else if header.name.eq_ignore_ascii_case("connection") {
                closes = has("close") || (closes && !has("keep-alive"));
            } else if header.name.eq_ignore_ascii_case("location") {
                location = Some(String::from_utf8_lossy(value()).into_owned());
            }
        }
        let body = match (status, chunked, bytes_left) {
            (204 | 304, ..) => ResponsePart::Whole,
            (_, true, _) => ResponsePart::Size { value: 0, seen: 0, digits: true },
            (_, false, Some(0)) => ResponsePart::Whole,
            (_, false, Some(bytes)) if bytes > MOST_BODY as u64 => return Err(Fault::TooLong),
            (_, false, Some(bytes)) => ResponsePart::Bytes(bytes),
            (_, false, None) => ResponsePart::UntilClosed,
        };
        closes |= body == ResponsePart::UntilClosed;
        Ok(Some(Self { length, status, closes, body, location }))
    }
}

/// What a list in a header holds.
fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// Where an answer sends its reader, by its first bytes; `None` where it sends him nowhere.
pub fn location(bytes: &[u8]) -> Option<String> {
    let head = ResponseHead::from_bytes(bytes).ok().flatten()?;
    if (300..400).contains(&head.status) { head.location } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an answer comes to that arrives in pieces of so many bytes: its status, its body, how many
    /// bytes were its own, and whether the connection is closed after it.
    fn read(text: &str, piece: usize) -> Result<(u16, String, usize, bool), Fault> {
        let (mut answer, mut body, mut own) = (IncomingResponse::default(), Vec::new(), 0);
        for bytes in text.as_bytes().chunks(piece) {
            match answer.take(bytes, &mut |part| body.extend_from_slice(part))? {
                Some(taken) => {
                    own += taken;
                    let body = String::from_utf8(body).unwrap();
                    return Ok((answer.status, body, own, answer.closes));
                }
                None => own += bytes.len(),
            }
        }
        assert!(answer.closed(), "{text:?} is not whole when the server closes");
        Ok((answer.status, String::from_utf8(body).unwrap(), own, answer.closes))
    }

    /// The same however it is cut into pieces.
    #[track_caller]
    fn assert_reads(text: &str, status: u16, body: &str, own: usize, closes: bool) {
        for piece in 1..=text.len() {
            let read = read(text, piece).unwrap();
            assert_eq!(read, (status, body.to_owned(), own, closes), "in pieces of {piece}");
        }
    }

    #[test]
    fn a_body_is_as_long_as_its_length_says() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nDate: x\r\n\r\nhello";
        assert_reads(text, 200, "hello", text.len(), false);
        let text = "HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n";
        assert_reads(text, 200, "", text.len(), false);
        assert_reads("HTTP/1.1 204 No Content\r\n\r\n", 204, "", 27, false);
    }

    #[test]
    fn what_comes_after_an_answer_is_not_its_own() {
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
        let text = format!("{whole}HTTP/1.1 200 OK\r\n");
        assert_eq!(read(&text, text.len()).unwrap().2, whole.len());
    }

    #[test]
    fn chunks_are_put_together() {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n\
                    4;name=value\r\nWiki\r\n1A\r\n, in chunks of any length.\r\n0\r\nExpires: never\r\n\r\n";
        assert_reads(text, 200, "Wiki, in chunks of any length.", text.len(), false);
    }

    #[test]
    fn without_a_length_it_ends_with_its_connection() {
        let text = "HTTP/1.0 200 OK\r\nServer: old\r\n\r\nall of it";
        assert_reads(text, 200, "all of it", text.len(), true);
    }

    #[test]
    fn a_server_says_whether_it_closes() {
        let closes = |version: &str, connection: &str| {
            let text = format!("HTTP/{version} 200 OK\r\nContent-Length: 1\r\n{connection}\r\n.");
            read(&text, 7).unwrap().3
        };
        assert!(!closes("1.1", "") && !closes("1.1", "Connection: Keep-Alive\r\n"));
        assert!(closes("1.1", "Connection: x, Close\r\n"));
        assert!(closes("1.0", "") && !closes("1.0", "connection: keep-alive\r\n"));
    }

    #[test]
    fn an_interim_answer_is_not_the_answer() {
        let text = "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!";
        assert_reads(text, 200, "!", text.len(), false);
    }

    #[test]
    fn what_is_no_answer_is_told_apart() {
        let chunked =
            |body: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        for (text, reason) in [
            ("SSH-2.0-OpenSSH_9.2p1\r\n".to_owned(), "does not begin"),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".into(), "no number"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n".into(),
                "two lengths",
            ),
            (chunked("\r\n"), "no size"),
            (chunked("x\r\n"), "no size"),
            (chunked("FFFFFFFFFFFFFFFFF\r\n"), "no size"),
            (chunked("1\r\nab\r\n"), "longer than its size"),
            (chunked("80000000\r\n"), "longer than 64 MiB"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n".into(), "longer than 64 MiB"),
            (format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(129)), "128 headers"),
            (format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(MOST_HEAD)), "64 KiB"),
        ] {
            let error = read(&text, 4096).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    /// However its head comes, nothing of it is kept beyond its end.
    #[test]
    fn an_answer_keeps_no_memory_for_the_next_one() {
        let text =
            format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 1\r\n\r\n.", "y".repeat(20_000));
        for piece in [1000, text.len()] {
            let mut answer = IncomingResponse::default();
            for bytes in text.as_bytes().chunks(piece) {
                answer.take(bytes, &mut |_| {}).unwrap();
            }
            assert_eq!((answer.status, answer.held.capacity()), (200, 0), "in pieces of {piece}");
        }
    }

    #[test]
    fn an_answer_may_send_elsewhere() {
        let to = |status: u16| {
            format!("HTTP/1.1 {status} x\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n")
        };
        assert_eq!(location(to(302).as_bytes()).as_deref(), Some("/there"));
        assert_eq!(location(to(201).as_bytes()), None);
    }
}
