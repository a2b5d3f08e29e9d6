//! The text of a dump, byte by byte, with its places.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use bakeoff_workloads::unpack;

use super::faults::RowPlace;

const BUFFERED: u64 = 1 << 16;

/// A dump that is read as a stream.
pub struct DumpText {
    source: Box<dyn Read>,
    buffer: Vec<u8>,
    /// Of the next byte in the buffer.
    at: usize,
    /// What came behind the bytes of the buffer.
    failure: Option<String>,
    /// As messages name it.
    pub shown: String,
    /// Of the next byte.
    pub place: RowPlace,
}

impl DumpText {
    pub fn open(path: &Path) -> Result<Self, String> {
        let shown = path.display().to_string();
        let failed = |error: std::io::Error| format!("{shown}: can't be read: {error}");
        let file = File::open(path).map_err(failed)?;
        if file.metadata().is_ok_and(|data| !data.is_file()) {
            return Err(format!("{shown}: is no file: name a dump, or a database by URL"));
        }
        let source = unpack(file).map_err(failed)?;
        let place = RowPlace { line: 1, column: 1 };
        Ok(Self { source, buffer: Vec::new(), at: 0, failure: None, shown, place })
    }

    /// An error at a place.
    pub fn explain_at(&self, place: RowPlace, what: &str) -> String {
        format!("{}:{}:{}: {what}", self.shown, place.line, place.column)
    }

    /// What is said where the text ends and should go on.
    pub fn explain_end(&self, inside: &str) -> String {
        let what = format!("the dump ends inside {inside}: it was cut off; make it again");
        self.explain_at(self.place, &what)
    }

