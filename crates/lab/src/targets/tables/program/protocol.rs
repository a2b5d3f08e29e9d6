//! The lines between bakeoff and an application's own program. Nothing here reads or waits.

use std::borrow::Cow;

use thiserror::Error;

/// The most bytes of a line, without its end.
pub const MOST_LINE: usize = 4096;
/// The most whole lines that may wait to be read.
pub const MOST_UNREAD: usize = 1000;
const OP: &str = "write `op NAME START_NS END_NS ok`, or `error TEXT` at its end";
/// How many characters of a wrong line are shown.
const SHOWN: usize = 80;

/// What a program does that the protocol rules out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProtocolFault {
    #[error("it has written more than {MOST_UNREAD} lines that nobody has read")]
    Flood,
    #[error("it has written a line of more than {MOST_LINE} bytes")]
    LongLine,
    #[error("it has ended in the middle of the line `{0}`")]
    HalfLine(String),
    #[error("it says `{said}`, which can't be read: {why}")]
    WrongLine { said: String, why: &'static str },
    #[error("its first line is not `ready`")]
    NotReady,
    #[error("it says `{said}` where nothing was asked")]
    Unasked { said: String },
}

/// One line of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramReply {
    /// It has connected, and can be asked.
    Ready,
    /// The operation has been done.
    Done { rows: u64, bytes: u64 },
    /// The part of this operation that was the database's.
    InDatabase { statements: u64, micros: u64 },
    /// Transactions that it ran again in this operation.
    Retried(u64),
    /// The operation, or the reading of a key, has failed.
    Failed(String),
    /// It has chosen by itself to run an operation, at these times of `CLOCK_MONOTONIC`.
    Told { name: String, started_ns: u64, ended_ns: u64, error: Option<String> },
    /// The database has promised to keep this key.
    Acknowledged(String),
    /// After a power cut: the key is not there.
    Lost,
    /// After a power cut: a part of it is there.
    Torn,
}

impl ProgramReply {
    /// Reads a line without its end.
    pub fn from_line(line: &str) -> Result<Self, ProtocolFault> {
        let wrong = |why| ProtocolFault::WrongLine { said: shorten(line), why };
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut numbers = rest.split_ascii_whitespace().map(str::parse::<u64>);
        let reply = match word {
            "ready" => Self::Ready,
            "error" => return Ok(Self::Failed(rest.trim().to_owned())),
            "ack" => match rest.trim() {
                "" => return Err(wrong("write `ack` and a key")),
                key => return Ok(Self::Acknowledged(key.to_owned())),
            },
            "op" => return Self::from_told(rest).ok_or_else(|| wrong(OP)),
            "lost" => Self::Lost,
            "torn" => Self::Torn,
            "ok" => match (numbers.next(), numbers.next()) {
                (None, _) => Self::Done { rows: 0, bytes: 0 },
                (Some(Ok(rows)), Some(Ok(bytes))) => Self::Done { rows, bytes },
                _ => return Err(wrong("write `ok`, or `ok ROWS BYTES` with two whole numbers")),
            },
            "retry" => match numbers.next() {
                Some(Ok(times)) => Self::Retried(times),
                _ => return Err(wrong("write `retry` and a whole number")),
            },
            "database" => match (numbers.next(), numbers.next()) {
                (Some(Ok(statements)), Some(Ok(micros))) => Self::InDatabase { statements, micros },
                _ => return Err(wrong("write `database STATEMENTS MICROSECONDS`")),
            },
            _ => {
                let words = "valid are ready, ok, retry, database, ack, op, error, lost and torn";
                return Err(wrong(words));
            }
        };
        match numbers.next() {
            None => Ok(reply),
            Some(_) => Err(wrong("it has more words than it may have")),
        }
    }

    fn from_told(rest: &str) -> Option<Self> {
        let mut words = rest.splitn(4, ' ');
        let name = words.next()?.to_owned();
        let [started_ns, ended_ns] = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
        let error = match words.next()? {
            "ok" => None,
            failed => Some(failed.strip_prefix("error")?.trim().to_owned()),
        };
        Some(Self::Told { name, started_ns, ended_ns, error })
    }

    /// The word that it begins with.
    pub fn to_word(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Done { .. } => "ok",
            Self::Retried(_) => "retry",
            Self::Failed(_) => "error",
            Self::InDatabase { .. } => "database",
            Self::Told { .. } => "op",
            Self::Acknowledged(_) => "ack",
            Self::Lost => "lost",
            Self::Torn => "torn",
        }
    }
}

/// Collects bytes, and gives whole lines of them.
#[derive(Debug, Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    /// Where the next line begins.
    begin: usize,
    /// Whole lines from there on.
    unread: usize,
}

impl LineBuffer {
    pub fn add_bytes(&mut self, more: &[u8]) -> Result<(), ProtocolFault> {
        self.bytes.drain(..self.begin);
        self.begin = 0;
        self.bytes.extend_from_slice(more);
        self.unread += more.iter().filter(|byte| **byte == b'\n').count();
        if self.unread > MOST_UNREAD {
            return Err(ProtocolFault::Flood);
        }
        let unended = self.bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        if unended.len() > MOST_LINE { Err(ProtocolFault::LongLine) } else { Ok(()) }
    }

