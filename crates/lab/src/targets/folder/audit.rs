//! Audits files after a power cut against what clients claimed.
//!
//! What a sync covered is durable when the sync has returned. A block must hold that write, or one
//! that may be later: any that had not returned before the covered write was issued. Nothing else
//! is promised. A write without sync may be there, or not, or in part, since a device promises only
//! whole sectors.

use std::os::unix::fs::FileExt;

use bakeoff_workloads::AuditFindings;

use super::claims::{BlockClaims, BlockWrite};
use super::content::{DataFileContent, PAGE};
use super::files::{AlignedBuffers, BlockLocation, DataFiles};

const SECTOR: usize = 512;
const MOST_EXAMPLES: usize = 5;

pub fn audit_files(
    files: &DataFiles,
    content: &DataFileContent,
    account: &BlockClaims,
) -> std::io::Result<AuditFindings> {
    let mut buffer = AlignedBuffers::new(1, files.block);
    let (mut findings, mut scratch) = (AuditFindings::default(), [0; PAGE]);
    for block in 0..files.blocks() {
        let (spot, bytes) = (files.locate_block(block), buffer.block(0));
        files.files[spot.file].read_exact_at(bytes, spot.offset)?;
        let may = May::from_writes(account.writes(block));
        let held = block_contents(content, bytes, spot.page, &may, &mut scratch);
        note_faults(&mut findings, held, spot, &may);
    }
    Ok(findings)
}

struct May<'a> {
    writes: &'a [BlockWrite],
    newest_ns: Option<u64>,
}

impl<'a> May<'a> {
    fn from_writes(writes: &'a [BlockWrite]) -> Self {
        let durable = writes.iter().filter(|write| write.durable_ns.is_some());
        Self { writes, newest_ns: durable.map(|write| write.issued_ns).max() }
    }

    /// `None` is the content before all writes.
    fn show(&self, write: Option<&BlockWrite>) -> bool {
        let Some(newest_ns) = self.newest_ns else { return true };
        write.is_some_and(|write| {
            write.issued_ns >= newest_ns || write.returned_ns.is_none_or(|at| at > newest_ns)
        })
    }

