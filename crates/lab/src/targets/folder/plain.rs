//! One read after the other, by plain calls.

use std::os::unix::fs::FileExt;

use bakeoff_load::{Client, Done, Work};

use super::file::{Blocks, Buffers, DataFile};

/// A client with one request in flight.
pub struct Reader<'a> {
    file: &'a DataFile,
    blocks: Blocks,
    buffer: Buffers,
}

impl<'a> Reader<'a> {
    /// Reads these blocks of the file.
    pub fn new(file: &'a DataFile, blocks: Blocks) -> Self {
        let buffer = Buffers::new(1, file.block);
        Self { file, blocks, buffer }
    }
}

impl Client for Reader<'_> {
    fn choose(&mut self) -> usize {
        0
    }

    fn operate(&mut self, _: usize) -> Done {
        let offset = self.blocks.next_offset();
        let read = self.file.file.read_exact_at(self.buffer.block(0), offset);
        let work = Work { bytes: self.file.block as u64, ..Work::default() };
        Done { error: read.err().map(|error| error.to_string()), work, ..Done::default() }
    }
}
