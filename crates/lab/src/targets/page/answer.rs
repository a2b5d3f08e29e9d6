//! Parses an answer of HTTP/1.1 or 1.0 in pieces of any size (RFC 9112, sections 2 to 8).

use httparse::{EMPTY_HEADER, ParserConfig, Response, Status};

use super::MOST_BODY;
use super::fault::Fault;

const MOST_HEADERS: usize = 128;
const MOST_HEAD: usize = 64 << 10;
const MOST_LINE: usize = 4096;

#[derive(Debug, Default)]
pub struct IncomingResponse {
    /// If the head came in pieces.
    held: Vec<u8>,
    part: ResponsePart,
    pub status: u16,
    /// Valid once the head is whole.
    pub closes: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ResponsePart {
    #[default]
    Head,
    /// Bytes of the body still to come.
    Bytes(u64),
    UntilClosed,
    /// The line with a chunk's size: the value so far, and its bytes so far.
    Size {
        value: u64,
        seen: usize,
        within: SizeLine,
    },
    Chunk(u64),
    /// Bytes to come of the line's end after a chunk.
    ChunkEnd(u8),
    /// Lines after the last chunk: the bytes of this line so far.
    Trailer(usize),
    Whole,
}

/// Source: RFC 9112, 7.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SizeLine {
    #[default]
    Digits,
    Blanks,
    /// After a semicolon come words that nobody needs.
    Extension,
}

#[derive(Debug, PartialEq, Eq)]
struct ResponseHead {
    length: usize,
    status: u16,
    closes: bool,
    body: ResponsePart,
    location: Option<String>,
}

