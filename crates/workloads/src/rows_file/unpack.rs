//! Unpacks gzip and zstd, recognised by their first bytes; tells what other files are.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::rc::Rc;

use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::file_kind::{FileKind, HEAD_BYTES};

const MIB: u64 = 1 << 20;

/// Packed text is seldom less than a hundredth of it: gzip makes a thousandth of equal bytes alone.
const LARGEST_RATIO: u64 = 200;

/// Bytes that take seconds to read, whatever they were packed into.
const ANY_RATIO: u64 = 512 * MIB;

/// Fails for what can't be rows.
pub fn unpack<'a>(source: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    unpack_within(source, ANY_RATIO)
}

/// `any_ratio`: so many bytes may be packed into whatever few.
pub(super) fn unpack_within<'a>(
    source: impl Read + 'a,
    any_ratio: u64,
) -> io::Result<Box<dyn Read + 'a>> {
    let packed = Rc::new(Cell::new(0));
    let source = CountingReader { inner: source, count: Rc::clone(&packed) };
    let mut whole = HeldReader::new(source);
    if let Some(error) = whole.error.take() {
        return Err(error);
    }
    let packed: Box<dyn Read + 'a> = match FileKind::from_head(whole.head.get_ref()) {
        Some(FileKind::Packed("gzip", _)) => Box::new(Packed {
            inner: GzipMembers::from_source(BufReader::new(whole)),
            name: "gzip",
            ratio: PackingRatio { packed, unpacked: 0, any_ratio },
        }),
        Some(FileKind::Packed("zstd", _)) => Box::new(Packed {
            inner: Frames::from_source(BufReader::new(whole)),
            name: "zstd",
            ratio: PackingRatio { packed, unpacked: 0, any_ratio },
        }),
        Some(kind) => {
            return Err(unsupported_error(format!(
                "it is {}",
                kind.in_words(", or pack it with gzip or zstd")
            )));
        }
        None => return Ok(Box::new(whole)),
    };
    let whole = HeldReader::new(packed);
    match FileKind::from_head(whole.head.get_ref()) {
        Some(kind) => {
            Err(unsupported_error(format!("what is packed in it is {}", kind.in_words(""))))
        }
        None => Ok(Box::new(whole)),
    }
}

/// An error that says all that there is to say.
fn unsupported_error(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what.into())
}

/// A reader whose first bytes are known, and the error that came behind them.
struct HeldReader<R> {
    head: Cursor<Vec<u8>>,
    error: Option<io::Error>,
    rest: R,
}

impl<R: Read> HeldReader<R> {
    fn new(mut rest: R) -> Self {
        let mut head = Vec::new();
        let error = rest.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head).err();
        Self { head: Cursor::new(head), error, rest }
    }
}

impl<R: Read> Read for HeldReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match (self.head.read(buffer)?, self.error.take()) {
            (0, Some(error)) => Err(error),
            (0, None) => self.rest.read(buffer),
            (count, error) => {
                self.error = error;
                Ok(count)
            }
        }
    }
}

struct CountingReader<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

struct PackingRatio {
    packed: Rc<Cell<u64>>,
    unpacked: u64,
    any_ratio: u64,
}

impl PackingRatio {
    /// Refuses a small file that would be read for hours.
    fn add_unpacked(&mut self, bytes: usize) -> io::Result<()> {
        self.unpacked += bytes as u64;
        let packed = self.packed.get();
        if self.unpacked > self.any_ratio && self.unpacked > packed.saturating_mul(LARGEST_RATIO) {
            return Err(unsupported_error(format!(
                "are over {LARGEST_RATIO} times as long as packed, {} MiB so far: that is no text; \
                 if it is meant, unpack it first",
                self.unpacked / MIB
            )));
        }
        Ok(())
    }
}

struct Packed<R> {
    inner: R,
    name: &'static str,
    ratio: PackingRatio,
}

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let name = self.name;
        let read = self.inner.read(buffer);
        let read = read.and_then(|read| self.ratio.add_unpacked(read).map(|()| read));
        read.map_err(|error| match (error.raw_os_error(), error.kind()) {
            (Some(_), _) => error,
            (None, io::ErrorKind::Unsupported) => {
                unsupported_error(format!("its {name} data {error}"))
            }
            (None, kind) => {
                io::Error::new(kind, format!("its {name} data are broken or cut short: {error}"))
            }
        })
    }
}

const FOLLOWED: &str = "are followed by bytes of another kind: take those away";

/// The members of a file, one after the other. As gzip does, it passes over zeros behind the last.
struct GzipMembers<R> {
    /// `None` at the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn from_source(source: R) -> Self {
        Self { member: Some(GzDecoder::new(source)) }
    }

    /// Goes to the next member.
    fn begin_member(&mut self) -> io::Result<()> {
        let Some(member) = self.member.take() else { return Ok(()) };
        let mut source = member.into_inner();
        let is_padded = skip_zeros(&mut source)?;
        match source.fill_buf()?.first() {
            None => Ok(()),
            Some(0x1f) if !is_padded => {
                self.member = Some(GzDecoder::new(source));
                Ok(())
            }
            Some(_) => Err(unsupported_error(FOLLOWED)),
        }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            match member.read(buffer)? {
                0 => self.begin_member()?,
                count => return Ok(count),
            }
        }
        Ok(0)
    }
}

/// Returns whether there was one.
fn skip_zeros(source: &mut impl BufRead) -> io::Result<bool> {
    let mut any = false;
    loop {
        let zeros = source.fill_buf()?.iter().take_while(|byte| **byte == 0).count();
        if zeros == 0 {
            return Ok(any);
        }
        source.consume(zeros);
        any = true;
    }
}

struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    inside: bool,
    /// Whether a frame was read.
    begun: bool,
}

impl<R: BufRead> Frames<R> {
    fn from_source(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), inside: false, begun: false }
    }

    fn begin_frame(&mut self) -> io::Result<()> {
        match self.decoder.reset(&mut self.source) {
            Ok(()) => (self.inside, self.begun) = (true, true),
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
            }
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::BadMagicNumber(
                _,
            ))) if self.begun => return Err(unsupported_error(FOLLOWED)),
            Err(FrameDecoderError::WindowSizeTooBig { requested, max }) => {
                return Err(unsupported_error(format!(
                    "have a window of {} MiB, and bakeoff takes {} MiB at most: pack it without `--long`",
                    requested / MIB,
                    max / MIB
                )));
            }
            Err(FrameDecoderError::DictNotProvided { .. }) => {
                return Err(unsupported_error(
                    "need a dictionary, which bakeoff has not: pack it without",
                ));
            }
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(())
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.inside = false;
        let said = self.decoder.get_checksum_from_data();
        if said.is_some() && said != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("a checksum is wrong"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.inside {
                if self.source.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.begin_frame()?;
                continue;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, one).map_err(io::Error::other)?;
            }
            match self.decoder.read(buffer)? {
                0 => self.end_frame()?,
                count => return Ok(count),
            }
        }
    }
}