    /// `None`: no line is whole.
    pub fn take_reply(&mut self) -> Result<Option<ProgramReply>, ProtocolFault> {
        let Some(line) = self.take_line()? else { return Ok(None) };
        let reply = ProgramReply::from_line(&line)?;
        // Another key than the program's would be asked for after a power cut.
        match (&reply, &line) {
            (ProgramReply::Acknowledged(_), Cow::Owned(_)) => {
                let why = "a key is text in UTF-8";
                Err(ProtocolFault::WrongLine { said: shorten(&line), why })
            }
            _ => Ok(Some(reply)),
        }
    }

    fn take_line(&mut self) -> Result<Option<Cow<'_, str>>, ProtocolFault> {
        let rest = &self.bytes[self.begin..];
        let Some(length) = rest.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        if length > MOST_LINE {
            return Err(ProtocolFault::LongLine);
        }
        let line = &rest[..length];
        self.begin += length + 1;
        self.unread -= 1;
        Ok(Some(String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line))))
    }

    /// Nothing may be there: the program waits for a question.
    pub fn check_quiet(&self) -> Result<(), ProtocolFault> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(ProtocolFault::Unasked { said: self.shorten_rest() }),
        }
    }

    /// Nothing comes after this.
    pub fn check_end(&self) -> Result<(), ProtocolFault> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(ProtocolFault::HalfLine(self.shorten_rest())),
        }
    }

    fn is_empty(&self) -> bool {
        self.begin == self.bytes.len()
    }

    fn shorten_rest(&self) -> String {
        let rest = &self.bytes[self.begin..];
        let first = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        shorten(&String::from_utf8_lossy(first))
    }
}

fn shorten(line: &str) -> String {
    let shown = |text: &str| text.escape_debug().to_string();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", shown(&line[..end])),
        None => shown(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<ProgramReply, String> {
        ProgramReply::from_line(line).map_err(|fault| fault.to_string())
    }

    #[test]
    fn lines_are_read_and_wrong_ones_are_told() {
        let told =
            |error| ProgramReply::Told { name: "buy".into(), started_ns: 17, ended_ns: 29, error };
        for (line, reply) in [
            ("ready", ProgramReply::Ready),
            ("ok", ProgramReply::Done { rows: 0, bytes: 0 }),
            ("ok 3  120", ProgramReply::Done { rows: 3, bytes: 120 }),
            ("retry 2", ProgramReply::Retried(2)),
            ("database 9 40", ProgramReply::InDatabase { statements: 9, micros: 40 }),
            ("error no such row", ProgramReply::Failed("no such row".into())),
            ("ack order 7 of 9", ProgramReply::Acknowledged("order 7 of 9".into())),
            ("lost", ProgramReply::Lost),
            ("op buy 17 29 ok", told(None)),
            ("op buy 17 29 error no row", told(Some("no row".into()))),
        ] {
            assert_eq!(read(line), Ok(reply), "{line}");
        }
        for (line, why) in [
            ("", "valid are"),
            ("okay 1 2", "valid are"),
            ("ok 3", "two whole numbers"),
            ("ack", "a key"),
            ("op buy 17 29", "START_NS"),
            ("op buy 17 29 perhaps", "START_NS"),
            ("op buy 17 -29 ok", "START_NS"),
            ("torn apart", "more words"),
            ("ok -1 2", "two whole numbers"),
            ("ok 1 2 3", "more words"),
            ("database 9", "STATEMENTS MICROSECONDS"),
            ("retry 99999999999999999999", "a whole number"),
        ] {
            let told = read(line).expect_err(line);
            assert!(told.contains(why) && told.contains(&format!("`{line}`")), "{line}: {told}");
        }
    }

    #[test]
    fn bytes_become_lines_wherever_they_are_parted() {
        let all = b"ready\nok 1 2\r\nretry 1\n";
        for at in 0..all.len() {
            let (mut lines, mut replies) = (LineBuffer::default(), Vec::new());
            for part in [&all[..at], &all[at..]] {
                lines.add_bytes(part).unwrap();
                replies.extend(std::iter::from_fn(|| lines.take_reply().unwrap()));
            }
            assert_eq!(replies.len(), 3, "{at}");
            assert_eq!((lines.check_quiet(), lines.check_end()), (Ok(()), Ok(())));
        }
    }

    #[test]
    fn floods_long_lines_and_half_lines_are_faults() {
        let added = |bytes: &[u8]| {
            let mut lines = LineBuffer::default();
            lines.add_bytes(bytes).map(|()| lines)
        };
        assert!(added(&b"ok\n".repeat(MOST_UNREAD)).is_ok());
        assert_eq!(added(&b"ok\n".repeat(MOST_UNREAD + 1)).err(), Some(ProtocolFault::Flood));
        assert!(added(&b"x".repeat(MOST_LINE)).is_ok());
        assert_eq!(added(&b"x".repeat(MOST_LINE + 1)).err(), Some(ProtocolFault::LongLine));
        let whole = [&b"x".repeat(MOST_LINE + 1)[..], b"\n"].concat();
        assert_eq!(added(&whole).unwrap().take_reply(), Err(ProtocolFault::LongLine));
        let mut half = added(b"ok\nok 1").unwrap();
        assert_eq!(half.take_reply(), Ok(Some(ProgramReply::Done { rows: 0, bytes: 0 })));
        assert_eq!(half.check_quiet(), Err(ProtocolFault::Unasked { said: "ok 1".into() }));
        assert_eq!(half.check_end(), Err(ProtocolFault::HalfLine("ok 1".into())));
        for wrong in [&b"\xff\n"[..], b"ack \xff\n"] {
            assert!(added(wrong).unwrap().take_reply().is_err());
        }
    }
}