impl IncomingResponse {
    /// Gives the body's bytes to `body`. Returns how many bytes belong to this answer once it is
    /// whole, `None` before.
    pub fn take_bytes(
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
                ResponsePart::Head => self.take_head(rest)?,
                ResponsePart::Bytes(left) => self.bytes(rest, left, body),
                ResponsePart::UntilClosed => {
                    body(rest);
                    rest.len()
                }
                ResponsePart::Size { value, seen, within } => {
                    self.take_size_byte(rest[0], value, seen, within)?
                }
                ResponsePart::Chunk(left) => self.chunk(rest, left, body),
                ResponsePart::ChunkEnd(left) => self.chunk_end(rest[0], left)?,
                ResponsePart::Trailer(seen) => self.take_trailer_byte(rest[0], seen)?,
                ResponsePart::Whole => 0,
            };
        }
        Ok(Some(at))
    }

    /// Returns whether the answer is whole now that the server has closed.
    pub fn closed(&mut self) -> bool {
        self.closes = true;
        matches!(self.part, ResponsePart::UntilClosed | ResponsePart::Whole)
    }

    pub fn is_unbegun(&self) -> bool {
        self.part == ResponsePart::Head && self.held.is_empty()
    }

    pub fn renew(&mut self) {
        self.held = Vec::new();
        self.part = ResponsePart::Head;
    }

    fn take_head(&mut self, rest: &[u8]) -> Result<usize, Fault> {
        if self.held.is_empty()
            && let Some(head) = ResponseHead::from_bytes(rest)?
        {
            return Ok(self.begin_body(head));
        }
        let before = self.held.len();
        self.held.extend_from_slice(rest);
        match ResponseHead::from_bytes(&self.held)? {
            // The head ends in `rest`: what was held before had no end.
            Some(head) => {
                let length = self.begin_body(head);
                // Frees it: ten thousand waiting connections must keep no memory for it.
                self.held = Vec::new();
                Ok(length - before)
            }
            None if self.held.len() > MOST_HEAD => {
                Err(Fault::NoHttp("its head is longer than 64 KiB"))
            }
            None => Ok(rest.len()),
        }
    }

    /// Returns the head's length. An interim answer is followed by the one that counts.
    fn begin_body(&mut self, head: ResponseHead) -> usize {
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

    /// A byte of a chunk's size line.
    fn take_size_byte(
        &mut self,
        byte: u8,
        value: u64,
        seen: usize,
        within: SizeLine,
    ) -> Result<usize, Fault> {
        use SizeLine::{Blanks, Digits, Extension};
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
            (_, Some(digit)) if within == Digits => {
                let Some(higher) = value.checked_mul(16) else { return wrong };
                ResponsePart::Size { value: higher + u64::from(digit), seen, within }
            }
            // The line must begin with a digit.
            _ if seen == 1 => return wrong,
            _ if within == Extension => ResponsePart::Size { value, seen, within },
            (b';', _) => ResponsePart::Size { value, seen, within: Extension },
            (b' ' | b'\t' | b'\r', _) => ResponsePart::Size { value, seen, within: Blanks },
            _ => return wrong,
        };
        Ok(1)
    }

    fn chunk_end(&mut self, byte: u8, left: u8) -> Result<usize, Fault> {
        self.part = match (left, byte) {
            (2, b'\r') => ResponsePart::ChunkEnd(1),
            (1, b'\n') => ResponsePart::Size { value: 0, seen: 0, within: SizeLine::Digits },
            _ => return Err(Fault::NoHttp("a chunk of its body is longer than its size")),
        };
        Ok(1)
    }

    /// A byte of the lines after the last chunk; an empty line ends them.
    fn take_trailer_byte(&mut self, byte: u8, seen: usize) -> Result<usize, Fault> {
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

fn part_of(rest: &[u8], left: u64) -> (&[u8], u64) {
    let taken = &rest[..rest.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
    (taken, left - taken.len() as u64)
}

impl ResponseHead {
    fn from_bytes(bytes: &[u8]) -> Result<Option<Self>, Fault> {
        let mut headers = [EMPTY_HEADER; MOST_HEADERS];
        let mut response = Response::new(&mut headers);
        let length = match make_lenient_parser().parse_response(&mut response, bytes) {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(None),
            Err(error) => return Err(Fault::NoHttp(explain_head_error(error))),
        };
        let (status, minor) = (response.code.unwrap_or(0), response.version.unwrap_or(0));
        let (mut bytes_left, mut chunked, mut location) = (None, false, None);
        let (mut says_close, mut says_keep) = (false, false);
        for header in &*response.headers {
            let value = || header.value.trim_ascii();
            let has = |word: &str| {
                list_tokens(value()).any(|token| token.eq_ignore_ascii_case(word.as_bytes()))
            };
            if header.name.eq_ignore_ascii_case("content-length") {
                // Digits alone: a number of Rust may begin with a plus.
                let digits = value().iter().all(u8::is_ascii_digit).then(value);
                let text = digits.and_then(|digits| std::str::from_utf8(digits).ok());
                let length = text.and_then(|text| text.parse::<u64>().ok());
                let length = length.ok_or(Fault::NoHttp("its Content-Length is no number"))?;
                if bytes_left.is_some_and(|other| other != length) {
                    return Err(Fault::NoHttp("it has two lengths"));
                }
                bytes_left = Some(length);
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                chunked |= has("chunked");
            } else if header.name.eq_ignore_ascii_case("connection") {
                says_close |= has("close");
                says_keep |= has("keep-alive");
            } else if header.name.eq_ignore_ascii_case("location") {
                let text = String::from_utf8_lossy(value());
                location = Some(text.replace(['\r', '\n'], " "));
            }
        }
        let body = match (status, chunked, bytes_left) {
            (204 | 304, ..) => ResponsePart::Whole,
            (_, true, _) => ResponsePart::Size { value: 0, seen: 0, within: SizeLine::Digits },
            (_, false, Some(0)) => ResponsePart::Whole,
            (_, false, Some(bytes)) if bytes > MOST_BODY as u64 => return Err(Fault::TooLong),
            (_, false, Some(bytes)) => ResponsePart::Bytes(bytes),
            (_, false, None) => ResponsePart::UntilClosed,
        };
        // HTTP/1.0 closes by default, 1.1 keeps the connection.
        let closes = says_close || minor == 0 && !says_keep || body == ResponsePart::UntilClosed;
        Ok(Some(Self { length, status, closes, body, location }))
    }
}

/// Reads what RFC 9112 asks of user agents, too: folded lines (5.2), and a blank before a colon (5.1).
fn make_lenient_parser() -> ParserConfig {
    let mut parser = ParserConfig::default();
    parser
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true);
    parser
}

fn explain_head_error(error: httparse::Error) -> &'static str {
    use httparse::Error::{HeaderName, HeaderValue, NewLine, Status, TooManyHeaders};
    match error {
        TooManyHeaders => "it has more than 128 headers",
        HeaderName => "a line of its head does not begin with a name and a colon",
        HeaderValue | NewLine => "a line of its head holds a control character",
        Status => "its first line has no status of three digits",
        _ => "it does not begin like an answer of HTTP/1",
    }
}

fn list_tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

