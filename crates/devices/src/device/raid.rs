//! RAID-10: chunks striped over mirrored disks, two copies, Linux md's "near" layout.
//!
//! Copy j of chunk c is chunk (2c+j)/N of disk (2c+j) mod N (md(4), "RAID10"). A read goes to a
//! mirror that is idle, else to the one whose head is nearer, as md's `read_balance` does; a write
//! goes to both and ends with the later.

use std::collections::HashMap;

use super::model::Listed;
use super::{Completion, Device, Kind, Nanos, Request};

/// How an array's description begins.
pub(crate) const NAME: &str = "raid10";

/// The most disks of an array.
pub const MOST_DISKS: u32 = 64;

/// Bytes of a chunk: what mdadm(8) gives a new array.
pub const CHUNK: u64 = 512 << 10;

const COPIES: u64 = 2;

/// How arrays are listed: of any model.
pub(crate) fn listed() -> Listed {
    Listed {
        name: format!("{NAME}:N×MODEL"),
        summary: "RAID-10 over an even number of disks, say raid10:4×hdd-7200",
    }
}

/// A number of disks that no array has, or an array of arrays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a RAID-10 needs an even number of disks from 2 to {MOST_DISKS}, each of one model that is \
     not an array itself, written like `raid10:4×hdd-7200`"
)]
pub struct WrongArray;

/// Reads the description of an array: how many disks it has, and the text of each. `None` for that
/// of something else.
pub(crate) fn read(text: &str) -> Option<Result<(u32, &str), WrongArray>> {
    let rest = text.strip_prefix(NAME)?;
    if !rest.is_empty() && !rest.starts_with([':', '/']) {
        return None;
    }
    let array = rest.strip_prefix(':').and_then(|array| array.split_once(['×', 'x']));
    let array = array.and_then(|(disks, each)| {
        let disks = disks.parse().ok()?;
        let is_right = u32::is_multiple_of(disks, 2) && (2..=MOST_DISKS).contains(&disks);
        (is_right && read(each).is_none()).then_some((disks, each))
    });
    Some(array.ok_or(WrongArray))
}

/// One of the disks, and what the array knows of it.
struct Member {
    device: Box<dyn Device>,
    under_way: u32,
    /// Where the last request sent to it ends.
    head: u64,
}

/// A request to the array of which some parts are in flight.
struct Whole {
    id: u64,
    parts: u32,
}

/// An array of an even number of disks of one kind.
pub struct Raid10 {
    members: Vec<Member>,
    /// Parts in flight by their number on a disk, and the request to which each belongs.
    parts: HashMap<u64, u64>,
    wholes: HashMap<u64, Whole>,
    numbers: u64,
    settled: Vec<Completion>,
    scratch: Vec<(Nanos, usize, u64)>,
}