    /// When a sync of a lost write had returned, if no write that may show is left.
    fn durable_ns(&self) -> Option<u64> {
        let newest = self.writes.iter().filter(|write| self.show(Some(write)));
        newest.filter_map(|write| write.durable_ns).min()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct BlockContents {
    /// Holds a write that may show.
    right: bool,
    /// Holds a write older than a durable one.
    earlier: bool,
    foreign: bool,
}

impl BlockContents {
    fn add(&mut self, other: Self) {
        self.right |= other.right;
        self.earlier |= other.earlier;
        self.foreign |= other.foreign;
    }

    fn from_write(may: &May<'_>, write: Option<&BlockWrite>) -> Self {
        let right = may.show(write);
        Self { right, earlier: !right, foreign: false }
    }
}

fn block_contents(
    content: &DataFileContent,
    bytes: &[u8],
    first: u64,
    may: &May<'_>,
    scratch: &mut [u8],
) -> BlockContents {
    let mut held = BlockContents::default();
    for (bytes, page) in bytes.chunks_exact(PAGE).zip(first..) {
        let whole = content.find_writing(bytes, page).ok();
        let found = whole.map(|number| may.writes.iter().find(|write| write.writing == number));
        match (whole, found) {
            (Some(0), _) => held.add(BlockContents::from_write(may, None)),
            (Some(_), Some(Some(write))) => held.add(BlockContents::from_write(may, Some(write))),
            // The write had not been issued.
            (Some(_), _) => held.foreign = true,
            (None, _) => held.add(sector_contents(content, bytes, page, may, scratch)),
        }
    }
    held
}

fn sector_contents(
    content: &DataFileContent,
    bytes: &[u8],
    page: u64,
    may: &May<'_>,
    scratch: &mut [u8],
) -> BlockContents {
    let mut of_sectors =
        [BlockContents { foreign: true, ..BlockContents::default() }; PAGE / SECTOR];
    let writes = may.writes.iter().map(Some).chain([None]);
    for write in writes {
        content.fill(scratch, page, write.map_or(0, |write| write.writing));
        let pairs = bytes.chunks_exact(SECTOR).zip(scratch.chunks_exact(SECTOR));
        for (held, (found, expected)) in of_sectors.iter_mut().zip(pairs) {
            if found == expected && !held.right {
                *held = BlockContents::from_write(may, write);
            }
        }
    }
    of_sectors.into_iter().fold(BlockContents::default(), |mut all, held| {
        all.add(held);
        all
    })
}

fn note_faults(
    findings: &mut AuditFindings,
    held: BlockContents,
    spot: BlockLocation,
    may: &May<'_>,
) {
    let what = match held {
        BlockContents { foreign: true, .. } => {
            findings.phantom += 1;
            "what nobody had written there"
        }
        BlockContents { earlier: true, right: true, .. } => {
            findings.torn += 1;
            "parts of an earlier write than the last that a sync covered"
        }
        BlockContents { earlier: true, .. } => {
            findings.lost += 1;
            let times = [findings.oldest_lost_at_ns, may.durable_ns()];
            findings.oldest_lost_at_ns = times.into_iter().flatten().min();
            "an earlier write than the last that a sync covered"
        }
        BlockContents { .. } => return,
    };
    if findings.examples.len() < MOST_EXAMPLES {
        let BlockLocation { file, offset, .. } = spot;
        findings.examples.push(format!("file {file} holds at byte {offset} {what}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT_SEED: u64 = 5;
    /// A block of two pages, the first of them of this number.
    const FIRST: u64 = 8;

    fn content() -> DataFileContent {
        DataFileContent::new(CONTENT_SEED, false)
    }

    fn written(writing: u64) -> Vec<u8> {
        let mut block = vec![0; 2 * PAGE];
        content().fill(&mut block, FIRST, writing);
        block
    }

    fn write(writing: u64, issued_ns: u64, returned_ns: u64) -> BlockWrite {
        BlockWrite { writing, issued_ns, returned_ns: Some(returned_ns), durable_ns: None }
    }

    fn durable(writing: u64, issued_ns: u64, returned_ns: u64) -> BlockWrite {
        let durable_ns = Some(returned_ns + 1);
        BlockWrite { durable_ns, ..write(writing, issued_ns, returned_ns) }
    }

    /// Lost, torn, phantom, and when the oldest loss was durable.
    fn found(block: &[u8], writes: &[BlockWrite]) -> (u64, u64, u64, Option<u64>) {
        let (may, mut findings) = (May::from_writes(writes), AuditFindings::default());
        let held = block_contents(&content(), block, FIRST, &may, &mut [0; PAGE]);
        note_faults(&mut findings, held, BlockLocation::default(), &may);
        let AuditFindings { lost, torn, phantom, oldest_lost_at_ns, .. } = findings;
        assert_eq!(findings.examples.len() as u64, lost + torn + phantom);
        (lost, torn, phantom, oldest_lost_at_ns)
    }

    const NOTHING: (u64, u64, u64, Option<u64>) = (0, 0, 0, None);

    #[test]
    fn a_block_that_was_synced_holds_that_or_what_was_issued_later() {
        let writes = [durable(1, 10, 20), durable(2, 30, 40), write(3, 50, 60)];
        assert_eq!(found(&written(2), &writes), NOTHING);
        assert_eq!(found(&written(3), &writes), NOTHING, "it may be there before its sync");
        assert_eq!(
            found(&written(1), &writes),
            (1, 0, 0, Some(41)),
            "an earlier sync is no excuse"
        );
        assert_eq!(found(&written(0), &writes), (1, 0, 0, Some(41)), "as it was loaded");
        assert_eq!(found(&written(4), &writes), (0, 0, 1, None), "it was not issued yet");
        assert_eq!(found(&[0; 2 * PAGE], &writes), (0, 0, 1, None), "zeros are nobody's");
    }

    #[test]
    fn what_no_sync_covered_may_be_there_or_not() {
        let writes = [write(1, 10, 20), write(2, 30, 40)];
        for number in 0..3 {
            assert_eq!(found(&written(number), &writes), NOTHING, "{number}");
        }
        assert_eq!(found(&written(1), &[]), (0, 0, 1, None), "it was never issued");
    }

    /// Of two writes under way at once nobody knows which is the later one.
    #[test]
    fn of_writes_that_met_either_may_be_there() {
        let writes = [durable(1, 10, 40), durable(2, 30, 50), write(3, 5, 35), write(4, 6, 29)];
        for (number, is_right) in [(1, true), (2, true), (3, true), (4, false), (0, false)] {
            let found = found(&written(number), &writes);
            assert_eq!(found == NOTHING, is_right, "{number}: {found:?}");
        }
    }

    #[test]
    fn a_synced_block_of_which_a_part_is_older_is_torn_and_one_in_flight_is_not() {
        let with_end = |start: u64, end: u64, bytes: usize| {
            let mut block = written(start);
            let at = block.len() - bytes;
            block[at..].copy_from_slice(&written(end)[at..]);
            block
        };
        let synced = [durable(1, 10, 20)];
        let in_flight = [durable(1, 10, 20), write(2, 30, 40)];
        for bytes in [SECTOR, PAGE, PAGE + SECTOR] {
            assert_eq!(found(&with_end(1, 0, bytes), &synced), (0, 1, 0, None), "{bytes}");
            assert_eq!(found(&with_end(0, 1, bytes), &synced), (0, 1, 0, None), "{bytes}");
            assert_eq!(found(&with_end(1, 2, bytes), &in_flight), NOTHING, "{bytes}");
            assert_eq!(found(&with_end(0, 2, bytes), &in_flight), (0, 1, 0, None), "{bytes}");
        }
        // Less than a sector is never there without the rest.
        assert_eq!(found(&with_end(1, 2, 100), &in_flight), (0, 0, 1, None));
    }
}