pub fn redirect_location(bytes: &[u8]) -> Option<String> {
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
            match answer.take_bytes(bytes, &mut |part| body.extend_from_slice(part))? {
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
    #[test]
    fn an_answer_is_read_to_its_end_in_whatever_pieces_it_comes() {
        const NEXT: &str = "HTTP/1.1 200 OK\r\n";
        let long = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4 ;name=value\r\nWiki\r\n\
                    1A\r\n, in chunks of any length.\r\n0\r\nExpires: never\r\n\r\n";
        let body = "Content-Length: 2\r\n\r\nhi";
        for (text, status, body, closes) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nDate: x\r\n\r\nhello", 200, "hello", false),
            ("HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n", 200, "", false),
            ("HTTP/1.1 204 No Content\r\n\r\n", 204, "", false),
            (long, 200, "Wiki, in chunks of any length.", false),
            // Without a length it ends with its connection.
            ("HTTP/1.0 200 OK\r\nServer: old\r\n\r\nall of it", 200, "all of it", true),
            // An interim answer is not the answer.
            (
                &format!("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n{body}"),
                200,
                "hi",
                false,
            ),
            (&format!("HTTP/1.1 200 OK\r\nConnection: Keep-Alive\r\n{body}"), 200, "hi", false),
            (&format!("HTTP/1.1 200 OK\r\nConnection: x, Close\r\n{body}"), 200, "hi", true),
            // Folded lines, and a blank before the colon.
            (
                &format!("HTTP/1.1 200 OK\r\nX-A: b\r\n  c\r\nServer : x\r\n{body}"),
                200,
                "hi",
                false,
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length:\r\n\t2\r\nConnection: x,\r\n close\r\n\r\nhi",
                200,
                "hi",
                true,
            ),
            (
                &format!(
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nConnection: keep-alive\r\n{body}"
                ),
                200,
                "hi",
                true,
            ),
            (&format!("HTTP/1.0 200 OK\r\n{body}"), 200, "hi", true),
            (&format!("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n{body}"), 200, "hi", false),
        ] {
            let wanted = (status, body.to_owned(), text.len(), closes);
            for piece in 1..=text.len() {
                assert_eq!(read(text, piece).as_ref(), Ok(&wanted), "in pieces of {piece}");
            }
            if !closes {
                // What comes after an answer is not its own.
                assert_eq!(read(&format!("{text}{NEXT}"), 4096), Ok(wanted));
            }
        }
    }

    #[test]
    fn what_is_no_answer_is_told_apart() {
        let chunked =
            |body: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        for (text, reason) in [
            ("SSH-2.0-OpenSSH_9.2p1\r\n".to_owned(), "does not begin"),
            ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n".into(), "does not begin with a name"),
            ("HTTP/1.1 200 OK\r\n folded: x\r\n\r\n".into(), "does not begin with a name"),
            ("HTTP/1.1 200 OK\r\nX: \0\r\n\r\n".into(), "control character"),
            ("HTTP/1.1 2x0 OK\r\n\r\n".into(), "no status"),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".into(), "no number"),
            ("HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello".into(), "no number"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello".into(), "no number"),
            ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello".into(), "no number"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n".into(),
                "two lengths",
            ),
            (chunked("\r\n"), "no size"),
            (chunked("x\r\n"), "no size"),
            (chunked("0x5\r\nhello\r\n0\r\n\r\n"), "no size"),
            (chunked("+5\r\nhello\r\n0\r\n\r\n"), "no size"),
            (chunked("5 5\r\nhello\r\n0\r\n\r\n"), "no size"),
            (chunked("5,\r\nhello\r\n0\r\n\r\n"), "no size"),
            (chunked("FFFFFFFFFFFFFFFFF\r\n"), "no size"),
            (chunked("1\r\nab\r\n"), "longer than its size"),
            (chunked("80000000\r\n"), "longer than 64 MiB"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n".into(), "longer than 64 MiB"),
            (format!("HTTP/1.1 200 OK\r\n{}", "X: y\r\n".repeat(130)), "128 headers"),
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
                answer.take_bytes(bytes, &mut |_| {}).unwrap();
            }
            assert_eq!((answer.status, answer.held.capacity()), (200, 0), "in pieces of {piece}");
        }
    }

    #[test]
    fn an_answer_may_send_elsewhere() {
        let to = |status: u16| {
            format!("HTTP/1.1 {status} x\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n")
        };
        assert_eq!(redirect_location(to(302).as_bytes()).as_deref(), Some("/there"));
        assert_eq!(redirect_location(to(201).as_bytes()), None);
    }
}
