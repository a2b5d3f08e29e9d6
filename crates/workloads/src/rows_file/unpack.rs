//! Unpacks gzip and zstd, recognised by their first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

pub fn unpack<'a>(mut source: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut head = Vec::new();
    source.by_ref().take(4).read_to_end(&mut head)?;
    let packing = [("gzip", GZIP), ("zstd", ZSTD)].into_iter().find(|it| head.starts_with(it.1));
    let whole = BufReader::new(Cursor::new(head).chain(source));
    Ok(match packing {
        Some(("gzip", _)) => Box::new(Packed { inner: MultiGzDecoder::new(whole), name: "gzip" }),
        Some(_) => Box::new(Packed { inner: Frames::from_source(whole), name: "zstd" }),
        None => Box::new(whole),
    })
}

struct Packed<R> {
    inner: R,
    name: &'static str,
}

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| match error.raw_os_error() {
            Some(_) => error,
            None => {
                let what = format!("its {} data are broken or cut short: {error}", self.name);
                io::Error::new(error.kind(), what)
            }
        })
    }
}

struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> Frames<R> {
    fn from_source(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), inside: false }
    }

    fn begin_frame(&mut self) -> io::Result<()> {
        match self.decoder.reset(&mut self.source) {
            Ok(()) => self.inside = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
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