impl Raid10 {
    /// An array of these disks.
    ///
    /// # Panics
    /// If there is an odd number of them, or none.
    pub fn new(devices: Vec<Box<dyn Device>>) -> Self {
        assert!(!devices.is_empty() && devices.len().is_multiple_of(2), "{} disks", devices.len());
        let member = |device| Member { device, under_way: 0, head: 0 };
        Self {
            members: devices.into_iter().map(member).collect(),
            parts: HashMap::new(),
            wholes: HashMap::new(),
            numbers: 0,
            settled: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Sends a part to a disk.
    fn send(&mut self, now: Nanos, whole: u64, disk: usize, request: Request) {
        let part = self.number();
        self.parts.insert(part, whole);
        self.wholes.get_mut(&whole).expect("it is under way").parts += 1;
        let member = &mut self.members[disk];
        member.under_way += 1;
        if request.kind != Kind::Flush {
            member.head = request.offset + request.length;
        }
        member.device.submit(now, part, request);
    }

    /// Sends the part of a request that lies in one chunk.
    fn send_chunk(&mut self, now: Nanos, whole: u64, request: Request) {
        let disks = self.members.len() as u64;
        let first = COPIES * (request.offset / CHUNK);
        let offset = (first / disks) * CHUNK + request.offset % CHUNK;
        let on_disk = Request { offset, ..request };
        // An even number of disks puts both copies at the same place of two neighbouring disks.
        let disk = (first % disks) as usize;
        if request.kind == Kind::Read {
            self.send(now, whole, self.nearer(disk, disk + 1, offset), on_disk);
        } else {
            self.send(now, whole, disk, on_disk);
            self.send(now, whole, disk + 1, on_disk);
        }
    }

    fn nearer(&self, first: usize, second: usize, offset: u64) -> usize {
        let cost = |disk: usize| {
            let Member { under_way, head, .. } = self.members[disk];
            if under_way == 0 { (false, 0) } else { (true, head.abs_diff(offset)) }
        };
        if cost(second) < cost(first) { second } else { first }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Lets the disks run until `now`; they do not know of each other.
    fn settle(&mut self, now: Nanos) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut done = Vec::new();
        for (disk, member) in self.members.iter_mut().enumerate() {
            member.device.advance(now, &mut done);
            scratch.extend(done.drain(..).map(|part| (part.at, disk, part.id)));
        }
        scratch.sort_by_key(|&(at, disk, _)| (at, disk));
        for (at, disk, part) in scratch.drain(..) {
            self.members[disk].under_way -= 1;
            let whole = self.parts.remove(&part).expect("a part that was sent");
            self.finish(at, whole);
        }
        self.scratch = scratch;
    }

    /// A part of a request is done at `at`.
    fn finish(&mut self, at: Nanos, whole: u64) {
        let parts = self.wholes.get_mut(&whole).expect("it has a part under way");
        parts.parts -= 1;
        if parts.parts == 0 {
            let id = self.wholes.remove(&whole).expect("it was there").id;
            self.settled.push(Completion { id, at });
        }
    }
}

impl Device for Raid10 {
    fn set_span(&mut self, bytes: u64) {
        let disks = self.members.len() as u64;
        let each = (COPIES * bytes.div_ceil(CHUNK)).div_ceil(disks) * CHUNK;
        for member in &mut self.members {
            member.device.set_span(each);
        }
    }

    fn submit(&mut self, now: Nanos, id: u64, request: Request) {
        self.settle(now);
        let whole = self.number();
        self.wholes.insert(whole, Whole { id, parts: 0 });
        if request.kind == Kind::Flush {
            for disk in 0..self.members.len() {
                self.send(now, whole, disk, request);
            }
            return;
        }
        let (mut offset, end) = (request.offset, request.offset + request.length);
        loop {
            let length = (CHUNK - offset % CHUNK).min(end - offset);
            self.send_chunk(now, whole, Request { offset, length, ..request });
            offset += length;
            if offset >= end {
                break;
            }
        }
    }

    fn next_completion(&self) -> Option<Nanos> {
        let settled = self.settled.first().map(|completion| completion.at);
        settled.or_else(|| self.members.iter().filter_map(|m| m.device.next_completion()).min())
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.settle(now);
        done.append(&mut self.settled);
    }

    fn busy(&self) -> Nanos {
        let sum: Nanos = self.members.iter().map(|member| member.device.busy()).sum();
        sum / self.members.len() as u64
    }

    fn unused(&self) -> Box<dyn Device> {
        Box::new(Self::new(self.members.iter().map(|member| member.device.unused()).collect()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    type Log = Arc<Mutex<Vec<(usize, Request)>>>;

    /// Notes what it is asked for, and never completes it.
    struct Recorder(usize, Log);

    impl Device for Recorder {
        fn set_span(&mut self, bytes: u64) {
            let span = Request { kind: Kind::Flush, offset: bytes, length: 0, stream: 0 };
            self.1.lock().unwrap().push((self.0, span));
        }

        fn submit(&mut self, _now: Nanos, _id: u64, request: Request) {
            self.1.lock().unwrap().push((self.0, request));
        }

        fn next_completion(&self) -> Option<Nanos> {
            None
        }

        fn advance(&mut self, _now: Nanos, _done: &mut Vec<Completion>) {}

        fn busy(&self) -> Nanos {
            0
        }

        fn unused(&self) -> Box<dyn Device> {
            Box::new(Self(self.0, Arc::clone(&self.1)))
        }
    }

    fn array(disks: usize) -> (Raid10, Log) {
        let log = Log::default();
        let disk = |number| Box::new(Recorder(number, Arc::clone(&log))) as Box<dyn Device>;
        (Raid10::new((0..disks).map(disk).collect()), log)
    }

    #[test]
    fn copies_lie_where_the_near_layout_puts_them() {
        for disks in [2, 4, 6] {
            for chunk in 0..20 {
                let (mut raid, log) = array(disks);
                let offset = chunk * CHUNK + 512;
                let write = Request { kind: Kind::Write, offset, length: 1024, stream: 2 };
                raid.submit(0, 1, write);
                let number = disks as u64;
                let copies = [0, 1].map(|copy| {
                    let place = 2 * chunk + copy;
                    let offset = place / number * CHUNK + 512;
                    ((place % number) as usize, Request { offset, ..write })
                });
                assert_eq!(*log.lock().unwrap(), copies);
            }
        }
    }

    #[test]
    fn requests_are_cut_at_chunks_and_reads_go_to_the_mirror_that_is_free_or_nearer() {
        let (mut raid, log) = array(4);
        let read = |offset, length| Request { kind: Kind::Read, offset, length, stream: 0 };
        // Chunks 0 and 1 are on disks 0, 1 and 2, 3.
        raid.submit(0, 1, read(CHUNK - 4096, 8192));
        let parts = [(0, read(CHUNK - 4096, 4096)), (2, read(0, 4096))];
        assert_eq!(*log.lock().unwrap(), parts);
        // Disk 1 is free; then both are busy, and disk 0 is nearer to the end of the chunk.
        raid.submit(0, 2, read(0, 4096));
        raid.submit(0, 3, read(CHUNK - 8192, 4096));
        raid.submit(0, 4, read(8192, 4096));
        let disks: Vec<usize> = log.lock().unwrap().iter().skip(2).map(|part| part.0).collect();
        assert_eq!(disks, [1, 0, 1]);
    }

    #[test]
    fn each_disk_has_its_part_of_the_span() {
        let (mut raid, log) = array(8);
        raid.set_span(8 * CHUNK);
        let spans: Vec<u64> = log.lock().unwrap().iter().map(|(_, span)| span.offset).collect();
        assert_eq!(spans, [2 * CHUNK; 8]);
    }
}