    /// The bytes that come next: at least so many, but for the end.
    fn fill(&mut self, least: usize) -> Result<&[u8], String> {
        while self.buffer.len() - self.at < least {
            self.buffer.drain(..self.at);
            self.at = 0;
            match &self.failure {
                None => {}
                Some(_) if !self.buffer.is_empty() => break,
                Some(what) => return Err(self.explain_at(self.place, what)),
            }
            match self.source.by_ref().take(BUFFERED).read_to_end(&mut self.buffer) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => self.failure = Some(format!("{error}; make the dump again")),
            }
        }
        Ok(&self.buffer[self.at..])
    }

    pub fn peek(&mut self) -> Result<Option<u8>, String> {
        Ok(self.fill(1)?.first().copied())
    }

    pub fn next(&mut self) -> Result<Option<u8>, String> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.at += 1;
            self.pass(byte);
        }
        Ok(byte)
    }

    fn pass(&mut self, byte: u8) {
        match byte {
            b'\n' => self.place = RowPlace { line: self.place.line + 1, column: 1 },
            // Bytes of a character behind its first.
            0x80..=0xbf => {}
            _ => self.place.column = self.place.column.saturating_add(1),
        }
    }

    /// A byte that has to be there.
    pub fn need(&mut self, inside: &str) -> Result<u8, String> {
        self.next()?.ok_or_else(|| self.explain_end(inside))
    }

    /// Goes behind a byte if it is the next.
    pub fn take(&mut self, byte: u8) -> Result<bool, String> {
        let is_next = self.peek()? == Some(byte);
        if is_next {
            self.next()?;
        }
        Ok(is_next)
    }

    /// Reads to the end of the line, which is not kept; whether there was one.
    pub fn read_line(&mut self, line: &mut Vec<u8>) -> Result<bool, String> {
        line.clear();
        loop {
            let bytes = self.fill(1)?;
            let (count, ends) = match bytes.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at, true),
                None => (bytes.len(), false),
            };
            if count == 0 && !ends {
                return Ok(false);
            }
            line.extend_from_slice(&bytes[..count]);
            self.at += count + usize::from(ends);
            if ends {
                self.place = RowPlace { line: self.place.line + 1, column: 1 };
                return Ok(true);
            }
        }
    }

    pub fn skip_blanks(&mut self) -> Result<(), String> {
        while self.peek()?.is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.next()?;
        }
        Ok(())
    }

    /// Letters, digits, `_` and `$`, or what is not ASCII.
    pub fn read_word(&mut self) -> Result<String, String> {
        let mut word = Vec::new();
        let belongs =
            |byte: u8| byte.is_ascii_alphanumeric() || b"_$".contains(&byte) || byte > 127;
        while let Some(byte) = self.peek()?.filter(|byte| belongs(*byte)) {
            word.push(byte);
            self.next()?;
        }
        Ok(String::from_utf8_lossy(&word).into_owned())
    }

    /// What stands before a quote, which may be doubled, and is read already. A backslash gives the
    /// byte behind it another meaning, if the dump has such.
    pub fn read_quoted(
        &mut self,
        quote: u8,
        backslashes: bool,
        text: &mut Vec<u8>,
    ) -> Result<(), String> {
        loop {
            match self.need("a text")? {
                b'\\' if backslashes => text.push(match self.need("a text")? {
                    b'0' => 0,
                    b'b' => 8,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'Z' => 26,
                    other => other,
                }),
                byte if byte == quote => match self.take(quote)? {
                    true => text.push(quote),
                    false => return Ok(()),
                },
                byte => text.push(byte),
            }
        }
    }

    /// Goes behind a comment, if there is one; gives its text if it goes to the end of the line.
    pub fn take_comment(&mut self) -> Result<Option<String>, String> {
        let head = self.fill(2)?;
        if head.starts_with(b"--") {
            let mut line = Vec::new();
            self.read_line(&mut line)?;
            return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
        }
        if !head.starts_with(b"/*") {
            return Ok(None);
        }
        self.next()?;
        self.skip_block_comment()?;
        Ok(Some(String::new()))
    }

    /// Behind its `/`.
    fn skip_block_comment(&mut self) -> Result<(), String> {
        self.next()?;
        let mut last = 0;
        loop {
            let byte = self.need("a comment")?;
            if (last, byte) == (b'*', b'/') {
                return Ok(());
            }
            last = byte;
        }
    }

    /// Goes behind the next `;`, and keeps the statement's text up to a limit.
    pub fn skip_statement(&mut self, text: &mut Vec<u8>, backslashes: bool) -> Result<(), String> {
        const MOST: usize = 1 << 20;
        loop {
            let before = text.len();
            match self.need("a statement")? {
                b';' => return Ok(()),
                quote @ (b'\'' | b'"' | b'`') => {
                    let mut inner = Vec::new();
                    self.read_quoted(quote, backslashes && quote == b'\'', &mut inner)?;
                    text.push(quote);
                    for byte in inner {
                        text.push(byte);
                        text.extend((byte == quote).then_some(quote));
                    }
                    text.push(quote);
                }
                b'-' if self.peek()? == Some(b'-') => {
                    self.read_line(&mut Vec::new())?;
                    text.push(b'\n');
                }
                b'/' if self.peek()? == Some(b'*') => {
                    self.skip_block_comment()?;
                    text.push(b' ');
                }
                b'$' => self.skip_dollars(text)?,
                byte => text.push(byte),
            }
            if text.len() > MOST {
                text.truncate(before.min(MOST));
            }
        }
    }

    /// `$tag$ … $tag$`, whose first sign was read.
    fn skip_dollars(&mut self, text: &mut Vec<u8>) -> Result<(), String> {
        let mut tag = Vec::new();
        while let Some(byte) = self.peek()?.filter(|it| it.is_ascii_alphanumeric() || *it == b'_') {
            tag.push(byte);
            self.next()?;
        }
        if !self.take(b'$')? {
            text.extend_from_slice(&tag);
            return Ok(());
        }
        let end = [b"$", &tag[..], b"$"].concat();
        let mut last = Vec::new();
        while last != end {
            last.push(self.need("a text between dollars")?);
            if last.len() > end.len() {
                last.remove(0);
            }
        }
        Ok(())
    }
}
